package memory

import (
	"slices"
	"strings"
	"unicode"
)

// Figure is a class of words that similarity is blind to.
type Figure string

// The figures that a quote must not change.
const (
	FigureNumber   Figure = "number" // with units, dates and periods
	FigureNegation Figure = "negation"
	FigureName     Figure = "name"
)

// ChangedFigure compares a text with what should be its very words, perhaps in
// another case: it returns a figure that they do not have in common, in the
// same order, "" for none. It is stricter than SameFigures, which allows
// for a rewording, except for case: a word is a name in both if it begins with
// a capital in either. In scripts without case every word counts as a name.
// Source: design section 5, Quotes; papers.md section 1, 15.
func ChangedFigure(text, quote string) Figure {
	a, b := wordsOf(text), wordsOf(quote)
	names := map[string]bool{}
	nameWords(names, a)
	nameWords(names, b)
	x, y := keyWords(a, names), keyWords(b, names)
	for _, class := range []Figure{FigureNegation, FigureNumber, FigureName} {
		if !slices.Equal(ofClass(x, class), ofClass(y, class)) {
			return class
		}
	}
	for i := range x {
		if x[i] != y[i] {
			return x[i].class
		}
	}
	if negatedWord(a, b) {
		return FigureNegation
	}
	return ""
}

// keyWord is a word that must not change.
type keyWord struct {
	class Figure
	text  string
}

func ofClass(list []keyWord, class Figure) []string {
	var out []string
	for _, w := range list {
		if w.class == class {
			out = append(out, w.text)
		}
	}
	return out
}

// nameWords adds the words that look like names. The first word of a sentence
// does unless it is a common one.
func nameWords(names map[string]bool, words []word) {
	for _, w := range words {
		first := firstRune(w.raw)
		capital := unicode.IsUpper(first) || unicode.IsTitle(first)
		if unicode.Is(unicode.Lo, first) || capital && !pronouns[w.fold] && !(w.start && starters[w.fold]) {
			names[w.fold] = true
		}
	}
}

func keyWords(words []word, names map[string]bool) []keyWord {
	var list []keyWord
	for _, w := range words {
		switch {
		case strings.ContainsFunc(w.fold, unicode.IsDigit) || numberWords[w.fold] != "":
			n, unit := splitNumber(w.fold)
			list = append(list, keyWord{FigureNumber, n + " " + measureOf(unit)})
		case strings.HasSuffix(w.fold, "n't"):
			list = append(list, keyWord{FigureNegation, "not"})
		case IsNegation(w.fold):
			list = append(list, keyWord{FigureNegation, w.fold})
		case measureOf(w.fold) != "":
			list = append(list, keyWord{FigureNumber, measureOf(w.fold)})
		case names[w.fold]:
			list = append(list, keyWord{FigureName, w.fold})
		}
	}
	return list
}

// negatedWord reports that a word of one text is the negation of one of the
// other: "unhappy" for "happy", "careless" for "careful".
func negatedWord(a, b []word) bool {
	onlyA, onlyB := without(a, b), without(b, a)
	return slices.ContainsFunc(onlyA, func(v string) bool {
		return slices.ContainsFunc(onlyB, func(w string) bool { return negates(v, w) || negates(w, v) })
	})
}

func negates(v, w string) bool {
	for _, prefix := range []string{"un", "in", "im", "il", "ir", "dis", "non", "mis"} {
		if v == prefix+w {
			return true
		}
	}
	stem, less := strings.CutSuffix(v, "less")
	return less && (w == stem || w == stem+"ful")
}

// without lists the words of a that b does not have.
func without(a, b []word) []string {
	known := map[string]bool{}
	for _, w := range b {
		known[w.fold] = true
	}
	var list []string
	for _, w := range a {
		if !known[w.fold] {
			list = append(list, w.fold)
		}
	}
	return list
}
