package reconcile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// alikeCosine is the cosine above which a DELETE beside an ADD is taken for a
// replacement, and below which no model may call two texts the same. Source:
// design section 5 (0.75; papers.md section 2, T1 and T2).
const alikeCosine = 0.75

// Told is a new open-world statement that a manager was asked about.
type Told struct {
	Item      memory.Item
	Statement memory.Statement
}

// Neighbour is a stored item that the manager was shown beside a statement, as
// it is at the commit.
type Neighbour struct {
	Handle  string // how the manager was shown it
	Item    memory.Item
	State   memory.State
	Founder memory.Statement // of its first evidence; ranks it among equals in time
	Cosine  float64          // with the statement
	Used    bool             // another statement of the same commit has closed it
}

// Proposal is one operation as the manager wrote it, unchecked.
type Proposal struct {
	Operation string // ADD, UPDATE or SUPERSEDE, DELETE or RETRACT, NOOP or NONE, in any case
	Handle    string
	Text      string // of an UPDATE: the merged text, "" for none
	Malformed bool   // not of the form asked for
}

// Verdict is what is to be done about a statement.
type Verdict struct {
	Action memory.Action
	Reason string
	// Target is the place of the neighbour that it is about, -1 for none: the one
	// that NOOP finds, SUPERSEDE replaces and RETRACT ends, and for an ADD the one
	// whose line it joins as history (InLine) or that it contradicts (Conflict).
	Target int
	InLine bool
	// Text is a merged text that needs the target's evidence too; "" is the
	// statement's own.
	Text string
	// Status and Valid are the first state of the new item; not of a NOOP.
	Status memory.Status
	Valid  memory.Validity
	// Closed is the target's next state, of which Status and Valid are set; nil
	// leaves it as it is.
	Closed *memory.State
	// Conflict is why the new item and the target stand against each other.
	Conflict string
	Guards   []string
}

// Manage turns what the manager proposed about a statement into what is done.
// The guards rewrite or refuse, and are named in the verdict; whatever is
// proposed, the statement is kept, at most one neighbour changes, and that one
// is a current open-world item of the same owner, subject and relation and of no
// stronger authority. Event time decides the direction, not the order of
// arrival. Source: design section 5; papers.md section 2; cases A02, A06, A07.
func Manage(told Told, near []Neighbour, proposals []Proposal, now time.Time) Verdict {
	m := &managing{told: told, near: near, now: now}
	op := m.choose(proposals)
	v := m.judge(op)
	v.Guards = m.guards
	return v
}

// managing is one statement under way.
type managing struct {
	told   Told
	near   []Neighbour
	now    time.Time
	guards []string
}

// operation is a proposal as it is understood.
type operation struct {
	kind   memory.Action
	target int // -1 for an ADD
	text   string
	adds   bool // the reply had an ADD beside it
}

// fire names a guard, once.
func (m *managing) fire(guard string) {
	if !slices.Contains(m.guards, guard) {
		m.guards = append(m.guards, guard)
	}
}

var actions = map[string]memory.Action{"ADD": memory.ActionAdd, "UPDATE": memory.ActionSupersede, "SUPERSEDE": memory.ActionSupersede,
	"DELETE": memory.ActionRetract, "RETRACT": memory.ActionRetract, "NOOP": memory.ActionNoop, "NONE": memory.ActionNoop}

// choose picks the one operation that counts: the first that names a neighbour,
// and no NOOP beside anything else. None is an ADD.
func (m *managing) choose(proposals []Proposal) operation {
	var found []operation
	adds, text := false, "" // text of whatever is said beside
	for _, p := range proposals {
		kind, known := actions[strings.ToUpper(strings.TrimSpace(p.Operation))]
		switch {
		case p.Malformed:
			m.fire(GuardMalformed)
			continue
		case !known:
			m.fire(GuardUnknownOperation)
			continue
		case kind == memory.ActionAdd:
			adds, text = true, cmp.Or(text, p.Text)
			continue
		}
		target := m.resolve(p.Handle)
		if target >= 0 && !slices.ContainsFunc(found, func(o operation) bool { return o.kind == kind && o.target == target }) {
			found = append(found, operation{kind: kind, target: target, text: p.Text})
		}
	}
	if len(proposals) == 0 {
		m.fire(GuardNoOperation)
	}
	if len(found) > 1 || adds && len(found) == 1 && found[0].kind == memory.ActionNoop {
		m.fire(GuardSeveral)
		found = slices.DeleteFunc(found, func(o operation) bool { return o.kind == memory.ActionNoop })
	}
	if len(found) == 0 {
		return operation{kind: memory.ActionAdd, target: -1}
	}
	first := found[0]
	first.adds = adds
	for _, o := range found[1:] {
		if o.target == first.target {
			text = cmp.Or(o.text, text)
		}
	}
	if first.kind == memory.ActionRetract {
		first.text = cmp.Or(first.text, text)
	}
	return first
}

// resolve returns the place of the neighbour that a handle names, -1 for none.
func (m *managing) resolve(handle string) int {
	for i := range m.near {
		if m.near[i].Handle == handle {
			return i
		}
	}
	switch h := strings.TrimSpace(handle); {
	case h == "":
		m.fire(GuardMissingHandle)
	case len(h) >= 32:
		m.fire(GuardIDForHandle)
	default:
		m.fire(GuardUnknownHandle)
	}
	return -1
}

func (m *managing) judge(op operation) Verdict {
	if op.kind == memory.ActionAdd {
		return m.add()
	}
	old := &m.near[op.target]
	if guard := m.outOfReach(old); guard != "" {
		v := m.refuse(guard)
		if guard == GuardOtherOwner && old.Item.Partition == m.told.Item.Partition && op.kind != memory.ActionNoop {
			v.Target, v.Conflict = op.target, m.opposition() // another member's: beside it
		}
		return v
	}
	switch {
	case op.kind == memory.ActionNoop:
		return m.noop(op)
	case op.kind == memory.ActionSupersede:
		return m.supersede(op, false)
	case m.told.Item.Polarity == memory.Negative:
		return m.retract(op)
	case op.adds && old.Cosine > alikeCosine:
		m.fire(GuardDeleteAdd)
		return m.supersede(op, true)
	case op.adds:
		return m.refuse(GuardNoNegation)
	}
	m.fire(GuardBareDelete)
	op.text = ""
	return m.supersede(op, false)
}

// outOfReach says why a statement may not touch an item, whatever is proposed.
func (m *managing) outOfReach(old *Neighbour) string {
	told := &m.told.Item
	switch {
	case old.Item.FactKey != "" || told.FactKey != "":
		return GuardControlled
	case old.Item.Partition != told.Partition || old.Item.Scope.UserID != told.Scope.UserID || old.Item.Scope.TeamID != told.Scope.TeamID:
		return GuardOtherOwner
	case old.Used:
		return GuardHandleUsed
	case !old.State.Current(old.Item.ExpiresAt, m.now):
		return GuardNotCurrent
	case old.Item.Subject != told.Subject:
		return GuardOtherSubject
	case !sameRelation(old.Item.Predicate, told.Predicate):
		return GuardOtherRelation
	}
	return ""
}

// sameRelation compares free labels; what has none may be of any relation.
func sameRelation(a, b string) bool {
	return a == "" || b == "" || memory.FoldName(a) == memory.FoldName(b)
}

// add keeps the statement as an item of its own.
func (m *managing) add() Verdict {
	v := Verdict{Action: memory.ActionAdd, Reason: ReasonNewFact, Target: -1, Status: memory.StatusActive, Valid: m.told.Item.Stated}
	if m.isOver() {
		v.Status = memory.StatusEnded
	}
	return v
}

func (m *managing) refuse(guard string) Verdict {
	m.fire(guard)
	return m.add()
}

// isOver reports a statement that names an end which has come.
func (m *managing) isOver() bool {
	to := m.told.Item.Stated.To
	return !to.IsZero() && !to.After(m.now)
}

// beside keeps the statement next to a stronger one that it contradicts.
func (m *managing) beside(target int) Verdict {
	v := m.refuse(GuardWeaker)
	v.Reason, v.Target, v.Conflict = ReasonWeakerConflict, target, m.opposition()
	return v
}

// opposition is how the statement stands against what it may not replace.
func (m *managing) opposition() string {
	if m.told.Item.Polarity == memory.Negative {
		return ConflictNegation
	}
	return ConflictValue
}

// noop makes the statement one more witness of the same proposition.
func (m *managing) noop(op operation) Verdict {
	old, told := &m.near[op.target], &m.told.Item
	isEvent := told.Kind == memory.KindEvent || told.Kind == memory.KindExperience
	switch {
	case old.Item.Polarity != told.Polarity, !memory.SameFigures(old.Item.Text, told.Text),
		isEvent && !old.Item.Stated.Equal(told.Stated):
		return m.refuse(GuardFigures)
	case old.Item.ValueID != told.ValueID && old.Item.ValueID != "" && told.ValueID != "":
		return m.refuse(GuardValue)
	case old.Cosine <= alikeCosine:
		return m.refuse(GuardNotAlike)
	case m.isOver():
		return m.refuse(GuardOver)
	case old.Item.Authority < told.Authority:
		m.fire(GuardStronger)
		v := m.supersede(op, false)
		if v.Action == memory.ActionSupersede {
			v.Reason = ReasonStronger
		}
		return v
	}
	v := Verdict{Action: memory.ActionNoop, Reason: ReasonSameValue, Target: op.target}
	if old.Item.Authority > told.Authority {
		v.Reason = ReasonEcho
	}
	return v
}

// supersede makes the statement the next version of the target's line, or, told
// late, an earlier one. both keeps the old proposition in the text.
func (m *managing) supersede(op operation, both bool) Verdict {
	old, told := &m.near[op.target], &m.told.Item
	switch {
	case old.Item.Authority > told.Authority:
		return m.beside(op.target)
	case m.isOver() || told.Stated.From.IsZero():
		return m.refuse(GuardOver)
	}
	text := m.merge(&old.Item, op.text, both)
	switch {
	case m.isLate(old):
		if keepsBoth(text, old.Item.Text, told.Text) && op.text != "" {
			return m.refuse(GuardEventTime) // both hold, each from its own start
		}
		return m.history(op.target)
	case text != "" && old.Item.Authority < told.Authority:
		return m.refuse(GuardMergeWeakens)
	case len(text) > maxMerged:
		return m.refuse(GuardMergeTooLong)
	}
	v := m.add()
	v.Action, v.Reason, v.Target, v.InLine, v.Text = memory.ActionSupersede, ReasonNewerValue, op.target, true, text
	v.Closed = m.closed(old, memory.StatusSuperseded)
	if told.Stated.From.After(m.now) {
		v.Reason = ReasonStartsLater
	}
	return v
}

// retract ends what a negation denies.
func (m *managing) retract(op operation) Verdict {
	old, told := &m.near[op.target], &m.told.Item
	switch {
	case old.Item.Polarity == told.Polarity:
		return m.refuse(GuardSameMeaning)
	case old.Item.Authority > told.Authority:
		return m.beside(op.target)
	case m.isOver() || told.Stated.From.IsZero():
		return m.refuse(GuardOver)
	case m.isLate(old):
		v := m.refuse(GuardEventTime)
		v.Reason = ReasonNegationNoted
		return v
	}
	v := m.add()
	v.Action, v.Reason, v.Target, v.InLine = memory.ActionRetract, ReasonNegated, op.target, true
	v.Closed = m.closed(old, memory.StatusEnded)
	return v
}

// isLate reports a statement that began before the item did, or was told before
// it of the same start.
func (m *managing) isLate(old *Neighbour) bool {
	from := old.State.Valid.From
	if from.IsZero() {
		return false
	}
	a, b := &m.told.Statement, &old.Founder
	return cmp.Or(m.told.Item.Stated.From.Compare(from), a.SentAt.Compare(b.SentAt),
		strings.Compare(a.ConversationID, b.ConversationID), cmp.Compare(a.Position, b.Position)) < 0
}

// history keeps a statement told late: it held until the item began.
func (m *managing) history(target int) Verdict {
	m.fire(GuardEventTime)
	v := m.add()
	v.Reason, v.Target, v.InLine, v.Status = ReasonOlderValue, target, true, memory.StatusSuperseded
	v.Valid = Ending(v.Valid, m.near[target].State.Valid.From)
	if v.Valid.Empty() {
		v.Reason = ReasonToldEarlier
	}
	return v
}

// closed is the item's state once the statement begins; until a beginning in the
// future nothing but the end of its interval changes.
func (m *managing) closed(old *Neighbour, status memory.Status) *memory.State {
	from := m.told.Item.Stated.From
	if from.After(m.now) {
		status = memory.StatusActive
	}
	return &memory.State{Status: status, Valid: Ending(old.State.Valid, from)}
}

// Ending is an interval that ends at t at the latest; empty if t is not within.
func Ending(v memory.Validity, t time.Time) memory.Validity {
	if v.To.IsZero() || t.Before(v.To) {
		v.To = t
	}
	if v.Empty() {
		return v.Emptied()
	}
	return v
}

// AddOpen keeps a statement as an item of its own, about which no manager was
// asked.
func AddOpen(told Told, now time.Time) Verdict {
	m := &managing{told: told, now: now}
	return m.add()
}

// Between fits an interval told late into the versions of its line: it ends
// where the next of them begins. cut is the place of the superseded version
// that was thought to hold when it began, -1 for none, and left what is left of
// that one.
func Between(valid memory.Validity, line []Version) (fitted memory.Validity, cut int, left memory.Validity) {
	fitted, cut = valid, -1
	for i := range line {
		v := &line[i].State
		if v.Valid.Empty() || v.Valid.From.IsZero() || line[i].withdrawn() {
			continue
		}
		if v.Valid.From.After(valid.From) {
			fitted = Ending(fitted, v.Valid.From)
		} else if v.Status == memory.StatusSuperseded && v.Valid.Contains(valid.From) {
			cut, left = i, Ending(v.Valid, valid.From)
		}
	}
	return fitted, cut, left
}
