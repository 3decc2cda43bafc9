package bm25

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxTerm is where a term is cut, in bytes: nobody types more, and a pasted
// block of base64 must not fill the vocabulary.
const maxTerm = 64

// analyzer turns text into terms. It keeps its buffers from text to text.
//
//   - Words are runs of letters, digits and marks after NFKC, case folded; an
//     apostrophe inside a word and a full stop inside a number belong to it, as
//     do the signs of c++ and c#. English words are stemmed; stop words go.
//   - A French word loses what is elided before it: "l'école" and "école" are one.
//   - A word with accents gives two terms, as written and without: "café" finds
//     "cafe" and is found by it.
//   - Han, Kana, Hangul, Thai, Lao, Khmer and Burmese write words without
//     spaces, so a run of them gives its overlapping pairs of characters. A text
//     gives the single characters too, so that a query of one finds it; a query
//     gives single characters only where it has no pair.
//   - A pictogram such as an emoji is a term of its own.
type analyzer struct {
	query bool              // analysing a query, not a text
	plain bool              // no forms but those of the stemmer
	stems map[string]string // notes of the terms of English words, nil for none

	norm  []byte // the text in NFKC, if it is not ASCII
	word  []byte
	fold  []byte
	out   []byte // all terms, one after the other
	ends  []int  // where each term ends in out
	marks []int  // starts of the characters of an unspaced run
}

// run analyses text. The terms are there until the next run.
func (a *analyzer) run(text string, query bool) {
	a.query = query
	a.out, a.ends = a.out[:0], a.ends[:0]
	a.norm = a.norm[:0]
	if isASCII(text) {
		a.norm = append(a.norm, text...)
	} else {
		a.norm = norm.NFKC.AppendString(a.norm, text)
	}
	for src := a.norm; len(src) > 0; {
		src = src[a.next(src):]
	}
}

// len is the number of terms, repeats included.
func (a *analyzer) len() int { return len(a.ends) }

// term returns term i.
func (a *analyzer) term(i int) []byte {
	start := 0
	if i > 0 {
		start = a.ends[i-1]
	}
	return a.out[start:a.ends[i]]
}

func isASCII[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// next takes what src begins with and returns how many bytes that was.
func (a *analyzer) next(src []byte) int {
	c := src[0]
	if c < utf8.RuneSelf {
		if asciiWord[c] != 0 {
			return a.takeWord(src)
		}
		return 1
	}
	r, n := utf8.DecodeRune(src)
	switch {
	case isUnspaced(r):
		return a.takeUnspaced(src)
	case isWord(r):
		return a.takeWord(src)
	case r != utf8.RuneError && unicode.Is(unicode.So, r):
		a.add(src[:n])
	}
	return n
}

// asciiWord maps ASCII letters to lower case, digits to themselves, the rest to 0.
var asciiWord = func() (t [utf8.RuneSelf]byte) {
	for c := byte('0'); c <= '9'; c++ {
		t[c] = c
	}
	for c := byte('a'); c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = c, c
	}
	return t
}()

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) }

var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

func isUnspaced(r rune) bool {
	const (
		firstThai = 0x0E00
		longVowel = 0x30FC // of Katakana, but common to two scripts
	)
	return r >= firstThai && (unicode.In(r, unspaced...) || r == longVowel)
}

// takeWord takes a run of letters, digits and marks that are written with spaces
// around words.
func (a *analyzer) takeWord(src []byte) int {
	w := a.word[:0]
	letters := true // nothing but ASCII letters so far
	i := 0
	for i < len(src) {
		c := src[i]
		if c < utf8.RuneSelf && asciiWord[c] != 0 {
			w = append(w, asciiWord[c])
			letters = letters && !isDigit(c)
			i++
			continue
		}
		if n := joiner(src, i); n > 0 {
			w = append(w, '\'')
			if c == '.' {
				w[len(w)-1] = '.'
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRune(src[i:])
		if c < utf8.RuneSelf || !isWord(r) || isUnspaced(r) {
			break
		}
		letters = false
		w = appendFolded(w, r)
		i += n
	}
	if n := signs(src, i); letters && n > 0 {
		w = append(w, src[i:i+n]...)
		i += n
	}
	a.word = w
	a.addWord(unelided(w))
	return i
}

// elided are the French words that lose their vowel before another: "l'école"
// is two words, and so is "jusqu'ici".
var elided = func() map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields("c d j l m n s t qu jusqu lorsqu puisqu quoiqu") {
		set[w] = true
	}
	return set
}()

// unelided is a folded word without an elided one before it. The next must begin
// with a vowel or h, as the rule is: "c'mon", "s'mores" and "y'all" stay whole.
func unelided(w []byte) []byte {
	head, rest, found := bytes.Cut(w, []byte{'\''})
	if !found || !elided[string(head)] {
		return w
	}
	r, _ := utf8.DecodeRune(rest)
	if base := norm.NFD.String(string(r)); strings.ContainsRune("aeiouhœæ", []rune(base)[0]) {
		return rest
	}
	return w
}

// joiner returns how many bytes at src[i] join two parts of one word: an
// apostrophe between letters, a full stop between digits.
func joiner(src []byte, i int) int {
	const typographic = "\u2019"
	n := 1
	switch {
	case i == 0:
		return 0
	case src[i] == '.':
		if isDigit(src[i-1]) && i+1 < len(src) && isDigit(src[i+1]) {
			return 1
		}
		return 0
	case bytes.HasPrefix(src[i:], []byte(typographic)):
		n = len(typographic)
	case src[i] != '\'':
		return 0
	}
	if isDigit(src[i-1]) || i+n == len(src) {
		return 0
	}
	r, _ := utf8.DecodeRune(src[i+n:])
	if !unicode.IsLetter(r) {
		return 0
	}
	return n
}

// signs returns the length of the ++ or # that belongs to a name such as c++,
// c#, f#. A # before a letter or digit begins something else.
func signs(src []byte, i int) int {
	switch rest := src[i:]; {
	case len(rest) > 1 && rest[0] == '+' && rest[1] == '+':
		return 2
	case len(rest) == 1 && rest[0] == '#':
		return 1
	case len(rest) > 1 && rest[0] == '#' && rest[1] < utf8.RuneSelf && asciiWord[rest[1]] == 0:
		return 1
	}
	return 0
}

// appendFolded appends r without case. Upper then lower brings together letters
// with two small forms, such as the two sigmas.
func appendFolded(w []byte, r rune) []byte {
	if r == 'ß' || r == 'ẞ' {
		return append(w, "ss"...)
	}
	return utf8.AppendRune(w, unicode.ToLower(unicode.ToUpper(r)))
}

// addWord adds the terms of one folded word.
func (a *analyzer) addWord(w []byte) {
	if isEnglish(w) {
		a.addEnglish(w)
		return
	}
	a.add(w)
	if isASCII(w) {
		return
	}
	a.fold = appendUnaccented(a.fold[:0], w)
	switch {
	case bytes.Equal(a.fold, w):
	case isEnglish(a.fold):
		a.addEnglish(a.fold)
	default:
		a.add(a.fold)
	}
}

// addEnglish stems and adds a word of ASCII letters and apostrophes, unless it is
// a stop word.
func (a *analyzer) addEnglish(w []byte) {
	known, ok := a.stems[string(w)]
	if !ok {
		known = a.english(w)
	}
	if known != "" {
		a.out = append(a.out, known...)
		a.ends = append(a.ends, len(a.out))
	}
}

// english is the term of an English word, "" for a stop word. It is noted where
// notes are kept: texts say the same few words over and over.
func (a *analyzer) english(w []byte) (term string) {
	const most = 1 << 14
	word := w
	if a.stems != nil {
		word = bytes.Clone(w) // stemming writes into it
	}
	if !stopWords[string(w)] {
		if w = cut(w); len(w) > 0 {
			if a.plain {
				w = porter2(w)
			} else {
				w = stem(w)
			}
			term = string(cut(w))
		}
	}
	if a.stems != nil {
		if len(a.stems) >= most {
			clear(a.stems)
		}
		a.stems[string(word)] = term
	}
	return term
}

func isEnglish(w []byte) bool {
	for _, c := range w {
		if c != '\'' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

func (a *analyzer) add(term []byte) {
	if term = cut(term); len(term) > 0 {
		a.out = append(a.out, term...)
		a.ends = append(a.ends, len(a.out))
	}
}

// cut shortens a term to maxTerm bytes, at a character.
func cut(term []byte) []byte {
	if len(term) <= maxTerm {
		return term
	}
	n := maxTerm
	for n > 0 && !utf8.RuneStart(term[n]) {
		n--
	}
	return term[:n]
}

// takeUnspaced takes a run of characters that are written without spaces.
func (a *analyzer) takeUnspaced(src []byte) int {
	a.marks = a.marks[:0]
	i := 0
	for i < len(src) {
		r, n := utf8.DecodeRune(src[i:])
		if !isUnspaced(r) {
			break
		}
		a.marks = append(a.marks, i)
		i += n
	}
	a.marks = append(a.marks, i)
	chars := len(a.marks) - 1
	if !a.query || chars == 1 {
		for j := range chars {
			a.add(src[a.marks[j]:a.marks[j+1]])
		}
	}
	for j := range chars - 1 {
		a.add(src[a.marks[j]:a.marks[j+2]])
	}
	return i
}

// appendUnaccented appends w without accents. Marks are dropped only where
// readers treat them as optional: in Cyrillic and Indic scripts, for example,
// they make another letter.
func appendUnaccented(dst, w []byte) []byte {
	var base rune
	for _, r := range norm.NFD.String(string(w)) {
		switch {
		case !unicode.Is(unicode.Mn, r):
			base = r
		case unicode.In(base, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew):
			continue
		}
		if s, ok := plainLetters[r]; ok {
			dst = append(dst, s...)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return norm.NFC.Bytes(dst)
}

// plainLetters are Latin letters whose stroke or ligature does not decompose.
var plainLetters = map[rune]string{
	'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ħ': "h", 'ı': "i",
}

// stopWords are English words that say nothing about what a text is about. On
// LoCoMo's questions they bring Hit@5 from 0.584 to 0.637; question words and
// prepositions matter most, and longer lists bring no more. Negations stay: out
// or in they change nothing there, and "no nuts" is not "nuts".
var stopWords = func() map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(`
		a an the this that these those
		i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs
		i'm i've i'd i'll you're you've he's she's it's we're we've they're that's there's let's
		am is are was were be been being do does did doing done have has had having
		can could will would shall should may might must
		and or but if so than then as of at by for from in into on onto to with about
		what which who whom whose when where why how
		there here just also too very some any more other`) {
		set[w] = true
	}
	return set
}()
