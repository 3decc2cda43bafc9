package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// onBoundaries reports whether [start, end) of s cuts no token: no word, number,
// sign, amount or address. Each character of an unspaced script is a token.
func onBoundaries(s string, start, end int) bool { return isBoundary(s, start) && isBoundary(s, end) }

// isBoundary reports whether no token goes on across position i of s, which is
// on a rune boundary.
func isBoundary(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return true
	}
	before, n := utf8.DecodeLastRuneInString(s[:i])
	after, m := utf8.DecodeRuneInString(s[i:])
	beyond, _ := utf8.DecodeLastRuneInString(s[:i-n]) // before what is before
	next, _ := utf8.DecodeRuneInString(s[i+m:])
	switch {
	case unicode.IsMark(after):
		return false
	case isUnspaced(before) || isUnspaced(after):
		return true
	case isWordRune(before) && isWordRune(after):
		return false
	case isApostrophe(after) && isWordRune(before) && unicode.ToLower(next) == 't':
		return false // don|'t
	case isApostrophe(before):
		return !isWordRune(beyond) || !unicode.IsLetter(after)
	case isJoint(after) && unicode.IsDigit(before), isJoint(before) && unicode.IsDigit(after):
		return !(unicode.IsDigit(before) && unicode.IsDigit(next) || unicode.IsDigit(beyond) && unicode.IsDigit(after) ||
			isSign(before) && !isWordRune(beyond))
	case unicode.IsDigit(after) && strings.ContainsRune("$€£¥", before), unicode.IsDigit(before) && strings.ContainsRune("%°", after):
		return false
	}
	return !joinsAddress(s, i, before, after)
}

// joinsAddress reports that position i is within an e-mail address or a URL.
func joinsAddress(s string, i int, before, after rune) bool {
	if unicode.IsSpace(before) || unicode.IsSpace(after) || !strings.ContainsRune("@./:_-+", before) && !strings.ContainsRune("@./:_-+", after) {
		return false
	}
	const longest = 256
	from := strings.LastIndexFunc(s[max(0, i-longest):i], unicode.IsSpace) + 1 + max(0, i-longest)
	to := i + strings.IndexFunc(s[i:min(len(s), i+longest)]+" ", unicode.IsSpace)
	run := strings.TrimRight(s[from:to], ".,;:!?)")
	return i < from+len(run) && (strings.Contains(run, "@") || strings.Contains(run, "://"))
}

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}
func isApostrophe(r rune) bool { return r == '\'' || r == '\u2019' || r == '\u02bc' }
func isSign(r rune) bool       { return r == '-' || r == '+' || r == '\u2212' }
func isJoint(r rune) bool      { return strings.ContainsRune(".,:/", r) || isSign(r) }

// isUnspaced reports a character of a script that is written without spaces.
func isUnspaced(r rune) bool {
	return r >= 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Below these many content words, or characters of unspaced scripts, a quote is
// too short to identify what it is from. Source: design section 5.
const (
	fewestWords      = 3
	fewestCharacters = 6
)

// isShort reports whether a quote has too few content words to stand by itself.
func isShort(s string) bool {
	characters := 0
	for _, r := range s {
		if isUnspaced(r) {
			characters++
		}
	}
	if characters >= fewestCharacters {
		return false
	}
	words := 0
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return !isWordRune(r) && !isApostrophe(r) }) {
		if !common[strings.ToLower(strings.ReplaceAll(w, "\u2019", "'"))] && strings.ContainsFunc(w, func(r rune) bool { return isWordRune(r) && !isUnspaced(r) }) {
			if words++; words >= fewestWords {
				return false
			}
		}
	}
	return true
}

// isSentence reports whether [start, end) of s is a sentence, or a line, from
// its beginning to its end.
func isSentence(s string, start, end int) bool {
	before := strings.TrimRightFunc(s[:start], func(r rune) bool {
		return r != '\n' && (unicode.IsSpace(r) || strings.ContainsRune("\"'“‘«([*-•", r))
	})
	after := strings.TrimLeftFunc(s[end:], func(r rune) bool {
		return r != '\n' && (unicode.IsSpace(r) || strings.ContainsRune("\"'”’»)]*", r))
	})
	last, _ := utf8.DecodeLastRuneInString(s[start:end])
	return endsSentence(before, true) && (endsSentence(after, false) || isTerminator(last))
}

// endsSentence reports whether a sentence ends where s does or, seen from
// behind it, begins.
func endsSentence(s string, behind bool) bool {
	if s == "" {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s)
	if behind {
		r, _ = utf8.DecodeLastRuneInString(s)
	}
	return isTerminator(r)
}

func isTerminator(r rune) bool { return strings.ContainsRune(".!?…\n\r。！？", r) }

// followsNegation reports that the word right before start negates what is
// quoted: quoting "like tea" from "I do not like tea" says the contrary.
func followsNegation(s string, start int) bool {
	before := strings.TrimRight(s[:start], " \t")
	last, _ := utf8.DecodeLastRuneInString(before)
	switch {
	case strings.ContainsRune("不没沒未別别勿非無无", last):
		return true
	case before == "" || before == s[:start]:
		return false
	}
	from := strings.LastIndexFunc(before, func(r rune) bool { return !isWordRune(r) && !isApostrophe(r) }) + 1
	if len(before)-from > 16 {
		return false
	}
	w := strings.ToLower(strings.ReplaceAll(before[from:], "\u2019", "'"))
	return w == "not" || w == "never" || w == "cannot" || strings.HasSuffix(w, "n't")
}

// common are words that identify nothing.
var common = wordSet(`a an the this that these those i you he she it we they me him her us them my your his its our their mine
	yours i'm i've i'd i'll it's that's am is are was were be been being do does did have has had will would can could shall should may
	might must of to in on at for from by with about as into and or but so if not no yes ok okay thanks thank please well very really
	just too also then there here now what which who when where why how`)

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
