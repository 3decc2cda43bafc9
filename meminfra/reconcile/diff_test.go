package reconcile

import (
	"fmt"
	"slices"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// tellAll adds statements one by one and returns what each did: its action,
// reason, target and what it superseded, by item id.
func (st *store) tellAll(list ...memory.Statement) []string {
	var acts []string
	for _, s := range list {
		base := len(st.versions)
		id := func(r Ref) string {
			if r.New > 0 {
				return fmt.Sprintf("v%d", base+r.New)
			}
			return r.Item
		}
		for _, a := range st.add(s).Acts {
			line := fmt.Sprintf("%s %s %s", a.Action, a.Reason, id(a.Target))
			if !a.Superseded.IsZero() {
				line += " over " + id(a.Superseded)
			}
			acts = append(acts, line)
		}
	}
	return acts
}

// TestActs is what each statement does when they arrive one by one.
func TestActs(t *testing.T) {
	for _, c := range []struct {
		name string
		told []memory.Statement
		want []string
	}{
		{"new, same, newer", say(says(user, "a", 2020), says(user, "a", 2021), says(user, "b", 2022)),
			lines("ADD new_fact v1", "NOOP same_value v1", "SUPERSEDE newer_value v2 over v1")},
		{"told late", say(says(user, "b", 2022), says(user, "a", 2020)), lines("ADD new_fact v1", "ADD older_value v2")},
		{"told late, same value", say(says(user, "a", 2022), says(user, "a", 2020)), lines("ADD new_fact v1", "NOOP earlier_start v1")},
		{"negated", say(says(user, "a", 2020), denies(user, "a", 2022)), lines("ADD new_fact v1", "RETRACT negated v2 over v1")},
		{"negated twice", say(says(user, "a", 2020), denies(user, "a", 2022), denies(user, "a", 2023)),
			lines("ADD new_fact v1", "RETRACT negated v2 over v1", "NOOP same_value v2")},
		{"negated and nothing to end", say(denies(user, "a", 2022)), lines("ADD negation_recorded v1")},
		{"another negated", say(says(user, "a", 2020), denies(user, "b", 2022)), lines("ADD new_fact v1", "ADD negation_recorded v2")},
		{"again after a negation", say(says(user, "a", 2020), denies(user, "a", 2022), says(user, "a", 2023)),
			lines("ADD new_fact v1", "RETRACT negated v2 over v1", "SUPERSEDE newer_value v3 over v2")},
		{"said end", say(says(user, "a", 2020), tell(says(user, "a", 2020, 2022), 2023)), lines("ADD new_fact v1", "RETRACT said_end v1 over v1")},
		{"a past with an end", say(says(user, "a", 2015, 2018)), lines("ADD new_fact v1")},
		{"stronger witness", say(says(tool, "a", 2020), says(user, "a", 2022)), lines("ADD new_fact v1", "SUPERSEDE stronger_witness v2 over v1")},
		{"stronger witness of all of it", say(says(tool, "a", 2020), says(user, "a", 2019)), lines("ADD new_fact v1", "SUPERSEDE stronger_witness v2 over v1")},
		{"weaker echo", say(says(user, "a", 2020), says(tool, "a", 2022)), lines("ADD new_fact v1", "NOOP weaker_echo v1")},
		{"weaker value", say(says(user, "a", 2020), says(tool, "b", 2022)), lines("ADD new_fact v1", "ADD weaker_conflict v2")},
		{"weaker negation", say(says(user, "a", 2020), denies(tool, "a", 2022)), lines("ADD new_fact v1", "ADD weaker_conflict v2")},
		{"stronger older value", say(says(tool, "a", 2025), says(user, "b", 2024)), lines("ADD new_fact v1", "ADD stronger_witness v2")},
		{"stronger newer value", say(says(tool, "a", 2020), says(user, "b", 2024)), lines("ADD new_fact v1", "SUPERSEDE newer_value v2 over v1")},
		{"starts later", say(says(user, "a", 2020), tell(says(user, "b", 2040), 2021)), lines("ADD new_fact v1", "SUPERSEDE starts_later v2 over v1")},
		{"starts later, nothing before", say(tell(says(user, "b", 2040), 2021)), lines("ADD starts_later v1")},
		{"same start", say(says(user, "a", 2020), tell(says(user, "b", 2020), 2021)), lines("ADD new_fact v1", "SUPERSEDE newer_value v2 over v1")},
		{"same start, told late", say(tell(says(user, "b", 2020), 2021), says(user, "a", 2020)), lines("ADD new_fact v1", "ADD told_earlier v2")},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := &store{t: t}
			if got := st.tellAll(c.told...); !slices.Equal(got, c.want) {
				t.Errorf("got %q\nwant %q\n%s", got, c.want, st)
			}
		})
	}
}

// TestActsOfABatch: statements that arrive together may supersede each other.
func TestActsOfABatch(t *testing.T) {
	p := Reconcile(nil, say(says(user, "b", 2022), denies(user, "b", 2024), says(user, "a", 2020), says(user, "a", 2021)), now)
	want := []Act{
		{"au b@2022", memory.ActionSupersede, ReasonNewerValue, Ref{New: 2}, Ref{New: 1}},
		{"no au b@2024", memory.ActionRetract, ReasonNegated, Ref{New: 3}, Ref{New: 2}},
		{"au a@2020", memory.ActionAdd, ReasonNewFact, Ref{New: 1}, Ref{}},
		{"au a@2021", memory.ActionNoop, ReasonSameValue, Ref{New: 1}, Ref{}},
	}
	if !slices.Equal(p.Acts, want) {
		t.Errorf("got %+v\nwant %+v", p.Acts, want)
	}
	if p.New[1].Supersedes != (Ref{New: 1}) || p.New[0].Reason != ReasonNewFact {
		t.Errorf("%+v", p.New)
	}
}

// The five counter-examples of the foundation issue, in every order.

func TestCounterExampleLateInterruption(t *testing.T) {
	inEveryOrder(t, say(says(user, "A", 2020), says(user, "A", 2023), says(user, "B", 2022)),
		"A authorized [2020,2022) superseded holds=false", "B authorized [2022,2023) superseded holds=false",
		"A authorized [2023,) active holds=true")
}

func TestCounterExampleNegationBeforeAssertion(t *testing.T) {
	inEveryOrder(t, say(denies(user, "X", 2024), says(user, "X", 2022)),
		"X authorized [2022,2024) ended holds=false", "no X authorized [2024,) active holds=false")
}

func TestCounterExampleToolHoldsWhenOlderUserArrives(t *testing.T) {
	inEveryOrder(t, say(says(tool, "B", 2025), says(user, "A", 2024)),
		"A authorized [2024,) active holds=true", "B unendorsed [2025,) active holds=false",
		"conflict: A authorized [2024,) / B unendorsed [2025,)")
}

func TestCounterExampleShuffledYears(t *testing.T) {
	inEveryOrder(t, say(says(user, "C", 2024), says(user, "A", 2020), says(user, "B", 2022)),
		"A authorized [2020,2022) superseded holds=false", "B authorized [2022,2024) superseded holds=false",
		"C authorized [2024,) active holds=true")
}

func TestCounterExampleWithdrawnHolderBesideConflict(t *testing.T) {
	list := say(says(user, "A", 2020), says(tool, "B", 2022))
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		st := &store{t: t}
		for _, i := range order {
			st.add(list[i])
		}
		st.withdraw(st.holder())
		if got, want := st.view(), "B unendorsed [2022,) active holds=true"; got != want {
			t.Errorf("got %s\nwant %s\n%s", got, want, st)
		}
		st.add(says(user, "A", 2024)) // said again: a new statement counts
		if got := st.get(st.holder()).Item.ValueID; got != "A" {
			t.Errorf("holder %s\n%s", got, st)
		}
	}
}

func (st *store) holder() string {
	for _, v := range st.versions {
		if v.State.HoldsSlot && v.State.Valid.To.IsZero() {
			return v.Item.ID
		}
	}
	st.t.Fatalf("no holder\n%s", st)
	return ""
}

func inEveryOrder(t *testing.T, list []memory.Statement, want ...string) {
	t.Helper()
	permute(list, func(order []memory.Statement) {
		st := &store{t: t}
		for _, s := range order {
			st.add(s)
		}
		if got := st.view(); got != sorted(slices.Clone(want)) {
			t.Errorf("got\n%s\nwant\n%s\n%s", got, sorted(slices.Clone(want)), st)
		}
	})
}

func permute(list []memory.Statement, visit func([]memory.Statement)) {
	var rec func(int)
	rec = func(k int) {
		if k == len(list) {
			visit(list)
		}
		for i := k; i < len(list); i++ {
			list[k], list[i] = list[i], list[k]
			rec(k + 1)
			list[k], list[i] = list[i], list[k]
		}
	}
	rec(0)
}

// TestWithdrawnValueStaysAway: neither an echo nor an older weaker witness of the
// withdrawn value brings it back, and what it interrupted is as if it never was.
func TestWithdrawnValueStaysAway(t *testing.T) {
	st := &store{t: t}
	st.add(says(tool, "A", 2019))
	st.add(says(user, "A", 2020))
	st.add(says(tool, "A", 2021))
	st.withdraw(st.holder())
	if got, want := st.view(), "A unendorsed [2019,2020) ended holds=false"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}

	st = &store{t: t}
	st.tellAll(says(user, "A", 2020), says(user, "B", 2022))
	st.withdraw("v2")
	if got, want := st.view(), "A authorized [2020,) active holds=true"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestRestore: once the withdrawn version is active again, the fold sees its
// statements again.
func TestRestore(t *testing.T) {
	st := &store{t: t}
	st.tellAll(says(user, "A", 2020), says(user, "B", 2022), says(tool, "B", 2023))
	before := st.view()
	st.withdraw("v2")
	st.get("v2").State.Status = memory.StatusSuperseded
	st.settle()
	if got := st.view(); got != before {
		t.Errorf("got\n%s\nwant\n%s", got, before)
	}
}

// TestArchivedStaysArchived: its interval follows, its status does not, and what
// it says is not stored twice.
func TestArchivedStaysArchived(t *testing.T) {
	stored := Version{
		Item:       memory.Item{ID: "v1", Seq: 1, ValueID: "A", Polarity: memory.Positive, Authority: user, Stated: memory.Validity{From: at(2020)}},
		State:      memory.State{Status: memory.StatusArchived, Valid: memory.Validity{From: at(2020)}},
		Statements: []string{"au A@2020"},
	}
	if p := Reconcile([]Version{stored}, say(says(user, "A", 2020)), now); writes(p) {
		t.Errorf("%+v", p)
	}
	p := Reconcile([]Version{stored}, say(says(user, "A", 2020), says(user, "B", 2022)), now)
	if len(p.New) != 1 || !p.New[0].HoldsSlot || len(p.Changes) != 1 || p.Changes[0].Status != memory.StatusArchived ||
		p.Changes[0].HoldsSlot || !p.Changes[0].Valid.To.Equal(at(2022)) {
		t.Errorf("%+v", p)
	}
}

// TestTimePasses: an interval with a future end is active until then.
func TestTimePasses(t *testing.T) {
	list := say(says(user, "A", 2020), tell(says(user, "B", 2040), 2021))
	st := &store{t: t}
	st.tellAll(list...)
	if v := st.get("v1"); v.State.Status != memory.StatusActive || !v.State.HoldsSlot {
		t.Errorf("closed too early: %s", st)
	}
	p := Reconcile(st.versions, list, at(2041))
	if len(p.Changes) != 1 || p.Changes[0].Item != "v1" || p.Changes[0].Status != memory.StatusSuperseded ||
		p.Changes[0].HoldsSlot || p.Changes[0].Cause != (Ref{Item: "v2"}) || p.Changes[0].ClosedBy != "au B@2040 told 2021" {
		t.Errorf("%+v", p)
	}
}

// TestLineage: a new version names the one before it, and each closed state what
// closed it.
func TestLineage(t *testing.T) {
	st := &store{t: t}
	st.tellAll(says(tool, "A", 2020), says(user, "A", 2021), says(user, "B", 2022), denies(user, "B", 2023))
	want := []struct{ supersedes, cause, reason string }{
		{"", "v2", ReasonStronger}, {"v1", "v3", ReasonNewerValue}, {"v2", "v4", ReasonNegated}, {"v3", "", ReasonNegated},
	}
	for i, v := range st.versions {
		if v.Item.Supersedes != want[i].supersedes || v.State.Cause != want[i].cause || v.State.Reason != want[i].reason {
			t.Errorf("%s: supersedes %q cause %q reason %q, want %+v", v.Item.ID, v.Item.Supersedes, v.State.Cause, v.State.Reason, want[i])
		}
	}
}

// writes reports whether a plan has anything to write.
func writes(p Plan) bool {
	return len(p.New)+len(p.Changes)+len(p.Witnesses)+len(p.Clashes) > 0
}
