package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// InsertGrants implements storage.Tx.
func (t *tx) InsertGrants(ctx context.Context, list []memory.Grant) error {
	columns := []string{"partition", "access_grant", "kind", "left_id", "right_id", "revoked", "at", "by_id", "change", "salt"}
	return t.insert(ctx, "access_grant", columns, len(list), func(i int) ([]any, error) {
		g := &list[i]
		return []any{
			t.head.Partition, g.ID, string(g.Kind), g.Left, g.Right, g.Revoked, memory.Micros(g.At), g.By,
			t.head.Change, notNull(g.Salt),
		}, nil
	})
}

// Grants implements storage.Reader.
func (s *Store) Grants(ctx context.Context, partition string, p storage.GrantParams) ([]memory.Grant, error) {
	sql := `
SELECT partition, access_grant, kind, left_id, right_id, revoked, at, by_id, change, salt FROM access_grant
WHERE partition = $1`
	args := []any{partition}
	for _, want := range []struct{ column, value string }{
		{"kind", string(p.Kind)}, {"left_id", p.Left}, {"right_id", p.Right},
	} {
		if want.value != "" {
			args = append(args, want.value)
			sql += fmt.Sprintf(" AND %s = $%d", want.column, len(args))
		}
	}
	return query(ctx, s, "grants", sql+` ORDER BY at, change, access_grant`, scanGrant, args...)
}

func scanGrant(row pgx.CollectableRow) (g memory.Grant, err error) {
	err = row.Scan(&g.Partition, &g.ID, (*string)(&g.Kind), &g.Left, &g.Right, &g.Revoked, when{&g.At}, &g.By,
		&g.Change, blob{&g.Salt})
	return g, err
}
