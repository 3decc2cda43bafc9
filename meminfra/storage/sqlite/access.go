package sqlite

import (
	"context"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

const grantColumns = `partition, access_grant, kind, left_id, right_id, revoked, at, by_id, change, salt`

var insertGrant = insertInto("access_grant", grantColumns)

// InsertGrants implements storage.Tx.
func (t *tx) InsertGrants(ctx context.Context, list []memory.Grant) error {
	return put(ctx, t, insertGrant, list, func(g *memory.Grant) ([]any, error) {
		return []any{
			t.head.Partition, g.ID, string(g.Kind), g.Left, g.Right, g.Revoked, memory.Micros(g.At), g.By,
			t.head.Change, blob(g.Salt),
		}, nil
	})
}

// Grants implements storage.Reader.
func (s *Store) Grants(ctx context.Context, partition string, p storage.GrantParams) (list []memory.Grant, err error) {
	// One statement for each set of conditions, so that each can use an index.
	query, args := `SELECT `+grantColumns+` FROM access_grant WHERE partition = ?`, []any{partition}
	for _, want := range []struct{ column, value string }{
		{"kind", string(p.Kind)}, {"left_id", p.Left}, {"right_id", p.Right},
	} {
		if want.value != "" {
			query, args = query+` AND `+want.column+` = ?`, append(args, want.value)
		}
	}
	err = s.view(ctx, func(c *conn) error {
		list, err = collect(ctx, c, query+` ORDER BY at, change, access_grant`, args, func(row scanner, g *memory.Grant) error {
			return row.Scan(&g.Partition, &g.ID, &g.Kind, &g.Left, &g.Right, &g.Revoked, scanTime(&g.At), &g.By,
				&g.Change, &g.Salt)
		})
		return err
	})
	return list, err
}
