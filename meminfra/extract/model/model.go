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
	// ContextBudget is the most shown of what is not the target; 0 means 2,000.
	// The oldest is left out first.
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

var _ extract.Asking = (*Extractor)(nil)

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
	e.opts.ContextBudget = orDefault(e.opts.ContextBudget, 2000)
	e.system = extractPrompt + vocabulary(reg)
	e.hash = llm.PromptHash(e.system, repairPrompt, string(replySchema.JSON))
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

// PromptHash identifies the wording of the prompt, vocabulary and schema
// included.
func (e *Extractor) PromptHash() string { return e.hash }

// Extract returns candidates in message order, and what was wrong with other
// proposals. A long target takes several requests; if one of them fails, all do.
// Errors: those of the generator, and *llm.FormatError for a model whose reply
// could not be read in three attempts. Only an explicit empty list means that
// nothing is worth keeping.
func (e *Extractor) Extract(ctx context.Context, in extract.Input) (extract.Output, error) {
	out := extract.Output{Model: e.gen.Model(), PromptHash: e.hash}
	if len(in.Target) == 0 {
		return out, nil
	}
	ctx = llm.WithPurpose(ctx, llm.Purpose{Operation: "extract", Partition: in.Target[0].Partition})
	r := reading{reg: e.reg, in: &in}
	for _, w := range plan(in.Target, e.opts.Budget, e.opts.Overlap) {
		proposals, err := e.ask(ctx, e.prompt(&in, &w))
		if err != nil {
			return extract.Output{}, err
		}
		r.take(&w, proposals)
	}
	out.Candidates, out.Rejections = r.finish()
	return out, nil
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
