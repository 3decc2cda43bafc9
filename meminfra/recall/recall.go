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

// fewest is how many words a sentence must have to be known again; in scripts
// without spaces it is that many times two characters.
const fewest = 3

// most is how many sentences of one text are looked at. What a longer text says
// further on is not known again.
const most = 1000

// Sentences returns the sentences of a text that are long enough to be known
// again, in order, at most 1,000. Keys of two partitions do not compare.
func Sentences(partition, text string) []Sentence {
	var list []Sentence
	start := 0
	take := func(end int, before rune) {
		words := keyWords(text[start:end])
		if words != "" && len(list) < most && !(strings.ContainsRune(":,：，“\"«「『", before) && leadsIn(words)) {
			sum := sha256.Sum256([]byte(partition + "\x00" + words))
			list = append(list, Sentence{start, end, Key(binary.BigEndian.Uint64(sum[:]))})
		}
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

// leadsIn reports that key words only say that something was said: "as you told
// me,", "from what I remember:". They are no news beside it.
func leadsIn(words string) bool {
	list := strings.Fields(words)
	return len(list) <= 8 && slices.ContainsFunc(list, func(w string) bool { return telling[w] })
}

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
		for _, s := range Sentences(partition, text) {
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

// keyWords are the words of a sentence as they are compared, "" if they are too
// few.
func keyWords(s string) string {
	s = strings.ReplaceAll(cases.Fold().String(norm.NFKC.String(visible(s))), "\u2019", "'")
	words, unspaced := 0, 0
	var b strings.Builder
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '\'' && r != '+' && r != '#'
	}) {
		w = strings.Trim(w, "'")
		if same, ok := samePerson[w]; ok {
			w = same
		} else {
			w = stem(w)
		}
		if w == "" {
			continue
		}
		words++
		if r, _ := utf8.DecodeRuneInString(w); unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) {
			unspaced += utf8.RuneCountInString(w)
		}
		b.WriteString(w + " ")
	}
	if words < fewest && unspaced < 2*fewest {
		return ""
	}
	return strings.ReplaceAll(strings.ReplaceAll(b.String(), "the @ ", "@ "), "the @'s ", "@'s ")
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
