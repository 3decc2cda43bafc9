package retrieve

import (
	"context"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/reconcile"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// AsOf cuts a record to what was known at a moment of system time: the states
// and the evidence and conflicts of then. One that nobody knew of has no states.
// The zero time is now.
func AsOf(r storage.ItemRecord, at time.Time) storage.ItemRecord {
	if at.IsZero() {
		return r
	}
	r.States = until(r.States, at, func(s *memory.State) time.Time { return s.SystemFrom })
	if n := len(r.States); n > 0 && r.States[n-1].SystemTo.After(at) {
		r.States[n-1].SystemTo = time.Time{} // that it would end was not known
	}
	r.Evidence = until(r.Evidence, at, func(e *storage.EvidenceRecord) time.Time { return e.At })
	r.Conflicts = until(r.Conflicts, at, func(c *memory.Conflict) time.Time { return c.At })
	return r
}

// until copies what had come by a moment.
func until[T any](list []T, at time.Time, when func(*T) time.Time) (kept []T) {
	for i := range list {
		if !when(&list[i]).After(at) {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// Show makes the records of items, in their order, as believed at a moment of
// system time (zero: now), with what depends on other items: the conflicts that
// stood then, and the sources that no longer counted.
func (rd *Reading) Show(ctx context.Context, partition string, list []storage.ItemRecord, at time.Time) ([]Record, error) {
	list = slices.Clone(list)
	for i := range list {
		list[i] = AsOf(list[i], at)
	}
	known, err := rd.related(ctx, partition, list, at)
	if err != nil {
		return nil, err
	}
	out := make([]Record, len(list))
	for i := range list {
		out[i] = rd.itemRecord(&list[i])
		out[i].Conflicts = rd.standing(&list[i], known)
		for _, id := range list[i].DerivedFrom {
			if status := lapsed(id, known, 0); status != "" {
				out[i].Stale = append(out[i].Stale, StaleCause{ItemID: id, Status: status})
			}
		}
	}
	return out, nil
}

// maxDerivation bounds how far a chain of derived items is followed.
const maxDerivation = 16

// related reads the items that the list refers to: other sides of conflicts,
// and sources, sources of sources and so on. Most items refer to none, and
// then nothing is read.
func (rd *Reading) related(ctx context.Context, partition string, list []storage.ItemRecord, at time.Time) (map[string]*storage.ItemRecord, error) {
	known := map[string]*storage.ItemRecord{}
	for depth := 0; ; depth++ {
		var missing []string
		for i := range list {
			known[list[i].ID] = &list[i]
		}
		for i := range list {
			refs := list[i].DerivedFrom
			if depth == 0 {
				refs = slices.Concat(refs, otherSides(&list[i]))
			}
			for _, id := range refs {
				if known[id] == nil && !slices.Contains(missing, id) {
					missing = append(missing, id)
				}
			}
		}
		if len(missing) == 0 || depth == maxDerivation {
			return known, nil
		}
		next, err := rd.Store.Items(ctx, partition, missing)
		if err != nil {
			return nil, err
		}
		for i := range next {
			next[i] = AsOf(next[i], at)
		}
		list = next
	}
}

// otherSides lists the items that conflicts were recorded with, each once.
func otherSides(r *storage.ItemRecord) []string {
	var ids []string
	for _, c := range r.Conflicts {
		other := c.OtherID
		if other == r.ID {
			other = c.ItemID
		}
		if !slices.Contains(ids, other) {
			ids = append(ids, other)
		}
	}
	return ids
}

// standing keeps the conflicts that still are, with what he may read: rows are never deleted, so
// whether both sides are believed at one moment is asked when reading.
func (rd *Reading) standing(r *storage.ItemRecord, known map[string]*storage.ItemRecord) []string {
	var ids []string
	for _, id := range otherSides(r) {
		other := known[id]
		if other != nil && rd.Admits(&other.Item) && reconcile.Stands(reconcile.Version{Item: r.Item, State: r.Present()},
			reconcile.Version{Item: other.Item, State: other.Present()}) {
			ids = append(ids, id)
		}
	}
	return ids
}

// lapsed says what became of a source that no longer counts, "" if it counts.
// One that is gone was erased.
func lapsed(id string, known map[string]*storage.ItemRecord, depth int) string {
	r := known[id]
	if r == nil {
		return "erased"
	}
	if status := r.Present().Status; isLapsed(status) {
		return string(status)
	}
	for _, source := range r.DerivedFrom {
		if depth < maxDerivation && lapsed(source, known, depth+1) != "" {
			return "stale"
		}
	}
	return ""
}

func isLapsed(s memory.Status) bool {
	return s == memory.StatusSuperseded || s == memory.StatusEnded || s == memory.StatusWithdrawn
}

// Stale returns the current items whose sources no longer count, newest first.
func (rd *Reading) Stale(ctx context.Context) ([]Record, error) {
	own := rd.Own()
	adm, err := Filters{}.compile(rd.Registry, rd.Now(), rd.Rights)
	if err != nil {
		return nil, err
	}
	var keys []index.Key
	err = rd.view(ctx, own.ID(), func(v *index.View) error {
		for row := range v.Admit(func(a *index.Attr) bool { return len(a.DerivedFrom) > 0 && adm.admits(a) }).All() {
			keys = append(keys, v.Attr(row).Key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(keys)
	rows, err := rd.resolve(ctx, own, keys, time.Time{})
	if err != nil {
		return nil, err
	}
	out := make([]Record, 0, len(keys))
	for _, k := range keys {
		if row, ok := rows[k]; ok && len(row.Stale) > 0 {
			out = append(out, row.Record)
		}
	}
	return out, nil
}
