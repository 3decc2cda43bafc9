package meminfra

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/meminfra/memory-layer/meminfra/access"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
)

// Errors of shared scopes.
var (
	// ErrNotMember: only a present member reads and writes a team's memory. It
	// is the same for a team that does not exist.
	ErrNotMember = errors.New("not a member of the team")
	// ErrNotContributor: only who told it changes what stands in shared memory.
	// Another's correction is told as such, by Add.
	ErrNotContributor = errors.New("told by another member")
	// ErrPreference: a preference is never shared.
	ErrPreference = errors.New("a preference is not shared")
	// ErrTwoScopes: what is remembered belongs to a team or to everybody, not both.
	ErrTwoScopes = errors.New("both a team and public")
)

// scope is the partition that a request means: the user's own, that of a team he
// is a member of, or the public one. Errors: ErrTwoScopes, ErrNotMember.
func (m *MemoryLayer) scope(rd *retrieve.Reading, team string, public bool) (memory.Partition, error) {
	switch {
	case team != "" && public:
		return memory.Partition{}, ErrTwoScopes
	case team != "" && !rd.Rights.MemberOf(team):
		return memory.Partition{}, ErrNotMember
	}
	return m.scopePartition(rd.Rights.User(), team, public), nil
}

// scopePartition names the partition of a scope.
func (m *MemoryLayer) scopePartition(user, team string, public bool) memory.Partition {
	switch {
	case team != "":
		return memory.Partition{Tenant: m.tenant, Kind: memory.PartitionTeam, Name: team}
	case public:
		return memory.Partition{Tenant: m.tenant, Kind: memory.PartitionTenantPublic}
	}
	return m.userPartition(user)
}

// shared reports whether the addition goes to a team or to everybody.
func (a *addition) shared() bool { return a.req.TeamID != "" || a.req.Public }

// itemScope is who may read the addition's items.
func (a *addition) itemScope(agent string) memory.Scope {
	s := memory.Scope{UserID: a.req.UserID, AgentID: agent, TeamID: a.req.TeamID, Visibility: memory.VisibilityPrivate}
	switch {
	case a.req.TeamID != "":
		s.Visibility = memory.VisibilityTeam
	case a.req.Public:
		s.Visibility = memory.VisibilityPublic
	}
	return s
}

// hidden reports an item that whoever makes the commit may not read.
func (w *batch) hidden(i *memory.Item) bool { return w.reading != nil && !w.reading.Admits(i) }

// foreign reports an item that he has no say over: another member's, or one
// hidden from him. What he says stands beside it.
func (w *batch) foreign(i *memory.Item) bool {
	teller := w.teller
	if w.reading != nil {
		teller = w.reading.Rights.User()
	}
	return w.hidden(i) || teller != "" && i.Scope.UserID != teller
}

// origins are the agents and resources that a claim came through: those of the
// message that says it and of what else it needs.
func (a *addition) origins(cl *claim) []memory.Origin {
	list := episodeOrigins(cl.episode.AgentID, cl.episode.Source)
	for _, p := range cl.parts {
		if e := a.heard(p.EpisodeID); e != nil {
			list = append(list, episodeOrigins(e.AgentID, e.Source)...)
		}
	}
	return memory.SortOrigins(list)
}

// episodeOrigins are the origins of an episode. Its source is a resource,
// whatever the role: an assistant's reply may rest on one.
func episodeOrigins(agent, source string) (list []memory.Origin) {
	if agent != "" {
		list = append(list, memory.Origin{Kind: memory.OriginAgent, Name: agent})
	}
	if source != "" {
		list = append(list, memory.Origin{Kind: memory.OriginResource, Name: source})
	}
	return list
}

// reasonPreference rejects a preference from shared memory. Source: design section 5.
const reasonPreference = "preference_in_shared_scope"

// isPreference reports a claim that may not be shared: one that its predicate,
// its extractor or its words call a preference. Any one of them is enough.
func (a *addition) isPreference(item *memory.Item, quote string) bool {
	p, known := a.registry.Lookup(item.Predicate)
	switch {
	case item.Kind == memory.KindPreference, known && memory.Kind(p.Kind) == memory.KindPreference:
		return true
	case known || item.Subject.Type != memory.UserSubject.Type && item.Subject.Type != "person":
		return false
	}
	return access.AscribesPreference(item.Text) || a.prefers(quote)
}

// prefers reports words that say what their speaker, or somebody, prefers: by
// themselves, or as the built-in extractor reads them, whoever else read them.
func (m *MemoryLayer) prefers(text string) bool {
	if access.StatesPreference(text) {
		return true
	}
	plain, err := m.plain()
	if err != nil {
		return false // a vocabulary that it cannot read says nothing
	}
	said := extract.Message{Episode: memory.Episode{Role: memory.RoleUser, Content: text}, Speaks: memory.UserSubject}
	out, _ := plain.Extract(context.Background(), extract.Input{Target: []extract.Message{said}}) // fails of a context only
	return slices.ContainsFunc(out.Candidates, func(c extract.Candidate) bool {
		p, known := m.registry.Lookup(c.Predicate)
		return known && memory.Kind(p.Kind) == memory.KindPreference
	})
}

// isPrivate reports a message in shared memory that says what somebody prefers. In
// a user's own memory all is his.
func (m *MemoryLayer) isPrivate(e *memory.Episode) bool {
	return e.Role == memory.RoleUser && e.Partition != m.userPartition(e.UserID).ID() && m.prefers(e.Content)
}

// rejectPreferences notes the messages to be shared that state a preference no
// extractor proposed. Their words are for who said them alone: see
// retrieve.Reading.
func (a *addition) rejectPreferences(waiting map[string]*memory.Episode, claims []claim) {
	if !a.shared() {
		return
	}
	said := map[string]bool{}
	for _, c := range claims {
		said[c.episode.ID] = true
	}
	for _, r := range a.result.Rejections {
		said[r.EpisodeID] = true
	}
	for i := range a.target {
		e := &a.target[i]
		if waiting[e.ID] != nil && !said[e.ID] && e.Role == memory.RoleUser && a.prefers(e.Content) {
			a.result.Rejections = append(a.result.Rejections, Rejection{EpisodeID: e.ID, MessageID: e.MessageID, Reason: reasonPreference})
		}
	}
}

// idempotencyKey is the call's key in its partition: in a shared one each
// member has keys of his own.
func idempotencyKey(req AddRequest) string {
	if req.IdempotencyKey == "" || req.TeamID == "" && !req.Public {
		return req.IdempotencyKey
	}
	return strconv.Itoa(len(req.UserID)) + ":" + req.UserID + ":" + req.IdempotencyKey
}
