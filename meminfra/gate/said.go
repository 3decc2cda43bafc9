package gate

import (
	"strings"
	"unicode"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// What is looked at of a quote, in words, and how many of them a value may have.
const (
	mostWords      = 512
	mostValueWords = 8
)

// says reports whether a quote says a value: in its own words or, of a
// controlled predicate, in words that mean the same ("PG" for PostgreSQL). A
// value that only a model put beside the user's words is not the user's.
func (g *Gate) says(quote string, r *storage.ItemRecord, value string) bool {
	if _, _, ok := extract.FindQuote(quote, value, -1); ok {
		return true
	}
	p, controlled := g.Registry.Lookup(r.Predicate)
	if !controlled {
		return false
	}
	category := ""
	if p.Keyed {
		category, _, _ = strings.Cut(r.Value, ": ")
		category += ": "
	}
	words := strings.Fields(quote)
	words = words[:min(len(words), mostWords)]
	for i := range words {
		for n := 1; n <= mostValueWords && i+n <= len(words); n++ {
			span := strings.TrimFunc(strings.Join(words[i:i+n], " "), func(c rune) bool { return strings.ContainsRune(".,;:!?\"'()[]“”‘’", c) })
			if _, id, ok := g.Registry.Value(p.Name, category+span); ok && id == r.ValueID {
				return true
			}
		}
	}
	return false
}

// saysEveryWord reports whether a quote has every word of an action's name, in
// any order: "please go ahead and book the slot" for book_slot. A polite reply
// is no instruction, whatever a model makes of it.
func saysEveryWord(quote, action string) bool {
	said := map[string]bool{}
	for w := range strings.FieldsFuncSeq(memory.FoldName(quote), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) }) {
		said[w] = true
	}
	words := strings.Fields(memory.FoldName(spaced(action)))
	for _, w := range words {
		if !said[w] {
			return false
		}
	}
	return len(words) > 0
}

// spaced writes the name of an action or argument in words: "book_slot",
// "book-slot" and "bookSlot" are "book slot".
func spaced(name string) string {
	var b strings.Builder
	lower := false
	for _, c := range name {
		if lower && unicode.IsUpper(c) {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(c) || unicode.IsDigit(c)
		if c == '_' || c == '-' || c == '.' || c == '/' {
			c = ' '
		}
		b.WriteRune(c)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
