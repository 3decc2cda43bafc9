package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// pruneEvery is how many traces a process writes between two prunings.
const pruneEvery = 64

const (
	traceColumns     = `partition, trace, kind, query, route, intent, degraded, model, prompt_hash, rungs, handed, at`
	traceItemColumns = `rank, owner_kind, owner, shared, opened, cited, authority, score`

	// oldTraces are up to 1,000 traces of a partition older than ?2.
	oldTraces = `(SELECT trace FROM trace WHERE partition = ?1 AND at < ?2 ORDER BY at LIMIT 1000)`
)

var (
	insertTrace     = insertInto("trace", traceColumns)
	insertTraceItem = insertInto("trace_item", traceItemColumns+`, partition, trace`)
)

// PutTrace implements storage.Store. Old traces are dropped in the partition
// being written, with the first trace of a process and every 64th after it.
func (s *Store) PutTrace(ctx context.Context, t memory.Trace) error {
	degraded, err := storeList(t.Degraded)
	if err != nil {
		return err
	}
	rungs, err := storeList(t.Rungs)
	if err != nil {
		return err
	}
	return s.write(ctx, func(c *conn) error {
		err := c.run(ctx, insertTrace, t.Partition, t.ID, t.Kind, t.Query, t.Route, t.Intent, degraded,
			t.Model, t.PromptHash, rungs, blob(t.Handed), memory.Micros(t.At))
		if err != nil {
			return err
		}
		err = insert(ctx, c, insertTraceItem, t.Items, func(m *memory.TraceItem) ([]any, error) {
			return []any{
				m.Rank, string(m.OwnerKind), m.OwnerID, m.Shared, m.Opened, m.Cited, m.Authority.String(), m.Score,
				t.Partition, t.ID,
			}, nil
		})
		if err == nil && s.traces.Add(1)%pruneEvery == 1 {
			err = prune(ctx, c, t.Partition, memory.Micros(t.At.Add(-memory.TraceRetention)))
		}
		return err
	})
}

func prune(ctx context.Context, c *conn, partition string, before int64) error {
	err := c.run(ctx, `DELETE FROM trace_item WHERE partition = ?1 AND trace IN `+oldTraces, partition, before)
	if err != nil {
		return err
	}
	return c.run(ctx, `DELETE FROM trace WHERE partition = ?1 AND trace IN `+oldTraces, partition, before)
}

// Trace implements storage.Reader.
func (s *Store) Trace(ctx context.Context, partition, id string) (t memory.Trace, err error) {
	key := []any{partition, id}
	err = s.view(ctx, func(c *conn) error {
		err := c.row(ctx, `SELECT `+traceColumns+` FROM trace WHERE partition = ?1 AND trace = ?2`, key,
			&t.Partition, &t.ID, &t.Kind, &t.Query, &t.Route, &t.Intent, scanList(&t.Degraded),
			&t.Model, &t.PromptHash, scanList(&t.Rungs), scanBytes(&t.Handed), scanTime(&t.At))
		if err != nil {
			return err
		}
		t.Items, err = collect(ctx, c, `SELECT `+traceItemColumns+` FROM trace_item
WHERE partition = ?1 AND trace = ?2 ORDER BY shared, rank`, key, scanTraceItem)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return memory.Trace{}, storage.ErrNotFound
	}
	return t, err
}

// HandedOut implements storage.Reader.
func (s *Store) HandedOut(ctx context.Context, partition string, since time.Time) (list []storage.Handed, err error) {
	err = s.view(ctx, func(c *conn) error {
		list, err = collect(ctx, c, `SELECT at, handed FROM trace WHERE partition = ?1 AND at >= ?2 AND handed <> x'' ORDER BY at, trace`,
			[]any{partition, memory.Micros(since)}, func(row scanner, h *storage.Handed) error {
				return row.Scan(scanTime(&h.At), scanBytes(&h.Keys))
			})
		return err
	})
	return list, err
}

func scanTraceItem(row scanner, m *memory.TraceItem) error {
	return row.Scan(&m.Rank, &m.OwnerKind, &m.OwnerID, &m.Shared, &m.Opened, &m.Cited, scanAuthority(&m.Authority), &m.Score)
}

var insertFeedback = insertInto("feedback", `partition, feedback, trace, reward, key, at, change, salt`)

// InsertFeedback implements storage.Tx.
func (t *tx) InsertFeedback(ctx context.Context, list []storage.Feedback) error {
	return put(ctx, t, insertFeedback, list, func(f *storage.Feedback) ([]any, error) {
		return []any{
			t.head.Partition, f.ID, f.TraceID, f.Reward, f.Key, memory.Micros(f.At), t.head.Change, blob(f.Salt),
		}, nil
	})
}
