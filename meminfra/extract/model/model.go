// Package model is the extractor that asks a language model. The model proposes;
// this package reads its reply tolerantly, checks every proposal strictly, and
// rejects a bad one alone. Nothing that a model writes reaches an authority, an
// id or a time by itself: messages are named by handles of one request, who
// speaks comes from the message, and a time counts only if the message says it.
//
// Prompts are the text files beside it. Their hash goes with every output.
// Source: design §5; papers.md §2, §4; cases A01, A03, A04, A27.
package model

import (
	"context"
	_ "embed" // the prompts
	"errors"
	"net/http"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/schema"
	"github.com/meminfra/memory-layer/predicates"
)

// ID names the extractor and its version. It does not name the model: another
// one does not read anew what was read, unless Options.ID says so.
const ID = "model/1"

//go:embed prompts/extract.txt
var extractPrompt string

//go:embed prompts/summary.txt
var summaryPrompt string

//go:embed prompts/repair.txt
var repairPrompt string

// Options configures an Extractor. Every zero value is a default.
type Options struct {
	// ID replaces the extractor's; an episode is extracted once per ID.
	ID string
	// Budget is the most that one request shows of the target, in llm.Tokens; 0
	// means 4,000. What is longer takes several requests.
	Budget int
	// Overlap is how much of a message that takes several requests is shown
	// twice, so that no statement is cut; 0 means 200, at most a quarter of Budget.
	Overlap int
	// ContextBudget is the most shown of what is not the target; 0 means 5,000,
	// which has room for all that there can be. The oldest is left out first, and
	// how many is said.
	ContextBudget int
	// MaxReplyTokens bounds a reply; 0 leaves it to the provider.
	MaxReplyTokens int
}

// Extractor asks a model what is worth remembering. It is safe for concurrent
// use if its generator is.
type Extractor struct {
	gen    llm.Generator
	reg    *predicates.Registry
	opts   Options
	system string
	hash   string
}

var (
	_ extract.Asking   = (*Extractor)(nil)
	_ extract.Informed = (*Extractor)(nil)
)

// New returns an extractor that asks gen with the vocabulary of reg; opts may be
// nil. It does not repeat failed calls: give it a generator under an llm.Policy.
func New(gen llm.Generator, reg *predicates.Registry, opts *Options) (*Extractor, error) {
	if gen == nil || reg == nil {
		return nil, errors.New("model.New: needs a generator and a registry")
	}
	e := &Extractor{gen: gen, reg: reg}
	if opts != nil {
		e.opts = *opts
	}
	if e.opts.ID == "" {
		e.opts.ID = ID
	}
	e.opts.Budget = orDefault(e.opts.Budget, 4000)
	e.opts.Overlap = min(orDefault(e.opts.Overlap, 200), e.opts.Budget/4)
	e.opts.ContextBudget = orDefault(e.opts.ContextBudget, 5000)
	e.system = extractPrompt + vocabulary(reg)
	e.hash = llm.PromptHash(e.system, repairPrompt, string(replySchema.JSON), summaryPrompt, string(summarySchema.JSON))
	return e, nil
}

func orDefault(n, standard int) int {
	if n <= 0 {
		return standard
	}
	return n
}

// vocabulary lists the registry's predicates for a prompt, a line each.
func vocabulary(reg *predicates.Registry) string {
	var b strings.Builder
	for _, p := range reg.All() {
		b.WriteString("- " + p.Name + ": " + string(p.Cardinality))
		if p.Keyed {
			b.WriteString(", keyed")
		}
		if len(p.Subjects) > 0 {
			b.WriteString(", of " + strings.Join(p.Subjects, " or "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Through implements extract.Asking.
func (e *Extractor) Through(wrap func(llm.Generator) llm.Generator) extract.Extractor {
	through := *e
	through.gen = wrap(e.gen)
	return &through
}

// ID returns the extractor's id.
func (e *Extractor) ID() string { return e.opts.ID }

// PromptHash identifies the wording of the prompts, vocabulary and schemas
// included, and that of the summary, which extraction is shown.
func (e *Extractor) PromptHash() string { return e.hash }

// Extract returns candidates in message order, and what was wrong with other
// proposals. A long target takes several requests. One whose reply could not be
// read in three attempts, or that the provider refuses for what it holds, is
// repeated message by message, so that only what cannot be read is in Unread.
// Errors, if nothing was read: those of the generator. Only an explicit empty
// list means that nothing is worth keeping.
func (e *Extractor) Extract(ctx context.Context, in extract.Input) (extract.Output, error) {
	out := extract.Output{Model: e.gen.Model(), PromptHash: e.hash}
	if len(in.Target) == 0 {
		return out, nil
	}
	ctx = llm.WithPurpose(ctx, llm.Purpose{Operation: "extract", Partition: in.Target[0].Partition})
	r := reading{reg: e.reg, in: &in, unread: map[string]extract.Unread{}}
	windows := plan(in.Target, e.opts.Budget, e.opts.Overlap)
	for i := range windows {
		err := e.read(ctx, &in, &windows[i], &r)
		if err == nil {
			continue
		}
		if r.windows == 0 || ctx.Err() != nil {
			return extract.Output{}, err
		}
		for ; i < len(windows); i++ {
			r.skip(&windows[i], extract.Unread{Err: err, Untried: true})
		}
		break
	}
	out.Candidates, out.Rejections, out.Unread = r.finish()
	return out, nil
}

// enough is after how many messages in a row that could not be read no more are
// tried: then it is the model, and not the messages.
const enough = 3

// read asks about one window. If the reply to one of several messages cannot be
// read, each is asked about by itself. Errors: those that are no message's fault.
func (e *Extractor) read(ctx context.Context, in *extract.Input, w *window, r *reading) error {
	if r.inARow >= enough {
		r.skip(w, extract.Unread{Err: r.last, Untried: true})
		return nil
	}
	proposals, err := e.ask(ctx, e.prompt(in, w))
	switch {
	case err == nil:
		r.take(w, proposals)
		return nil
	case !isOfMessage(err):
		return err
	case len(w.segments) == 1:
		r.skip(w, extract.Unread{Err: err})
		return nil
	}
	for i := range w.segments {
		if err := e.read(ctx, in, w.alone(i), r); err != nil {
			return err
		}
	}
	return nil
}

// isOfMessage tells a failure that comes of what was shown, a reply without form
// or a refusal, from one that any other request would meet as well.
func isOfMessage(err error) bool {
	var format *llm.FormatError
	if errors.As(err, &format) {
		return true
	}
	var provider *llm.Error
	if !errors.As(err, &provider) || provider.Retryable {
		return false
	}
	switch provider.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// ask puts one request and returns the raw proposals of the reply. A reply that
// cannot be read is asked for again with its fault named; the bad reply itself
// is not shown to the model again.
func (e *Extractor) ask(ctx context.Context, prompt string) ([]proposalJSON, error) {
	return llm.Ask(ctx, e.gen, llm.Request{System: e.system, MaxTokens: e.opts.MaxReplyTokens, Schema: replySchema,
		Messages: []llm.Message{{Role: llm.RoleUser, Content: prompt}}}, repairPrompt, readReply)
}

// replySchema is the form of a reply.
var replySchema = schema.Must[reply]("memories")
