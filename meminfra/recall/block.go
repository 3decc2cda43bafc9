package recall

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The mark of a context block. Between its lines stands one memory a line, a
// dash and a JSON object in which "<", ">" and "&" are escapes, so that no memory
// can close the block or open another.
const (
	Open   = "<meminfra-memory>"
	Close  = "</meminfra-memory>"
	memory = "- {"
)

// Block renders memories as a context block. Each must be something that
// encoding/json writes as an object. No memories give "".
func Block[T any](list []T) string {
	if len(list) == 0 {
		return ""
	}
	var b bytes.Buffer
	b.WriteString(Open + "\n")
	enc := json.NewEncoder(&b) // escapes <, > and &, and ends the line
	for i := range list {
		b.WriteString("- ")
		if err := enc.Encode(list[i]); err != nil {
			panic("recall.Block: " + err.Error()) // a value of a type that is no JSON: a fault of the program
		}
	}
	b.WriteString(Close + "\n")
	return b.String()
}

// Mask returns the text with its context blocks blanked out by as many NUL
// bytes, so that every other byte keeps its place; the text itself if it has
// none. A block that is not closed, because it was cut off, has the memories that
// follow its mark and no more: what somebody wrote beside it counts.
func Mask(text string) string {
	if !strings.Contains(text, Open) {
		return text
	}
	out := []byte(text)
	for at := 0; ; {
		n := strings.Index(text[at:], Open)
		if n < 0 {
			return string(out)
		}
		start := at + n
		at = end(text, start+len(Open))
		for i := start; i < at; i++ {
			out[i] = 0
		}
	}
}

// end is where the block ends whose mark ends at from.
func end(text string, from int) int {
	closing := strings.Index(text[from:], Close)
	next := strings.Index(text[from:], Open)
	if closing >= 0 && (next < 0 || closing < next) {
		return from + closing + len(Close)
	}
	at := from
	for at < len(text) {
		line, _, more := strings.Cut(text[at:], "\n")
		shown := strings.TrimLeft(line, " \t>\r")
		if shown != "" && !strings.HasPrefix(shown, memory) {
			break
		}
		at += len(line)
		if more {
			at++
		}
	}
	return at
}
