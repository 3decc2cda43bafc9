package gate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// What is looked at of a quote, in words, how many of them a value may have, how
// often a message may say it, and how much of it is read around each place. What
// says more is no plain order.
const (
	mostWords      = 512
	mostValueWords = 8
	mostPlaces     = 16
	mostAround     = 4096 // bytes on either side
)

// says is how a message means a value that an item took from [start, end) of it.
// The value is said there in its own words or, of a controlled predicate, in words
// that mean the same ("PG" for PostgreSQL): one that only a model put beside the
// user's words is not the user's. Wherever else the message says it counts too.
func (g *Gate) says(content string, start, end int, r *storage.ItemRecord, value string, verbs map[string]bool) stance {
	st, within := silent, false
	for n, at := 0, 0; ; n++ {
		i := strings.Index(folded(content[at:], value), folded(value, value))
		if i < 0 {
			break
		}
		if n == mostPlaces {
			st = worse(st, doubts)
			break
		}
		i += at
		to := i + len(value)
		if at = i + 1; !isWhole(content, i, to) {
			continue
		}
		within = within || start <= i && to <= end
		st = worse(st, meant(content, i, to, verbs))
	}
	for n, span := range g.spans(content, start, end, r, value) {
		if within = true; n == mostPlaces {
			st = worse(st, doubts)
			break
		}
		st = worse(st, meant(content, span[0], span[1], verbs))
	}
	if !within {
		return silent
	}
	return st
}

// spans are the stretches of [start, end) that mean a controlled value: where it is
// asked for as the item shows it, or as a term of its vocabulary.
func (g *Gate) spans(content string, start, end int, r *storage.ItemRecord, value string) (list [][2]int) {
	p, controlled := g.Registry.Lookup(r.Predicate)
	category, shown := "", r.Value
	if controlled && p.Keyed {
		category, shown, _ = strings.Cut(r.Value, ": ")
		category += ": "
	}
	if !controlled || !sameValue(shown, value) && !g.Registry.Term(r.Predicate, value) {
		return nil
	}
	words := fieldsOf(content, start, end)
	for i := range words {
		for n := 1; n <= mostValueWords && i+n <= len(words); n++ {
			from, to := words[i][0], words[i+n-1][1]
			span := strings.TrimFunc(content[from:to], isPunctuation)
			from += strings.Index(content[from:to], span)
			to = from + len(span)
			if _, id, ok := g.Registry.Value(p.Name, category+span); ok && id == r.ValueID && isWhole(content, from, to) {
				list = append(list, [2]int{from, to})
			}
		}
	}
	return list
}

func isPunctuation(c rune) bool { return strings.ContainsRune(".,;:!?\"'()[]“”‘’", c) }

// fieldsOf are the places of the first words of a stretch.
func fieldsOf(s string, start, end int) (list [][2]int) {
	for i := start; i < end && len(list) < mostWords; {
		i += len(s[i:end]) - len(strings.TrimLeftFunc(s[i:end], unicode.IsSpace))
		to := i + strings.IndexFunc(s[i:end]+" ", unicode.IsSpace)
		if to > i {
			list = append(list, [2]int{i, to})
		}
		i = to
	}
	return list
}

// sameValue reports whether an argument is a value to the letter. Case counts
// where there are digits, as in the numbers of accounts, else not: but nothing
// else that looks the same is.
func sameValue(a, b string) bool { return folded(a, a) == folded(b, a) }

// folded is a text in which a value is looked for, of the same length.
func folded(s, value string) string {
	if strings.ContainsFunc(value, unicode.IsDigit) {
		return s
	}
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

// isWhole reports that [start, end) of s is a whole value: not a part of a longer
// word, number, amount, address or name. In scripts without spaces that shows only
// before and after Hiragana and punctuation.
func isWhole(s string, start, end int) bool {
	before, n := utf8.DecodeLastRuneInString(s[:start])
	beyond, _ := utf8.DecodeLastRuneInString(s[:start-n])
	after, m := utf8.DecodeRuneInString(s[end:])
	next, _ := utf8.DecodeRuneInString(s[end+m:])
	first, _ := utf8.DecodeRuneInString(s[start:])
	last, _ := utf8.DecodeLastRuneInString(s[start:end])
	if n > 0 && joins(before, beyond, first) || m > 0 && joins(after, next, last) {
		return false
	}
	if unicode.IsDigit(first) && n > 0 && strings.ContainsRune("-−–+~<>=≈≤≥^*×", before) || unicode.IsDigit(last) && m > 0 && strings.ContainsRune("%‰°+^*×", after) {
		return false
	}
	ahead, behind := neighbour(s[:start], true), neighbour(s[end:], false)
	if strings.ContainsFunc(s[start:end], unicode.IsDigit) {
		return !(unicode.IsDigit(first) && (endsInDigit(ahead) || ahead == "minus" || ahead == "negative") ||
			unicode.IsDigit(last) && (startsWithDigit(behind) || scales[strings.ToLower(behind)]))
	}
	return !(unicode.IsUpper(first) && (isCapital(ahead) && !opens(s[:start]) || isCapital(behind)))
}

// joins reports that a value goes on in the character at its edge, given what is
// beyond that.
func joins(at, beyond, edge rune) bool {
	if isWord(at) {
		return !unicode.Is(unicode.Hiragana, at) || unicode.Is(unicode.Hiragana, edge)
	}
	return strings.ContainsRune(".,:/\\-–_@+'’&#%=~^*|", at) && isWord(beyond) || at == '@'
}

// scales are words behind a number that make it another.
var scales = wordSet("hundred thousand million billion trillion k m bn mn mio tsd dozen percent pct lakh crore cents cent")

// neighbour is the word before or after a stretch, "" if punctuation is between.
func neighbour(s string, before bool) string {
	if before {
		t := strings.TrimRightFunc(s, unicode.IsSpace)
		return t[len(strings.TrimRightFunc(t, isWord)):]
	}
	t := strings.TrimLeftFunc(s, unicode.IsSpace)
	return t[:strings.IndexFunc(t+" ", func(c rune) bool { return !isWord(c) })]
}

func endsInDigit(w string) bool {
	c, _ := utf8.DecodeLastRuneInString(w)
	return unicode.IsDigit(c)
}

func startsWithDigit(w string) bool {
	c, _ := utf8.DecodeRuneInString(w)
	return unicode.IsDigit(c)
}

func isCapital(w string) bool {
	c, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(c) && w != "I"
}

// opens reports that the last word of s opens its sentence, where a capital says
// nothing.
func opens(s string) bool {
	from, _ := sentenceAt(s, len(s), len(s))
	return len(strings.Fields(s[from:])) == 1
}

// wills is how a message means an action that an item took from [start, end) of
// it: a sentence there has every word of its name in order ("please go ahead and
// book the slot" for book_slot), the first not as a noun. A polite reply is no
// instruction, whatever a model makes of it.
func wills(content string, start, end int, action string) stance {
	name := strings.Fields(memory.FoldName(spaced(action)))
	verbs := verbsOf(action)
	st, within, places := silent, false, 0
	for at := 0; at < len(content); {
		_, to := sentenceAt(content, at, at)
		if to <= at {
			break
		}
		if verb := names(wordsOf(content[at:to]), name); verb != "" {
			within = within || at < end && start < to
			if places++; places > mostPlaces {
				st = worse(st, doubts)
				at = to
				continue
			}
			place := at + strings.LastIndex(content[at:to], verb)
			st = worse(st, meant(content, place, place, verbs))
		}
		at = to
	}
	if !within {
		return silent
	}
	return st
}

// verbsOf are the words of an action's name that say what is to be done: the first,
// and any that else would deny, like "cancel".
func verbsOf(action string) map[string]bool {
	verbs := map[string]bool{}
	for i, w := range strings.Fields(memory.FoldName(spaced(action))) {
		verbs[w] = (i == 0 || against[w]) && !memory.IsNegation(w)
	}
	return verbs
}

// names returns the word that is the first of an action's name, as it is written,
// if the others follow in order; "" for none.
func names(words []token, name []string) (verb string) {
	next := 0
	for _, w := range words {
		if next < len(name) && w.fold == name[next] {
			if next++; next == 1 {
				verb = w.raw
			}
		}
	}
	if next < len(name) {
		return ""
	}
	return verb
}

// SameAction reports whether two names are of one action, however they are spelt.
func SameAction(a, b string) bool {
	return memory.FoldName(spaced(a)) == memory.FoldName(spaced(b))
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
