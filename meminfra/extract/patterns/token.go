package patterns

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, half a contraction ("I", "'m"), or one mark. Its offsets
// are bytes of the message.
type token struct {
	text       string // lower case, plain apostrophes
	start, end int
	mark       bool // punctuation or a symbol, not a word
	capital    bool // begins with an upper-case letter
	quoted     bool // inside quotation marks or code
	first      bool // first word of its sentence
}

// sentence is a run of tokens without its closing marks.
type sentence struct {
	tokens    []token
	question  bool
	paragraph int // counted over the message
}

// sentences splits the lines of a message that its speaker says.
func sentences(content string, own func(name string) bool) []sentence {
	var out []sentence
	var cur []token
	paragraph := 0
	flush := func(question bool) {
		if len(cur) > 0 {
			markFirst(cur)
			out = append(out, sentence{tokens: cur, question: question, paragraph: paragraph})
			cur = nil
		}
	}
	quotes := quotation{}
	for _, l := range spokenLines(content, own) {
		if l.gap {
			quotes = quotation{}
			paragraph++
		}
		line := content[:l.end]
		for i := l.start; i < l.end; {
			n := wordEnd(line, i)
			if n == i { // white space
				_, size := utf8.DecodeRuneInString(line[i:])
				i += size
				continue
			}
			for _, t := range splitWord(line, i, n) {
				t.quoted = quotes.see(line, t)
				if t.mark && !t.quoted && endsSentence(line, t, n) {
					question := t.text == "?" || t.text == "\uff1f"
					if question && len(cur) == 0 && len(out) > 0 {
						out[len(out)-1].question = true // "really!?"
					}
					flush(question)
					continue
				}
				cur = append(cur, t)
			}
			i = n
		}
		flush(false)
	}
	return out
}

func markFirst(ts []token) {
	for i := range ts {
		if !ts[i].mark {
			ts[i].first = true
			return
		}
	}
}

// wordEnd is the end of the run without white space that begins at i.
func wordEnd(s string, i int) int {
	n := strings.IndexFunc(s[i:], unicode.IsSpace)
	if n < 0 {
		return len(s)
	}
	return i + n
}

// splitWord cuts marks off both ends of s[from:to] and splits contractions.
func splitWord(s string, from, to int) []token {
	var head, tail []token
	for from < to {
		r, n := utf8.DecodeRuneInString(s[from:to])
		if isWordRune(r) || r == '.' && from+n < to && isLetterAt(s, from+n) || r == '+' && to-from > 1 {
			break
		}
		head = append(head, markToken(s, from, from+n))
		from += n
	}
	for from < to {
		r, n := utf8.DecodeLastRuneInString(s[from:to])
		if isWordRune(r) || r == '+' || r == '#' || r == '%' || r == '.' && isAbbreviation(s[from:to]) {
			break
		}
		tail = append(tail, markToken(s, to-n, to))
		to -= n
	}
	if from < to {
		head = append(head, words(s, from, to)...)
	}
	for i := len(tail) - 1; i >= 0; i-- {
		head = append(head, tail[i])
	}
	return head
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

func isLetterAt(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	return unicode.IsLetter(r)
}

func markToken(s string, from, to int) token {
	return token{text: plainMarks.Replace(s[from:to]), start: from, end: to, mark: true}
}

var plainMarks = strings.NewReplacer("\u2019", "'", "\u2018", "'", "\u02bc", "'", "\u201c", "\"", "\u201d", "\"",
	"\u201e", "\"", "\u00ab", "\"", "\u00bb", "\"", "\u2013", "-", "\u2014", "-")

// isAbbreviation reports a word whose full stop does not end a sentence.
func isAbbreviation(w string) bool {
	w = strings.ToLower(w)
	if len(w) >= 4 && w[len(w)-3] == '.' && w[len(w)-2] != '.' {
		return true // "u.s.", "p.m."
	}
	return abbreviations[w]
}

// words makes the tokens of one word: itself, or the parts of a contraction,
// also one that lost its apostrophe ("im", "dont") or has ’ for it.
func words(s string, from, to int) []token {
	text := strings.ToLower(plainMarks.Replace(s[from:to]))
	r, _ := utf8.DecodeRuneInString(s[from:])
	t := token{text: text, start: from, end: to, capital: unicode.IsUpper(r)}
	if parts, ok := bareContractions[text]; ok {
		return halves(t, to-len(parts[2]), parts[0], parts[1])
	}
	if !strings.Contains(text, "'") {
		return []token{t}
	}
	for _, suffix := range contractions {
		head, ok := strings.CutSuffix(text, suffix)
		if !ok || head == "" {
			continue
		}
		cut := to
		for range suffix { // all suffixes are ASCII; ’ in s is one rune as well
			_, n := utf8.DecodeLastRuneInString(s[from:cut])
			cut -= n
		}
		if whole, ok := wholeHeads[text]; ok {
			head = whole
		}
		return halves(t, cut, head, suffix)
	}
	return []token{t}
}

func halves(t token, cut int, head, tail string) []token {
	a, b := t, t
	a.text, a.end = head, cut
	b.text, b.start, b.capital = tail, cut, false
	return []token{a, b}
}

// endsSentence reports whether the mark t, in a word that ends at n, closes a
// sentence. A full stop inside a word ("node.js") never comes here as a mark.
func endsSentence(s string, t token, n int) bool {
	if !strings.Contains(".!?\u2026\u3002\uff01\uff1f", t.text) {
		return false
	}
	rest := s[t.end:n]
	return strings.TrimFunc(rest, func(r rune) bool { return !isWordRune(r) }) == ""
}

// quotation follows quotation marks through a paragraph. A mark that is never
// closed quotes the rest: no guessing.
type quotation struct{ double, single, code bool }

func (q *quotation) see(s string, t token) bool {
	if !t.mark {
		return q.double || q.single || q.code
	}
	before := rune(' ')
	if t.start > 0 {
		before, _ = utf8.DecodeLastRuneInString(s[:t.start])
	}
	switch t.text {
	case "\"":
		if q.double || !unicode.IsDigit(before) { // 27" is inches
			q.double = !q.double
		}
		return true
	case "`":
		q.code = !q.code
		return true
	case "'":
		opens := !isWordRune(before)
		if q.single != opens {
			q.single = opens
		}
		return true
	}
	return q.double || q.single || q.code
}
