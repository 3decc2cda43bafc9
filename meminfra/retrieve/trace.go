package retrieve

import (
	"context"
	"encoding/json"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// trace records what was retrieved, the unit of feedback. A trace that cannot
// be written is a line in Degraded and leaves the result without trace id.
func (s *search) trace(ctx context.Context, out *Result) {
	t := memory.Trace{
		Partition: s.query.Partition,
		ID:        s.NewID(),
		Kind:      "search",
		Query:     s.query.Text,
		Route:     out.Route,
		Degraded:  s.degraded,
		At:        memory.Time(s.Now()),
		Items:     make([]memory.TraceItem, len(out.Hits)),
	}
	if s.intent != nil {
		if b, err := json.Marshal(s.intent); err == nil {
			t.Intent = string(b)
		}
	}
	for i, h := range out.Hits {
		owner := memory.OwnerItem
		if h.Kind == memory.KindEpisode {
			owner = memory.OwnerEpisode
		}
		t.Items[i] = memory.TraceItem{Rank: i + 1, OwnerKind: owner, OwnerID: h.ID, Authority: h.Authority, Score: h.Score}
	}
	if err := s.Store.PutTrace(ctx, t); err != nil {
		s.degrade("the trace was not written")
		if s.Logger != nil {
			s.Logger.WarnContext(ctx, "search: writing the trace failed", "error", err)
		}
		return
	}
	out.TraceID = t.ID
}
