package retrieve

import (
	"context"
	"encoding/json"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// newTrace is the record of what is about to be handed out, the unit of feedback.
func (s *search) newTrace(chosen []*candidate, shared []Hit) memory.Trace {
	t := memory.Trace{
		Partition: s.partition.ID(),
		ID:        s.NewID(),
		Kind:      "search",
		Query:     s.query.Text,
		Route:     string(s.route),
		Degraded:  s.degraded,
		At:        memory.Time(s.Now()),
		Items:     make([]memory.TraceItem, len(chosen), len(chosen)+len(shared)),
	}
	if s.intent != nil {
		if b, err := json.Marshal(s.intent); err == nil {
			t.Intent = string(b)
		}
	}
	if s.intentBy != nil {
		t.Model, t.PromptHash = s.intentBy.Model, s.intentBy.PromptHash
	}
	for i, c := range chosen {
		owner := memory.OwnerItem
		if c.attr.Owner == index.Episode {
			owner = memory.OwnerEpisode
		}
		t.Items[i] = memory.TraceItem{Rank: i + 1, OwnerKind: owner, OwnerID: c.attr.ID,
			Authority: memory.Authority(c.attr.Authority), Score: c.score}
	}
	for i := range shared {
		t.Items = append(t.Items, shared[i].Traced(i+1))
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
	return memory.TraceItem{Rank: rank, OwnerKind: owner, OwnerID: r.ID, Shared: r.Scope != "", Authority: r.Authority}
}

// traced returns the id of a trace that was written. One that was not is a line
// in Degraded, and the result goes without.
func (s *search) traced(ctx context.Context, t *memory.Trace, err error) string {
	switch {
	case s.query.SkipTrace:
		return ""
	case err == nil:
		return t.ID
	}
	s.degrade("the trace was not written")
	if s.Logger != nil {
		s.Logger.WarnContext(ctx, "search: writing the trace failed", "error", err)
	}
	return ""
}
