package reconcile

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// forever is the end of an open interval, in microseconds.
const forever = math.MaxInt64

// told is a statement on the time line, in microseconds, its value numbered.
type told struct {
	*memory.Statement
	from, to int64
	value    int32
	housed   bool // was heard, as support or echo, when it began
}

func (t *told) positive() bool { return t.Polarity == memory.Positive }

// contradicts reports whether two claims cannot both be true at one moment.
func (t *told) contradicts(u *told) bool {
	if t.Polarity != u.Polarity {
		return t.value == u.value
	}
	return t.positive() && t.value != u.value
}

// standing is what becomes of the latest assertion of an authority.
type standing int8

const (
	silent    standing = iota // no assertion in force
	speaking                  // has an interval of its own
	denied                    // the same, beside an older negation of a stronger authority
	echoing                   // says what a stronger authority says
	negated                   // ended by a later negation
	outranked                 // ended by a later assertion of a stronger authority
)

// level is what one authority says at a moment.
type level struct {
	standing
	last  int // its latest assertion in force
	first int // the earliest of the unbroken run of assertions of that value up to last
	by    int // the statement that made it echo or ended it
	span  int // the interval it speaks or echoes in
}

// span is an Interval under construction. Statements are indexes into told.
type span struct {
	lead            int // rules it now
	founder         int
	from, to        int64
	seen            int64 // the last moment it was heard
	holder          bool
	support, echoes []int32
	closedBy        int
	how             Closing
}

// fold is the state of one Resolve.
type fold struct {
	told   []told // in rank order, the latest last
	points []int64
	force  []int // in force at the present point, in rank order
	levels [memory.Authorized + 1]level
	held   bool
	spans  []span
	pasts  []*memory.Statement
	open   []int // spans without end so far
}

func newFold(statements []memory.Statement) *fold {
	f := &fold{told: make([]told, 0, len(statements))}
	for i := range statements {
		if s := &statements[i]; isStatement(s) {
			from, to := micros(s.Valid)
			f.told = append(f.told, told{Statement: s, from: from, to: to})
		}
	}
	slices.SortFunc(f.told, func(a, b told) int { return cmp.Or(strings.Compare(a.ID, b.ID), rank(a, b)) })
	f.told = slices.CompactFunc(f.told, func(a, b told) bool { return a.ID == b.ID })
	slices.SortFunc(f.told, rank)
	f.numberValues()
	f.applySaidEnds()
	f.pasts = f.dropPasts()
	f.points = make([]int64, 0, 2*len(f.told))
	for i := range f.told {
		f.points = append(f.points, f.told[i].from)
		if to := f.told[i].to; to != forever {
			f.points = append(f.points, to)
		}
	}
	slices.Sort(f.points)
	f.points = slices.Compact(f.points)
	f.force = make([]int, 0, len(f.told))
	f.spans = make([]span, 0, len(f.told)+1)
	f.open = make([]int, 0, 4)
	return f
}

// rank orders by (Valid.From, SentAt, ConversationID, Position, ID). What
// follows only decides between copies of one ID that differ.
func rank(a, b told) int {
	return cmp.Or(
		cmp.Compare(a.from, b.from),
		a.SentAt.Compare(b.SentAt),
		strings.Compare(a.ConversationID, b.ConversationID),
		cmp.Compare(a.Position, b.Position),
		strings.Compare(a.ID, b.ID),
		strings.Compare(a.ValueID, b.ValueID),
		cmp.Compare(a.Polarity, b.Polarity),
		cmp.Compare(a.Authority, b.Authority),
		cmp.Compare(a.to, b.to),
	)
}

// numberValues gives equal values equal numbers, so that the sweep compares
// integers.
func (f *fold) numberValues() {
	for i := range f.told {
		f.told[i].value = int32(i)
		for j := range i {
			if f.told[j].ValueID == f.told[i].ValueID {
				f.told[i].value = f.told[j].value
				break
			}
		}
	}
}

// applySaidEnds lets a said end close what was told before it: open statements
// of the same claim, of at most its authority, that start before the end.
// Without it the older open statement would outlive the end.
func (f *fold) applySaidEnds() {
	for j := range f.told {
		end := f.told[j] // a copy: ends taken over are not said
		if end.Valid.To.IsZero() || end.to <= end.from {
			continue
		}
		for i := range f.told {
			t := &f.told[i]
			if t.Valid.To.IsZero() && t.value == end.value && t.Polarity == end.Polarity &&
				t.Authority <= end.Authority && t.from < end.to && t.SentAt.Before(end.SentAt) {
				t.to = min(t.to, end.to)
			}
		}
	}
}

func (f *fold) inForce(i int, at int64) bool { return f.told[i].from <= at && at < f.told[i].to }

// listen hears every authority at one moment, strongest first, because what a
// weaker one may say depends on the stronger.
func (f *fold) listen(at int64) {
	f.setForce(at)
	f.held = false
	for a := memory.Authorized; a >= memory.Unendorsed; a-- {
		f.hearAssertion(a, at)
		f.hearNegations(a, at)
	}
}

func (f *fold) setForce(at int64) {
	f.force = f.force[:0]
	for i := range f.told {
		if f.inForce(i, at) {
			f.force = append(f.force, i)
		}
	}
}

// hearAssertion finds the standing of the latest assertion of authority a and
// gives it or its stronger namesake the witnesses.
func (f *fold) hearAssertion(a memory.Authority, at int64) {
	l := &f.levels[a]
	*l = level{}
	if l.last, l.first = f.run(a, -1); l.last < 0 {
		return
	}
	if l.by = f.rebuttal(l.last); l.by >= 0 {
		l.standing = negated
		return
	}
	if l.by = f.outranker(a); l.by >= 0 {
		l.standing = outranked
		return
	}
	if s := f.namesake(a); s >= 0 {
		l.standing, l.span, l.by = echoing, s, f.spans[s].lead
		f.run(a, s)
		return
	}
	l.standing = speaking
	if f.isDenied(l.last) {
		l.standing = denied
	}
	holder := l.standing == speaking && !f.held
	f.held = f.held || holder
	l.span = f.speak(l.last, holder, at)
	f.run(a, l.span)
}

// run walks down from the latest assertion of authority a through those of the
// same value, up to an assertion of another or a negation, and returns the
// latest and the earliest; -1 for none. With a span, they become its witnesses.
func (f *fold) run(a memory.Authority, span int) (last, first int) {
	last, first = -1, -1
	for k := len(f.force) - 1; k >= 0; k-- {
		i := f.force[k]
		t := &f.told[i]
		switch {
		case t.Authority != a || last < 0 && !t.positive():
			continue
		case last < 0:
			last = i
		case t.contradicts(&f.told[last]):
			return last, first
		case !t.positive():
			continue
		}
		first = i
		if span >= 0 {
			f.witness(span, i)
		}
	}
	return last, first
}

// rebuttal returns the latest statement in force that says the contrary of i
// about the same value, later and with at least its authority; -1 for none.
func (f *fold) rebuttal(i int) int {
	t := &f.told[i]
	for k := len(f.force) - 1; k >= 0; k-- {
		j := f.force[k]
		u := &f.told[j]
		if u.value == t.value && u.Polarity != t.Polarity &&
			(u.Authority == t.Authority && j > i || u.Authority > t.Authority && u.from > t.from) {
			return j
		}
	}
	return -1
}

// isDenied reports whether a stronger authority has negated the value of i all
// along.
func (f *fold) isDenied(i int) bool {
	t := &f.told[i]
	for _, j := range f.force {
		u := &f.told[j]
		if u.value == t.value && u.Polarity != t.Polarity && u.Authority > t.Authority &&
			u.from <= t.from && f.rebuttal(j) < 0 {
			return true
		}
	}
	return false
}

// outranker returns the statement with which a stronger authority turned to
// another value after the latest assertion of a; -1 for none. That it ended
// since brings nothing back; that it only repeats itself ends nothing.
func (f *fold) outranker(a memory.Authority) int {
	t := &f.told[f.levels[a].last]
	for b := memory.Authorized; b > a; b-- {
		l := &f.levels[b]
		if l.standing != speaking && l.standing != negated {
			continue
		}
		if u := &f.told[l.first]; u.value != t.value && u.from > t.from {
			return l.first
		}
	}
	return -1
}

// namesake returns the span of a stronger authority that asserts the same
// value; -1 for none.
func (f *fold) namesake(a memory.Authority) int {
	for b := memory.Authorized; b > a; b-- {
		l := &f.levels[b]
		if (l.standing == speaking || l.standing == denied) && f.told[l.last].value == f.told[f.levels[a].last].value {
			return l.span
		}
	}
	return -1
}

// hearNegations gives every negation of authority a that stands an interval, or
// makes it an echo of a stronger one.
func (f *fold) hearNegations(a memory.Authority, at int64) {
	for k := len(f.force) - 1; k >= 0; k-- {
		i := f.force[k]
		t := &f.told[i]
		if t.Authority != a || t.positive() || f.rebuttal(i) >= 0 {
			continue
		}
		s := f.strongerNegation(i, at)
		if s < 0 {
			s = f.speak(i, false, at)
		}
		f.witness(s, i)
	}
}

func (f *fold) strongerNegation(i int, at int64) int {
	t := &f.told[i]
	for _, s := range f.open {
		u := &f.told[f.spans[s].founder]
		if f.spans[s].seen == at && !u.positive() && u.value == t.value && u.Authority > t.Authority {
			return s
		}
	}
	return -1
}

// speak lets statement lead rule its claim at a moment: in the span that was
// open for the same claim and standing, else in a new one.
func (f *fold) speak(lead int, holder bool, at int64) int {
	for _, s := range f.open {
		sp := &f.spans[s]
		if sp.holder != holder || !f.sameClaim(sp.founder, lead) {
			continue
		}
		if sp.seen != at { // else a later one rules already
			sp.seen, sp.lead = at, lead
		}
		return s
	}
	f.spans = append(f.spans, span{
		lead: lead, founder: lead, from: at, to: forever, seen: at, holder: holder, closedBy: -1,
	})
	f.open = append(f.open, len(f.spans)-1)
	return len(f.spans) - 1
}

func (f *fold) sameClaim(i, j int) bool {
	t, u := &f.told[i], &f.told[j]
	return t.value == u.value && t.Polarity == u.Polarity && t.Authority == u.Authority
}

// witness makes statement i support span s or, being weaker, echo it. One that
// began before is no echo: it has an interval of its own, which ended here.
func (f *fold) witness(s, i int) {
	t, founder := &f.told[i], &f.told[f.spans[s].founder]
	list := &f.spans[s].support
	if t.Authority != founder.Authority {
		if t.from < founder.from {
			return
		}
		list = &f.spans[s].echoes
	}
	t.housed = t.housed || f.spans[s].seen == t.from
	if !slices.Contains(*list, int32(i)) {
		*list = append(*list, int32(i))
	}
}

// closeSilent closes the spans that were not heard at this moment.
func (f *fold) closeSilent(at int64) {
	f.open = slices.DeleteFunc(f.open, func(s int) bool {
		sp := &f.spans[s]
		if sp.seen == at {
			return false
		}
		sp.to = at
		sp.closedBy, sp.how = f.closer(sp, at)
		return true
	})
}

// closer returns the statement that silenced a span, -1 for a said end, and how.
func (f *fold) closer(sp *span, at int64) (int, Closing) {
	still := -1 // its latest witness in force
	for _, i := range f.force {
		if f.sameClaim(i, sp.lead) {
			still = i
		}
	}
	if still < 0 {
		return -1, SaidEnd
	}
	if !f.told[sp.lead].positive() {
		if by := f.rebuttal(still); by >= 0 {
			return by, Superseded
		}
		if s := f.strongerNegation(still, at); s >= 0 {
			return f.spans[s].lead, Outranked
		}
		return -1, SaidEnd
	}
	l := &f.levels[f.told[sp.lead].Authority]
	switch {
	case f.told[sp.lead].to <= at && f.told[l.last].from < at:
		return -1, SaidEnd // and something older is in force again
	case l.last != still:
		return l.last, Superseded
	case l.standing == negated:
		return l.by, Ended
	case l.standing == outranked || l.standing == echoing:
		return l.by, Outranked
	}
	return l.last, Continued
}

// houseRest finds a place for statements that were not heard when they began:
// those that lost to another of the same start and authority, and those without
// any time. So each has one where it starts, whatever it supports later.
func (f *fold) houseRest() {
	for i := range f.told {
		t := &f.told[i]
		if t.housed {
			continue
		}
		if s := f.spanFrom(i); s >= 0 {
			f.witness(s, i)
			continue
		}
		sp := span{lead: i, founder: i, from: t.from, to: t.from, seen: t.from, closedBy: -1, how: SaidEnd}
		winner := f.winner(i)
		if winner >= 0 {
			sp.closedBy, sp.how = winner, Superseded
			if t.positive() && !f.told[winner].positive() {
				sp.how = Ended
			}
		}
		f.spans = append(f.spans, sp)
		f.witness(len(f.spans)-1, i)
	}
}

// spanFrom returns the span that makes i's claim from its start: one of its own
// authority that starts with it, or one of a stronger that lasts then; -1 for
// none.
func (f *fold) spanFrom(i int) int {
	t := &f.told[i]
	for s := range f.spans {
		sp := &f.spans[s]
		u := &f.told[sp.founder]
		if u.value != t.value || u.Polarity != t.Polarity {
			continue
		}
		if u.Authority == t.Authority && sp.from == t.from ||
			u.Authority > t.Authority && sp.from <= t.from && t.from < sp.to && u.from <= t.from {
			return s
		}
	}
	return -1
}

// winner returns the latest statement of i's authority, in force at its start,
// that contradicts it and ranks higher; -1 for none.
func (f *fold) winner(i int) int {
	t := &f.told[i]
	if t.to <= t.from {
		return -1
	}
	for j := len(f.told) - 1; j > i; j-- {
		u := &f.told[j]
		if u.Authority == t.Authority && f.inForce(j, t.from) && u.contradicts(t) {
			return j
		}
	}
	return -1
}

// resolution writes the spans out, sorted.
func (f *fold) resolution() Resolution {
	var r Resolution
	order := make([]int, len(f.spans))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, f.compareSpans)
	place := make([]int, len(order))
	r.Intervals = make([]Interval, len(order))
	for n, s := range order {
		place[s] = n
		r.Intervals[n] = f.interval(&f.spans[s])
	}
	for n, s := range order {
		for m := n + 1; m < len(order); m++ {
			if start := f.spans[order[m]].from; start >= f.spans[s].to && start > f.spans[s].from {
				break
			}
			if reason := f.conflict(s, order[m]); reason != "" {
				r.Conflicts = append(r.Conflicts, newConflict(r.Intervals, n, m, reason))
			}
		}
	}
	return r
}

func (f *fold) compareSpans(x, y int) int {
	a, b := &f.spans[x], &f.spans[y]
	t, u := &f.told[a.founder], &f.told[b.founder]
	return cmp.Or(
		cmp.Compare(a.from, b.from),
		cmp.Compare(u.Polarity, t.Polarity),
		cmp.Compare(u.Authority, t.Authority),
		strings.Compare(t.ValueID, u.ValueID),
		cmp.Compare(a.to, b.to),
	)
}

func (f *fold) interval(sp *span) Interval {
	t := &f.told[sp.founder]
	iv := Interval{
		ValueID: t.ValueID, Polarity: t.Polarity, Authority: t.Authority,
		Valid: interval(sp.from, sp.to), Holder: sp.holder, Founder: t.ID,
		Support: f.ids(sp.support), Echoes: f.ids(sp.echoes), ClosedHow: sp.how,
	}
	if sp.closedBy >= 0 {
		iv.ClosedBy = f.told[sp.closedBy].ID
	}
	return iv
}

func (f *fold) ids(list []int32) []string {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	out := make([]string, len(list))
	for n, i := range list {
		out[n] = f.told[i].ID
	}
	return out
}

// conflict returns why two spans contradict each other, of which x starts first
// and y while x lasts; "" if they do not.
func (f *fold) conflict(x, y int) string {
	a, b := &f.spans[x], &f.spans[y]
	t, u := &f.told[a.founder], &f.told[b.founder]
	switch {
	case !t.contradicts(u):
		return ""
	case a.from == a.to || b.from == b.to:
		if t.Authority == u.Authority && !a.timeless() && !b.timeless() {
			return ConflictStart
		}
		return ""
	case t.Polarity != u.Polarity:
		return ConflictNegation
	}
	return ConflictValue
}

// timeless reports whether the span is empty by its own words, not because it
// lost to another.
func (sp *span) timeless() bool { return sp.from == sp.to && sp.closedBy < 0 }

func newConflict(list []Interval, n, m int, reason string) Conflict {
	c := Conflict{A: list[n].Founder, B: list[m].Founder, Left: n, Right: m, Reason: reason}
	if c.B < c.A {
		c.A, c.B, c.Left, c.Right = c.B, c.A, c.Right, c.Left
	}
	return c
}

func micros(v memory.Validity) (from, to int64) {
	from, to = memory.Micros(v.From), forever
	if !v.To.IsZero() {
		to = memory.Micros(v.To)
	}
	return from, to
}

func interval(from, to int64) memory.Validity {
	v := memory.Validity{From: memory.FromMicros(from)}
	if to != forever {
		v.To = memory.FromMicros(to)
	}
	return v
}
