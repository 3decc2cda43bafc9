package retrieve

import (
	"fmt"
	"time"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/meminfra/access"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

// admission decides which rows a read may see: access, filters, time and history.
// It runs before any scoring, and again on what SQL returns for a hit.
type admission struct {
	Filters
	rights    *access.Rights
	authority memory.Authority
	valueID   string
	metadata  condition
	now       time.Time
}

// compile checks the filters once, for someone with these rights. Errors:
// ErrFilter.
func (f Filters) compile(reg *predicates.Registry, now time.Time, rights *access.Rights) (*admission, error) {
	a := &admission{Filters: f, now: now, rights: rights}
	if err := a.checkWords(reg); err != nil {
		return nil, err
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		return nil, fmt.Errorf("%w: from is not before to", ErrFilter)
	}
	var err error
	if a.authority, err = memory.ParseAuthority(f.MinAuthority); err != nil {
		return nil, fmt.Errorf("%w: min_authority: %w", ErrFilter, err)
	}
	if f.Metadata != nil {
		if a.metadata, err = f.Metadata.compile(0); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *admission) checkWords(reg *predicates.Registry) error {
	if a.Kind != "" && !knownKind(a.Kind) {
		return fmt.Errorf("%w: unknown kind %.32q: want fact, preference, event, experience, summary or episode", ErrFilter, string(a.Kind))
	}
	switch a.MemoryType {
	case "", "semantic", "episodic":
	default:
		return fmt.Errorf("%w: unknown memory_type %.32q: want semantic or episodic", ErrFilter, a.MemoryType)
	}
	switch a.History {
	case HistoryDefault, HistoryInclude, HistoryExclude, HistoryAll:
	default:
		return fmt.Errorf("%w: unknown history %.32q: want include, exclude or all", ErrFilter, string(a.History))
	}
	if a.Predicate != "" {
		if name, ok := reg.Canonical(a.Predicate); ok {
			a.Predicate = name
		}
	}
	if a.SubjectName != "" {
		if a.SubjectName = memory.FoldName(a.SubjectName); a.SubjectName == "" {
			return fmt.Errorf("%w: subject_name is blank", ErrFilter)
		}
	}
	if a.Value == "" {
		return nil
	}
	if a.Predicate == "" {
		return fmt.Errorf("%w: value needs predicate", ErrFilter)
	}
	if _, id, ok := reg.Value(a.Predicate, a.Value); ok {
		a.valueID = id
	} else {
		a.valueID = memory.FoldName(a.Value)
	}
	if a.valueID == "" {
		return fmt.Errorf("%w: value is blank", ErrFilter)
	}
	return nil
}

// key says all that admission goes by but the rows and the present time. Ok is
// false for questions that are seldom asked twice.
func (a *admission) key() (key string, ok bool) {
	f := a.Filters
	if f.Metadata != nil || !f.From.IsZero() || !f.To.IsZero() || !f.ValidAt.IsZero() || !f.KnownAt.IsZero() {
		return "", false
	}
	key = "census " + a.rights.Key()
	if f != (Filters{}) {
		key += fmt.Sprintf(" %#v", f)
	}
	return key, true
}

// turns is when an admission by the present time may next change about a row, or
// whether its event has come: a zero time for never.
func (a *admission) turns(r *index.Attr) (next time.Time) {
	times := [4]time.Time{r.At, r.ExpiresAt}
	if n := len(r.States); n > 0 {
		times[2], times[3] = r.States[n-1].From, r.States[n-1].To
	}
	for _, t := range times {
		if t.After(a.now) {
			next = earlier(next, t)
		}
	}
	return next
}

// earlier is the earlier of two times, of which a zero one is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// admits reports whether the row may be seen at all.
func (a *admission) admits(r *index.Attr) bool {
	return a.matches(r) && a.timely(r, a.History)
}

// matches checks everything but time.
func (a *admission) matches(r *index.Attr) bool {
	isItem := r.Owner == index.Item
	if !mayRead(a.rights, r) {
		return false
	}
	switch {
	case a.Kind != "" && r.Kind != string(a.Kind),
		a.MemoryType != "" && memoryType(r.Kind) != a.MemoryType,
		a.authority != 0 && memory.Authority(r.Authority) < a.authority,
		a.ConversationID != "" && r.ConversationID != a.ConversationID,
		a.AgentID != "" && r.AgentID != a.AgentID,
		!a.From.IsZero() && r.At.Before(a.From),
		!a.To.IsZero() && !r.At.Before(a.To):
		return false
	case a.Predicate != "" && (!isItem || r.Predicate != a.Predicate),
		a.valueID != "" && r.ValueID != a.valueID,
		a.FactKey != "" && (!isItem || r.FactKey != a.FactKey),
		a.SubjectType != "" && (!isItem || r.SubjectType != a.SubjectType),
		a.SubjectName != "" && (!isItem || r.SubjectName != a.SubjectName):
		return false
	}
	return a.metadata == nil || a.metadata(r.Metadata)
}

// mayRead is the access rule, for every row of every partition: a preference is
// its owner's alone, and what came through agents and resources is for whoever
// holds and reaches all of them now. Source: design section 6.
func mayRead(rights *access.Rights, r *index.Attr) bool {
	if r.Private && !rights.Owns(r.UserID) {
		return false
	}
	if r.Owner == index.Episode {
		return rights.Holds(r.AgentID) && rights.Reaches(r.ResourceID)
	}
	return rights.ThroughAll(r.Agents, r.Resources)
}

// memoryType is the memory layer brief's type of a kind.
func memoryType(kind string) string {
	switch memory.Kind(kind) {
	case memory.KindEvent, memory.KindExperience, memory.KindEpisode:
		return "episodic"
	}
	return "semantic"
}

// moment is the time at which validity is judged.
func (a *admission) moment() time.Time {
	switch {
	case !a.ValidAt.IsZero():
		return a.ValidAt
	case !a.KnownAt.IsZero():
		return a.KnownAt
	}
	return a.now
}

// timely checks the row's validity under a history mode. An episode is no
// claim about the world: it was said and recorded, and that is all that counts.
func (a *admission) timely(r *index.Attr, mode History) bool {
	if memory.Expired(r.ExpiresAt, a.now) {
		return false
	}
	if r.Owner == index.Episode {
		return (a.ValidAt.IsZero() || !r.At.After(a.ValidAt)) && (a.KnownAt.IsZero() || !r.RecordedAt.After(a.KnownAt))
	}
	state, ok := a.believed(r)
	if !ok {
		return false
	}
	status := memory.Status(state.Status)
	if mode == HistoryAll && a.ValidAt.IsZero() {
		return true
	}
	if status == memory.StatusWithdrawn {
		return false
	}
	if mode == HistoryInclude && a.ValidAt.IsZero() {
		return true
	}
	// An undated past ("I used to ...") has no known start and claims no moment.
	holds := !state.From.IsZero() && memory.Validity{From: state.From, To: state.To}.Contains(a.moment())
	if !a.ValidAt.IsZero() {
		// What held then, whatever became of it since.
		return holds && status != memory.StatusArchived
	}
	return holds && status == memory.StatusActive
}

// believed is the state that was believed at KnownAt, by default the present one.
func (a *admission) believed(r *index.Attr) (index.State, bool) {
	for i := len(r.States) - 1; i >= 0; i-- {
		s := r.States[i]
		if a.KnownAt.IsZero() {
			return s, true
		}
		if !s.SystemFrom.After(a.KnownAt) {
			return s, s.SystemTo.IsZero() || a.KnownAt.Before(s.SystemTo)
		}
	}
	return index.State{}, false
}
