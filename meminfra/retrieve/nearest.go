package retrieve

import (
	"context"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Neighbour is a stored item whose text is near another one.
type Neighbour struct {
	ID     string
	Cosine float64
}

// Nearest returns at most k current open-world items whose vector has a cosine
// above least with the given one, nearest first; what was derived from other
// items is none. It is a hint for reconciling: whoever uses it reads the items
// again under the lock. An index that cannot be had, or a vector it cannot
// compare, gives none.
func (r *Retriever) Nearest(ctx context.Context, partition string, vector []float32, k int, least float64) []Neighbour {
	var near []Neighbour
	now := admission{now: r.Now()}
	err := r.view(ctx, partition, func(v *index.View) error {
		open := v.Admit(func(a *index.Attr) bool {
			return a.Owner == index.Item && a.FactKey == "" && len(a.DerivedFrom) == 0 &&
				a.Kind != string(memory.KindSummary) && now.timely(a, HistoryExclude)
		})
		hits, err := v.SearchVector(vector, open, k)
		for _, h := range hits {
			if h.Score > least {
				near = append(near, Neighbour{v.Attr(h.Row).ID, h.Score})
			}
		}
		return err
	})
	if err != nil && r.Logger != nil {
		r.Logger.WarnContext(ctx, "add: looking for similar items failed", "error", err)
	}
	return near
}
