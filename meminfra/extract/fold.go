package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// foldedText is a text folded for comparison: case, white space, typographic
// quotes and dashes, NFKC. start and end give, for each byte of it, the stretch
// of the original that it came from.
type foldedText struct {
	folded     string
	start, end []int32
}

// whole reports whether [i, j) begins and ends between stretches.
func (t *foldedText) whole(i, j int) bool {
	return (i == 0 || t.start[i] != t.start[i-1]) && (j == len(t.folded) || t.start[j] != t.start[j-1])
}

// folder builds a foldedText.
type folder struct {
	b          strings.Builder
	start, end []int32
	space      bool // the last piece was white space
}

func (f *folder) put(piece string, from, to int) {
	f.b.WriteString(piece)
	for range len(piece) {
		f.start, f.end = append(f.start, int32(from)), append(f.end, int32(to))
	}
	f.space = piece == " "
}

func foldText(s string) foldedText {
	f := folder{start: make([]int32, 0, len(s)), end: make([]int32, 0, len(s))}
	f.b.Grow(len(s))
	fold := cases.Fold()
	for i := 0; i < len(s); {
		// What is ASCII and not followed by a mark folds by itself.
		if s[i] < utf8.RuneSelf && (i+1 == len(s) || s[i+1] < utf8.RuneSelf) {
			f.putASCII(s[i], i)
			i++
			continue
		}
		n := norm.NFKC.NextBoundaryInString(s[i:], true)
		if n <= 0 {
			_, n = utf8.DecodeRuneInString(s[i:])
		}
		piece := strings.Map(plainMark, fold.String(norm.NFKC.String(s[i:i+n])))
		switch {
		case strings.TrimFunc(piece, isBlankRune) != "":
			f.put(piece, i, i+n)
		case strings.ContainsFunc(piece, unicode.IsSpace) && !f.space:
			f.put(" ", i, i+n)
		}
		i += n
	}
	return foldedText{f.b.String(), f.start, f.end}
}

// asciiLetters are the one-byte texts, so that folding ASCII makes none.
const asciiLetters = "abcdefghijklmnopqrstuvwxyz"

func (f *folder) putASCII(c byte, at int) {
	switch {
	case 'A' <= c && c <= 'Z':
		f.put(asciiLetters[c-'A':c-'A'+1], at, at+1)
	case c == '`':
		f.put("'", at, at+1)
	case !unicode.IsSpace(rune(c)):
		f.put(string(rune(c)), at, at+1)
	case !f.space:
		f.put(" ", at, at+1)
	}
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
