package sqlite

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/internal/wipe"
)

// Episodes implements storage.Eraser.
func (t *tx) Episodes(ctx context.Context, ids []string) ([]memory.Episode, error) {
	return readEpisodes(ctx, t.c, t.head.Partition, ids)
}

// Entries implements storage.Eraser.
func (t *tx) Entries(ctx context.Context, at []time.Time, fn func(memory.Entry) error) error {
	args, of := []any{t.head.Partition, t.head.LedgerSeq}, ` ORDER BY seq`
	if at != nil {
		moments, err := json.Marshal(storage.Micros(at))
		if err != nil {
			return err
		}
		// By their moments, not by their numbers: hence the plus.
		args, of = append(args, string(moments)), ` AND at IN (SELECT value FROM json_each(?3)) ORDER BY +seq`
	}
	return t.c.each(ctx, `SELECT `+entryColumns+` FROM ledger WHERE partition = ?1 AND +seq <= ?2`+of,
		args, func(row scanner) error {
			var e memory.Entry
			if err := scanEntry(row, &e); err != nil {
				return err
			}
			return fn(e)
		})
}

// Bearing implements storage.Eraser.
func (t *tx) Bearing(ctx context.Context, items, episodes []string) (b storage.Bearing, err error) {
	const ids, others = `(SELECT value FROM json_each(?2))`, `(SELECT value FROM json_each(?3))`
	args := []any{t.head.Partition, jsonList(items), jsonList(episodes)}
	word := func(row scanner, s *string) error { return row.Scan(s) }
	b.Items, err = collect(ctx, t.c, `
SELECT item FROM evidence WHERE partition = ?1 AND episode IN `+others+`
UNION SELECT item FROM item_derivation WHERE partition = ?1 AND source IN `+ids+`
UNION SELECT item FROM item WHERE partition = ?1 AND supersedes IN `+ids, args, word)
	if err != nil {
		return b, err
	}
	b.Decisions, err = collect(ctx, t.c, `SELECT `+decisionColumns+` FROM decision WHERE partition = ?1
AND (item IN `+ids+` OR superseded IN `+ids+` OR episode IN `+others+`) ORDER BY decision`, args, scanDecision)
	if err != nil {
		return b, err
	}
	b.Traces, err = collect(ctx, t.c, `SELECT DISTINCT trace FROM `+traceItems+` WHERE partition = ?1
AND (owner_kind = 'item' AND owner IN `+ids+` OR owner_kind = 'episode' AND owner IN `+others+`) ORDER BY trace`, args, word)
	if err != nil {
		return b, err
	}
	b.Receipts, err = collect(ctx, t.c, `SELECT partition, key, body, result, at FROM idempotency WHERE partition = ?1 ORDER BY key`,
		args[:1], func(row scanner, r *storage.IdempotencyRecord) error {
			return row.Scan(&r.Partition, &r.Key, &r.Body, &r.Result, scanTime(&r.At))
		})
	return b, err
}

// Contributed implements storage.Eraser.
func (t *tx) Contributed(ctx context.Context, userID string) (items, episodes []string, err error) {
	args := []any{t.head.Partition, userID}
	word := func(row scanner, s *string) error { return row.Scan(s) }
	items, err = collect(ctx, t.c, `SELECT item FROM item WHERE partition = ?1 AND user_id = ?2 ORDER BY item`, args, word)
	if err != nil {
		return nil, nil, err
	}
	episodes, err = collect(ctx, t.c, `SELECT episode FROM episode WHERE partition = ?1 AND user_id = ?2 ORDER BY episode`, args, word)
	return items, episodes, err
}

// Erase implements storage.Eraser. The connection overwrites what it deletes
// (secure_delete); what is left in other places is for Scrub.
func (t *tx) Erase(ctx context.Context, e storage.Erasure) (storage.Erased, error) {
	out := storage.Erased{Rows: map[string]int{}}
	dropped, err := collect(ctx, t.c, wipe.Summaries("?1", "(SELECT value FROM json_each(?2))"),
		[]any{t.head.Partition, jsonList(e.Episodes)}, func(row scanner, id *string) error { return row.Scan(id) })
	if t.noted(err) != nil {
		return out, t.err
	}
	if len(dropped) > 0 {
		out.Rows[storage.Summaries] = len(dropped)
	}
	for _, s := range wipe.Steps {
		sql, lists := s.Statement(&e, "?1", func(n int) string {
			return "(SELECT value FROM json_each(?" + strconv.Itoa(n) + "))"
		})
		if s.Idle(&e, lists) {
			continue
		}
		args := []any{t.head.Partition}
		for _, l := range lists {
			args = append(args, jsonList(l))
		}
		ids, err := collect(ctx, t.c, sql, args, func(row scanner, id *string) error { return row.Scan(id) })
		if t.noted(err) != nil {
			return out, t.err
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
	mark := `UPDATE partition SET erased = change WHERE partition = ?1`
	if e.All {
		mark = `UPDATE partition SET erased = change, name = '' WHERE partition = ?1`
	}
	if err := t.run(ctx, mark, t.head.Partition); err != nil {
		return out, err
	}
	return out, t.run(ctx, `INSERT INTO erasure (partition, erasure, at) VALUES (?1, ?2, ?3)`,
		t.head.Partition, e.ID, memory.Micros(e.At))
}

// Pending implements storage.Cleaner.
func (s *Store) Pending(ctx context.Context) (n int, err error) {
	err = s.view(ctx, func(c *conn) error { return c.row(ctx, `SELECT count(*) FROM erasure`, nil, &n) })
	return n, err
}

// Scrub implements storage.Cleaner: the file is written anew without its free
// pages, and the write-ahead log, which holds the old ones, is emptied. A reader
// that still looks at an older state keeps the log from it. secure_delete alone
// has overwritten the deleted cells, but neither the copies that balancing pages may
// have left nor the log, and incremental_vacuum moves whole pages: only a new file
// is sure to hold live rows alone.
func (s *Store) Scrub(ctx context.Context) (pending int, err error) {
	var done []string
	err = s.with(ctx, s.writer, func(c *conn) error {
		if err := c.connect(ctx); err != nil {
			return err
		}
		if err := c.each(ctx, `SELECT erasure FROM erasure`, nil, func(row scanner) error {
			var id string
			err := row.Scan(&id)
			done = append(done, id)
			return err
		}); err != nil || len(done) == 0 {
			return err
		}
		emptied, err := c.rewrite(ctx)
		if err != nil || !emptied {
			return err
		}
		return c.transaction(ctx, "BEGIN IMMEDIATE", func(c *conn) error {
			return c.run(ctx, `DELETE FROM erasure WHERE erasure IN (SELECT value FROM json_each(?1))`, jsonList(done))
		})
	})
	if err != nil || len(done) == 0 {
		return 0, err
	}
	return s.Pending(ctx)
}

// rewrite copies the file without free pages and empties the log; emptied is
// false if a reader or another writer is in the way.
func (c *conn) rewrite(ctx context.Context) (emptied bool, err error) {
	if err := c.run(ctx, `VACUUM`); isBusy(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	var busy, frames, moved int
	err = c.row(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`, nil, &busy, &frames, &moved)
	if isBusy(err) {
		return false, nil
	}
	return busy == 0, err
}

// Due implements storage.Cleaner.
func (s *Store) Due(ctx context.Context, now time.Time) (list []memory.Partition, err error) {
	const expired = `SELECT partition FROM item WHERE expires_at <= ?1 UNION SELECT partition FROM episode WHERE expires_at <= ?1`
	err = s.view(ctx, func(c *conn) error {
		list, err = collect(ctx, c, `SELECT tenant, kind, name FROM partition WHERE partition IN (`+expired+`) ORDER BY partition`,
			[]any{memory.Micros(now)}, func(row scanner, p *memory.Partition) error { return row.Scan(&p.Tenant, &p.Kind, &p.Name) })
		return err
	})
	return list, err
}

// stale are traces older than ?1, or with an item that is gone.
const stale = `
SELECT partition, trace FROM trace WHERE at < ?1
UNION SELECT partition, trace FROM ` + traceItems + ` t WHERE NOT shared AND NOT EXISTS (
	SELECT 1 FROM item i WHERE i.partition = t.partition AND i.item = t.owner AND t.owner_kind = 'item')
AND NOT EXISTS (
	SELECT 1 FROM episode e WHERE e.partition = t.partition AND e.episode = t.owner AND t.owner_kind = 'episode')`

// Prune implements storage.Cleaner.
func (s *Store) Prune(ctx context.Context, before time.Time) (int, error) {
	return s.dropTraces(ctx, stale, memory.Micros(before))
}

// PruneShown implements storage.Cleaner.
func (s *Store) PruneShown(ctx context.Context, owners []string) (int, error) {
	return s.dropTraces(ctx, `SELECT DISTINCT partition, trace FROM `+traceItems+`
WHERE instr(items, '`+memory.TracedShared+`') > 0 AND shared AND owner IN (SELECT value FROM json_each(?1))`, jsonList(owners))
}

// dropTraces drops the traces that a query selects.
func (s *Store) dropTraces(ctx context.Context, selected string, arg any) (n int, err error) {
	err = s.write(ctx, func(c *conn) error {
		type key struct{ partition, trace string }
		list, err := collect(ctx, c, selected, []any{arg}, func(row scanner, k *key) error {
			return row.Scan(&k.partition, &k.trace)
		})
		n = len(list)
		for _, k := range list {
			if err := c.run(ctx, `DELETE FROM trace WHERE partition = ?1 AND trace = ?2`, k.partition, k.trace); err != nil {
				return err
			}
		}
		return err
	})
	return n, err
}

// Residue implements storage.Cleaner.
func (s *Store) Residue() string {
	return "copies of the file made elsewhere (backups, snapshots, blocks that the disk has not reused) are outside of this program"
}

// Audit implements storage.Cleaner.
func (s *Store) Audit(ctx context.Context, p storage.AuditParams) (list []storage.Finding, err error) {
	err = s.view(ctx, func(c *conn) error {
		for _, q := range wipe.Audit {
			f := storage.Finding{Topic: q.Topic, What: q.What}
			sql, args := q.Statement(p, func(n int) string { return "?" + strconv.Itoa(n) })
			if err := c.row(ctx, sql, args, &f.Count); err != nil {
				return err
			}
			if f.Count > 0 {
				list = append(list, f)
			}
		}
		return nil
	})
	return list, err
}
