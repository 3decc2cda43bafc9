package retrieve

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// marks tell what kind of text a row holds, so that a question can be met by
// what could answer it. They are read once, when a row is indexed, and are hints
// of weight only. The words are English; a text in another language has the
// marks that need none.
type marks uint8

const (
	markAsks   marks = 1 << iota // ends in a question
	markTime                     // says when: "yesterday", "last week", "in May", a year
	markNumber                   // has a number, in figures or words
	markName                     // has a capitalised word inside a sentence, or a quotation
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// markWords are the words that mark a text, and those that do so together: a
// head before a unit.
const (
	wordTime   = 1 << iota // says when
	wordHead               // "last", before a unit
	wordUnit               // "week", after a head
	wordNumber             // says how many
)

var markWords = func() map[string]uint8 {
	set := map[string]uint8{}
	for as, words := range map[uint8]string{
		wordTime: `yesterday today tonight tomorrow ago since just recently
			monday tuesday wednesday thursday friday saturday sunday
			january february march april june july august september october november december`,
		wordHead: `last next this past`,
		wordUnit: `night week weekend month year summer winter fall autumn spring morning evening
			monday tuesday wednesday thursday friday saturday sunday`,
		wordNumber: `one two three four five six seven eight nine ten eleven twelve once twice couple few several
			dozen hundred thousand`,
	} {
		for _, w := range strings.Fields(words) {
			set[w] |= as
		}
	}
	return set
}()

// readMarks reads the marks off a text.
func readMarks(text string) marks {
	var m marks
	if asks(text) {
		m |= markAsks
	}
	if i := strings.IndexByte(text, '"'); i >= 0 && strings.IndexByte(text[i+1:], '"') > 0 {
		m |= markName
	}
	before := ""     // the word before, folded
	said := uint8(0) // and what it marks
	inside := false
	eachWord(text, func(word string, opens bool) {
		low := strings.ToLower(word)
		marked := markWords[low]
		switch {
		case '0' <= word[0] && word[0] <= '9':
			m |= markNumber
			if isYear(word) {
				m |= markTime
			}
		case marked&wordTime != 0, said&wordHead != 0 && marked&wordUnit != 0, before == "in" && low == "may":
			m |= markTime
		case marked&wordNumber != 0:
			m |= markNumber
		}
		first, _ := utf8.DecodeRuneInString(word)
		if inside && !opens && len(word) > 1 && unicode.IsUpper(first) && word != "I'm" && word[1] != '\'' {
			m |= markName
		}
		before, said, inside = low, marked, true
	})
	return m
}

// isYear reports a number that is most likely one.
func isYear(word string) bool {
	return len(word) == 4 && (word[:2] == "19" || word[:2] == "20")
}

// asks reports whether a text ends in a question. What stands in brackets at the
// end is a note about an attachment and not said.
func asks(text string) bool {
	text = strings.TrimSpace(text)
	if strings.HasSuffix(text, "]") {
		if i := strings.LastIndexByte(text, '['); i > 0 {
			text = strings.TrimSpace(text[:i])
		}
	}
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
}

// eachWord yields the words of a text, and whether each opens a sentence.
func eachWord(text string, f func(word string, opens bool)) {
	start, opens := -1, true
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || (r == '\'' || r == '’') && start >= 0 {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			f(text[start:i], opens)
			start, opens = -1, false
		}
		if r == '.' || r == '!' || r == '?' || r == ':' || r == '\n' || r == '[' {
			opens = true
		}
	}
	if start >= 0 {
		f(text[start:], opens)
	}
}

// wants reads off a query what would answer it: markTime, markNumber, markName,
// or nothing in particular.
func wants(words []string) marks {
	for len(words) > 1 && (words[0] == "in" || words[0] == "on" || words[0] == "since" || words[0] == "and" || words[0] == "so") {
		words = words[1:]
	}
	second := ""
	if len(words) > 1 {
		second = words[1]
	}
	if len(words) == 0 {
		return 0
	}
	switch words[0] {
	case "when":
		return markTime
	case "who", "whose", "whom", "where":
		return markName
	case "how":
		switch second {
		case "many", "much", "old", "often":
			return markNumber
		case "long":
			return markTime
		}
	case "what", "which":
		switch second {
		case "date", "day", "year", "month", "time":
			return markTime
		}
		if words[0] == "which" || len(words) > 3 && strings.HasPrefix(words[3], "name") {
			return markName
		}
	}
	return 0
}
