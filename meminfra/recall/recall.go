// Package recall knows again what this memory handed out: search hits, answers
// and context blocks that come back in the messages of a conversation. What the
// memory said itself is no new evidence for it. It is pure.
//
// A sentence is known by a key of its words, in which the grammatical person does
// not count ("I prefer Go", "you prefer Go", "the user prefers Go"), so that no
// text need be kept. A context block is known by its mark.
package recall

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Key identifies a sentence in one partition.
type Key uint64

// Sentence is a stretch [Start, End) of a text that says something by itself: a
// sentence, a clause or what stands in quotation marks.
type Sentence struct {
	Start, End int
	Key        Key
}

// Self is what else stands for the user in a text.
type Self struct {
	Names []string // single words, folded
	Third bool     // "he", "she" and "they"
}

// fewest is how many words a sentence must have to be known again; in scripts
// without spaces it is that many times two characters.
const fewest = 3

// most is how many sentences of one text are looked at. What a longer text says
// further on is not known again.
const most = 1000

// Sentences returns the sentences of a text that are long enough to be known
// again, in order, at most 1,000. Keys of two partitions do not compare.
func Sentences(partition, text string, self Self) []Sentence {
	var list []Sentence
	for _, c := range clauses(text, self) {
		if len(list) < most && c.says() {
			list = append(list, Sentence{c.start, c.end, keyOf(partition, c.words)})
		}
	}
	return list
}

// Heard is a clause of a text and the keys under which it would be known again:
// its own, and those of the runs of clauses that it is part of, since what was one
// sentence may come back cut in pieces.
type Heard struct {
	Start, End int
	Keys       []Key
	// Text is the stretch that those runs lie in.
	Text string
	// Short is a clause that says too little by itself.
	Short bool
}

// longestRun is how many clauses a sentence that was cut in pieces is looked for in.
const longestRun = 4

// Touching returns the clauses of a text that its stretch [start, end) touches,
// without those that only say that something was said. Each has its keys both with
// self taken for the user and without, since what was handed out may have been
// kept either way: see Pack.
func Touching(partition, text string, start, end int, self Self) []Heard {
	var list []Heard
	from, to := window(text, start, end)
	text, start, end = text[from:to], start-from, end-from
	all, plain := clauses(text, self), clauses(text, Self{}) // of the same stretches
	for i, c := range all {
		if c.end <= start || c.start >= end || c.lead || len(c.words) == 0 || len(list) == most {
			continue
		}
		first, last := around(all, i)
		list = append(list, Heard{Start: from + c.start, End: from + c.end, Text: text[all[first].start:all[last-1].end], Short: !c.says(),
			Keys: slices.Concat(runs(partition, all, i), runs(partition, plain, i))})
	}
	return list
}

// window is the part of a text in which all runs lie that its stretch [start, end)
// touches: a text may be long, and have a quote in each line.
func window(text string, start, end int) (from, to int) {
	marks := 0
	for from = start; from > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:from])
		if endsSentence(r) && !insideNumber(text, from-size) {
			if marks++; marks == longestRun {
				break
			}
		}
		from -= size
	}
	marks, to = 0, max(start, end-1)
	for to < len(text) && marks < longestRun {
		r, size := utf8.DecodeRuneInString(text[to:])
		if endsSentence(r) && !insideNumber(text, to) {
			marks++
		}
		to += size
	}
	return from, to
}

// around are the clauses [from, to) of the runs that the i-th is part of.
func around(all []clause, i int) (from, to int) {
	return max(0, i-longestRun+1), min(len(all), i+longestRun)
}

// runs are the keys of the runs that the i-th clause is part of.
func runs(partition string, all []clause, i int) (keys []Key) {
	from, to := around(all, i)
	for a := from; a <= i; a++ {
		for b := i + 1; b <= min(to, a+longestRun); b++ {
			var words []string
			for _, part := range all[a:b] {
				words = append(words, part.words...)
			}
			if words = withoutLead(words); isLong(words) {
				keys = append(keys, keyOf(partition, words))
			}
		}
	}
	return keys
}

// clause is a stretch of a text between marks, and its words as they are compared.
type clause struct {
	start, end int
	words      []string
	lead       bool // only says that something was said
}

func (c *clause) says() bool { return !c.lead && isLong(c.words) }

func clauses(text string, self Self) []clause {
	var list []clause
	start := 0
	take := func(end int, before rune) {
		words := keyWords(text[start:end], self)
		lead := strings.ContainsRune(":,：，“\"«「『", before) && leadsIn(words)
		list = append(list, clause{start, end, withoutLead(words), lead})
	}
	for i, r := range text {
		if endsSentence(r) && !insideNumber(text, i) {
			take(i, r)
			start = i + utf8.RuneLen(r)
		}
	}
	take(len(text), 0)
	return list
}

func keyOf(partition string, words []string) Key {
	sum := sha256.Sum256([]byte(partition + "\x00" + strings.Join(words, " ")))
	return Key(binary.BigEndian.Uint64(sum[:]))
}

// leadsIn reports that key words only say that something was said: "as you told
// me,", "from what I remember:". They are no news beside it.
func leadsIn(words []string) bool {
	return len(words) <= 8 && slices.ContainsFunc(words, func(w string) bool { return telling[w] })
}

// withoutLead takes off what leads into a statement without a mark between them:
// "since", "as you told me", "I remember that". What denies or doubts is no lead.
func withoutLead(words []string) []string {
	i := 0
	for i < len(words) && joining[words[i]] {
		i++
	}
	rest := words[i:]
	for n, w := range rest {
		switch {
		case telling[w]:
			n++
			if (w == "told" || w == "tell") && n < len(rest) && rest[n] == "@" { // whom
				n++
			}
			if n < len(rest) && rest[n] == "that" {
				n++
			}
			return rest[n:]
		case w != "@" && w != "have" && w != "already" && w != "still" && w != "also":
			return rest
		}
	}
	return rest
}

// joining words begin a statement and add nothing to it.
var joining = map[string]bool{"since": true, "because": true, "as": true, "given": true, "that": true, "and": true, "but": true, "so": true,
	"well": true, "also": true, "though": true, "although": true, "while": true, "yes": true, "indeed": true}

var telling = map[string]bool{"told": true, "tell": true, "said": true, "say": true, "mentioned": true, "mention": true, "know": true,
	"remember": true, "recall": true, "according": true, "memory": true, "noted": true, "stated": true, "note": true, "wrote": true}

func endsSentence(r rune) bool {
	return strings.ContainsRune(".!?;:,\n\r\"()[]{}<>|。！？；：，、“”„«»「」『』…", r)
}

// insideNumber keeps "3.5" and "1,000" together.
func insideNumber(text string, i int) bool {
	return (text[i] == '.' || text[i] == ',') && i > 0 && i+1 < len(text) && isDigit(text[i-1]) && isDigit(text[i+1])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Pack is the stored form of the keys of texts, 8 bytes each, none twice.
func Pack(partition string, texts ...string) []byte {
	var out []byte
	seen := map[Key]bool{}
	for _, text := range texts {
		for _, s := range Sentences(partition, text, Self{}) {
			if !seen[s.Key] && len(seen) < most {
				seen[s.Key] = true
				out = binary.BigEndian.AppendUint64(out, uint64(s.Key))
			}
		}
	}
	return out
}

// Unpack is the inverse of Pack; bytes that are no whole key are left out.
func Unpack(packed []byte) []Key {
	keys := make([]Key, 0, len(packed)/8)
	for ; len(packed) >= 8; packed = packed[8:] {
		keys = append(keys, Key(binary.BigEndian.Uint64(packed)))
	}
	return keys
}

// keyWords are the words of a sentence as they are compared.
func keyWords(s string, self Self) []string {
	s = strings.ReplaceAll(cases.Fold().String(norm.NFKC.String(visible(s))), "\u2019", "'")
	var words []string
	before := false // the word before is a name of the user
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '\'' && r != '+' && r != '#'
	}) {
		if w = strings.Trim(w, "'"); w == "" {
			continue
		}
		named := self.isName(strings.TrimSuffix(w, "'s"))
		w = self.word(w)
		if n := len(words); n > 0 && (words[n-1] == "the" && strings.HasPrefix(w, "@") || before && named && words[n-1] == "@") {
			words = words[:n-1] // "the user", "Ada Lace"
		}
		words, before = append(words, strings.Fields(w)...), named
	}
	return words
}

func (s Self) isName(w string) bool { return slices.Contains(s.Names, w) }

// word is a word as it is compared.
func (s Self) word(w string) string {
	name, owns := strings.CutSuffix(w, "'s")
	same, isPerson := samePerson[w]
	third, isThird := thirdPerson[w]
	switch {
	case s.isName(w):
		return "@"
	case owns && s.isName(name):
		return "@'s"
	case s.Third && isThird:
		return third
	case isPerson:
		return same
	}
	return stem(w)
}

// isLong reports words that are enough to be known again.
func isLong(words []string) bool {
	unspaced := 0
	for _, w := range words {
		if r, _ := utf8.DecodeRuneInString(w); unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) {
			unspaced += utf8.RuneCountInString(w)
		}
	}
	return len(words) >= fewest || unspaced >= 2*fewest
}

// visible is s without the characters that nobody sees, such as a zero-width
// space in the middle of a word.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
}

// samePerson maps words whose form depends on who speaks of whom.
var samePerson = map[string]string{
	"i": "@", "me": "@", "you": "@", "user": "@", "myself": "@", "yourself": "@",
	"my": "@'s", "your": "@'s", "mine": "@'s", "yours": "@'s", "user's": "@'s",
	"i'm": "@ be", "you're": "@ be", "am": "be", "are": "be", "is": "be", "was": "were",
	"i've": "@ have", "you've": "@ have", "has": "have", "i'll": "@ will", "you'll": "@ will", "i'd": "@ would", "you'd": "@ would",
	"does": "do", "doesn't": "don't", "isn't": "aren't", "wasn't": "weren't", "hasn't": "haven't", "goes": "go",
}

var thirdPerson = map[string]string{"he": "@", "she": "@", "they": "@", "him": "@", "them": "@", "his": "@'s", "her": "@'s", "their": "@'s",
	"he's": "@ be", "she's": "@ be", "they're": "@ be", "they've": "@ have"}

// stem takes the ending of the third person, and of a plural, off.
func stem(w string) string {
	switch {
	case len(w) < 4 || strings.HasSuffix(w, "ss") || !strings.HasSuffix(w, "s"):
		return w
	case strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"):
		return w[:len(w)-2]
	}
	return w[:len(w)-1]
}
