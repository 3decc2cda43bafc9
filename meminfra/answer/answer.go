// Package answer turns what a search found into an answer that cites it: with
// a model by distilling, answering from what was distilled alone, and judging;
// without one by quoting. A citation that was not opened does not stand, and
// when nothing supports an answer there is none.
//
// Truth and derivation: an answer is made of hits and is kept nowhere but in
// its trace. Source: design section 8; papers.md sections 2, 4 and 6.
package answer

import (
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Source is one memory that an answer may rely on.
type Source struct {
	ID        string
	Kind      memory.Kind
	Text      string
	Who       string // whose words: a speaker, a tool; "" for the user
	Authority memory.Authority
	Status    memory.Status
	SaidAt    time.Time
	Valid     memory.Validity
	// Coverage is the share of the question's words, weighed by how rare they
	// are, that the source has, in [0,1]. Asked marks the very fact asked for.
	Coverage float64
	Asked    bool

	cut bool // Text is a passage of what it was
}

// Citation is an answer's pointer to a source, with the words relied on.
type Citation struct {
	ID     string           `json:"id"`
	Kind   memory.Kind      `json:"kind"`
	Quote  string           `json:"quote"`
	Weight memory.Authority `json:"authority"`
	SaidAt *time.Time       `json:"said_at"`
}

// Reasons why there is no answer.
const (
	NothingAsked    = "nothing_asked"    // small talk: memory was not searched
	NothingFound    = "nothing_found"    // no memory was found
	NothingSupports = "nothing_supports" // what was found does not answer it
)

// Answer is an answer with its citations, or the reason why there is none.
type Answer struct {
	Text      string     `json:"answer"`
	Citations []Citation `json:"citations"`
	Abstained bool       `json:"abstained"`
	Reason    string     `json:"reason"` // of abstaining, "" otherwise
	// Opened are the ids of the sources that were read to the end, in order;
	// Rungs the steps of the ladder that were tried, in order.
	Opened []string  `json:"-"`
	Rungs  []string  `json:"rungs"`
	Usage  llm.Usage `json:"usage"`
}

// Abstain is the answer that there is none.
func Abstain(reason string) Answer {
	return Answer{Citations: []Citation{}, Abstained: true, Reason: reason, Rungs: []string{}}
}

// cite makes a citation of a source.
func cite(s *Source, quote string) Citation {
	c := Citation{ID: s.ID, Kind: s.Kind, Quote: quote, Weight: s.Authority}
	if !s.SaidAt.IsZero() {
		at := s.SaidAt.UTC()
		c.SaidAt = &at
	}
	return c
}

// smallTalk are the words of turns that ask memory nothing.
const smallTalk = ` thanks thank you thx ty cheers much so very a lot ok okay cool great nice good fine perfect awesome ` +
	`hi hello hey there bye goodbye see later morning afternoon evening night yes no yep nope sure alright right ` +
	`lol haha welcome sorry please wow yay super got it `

// SmallTalk reports whether a turn asks nothing that memory could answer:
// greetings, thanks, a nod. In doubt it does not.
func SmallTalk(s string) bool {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !isWord(r) })
	if len(words) == 0 || len(words) > 6 || strings.Contains(s, "?") {
		return false
	}
	for _, w := range words {
		if !strings.Contains(smallTalk, " "+w+" ") {
			return false
		}
	}
	return true
}
