package retrieve

import (
	"context"

	"github.com/meminfra/memory-layer/index"
)

// Nearest returns the ids of at most k open-world items whose vector has a
// cosine above least with the given one, nearest first. It is a hint for
// reconciling: whoever uses it reads the items again under the lock. An index
// that cannot be had, or a vector it cannot compare, gives none.
func (r *Retriever) Nearest(ctx context.Context, partition string, vector []float32, k int, least float64) []string {
	var ids []string
	err := r.view(ctx, partition, func(v *index.View) error {
		open := v.Admit(func(a *index.Attr) bool { return a.Owner == index.Item && a.FactKey == "" })
		hits, err := v.SearchVector(vector, open, k)
		for _, h := range hits {
			if h.Score > least {
				ids = append(ids, v.Attr(h.Row).ID)
			}
		}
		return err
	})
	if err != nil && r.Logger != nil {
		r.Logger.WarnContext(ctx, "add: looking for similar items failed", "error", err)
	}
	return ids
}
