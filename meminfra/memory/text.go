package memory

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits on what a caller may hand in. Source: design section 4.
const (
	MaxMessageBytes  = 1 << 20
	MaxMessages      = 1000
	MaxIDBytes       = 256
	MaxFieldBytes    = 1 << 10 // subject, predicate, value
	MaxTextBytes     = 8 << 10 // what an extractor makes a memory say; one that is quoted may be as long as its quote
	MaxQueryBytes    = 8 << 10
	MaxMetadataBytes = 64 << 10
)

// Errors of the text rules. They name lengths, never content.
var (
	// ErrTooLong: a text is over its limit.
	ErrTooLong = errors.New("too long")
	// ErrBlank: a text that must say something does not.
	ErrBlank = errors.New("blank")
	// ErrMalformedID: an id holds NUL or invalid UTF-8 and would change if stored.
	ErrMalformedID = errors.New("malformed id")
)

// CleanText returns s as both stores keep it: invalid UTF-8 becomes U+FFFD (one
// for each invalid byte) and U+0000 is removed. It happens before hashing, so hash,
// quote and search all see the stored form.
func CleanText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		if r != 0 {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// IsBlank reports whether s shows nothing: only white space, control, format
// or zero-width characters.
func IsBlank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r)
	}) < 0
}

// CheckID refuses ids that are empty, over MaxIDBytes, or would change if
// stored. Errors: ErrBlank, ErrTooLong, ErrMalformedID.
func CheckID(what, id string) error {
	switch {
	case IsBlank(id):
		return fmt.Errorf("%s: %w", what, ErrBlank)
	case len(id) > MaxIDBytes:
		return fmt.Errorf("%s: %d bytes, at most %d: %w", what, len(id), MaxIDBytes, ErrTooLong)
	case CleanText(id) != id:
		return fmt.Errorf("%s: %w: NUL or invalid UTF-8", what, ErrMalformedID)
	}
	return nil
}

// NormalText is the identity of a sentence: NFKC, case folded, white space
// collapsed, trailing full stops and exclamation marks off. Two open-world
// items with equal normal text are the same proposition.
func NormalText(s string) string {
	s = cases.Fold().String(norm.NFKC.String(s))
	s = strings.Join(strings.Fields(s), " ")
	return strings.TrimRight(s, ".! ")
}

var invisible = strings.NewReplacer("\u200b", "", "\ufeff", "", "\u2060", "", "\u00ad", "")

// FoldName is the identity of a person's or thing's name: NFKC, case folded,
// white space collapsed, without characters that nobody sees.
func FoldName(s string) string {
	s = invisible.Replace(s)
	return strings.Join(strings.Fields(cases.Fold().String(norm.NFKC.String(s))), " ")
}
