package meminfra

import (
	"context"
	"fmt"
	"slices"

	"github.com/meminfra/memory-layer/meminfra/answer"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/recall"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
)

// AnswerRequest asks a question to be answered from memory.
type AnswerRequest struct {
	UserID string // required
	Query  string // required, not blank, at most 8 KiB
	// Limit is how many memories are looked at first: 0 means 5, over 100 means
	// 100, negative is ErrLimit.
	Limit      int
	Filters    Filters
	SkipIntent bool
}

// AnswerResult is an answer with its citations, or none. In JSON it is the
// documented answer document.
type AnswerResult struct {
	answer.Answer
	Hits     []SearchHit `json:"hits"` // what was found first
	TraceID  string      `json:"trace_id"`
	Degraded []string    `json:"degraded"`
	Usage    []llm.Line  `json:"usage"` // of models, by operation and model
}

// The types of an answer, as their package defines them.
type Citation = answer.Citation

const defaultAnswerLimit = 5

// Answer answers a question from the user's own memory, or says that it cannot;
// what others shared is for him to look at, by Search. It searches once; with a
// Generator a model distils what was found, answers from that alone
// and, with JudgeAnswers, is judged, and more is searched while the judge is not
// satisfied. Citations of what was not opened are dropped, and an answer without
// one is none. Without a Generator the best fitting words are quoted. Small talk
// is not searched for; nothing found is not asked a model. A model that fails
// leaves the quoted answer and a line in Degraded. Errors: those of Search.
// Source: design section 8.
func (m *MemoryLayer) Answer(ctx context.Context, req AnswerRequest) (*AnswerResult, error) {
	partition, err := m.partitionOf(req.UserID)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	out := &AnswerResult{Hits: []SearchHit{}, Degraded: []string{}, Usage: []llm.Line{}}
	if answer.SmallTalk(req.Query) {
		out.Answer = answer.Abstain(answer.NothingAsked)
		return out, nil
	}
	ctx, tally := tallied(ctx, "answer", partition)
	q := retrieve.Query{UserID: req.UserID, Text: req.Query, Limit: req.Limit, Filters: req.Filters, SkipIntent: req.SkipIntent,
		IntentModel: m.intents, SkipTrace: true, SharedLimit: -1}
	if q.Limit == 0 {
		q.Limit = defaultAnswerLimit
	}
	found, err := m.retriever.Search(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	out.Hits, out.Degraded = found.Hits, found.Degraded
	q.IntentModel = settled(q.IntentModel, found)
	r := &reading{MemoryLayer: m, query: q, trace: found.Trace}
	out.Answer = r.read(ctx, out)
	r.putTrace(ctx, out)
	out.Usage = tally.Lines()
	return out, nil
}

// reading is one answer under way, once something was searched for.
type reading struct {
	*MemoryLayer
	query retrieve.Query
	trace memory.Trace // of the search; climbing adds to its items
}

// read answers from the hits: with the model if there is one and it can.
func (r *reading) read(ctx context.Context, out *AnswerResult) answer.Answer {
	sources := hitSources(out.Hits)
	if r.generator == nil || len(sources) == 0 {
		return answer.Quote(r.query.Text, sources)
	}
	model := answer.Model{Generator: r.generator, Judge: r.judge}
	a, err := model.Answer(ctx, r.query.Text, sources, r.now(), r.climb)
	if err == nil {
		r.trace.Model, r.trace.PromptHash = r.generator.Model(), answer.PromptHash
		return a
	}
	r.logger.WarnContext(ctx, "answer: the model failed", "model", r.generator.Model(), "error", llm.Safe(err))
	out.Degraded = append(out.Degraded, "answered without the model: "+llm.Fault("it", err))
	quoted := answer.Quote(r.query.Text, sources)
	quoted.Usage, quoted.Rungs = a.Usage, a.Rungs
	return quoted
}

// climb takes a step of the ladder: it adds to what there is.
func (r *reading) climb(ctx context.Context, rung answer.Rung, have []answer.Source) ([]answer.Source, error) {
	switch rung {
	case answer.Dual, answer.Summaries:
		q := r.query
		q.Limit = min(3*q.Limit, retrieve.MaxLimit)
		if rung == answer.Summaries {
			q.Filters.Kind = memory.KindSummary
		}
		res, err := r.retriever.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range res.Hits {
			r.offered(res.Hits[i].Traced(0))
		}
		return join(have, hitSources(res.Hits)), nil
	}
	ids := make([]string, len(have))
	for i, s := range have {
		ids[i] = s.ID
	}
	rd, err := r.retriever.Begin(ctx, r.query.UserID)
	if err != nil {
		return nil, err
	}
	near, err := rd.Around(ctx, r.query.Filters, ids, rung == answer.Neighbours)
	if err != nil {
		return nil, err
	}
	more := make([]answer.Source, len(near))
	for i := range near {
		more[i] = recordSource(&near[i])
		r.offered(near[i].Traced(0))
	}
	return join(have, more), nil
}

// offered adds to the trace what climbing brought, at the rank after the last.
func (r *reading) offered(item memory.TraceItem) {
	if !slices.ContainsFunc(r.trace.Items, func(t memory.TraceItem) bool { return t.OwnerID == item.OwnerID }) {
		item.Rank = len(r.trace.Items) + 1
		r.trace.Items = append(r.trace.Items, item)
	}
}

// putTrace writes the trace of the answer: what was offered, opened and cited,
// under which authority, and by which model and prompts.
func (r *reading) putTrace(ctx context.Context, out *AnswerResult) {
	t := r.trace
	t.Kind, t.Degraded, t.Rungs = "answer", out.Degraded, out.Rungs
	t.Handed = recall.Pack(t.Partition, out.Text)
	for i := range t.Items {
		item := &t.Items[i]
		item.Opened = slices.Contains(out.Opened, item.OwnerID)
		item.Cited = slices.ContainsFunc(out.Citations, func(c Citation) bool { return c.ID == item.OwnerID })
	}
	if err := r.store.PutTrace(ctx, t); err != nil {
		out.Degraded = append(out.Degraded, "the trace was not written")
		r.logger.WarnContext(ctx, "answer: writing the trace failed", "error", err)
		return
	}
	out.TraceID = t.ID
}

// join appends the sources that are not there yet.
func join(have, more []answer.Source) []answer.Source {
	all := slices.Clone(have)
	for _, s := range more {
		if !slices.ContainsFunc(all, func(a answer.Source) bool { return a.ID == s.ID }) {
			all = append(all, s)
		}
	}
	return all
}

func hitSources(hits []SearchHit) []answer.Source {
	list := make([]answer.Source, len(hits))
	for i := range hits {
		list[i] = recordSource(&hits[i].Record)
		list[i].Coverage = hits[i].Why.Coverage()
		list[i].Asked = hits[i].Ranks.Structured > 0 && hits[i].Status == memory.StatusActive
	}
	return list
}

func recordSource(r *Record) answer.Source {
	s := answer.Source{ID: r.ID, Kind: r.Kind, Text: r.Text, Who: r.Speaker, Authority: r.Authority, Status: r.Status, SaidAt: r.EventAt}
	if r.Subject.Name != "" {
		s.Who = r.Subject.Name
	}
	if r.ValidFrom != nil {
		s.Valid.From = *r.ValidFrom
	}
	if r.ValidTo != nil {
		s.Valid.To = *r.ValidTo
	}
	return s
}
