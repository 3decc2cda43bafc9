package sqlite

import (
	"context"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

const grantColumns = `partition, access_grant, kind, left_id, right_id, revoked, at, by_id, change, salt`

func scanGrant(row scanner, g *memory.Grant) error {
	return row.Scan(&g.Partition, &g.ID, &g.Kind, &g.Left, &g.Right, &g.Revoked, scanTime(&g.At), &g.By, &g.Change, &g.Salt)
}

var insertGrant = insertInto("access_grant", grantColumns+`, team_partition`)

// InsertGrants implements storage.Tx. The team's partition is kept beside a
// membership, so that Opening finds its head in the same statement.
func (t *tx) InsertGrants(ctx context.Context, list []memory.Grant) error {
	return put(ctx, t, insertGrant, list, func(g *memory.Grant) ([]any, error) {
		return []any{
			t.head.Partition, g.ID, string(g.Kind), g.Left, g.Right, g.Revoked, memory.Micros(g.At), g.By,
			t.head.Change, blob(g.Salt), g.TeamPartition(t.tenant),
		}, nil
	})
}

// Grants implements storage.Reader.
func (s *Store) Grants(ctx context.Context, partition string, p storage.GrantParams) (list []memory.Grant, err error) {
	err = s.view(ctx, func(c *conn) error {
		list, err = readGrants(ctx, c, partition, p)
		return err
	})
	return list, err
}

// Grants implements storage.Tx.
func (t *tx) Grants(ctx context.Context, p storage.GrantParams) ([]memory.Grant, error) {
	return readGrants(ctx, t.c, t.head.Partition, p)
}

func readGrants(ctx context.Context, c *conn, partition string, p storage.GrantParams) ([]memory.Grant, error) {
	// One statement for each set of conditions, so that each can use an index.
	query, args := `SELECT `+grantColumns+` FROM access_grant WHERE partition = ?`, []any{partition}
	for _, want := range []struct{ column, value string }{
		{"kind", string(p.Kind)}, {"left_id", p.Left}, {"right_id", p.Right},
	} {
		if want.value != "" {
			query, args = query+` AND `+want.column+` = ?`, append(args, want.value)
		}
	}
	return collect(ctx, c, query+` ORDER BY at, change, access_grant`, args, scanGrant)
}

// What Opening reads, by directory ?1 and user ?2. Each part of ofUser is a
// look-up in an index.
const (
	ofUser = `
SELECT ` + grantColumns + ` FROM access_grant WHERE partition = ?1 AND kind = 'user_agent' AND left_id = ?2
UNION ALL
SELECT ` + grantColumns + ` FROM access_grant WHERE partition = ?1 AND kind = 'team_member' AND right_id = ?2
UNION ALL
SELECT ` + grantColumns + ` FROM access_grant WHERE partition = ?1 AND kind = 'agent_resource' AND left_id IN (
	SELECT right_id FROM access_grant WHERE partition = ?1 AND kind = 'user_agent' AND left_id = ?2)
ORDER BY at, change, access_grant`
	ofTeams = `SELECT team_partition FROM access_grant WHERE partition = ?1 AND kind = 'team_member' AND right_id = ?2`
)

// Opening implements storage.Reader.
func (s *Store) Opening(ctx context.Context, p storage.OpeningParams) (o storage.Opening, err error) {
	err = s.glance(ctx, func(c *conn) error {
		ctx := context.WithoutCancel(ctx) // watching it would cost more than these look-ups take
		if o.Grants, err = collect(ctx, c, ofUser, []any{p.Directory, p.UserID}, scanGrant); err != nil {
			return err
		}
		list, err := collect(ctx, c, selectHead+`WHERE partition IN (SELECT value FROM json_each(?3) UNION `+ofTeams+`)`,
			[]any{p.Directory, p.UserID, jsonList(p.Partitions)}, scanHead)
		o.Heads = make(map[string]storage.Head, len(list))
		for _, h := range list {
			o.Heads[h.Partition] = h
		}
		return err
	})
	return o, err
}
