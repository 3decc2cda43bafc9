package reconcile

import (
	"slices"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Version is a stored item of the fact key with its present state. Of the state,
// Status, Valid, HoldsSlot and Reason are read, as a plan gave them.
type Version struct {
	Item       memory.Item
	State      memory.State
	Statements []string // its full witnesses in order of evidence; the first founded it
	Conflicts  []string // ids of the items it has a recorded conflict with
}

func (v *Version) withdrawn() bool { return v.State.Status == memory.StatusWithdrawn }

// gone reports whether the version is kept empty because no interval needs it.
func (v *Version) gone() bool {
	switch v.State.Reason {
	case ReasonMerged, ReasonStronger, ReasonWitnessesGone:
		return v.State.Valid.Empty()
	}
	return false
}

// lost reports whether the version is empty because it lost to another from its
// very start, and not gone or empty by its own words.
func (v *Version) lost() bool {
	return v.State.Valid.Empty() && !v.gone() && !v.withdrawn() &&
		v.State.Reason != ReasonSaidEnd && v.State.Reason != ReasonSealed
}

func (v *Version) founding() string {
	if len(v.Statements) == 0 {
		return ""
	}
	return v.Statements[0]
}

// counts reports whether a statement among the version's witnesses has its place
// there: it starts while the version lasts, or is as empty as the version is.
func (v *Version) counts(s *memory.Statement) bool {
	switch {
	case v.withdrawn() || v.gone():
		return false
	case !v.State.Valid.Empty():
		return v.State.Valid.Contains(s.Valid.From)
	}
	return v.State.Valid.From.Equal(s.Valid.From) && v.Item.Authority == s.Authority && (v.lost() || v.founding() == s.ID)
}

// Live returns the statements that count, in input order; the input itself if
// nothing is withdrawn. A withdrawn version takes two things along:
//
//   - its witnesses, echoes included, except those that have since found their
//     place in another version (a newly learned interruption had split it);
//   - from its start on, what its authority or a weaker one had said of the same
//     claim before, or the withdrawn value would come back from another mouth.
//
// The start is that of its empty interval, so whoever withdraws a version keeps
// its Valid.From: the state becomes Valid.Emptied(). Undated pasts go with any
// version that has them and take nothing along.
func Live(stored []Version, statements []memory.Statement) []memory.Statement {
	if !slices.ContainsFunc(stored, func(v Version) bool { return v.withdrawn() }) {
		return statements
	}
	live := make([]memory.Statement, 0, len(statements))
	for _, s := range statements {
		if isWithdrawn(stored, &s) {
			continue
		}
		for i := range stored {
			if w := &stored[i]; w.withdrawn() {
				cut(&s, w)
			}
		}
		live = append(live, s)
	}
	return live
}

// isWithdrawn: what starts with a withdrawn version of its authority is its, for
// good; any other witness only while no version that still counts has it.
func isWithdrawn(stored []Version, s *memory.Statement) bool {
	in, out := false, false
	for i := range stored {
		v := &stored[i]
		if !slices.Contains(v.Statements, s.ID) {
			continue
		}
		if v.withdrawn() && v.Item.Authority == s.Authority && v.State.Valid.From.Equal(s.Valid.From) {
			return true
		}
		in, out = in || v.withdrawn(), out || v.counts(s)
	}
	if undatedPast(s) {
		return in // it starts nowhere, so it has no other place
	}
	return in && !out
}

// cut ends s where the withdrawn version w begins, if it made the same claim
// before with no more authority.
func cut(s *memory.Statement, w *Version) {
	from := w.State.Valid.From
	if undatedPast(s) || w.Item.Stated.From.IsZero() {
		return // what was over by then says nothing of what came before
	}
	if w.Item.ValueID == s.ValueID && w.Item.Polarity == s.Polarity && w.Item.Authority >= s.Authority &&
		s.Valid.From.Before(from) && s.Valid.Contains(from) {
		s.Valid.To = from
	}
}

// Stands reports whether a conflict once recorded between two versions is one
// still: they are believed at one moment, or one lost to the other from the start.
// Conflict rows are never deleted, so a reader asks this.
func Stands(a, b Version) bool {
	if a.withdrawn() || b.withdrawn() {
		return false
	}
	v, w := a.State.Valid, b.State.Valid
	if v.From.IsZero() || w.From.IsZero() {
		return false // an undated past claims no moment
	}
	if v.Empty() || w.Empty() {
		return a.Item.Authority == b.Item.Authority && (a.lost() || !v.Empty()) && (b.lost() || !w.Empty()) &&
			(v.From.Equal(w.From) || v.Contains(w.From) || w.Contains(v.From))
	}
	return (w.To.IsZero() || v.From.Before(w.To)) && (v.To.IsZero() || w.From.Before(v.To))
}
