package extract

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// FindQuote finds quote in content and returns its half-open byte offsets in
// content. An exact match wins, the one nearest to hint if there are several;
// then a match after folding case, white space, typographic quotes and dashes
// and NFKC. A hint below 0 means none: the first match. Not ok for a quote that
// is blank, invalid
// UTF-8 or not there. Both offsets lie on rune boundaries of content.
// Source: design §5, Quotes.
func FindQuote(content, quote string, hint int) (start, end int, ok bool) {
	if strings.TrimSpace(quote) == "" || !utf8.ValidString(quote) {
		return 0, 0, false
	}
	if hint >= 0 && hint <= len(content) && strings.HasPrefix(content[hint:], quote) {
		return hint, hint + len(quote), true
	}
	if at := nearest(content, quote, hint); at >= 0 {
		return at, at + len(quote), true
	}
	text, needle := foldText(content), foldText(quote)
	want := strings.Trim(needle.folded, " ")
	if want == "" {
		return 0, 0, false
	}
	at := nearestWhole(text, want, hint)
	if at < 0 {
		return 0, 0, false
	}
	return text.start[at], text.end[at+len(want)-1], true
}

// nearest returns the match that begins nearest to hint, -1 for none. Both
// searches are linear, whatever the text.
func nearest(s, sub string, hint int) int {
	hint = min(max(hint, 0), len(s))
	after := strings.Index(s[hint:], sub)
	if after >= 0 {
		after += hint
	}
	before := strings.LastIndex(s[:min(len(s), hint+len(sub)-1)], sub)
	if before < 0 || after >= 0 && after-hint < hint-before {
		return after
	}
	return before
}

// nearestWhole is nearest in folded text, past the matches that cut through
// what one stretch of the original became ("fi" from a ligature).
func nearestWhole(t foldedText, sub string, hint int) int {
	at := sort.SearchInts(t.start, hint)
	after, before := -1, -1
	for from := at; from <= len(t.folded); {
		i := strings.Index(t.folded[from:], sub)
		if i < 0 {
			break
		}
		if t.whole(from+i, len(sub)) {
			after = from + i
			break
		}
		from += i + 1
	}
	for to := min(len(t.folded), at+len(sub)-1); to >= len(sub); {
		i := strings.LastIndex(t.folded[:to], sub)
		if i < 0 {
			break
		}
		if t.whole(i, len(sub)) {
			before = i
			break
		}
		to = i + len(sub) - 1
	}
	if before < 0 || after >= 0 && t.start[after]-hint < hint-t.start[before] {
		return after
	}
	return before
}

// foldedText is a text folded for comparison; start and end give, for each byte
// of it, the stretch of the original that it came from.
type foldedText struct {
	folded     string
	start, end []int
}

// whole reports whether [i, i+n) begins and ends between stretches.
func (t foldedText) whole(i, n int) bool {
	last := i + n
	return (i == 0 || t.start[i] != t.start[i-1]) && (last == len(t.folded) || t.start[last] != t.start[last-1])
}

func foldText(s string) foldedText {
	var t foldedText
	var b strings.Builder
	fold := cases.Fold()
	put := func(piece string, from, to int) {
		b.WriteString(piece)
		for range len(piece) {
			t.start, t.end = append(t.start, from), append(t.end, to)
		}
	}
	space := false
	for i := 0; i < len(s); {
		n := norm.NFKC.NextBoundaryInString(s[i:], true)
		if n <= 0 {
			_, n = utf8.DecodeRuneInString(s[i:])
		}
		piece := strings.Map(plainMark, fold.String(norm.NFKC.String(s[i:i+n])))
		switch {
		case strings.TrimFunc(piece, isBlankRune) != "":
			put(piece, i, i+n)
			space = false
		case strings.ContainsFunc(piece, unicode.IsSpace) && !space:
			put(" ", i, i+n)
			space = true
		}
		i += n
	}
	t.folded = b.String()
	return t
}

// isBlankRune reports white space and zero-width characters.
func isBlankRune(c rune) bool {
	return unicode.IsSpace(c) || c == '\u200b' || c == '\ufeff' || c == '\u2060' || c == '\u00ad'
}

// plainMark replaces typographic quotes and dashes by their ASCII forms.
func plainMark(c rune) rune {
	switch c {
	case '\u2018', '\u2019', '\u201a', '\u201b', '\u2032', '\u02bc', '`', '\u00b4':
		return '\''
	case '\u201c', '\u201d', '\u201e', '\u201f', '\u2033', '\u00ab', '\u00bb':
		return '"'
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212':
		return '-'
	}
	return c
}
