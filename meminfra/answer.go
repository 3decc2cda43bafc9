package meminfra

import (
	"context"
	"fmt"
	"slices"

	"github.com/meminfra/memory-layer/meminfra/answer"
	"github.com/meminfra/memory-layer/meminfra/memory"
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
}

// The types of an answer, as their package defines them.
type Citation = answer.Citation

const defaultAnswerLimit = 5

// Answer answers a question from memory, or says that it cannot. It searches
// once; with a Generator a model distils what was found, answers from that alone
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
	out := &AnswerResult{Hits: []SearchHit{}, Degraded: []string{}}
	if answer.SmallTalk(req.Query) {
		out.Answer = answer.Abstain(answer.NothingAsked)
		return out, nil
	}
	q := retrieve.Query{Partition: partition, Text: req.Query, Limit: req.Limit, Filters: req.Filters, SkipIntent: req.SkipIntent}
	if q.Limit == 0 {
		q.Limit = defaultAnswerLimit
	}
	found, err := m.retriever.Search(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	out.Hits, out.TraceID, out.Degraded = found.Hits, found.TraceID, found.Degraded
	out.Answer = m.read(ctx, q, out)
	return out, nil
}

// read answers from the hits: with the model if there is one and it can.
func (m *MemoryLayer) read(ctx context.Context, q retrieve.Query, out *AnswerResult) answer.Answer {
	sources := hitSources(out.Hits)
	if m.generator == nil || len(sources) == 0 {
		return answer.Quote(q.Text, sources)
	}
	model := answer.Model{Generator: m.generator, Judge: m.judge}
	a, err := model.Answer(ctx, q.Text, sources, m.now(), m.climb(q))
	if err == nil {
		return a
	}
	m.logger.WarnContext(ctx, "answer: the model failed", "model", m.generator.Model(), "error", err)
	out.Degraded = append(out.Degraded, "answered without the model: it failed")
	quoted := answer.Quote(q.Text, sources)
	quoted.Usage = a.Usage
	return quoted
}

// climb returns the ladder's steps: each adds to what there is.
func (m *MemoryLayer) climb(q retrieve.Query) answer.Climb {
	return func(ctx context.Context, rung answer.Rung, have []answer.Source) ([]answer.Source, error) {
		switch rung {
		case answer.Dual, answer.Summaries:
			q := q
			q.Limit = min(3*q.Limit, retrieve.MaxLimit)
			if rung == answer.Summaries {
				q.Filters.Kind = memory.KindSummary
			}
			res, err := m.retriever.Search(ctx, q)
			if err != nil {
				return nil, err
			}
			return join(have, hitSources(res.Hits)), nil
		}
		ids := make([]string, len(have))
		for i, s := range have {
			ids[i] = s.ID
		}
		near, err := m.retriever.Around(ctx, q.Partition, q.Filters, ids, rung == answer.Neighbours)
		if err != nil {
			return nil, err
		}
		more := make([]answer.Source, len(near))
		for i, r := range near {
			more[i] = recordSource(&r)
		}
		return join(have, more), nil
	}
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
