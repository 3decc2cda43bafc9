package extract

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Fault is why a quote does not stand; "" if it does. It is the reason of the
// candidate's rejection.
type Fault string

// The faults of a quote.
const (
	QuoteNotFound    Fault = "quote_not_found"
	QuoteElsewhere   Fault = "quote_of_another_message"
	QuoteTooShort    Fault = "quote_too_short"            // to identify what it is from
	QuoteCut         Fault = "quote_cuts_a_word"          // it begins or ends within a word, number or address
	QuoteCutNegation Fault = "quote_leaves_out_a_not"     // it begins right behind one
	QuoteNumber      Fault = "quote_changes_the_number"   // or a unit, date or period
	QuoteNegation    Fault = "quote_changes_the_negation" //
	QuoteName        Fault = "quote_changes_the_name"
)

// Source is the content of a message in which quotes are looked up. It is for
// one goroutine; what it folds, it folds once.
type Source struct {
	content string
	text    *foldedText
}

// NewSource returns the source over a stored content.
func NewSource(content string) *Source { return &Source{content: content} }

func (s *Source) folded() *foldedText {
	if s.text == nil {
		t := foldText(s.content)
		s.text = &t
	}
	return s.text
}

// Find verifies a quote: it returns the half-open byte offsets, on rune
// boundaries, of the content's own words that it quotes. It takes, in this
// order, what is the same byte for byte, the place nearest to hint if there are
// several (a hint below 0 means the first); what is the same after folding case,
// white space, typographic quotes and dashes and NFKC; and the nearest window of
// a similarity of at least 0.9 by edit distance, if every number, negation and
// name in it is the same. A quote begins and ends between words and not right
// behind a "not". Under three content words (six characters in unspaced
// scripts) it must be the same after folding, and a whole sentence or contain
// the value. The work is bounded by the content's length times 16, whatever
// they hold. Source: design section 5, Quotes; papers.md section 1, 15.
func (s *Source) Find(quote, value string, hint int) (start, end int, fault Fault) {
	if memory.IsBlank(quote) || !utf8.ValidString(quote) {
		return 0, 0, QuoteNotFound
	}
	start, end, fault = s.exact(quote, hint)
	if fault == QuoteNotFound {
		start, end, fault = s.similar(quote, hint)
	}
	switch {
	case fault != "":
		return 0, 0, fault
	case followsNegation(s.content, start):
		return 0, 0, QuoteCutNegation
	case isShort(s.content[start:end]) && !isSentence(s.content, start, end) && !containsValue(s.content[start:end], value):
		return 0, 0, QuoteTooShort
	}
	return start, end, ""
}

// FindQuote finds words of content that are the same as quote after folding case,
// white space, typographic quotes and dashes and NFKC, the nearest to hint; a
// hint below 0 means the first. It says where words are, not whether they may
// be quoted: see Source.Find.
func FindQuote(content, quote string, hint int) (start, end int, ok bool) {
	if !utf8.ValidString(quote) {
		return 0, 0, false
	}
	start, end, fault := NewSource(content).exact(quote, hint)
	return start, end, fault == ""
}

// exact finds a quote as it is, else after folding.
func (s *Source) exact(quote string, hint int) (start, end int, fault Fault) {
	quote = strings.TrimFunc(quote, isBlankRune)
	if quote == "" {
		return 0, 0, QuoteNotFound
	}
	at, cut := nearestThat(s.content, quote, hint, func(i int) bool {
		return onBoundaries(s.content, i, i+len(quote))
	})
	if at >= 0 {
		return at, at + len(quote), ""
	}
	t, want := s.folded(), foldedQuote(quote)
	if want == "" {
		return 0, 0, QuoteNotFound
	}
	at, folded := nearestThat(t.folded, want, sort.Search(len(t.start), func(i int) bool { return int(t.start[i]) >= hint }), func(i int) bool {
		return t.whole(i, i+len(want)) && onBoundaries(s.content, int(t.start[i]), int(t.end[i+len(want)-1]))
	})
	switch {
	case at >= 0:
		return int(t.start[at]), int(t.end[at+len(want)-1]), ""
	case cut || folded:
		return 0, 0, QuoteCut
	}
	return 0, 0, QuoteNotFound
}

func foldedQuote(quote string) string { return strings.Trim(foldText(quote).folded, " ") }

// similar finds the window nearest to a quote that is nowhere as it is.
func (s *Source) similar(quote string, hint int) (start, end int, fault Fault) {
	t, want := s.folded(), foldedQuote(quote)
	most := mostDistance(len(want))
	if most == 0 || len(want) > maxPattern || isShort(quote) {
		return 0, 0, QuoteNotFound
	}
	to, distance := bestEnd(t.folded, want, hint)
	if distance > most {
		return 0, 0, QuoteNotFound
	}
	from := bestStart(t.folded[:to], want)
	if from >= to {
		return 0, 0, QuoteNotFound
	}
	start, end = widened(s.content, int(t.start[from]), int(t.end[to-1]))
	window := foldedQuote(s.content[start:end])
	row := lastRow(want, window)
	if float64(row[len(window)]) > 0.1*float64(max(len(want), len(window))) {
		return 0, 0, QuoteNotFound
	}
	switch memory.ChangedFigure(s.content[start:end], quote) {
	case memory.FigureNumber:
		return 0, 0, QuoteNumber
	case memory.FigureNegation:
		return 0, 0, QuoteNegation
	case memory.FigureName:
		return 0, 0, QuoteName
	}
	return start, end, ""
}

// widened moves the ends of a window off white space and out of words, a little
// way: what would need more is no such window.
func widened(s string, start, end int) (int, int) {
	start += len(s[start:end]) - len(strings.TrimLeftFunc(s[start:end], isBlankRune))
	end = start + len(strings.TrimRightFunc(s[start:end], isBlankRune))
	for n := 0; n < 32 && !isBoundary(s, start); n++ {
		_, size := utf8.DecodeLastRuneInString(s[:start])
		start -= size
	}
	for n := 0; n < 32 && !isBoundary(s, end); n++ {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return start, end
}

// containsValue reports whether a quote says the value, for keyed predicates
// what stands behind the category.
func containsValue(quote, value string) bool {
	if i := strings.LastIndex(value, ": "); i >= 0 {
		value = value[i+2:]
	}
	if memory.IsBlank(value) {
		return false
	}
	s := NewSource(quote)
	_, _, fault := s.exact(value, -1)
	return fault == ""
}

// mostTries bounds the places looked at in each direction; a text that repeats
// itself may have one at every byte.
const mostTries = 256

// nearestThat returns the place of sub in s nearest to hint that holds, -1 for
// none, and whether there was any place at all.
func nearestThat(s, sub string, hint int, holds func(int) bool) (at int, some bool) {
	hint = min(max(hint, 0), len(s))
	after, before := -1, -1
	for from, n := hint, 0; n < mostTries && from <= len(s); n++ {
		i := strings.Index(s[from:], sub)
		if i < 0 {
			break
		}
		some = true
		if holds(from + i) {
			after = from + i
			break
		}
		from += i + 1
	}
	for to, n := min(len(s), hint+len(sub)-1), 0; n < mostTries && to >= len(sub); n++ {
		i := strings.LastIndex(s[:to], sub)
		if i < 0 {
			break
		}
		some = true
		if holds(i) {
			before = i
			break
		}
		to = i + len(sub) - 1
	}
	if before < 0 || after >= 0 && after-hint < hint-before {
		return after, some
	}
	return before, some
}
