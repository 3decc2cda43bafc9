package meminfra

import (
	"slices"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/reconcile"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// yield leaves the slot of a fact to the item beside the line that holds it:
// another member's, or one that is hidden from whoever speaks. What the line
// would have put there stands without it, and where it says otherwise the
// conflict is recorded. A hidden holder is named in nothing that he is shown.
// Source: papers.md section 9, T3.
func (l *line) yield(plan *reconcile.Plan) {
	holder := l.holderBeside()
	if holder == nil {
		return
	}
	differs := func(valueID string, p memory.Polarity) bool { return valueID != holder.ValueID || p != holder.Polarity }
	beside := reconcile.Ref{Item: holder.ID}
	for i := range plan.New {
		n := &plan.New[i]
		if !n.HoldsSlot {
			continue
		}
		n.HoldsSlot = false
		if differs(n.Interval.ValueID, n.Interval.Polarity) {
			if !l.hidden(&holder.Item) {
				n.Reason, n.Cause = reconcile.ReasonBeside, beside
				sayBeside(plan, i+1)
			}
			plan.Clashes = append(plan.Clashes, reconcile.Clash{A: reconcile.Ref{New: i + 1}, B: beside, Reason: reconcile.ReasonBeside})
		}
	}
	plan.Changes = slices.DeleteFunc(plan.Changes, func(c reconcile.Change) bool {
		now := l.stored[c.Item].Present()
		return c.HoldsSlot && !now.HoldsSlot && c.Status == now.Status && c.Valid.Equal(now.Valid)
	})
	for i := range plan.Changes {
		c := &plan.Changes[i]
		r := l.stored[c.Item]
		if c.HoldsSlot && differs(r.ValueID, r.Polarity) && !slices.Contains(otherSides(r), holder.ID) {
			plan.Clashes = append(plan.Clashes, reconcile.Clash{A: reconcile.Ref{Item: c.Item}, B: beside, Reason: reconcile.ReasonBeside})
		}
		c.HoldsSlot = false
	}
}

// holderBeside is the item beside the line that holds the slot; nil for none.
func (l *line) holderBeside() *storage.ItemRecord {
	for _, r := range l.beside {
		if r.Present().HoldsSlot {
			return r
		}
	}
	return nil
}

// sayBeside gives the act that made the n-th new version its reason.
func sayBeside(plan *reconcile.Plan, n int) {
	for i := range plan.Acts {
		if a := &plan.Acts[i]; a.Target.New == n && a.Action == memory.ActionAdd {
			a.Reason = reconcile.ReasonBeside
		}
	}
}

// otherSides are the items that a record has a conflict with.
func otherSides(r *storage.ItemRecord) (ids []string) {
	for _, c := range r.Conflicts {
		ids = append(ids, c.ItemID, c.OtherID)
	}
	return ids
}

// originsOf are an item's origins with those of a witness of it.
func originsOf(r *storage.ItemRecord, w testimony) []memory.Origin {
	list := slices.Clone(r.Origins)
	for _, part := range w {
		for _, e := range r.Evidence {
			if e.N == part.N {
				list = append(list, episodeOrigins(e.AgentID, e.ResourceID)...)
			}
		}
	}
	return memory.SortOrigins(list)
}
