// Package extract turns messages into candidates: proposals of what is worth
// remembering, each with a verbatim quote from the message that says it. An
// extractor proposes; quote checking, authority, canonicalisation and
// reconciliation are decided by deterministic code after it.
package extract

import (
	"context"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Extractor reads the target messages and proposes candidates.
type Extractor interface {
	// ID names the extractor and its version, for example "patterns/1". An
	// episode is extracted once per ID.
	ID() string
	// Extract returns candidates in message order. No candidates means that
	// nothing is worth keeping; an error means that it could not tell, and all
	// episodes stay pending. It must not keep or change its input.
	Extract(ctx context.Context, in Input) (Output, error)
}

// Informed is an Extractor that reads what lies around its target: the rolling
// summary, the last messages, and older ones that bear on it. For any other none
// of it is made, searched or embedded, and Context is all that it is given.
type Informed interface {
	Extractor
	// Summarise brings the summary of a conversation up to date: previous ("" for
	// none) covers what was said before list. It returns a summary that covers
	// the first messages of list as well, and how many: at least one.
	Summarise(ctx context.Context, previous string, list []Message) (summary string, covered int, err error)
}

// Asking is an Extractor that asks a model, and lets whoever runs it stand
// between the two, to count what is asked.
type Asking interface {
	Extractor
	// Through returns the extractor with its generator as wrap returns it.
	Through(wrap func(llm.Generator) llm.Generator) Extractor
}

// Input is what an extractor sees. Facts come from Target only; the rest, all of
// it of the same conversation and from before the target, resolves references.
type Input struct {
	UserID   string
	UserName string // the user's name, "" if not told
	Target   []Message
	Context  []Message // the messages just before the target, in order; of an Informed one at most six
	Older    []Message // earlier ones that bear on the target, in order
	Summary  string    // of the conversation so far, "" for none
}

// Message is an episode with the subject for whom it speaks.
type Message struct {
	memory.Episode
	Speaks memory.Subject // whose "I" this is; zero for roles other than user
	Unread int            // how often it could not be read before
}

// Output is what an extractor returns.
type Output struct {
	Candidates []Candidate
	Rejections []Rejection // proposals that could not be made candidates
	Unread     []Unread    // target messages that it could not tell about
	Model      string      // the model asked, "" for none
	PromptHash string
}

// Unread is a target message that an extractor could not tell about. What is
// proposed of the others stands; this one is tried again.
type Unread struct {
	EpisodeID string
	Err       error
	// Untried says that the fault lay elsewhere, so that it speaks of the message
	// no more than of any other.
	Untried bool
}

// Candidate is one proposal. Authority is not in it: that comes from the role
// of the quoted message.
type Candidate struct {
	Kind      memory.Kind // "" is taken from the predicate, else fact
	Text      string      // how it reads by itself; "" takes the quote
	Subject   memory.Subject
	Predicate string // canonical, alias or free label; "" for open memory
	Value     string // as said; canonicalised later
	Polarity  memory.Polarity
	Stated    memory.Validity // zero From: since the message was sent
	// Past marks an undated past ("I used to use X"): it ended no later than
	// the message and never holds a slot.
	Past       bool
	Vague      memory.Vague
	Confidence float64
	Importance float64
	EpisodeID  string
	Quote      string // verbatim, from that episode
	Start      int    // byte offset of Quote in the content; -1 if not known
	// Needs are the other words without which the quote does not say it: the
	// user's "the one that ends in 41" and the tool's whole number. None for a
	// quote that says all of it. The weakest of them gives the authority.
	Needs []Part
}

// Part is a needed quote of a target or context message.
type Part struct {
	EpisodeID string
	Quote     string
	Start     int // byte offset of Quote in the content; -1 if not known
}

// Rejection is a candidate that was not stored, and why. It holds no text: the
// candidate is named by its episode and its place in the output.
type Rejection struct {
	EpisodeID string
	MessageID string
	Candidate int // index in the extractor's output, from 0
	Predicate string
	Reason    string
}
