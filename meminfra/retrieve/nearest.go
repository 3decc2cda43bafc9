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

// Nearest returns at most k current open-world items of a partition that the
// caller may read, whose vector has a cosine above least with
// the given one, nearest first; what was derived from other items is none. It is
// a hint for reconciling: whoever uses it reads the items again under the lock.
// An index that cannot be had, or a vector it cannot compare, gives none.
func (rd *Reading) Nearest(ctx context.Context, partition string, vector []float32, k int, least float64) []Neighbour {
	var near []Neighbour
	now := admission{Filters: Filters{History: HistoryExclude}, now: rd.Now(), rights: rd.Rights}
	err := rd.viewNow(ctx, partition, func(v *index.View) error {
		open := v.Admit(func(a *index.Attr) bool {
			return a.Owner == index.Item && a.FactKey == "" && len(a.DerivedFrom) == 0 &&
				a.Kind != string(memory.KindSummary) && now.admits(a)
		})
		hits, err := v.SearchVector(vector, open, k)
		near = nil
		for _, h := range hits {
			if h.Score > least {
				near = append(near, Neighbour{v.Attr(h.Row).ID, h.Score})
			}
		}
		return err
	})
	if err != nil && rd.Logger != nil {
		rd.Logger.WarnContext(ctx, "add: looking for similar items failed", "error", err)
	}
	return near
}

// viewNow is Reading.view, brought up to where the partition stands now: an Add
// has written to it since it began.
func (r *Retriever) viewNow(ctx context.Context, partition string, f func(*index.View) error) error {
	heads, err := r.Store.Heads(ctx, partition)
	if err != nil {
		return err
	}
	return r.Index.View(ctx, partition, heads[partition].Change, f)
}
