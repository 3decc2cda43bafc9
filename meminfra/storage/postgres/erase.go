package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/internal/wipe"
)

// Episodes implements storage.Eraser.
func (t *tx) Episodes(ctx context.Context, ids []string) ([]memory.Episode, error) {
	list, err := read(ctx, t, "episodes", selectEpisode+lookup("episode", "e", "episode", byID), scanEpisode, t.head.Partition, distinct(ids))
	return asked(ids, list, func(e *memory.Episode) string { return e.ID }), err
}

// Entries implements storage.Eraser.
func (t *tx) Entries(ctx context.Context, at []time.Time, fn func(memory.Entry) error) error {
	args, of := []any{t.head.Partition, t.head.LedgerSeq}, ""
	if at != nil {
		args, of = append(args, storage.Micros(at)), ` AND at = ANY($3::bigint[])`
	}
	rows, err := t.sql.Query(ctx, selectEntry+` WHERE partition = $1 AND seq <= $2`+of+` ORDER BY seq`, args...)
	if err != nil {
		return t.failed(ctx, "entries", err)
	}
	defer rows.Close()
	for rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return t.failed(ctx, "entries", err)
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	return t.failed(ctx, "entries", rows.Err())
}

// Bearing implements storage.Eraser.
func (t *tx) Bearing(ctx context.Context, items, episodes []string) (b storage.Bearing, err error) {
	args := []any{t.head.Partition, distinct(items), distinct(episodes)}
	b.Items, err = read(ctx, t, "bearing", `
SELECT v.item`+lookup("evidence", "v", "episode", `($3::text[])`)+`
UNION SELECT d.item`+lookup("item_derivation", "d", "source", byID)+`
UNION SELECT item FROM item WHERE partition = $1 AND supersedes = ANY($2::text[])`, pgx.RowTo[string], args...)
	if err != nil {
		return b, err
	}
	b.Decisions, err = read(ctx, t, "bearing", selectDecision+` FROM decision WHERE partition = $1
AND (item = ANY($2::text[]) OR superseded = ANY($2::text[]) OR episode = ANY($3::text[])) ORDER BY decision`, scanDecision, args...)
	if err != nil {
		return b, err
	}
	b.Traces, err = read(ctx, t, "bearing", `SELECT DISTINCT trace FROM `+traceItems+` t WHERE partition = $1
AND (owner_kind = 'item' AND owner = ANY($2::text[]) OR owner_kind = 'episode' AND owner = ANY($3::text[])) ORDER BY trace`,
		pgx.RowTo[string], args...)
	if err != nil {
		return b, err
	}
	b.Receipts, err = read(ctx, t, "bearing", `SELECT partition, key, body, result, at FROM idempotency WHERE partition = $1 ORDER BY key`,
		func(row pgx.CollectableRow) (r storage.IdempotencyRecord, err error) {
			err = row.Scan(&r.Partition, &r.Key, blob{&r.Body}, &r.Result, when{&r.At})
			return r, err
		}, t.head.Partition)
	return b, err
}

// Contributed implements storage.Eraser.
func (t *tx) Contributed(ctx context.Context, userID string) (items, episodes []string, err error) {
	items, err = read(ctx, t, "contributed", `SELECT item FROM item WHERE partition = $1 AND user_id = $2 ORDER BY item`,
		pgx.RowTo[string], t.head.Partition, userID)
	if err != nil {
		return nil, nil, err
	}
	episodes, err = read(ctx, t, "contributed", `SELECT episode FROM episode WHERE partition = $1 AND user_id = $2 ORDER BY episode`,
		pgx.RowTo[string], t.head.Partition, userID)
	return items, episodes, err
}

// Erase implements storage.Eraser. The note keeps the number of its
// transaction, by which Scrub can tell who may still see the rows.
func (t *tx) Erase(ctx context.Context, e storage.Erasure) (storage.Erased, error) {
	out := storage.Erased{Rows: map[string]int{}}
	dropped, err := read(ctx, t, "erase summaries", wipe.Summaries("$1", "(SELECT unnest($2::text[]))"), pgx.RowTo[string],
		t.head.Partition, distinct(e.Episodes))
	if err != nil {
		return out, err
	}
	if len(dropped) > 0 {
		out.Rows[storage.Summaries] = len(dropped)
	}
	for _, s := range wipe.Steps {
		sql, lists := s.Statement(&e, "$1", func(n int) string { return "(SELECT unnest($" + strconv.Itoa(n) + "::text[]))" })
		if s.Idle(&e, lists) {
			continue
		}
		args := []any{t.head.Partition}
		for _, l := range lists {
			args = append(args, distinct(l))
		}
		ids, err := read(ctx, t, "erase from "+s.Table, sql, pgx.RowTo[string], args...)
		if err != nil {
			return out, err
		}
		if len(ids) > 0 {
			out.Rows[s.Table] = len(ids)
		}
		for _, id := range ids {
			if s.Kind != "" {
				out.Covered = append(out.Covered, memory.Object{Kind: s.Kind, ID: id})
			}
		}
	}
	var b pgx.Batch
	b.Queue(`UPDATE partition SET erased = change, name = CASE WHEN $2 THEN '' ELSE name END WHERE partition = $1`, t.head.Partition, e.All)
	b.Queue(`INSERT INTO erasure (partition, erasure, at, mark) VALUES ($1, $2, $3, pg_current_xact_id()::text)`,
		t.head.Partition, e.ID, memory.Micros(e.At))
	return out, t.send(ctx, "erase", &b)
}

// Pending implements storage.Cleaner.
func (s *Store) Pending(ctx context.Context) (int, error) {
	n, err := query(ctx, s, "pending", `SELECT count(*) FROM erasure`, pgx.RowTo[int64])
	if err != nil {
		return 0, err
	}
	return int(n[0]), nil
}

// notOurs counts the tables that this role may not vacuum: the server skips
// them with a mere warning.
const notOurs = `
SELECT count(*) FROM pg_class WHERE oid = ANY($1::text[]::regclass[]) AND NOT pg_has_role(relowner, 'USAGE')`

// settled are the erasures that no running transaction began before, so that
// VACUUM has removed their rows.
const settled = `
SELECT erasure FROM erasure e WHERE erasure = ANY($1::text[]) AND NOT EXISTS (
	SELECT 1 FROM pg_stat_activity a
	WHERE a.pid <> pg_backend_pid() AND a.datname = current_database() AND a.backend_type = 'client backend'
	AND a.backend_xmin IS NOT NULL AND age(a.backend_xmin) >= age(e.mark::xid8::xid))`

// Scrub implements storage.Cleaner: it vacuums the tables that erasures delete
// from. Someone who still looks at an older state keeps the rows from it, and so
// does a role that does not own the tables.
func (s *Store) Scrub(ctx context.Context) (pending int, err error) {
	waiting, err := query(ctx, s, "scrub", `SELECT erasure FROM erasure`, pgx.RowTo[string])
	if err != nil || len(waiting) == 0 {
		return 0, err
	}
	tables := make([]string, len(wipe.Steps))
	for i, step := range wipe.Steps {
		tables[i] = step.Table
	}
	foreign, err := query(ctx, s, "scrub", notOurs, pgx.RowTo[int64], tables)
	if err != nil {
		return 0, err
	}
	if foreign[0] > 0 {
		return len(waiting), nil
	}
	done, err := query(ctx, s, "scrub", settled, pgx.RowTo[string], waiting)
	if err != nil {
		return 0, err
	}
	if len(done) > 0 {
		// One statement for all tables; it cannot run in a transaction.
		if _, err := s.pool.Exec(ctx, `VACUUM `+strings.Join(tables, ", ")); err != nil {
			return 0, s.failure(ctx, "scrub", err)
		}
		if _, err := s.pool.Exec(ctx, `DELETE FROM erasure WHERE erasure = ANY($1)`, done); err != nil {
			return 0, s.failure(ctx, "scrub", err)
		}
	}
	return s.Pending(ctx)
}

// Due implements storage.Cleaner.
func (s *Store) Due(ctx context.Context, now time.Time) ([]memory.Partition, error) {
	return query(ctx, s, "due", `
SELECT tenant, kind, name FROM partition WHERE partition IN (
	SELECT partition FROM item WHERE expires_at <= $1 UNION SELECT partition FROM episode WHERE expires_at <= $1) ORDER BY partition`,
		func(row pgx.CollectableRow) (p memory.Partition, err error) {
			err = row.Scan(&p.Tenant, (*string)(&p.Kind), &p.Name)
			return p, err
		}, memory.Micros(now))
}

// pruneAll drops the traces older than $1, or with an item that is gone.
const pruneAll = `
WITH stale AS (
	SELECT partition, trace FROM trace WHERE at < $1
	UNION SELECT partition, trace FROM ` + traceItems + ` t WHERE NOT shared AND NOT EXISTS (
		SELECT 1 FROM item i WHERE i.partition = t.partition AND i.item = t.owner AND t.owner_kind = 'item')
	AND NOT EXISTS (
		SELECT 1 FROM episode e WHERE e.partition = t.partition AND e.episode = t.owner AND t.owner_kind = 'episode')
)
DELETE FROM trace USING stale WHERE trace.partition = stale.partition AND trace.trace = stale.trace`

// Prune implements storage.Cleaner.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	if s.closed.Load() {
		return 0, storage.ErrClosed
	}
	done, err := s.pool.Exec(ctx, pruneAll, memory.Micros(before))
	return int(done.RowsAffected()), s.failure(ctx, "prune", err)
}

// pruneShown drops the traces that showed certain shared rows.
const pruneShown = `
WITH stale AS (
	SELECT DISTINCT partition, trace FROM ` + traceItems + ` t WHERE position('` + memory.TracedShared + `' IN items) > 0 AND shared AND owner = ANY($1::text[])
)
DELETE FROM trace USING stale WHERE trace.partition = stale.partition AND trace.trace = stale.trace`

// PruneShown implements storage.Cleaner.
func (s *Store) PruneShown(ctx context.Context, owners []string) (int, error) {
	if s.closed.Load() {
		return 0, storage.ErrClosed
	}
	done, err := s.pool.Exec(ctx, pruneShown, owners)
	return int(done.RowsAffected()), s.failure(ctx, "prune", err)
}

// Residue implements storage.Cleaner.
func (s *Store) Residue() string {
	return "dead rows go with VACUUM; the server's own files, its write-ahead log, replicas and backups follow their own retention"
}

// Audit implements storage.Cleaner.
func (s *Store) Audit(ctx context.Context, p storage.AuditParams) (list []storage.Finding, err error) {
	for _, q := range wipe.Audit {
		sql, args := q.Statement(p, func(n int) string { return "$" + strconv.Itoa(n) })
		n, err := query(ctx, s, "audit", sql, pgx.RowTo[int64], args...)
		if err != nil {
			return nil, err
		}
		if n[0] > 0 {
			list = append(list, storage.Finding{Topic: q.Topic, What: q.What, Count: int(n[0])})
		}
	}
	return list, nil
}
