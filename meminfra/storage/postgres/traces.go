package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// pruneEvery is how many traces a process writes between two prunings.
const pruneEvery = 64

// prune drops up to 1,000 traces of a partition older than $2. Rows that
// another process is dropping are left to it.
const prune = `
DELETE FROM trace WHERE partition = $1 AND trace = ANY(ARRAY(
	SELECT trace FROM trace WHERE partition = $1 AND at < $2 ORDER BY at LIMIT 1000 FOR UPDATE SKIP LOCKED))`

// insertTrace writes a trace. Its transaction does not wait for the disk: what a
// crash of the server can take is the traces of the last moments, and no search
// pays for that.
const insertTrace = `
INSERT INTO trace (partition, trace, kind, query, route, intent, degraded, model, prompt_hash, rungs, items, at, handed)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::bigint, $13::bytea FROM set_config('synchronous_commit', 'off', true)`

// traceItems are what the traces showed, as rows.
const traceItems = `(
	SELECT t.partition, t.trace, t.at, t.items, i.owner COLLATE "C" AS owner, i.kind AS owner_kind, coalesce(i.shared, FALSE) AS shared
	FROM trace t CROSS JOIN LATERAL jsonb_to_recordset(t.items::jsonb) AS i(owner text, kind text, shared boolean))`

// PutTrace implements storage.Store, in one transaction and round trip.
func (s *Store) PutTrace(ctx context.Context, t memory.Trace) error {
	if s.closed.Load() {
		return storage.ErrClosed
	}
	var b pgx.Batch
	if err := s.queueTrace(&b, &t); err != nil {
		return err
	}
	return s.failure(ctx, "put trace", s.pool.SendBatch(ctx, &b).Close())
}

// queueTrace queues what appends a trace. Old traces are pruned in the partition
// being written, with the first trace of a process and every 64th after it.
func (s *Store) queueTrace(b *pgx.Batch, t *memory.Trace) error {
	degraded, err := formatList(t.Degraded)
	if err != nil {
		return err
	}
	rungs, err := formatList(t.Rungs)
	if err != nil {
		return err
	}
	items, err := memory.FormatTraceItems(t.Items)
	if err != nil {
		return err
	}
	b.Queue(insertTrace, t.Partition, t.ID, t.Kind, t.Query, t.Route, t.Intent, degraded, t.Model, t.PromptHash, rungs, items,
		memory.Micros(t.At), notNull(t.Handed))
	if s.traces.Add(1)%pruneEvery == 1 {
		b.Queue(prune, t.Partition, memory.Micros(t.At.Add(-memory.TraceRetention)))
	}
	return nil
}

// Resolve implements storage.Store: a snapshot, and after it the transaction of
// the trace, in one round trip.
func (s *Store) Resolve(ctx context.Context, p storage.ResolveParams) (storage.Resolved, error) {
	if s.closed.Load() {
		return storage.Resolved{}, storage.ErrClosed
	}
	var r records
	var out storage.Resolved
	var b pgx.Batch
	read := false
	b.Queue(beginSnapshot)
	if len(p.Items) > 0 {
		r.ask(&b, byID, p.Partition, distinct(p.Items))
	}
	if len(p.Episodes) > 0 {
		b.Queue(selectEpisode+lookup("episode", "e", "episode", byID), p.Partition, distinct(p.Episodes)).
			Query(into(&out.Episodes, scanEpisode))
	}
	b.Queue(`COMMIT`).Exec(func(pgconn.CommandTag) error { read = true; return nil })
	var traceErr error
	if p.Trace != nil {
		traceErr = s.queueTrace(&b, p.Trace)
	}
	err := s.failure(ctx, "resolve", s.pool.SendBatch(ctx, &b).Close())
	if err != nil && !read {
		return storage.Resolved{}, err
	}
	out.Items = asked(p.Items, r.join(), recordID)
	out.Episodes = asked(p.Episodes, out.Episodes, episodeID)
	out.TraceErr = cmp.Or(traceErr, err)
	return out, nil
}

// Trace implements storage.Reader.
func (s *Store) Trace(ctx context.Context, partition, id string) (memory.Trace, error) {
	return one(query(ctx, s, "trace", selectTrace, scanTrace, partition, id))
}

// Trace implements storage.Tx.
func (t *tx) Trace(ctx context.Context, id string) (memory.Trace, error) {
	return one(read(ctx, t, "trace", selectTrace, scanTrace, t.head.Partition, id))
}

const selectTrace = `
SELECT partition, trace, kind, query, route, intent, degraded, model, prompt_hash, rungs, items, handed, at FROM trace
WHERE partition = $1 AND trace = $2`

func scanTrace(row pgx.CollectableRow) (t memory.Trace, err error) {
	var items string
	err = row.Scan(&t.Partition, &t.ID, &t.Kind, &t.Query, &t.Route, &t.Intent, names{&t.Degraded},
		&t.Model, &t.PromptHash, names{&t.Rungs}, &items, blob{&t.Handed}, when{&t.At})
	if err == nil {
		t.Items, err = memory.ParseTraceItems(items)
	}
	return t, err
}

// FirstShown implements storage.Reader.
func (s *Store) FirstShown(ctx context.Context, partition string, since time.Time, owners []string) (map[string]time.Time, error) {
	const sql = `
SELECT w.owner, min(t.at) FROM trace t JOIN unnest($3::text[], $4::text[]) AS w(owner, traced) ON strpos(t.items, w.traced) > 0
WHERE t.partition = $1 AND t.at >= $2 GROUP BY w.owner`
	owners = distinct(owners)
	traced := make([]string, len(owners))
	for i, id := range owners {
		traced[i] = memory.TracedOwner(id)
	}
	first := make(map[string]time.Time, len(owners))
	_, err := query(ctx, s, "first shown", sql, func(row pgx.CollectableRow) (owner string, err error) {
		var at time.Time
		err = row.Scan(&owner, when{&at})
		first[owner] = at
		return owner, err
	}, partition, memory.Micros(since), owners, traced)
	return first, err
}

// HandedOut implements storage.Reader.
func (s *Store) HandedOut(ctx context.Context, partition string, since time.Time) ([]storage.Handed, error) {
	const sql = `SELECT at, handed FROM trace WHERE partition = $1 AND at >= $2 AND handed <> '' ORDER BY at, trace`
	return query(ctx, s, "handed out", sql, func(row pgx.CollectableRow) (h storage.Handed, err error) {
		err = row.Scan(when{&h.At}, blob{&h.Keys})
		return h, err
	}, partition, memory.Micros(since))
}

// InsertFeedback implements storage.Tx.
func (t *tx) InsertFeedback(ctx context.Context, list []storage.Feedback) error {
	columns := []string{"partition", "feedback", "trace", "reward", "key", "at", "change", "salt"}
	return t.insert(ctx, "feedback", columns, len(list), func(i int) ([]any, error) {
		f := &list[i]
		return []any{t.head.Partition, f.ID, f.TraceID, f.Reward, f.Key, memory.Micros(f.At), t.head.Change, notNull(f.Salt)}, nil
	})
}

const selectFeedback = `SELECT partition, feedback, trace, reward, key, at, change, salt`

func scanFeedback(row pgx.CollectableRow) (f storage.Feedback, err error) {
	err = row.Scan(&f.Partition, &f.ID, &f.TraceID, &f.Reward, &f.Key, when{&f.At}, &f.Change, blob{&f.Salt})
	return f, err
}
