package metrics

import "strings"

// porter stems a lower-case English word by Porter's algorithm as the official
// script's library (NLTK's PorterStemmer, its default mode) does. Words that are
// not ASCII letters stay. Source: Porter 1980; nltk/stem/porter.py.
func porter(w string) string {
	if s, ok := porterIrregular[w]; ok {
		return s
	}
	if len(w) <= 2 || strings.IndexFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) >= 0 {
		return w
	}
	w = porter1a(w)
	w = porter1b(w)
	w = porter1c(w)
	w = longest(w, porter2, 0)
	w = longest(w, porter3, 0)
	w = porter4(w)
	return porter5(w)
}

var porterIrregular = map[string]string{
	"skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
	"innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing",
	"cannings": "canning", "canning": "canning", "howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}

// consonant reports whether letter i of w is one; a y is one at the start and
// after a vowel.
func consonant(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !consonant(w, i-1)
	}
	return true
}

// measure counts the vowel-consonant sequences of a stem.
func measure(stem string) int {
	m := 0
	for i := 1; i < len(stem); i++ {
		if consonant(stem, i) && !consonant(stem, i-1) {
			m++
		}
	}
	return m
}

func hasVowel(stem string) bool {
	for i := range len(stem) {
		if !consonant(stem, i) {
			return true
		}
	}
	return false
}

func doubled(w string) bool {
	n := len(w)
	return n > 1 && w[n-1] == w[n-2] && consonant(w, n-1)
}

// shortEnd reports consonant-vowel-consonant at the end, the last not w, x or y;
// NLTK also takes vowel-consonant words of two letters.
func shortEnd(w string) bool {
	n := len(w)
	if n == 2 {
		return !consonant(w, 0) && consonant(w, 1)
	}
	return n > 2 && consonant(w, n-3) && !consonant(w, n-2) && consonant(w, n-1) && !strings.ContainsRune("wxy", rune(w[n-1]))
}

func porter1a(w string) string {
	switch {
	case strings.HasSuffix(w, "ies") && len(w) == 4:
		return w[:len(w)-1]
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ies"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"):
		return w
	case strings.HasSuffix(w, "s"):
		return w[:len(w)-1]
	}
	return w
}

func porter1b(w string) string {
	if strings.HasSuffix(w, "ied") {
		if len(w) == 4 {
			return w[:len(w)-1]
		}
		return w[:len(w)-2]
	}
	if stem, ok := strings.CutSuffix(w, "eed"); ok {
		if measure(stem) > 0 {
			return stem + "ee"
		}
		return w
	}
	stem, ok := strings.CutSuffix(w, "ed")
	if !ok || !hasVowel(stem) {
		if stem, ok = strings.CutSuffix(w, "ing"); !ok || !hasVowel(stem) {
			return w
		}
	}
	switch {
	case strings.HasSuffix(stem, "at"), strings.HasSuffix(stem, "bl"), strings.HasSuffix(stem, "iz"):
		return stem + "e"
	case doubled(stem):
		if strings.ContainsRune("lsz", rune(stem[len(stem)-1])) {
			return stem
		}
		return stem[:len(stem)-1]
	case measure(stem) == 1 && shortEnd(stem):
		return stem + "e"
	}
	return stem
}

// porter1c turns y into i after a consonant that is not the first letter.
func porter1c(w string) string {
	n := len(w)
	if n > 2 && w[n-1] == 'y' && consonant(w, n-2) {
		return w[:n-1] + "i"
	}
	return w
}

var porter2 = [][2]string{
	{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"bli", "ble"},
	{"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"},
	{"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},
	{"iviti", "ive"}, {"biliti", "ble"}, {"fulli", "ful"}, {"logi", "log"},
}

var porter3 = [][2]string{
	{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
}

// longest replaces the longest suffix that fits, if its stem measures more than m.
func longest(w string, rules [][2]string, m int) string {
	var best [2]string
	for _, r := range rules {
		if strings.HasSuffix(w, r[0]) && len(r[0]) > len(best[0]) {
			best = r
		}
	}
	if best[0] == "" {
		return w
	}
	stem := w[:len(w)-len(best[0])]
	if best[0] == "logi" {
		stem += "l" // NLTK measures with the l
		if measure(stem) > m {
			return stem + "og"
		}
		return w
	}
	if measure(stem) > m {
		return stem + best[1]
	}
	return w
}

var porter4Suffixes = strings.Fields("al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize")

func porter4(w string) string {
	best := ""
	for _, s := range porter4Suffixes {
		if strings.HasSuffix(w, s) && len(s) > len(best) {
			best = s
		}
	}
	if best == "" {
		return w
	}
	stem := w[:len(w)-len(best)]
	if measure(stem) <= 1 || best == "ion" && !strings.HasSuffix(stem, "s") && !strings.HasSuffix(stem, "t") {
		return w
	}
	return stem
}

func porter5(w string) string {
	if stem, ok := strings.CutSuffix(w, "e"); ok {
		if m := measure(stem); m > 1 || m == 1 && !shortEnd(stem) {
			w = stem
		}
	}
	if strings.HasSuffix(w, "ll") && measure(w[:len(w)-1]) > 1 {
		return w[:len(w)-1]
	}
	return w
}
