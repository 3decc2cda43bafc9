package access_test

import (
	"slices"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/access"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

func at(n int) time.Time { return time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC) }

// event is a grant, or with revoked a revocation; events are written in order.
func event(change int64, kind memory.GrantKind, left, right string, revoked bool, when int) memory.Grant {
	return memory.Grant{ID: string(rune('a' + change)), Kind: kind, Left: left, Right: right, Revoked: revoked, At: at(when), Change: change}
}

func agentOf(name string) memory.Origin {
	return memory.Origin{Kind: memory.OriginAgent, Name: name}
}

func resourceOf(name string) memory.Origin {
	return memory.Origin{Kind: memory.OriginResource, Name: name}
}

// papers.md section 8, T1: all of an item's agents and resources, or nothing.
func TestEveryOriginIsNeeded(t *testing.T) {
	all := []memory.Grant{
		event(1, memory.GrantUserAgent, "ada", "p", false, 1), event(2, memory.GrantUserAgent, "ada", "q", false, 1),
		event(3, memory.GrantAgentResource, "p", "r", false, 1),
	}
	origins := []memory.Origin{agentOf("p"), agentOf("q"), resourceOf("r")}
	if !access.At("ada", all, at(2)).Through(origins) {
		t.Error("with all three grants the item is not visible")
	}
	for i := range all {
		less := slices.Delete(slices.Clone(all), i, i+1)
		if access.At("ada", less, at(2)).Through(origins) {
			t.Errorf("without grant %d the item is still visible", i+1)
		}
		gone := append(slices.Clone(all), event(9, all[i].Kind, all[i].Left, all[i].Right, true, 2))
		if access.At("ada", gone, at(2)).Through(origins) {
			t.Errorf("with grant %d revoked the item is still visible", i+1)
		}
	}
}

// A resource counts through an agent that is held now, not through any agent.
func TestResourceThroughHeldAgentOnly(t *testing.T) {
	events := []memory.Grant{
		event(1, memory.GrantUserAgent, "ada", "p", false, 1),
		event(2, memory.GrantAgentResource, "q", "r", false, 1),
		event(3, memory.GrantUserAgent, "bo", "q", false, 1),
	}
	if access.At("ada", events, at(5)).Reaches("r") {
		t.Error("reached through an agent of somebody else")
	}
	if !access.At("bo", events, at(5)).Reaches("r") {
		t.Error("not reached through his own agent")
	}
}

// T2: a revoked only grant is a denial; without any grant ever, open mode.
func TestOpenModeEndsForGood(t *testing.T) {
	if r := access.At("ada", nil, at(1)); !r.Open() || !r.Holds("p") || !r.Reaches("r") || !r.Through([]memory.Origin{agentOf("p"), resourceOf("r")}) {
		t.Error("without a grant ever, not everything is open")
	}
	revoked := []memory.Grant{event(1, memory.GrantUserAgent, "ada", "p", false, 1), event(2, memory.GrantUserAgent, "ada", "p", true, 2)}
	for name, r := range map[string]*access.Rights{
		"revoked":       access.At("ada", revoked, at(3)),
		"not begun yet": access.At("ada", revoked[:1], at(0)),
	} {
		if r.Open() || r.Holds("p") || r.Holds("q") || r.Reaches("r") {
			t.Errorf("%s: open mode came back", name)
		}
		if !r.Holds("") || !r.Reaches("") || !r.Through(nil) {
			t.Errorf("%s: what came through no agent is hidden", name)
		}
	}
	others := []memory.Grant{event(1, memory.GrantUserAgent, "bo", "p", false, 1), event(2, memory.GrantTeamMember, "red", "ada", false, 1)}
	if !access.At("ada", others, at(3)).Open() {
		t.Error("another user's grant, or a team, ended open mode")
	}
}

// T3: granted at 1, revoked at 2, granted again at 3.
func TestGrantsOverTime(t *testing.T) {
	events := []memory.Grant{
		event(3, memory.GrantUserAgent, "ada", "p", false, 3), // in any order
		event(1, memory.GrantUserAgent, "ada", "p", false, 1),
		event(2, memory.GrantUserAgent, "ada", "p", true, 2),
	}
	for minute, want := range []bool{false, true, false, true, true} {
		if got := access.At("ada", events, at(minute)).Holds("p"); got != want {
			t.Errorf("minute %d: held %v, want %v", minute, got, want)
		}
	}
	same := []memory.Grant{event(1, memory.GrantUserAgent, "ada", "p", false, 1), event(2, memory.GrantUserAgent, "ada", "p", true, 1)}
	if access.At("ada", same, at(1)).Holds("p") {
		t.Error("of two events of one moment the later written one does not count")
	}
}

func TestTeams(t *testing.T) {
	events := []memory.Grant{
		event(1, memory.GrantTeamMember, "red", "ada", false, 1), event(2, memory.GrantTeamMember, "blue", "ada", false, 1),
		event(3, memory.GrantTeamMember, "blue", "ada", true, 2), event(4, memory.GrantTeamMember, "green", "bo", false, 1),
		event(5, memory.GrantTeamMember, "Red", "bo", false, 1),
	}
	r := access.At("ada", events, at(2))
	if got := r.Teams(); !slices.Equal(got, []string{"red"}) {
		t.Errorf("teams %v", got)
	}
	for _, team := range []string{"blue", "green", "Red", "re", ""} {
		if r.MemberOf(team) {
			t.Errorf("member of %q", team)
		}
	}
}

// Nobody reads nothing: a forgotten check must not open everything.
func TestNilRightsReadNothing(t *testing.T) {
	var r *access.Rights
	if r.Open() || r.Holds("") || r.Reaches("") || r.Through(nil) || r.MemberOf("") || len(r.Teams()) > 0 || r.User() != "" {
		t.Error("nil rights read something")
	}
	if r.Key() == access.At("", nil, at(1)).Key() {
		t.Error("the key of nobody is somebody's")
	}
}

// Equal rights have equal keys, other rights have others, however the names
// are cut.
func TestKeyTellsRightsApart(t *testing.T) {
	ua := func(agent string) memory.Grant { return event(1, memory.GrantUserAgent, "ada", agent, false, 1) }
	ar := func(agent, resource string) memory.Grant {
		return event(2, memory.GrantAgentResource, agent, resource, false, 1)
	}
	sets := [][]memory.Grant{
		nil, {ua("p")}, {ua("q")}, {ua("p"), ua("q")}, {ua("pq")}, {ua("1:p")}, {ua("p"), ar("p", "q")}, {ua("p"), ar("p", "q1:r")},
		{ua("p"), ar("p", "q"), ar("p", "r")}, {ua("pr1:q")}, {ua("p"), ua("r1:q")}, {ua("*")}, {event(1, memory.GrantUserAgent, "ada", "x", true, 1)},
	}
	keys := map[string]int{}
	for i, events := range sets {
		key := access.At("ada", events, at(5)).Key()
		if j, taken := keys[key]; taken {
			t.Errorf("sets %d and %d share the key %q", i, j, key)
		}
		keys[key] = i
		slices.Reverse(events)
		if access.At("ada", events, at(5)).Key() != key {
			t.Errorf("set %d: the order of events changes the key", i)
		}
		if access.At("bo", events, at(5)).Key() == key {
			t.Errorf("set %d: two users share the key", i)
		}
	}
	later := []memory.Grant{ua("p"), event(3, memory.GrantUserAgent, "ada", "p", true, 9)}
	if access.At("ada", later, at(5)).Key() != access.At("ada", later[:1], at(5)).Key() {
		t.Error("a revocation that is not yet in force changes the key")
	}
}
