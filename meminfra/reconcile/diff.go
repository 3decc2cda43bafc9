package reconcile

import (
	"cmp"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Reasons of new versions, state changes and acts, beside the Closing words.
const (
	ReasonNewFact         = "new_fact"
	ReasonSameValue       = "same_value"       // one more witness
	ReasonEcho            = "weaker_echo"      // one more witness, of weaker authority
	ReasonEarlierStart    = "earlier_start"    // one more witness, and it began earlier than known
	ReasonNewerValue      = "newer_value"      // ends another value
	ReasonOlderValue      = "older_value"      // told late: history only, nothing current changes
	ReasonToldEarlier     = "told_earlier"     // lost to a later told value of the same start
	ReasonStronger        = "stronger_witness" // the same value, or the slot, passes to a stronger authority
	ReasonBeside          = "stands_beside"    // stands beside what another holds, who is not to be touched
	ReasonWeakerConflict  = "weaker_conflict"  // stands beside what a stronger authority says
	ReasonNegated         = "negated"          // ended by a negation
	ReasonNegationNoted   = "negation_recorded"
	ReasonSaidEnd         = "said_end"
	ReasonStartsLater     = "starts_later"     // in the future; until then nothing current changes
	ReasonContinued       = "continued"        // an old statement whose standing changed gets a second version
	ReasonSplit           = "split"            // an old statement behind a newly learned interruption gets its own version
	ReasonMerged          = "merged"           // taken up by another version of the same claim
	ReasonWitnessesGone   = "witnesses_gone"   // its statements were withdrawn or erased
	ReasonReopened        = "reopened"         // what had closed it is gone
	ReasonIntervalChanged = "interval_changed" // still open, with other bounds or standing
)

// Ref names an item: one that is stored, or the New-th new version of the plan,
// counted from 1. The zero Ref is no item.
type Ref struct {
	Item string
	New  int
}

// IsZero reports whether the Ref names nothing.
func (r Ref) IsZero() bool { return r == Ref{} }

// NewVersion is an item to create, with its first state.
type NewVersion struct {
	Interval   Interval
	Status     memory.Status
	HoldsSlot  bool
	Founder    string // the statement it is told by; also the first of its Witnesses
	Supersedes Ref    // the version before it in its line; never a later new version
	Reason     string
	Cause      Ref // what closed it before it was told, or what it stands beside
}

// Change is the next state of a stored item.
type Change struct {
	Item      string
	Status    memory.Status
	Valid     memory.Validity
	HoldsSlot bool
	Reason    string
	Cause     Ref    // the item whose arrival made it
	ClosedBy  string // the statement that ended it, to be kept as contrary evidence; or ""
}

// Witness is evidence to attach.
type Witness struct {
	Target    Ref
	Statement string
	Echo      bool // of weaker authority than the item
}

// Clash is a conflict to record.
type Clash struct {
	A, B   Ref
	Reason string
}

// Plan is what brings the stored versions to the resolution. Apply Changes in
// order, then the first states of New: whatever closes comes before what opens,
// so that no two open holders ever meet. Reasons are part of the state and are
// stored as they are. Acts report it all for each new statement.
type Plan struct {
	New       []NewVersion
	Changes   []Change
	Witnesses []Witness
	Clashes   []Clash
	Acts      []Act
}

// Reconcile is Live, Resolve and Diff in one: what to do about all statements
// of one fact key, stored and new, at now.
func Reconcile(stored []Version, statements []memory.Statement, now time.Time) Plan {
	live := Live(stored, statements)
	return Diff(stored, live, Resolve(live), now)
}

// Diff returns the plan from the stored versions of a fact key to its
// resolution. Statements are those that were resolved; the ones in no stored
// version are new and get an Act each, in input order. Withdrawn versions never
// change. Archived ones stay archived and hold nothing, but their interval
// follows, so that what they say is not stored twice. Applying a plan and asking
// again at the same now gives an empty one.
func Diff(stored []Version, statements []memory.Statement, res Resolution, now time.Time) Plan {
	d := differ{stored: stored, res: res, now: now}
	d.match()
	d.create()
	d.changeMatched()
	d.changeRest()
	d.attach()
	d.clash()
	slices.SortStableFunc(d.plan.Changes, func(a, b Change) int { return cmp.Compare(opens(a), opens(b)) })
	d.act(statements)
	return d.plan
}

// opens is 1 for changes that take an open slot, 0 for all that go first.
func opens(c Change) int {
	if c.HoldsSlot && c.Valid.To.IsZero() {
		return 1
	}
	return 0
}

type differ struct {
	stored  []Version
	res     Resolution
	now     time.Time
	bySeq   []int // stored versions that may change, earliest first
	version []int // of each interval: its stored version, -1 for a new one
	taken   []int // of each stored version: its interval, -1 for none
	refs    []Ref // of each interval: its item
	plan    Plan
}

// match gives each interval at most one stored version of the same claim. What a
// former plan already settled goes first, so that a second look changes nothing;
// then versions stay with their founding statement; then any shared witness does.
func (d *differ) match() {
	d.version = slices.Repeat([]int{-1}, len(d.res.Intervals))
	d.taken = slices.Repeat([]int{-1}, len(d.stored))
	for i := range d.stored {
		if !d.stored[i].withdrawn() {
			d.bySeq = append(d.bySeq, i)
		}
	}
	slices.SortFunc(d.bySeq, func(a, b int) int {
		return cmp.Or(cmp.Compare(d.stored[a].Item.Seq, d.stored[b].Item.Seq), cmp.Compare(d.stored[a].Item.ID, d.stored[b].Item.ID))
	})
	for _, fits := range []func(*Version, *Interval) bool{isSettled, isFoundedThere, isFounded, isWitnessed} {
		for _, i := range d.bySeq {
			for n := range d.res.Intervals {
				v, iv := &d.stored[i], &d.res.Intervals[n]
				if d.taken[i] < 0 && d.version[n] < 0 && sameClaim(v, iv) && fits(v, iv) {
					d.taken[i], d.version[n] = n, i
				}
			}
		}
	}
}

// sameClaim also keeps undated pasts apart from what is dated: "I used to live in
// Oslo" is not how "I live in Oslo" reads.
func sameClaim(v *Version, iv *Interval) bool {
	return v.Item.Stated.From.IsZero() == iv.Valid.From.IsZero() && v.Item.ValueID == iv.ValueID && v.Item.Polarity == iv.Polarity && v.Item.Authority == iv.Authority
}

func isSettled(v *Version, iv *Interval) bool {
	return v.State.Valid.Equal(iv.Valid) && containsAll(v.Statements, iv.Support) && containsAll(v.Statements, iv.Echoes)
}

func isFoundedThere(v *Version, iv *Interval) bool {
	return isFounded(v, iv) && v.State.Valid.From.Equal(iv.Valid.From)
}

func isFounded(v *Version, iv *Interval) bool { return slices.Contains(iv.Support, v.founding()) }

func isWitnessed(v *Version, iv *Interval) bool { return share(v.Statements, iv.Support) }

// create adds a new version for each interval that has none, and names the item
// of every interval.
func (d *differ) create() {
	d.refs = make([]Ref, len(d.res.Intervals))
	for n := range d.res.Intervals {
		if i := d.version[n]; i >= 0 {
			d.refs[n] = Ref{Item: d.stored[i].Item.ID}
			continue
		}
		d.plan.New = append(d.plan.New, NewVersion{})
		d.refs[n] = Ref{New: len(d.plan.New)}
	}
	for n := range d.res.Intervals {
		k := d.refs[n].New
		if k == 0 {
			continue
		}
		iv := d.res.Intervals[n]
		status := d.status(&iv)
		d.plan.New[k-1] = NewVersion{
			Interval: iv, Status: status, HoldsSlot: iv.Holder && status == memory.StatusActive,
			Founder: iv.Founder, Supersedes: d.before(n), Reason: d.newReason(&iv), Cause: d.cause(n),
		}
	}
}

// status is where an interval stands at now.
func (d *differ) status(iv *Interval) memory.Status {
	switch {
	case !iv.Valid.Empty() && (iv.Valid.To.IsZero() || iv.Valid.To.After(d.now)):
		return memory.StatusActive
	case iv.ClosedHow == Ended || iv.ClosedHow == SaidEnd:
		return memory.StatusEnded
	}
	return memory.StatusSuperseded
}

// before returns the version that the new interval n takes over from: a holder
// that it closed, else whatever it closed, else a version that it absorbs.
func (d *differ) before(n int) Ref {
	iv := &d.res.Intervals[n]
	found := Ref{}
	for m := range d.res.Intervals {
		old := &d.res.Intervals[m]
		if old.Valid.Empty() || iv.Valid.Empty() || !old.Valid.To.Equal(iv.Valid.From) || !slices.Contains(iv.Support, old.ClosedBy) {
			continue
		}
		if old.Holder {
			return d.refs[m]
		}
		if found.IsZero() {
			found = d.refs[m]
		}
	}
	for _, i := range d.bySeq {
		if found.IsZero() && d.taken[i] < 0 && d.absorber(i) == n {
			found = Ref{Item: d.stored[i].Item.ID}
		}
	}
	return found
}

// newReason says why a version is new whose founder is not: an old statement
// needs a second version. Those of new founders get the reason of their Act.
func (d *differ) newReason(iv *Interval) string {
	switch {
	case iv.Valid.Empty() && iv.ClosedBy != "":
		return ReasonToldEarlier
	case iv.Valid.Empty():
		return ReasonSaidEnd
	case d.continues(iv):
		return ReasonContinued
	}
	return ReasonSplit
}

func (d *differ) continues(iv *Interval) bool {
	return slices.ContainsFunc(d.res.Intervals, func(old Interval) bool {
		return old.ClosedHow == Continued && old.Valid.To.Equal(iv.Valid.From) && slices.Contains(iv.Support, old.ClosedBy)
	})
}

func (d *differ) isStored(statement string) bool {
	return slices.ContainsFunc(d.stored, func(v Version) bool { return slices.Contains(v.Statements, statement) })
}

// absorber returns the interval that took up the claim of an unmatched version:
// the strongest one with a witness of it; -1 for none.
func (d *differ) absorber(i int) int {
	v, best := &d.stored[i], -1
	for n := range d.res.Intervals {
		iv := &d.res.Intervals[n]
		if iv.ValueID == v.Item.ValueID && iv.Polarity == v.Item.Polarity &&
			(best < 0 || iv.Authority > d.res.Intervals[best].Authority) &&
			(share(v.Statements, iv.Support) || share(v.Statements, iv.Echoes)) {
			best = n
		}
	}
	return best
}

// changeMatched brings matched versions to their intervals.
func (d *differ) changeMatched() {
	for _, i := range d.bySeq {
		v, n := &d.stored[i], d.taken[i]
		if n < 0 {
			continue
		}
		iv := &d.res.Intervals[n]
		c := Change{Item: v.Item.ID, Status: d.status(iv), Valid: iv.Valid, ClosedBy: iv.ClosedBy}
		if v.State.Status == memory.StatusArchived {
			c.Status = memory.StatusArchived
		}
		c.HoldsSlot = iv.Holder && c.Status == memory.StatusActive
		loses := iv.Valid.Empty() && iv.ClosedBy != ""
		if c.Status == v.State.Status && c.Valid.Equal(v.State.Valid) && c.HoldsSlot == v.State.HoldsSlot &&
			!v.gone() && v.lost() == loses {
			continue
		}
		c.Reason, c.Cause = d.changeReason(v, iv), d.cause(n)
		d.plan.Changes = append(d.plan.Changes, c)
	}
}

func (d *differ) changeReason(v *Version, iv *Interval) string {
	switch iv.ClosedHow {
	case Superseded:
		return ReasonNewerValue
	case Ended:
		return ReasonNegated
	case SaidEnd:
		return ReasonSaidEnd
	case Continued:
		return ReasonContinued
	case Outranked:
		return ReasonStronger
	}
	if v.State.HoldsSlot && !iv.Holder {
		return ReasonStronger
	}
	if v.State.Status == memory.StatusActive && v.State.Valid.To.IsZero() && iv.Valid.From.Before(v.State.Valid.From) {
		return ReasonEarlierStart
	}
	if v.State.Valid.To.IsZero() {
		return ReasonIntervalChanged
	}
	return ReasonReopened
}

// cause returns the item told by the statement that closed interval n or, if it
// is open and beside, by the holder it stands beside.
func (d *differ) cause(n int) Ref {
	iv := &d.res.Intervals[n]
	if iv.ClosedBy != "" {
		if m := d.home(iv.ClosedBy, iv.Valid.To); m >= 0 && m != n {
			return d.refs[m]
		}
		return Ref{}
	}
	for m := range d.res.Intervals {
		if d.res.Intervals[m].Holder && m != n && d.inConflict(n, m) {
			return d.refs[m]
		}
	}
	return Ref{}
}

func (d *differ) inConflict(n, m int) bool {
	return slices.ContainsFunc(d.res.Conflicts, func(c Conflict) bool {
		return c.Left == n && c.Right == m || c.Left == m && c.Right == n
	})
}

// home returns the interval in which a statement counts at a moment, else the
// first it counts in at all, as support before as echo; -1 for none.
func (d *differ) home(statement string, at time.Time) int {
	best, bestScore := -1, 0
	for n := range d.res.Intervals {
		iv := &d.res.Intervals[n]
		score := 0
		switch {
		case slices.Contains(iv.Support, statement):
			score = 3
		case slices.Contains(iv.Echoes, statement):
			score = 1
		default:
			continue
		}
		if iv.Valid.Contains(at) {
			score++
		}
		if score > bestScore {
			best, bestScore = n, score
		}
	}
	return best
}

// changeRest empties stored versions that no interval needs any more.
func (d *differ) changeRest() {
	for _, i := range d.bySeq {
		v := &d.stored[i]
		if d.taken[i] >= 0 || v.gone() {
			continue
		}
		c := Change{
			Item: v.Item.ID, Status: memory.StatusSuperseded,
			Valid: v.State.Valid.Emptied(), Reason: ReasonWitnessesGone,
		}
		if v.State.Status == memory.StatusArchived {
			c.Status = memory.StatusArchived
		}
		if n := d.absorber(i); n >= 0 {
			c.Cause, c.Reason = d.refs[n], ReasonMerged
			if d.res.Intervals[n].Authority > v.Item.Authority {
				c.Reason = ReasonStronger
			}
		}
		d.plan.Changes = append(d.plan.Changes, c)
	}
}

// attach adds the witnesses that an item does not have yet, its founder first.
func (d *differ) attach() {
	for n := range d.res.Intervals {
		iv := &d.res.Intervals[n]
		var known []string
		if i := d.version[n]; i >= 0 {
			known = d.stored[i].Statements
		} else {
			d.plan.Witnesses = append(d.plan.Witnesses, Witness{Target: d.refs[n], Statement: iv.Founder})
			known = []string{iv.Founder}
		}
		d.attachList(d.refs[n], iv.Support, known, false)
		d.attachList(d.refs[n], iv.Echoes, known, true)
	}
}

func (d *differ) attachList(target Ref, list, known []string, echo bool) {
	for _, s := range list {
		if !slices.Contains(known, s) {
			d.plan.Witnesses = append(d.plan.Witnesses, Witness{Target: target, Statement: s, Echo: echo})
		}
	}
}

// clash records the conflicts that are not recorded yet.
func (d *differ) clash() {
	for _, c := range d.res.Conflicts {
		i := d.version[c.Left]
		if i >= 0 && slices.Contains(d.stored[i].Conflicts, d.refs[c.Right].Item) {
			continue
		}
		d.plan.Clashes = append(d.plan.Clashes, Clash{A: d.refs[c.Left], B: d.refs[c.Right], Reason: c.Reason})
	}
}

func containsAll(list, want []string) bool {
	return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(list, s) })
}

func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
