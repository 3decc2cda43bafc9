// Package access says what a caller may read: grants at a moment -> the
// partitions, agents and resources that are his. It is pure; whoever asks hands
// in the grant events and the time.
//
// Truth and derivation: the events are the truth, Rights are derived from them
// for each call and kept nowhere. Only present rights count, whatever moment of
// the past is asked about: who may not read now may not read how it was.
// Source: design section 6; papers.md sections 1 (10, 11, 16) and 8.
package access

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Rights are what one user may read at one moment. A nil *Rights reads nothing:
// a forgotten check must not open everything.
//
// Open mode is the user's: until a user-agent grant was written for him, every
// agent is his and every resource within reach. The first one that is written
// ends it for good, whether it holds yet, still holds or was revoked; from then
// on an agent must be granted to him, and a resource to an agent of his.
type Rights struct {
	user      string
	all       bool // whoever they are of, preferences included
	open      bool
	agents    map[string]bool
	resources map[string]bool
	teams     []string
	key       string
}

// At reads a user's rights off the grant events that concern him: those of his
// agents, of the resources of these agents, and of his teams. Events after now
// do not count yet, but for ending open mode.
func At(user string, events []memory.Grant, now time.Time) *Rights {
	r := &Rights{user: user, open: true}
	held := map[edge]bool{}
	for _, g := range Latest(events, now) {
		held[edgeOf(&g)] = !g.Revoked
	}
	for i := range events {
		if events[i].Kind == memory.GrantUserAgent && events[i].Left == user {
			r.open = false
		}
	}
	r.agents, r.resources = map[string]bool{}, map[string]bool{}
	for e, holds := range held {
		switch {
		case !holds:
		case e.kind == memory.GrantUserAgent && e.left == user:
			r.agents[e.right] = true
		case e.kind == memory.GrantTeamMember && e.right == user:
			r.teams = append(r.teams, e.left)
		}
	}
	for e, holds := range held {
		if holds && e.kind == memory.GrantAgentResource && r.agents[e.left] {
			r.resources[e.right] = true
		}
	}
	slices.Sort(r.teams)
	r.key = r.name()
	return r
}

// Everything are the rights of whoever acts on a partition as a whole, as an
// erasure does. No reading goes by them.
func Everything() *Rights { return &Rights{all: true, open: true, key: "everything"} }

// edge is what grants and revocations are about.
type edge struct {
	kind        memory.GrantKind
	left, right string
}

func edgeOf(g *memory.Grant) edge { return edge{g.Kind, g.Left, g.Right} }

// Latest returns the event of each edge that is in force at a moment: the last
// one by (At, Change, ID) that is not after it; in that order.
func Latest(events []memory.Grant, now time.Time) []memory.Grant {
	last := map[edge]memory.Grant{}
	for _, g := range events {
		if old, known := last[edgeOf(&g)]; !g.At.After(now) && (!known || old.Compare(&g) < 0) {
			last[edgeOf(&g)] = g
		}
	}
	return Sorted(slices.Collect(maps.Values(last)))
}

// Sorted returns events by (At, Change, ID).
func Sorted(events []memory.Grant) []memory.Grant {
	list := slices.Clone(events)
	slices.SortFunc(list, func(a, b memory.Grant) int { return a.Compare(&b) })
	return list
}

// Until is when a grant that holds at a moment will be revoked, by the events
// known; nil for never.
func Until(events []memory.Grant, g memory.Grant, now time.Time) *time.Time {
	for _, e := range Sorted(events) {
		if edgeOf(&e) == edgeOf(&g) && e.At.After(now) && e.Revoked {
			if last := inForce(events, &e); last.Revoked {
				return &last.At
			}
		}
	}
	return nil
}

// inForce is the event that decides at the moment of e about its edge.
func inForce(events []memory.Grant, e *memory.Grant) memory.Grant {
	for _, g := range Latest(events, e.At) {
		if edgeOf(&g) == edgeOf(e) {
			return g
		}
	}
	return *e
}

// User is whose rights these are, "" of nil.
func (r *Rights) User() string {
	if r == nil {
		return ""
	}
	return r.user
}

// Owns reports whether what is private to a user is his.
func (r *Rights) Owns(user string) bool { return r != nil && (r.all || r.user == user) }

// Open reports whether the user is in open mode.
func (r *Rights) Open() bool { return r != nil && r.open }

// Teams are the ids of the teams that he is a member of, sorted. Read only.
func (r *Rights) Teams() []string {
	if r == nil {
		return nil
	}
	return r.teams
}

// MemberOf reports whether he is a member of the team.
func (r *Rights) MemberOf(team string) bool {
	_, found := slices.BinarySearch(r.Teams(), team)
	return found
}

// Holds reports whether the agent is his; "" is no agent, which is no obstacle.
func (r *Rights) Holds(agent string) bool {
	return r != nil && (agent == "" || r.open || r.agents[agent])
}

// Reaches reports whether the resource is within his reach; "" is no resource.
func (r *Rights) Reaches(resource string) bool {
	return r != nil && (resource == "" || r.open || r.resources[resource])
}

// Through reports whether he may see what came through all of these origins.
func (r *Rights) Through(origins []memory.Origin) bool {
	if r == nil || r.open {
		return r != nil
	}
	for _, o := range origins {
		switch {
		case o.Kind == memory.OriginAgent && r.Holds(o.Name):
		case o.Kind == memory.OriginResource && r.Reaches(o.Name):
		default:
			return false
		}
	}
	return true
}

// ThroughAll is Through for lists of agents and resources.
func (r *Rights) ThroughAll(agents, resources []string) bool {
	if r == nil || r.open {
		return r != nil
	}
	for _, name := range agents {
		if !r.Holds(name) {
			return false
		}
	}
	for _, name := range resources {
		if !r.Reaches(name) {
			return false
		}
	}
	return true
}

// Key is equal for rights that admit the same rows of any partition, and for no
// others: what a set of admitted rows can be remembered by.
func (r *Rights) Key() string {
	if r == nil {
		return "nobody"
	}
	return r.key
}

// name writes the rights out, each name with its length. Teams say which
// partitions are read, not which rows of one.
func (r *Rights) name() string {
	var b strings.Builder
	put := func(mark byte, names ...string) {
		slices.Sort(names)
		for _, n := range names {
			b.WriteByte(mark)
			b.WriteString(strconv.Itoa(len(n)))
			b.WriteByte(':')
			b.WriteString(n)
		}
	}
	put('u', r.user)
	if r.open {
		b.WriteByte('*')
	}
	put('a', held(r.agents)...)
	put('r', held(r.resources)...)
	return b.String()
}

func held(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for n := range set {
		names = append(names, n)
	}
	return names
}
