package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"
)

// Data puts v into a prompt as quoted data: a line <name>, v as JSON, a line
// </name>. In the JSON "<", ">" and "&" are written as escapes and line breaks
// within texts as \n, so no text in v can close the wrapper or open another,
// whatever it says. v must be something that encoding/json can write.
func Data(name string, v any) string {
	var b bytes.Buffer
	b.WriteString("<" + name + ">\n")
	enc := json.NewEncoder(&b) // escapes <, > and &, and ends the line
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		panic("llm.Data: " + err.Error()) // a value of a type that is no JSON: a fault of the program
	}
	b.WriteString("</" + name + ">\n")
	return b.String()
}

// PromptHash identifies the wording of a prompt: hex SHA-256 of its parts, in
// order. It goes on decisions and traces.
func PromptHash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Tokens estimates how many tokens a text is, rather too many than too few: one
// for three ASCII characters, three for two others. Without a tokenizer it is
// good for splitting and for budgets, not for billing.
func Tokens(s string) int {
	ascii := 0
	for i := range len(s) {
		if s[i] < utf8.RuneSelf {
			ascii++
		}
	}
	other := utf8.RuneCountInString(s) - ascii
	return (2*ascii + 9*other + 5) / 6
}

// Prefix returns the end of the longest beginning of s that is no more than
// that many Tokens, on a character's boundary and at least one character long.
func Prefix(s string, tokens int) int {
	left := 6 * tokens // in sixths of a token, to stay whole
	for i, r := range s {
		if r < utf8.RuneSelf {
			left -= 2
		} else {
			left -= 9
		}
		if left < 0 && i > 0 {
			return i
		}
	}
	return len(s)
}
