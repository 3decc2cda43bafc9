// Package intent reads what a query asks for, by rules: which predicate of the
// registry and in which time (Infer), and which granularity of memory (Route).
// Everything here is a soft hint: it feeds a branch or shifts a weight and never
// excludes a memory.
package intent

import (
	"strings"
	"sync"

	"github.com/meminfra/memory-layer/predicates"
)

// Scope is the part of a fact's life that a query is about. A date in the
// question does not make it historical.
type Scope string

// The scopes.
const (
	Current    Scope = "current"
	Historical Scope = "historical"
	Any        Scope = "any"
)

// QueryIntent is a hint for structured retrieval.
type QueryIntent struct {
	Predicate string `json:"predicate"`          // canonical
	Value     string `json:"value"`              // as shown; "" if the query does not try to match one
	Category  string `json:"category,omitempty"` // of a keyed predicate: "colour" for a favourite colour
	Subject   string `json:"subject"`            // name of the person or project asked about, folded; "" for the user
	Scope     Scope  `json:"temporal_scope"`
}

// Infer matches the query with the question forms of the registry. Not ok if no
// form fits. "I" and "my" are the user; a name in their place is the subject.
// The form with most words wins, then the order of the registry.
// Source: design §6; the Python library asks a model instead (python-meminfra §8).
func Infer(reg *predicates.Registry, query string) (QueryIntent, bool) {
	words := split(query)
	if len(words) == 0 || len(words) > maxWords {
		return QueryIntent{}, false
	}
	scope, words := readScope(words)
	for _, w := range [][]word{words, direct(words), asked(words, "what"), asked(words, "who")} {
		if q, ok := match(reg, w, scope); ok {
			return q, true
		}
	}
	return QueryIntent{}, false
}

// maxWords bounds the queries that are read; longer ones are no plain question.
const maxWords = 40

func match(reg *predicates.Registry, words []word, s scopeSigns) (QueryIntent, bool) {
	if len(words) == 0 {
		return QueryIntent{}, false
	}
	x := indexOf(reg)
	best, bestWeight := QueryIntent{}, -1
	for _, first := range []string{words[0].text, subjectMark} {
		for _, f := range x[first] {
			if f.weight <= bestWeight {
				continue
			}
			if q, ok := f.match(reg, words); ok {
				q.Scope = s.scope(f)
				best, bestWeight = q, f.weight
			}
		}
	}
	return best, bestWeight >= 0
}

// index holds the expanded question forms by their first word.
type index map[string][]*form

// indexes keeps one index for each registry in use; registries are immutable
// and few.
var indexes sync.Map

func indexOf(reg *predicates.Registry) index {
	if x, ok := indexes.Load(reg); ok {
		return x.(index)
	}
	x := index{}
	for _, p := range reg.All() {
		for _, template := range p.Questions {
			forms, err := predicates.Expand(template)
			if err != nil {
				continue // a registry is validated: this does not happen
			}
			for _, words := range forms {
				f := newForm(p, words)
				if len(f.words) > 0 {
					x[f.words[0]] = append(x[f.words[0]], f)
				}
			}
		}
	}
	indexes.Store(reg, x)
	return x
}

// form is one question, its words reduced like those of a query.
type form struct {
	predicate predicates.Predicate
	words     []string
	weight    int
	past      bool // asks in the past tense although the present is meant
	perfect   bool // "where have I worked": past and present
}

// subjectMark stands for "I" or a name, ownerMark for "my" or "NAME's".
const (
	subjectMark = "<subject>"
	ownerMark   = "<owner>"
)

func newForm(p predicates.Predicate, words []string) *form {
	f := &form{predicate: p}
	for _, w := range words {
		switch {
		case w == "did" || w == "was" || w == "were":
			f.past = true
		case w == "have" && len(f.words) > 0 && words[len(words)-1] != "have" && followsHave(words):
			f.perfect = true
		}
		w = reduce(w)
		switch w {
		case "":
			continue
		case "i":
			w = subjectMark
		case "my":
			w = ownerMark
		}
		f.words = append(f.words, w)
		switch {
		case w == "{value:known}":
			f.weight += 8
		case w[0] == '{':
			f.weight++
		default:
			f.weight += 10
		}
	}
	return f
}

// followsHave reports "have I lived": have as an auxiliary of the question.
func followsHave(words []string) bool {
	for i := 0; i+1 < len(words); i++ {
		if words[i] == "have" && words[i+1] == "i" {
			return true
		}
	}
	return false
}

// match reads the form off the words; what is left over may only be an adjunct.
func (f *form) match(reg *predicates.Registry, words []word) (QueryIntent, bool) {
	q := QueryIntent{Predicate: f.predicate.Name}
	i := 0
	for k, w := range f.words {
		if i >= len(words) {
			return q, false
		}
		n := 0
		switch {
		case w == subjectMark || w == ownerMark:
			n = f.readSubject(&q, words[i:], w == ownerMark)
		case w[0] == '{':
			n = f.readSlot(reg, &q, w, words[i:], f.words[k+1:])
		case words[i].text == w:
			n = 1
		}
		if n == 0 {
			return q, false
		}
		i += n
	}
	return q, i == len(words) || adjuncts[words[i].text]
}

// adjuncts may follow a whole question: "Which database do I prefer for work?"
var adjuncts = set(`for in at on when while after during since with as and according by from or if because
	today tomorrow nowadays most best more right apart besides other`)

// readSubject takes "I" or "my", or a name in their place.
func (f *form) readSubject(q *QueryIntent, words []word, owner bool) int {
	if !owner && words[0].text == "i" || owner && words[0].text == "my" {
		return 1
	}
	for n := 1; n <= 2 && n <= len(words); n++ {
		if !words[n-1].name {
			return 0
		}
		if owner && (n >= len(words) || words[n].text != "'s") {
			continue
		}
		if !owner && n < len(words) && words[n].name && words[n].capital {
			continue // the name goes on
		}
		q.Subject = joined(words[:n])
		if owner {
			return n + 1
		}
		return n
	}
	return 0
}

// readSlot takes the words up to the form's next word or an adjunct.
func (f *form) readSlot(reg *predicates.Registry, q *QueryIntent, slot string, words []word, rest []string) int {
	end := 0
	for end < len(words) && end < 6 && !(len(rest) > 0 && words[end].text == rest[0]) && !(end > 0 && len(rest) == 0 && adjuncts[words[end].text]) {
		end++
	}
	if len(rest) > 0 && rest[0][0] == '{' {
		end = min(end, 1) // two slots in a row: the first is one word
	}
	text := joined(words[:end])
	if text == "" || len(rest) > 0 && end == len(words) {
		return 0
	}
	switch slot {
	case "{category}":
		_, id, ok := reg.Value(f.predicate.Name, text+": x")
		q.Category, _, _ = strings.Cut(id, ":")
		if !ok {
			return 0
		}
	case "{subject}":
		q.Subject = text
	default:
		if slot == "{value:known}" && !reg.Known(f.predicate.Name, text) {
			return 0
		}
		shown, _, ok := reg.Value(f.predicate.Name, text)
		if !ok || pronouns[text] {
			return 0
		}
		q.Value = shown
	}
	return end
}

func joined(words []word) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.said
	}
	return strings.Join(parts, " ")
}
