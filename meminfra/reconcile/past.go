package reconcile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// undatedPast reports whether a statement says no more than that something was
// so until then: "I used to live in Oslo". Its start is unknown, so it can hold
// no moment; its end counts like any said end.
func undatedPast(s *memory.Statement) bool {
	return s.Polarity == memory.Positive && s.Valid.From.IsZero() && !s.Valid.To.IsZero()
}

// dropPasts takes the undated pasts out of the contest, after their ends have
// been applied, and returns them in rank order.
func (f *fold) dropPasts() []*memory.Statement {
	var pasts []*memory.Statement
	f.told = slices.DeleteFunc(f.told, func(t told) bool {
		if undatedPast(t.Statement) {
			pasts = append(pasts, t.Statement)
			return true
		}
		return false
	})
	return pasts
}

// addPasts houses undated pasts: in the last interval of their claim that began
// before they say it was over, if there is one as strong, else in one interval
// of unknown start for each value and authority, up to the earliest said end.
func (r *Resolution) addPasts(pasts []*memory.Statement) {
	var own []Interval
	for _, p := range pasts {
		if iv := r.pastOf(p); iv != nil {
			iv.hear(p)
		} else {
			own = housePast(own, p)
		}
	}
	if len(own) == 0 {
		return
	}
	slices.SortFunc(own, func(a, b Interval) int {
		return cmp.Or(cmp.Compare(b.Authority, a.Authority), strings.Compare(a.ValueID, b.ValueID))
	})
	r.Intervals = append(own, r.Intervals...)
	for i := range r.Conflicts {
		r.Conflicts[i].Left += len(own)
		r.Conflicts[i].Right += len(own)
	}
}

func (r *Resolution) pastOf(p *memory.Statement) *Interval {
	for i := len(r.Intervals) - 1; i >= 0; i-- {
		iv := &r.Intervals[i]
		if iv.ValueID == p.ValueID && iv.Polarity == memory.Positive && iv.Authority >= p.Authority &&
			!iv.Valid.Empty() && iv.Valid.From.Before(p.Valid.To) {
			return iv
		}
	}
	return nil
}

// hear adds a past as a witness. Its start is unknown, so it ranks first.
func (iv *Interval) hear(p *memory.Statement) {
	if p.Authority == iv.Authority {
		iv.Support = slices.Insert(iv.Support, 0, p.ID)
	} else {
		iv.Echoes = slices.Insert(iv.Echoes, 0, p.ID)
	}
}

func housePast(own []Interval, p *memory.Statement) []Interval {
	for i := range own {
		iv := &own[i]
		if iv.ValueID == p.ValueID && iv.Authority == p.Authority {
			iv.Support = append(iv.Support, p.ID)
			if p.Valid.To.Before(iv.Valid.To) {
				iv.Valid.To = p.Valid.To
			}
			return own
		}
	}
	return append(own, Interval{ValueID: p.ValueID, Polarity: memory.Positive, Authority: p.Authority,
		Valid: memory.Validity{To: p.Valid.To}, Founder: p.ID, Support: []string{p.ID}, ClosedHow: SaidEnd})
}
