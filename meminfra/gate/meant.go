package gate

import (
	"regexp"
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
// are no sign of it, nor are those of besides.
func meant(content string, start, end int, besides map[string]bool) stance {
	from, to := sentenceAt(content, start, end)
	around := content[from:start] + " \u2026 " + content[end:to]
	words := wordsOf(around)
	for w := range besides {
		for i := range words {
			if words[i].fold == w {
				words[i].fold = ""
			}
		}
	}
	switch {
	case isNegated(words, around):
		return denies
	case isAsked(wordsOf(content[from:start]), content[start:to]), isSupposed(words), isTakenBack(content[end:]),
		isQuoted(content, from, start, end), isForeign(content, start, end):
		return doubts
	}
	return asserts
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
	for w := range strings.FieldsFuncSeq(s, func(c rune) bool { return !isWord(c) && !strings.ContainsRune("'’", c) }) {
		list = append(list, token{w, strings.Trim(strings.ReplaceAll(memory.FoldName(w), "’", "'"), "'")})
	}
	return list
}

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

// against are words that deny like a "not" does.
var against = wordSet(`stop stopped avoid refuse refused refuses forbid forbids forbidden prohibit prohibited ban banned block blocked
	against instead rather wrong incorrect mistaken false fake scam fraud fraudulent phishing suspicious cancel cancels cancelled canceled
	revoke revoked undo hate dislike outdated obsolete former formerly previous previously expired closed`)

func isNegated(words []token, text string) bool {
	for _, w := range words {
		if against[w.fold] || memory.IsNegation(w.fold) {
			return true
		}
	}
	return strings.ContainsAny(text, "不没沒未別别勿非無无莫") || strings.Contains(text, "ない") || strings.Contains(text, "ません")
}

// supposing are words that put what is said in another mouth or world.
var supposing = wordSet(`if unless whether suppose supposing supposed imagine imagining pretend pretending hypothetically theoretically
	would could should might shall perhaps maybe probably possibly wonder wondering wish wishes hope hopes hopefully dream dreamt dreamed
	when whenever once until till or either example instance sample placeholder dummy joke joking kidding fiction fictional story novel
	movie film game roleplay consider considering considered thinking tempted undecided unsure doubt guess
	says saying tells wants asks writes claims claimed suggests suggested recommends recommended advises advised demands demanded
	insists insisted instructs instructed proposes proposed warns warned thinks thought believes believed heard read quote quoted quotes
	quoting according allegedly apparently reportedly supposedly forwarded forwarding pasted pasting copied allegation
	wenn falls ob sagt sagte sagten soll sollte sollen könnte würde vielleicht angeblich si dit disait selon peut-être devrait dice dijo
	según quizás debería secondo forse dovrebbe`)

// toldOf are such words too, but in the user's own mouth.
var toldOf = wordSet("said told asked wrote wanted")

func isSupposed(words []token) bool {
	for i, w := range words {
		before := ""
		if i > 0 {
			before = words[i-1].fold
		}
		switch {
		case supposing[w.fold], w.raw == "may":
			return true
		case toldOf[w.fold] && before != "i" && before != "we":
			return true
		case w.fold == "used" && i+1 < len(words) && words[i+1].fold == "to":
			return true
		}
	}
	return false
}

// What a question begins with: by itself, or before one who is asked about.
var (
	askers     = wordSet("what which who whom whose where why how is are was were am has had can does did")
	askersOf   = wordSet("do have will may")
	asked      = wordSet("i you we he she it they this that there one anyone somebody someone the my")
	introduced = wordSet("please so and but ok okay well then also hey hi hello")
)

func isAsked(words []token, rest string) bool {
	if strings.ContainsAny(rest, "?？؟") {
		return true
	}
	for i, w := range words {
		if introduced[w.fold] {
			continue
		}
		return askers[w.fold] || askersOf[w.fold] && i+1 < len(words) && asked[words[i+1].fold]
	}
	return false
}

// takenBack are words behind a statement that take it back.
var takenBack = wordSet("kidding joking jk nevermind scratch disregard ignore undo")

func isTakenBack(rest string) bool {
	words := wordsOf(rest)
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1].fold
		}
		switch {
		case takenBack[w.fold],
			(w.fold == "forget" || w.fold == "cancel") && (next == "it" || next == "that" || next == "this"),
			w.fold == "never" && next == "mind", w.fold == "changed" && next == "my",
			w.fold == "wait" && (next == "no" || next == "don't" || next == "not"):
			return true
		}
	}
	return false
}

// isQuoted reports words within quotation marks or code; what is nothing but
// quoted itself, like a name, is not.
func isQuoted(s string, from, start, end int) bool {
	if strings.Count(s[:start], "```")%2 == 1 || strings.Count(s[:start], "{") > strings.Count(s[:start], "}") {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(s[:start])
	after, _ := utf8.DecodeRuneInString(s[end:])
	if strings.ContainsRune("\"“”„«»‘’'`「『", before) && strings.ContainsRune("\"“”«»‘’'`」』", after) {
		return false
	}
	open := s[from:start]
	for _, marks := range []string{"\"", "`"} {
		if strings.Count(open, marks)%2 == 1 {
			return true
		}
	}
	for _, pair := range []string{"“”", "„“", "«»", "「」", "『』"} {
		first, n := utf8.DecodeRuneInString(pair)
		if strings.Count(open, string(first)) > strings.Count(open, pair[n:]) {
			return true
		}
	}
	return strings.Contains(open, "‘") || strings.Contains(open, " '")
}

// Marks of text that somebody else wrote and the user put in: the name of who
// speaks before a colon, a tag, the lead of a quoted line, a cut.
var (
	speakers = regexp.MustCompile(`(?im)^\W*(tool|assistant|system|bot|ai|agent|from|subject|document|function|result|output|response|reply|human|user|website|page|e-?mail|mail|message|transcript|log|quote|source)s?\b[^\n:]{0,60}:`)
	reports  = regexp.MustCompile(`(?i)\b(says?|said|writes?|wrote|told|output|following|below|forwarded|fwd|pasted|copied|transcript|quoted?|original|e-?mails?|mails?|website|page|repl(y|ied)|respon(se|ded)|results?|returned|according)\b[^\n]*:\s`)
	tags     = regexp.MustCompile(`</?[a-zA-Z_][^<>@\n]*>|(?m)^\s*[>|]|^[-=_*]{3,}`)
	named    = regexp.MustCompile(`^[\W\d_]*(\p{Lu}[\w’'-]*)(\s[\w’'-]+){0,2}:\s`)
	own      = wordSet("my our the please new note reminder iban account number card address")
)

// isForeign reports words behind such a mark.
func isForeign(s string, start, end int) bool {
	head := s[:start]
	if speakers.MatchString(head) || reports.MatchString(head+" ") || tags.MatchString(head) {
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
