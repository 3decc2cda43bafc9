package meminfra_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

func mustGrant(t testing.TB, ml *meminfra.MemoryLayer, req meminfra.GrantRequest) *meminfra.GrantResult {
	t.Helper()
	res, err := ml.Grants().Grant(t.Context(), req)
	if err != nil {
		t.Fatalf("grant: %v", err)
	}
	return res
}

func mustRevoke(t testing.TB, ml *meminfra.MemoryLayer, req meminfra.RevokeRequest) *meminfra.GrantResult {
	t.Helper()
	res, err := ml.Grants().Revoke(t.Context(), req)
	if err != nil {
		t.Fatalf("revoke: %v", err)
	}
	return res
}

func joins(t testing.TB, ml *meminfra.MemoryLayer, team string, users ...string) {
	t.Helper()
	for _, u := range users {
		mustGrant(t, ml, meminfra.GrantRequest{TeamID: team, UserID: u})
	}
}

// oddNames are ids that would break what is put together by hand.
var oddNames = []string{"o'brien", `a"b\c`, "a/b:c|d", "100%_x", "日本 語", "Ädä", "a\tb", "'; DROP TABLE item; --", "*", "{}"}

// Grants are events: each change is one, what changes nothing is none.
func TestGrantsAreEvents(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		clock := testClock()
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Now = clock.Now })
		edge := meminfra.GrantRequest{UserID: "ada", AgentID: "planner", By: "root"}
		if _, err := ml.Grants().Revoke(t.Context(), meminfra.RevokeRequest{UserID: "ada", AgentID: "planner"}); !errors.Is(err, meminfra.ErrNotGranted) {
			t.Errorf("revoking what was never granted: %v", err)
		}
		first := mustGrant(t, ml, edge)
		if again := mustGrant(t, ml, edge); !first.Changed || again.Changed || !again.Grant.At.Equal(first.Grant.At) {
			t.Errorf("granted %+v, again %+v", first, again)
		}
		gone := mustRevoke(t, ml, meminfra.RevokeRequest{UserID: "ada", AgentID: "planner"})
		if again := mustRevoke(t, ml, meminfra.RevokeRequest{UserID: "ada", AgentID: "planner"}); !gone.Changed || gone.Grant.Granted || again.Changed {
			t.Errorf("revoked %+v, again %+v", gone, again)
		}
		edge.At = first.Grant.At.Add(-time.Hour)
		if _, err := ml.Grants().Grant(t.Context(), edge); !errors.Is(err, meminfra.ErrGrantOrder) {
			t.Errorf("a grant before the revocation that is in force: %v", err)
		}
		events := grantsOf(t, ml, meminfra.ListGrantsRequest{UserID: "ada", History: true})
		if len(events) != 2 || !events[0].Granted || events[1].Granted || events[0].By != "root" || events[0].Kind != memory.GrantUserAgent {
			t.Errorf("events %+v", events)
		}
		if held := grantsOf(t, ml, meminfra.ListGrantsRequest{}); len(held) != 0 {
			t.Errorf("held now %+v", held)
		}
		if then := grantsOf(t, ml, meminfra.ListGrantsRequest{At: first.Grant.At}); len(then) != 1 {
			t.Errorf("held then %+v", then)
		}
	})
}

func grantsOf(t testing.TB, ml *meminfra.MemoryLayer, req meminfra.ListGrantsRequest) []meminfra.GrantRecord {
	t.Helper()
	res, err := ml.Grants().List(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res.Grants
}

// A grant can begin and end later; a revocation takes what is to come along.
func TestGrantsToCome(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		clock := testClock()
		now := clock.Now()
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Now = func() time.Time { return now } })
		day := 24 * time.Hour
		edge := meminfra.GrantRequest{TeamID: "red", UserID: "ada"}
		mustGrant(t, ml, edge)
		mustRevoke(t, ml, meminfra.RevokeRequest{TeamID: "red", UserID: "ada", At: now.Add(day)})
		edge.At = now.Add(2 * day)
		mustGrant(t, ml, edge)
		held := grantsOf(t, ml, meminfra.ListGrantsRequest{TeamID: "red"})
		if len(held) != 1 || held[0].Until == nil || !held[0].Until.Equal(now.Add(day)) {
			t.Errorf("held %+v", held)
		}
		for days, want := range []int{1, 0, 1, 1} {
			if got := grantsOf(t, ml, meminfra.ListGrantsRequest{At: now.Add(time.Duration(days)*day + time.Hour)}); len(got) != want {
				t.Errorf("after %d days %d edges, want %d", days, len(got), want)
			}
		}
		mustRevoke(t, ml, meminfra.RevokeRequest{TeamID: "red", UserID: "ada"})
		for days := range 4 {
			if got := grantsOf(t, ml, meminfra.ListGrantsRequest{At: now.Add(time.Duration(days)*day + time.Hour)}); len(got) != 0 {
				t.Errorf("revoked, and after %d days %+v", days, got)
			}
		}
	})
}

func TestGrantRequestsAreChecked(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		for name, req := range map[string]meminfra.GrantRequest{
			"nothing": {}, "one end": {UserID: "ada"}, "user and resource": {UserID: "ada", ResourceID: "crm"},
			"team and agent": {TeamID: "red", AgentID: "p"}, "three": {UserID: "ada", AgentID: "p", ResourceID: "crm"},
			"team, user and agent": {TeamID: "red", UserID: "ada", AgentID: "p"},
		} {
			if _, err := ml.Grants().Grant(t.Context(), req); !errors.Is(err, meminfra.ErrEdge) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := ml.Grants().Grant(t.Context(), meminfra.GrantRequest{UserID: "a\x00", AgentID: "p"}); !errors.Is(err, memory.ErrMalformedID) {
			t.Errorf("a malformed id: %v", err)
		}
		if _, err := ml.Grants().Grant(t.Context(), meminfra.GrantRequest{UserID: "ada", AgentID: strings.Repeat("x", 257)}); !errors.Is(err, meminfra.ErrTooLong) {
			t.Errorf("a long id: %v", err)
		}
		if heads, err := store.Heads(t.Context(), directory().ID()); err != nil || len(heads) != 0 {
			t.Errorf("refused grants left %v, %v", heads, err)
		}
	})
}

func directory() memory.Partition {
	return memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionTenantDirectory}
}

// Each change is one entry of the directory's own chain.
func TestGrantsAreInTheLedger(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		edge := meminfra.GrantRequest{UserID: "ada", AgentID: "p"}
		mustGrant(t, ml, edge)
		mustGrant(t, ml, edge) // changes nothing
		mustRevoke(t, ml, meminfra.RevokeRequest(edge))
		var ops []string
		var objects int
		check := func(e memory.Entry) error {
			ops = append(ops, e.Operation)
			for _, o := range e.Objects {
				if o.Kind == "grant" {
					objects++
				}
			}
			return nil
		}
		if err := store.Entries(t.Context(), directory().ID(), 0, check); err != nil {
			t.Fatal(err)
		}
		if strings.Join(ops, " ") != "grant revoke" || objects != 2 {
			t.Errorf("entries %v over %d grants", ops, objects)
		}
	})
}

// Names of every kind come back as they are and never match another.
func TestGrantsWithOddNames(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		for _, name := range oddNames {
			mustGrant(t, ml, meminfra.GrantRequest{UserID: name, AgentID: name})
			mustGrant(t, ml, meminfra.GrantRequest{AgentID: name, ResourceID: name})
			mustGrant(t, ml, meminfra.GrantRequest{TeamID: name, UserID: name})
		}
		for _, name := range oddNames {
			list := grantsOf(t, ml, meminfra.ListGrantsRequest{UserID: name})
			if len(list) != 2 || list[0].UserID != name || list[0].AgentID != name || list[1].TeamID != name {
				t.Errorf("%q: %+v", name, list)
			}
		}
		other := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.Tenant = "elsewhere" })
		if list := grantsOf(t, other, meminfra.ListGrantsRequest{}); len(list) != 0 {
			t.Errorf("another tenant lists %d grants", len(list))
		}
	})
}
