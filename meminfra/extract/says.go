package extract

import (
	"strings"
	"unicode/utf8"
)

// SaysNothing reports a quote [start, end) of content that cannot state by itself
// what a candidate makes of it: nothing but courtesy or assent, or a question that
// has no word of the candidate in it. What was asked or offered before it is
// somebody else's word.
func SaysNothing(content string, start, end int, text, value string) bool {
	quote := content[start:end]
	if strings.ContainsFunc(quote, isUnspaced) || value != "" && containsValue(quote, value) {
		return false
	}
	words := contentWords(quote)
	if len(words) == 0 {
		return true
	}
	asked := strings.HasPrefix(strings.TrimLeft(content[end:], " \"'”’)»"), "?") || strings.HasSuffix(strings.TrimRight(quote, " \"'”’)»"), "?")
	return asked && !shareWord(words, contentWords(text+" "+value))
}

// contentWords are the words of s that are neither common nor courteous, folded.
func contentWords(s string) (list []string) {
	for w := range strings.FieldsFuncSeq(foldText(s).folded, func(r rune) bool { return !isWordRune(r) && !isApostrophe(r) }) {
		if !common[w] && !courtesy[w] {
			list = append(list, w)
		}
	}
	return list
}

// shareWord reports a word of both, in whatever form: short words are the same,
// longer ones begin alike.
func shareWord(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			n := min(4, utf8.RuneCountInString(x), utf8.RuneCountInString(y))
			if x == y || n > 2 && strings.HasPrefix(y, string([]rune(x)[:n])) {
				return true
			}
		}
	}
	return false
}

// courtesy are words that thank, greet, agree or refuse and say nothing else.
var courtesy = wordSet("thanks thank thx ty please pls welcome hello hi hey bye goodbye yes yeah yep yup no nope nah ok okay k sure fine great good nice cool " +
	"perfect right correct exactly true agreed absolutely definitely certainly indeed alright awesome amazing lovely wonderful excellent brilliant super " +
	"wow haha lol hmm oh ah well sounds got see cheers course sorry problem worries much lot again")
