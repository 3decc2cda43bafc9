package storagetest

import (
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var grantTests = []test{
	{name: "events by either end", run: grants},
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
