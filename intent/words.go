package intent

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

func set(text string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(text) {
		m[w] = true
	}
	return m
}

// word is one word of a query.
type word struct {
	said    string // folded
	text    string // reduced: "was" is "be"
	capital bool
	name    bool // may be a name
}

var pronouns = set("it this that these those you he she they we me him her us them anything something there here")

// notNames are words that no subject begins with.
var notNames = set(`it this that these those you he she they we me him her us them anything something there here i my your our
	their its the a an to for in of on at and or not what which who where when how why be do have can any`)

var apostrophes = strings.NewReplacer("\u2019", "'", "\u02bc", "'")

// split cuts a query into words, without marks and contractions.
func split(query string) []word {
	query = apostrophes.Replace(norm.NFKC.String(query))
	var out []word
	last := ""
	lower := !strings.ContainsFunc(query, unicode.IsUpper)
	for _, field := range strings.Fields(query) {
		field = strings.TrimFunc(field, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '+' && r != '#' && r != '.' && r != '%'
		})
		field = strings.TrimRight(field, ".")
		head, clitic := cutClitic(field)
		if head != "" {
			r, _ := utf8.DecodeRuneInString(head)
			w := word{said: cases.Fold().String(head), capital: unicode.IsUpper(r)}
			w.text = reduce(w.said)
			w.name = (w.capital || lower && !articles[last]) && !notNames[w.said] && !notNames[w.text]
			last = w.said
			out = append(out, w)
		}
		if clitic != "" {
			out = append(out, word{said: clitic, text: cliticText(clitic, out)})
		}
	}
	return bareOwners(out)
}

var articles = set("the a an")

// bareOwners restores the apostrophe of "my wifes name".
func bareOwners(words []word) []word {
	for i := 1; i+1 < len(words); i++ {
		head, ok := strings.CutSuffix(words[i].said, "s")
		if ok && words[i+1].said == "name" && words[i-1].said == "my" && head != "" {
			owner := words[i]
			owner.said, owner.text = head, reduce(head)
			return slices.Concat(words[:i], []word{owner, {said: "'s", text: "'s"}}, words[i+1:])
		}
	}
	return words
}

func cutClitic(field string) (head, clitic string) {
	folded := strings.ToLower(field)
	if head, ok := strings.CutSuffix(folded, "s"); ok && questionWords[head] && len(folded) == len(field) {
		return field[:len(head)], "'s" // "whats", "wheres"
	}
	for _, c := range []string{"n't", "'s", "'m", "'re", "'ve", "'d", "'ll"} {
		if strings.HasSuffix(folded, c) && len(folded) == len(field) {
			return field[:len(field)-len(c)], c
		}
	}
	return field, ""
}

// cliticText tells "what's" (is) from "Gina's" (owner).
func cliticText(c string, before []word) string {
	switch c {
	case "'m", "'re":
		return "be"
	case "'ve":
		return "have"
	case "'s":
		if n := len(before); n > 0 && questionWords[before[n-1].said] {
			return "be"
		}
	}
	return c
}

var questionWords = set("what who where when how which that")

var reduced = map[string]string{
	"is": "be", "are": "be", "am": "be", "was": "be", "were": "be", "do": "", "does": "", "did": "",
	"has": "have", "had": "have", "favorite": "favourite", "fave": "favourite", "fav": "favourite",
	"color": "colour", "current": "", "present": "", "new": "", "still": "", "currently": "", "now": "",
	"the": "", "a": "", "an": "", "whats": "what", "traveling": "travelling", "which": "what",
}

// reduce brings a word to the form in which questions are compared. "" drops it.
func reduce(w string) string {
	if r, ok := reduced[w]; ok {
		return r
	}
	return w
}

// direct turns an indirect question ("tell me what my job is") into a direct
// one: the be at the end goes after the question word.
func direct(words []word) []word {
	n := len(words)
	if n < 3 || words[n-1].text != "be" {
		return nil
	}
	out := append([]word{words[0], words[n-1]}, words[1:n-1]...)
	return out
}

// asked makes "my job?" the question that it stands for.
func asked(words []word, question string) []word {
	if len(words) < 2 || len(words) > 4 || words[0].text != "my" && words[1].text != "'s" {
		return nil
	}
	return append([]word{{said: question, text: reduce(question)}, {said: "is", text: "be"}}, words...)
}

// scopeSigns are the words of a query that tell its temporal scope.
type scopeSigns struct{ before, ever, still, past bool }

var (
	beforeWords = set("before previously formerly former previous old ex past earlier originally anymore once back")
	everWords   = set("ever always history all")
	fillers     = set("again usually actually really just please so hey hi ok okay and well btw exactly then these days moment presently")
)

// openings are taken off the front, sayings from behind the first word.
var (
	openings = phrases("can you tell me", "could you tell me", "do you know", "do you remember", "can you remind me",
		"please tell me", "tell me", "remind me", "i forgot", "remember", "i wonder", "you know", "what do you know about")
	sayings = phrases("did i say", "did i tell you", "did i mention", "have i told you")
)

func phrases(list ...string) [][]string {
	out := make([][]string, len(list))
	for i, p := range list {
		out[i] = strings.Fields(p)
	}
	return out
}

// readScope takes the words of time out and reads the scope off them.
func readScope(words []word) (scopeSigns, []word) {
	words = cutSaying(cutOpening(words))
	var s scopeSigns
	var out []word
	for i := 0; i < len(words); i++ {
		w := words[i].said
		switch {
		case (w == "used" || w == "use") && i+1 < len(words) && words[i+1].said == "to":
			s.before = true
			i++
			continue
		case w == "before" && len(out) > 2: // "before Oslo", "before that": a time, not part of the question
			s.before = true
			return s, out
		case w == "last" && i > 0 && words[i-1].text == "my":
			s.before = true
			continue
		case beforeWords[w] && !(w == "back" && i+1 < len(words)) && !(w == "old" && i > 0 && words[i-1].said == "how"):
			s.before = true
			continue
		case everWords[w]:
			s.ever = true
			continue
		case w == "did" || w == "was" || w == "were" || w == "had":
			s.past = true
		case w == "still" || w == "currently" || w == "now":
			s.still = true
		case fillers[w] && !(w == "and" && i > 0):
			continue
		case w == "in" && i+2 < len(words) && words[i+1].said == "the" && words[i+2].said == "past":
			s.before = true
			i += 2
			continue
		}
		if words[i].text != "" {
			out = append(out, words[i])
		}
	}
	return s, out
}

// cutSaying takes "did I say" out of "what did I say my name was".
func cutSaying(words []word) []word {
	for _, parts := range sayings {
		if len(words) > len(parts)+2 && said(words[1:], parts) {
			out := append([]word{words[0]}, words[1+len(parts):]...)
			if last := &out[len(out)-1]; last.said == "was" || last.said == "were" {
				last.said = "is" // in reported speech the past is the present
			}
			return out
		}
	}
	return words
}

// said reports whether the words begin with the parts.
func said(words []word, parts []string) bool {
	for i, p := range parts {
		if i >= len(words) || words[i].said != p {
			return false
		}
	}
	return true
}

func cutOpening(words []word) []word {
	for _, parts := range openings {
		if len(words) <= len(parts) {
			continue
		}
		if said(words, parts) {
			return words[len(parts):]
		}
	}
	return words
}

// scope combines the signs with what the form itself asks.
func (s scopeSigns) scope(f *form) Scope {
	switch {
	case s.still:
		return Current
	case s.ever || f.perfect:
		return Any
	case s.before || s.past && !f.past:
		return Historical
	}
	return Current
}
