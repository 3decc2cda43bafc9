package reconcile

import (
	"slices"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Act is what one new statement did. Target is the item it landed in; Superseded
// the item it closed or replaced, which for SUPERSEDE and RETRACT is never zero.
//
//   - ADD: a new item; nothing was closed.
//   - NOOP: one more witness of an item.
//   - SUPERSEDE: a new item that closed another, at once or at a future start.
//   - RETRACT: a negation that ended an item (Target records the negation), or a
//     said end (Target and Superseded are the item that ended).
type Act struct {
	Statement  string
	Action     memory.Action
	Reason     string
	Target     Ref
	Superseded Ref
}

// act reports what each statement that is in no stored version did.
func (d *differ) act(statements []memory.Statement) {
	seen := map[string]bool{}
	for i := range statements {
		s := &statements[i]
		if seen[s.ID] || d.isStored(s.ID) {
			continue
		}
		seen[s.ID] = true
		n := d.home(s.ID, s.Valid.From)
		if n < 0 {
			continue // no statement at all
		}
		a := Act{Statement: s.ID, Target: d.refs[n]}
		if d.refs[n].New > 0 && d.res.Intervals[n].Founder == s.ID {
			d.actNew(&a, n)
		} else {
			d.actWitness(&a, n, s)
		}
		d.plan.Acts = append(d.plan.Acts, a)
	}
}

// actNew reports a statement that founded a new version, interval n.
func (d *differ) actNew(a *Act, n int) {
	iv := &d.res.Intervals[n]
	a.Action = memory.ActionAdd
	m := d.closedFor(n)
	switch {
	case iv.Valid.Empty() && iv.ClosedBy != "":
		a.Reason = ReasonToldEarlier
	case iv.Valid.Empty():
		a.Reason = ReasonSaidEnd
	case iv.Polarity == memory.Negative && m >= 0 && d.res.Intervals[m].ClosedHow == Ended:
		a.Action, a.Reason, a.Superseded = memory.ActionRetract, ReasonNegated, d.refs[m]
	case d.isHistory(iv):
		a.Reason = ReasonOlderValue
	case m >= 0:
		a.Action, a.Reason, a.Superseded = memory.ActionSupersede, ReasonNewerValue, d.refs[m]
		if old := &d.res.Intervals[m]; old.ValueID == iv.ValueID && old.Polarity == iv.Polarity {
			a.Reason = ReasonStronger
		}
	case !d.plan.New[a.Target.New-1].Supersedes.IsZero():
		a.Action, a.Reason, a.Superseded = memory.ActionSupersede, ReasonStronger, d.plan.New[a.Target.New-1].Supersedes
	default:
		a.Reason = d.addReason(iv, n)
	}
	if iv.Valid.From.After(d.now) && a.Action != memory.ActionRetract && !iv.Valid.Empty() {
		a.Reason = ReasonStartsLater
	}
	d.plan.New[a.Target.New-1].Reason = a.Reason
}

// closedFor returns the interval that the founder of interval n closed, a holder
// before others; -1 for none.
func (d *differ) closedFor(n int) int {
	found := -1
	for m := range d.res.Intervals {
		old := &d.res.Intervals[m]
		if old.ClosedBy != d.res.Intervals[n].Founder || m == n {
			continue
		}
		if old.Holder {
			return m
		}
		if found < 0 {
			found = m
		}
	}
	return found
}

// isHistory reports whether a new interval was over before it was told: closed
// by something already stored.
func (d *differ) isHistory(iv *Interval) bool {
	return d.status(iv) != memory.StatusActive && iv.ClosedBy != "" && d.isStored(iv.ClosedBy)
}

func (d *differ) addReason(iv *Interval, n int) string {
	weaker := slices.ContainsFunc(d.res.Conflicts, func(c Conflict) bool {
		other := c.Left + c.Right - n
		return (c.Left == n || c.Right == n) && d.res.Intervals[other].Authority > iv.Authority
	})
	lostSlot := slices.ContainsFunc(d.plan.Changes, func(c Change) bool {
		return c.Status == memory.StatusActive && c.Reason == ReasonStronger
	})
	switch {
	case weaker:
		return ReasonWeakerConflict
	case iv.Polarity == memory.Negative:
		return ReasonNegationNoted
	case iv.Holder && lostSlot:
		return ReasonStronger
	}
	return ReasonNewFact
}

// actWitness reports a statement that supports interval n without founding a
// new version.
func (d *differ) actWitness(a *Act, n int, s *memory.Statement) {
	iv := &d.res.Intervals[n]
	a.Action, a.Reason = memory.ActionNoop, ReasonSameValue
	i := d.version[n]
	switch {
	case s.Authority < iv.Authority:
		a.Reason = ReasonEcho
	case i < 0:
	case iv.ClosedHow == SaidEnd && s.Valid.To.Equal(iv.Valid.To) && d.stored[i].State.Valid.To.IsZero():
		a.Action, a.Reason, a.Superseded = memory.ActionRetract, ReasonSaidEnd, a.Target
	case iv.Valid.From.Before(d.stored[i].State.Valid.From) && s.Valid.From.Equal(iv.Valid.From):
		a.Reason = ReasonEarlierStart
	}
}
