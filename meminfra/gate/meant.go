package gate

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// stance is how a message means what it says. In doubt it is not meant: a call
// that has to be confirmed costs a question, one that passes unasked may cost all.
type stance int

const (
	silent  stance = iota // it is not said
	doubts                // asked, supposed, quoted or told of somebody else
	denies                // said not to be so
	asserts               // said to be so
)

// worse returns the stance of a message that takes both: one denial outweighs,
// one doubt spoils.
func worse(a, b stance) stance {
	switch {
	case a == silent || b == denies:
		return b
	case b == silent || a == denies || a == doubts:
		return a
	}
	return b
}

// meant is how a message means the words at [start, end) of it. Their own words
// are no sign of it, nor are those of besides: the names of what is to be done.
func meant(content string, start, end int, besides map[string]bool) stance {
	if from, to := around(content, start, end); to-from < len(content) {
		return worse(doubts, meant(content[from:to], start-from, end-from, besides))
	}
	from, to := sentenceAt(content, start, end)
	near := content[from:start] + " \u2026 " + content[end:to]
	words := wordsOf(near)
	for i := range words {
		if besides[words[i].fold] {
			words[i].fold = ""
		}
	}
	switch {
	case isNegated(words, near), hasAny(near, unspacedDenials):
		return denies
	case isAsked(wordsOf(content[from:start]), content[start:to]), isSupposed(words), hasAny(near, unspacedDoubts),
		isUnread(words, near), isPast(wordsOf(content[from:start])), isTakenBack(content[to:]), isPassedOn(content[:from]),
		isQuoted(content, from, start, end), isForeign(content, start, end):
		return doubts
	}
	return asserts
}

// around is what is read of a message about a stretch of it: all of a short one.
func around(content string, start, end int) (from, to int) {
	from, to = max(0, start-mostAround), min(len(content), end+mostAround)
	for from < start && !utf8.RuneStart(content[from]) {
		from++
	}
	for to < len(content) && to > end && !utf8.RuneStart(content[to]) {
		to--
	}
	return from, to
}

// sentenceAt widens a stretch to the sentences that it is in. A line break ends
// none, an empty line does, and a full stop only before a capital: what is cut
// too late is only doubted more.
func sentenceAt(s string, start, end int) (from, to int) {
	for i := start; i > 0; {
		r, n := utf8.DecodeLastRuneInString(s[:i])
		if endsSentence(r, s[i:]) {
			from = i
			break
		}
		i -= n
	}
	for i := end; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if endsSentence(r, s[i:]) {
			return from, i
		}
	}
	return from, len(s)
}

// endsSentence reports whether a character ends a sentence, by what follows it.
func endsSentence(r rune, rest string) bool {
	next := strings.TrimLeftFunc(rest, unicode.IsSpace)
	first, _ := utf8.DecodeRuneInString(next)
	switch r {
	case '。', '！', '？':
		return true
	case '!', '?':
		return len(next) < len(rest) || next == ""
	case '.', '…':
		return next == "" || len(next) < len(rest) && !unicode.IsLower(first)
	case '\n':
		return strings.Contains(rest[:len(rest)-len(next)], "\n")
	}
	return false
}

// token is a word of a message as it is written and folded.
type token struct{ raw, fold string }

func wordsOf(s string) []token {
	var list []token
	for w := range strings.FieldsFuncSeq(apostrophes.Replace(s), func(c rune) bool { return !isWord(c) && c != '\'' }) {
		list = append(list, token{w, strings.Trim(memory.FoldName(w), "'")})
	}
	return list
}

// apostrophes are all the characters that people write for one.
var apostrophes = strings.NewReplacer("’", "'", "‘", "'", "‛", "'", "ʼ", "'", "´", "'", "`", "'", "′", "'", "＇", "'")

func isWord(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c) || c == '_'
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// isNegated reports words that deny what is said.
func isNegated(words []token, text string) bool {
	for i, w := range words {
		next := at(words, i+1)
		if against[w.fold] || memory.IsNegation(w.fold) || (w.fold == "other" || w.fold == "rather") && next == "than" ||
			w.fold == "apart" && next == "from" || w.fold == "hold" && next == "off" || w.fold == "out" && next == "of" && at(words, i+3) == "question" ||
			(w.fold == "anyone" || w.fold == "anybody" || w.fold == "all" || w.fold == "everyone" || w.fold == "everybody") && next == "but" {
			return true
		}
	}
	return strings.ContainsAny(text, "≠¬")
}

// at is a word as folded, "" beyond the last.
func at(words []token, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i].fold
}

// isSupposed reports words that put what is said in another mouth or world.
func isSupposed(words []token) bool {
	for i, w := range words {
		before, next := at(words, i-1), at(words, i+1)
		switch {
		case supposing[w.fold], w.raw == "may", w.raw == "o", w.raw == "ou":
			return true
		case toldOf[w.fold] && before != "i" && before != "we":
			return true
		case w.fold == "used" && next == "to", w.fold == "in" && next == "case", w.fold == "long" && next == "as",
			w.fold == "plan" && next == "to", w.fold == "was" && next == "like", w.fold == "say" && (i == 0 || before == "let's" || before == "us"):
			return true
		case (w.fold == "me" || w.fold == "us") && next == "to" && !mine[before]: // Bob needs me to
			return true
		case w.fold == "me" && (before == "ask" || before == "check") || w.fold == "with" && before == "check":
			return true
		}
	}
	return false
}

// isAsked reports a question, by how it begins or by what follows.
func isAsked(words []token, rest string) bool {
	if strings.ContainsAny(rest, "?？؟") {
		return true
	}
	if last := wordsOf(rest); len(last) > 1 && tags[last[len(last)-1].fold] {
		return true
	}
	for i, w := range words {
		if introduced[w.fold] {
			continue
		}
		return askers[w.fold] || askersOf[w.fold] && asked[at(words, i+1)]
	}
	return false
}

// isPast reports that it only was so: "my payee was ...".
func isPast(ahead []token) bool {
	last := at(ahead, len(ahead)-1)
	return last == "was" || last == "were" || last == "been"
}

// isUnread reports what these rules cannot read: another script, a sentence in a
// language that they have no words of, signs and invisible characters.
func isUnread(words []token, text string) bool {
	for _, c := range text {
		switch {
		case unicode.IsLetter(c) && !unicode.In(c, unicode.Latin, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Lm),
			unicode.Is(unicode.Cf, c), 0x334 <= c && c <= 0x338, unicode.Is(unicode.So, c) && !strings.ContainsRune("°©®™№", c):
			return true
		}
	}
	latin := 0
	for _, w := range words {
		if c, _ := utf8.DecodeRuneInString(w.raw); plain[w.fold] || w.fold == "" {
			return false
		} else if unicode.Is(unicode.Latin, c) {
			latin++
		}
	}
	return latin > mostUnknown
}

// mostUnknown is how many words may stand beside a value, none of them known.
const mostUnknown = 3

// isTakenBack reports a later sentence that takes back what was said: by its
// words, or by a denial of "it" and the like.
func isTakenBack(rest string) bool {
	for from := 0; from < len(rest); {
		_, to := sentenceAt(rest, from, from)
		if to <= from {
			break
		}
		text := rest[from:to]
		words := wordsOf(text)
		refers := len(words) > 0 && len(words) <= 3
		for i, w := range words {
			if takenBack[w.fold] || w.fold == "changed" && at(words, i+1) == "my" || w.fold == "never" && at(words, i+1) == "mind" {
				return true
			}
			refers = refers || referring[w.fold]
		}
		if refers && (isNegated(words, text) || isSupposed(words) || slices.ContainsFunc(words, dismisses)) || hasAny(text, unspacedDenials) {
			return true
		}
		from = to
	}
	return false
}

// dismisses reports a word that says of "it" that it is no wish of the user's.
func dismisses(w token) bool {
	return toldOf[w.fold] || textual[w.fold] || playing[w.fold] || w.fold == "forget" || w.fold == "leave"
}

// isPassedOn reports that what was said before says of the rest that it is a text,
// a part that is played, or not so.
func isPassedOn(head string) bool {
	words := wordsOf(head)
	for i, w := range words {
		next := at(words, i+1)
		switch {
		case textual[w.fold], playing[w.fold], w.fold == "act" && next == "as", w.fold == "play" && (at(words, i-1) == "let's" || at(words, i-1) == "us"), w.fold == "you" && next == "are" && (at(words, i+2) == "a" || at(words, i+2) == "an" || at(words, i+2) == "the"),
			w.fold == "next" && (next == "sentence" || next == "line"):
			return true
		case w.fold == "this" || w.fold == "following" || w.fold == "these":
			if next == "" || next == "is" || next == "are" || pointing[at(words, i-1)] {
				return true
			}
		}
	}
	return false
}

// isQuoted reports words within quotation marks or code, or struck out; what is
// nothing but quoted itself, like a name, is not.
func isQuoted(s string, from, start, end int) bool {
	if strings.Count(s[:start], "```")%2 == 1 || strings.Count(s[:start], "~~")%2 == 1 || strings.Count(s[:start], "{") > strings.Count(s[:start], "}") {
		return true
	}
	line := s[strings.LastIndexByte(s[:start], '\n')+1 : start]
	if strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(s[:start])
	after, _ := utf8.DecodeRuneInString(s[end:])
	if strings.ContainsRune("\"“”„«»‘’'`「『‹›‚", before) && strings.ContainsRune("\"“”«»‘’'`」』‹›", after) {
		return false
	}
	open := s[max(0, strings.LastIndex(s[:from], "\n\n")):start] // a quotation may have several sentences
	for _, marks := range []string{"\"", "`"} {
		if strings.Count(open, marks)%2 == 1 {
			return true
		}
	}
	for _, pair := range []string{"“”", "„“", "«»", "‹›", "「」", "『』"} {
		first, n := utf8.DecodeRuneInString(pair)
		if strings.Count(open, string(first)) > strings.Count(open, pair[n:]) {
			return true
		}
	}
	own := s[from:start]
	return strings.ContainsAny(own, "‘‚") || strings.HasPrefix(own, "'") || strings.Contains(own, " '")
}

// isForeign reports words behind a mark of text that somebody else wrote and the
// user put in.
func isForeign(s string, start, end int) bool {
	head := s[:start]
	if speakers.MatchString(head) || reports.MatchString(head+" ") || marks.MatchString(head) {
		return true
	}
	line := head[strings.LastIndexByte(head, '\n')+1:]
	m := named.FindStringSubmatch(line + " ")
	if m == nil || own[memory.FoldName(m[1])] {
		return false
	}
	to := end + strings.IndexByte(s[end:]+"\n", '\n')
	return strings.Trim(strings.TrimPrefix(line+" ", m[0])+s[end:to], " .,;!\t\r") != "" // not "Label: value"
}
