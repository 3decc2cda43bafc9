package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// InsertGrants implements storage.Tx. The team's partition is kept beside a
// membership, so that Opening finds its head in the same round trip.
func (t *tx) InsertGrants(ctx context.Context, list []memory.Grant) error {
	columns := []string{
		"partition", "access_grant", "kind", "left_id", "right_id", "revoked", "at", "by_id", "change", "salt", "team_partition",
	}
	return t.insert(ctx, "access_grant", columns, len(list), func(i int) ([]any, error) {
		g := &list[i]
		return []any{
			t.head.Partition, g.ID, string(g.Kind), g.Left, g.Right, g.Revoked, memory.Micros(g.At), g.By,
			t.head.Change, notNull(g.Salt), g.TeamPartition(t.tenant),
		}, nil
	})
}

// Grants implements storage.Reader.
func (s *Store) Grants(ctx context.Context, partition string, p storage.GrantParams) ([]memory.Grant, error) {
	sql, args := selectGrants(partition, p)
	return query(ctx, s, "grants", sql, scanGrant, args...)
}

// Grants implements storage.Tx.
func (t *tx) Grants(ctx context.Context, p storage.GrantParams) ([]memory.Grant, error) {
	sql, args := selectGrants(t.head.Partition, p)
	return read(ctx, t, "grants", sql, scanGrant, args...)
}

const selectGrant = `
SELECT partition, access_grant, kind, left_id, right_id, revoked, at, by_id, change, salt FROM access_grant
WHERE partition = $1`

func selectGrants(partition string, p storage.GrantParams) (sql string, args []any) {
	sql, args = selectGrant, []any{partition}
	for _, want := range []struct{ column, value string }{
		{"kind", string(p.Kind)}, {"left_id", p.Left}, {"right_id", p.Right},
	} {
		if want.value != "" {
			args = append(args, want.value)
			sql += fmt.Sprintf(" AND %s = $%d", want.column, len(args))
		}
	}
	return sql + ` ORDER BY at, change, access_grant`, args
}

func scanGrant(row pgx.CollectableRow) (g memory.Grant, err error) {
	err = row.Scan(&g.Partition, &g.ID, (*string)(&g.Kind), &g.Left, &g.Right, &g.Revoked, when{&g.At}, &g.By,
		&g.Change, blob{&g.Salt})
	return g, err
}

// What Opening reads, by directory $1 and user $2. Each part of ofUser is a
// look-up in an index.
const (
	ofUser = selectGrant + ` AND kind = 'user_agent' AND left_id = $2 UNION ALL` +
		selectGrant + ` AND kind = 'team_member' AND right_id = $2 UNION ALL` +
		selectGrant + ` AND kind = 'agent_resource' AND left_id = ANY(ARRAY(
	SELECT right_id FROM access_grant WHERE partition = $1 AND kind = 'user_agent' AND left_id = $2))`
	ofTeams = `SELECT team_partition FROM access_grant WHERE partition = $1 AND kind = 'team_member' AND right_id = $2`
)

// Opening implements storage.Reader.
func (s *Store) Opening(ctx context.Context, p storage.OpeningParams) (storage.Opening, error) {
	var o storage.Opening
	var heads []storage.Head
	err := s.snapshot(ctx, "opening", func(b *pgx.Batch) {
		b.Queue(ofUser, p.Directory, p.UserID).Query(into(&o.Grants, scanGrant))
		b.Queue(selectHead+` WHERE partition = ANY(ARRAY(SELECT unnest($3::text[]) UNION ALL `+ofTeams+`))`,
			p.Directory, p.UserID, p.Partitions).Query(into(&heads, scanHead))
	})
	if err != nil {
		return storage.Opening{}, err
	}
	slices.SortFunc(o.Grants, func(a, b memory.Grant) int { return a.Compare(&b) })
	o.Heads = make(map[string]storage.Head, len(heads))
	for _, h := range heads {
		o.Heads[h.Partition] = h
	}
	return o, nil
}
