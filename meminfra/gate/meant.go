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

// meant is how a message means the words at [start, end) of it, or, if they are none,
// the action that begins there. Its denial is no sign of what it denies itself: the
// words of verbs are the names of what is to be done.
func meant(content string, start, end int, verbs map[string]bool) stance {
	if from, to := around(content, start, end); to-from < len(content) {
		return worse(doubts, meant(content[from:to], start-from, end-from, verbs))
	}
	from, to := sentenceAt(content, start, end)
	near := content[from:start] + " \u2026 " + content[end:to]
	words := wordsOf(near)
	for i := range words {
		if verbs[words[i].fold] {
			words[i].fold = ""
		}
	}
	switch {
	case isNegated(words, near), hasAny(near, unspacedDenials):
		return denies
	case !isPlain(content[from:start], content[end:to], start == end, verbs), isTakenBack(content[to:]), isPassedOn(content[:from]),
		isQuoted(content, from, start), isForeign(content, start, end):
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
		if refers && (isNegated(words, text) || slices.ContainsFunc(words, dismisses)) || hasAny(text, unspacedDenials) {
			return true
		}
		from = to
	}
	return false
}

// dismisses reports a word that says of "it" that it is no wish of the user's.
func dismisses(w token) bool {
	return supposing[w.fold] || textual[w.fold] || playing[w.fold] || w.fold == "forget" || w.fold == "leave"
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

// isQuoted reports a sentence within code or a quotation that began before it; of one
// in it the forms know nothing.
func isQuoted(s string, from, start int) bool {
	if strings.Count(s[:start], "```")%2 == 1 || strings.Count(s[:start], "~~")%2 == 1 || strings.Count(s[:start], "{") > strings.Count(s[:start], "}") {
		return true
	}
	line := s[strings.LastIndexByte(s[:start], '\n')+1 : start]
	if strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
		return true
	}
	open := s[max(0, strings.LastIndex(s[:from], "\n\n")):from]
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
	return false
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
