package answer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// MinCoverage is how much of the question a source must cover, by weight of
// words, to answer it without a model. Chosen on the LoCoMo conversations that
// weights are chosen on.
const MinCoverage = 0.5

// Quote answers without a model: the first source, in the order of the search,
// that is the very fact asked for or covers enough of the question, in its own
// words. It abstains if there is none. Source: design section 8.
func Quote(question string, sources []Source) Answer {
	if len(sources) == 0 {
		return Abstain(NothingFound)
	}
	for i := range sources {
		s := &sources[i]
		if !s.Asked && s.Coverage < MinCoverage {
			continue
		}
		quote := s.Text
		if s.Kind == memory.KindEpisode {
			quote, _ = passage(question, bestSentence(question, s.Text), shownText)
		}
		a := Answer{Text: worded(s, quote), Citations: []Citation{cite(s, quote)}, Opened: []string{s.ID}, Rungs: []string{}}
		return a
	}
	return Abstain(NothingSupports)
}

// worded names the source of what the user did not say himself, and the day on
// which it was said.
func worded(s *Source, quote string) string {
	who := ""
	switch s.Authority {
	case memory.Attested:
		who = "The assistant said: "
	case memory.Unendorsed:
		who = "According to " + first(s.Who, "a tool or document") + ": "
	default:
		if s.Who != "" {
			who = s.Who + " said: "
		}
	}
	text := who + "\u201c" + quote + "\u201d"
	if !s.SaidAt.IsZero() {
		text += fmt.Sprintf(" (%s)", s.SaidAt.UTC().Format("2 January 2006"))
	}
	return text
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// bestSentence picks the sentence of a message that shares most words with the
// question, the first of several; a short message is quoted whole.
func bestSentence(question, text string) string {
	const short = 160
	if len(text) <= short {
		return text
	}
	asked := map[string]bool{}
	for _, w := range words(question) {
		asked[w] = true
	}
	best, most := text, 0
	for _, sentence := range sentences(text) {
		shared := 0
		for _, w := range words(sentence) {
			if asked[w] {
				shared++
			}
		}
		if shared > most {
			best, most = sentence, shared
		}
	}
	return best
}

// passage is the stretch of a long text, of at most tokens, about the sentence
// that shares most words with the question; cut is false for a text that is short
// enough to be whole.
func passage(question, text string, tokens int) (_ string, cut bool) {
	if llm.Tokens(text) <= tokens {
		return text, false
	}
	// Three bytes make about a token, in any script: a quarter goes to what stands before.
	start := max(0, strings.Index(text, bestSentence(question, text))-3*tokens/4)
	for start > 0 && !utf8.RuneStart(text[start]) {
		start++
	}
	end := start + llm.Prefix(text[start:], tokens)
	return strings.TrimSpace(text[start:end]), true
}

func sentences(text string) []string {
	var list []string
	start := 0
	for i, r := range text {
		if r == '.' || r == '!' || r == '?' || r == '\n' || r == '。' || r == '！' || r == '？' {
			end := i + len(string(r))
			if s := strings.TrimSpace(text[start:end]); s != "" {
				list = append(list, s)
			}
			start = end
		}
	}
	if s := strings.TrimSpace(text[start:]); s != "" {
		list = append(list, s)
	}
	return list
}

// words are the words of a text longer than two letters, roughly stemmed: cut
// to their first five letters.
func words(text string) []string {
	var list []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !isWord(r) }) {
		r := []rune(w)
		if len(r) > 2 {
			list = append(list, string(r[:min(len(r), 5)]))
		}
	}
	return list
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '\''
}
