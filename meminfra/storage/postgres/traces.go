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
WITH old AS (
	SELECT trace FROM trace WHERE partition = $1 AND at < $2 ORDER BY at LIMIT 1000 FOR UPDATE SKIP LOCKED
), dropped AS (
	DELETE FROM trace_item USING old WHERE trace_item.partition = $1 AND trace_item.trace = old.trace
)
DELETE FROM trace USING old WHERE trace.partition = $1 AND trace.trace = old.trace`

// insertTrace writes a trace with all its items in one statement. Its
// transaction does not wait for the disk: what a crash of the server can take is
// the traces of the last moments, and no search pays for that.
const insertTrace = `
WITH put AS (
	INSERT INTO trace (partition, trace, kind, query, route, intent, degraded, model, prompt_hash, rungs, at, handed)
	SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::bigint, $12::bytea FROM set_config('synchronous_commit', 'off', true)
)
INSERT INTO trace_item (partition, trace, rank, owner_kind, owner, shared, opened, cited, authority, score)
SELECT $1, $2, * FROM unnest($13::int[], $14::text[], $15::text[], $16::bool[], $17::bool[], $18::bool[], $19::text[], $20::float8[])`

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
	args := []any{t.Partition, t.ID, t.Kind, t.Query, t.Route, t.Intent, degraded, t.Model, t.PromptHash, rungs, memory.Micros(t.At), notNull(t.Handed)}
	b.Queue(insertTrace, append(args, traceItemColumns(t.Items)...)...)
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

// traceItemColumns turns items into one array for each column.
func traceItemColumns(items []memory.TraceItem) []any {
	n := len(items)
	ranks, scores := make([]int32, n), make([]float64, n)
	kinds, owners, authorities := make([]string, n), make([]string, n), make([]string, n)
	shared, opened, cited := make([]bool, n), make([]bool, n), make([]bool, n)
	for i := range items {
		m := &items[i]
		ranks[i], scores[i] = int32(m.Rank), m.Score
		kinds[i], owners[i], authorities[i] = string(m.OwnerKind), m.OwnerID, m.Authority.String()
		shared[i], opened[i], cited[i] = m.Shared, m.Opened, m.Cited
	}
	return []any{ranks, kinds, owners, shared, opened, cited, authorities, scores}
}

// Trace implements storage.Reader.
func (s *Store) Trace(ctx context.Context, partition, id string) (memory.Trace, error) {
	var r traceReading
	err := s.snapshot(ctx, "trace", func(b *pgx.Batch) { r.ask(b, partition, id) })
	return r.trace(err)
}

// Trace implements storage.Tx.
func (t *tx) Trace(ctx context.Context, id string) (memory.Trace, error) {
	var r traceReading
	var b pgx.Batch
	r.ask(&b, t.head.Partition, id)
	return r.trace(t.send(ctx, "trace", &b))
}

// traceReading collects a trace and its items.
type traceReading struct {
	found []memory.Trace
	items []memory.TraceItem
}

func (r *traceReading) ask(b *pgx.Batch, partition, id string) {
	b.Queue(`
SELECT partition, trace, kind, query, route, intent, degraded, model, prompt_hash, rungs, handed, at FROM trace
WHERE partition = $1 AND trace = $2`, partition, id).Query(into(&r.found, scanTrace))
	b.Queue(`
SELECT rank, owner_kind, owner, shared, opened, cited, authority, score FROM trace_item
WHERE partition = $1 AND trace = $2 ORDER BY shared, rank`, partition, id).Query(into(&r.items, scanTraceItem))
}

// trace is what was read, given the error of reading it.
func (r *traceReading) trace(err error) (memory.Trace, error) {
	t, err := one(r.found, err)
	if err == nil {
		t.Items = r.items
	}
	return t, err
}

func scanTrace(row pgx.CollectableRow) (t memory.Trace, err error) {
	err = row.Scan(&t.Partition, &t.ID, &t.Kind, &t.Query, &t.Route, &t.Intent, names{&t.Degraded},
		&t.Model, &t.PromptHash, names{&t.Rungs}, blob{&t.Handed}, when{&t.At})
	return t, err
}

func scanTraceItem(row pgx.CollectableRow) (m memory.TraceItem, err error) {
	err = row.Scan(&m.Rank, (*string)(&m.OwnerKind), &m.OwnerID, &m.Shared, &m.Opened, &m.Cited, authority{&m.Authority}, &m.Score)
	return m, err
}

// FirstShown implements storage.Reader.
func (s *Store) FirstShown(ctx context.Context, partition string, since time.Time, owners []string) (map[string]time.Time, error) {
	const sql = `
SELECT i.owner, min(t.at) FROM trace_item i JOIN trace t ON t.partition = i.partition AND t.trace = i.trace
WHERE i.partition = $1 AND t.at >= $2 AND i.owner = ANY($3) GROUP BY i.owner`
	first := make(map[string]time.Time, len(owners))
	_, err := query(ctx, s, "first shown", sql, func(row pgx.CollectableRow) (owner string, err error) {
		var at time.Time
		err = row.Scan(&owner, when{&at})
		first[owner] = at
		return owner, err
	}, partition, memory.Micros(since), distinct(owners))
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
