package meminfra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/access"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Errors of Grants.
var (
	// ErrEdge: what is granted is an agent to a user, a resource to an agent, or
	// a team to a user: exactly those two ids are given.
	ErrEdge = errors.New("not an edge: name a user and an agent, an agent and a resource, or a team and a user")
	// ErrNotGranted: what was never granted cannot be revoked.
	ErrNotGranted = errors.New("never granted")
	// ErrGrantOrder: the moment lies before an event of the same edge that is in
	// force already, so it would change nothing.
	ErrGrantOrder = errors.New("a later event of this grant is in force")
)

// Granter keeps who may read what. Grants are events and are never changed: a
// revocation is one more. Who may call it is for the program around it to say;
// By records whom it says it was.
type Granter struct {
	m *MemoryLayer
}

// Grants returns the handle for access: users' agents, agents' resources, and
// teams' members.
func (m *MemoryLayer) Grants() Granter { return Granter{m} }

// GrantRequest names an edge by its two ends: UserID and AgentID, AgentID and
// ResourceID, or TeamID and UserID.
type GrantRequest struct {
	UserID     string
	AgentID    string
	ResourceID string
	TeamID     string
	// At is when it takes effect, later if it lies in the future; zero is now.
	At time.Time
	By string // who granted it, for the record
}

// RevokeRequest names an edge as GrantRequest does.
type RevokeRequest struct {
	UserID     string
	AgentID    string
	ResourceID string
	TeamID     string
	At         time.Time // when it takes effect; zero is now
	By         string    // who revoked it, for the record
}

// ListGrantsRequest selects edges by the ends given; none selects all.
type ListGrantsRequest struct {
	UserID     string
	AgentID    string
	ResourceID string
	TeamID     string
	// At is the moment asked about; zero is now.
	At time.Time
	// History lists every event, those to come included, and not just the edges
	// that hold.
	History bool
}

// GrantResult is what was done. Changed is false if it was so already, and then
// nothing was written.
type GrantResult struct {
	Changed bool        `json:"changed"`
	Grant   GrantRecord `json:"grant"`
}

// GrantRecord is an edge that holds, or in a history one event.
type GrantRecord struct {
	Kind       memory.GrantKind `json:"kind"`
	UserID     string           `json:"user_id,omitempty"`
	AgentID    string           `json:"agent_id,omitempty"`
	ResourceID string           `json:"resource_id,omitempty"`
	TeamID     string           `json:"team_id,omitempty"`
	Granted    bool             `json:"granted"` // false: a revocation
	At         time.Time        `json:"at"`      // since when
	Until      *time.Time       `json:"until"`   // when a revocation to come ends it; nil in a history
	By         string           `json:"by"`
}

// ListGrantsResult lists edges by the moment since when they hold.
type ListGrantsResult struct {
	Grants []GrantRecord `json:"grants"`
}

// Grant lets a user use an agent, an agent reach a resource, or a user read and
// write a team's memory. The first agent granted to a user ends open mode for
// him for good: from then on he sees what came through agents of his alone.
// Granting what is granted at that moment changes nothing. Errors: ErrEdge,
// ErrGrantOrder, memory.ErrMalformedID, ErrTooLong, ErrClosed and those of the
// store. Source: design section 6.
func (g Granter) Grant(ctx context.Context, req GrantRequest) (*GrantResult, error) {
	res, err := g.write(ctx, req, false)
	if err != nil {
		return nil, fmt.Errorf("grant: %w", err)
	}
	return res, nil
}

// Revoke takes a grant back, and with it those of the same edge that were to
// begin later. From that moment what came through it is hidden on every read,
// however long ago it was remembered. Errors: ErrNotGranted and those of Grant.
func (g Granter) Revoke(ctx context.Context, req RevokeRequest) (*GrantResult, error) {
	res, err := g.write(ctx, GrantRequest(req), true)
	if err != nil {
		return nil, fmt.Errorf("revoke: %w", err)
	}
	return res, nil
}

// List returns the edges that hold at a moment, or with History every event,
// by (At, order of writing). Errors: memory.ErrMalformedID, ErrTooLong,
// ErrClosed and those of the store.
func (g Granter) List(ctx context.Context, req ListGrantsRequest) (*ListGrantsResult, error) {
	list, err := g.list(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("grants: %w", err)
	}
	return &ListGrantsResult{Grants: list}, nil
}

// directory is the partition of the tenant's grants.
func (m *MemoryLayer) directory() memory.Partition {
	return memory.Partition{Tenant: m.tenant, Kind: memory.PartitionTenantDirectory}
}

// ends are the two ids of each kind of edge, in the order in which it is kept.
func (req GrantRequest) ends() map[memory.GrantKind][2]string {
	return map[memory.GrantKind][2]string{
		memory.GrantUserAgent:     {req.UserID, req.AgentID},
		memory.GrantAgentResource: {req.AgentID, req.ResourceID},
		memory.GrantTeamMember:    {req.TeamID, req.UserID},
	}
}

// given counts and checks the ids in a request.
func (req GrantRequest) given() (n int, err error) {
	for what, id := range map[string]string{"user id": req.UserID, "agent id": req.AgentID, "resource id": req.ResourceID, "team id": req.TeamID} {
		if id == "" {
			continue
		}
		n++
		if err := memory.CheckID(what, id); err != nil {
			return n, err
		}
	}
	if req.By != "" {
		err = memory.CheckID("by", req.By)
	}
	return n, err
}

// event is the request as an event of its edge. Errors: ErrEdge.
func (req GrantRequest) event() (memory.Grant, error) {
	n, err := req.given()
	if err != nil {
		return memory.Grant{}, err
	}
	if n == 2 {
		for kind, ends := range req.ends() {
			if ends[0] != "" && ends[1] != "" {
				return memory.Grant{Kind: kind, Left: ends[0], Right: ends[1], By: req.By, At: memory.Time(req.At)}, nil
			}
		}
	}
	return memory.Grant{}, ErrEdge
}

func (g Granter) write(ctx context.Context, req GrantRequest, revoke bool) (*GrantResult, error) {
	if g.m.closed.Load() {
		return nil, ErrClosed
	}
	event, err := req.event()
	if err != nil {
		return nil, err
	}
	if err := checkTime(req.At); err != nil {
		return nil, err
	}
	event.Revoked = revoke
	var out *GrantResult
	err = g.m.store.Update(ctx, g.m.directory(), func(tx storage.Tx) error {
		out, err = g.commit(ctx, tx, event)
		if err == nil && !out.Changed {
			return errNothing
		}
		return err
	})
	if err != nil && !errors.Is(err, errNothing) {
		return nil, err
	}
	return out, nil
}

// commit writes the event, with one ledger entry, unless it changes nothing.
func (g Granter) commit(ctx context.Context, tx storage.Tx, event memory.Grant) (*GrantResult, error) {
	now := memory.Time(g.m.now())
	asked := !event.At.IsZero()
	if !asked {
		event.At = now
	}
	past, err := tx.Grants(ctx, storage.GrantParams{Kind: event.Kind, Left: event.Left, Right: event.Right})
	if err != nil {
		return nil, err
	}
	if len(past) == 0 && event.Revoked {
		return nil, ErrNotGranted
	}
	later := func(e memory.Grant) bool { return e.At.After(event.At) }
	if asked && slices.ContainsFunc(past, func(e memory.Grant) bool { return later(e) && !e.At.After(now) }) {
		return nil, ErrGrantOrder
	}
	list := g.news(event, past)
	if len(list) == 0 {
		return &GrantResult{Grant: record(access.Latest(past, event.At)[0])}, nil
	}
	objects := make([]memory.Object, len(list))
	for i := range list {
		list[i].Change = tx.Head().Change
		objects[i] = ledger.Grant(list[i])
	}
	if err := tx.InsertGrants(ctx, list); err != nil {
		return nil, err
	}
	operation := "grant"
	if event.Revoked {
		operation = "revoke"
	}
	entry := g.m.chainAt(tx.Head()).Append(tx.Head().Partition, operation, now, objects)
	return &GrantResult{Changed: true, Grant: record(list[0])}, tx.AppendEntries(ctx, []memory.Entry{entry})
}

// news are the rows to write: the event, unless the edge is so at its moment,
// and for a revocation one more at each later moment at which it would begin
// again.
func (g Granter) news(event memory.Grant, past []memory.Grant) []memory.Grant {
	var list []memory.Grant
	add := func(at time.Time) {
		e := event
		e.Partition, e.ID, e.At, e.Salt = g.m.directory().ID(), g.m.newID(), at, newSalt()
		list = append(list, e)
	}
	held := func(at time.Time) bool {
		now := access.Latest(past, at)
		return len(now) == 1 && !now[0].Revoked
	}
	known := len(access.Latest(past, event.At)) == 1
	if held(event.At) == event.Revoked || !known {
		add(event.At)
	}
	for i, e := range past {
		isLast := i+1 == len(past) || !past[i+1].At.Equal(e.At)
		if event.Revoked && e.At.After(event.At) && isLast && !e.Revoked {
			add(e.At)
		}
	}
	return list
}

func (g Granter) list(ctx context.Context, req ListGrantsRequest) ([]GrantRecord, error) {
	if g.m.closed.Load() {
		return nil, ErrClosed
	}
	ids := GrantRequest{UserID: req.UserID, AgentID: req.AgentID, ResourceID: req.ResourceID, TeamID: req.TeamID}
	given, err := ids.given()
	if err != nil {
		return nil, err
	}
	var events []memory.Grant
	for kind, ends := range ids.ends() {
		n := 0
		for _, id := range ends {
			if id != "" {
				n++
			}
		}
		if n != given {
			continue // an id that this kind of edge does not have
		}
		found, err := g.m.store.Grants(ctx, g.m.directory().ID(), storage.GrantParams{Kind: kind, Left: ends[0], Right: ends[1]})
		if err != nil {
			return nil, err
		}
		events = append(events, found...)
	}
	at := req.At
	if at.IsZero() {
		at = g.m.now()
	}
	return records(events, at, req.History), nil
}

// records shows events: all of them, or the edges that hold at a moment.
func records(events []memory.Grant, at time.Time, history bool) []GrantRecord {
	shown := access.Latest(events, at)
	if history {
		shown = access.Sorted(events)
	} else {
		shown = slices.DeleteFunc(shown, func(g memory.Grant) bool { return g.Revoked })
	}
	list := make([]GrantRecord, len(shown))
	for i, g := range shown {
		list[i] = record(g)
		if !history {
			list[i].Until = access.Until(events, g, at)
		}
	}
	return list
}

func record(g memory.Grant) GrantRecord {
	r := GrantRecord{Kind: g.Kind, Granted: !g.Revoked, At: g.At, By: g.By}
	switch g.Kind {
	case memory.GrantUserAgent:
		r.UserID, r.AgentID = g.Left, g.Right
	case memory.GrantAgentResource:
		r.AgentID, r.ResourceID = g.Left, g.Right
	case memory.GrantTeamMember:
		r.TeamID, r.UserID = g.Left, g.Right
	}
	return r
}
