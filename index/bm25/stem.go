package bm25

import "bytes"

// stem returns what stands for an English word, without changing what base
// gives: the stem of the word that it is a form of, else its own.
func stem(w []byte) []byte {
	if s, ok := base[string(bytes.TrimSuffix(w, []byte("'s")))]; ok {
		return s
	}
	return porter2(w)
}

// porter2 reduces an English word in place and returns what is left of it. The
// word is lower-case ASCII letters and apostrophes. It is the Porter2 algorithm,
// Snowball's "english", so that "launched", "launches" and "launching" are one
// term. Source: snowballstem.org/algorithms/english/stemmer.html.
func porter2(w []byte) []byte {
	if len(w) <= 2 {
		return w
	}
	if len(w) <= longestIrregular {
		if s, ok := irregular[string(w)]; ok {
			return append(w[:0], s...)
		}
	}
	if w[0] == '\'' {
		w = w[1:]
	}
	markConsonantY(w)
	r1, r2 := regions(w)
	w = step0(w)
	w = step1a(w)
	if invariant[string(w)] {
		return w
	}
	w = step1b(w, r1)
	step1c(w)
	w = step2(w, r1)
	w = step3(w, r1, r2)
	w = step4(w, r2)
	w = step5(w, r1, r2)
	for i, c := range w {
		if c == 'Y' {
			w[i] = 'y'
		}
	}
	return w
}

var irregular = map[string]string{
	"skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie",
	"idly": "idl", "gently": "gentl", "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl",
	"sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}

const longestIrregular = len("cosmos")

// invariant words stay as they are after step 1a.
var invariant = map[string]bool{
	"inning": true, "outing": true, "canning": true, "herring": true, "earring": true,
	"proceed": true, "exceed": true, "succeed": true,
}

func isVowel(c byte) bool {
	switch c {
	case 'a', 'e', 'i', 'o', 'u', 'y':
		return true
	}
	return false
}

// markConsonantY writes Y for a y that is a consonant: at the start or after a vowel.
func markConsonantY(w []byte) {
	for i, c := range w {
		if c == 'y' && (i == 0 || isVowel(w[i-1])) {
			w[i] = 'Y'
		}
	}
}

// regions returns where R1 and R2 begin: after the first consonant that follows
// a vowel, and the same again from there.
func regions(w []byte) (r1, r2 int) {
	r1 = -1
	for _, prefix := range [...]string{"gener", "commun", "arsen"} {
		if len(w) >= len(prefix) && string(w[:len(prefix)]) == prefix {
			r1 = len(prefix)
		}
	}
	if r1 < 0 {
		r1 = regionAfter(w, 0)
	}
	return r1, regionAfter(w, r1)
}

func regionAfter(w []byte, from int) int {
	for i := from + 1; i < len(w); i++ {
		if !isVowel(w[i]) && isVowel(w[i-1]) {
			return i + 1
		}
	}
	return len(w)
}

func has(w []byte, suffix string) bool {
	return len(w) >= len(suffix) && string(w[len(w)-len(suffix):]) == suffix
}

func hasVowel(w []byte) bool {
	return bytes.IndexFunc(w, func(r rune) bool { return isVowel(byte(r)) }) >= 0
}

// endsShort reports whether w ends in a short syllable.
func endsShort(w []byte) bool {
	n := len(w)
	switch {
	case n == 2:
		return isVowel(w[0]) && !isVowel(w[1])
	case n > 2:
		c := w[n-1]
		return !isVowel(c) && c != 'w' && c != 'x' && c != 'Y' && isVowel(w[n-2]) && !isVowel(w[n-3])
	}
	return false
}

func step0(w []byte) []byte {
	if bytes.IndexByte(w, '\'') < 0 {
		return w
	}
	for _, s := range []string{"'s'", "'s", "'"} {
		if has(w, s) {
			return w[:len(w)-len(s)]
		}
	}
	return w
}

func step1a(w []byte) []byte {
	n := len(w)
	switch {
	case has(w, "sses"):
		return w[:n-2]
	case has(w, "ied"), has(w, "ies"):
		if n > 4 {
			return w[:n-2]
		}
		return w[:n-1]
	case has(w, "us"), has(w, "ss"):
		return w
	case has(w, "s") && n > 1 && hasVowel(w[:n-2]):
		return w[:n-1]
	}
	return w
}

var rules1b = byLastLetter([]rule{
	{"eedly", "ee"}, {"ingly", ""}, {"edly", ""}, {"eed", "ee"}, {"ing", ""}, {"ed", ""},
})

func step1b(w []byte, r1 int) []byte {
	base, r, ok := rules1b.find(w)
	switch {
	case !ok:
		return w
	case r.with != "":
		if len(base) >= r1 {
			return append(base, r.with...)
		}
		return w
	case hasVowel(base):
		return repair(base, r1)
	}
	return w
}

// repair mends a stem that lost -ed or -ing: hop(p), hat(e).
func repair(w []byte, r1 int) []byte {
	n := len(w)
	switch {
	case has(w, "at"), has(w, "bl"), has(w, "iz"):
		return append(w, 'e')
	case n > 1 && w[n-1] == w[n-2] && bytes.IndexByte([]byte("bdfgmnprt"), w[n-1]) >= 0:
		return w[:n-1]
	case r1 >= n && endsShort(w):
		return append(w, 'e')
	}
	return w
}

func step1c(w []byte) {
	n := len(w)
	if n > 2 && (w[n-1] == 'y' || w[n-1] == 'Y') && !isVowel(w[n-2]) {
		w[n-1] = 'i'
	}
}

// rule replaces a suffix. The first rule whose suffix fits decides, so longer
// suffixes come first.
type rule struct{ suffix, with string }

// rules holds a step's rules by the last letter of the suffix: most words end in
// a letter that no rule is about.
type rules [128][]rule

func byLastLetter(list []rule) *rules {
	var t rules
	for _, r := range list {
		c := r.suffix[len(r.suffix)-1]
		t[c] = append(t[c], r)
	}
	return &t
}

// find returns the rule for w and what stays before its suffix.
func (t *rules) find(w []byte) (base []byte, r rule, ok bool) {
	if len(w) == 0 {
		return nil, r, false
	}
	for _, r := range t[w[len(w)-1]&127] {
		if has(w, r.suffix) {
			return w[:len(w)-len(r.suffix)], r, true
		}
	}
	return nil, r, false
}

var rules2 = byLastLetter([]rule{
	{"ational", "ate"}, {"fulness", "ful"}, {"iveness", "ive"}, {"ization", "ize"}, {"ousness", "ous"},
	{"biliti", "ble"}, {"lessli", "less"}, {"tional", "tion"},
	{"alism", "al"}, {"aliti", "al"}, {"ation", "ate"}, {"entli", "ent"}, {"fulli", "ful"}, {"iviti", "ive"}, {"ousli", "ous"},
	{"abli", "able"}, {"alli", "al"}, {"anci", "ance"}, {"ator", "ate"}, {"enci", "ence"}, {"izer", "ize"},
	{"bli", "ble"}, {"ogi", "og"}, {"li", ""},
})

func step2(w []byte, r1 int) []byte {
	base, r, ok := rules2.find(w)
	switch {
	case !ok, len(base) < r1,
		r.suffix == "ogi" && !has(base, "l"),
		r.suffix == "li" && (len(base) == 0 || bytes.IndexByte([]byte("cdeghkmnrt"), base[len(base)-1]) < 0):
		return w
	}
	return append(base, r.with...)
}

var rules3 = byLastLetter([]rule{
	{"ational", "ate"}, {"tional", "tion"}, {"alize", "al"}, {"ative", ""},
	{"icate", "ic"}, {"iciti", "ic"}, {"ical", "ic"}, {"ness", ""}, {"ful", ""},
})

func step3(w []byte, r1, r2 int) []byte {
	base, r, ok := rules3.find(w)
	if !ok || len(base) < r1 || (r.suffix == "ative" && len(base) < r2) {
		return w
	}
	return append(base, r.with...)
}

var rules4 = byLastLetter([]rule{
	{"ement", ""}, {"able", ""}, {"ance", ""}, {"ence", ""}, {"ible", ""}, {"ment", ""},
	{"ant", ""}, {"ate", ""}, {"ent", ""}, {"ion", ""}, {"ism", ""}, {"iti", ""}, {"ive", ""}, {"ize", ""}, {"ous", ""},
	{"al", ""}, {"er", ""}, {"ic", ""},
})

func step4(w []byte, r2 int) []byte {
	base, r, ok := rules4.find(w)
	if !ok || len(base) < r2 || (r.suffix == "ion" && !has(base, "s") && !has(base, "t")) {
		return w
	}
	return base
}

func step5(w []byte, r1, r2 int) []byte {
	if len(w) == 0 {
		return w
	}
	base := w[:len(w)-1]
	switch w[len(w)-1] {
	case 'e':
		if len(base) >= r2 || (len(base) >= r1 && !endsShort(base)) {
			return base
		}
	case 'l':
		if len(base) >= r2 && has(base, "l") {
			return base
		}
	}
	return w
}
