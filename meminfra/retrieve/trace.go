package retrieve

import (
	"context"
	"encoding/json"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// newTrace is the record of what was retrieved, the unit of feedback.
func (s *search) newTrace(hits []Hit) memory.Trace {
	t := memory.Trace{
		Partition: s.query.Partition,
		ID:        s.NewID(),
		Kind:      "search",
		Query:     s.query.Text,
		Route:     string(s.route),
		Degraded:  s.degraded,
		At:        memory.Time(s.Now()),
		Items:     make([]memory.TraceItem, len(hits)),
	}
	if s.intent != nil {
		if b, err := json.Marshal(s.intent); err == nil {
			t.Intent = string(b)
		}
	}
	if s.intentBy != nil {
		t.Model, t.PromptHash = s.intentBy.Model, s.intentBy.PromptHash
	}
	for i := range hits {
		t.Items[i] = hits[i].Traced(i + 1)
	}
	return t
}

// Traced is the record's item in a trace, at a rank from 1.
func (h *Hit) Traced(rank int) memory.TraceItem {
	m := h.Record.Traced(rank)
	m.Score = h.Score
	return m
}

// Traced is the record's item in a trace, at a rank from 1.
func (r *Record) Traced(rank int) memory.TraceItem {
	owner := memory.OwnerItem
	if r.Kind == memory.KindEpisode {
		owner = memory.OwnerEpisode
	}
	return memory.TraceItem{Rank: rank, OwnerKind: owner, OwnerID: r.ID, Authority: r.Authority}
}

// putTrace writes the trace of a search. One that cannot be written is a line in
// Degraded and leaves the result without trace id.
func (s *search) putTrace(ctx context.Context, out *Result) {
	if err := s.Store.PutTrace(ctx, out.Trace); err != nil {
		s.degrade("the trace was not written")
		if s.Logger != nil {
			s.Logger.WarnContext(ctx, "search: writing the trace failed", "error", err)
		}
		return
	}
	out.TraceID = out.Trace.ID
}
