package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

const (
	user      = memory.Authorized
	assistant = memory.Attested
	tool      = memory.Unendorsed
)

// at is the first day of a year; halves are the middle of one.
func at(year float64) time.Time {
	if year == 0 {
		return time.Time{}
	}
	whole := int(year)
	return time.Date(whole, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, int(12*(year-float64(whole))), 0)
}

var now = at(2030)

// says is an assertion of v from a year on, told then; says(..., to) has an end.
func says(a memory.Authority, v string, from float64, to ...float64) memory.Statement {
	s := memory.Statement{
		ID: fmt.Sprintf("%.2s %s@%v", a, v, from), ValueID: v, Polarity: memory.Positive, Authority: a,
		Valid: memory.Validity{From: at(from)}, SentAt: at(from), ConversationID: "c",
	}
	if len(to) > 0 {
		s.Valid.To = at(to[0])
		s.ID += fmt.Sprintf("-%v", to[0])
	}
	return s
}

// denies is a negation of v from a year on.
func denies(a memory.Authority, v string, from float64, to ...float64) memory.Statement {
	s := says(a, v, from, to...)
	s.ID, s.Polarity = "no "+s.ID, memory.Negative
	return s
}

// tell changes when a statement was told.
func tell(s memory.Statement, when float64) memory.Statement {
	s.SentAt = at(when)
	s.ID += fmt.Sprintf(" told %v", when)
	return s
}

// store is the stored versions of one fact key in memory.
type store struct {
	t          testing.TB
	versions   []Version
	statements []memory.Statement
}

// add tells the store some statements and applies the plan.
func (st *store) add(statements ...memory.Statement) Plan {
	st.statements = append(st.statements, statements...)
	return st.settle()
}

func (st *store) settle() Plan {
	plan := Reconcile(st.versions, st.statements, now)
	st.apply(plan)
	st.check()
	return plan
}

func (st *store) withdraw(id string) {
	v := st.get(id)
	v.State.Status, v.State.HoldsSlot, v.State.Valid = memory.StatusWithdrawn, false, v.State.Valid.Emptied()
	st.settle()
}

func (st *store) get(id string) *Version {
	for i := range st.versions {
		if st.versions[i].Item.ID == id {
			return &st.versions[i]
		}
	}
	st.t.Fatalf("no item %q", id)
	return nil
}

func (st *store) statement(id string) memory.Statement {
	for _, s := range st.statements {
		if s.ID == id {
			return s
		}
	}
	st.t.Fatalf("no statement %q", id)
	return memory.Statement{}
}

func (st *store) apply(p Plan) {
	base := len(st.versions)
	id := func(r Ref) string {
		if r.New > 0 {
			return fmt.Sprintf("v%d", base+r.New)
		}
		return r.Item
	}
	for _, c := range p.Changes {
		v := st.get(c.Item)
		if v.withdrawn() {
			st.t.Fatalf("change of withdrawn %s", c.Item)
		}
		v.State.Status, v.State.Valid, v.State.HoldsSlot = c.Status, c.Valid, c.HoldsSlot
		v.State.Reason, v.State.Cause = c.Reason, id(c.Cause)
		st.checkSlot()
	}
	for n, c := range p.New {
		v := Version{Item: memory.Item{
			ID: id(Ref{New: n + 1}), Seq: int64(len(st.versions) + 1), ValueID: c.Interval.ValueID,
			Polarity: c.Interval.Polarity, Authority: c.Interval.Authority, Supersedes: id(c.Supersedes),
			Stated: st.statement(c.Founder).Valid,
		}}
		v.State = memory.State{Status: c.Status, Valid: c.Interval.Valid, HoldsSlot: c.HoldsSlot, Reason: c.Reason}
		if c.Supersedes.New > n {
			st.t.Fatalf("new version %d supersedes a later one", n+1)
		}
		st.versions = append(st.versions, v)
		st.checkSlot()
	}
	for _, w := range p.Witnesses {
		v := st.get(id(w.Target))
		if slices.Contains(v.Statements, w.Statement) {
			st.t.Fatalf("%s gets witness %s twice", v.Item.ID, w.Statement)
		}
		v.Statements = append(v.Statements, w.Statement)
	}
	for _, c := range p.Clashes {
		a, b := st.get(id(c.A)), st.get(id(c.B))
		a.Conflicts, b.Conflicts = append(a.Conflicts, b.Item.ID), append(b.Conflicts, a.Item.ID)
	}
}

// checkSlot is the constraint of the database.
func (st *store) checkSlot() {
	open := 0
	for _, v := range st.versions {
		if v.State.HoldsSlot && v.State.Valid.To.IsZero() {
			open++
		}
	}
	if open > 1 {
		st.t.Fatalf("%d open holders\n%s", open, st)
	}
}

// check holds what must be true after every step.
func (st *store) check() {
	st.t.Helper()
	live := Live(st.versions, st.statements)
	res := Resolve(live)
	if p := Diff(st.versions, live, res, now); writes(p) {
		st.t.Fatalf("the plan is not idempotent: %+v\n%s", p, st)
	}
	for _, v := range st.versions {
		strongest := memory.Authority(0)
		for _, s := range st.statements {
			if slices.Contains(v.Statements, s.ID) {
				strongest = max(strongest, s.Authority)
			}
		}
		if v.Item.Authority > strongest {
			st.t.Fatalf("%s has authority %v, its strongest witness %v", v.Item.ID, v.Item.Authority, strongest)
		}
	}
	if got, want := st.view(), viewOf(res); got != want {
		st.t.Fatalf("stored differs from resolved\nstored:\n%s\nresolved:\n%s\nversions:\n%s", got, want, st)
	}
}

func claim(value string, p memory.Polarity, a memory.Authority, v memory.Validity) string {
	sign := ""
	if p == memory.Negative {
		sign = "no "
	}
	return fmt.Sprintf("%s%s %s [%s,%s)", sign, value, a, year(v.From), year(v.To))
}

func year(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.Equal(time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)):
		return t.Format("2006")
	}
	return t.Format("2006-01-02")
}

// view is what a reader of the stored versions sees: intervals, holder, status
// and standing conflicts. Empty versions show only where a conflict stands.
func (st *store) view() string {
	var lines []string
	for i, v := range st.versions {
		name := claim(v.Item.ValueID, v.Item.Polarity, v.Item.Authority, v.State.Valid)
		if !v.withdrawn() && !v.State.Valid.Empty() {
			lines = append(lines, fmt.Sprintf("%s %s holds=%t", name, v.State.Status, v.State.HoldsSlot))
		}
		for _, w := range st.versions[i+1:] {
			if slices.Contains(v.Conflicts, w.Item.ID) && Stands(v, w) {
				lines = append(lines, pair(name, claim(w.Item.ValueID, w.Item.Polarity, w.Item.Authority, w.State.Valid)))
			}
		}
	}
	return sorted(lines)
}

func viewOf(r Resolution) string {
	var lines []string
	d := differ{now: now}
	name := func(iv Interval) string { return claim(iv.ValueID, iv.Polarity, iv.Authority, iv.Valid) }
	for _, iv := range r.Intervals {
		if s := d.status(&iv); !iv.Valid.Empty() {
			lines = append(lines, fmt.Sprintf("%s %s holds=%t", name(iv), s, iv.Holder && s == memory.StatusActive))
		}
	}
	for _, c := range r.Conflicts {
		lines = append(lines, pair(name(r.Intervals[c.Left]), name(r.Intervals[c.Right])))
	}
	return sorted(lines)
}

func pair(a, b string) string { return "conflict: " + min(a, b) + " / " + max(a, b) }

func sorted(lines []string) string {
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

func (st *store) String() string {
	var b strings.Builder
	for _, v := range st.versions {
		fmt.Fprintf(&b, "%s %s %s holds=%t because %s %s; witnesses %q; conflicts %q\n", v.Item.ID,
			claim(v.Item.ValueID, v.Item.Polarity, v.Item.Authority, v.State.Valid), v.State.Status, v.State.HoldsSlot,
			v.State.Reason, v.State.Cause, v.Statements, v.Conflicts)
	}
	return b.String()
}
