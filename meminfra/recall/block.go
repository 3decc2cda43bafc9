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

// Mask returns the text with its context blocks blanked out by NUL bytes, so that
// every other byte keeps its place; the text itself if it has none. Of a block its
// marks and its memories are blanked and nothing else: what somebody wrote between
// or beside them counts, and who speaks of the marks makes no block. One that is
// not closed, because it was cut off, ends at the first line that is no memory.
func Mask(text string) string {
	if !strings.Contains(text, Open) {
		return text
	}
	out := []byte(text)
	blank := func(from, to int) int { clear(out[from:to]); return to }
	for at := 0; ; {
		n := strings.Index(text[at:], Open)
		if n < 0 {
			return string(out)
		}
		at = blank(at+n, at+n+len(Open))
		end, closed := blockEnd(text, at)
		for at < end {
			line := text[at:end]
			if n := strings.IndexByte(line, '\n'); n >= 0 {
				line = line[:n+1]
			}
			if isOfBlock(line) {
				blank(at, at+len(line))
			} else if !closed {
				break
			}
			at += len(line)
		}
		if closed {
			at = blank(end, end+len(Close))
		}
	}
}

// blockEnd is where the block ends whose opening mark ends at from: at its
// closing mark, else before the next block.
func blockEnd(text string, from int) (end int, closed bool) {
	closing, next := strings.Index(text[from:], Close), strings.Index(text[from:], Open)
	switch {
	case closing >= 0 && (next < 0 || closing < next):
		return from + closing, true
	case next >= 0:
		return from + next, false
	}
	return len(text), false
}

// isOfBlock reports a blank line, or one that shows a memory.
func isOfBlock(line string) bool {
	shown := strings.Trim(line, " \t>\r\n")
	return shown == "" || strings.HasPrefix(shown, memory)
}
