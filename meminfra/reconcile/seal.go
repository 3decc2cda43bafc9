package reconcile

import (
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// ReasonSealed closes a version whose successor was erased: what it says ended
// when it ended, although nothing is left that says so. The mark stays with the
// version for good; its statements are never again heard beyond that end.
const ReasonSealed = "sealed"

// Seal puts an end to those statements that would be believed longer after an
// erasure than they were before it: what had closed them is gone, and no
// predecessor comes back by that. before are the versions as they were, erased
// ones included, after those that are left; told is everything that is left to
// be said. It returns told with the ends, and the ends by statement.
func Seal(before, after []Version, told []memory.Statement) ([]memory.Statement, map[string]time.Time) {
	ends, sealed := lastEnds(before), map[string]time.Time{}
	told = slices.Clone(told)
	for {
		grown := false
		for _, iv := range Resolve(Live(after, told)).Intervals {
			for _, id := range iv.Support {
				end := ends[id]
				if _, done := sealed[id]; !done && !end.IsZero() && outlasts(iv.Valid.To, end) {
					sealed[id], grown = end, true
				}
			}
		}
		if !grown {
			return told, sealed
		}
		capAll(told, sealed)
	}
}

// Capped returns told with the ends that earlier erasures have put to
// statements: seals are the ends of sealed versions, by item. A statement that
// also counts in a version which is not sealed is not held back.
func Capped(stored []Version, seals map[string]time.Time, told []memory.Statement) []memory.Statement {
	if len(seals) == 0 {
		return told
	}
	ends := map[string]time.Time{}
	free := map[string]bool{}
	for i := range stored {
		v := &stored[i]
		end, isSealed := seals[v.Item.ID]
		for _, id := range v.Statements {
			old, known := ends[id]
			switch {
			case isSealed && (!known || outlasts(end, old)):
				ends[id] = end
			case !isSealed && !v.gone() && !v.withdrawn():
				free[id] = true
			}
		}
	}
	for id := range free {
		delete(ends, id)
	}
	told = slices.Clone(told)
	capAll(told, ends)
	return told
}

// lastEnds is how long each statement was believed, in whichever version; zero
// is without end.
func lastEnds(versions []Version) map[string]time.Time {
	ends := map[string]time.Time{}
	for i := range versions {
		v := &versions[i]
		if v.gone() || v.withdrawn() {
			continue
		}
		for _, id := range v.Statements {
			if old, known := ends[id]; !known || outlasts(v.State.Valid.To, old) {
				ends[id] = v.State.Valid.To
			}
		}
	}
	return ends
}

// outlasts compares two ends; zero is none.
func outlasts(a, b time.Time) bool { return !b.IsZero() && (a.IsZero() || a.After(b)) }

func capAll(told []memory.Statement, ends map[string]time.Time) {
	for i := range told {
		if end, ok := ends[told[i].ID]; ok && outlasts(told[i].Valid.To, end) {
			told[i].Valid.To = end
		}
	}
}

// MarkSealed makes the plan of a sealed line say so in every version that holds
// a sealed statement and ends with it, also where nothing else changes.
func (p *Plan) MarkSealed(stored []Version, sealed map[string]time.Time) {
	ends := func(statements []string, to time.Time) bool {
		return slices.ContainsFunc(statements, func(s string) bool {
			end, ok := sealed[s]
			return ok && !to.IsZero() && to.Equal(end)
		})
	}
	for i := range p.New {
		if n := &p.New[i]; ends(n.Interval.Support, n.Interval.Valid.To) {
			n.Reason = ReasonSealed
		}
	}
	for i := range stored {
		v := &stored[i]
		at := slices.IndexFunc(p.Changes, func(c Change) bool { return c.Item == v.Item.ID })
		switch {
		case at >= 0 && ends(v.Statements, p.Changes[at].Valid.To) && p.Changes[at].Status != memory.StatusArchived:
			p.Changes[at].Reason, p.Changes[at].Cause = ReasonSealed, Ref{}
		case at < 0 && !v.gone() && !v.withdrawn() && ends(v.Statements, v.State.Valid.To):
			p.Changes = append(p.Changes, Change{Item: v.Item.ID, Status: v.State.Status, Valid: v.State.Valid,
				HoldsSlot: v.State.HoldsSlot, Reason: ReasonSealed})
		}
	}
	slices.SortStableFunc(p.Changes, func(a, b Change) int { return opens(a) - opens(b) })
}
