package memory

import (
	"slices"
	"unicode/utf8"
)

// FiguresWithin reports whether every number, negation, name and word of time
// or measure of a text occurs in one of the sources: whether a text that was
// made of them has made none up. Where the sources have several different
// numbers, each must also count the same thing.
func FiguresWithin(text string, sources ...string) bool {
	f, all := figuresOf(text), figuresOfAll(sources)
	if f.negations > all.negations {
		return false
	}
	several := slices.ContainsFunc(all.numbers, func(n number) bool { return n.text != all.numbers[0].text })
	for _, n := range f.numbers {
		if !slices.ContainsFunc(all.numbers, func(m number) bool { return m.text == n.text && (!several || m.of == n.of) }) {
			return false
		}
	}
	for _, m := range f.measures {
		if !slices.Contains(all.measures, m) {
			return false
		}
	}
	for _, n := range f.namesBeside(all) {
		if !slices.ContainsFunc(all.names, func(m name) bool { return m.text == n }) {
			return false
		}
	}
	return true
}

// WordsWithin reports whether a text says hardly more than its sources: three
// quarters of its words occur in them, endings aside. Common short words and "the
// user", which is how texts put "I", do not count; names and numbers are for
// FiguresWithin.
func WordsWithin(text string, sources ...string) bool {
	known := figuresOfAll(sources)
	found, total := 0, 0
	for w := range figuresOf(text).lower {
		if utf8.RuneCountInString(w) < minWord || starters[w] || stops[w] || w == "user" || w == "user's" {
			continue
		}
		total++
		if known.lower[w] || known.hasStem(w) {
			found++
		}
	}
	return 4*found >= 3*total
}

// minWord is the length in characters from which a word counts, minStem the
// least that two forms of one word share.
const (
	minWord = 4
	minStem = 3
)

// hasStem reports a word that differs from w in its ending only, or a name that
// is w.
func (f figures) hasStem(w string) bool {
	for _, n := range f.names {
		if n.text == w {
			return true
		}
	}
	for known := range f.lower {
		n := 0
		for n < min(len(w), len(known)) && w[n] == known[n] {
			n++
		}
		if n >= minStem && n >= min(len(w), len(known))-2 {
			return true
		}
	}
	return false
}

func figuresOfAll(texts []string) figures {
	all := figures{lower: map[string]bool{}}
	for _, s := range texts {
		f := figuresOf(s)
		all.numbers = append(all.numbers, f.numbers...)
		all.measures = append(all.measures, f.measures...)
		all.names = append(all.names, f.names...)
		all.negations += f.negations
		for w := range f.lower {
			all.lower[w] = true
		}
	}
	return all
}
