package storagetest

import (
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var grantTests = []test{
	{name: "events by either end", run: grants},
	{name: "what a read begins with", run: opening},
}

func grants(t *testing.T, s storage.Store) {
	directory := memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionTenantDirectory}
	var first memory.Grant
	commit(t, s, directory, func(tx storage.Tx) error {
		grant := func(id string, kind memory.GrantKind, left, right string, revoked bool, n int) memory.Grant {
			return memory.Grant{Partition: directory.ID(), ID: id, Kind: kind, Left: left, Right: right, Revoked: revoked, At: at(n),
				By: "admin", Change: tx.Head().Change, Salt: []byte{1}}
		}
		first = grant("g9", memory.GrantUserAgent, "ada", "agent", false, 10)
		return tx.InsertGrants(t.Context(), []memory.Grant{
			grant("g1", memory.GrantUserAgent, "ada", "agent", true, 30), first, grant("g5", memory.GrantUserAgent, "ada", "agent2", false, 20),
			grant("g2", memory.GrantUserAgent, "bob", "agent", false, 15), grant("g3", memory.GrantTeamMember, "ada", "agent", false, 5),
			grant("g4", memory.GrantTeamMember, "Ada", "x", false, 1),
		})
	})
	for want, p := range map[string]storage.GrantParams{
		"g9 g5 g1":          {Kind: memory.GrantUserAgent, Left: "ada"},
		"g9 g2 g1":          {Kind: memory.GrantUserAgent, Right: "agent"},
		"g9 g1":             {Kind: memory.GrantUserAgent, Left: "ada", Right: "agent"},
		"g3 g9 g5 g1":       {Left: "ada"},
		"g3 g9 g2 g1":       {Right: "agent"},
		"g4 g3":             {Kind: memory.GrantTeamMember},
		"g4 g3 g9 g2 g5 g1": {},
		"":                  {Left: "nobody"},
	} {
		got, err := s.Grants(t.Context(), directory.ID(), p)
		check(t, err)
		same(t, want, ids(got, grantID), strings.Fields(want))
		commit(t, s, directory, func(tx storage.Tx) error {
			within, err := tx.Grants(t.Context(), p)
			same(t, "within a commit: "+want, within, got)
			return err
		})
		if strings.HasPrefix(want, "g9") {
			same(t, "every field", got[0], first)
		}
	}
	got, err := s.Grants(t.Context(), ada.ID(), storage.GrantParams{})
	check(t, err)
	same(t, "another partition", len(got), 0)
	err = s.Update(t.Context(), directory, func(tx storage.Tx) error { return tx.InsertGrants(t.Context(), []memory.Grant{first}) })
	wantErr(t, "the same id twice", err, storage.ErrConflict)
}

// opening reads whom a user may read, and the heads that go with it, at once.
func opening(t *testing.T, s storage.Store) {
	directory := memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionTenantDirectory}
	red := memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionTeam, Name: "red"}
	public := memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionTenantPublic}
	open := func(user string) storage.Opening {
		o, err := s.Opening(t.Context(), storage.OpeningParams{Partitions: []string{ada.ID(), public.ID()}, Directory: directory.ID(), UserID: user})
		check(t, err)
		return o
	}
	same(t, "of nothing", len(open("ada").Grants)+len(open("ada").Heads), 0)
	commit(t, s, directory, func(tx storage.Tx) error {
		grant := func(id string, kind memory.GrantKind, left, right string, revoked bool, n int) memory.Grant {
			return memory.Grant{ID: id, Kind: kind, Left: left, Right: right, Revoked: revoked, At: at(n), Salt: []byte{1}}
		}
		return tx.InsertGrants(t.Context(), []memory.Grant{
			grant("g1", memory.GrantUserAgent, "ada", "planner", false, 9), grant("g2", memory.GrantUserAgent, "ada", "planner", true, 12),
			grant("g3", memory.GrantAgentResource, "planner", "crm", false, 11), grant("g4", memory.GrantAgentResource, "other", "crm", false, 1),
			grant("g5", memory.GrantTeamMember, "red", "ada", false, 3), grant("g6", memory.GrantTeamMember, "blue", "ada", false, 2),
			grant("g7", memory.GrantTeamMember, "red", "bob", false, 4), grant("g8", memory.GrantUserAgent, "bob", "other", false, 5),
			grant("g9", memory.GrantTeamMember, "ada", "planner", false, 6), grant("ga", memory.GrantUserAgent, "planner", "ada", false, 7),
			grant("gb", memory.GrantUserAgent, "Ada", "planner", false, 8),
		})
	})
	for _, p := range []memory.Partition{ada, bob, red, public} {
		commit(t, s, p, func(storage.Tx) error { return nil })
	}
	got := open("ada")
	same(t, "grants", ids(got.Grants, grantID), []string{"g6", "g5", "g1", "g3", "g2"})
	same(t, "heads", got.Heads, map[string]storage.Head{ada.ID(): {Partition: ada.ID(), Change: 1},
		red.ID(): {Partition: red.ID(), Change: 1}, public.ID(): {Partition: public.ID(), Change: 1}})
	same(t, "another user's", ids(open("bob").Grants, grantID), []string{"g4", "g7", "g8"})
	same(t, "a stranger's heads", len(open("eve").Heads), 2)
	same(t, "a stranger's grants", len(open("eve").Grants), 0)
}
