package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// pruneEvery is how many traces a process writes between two prunings.
const pruneEvery = 64

const (
	traceColumns = `partition, trace, kind, query, route, intent, degraded, model, prompt_hash, rungs, items, handed, at`

	// prune drops up to 1,000 traces of a partition older than ?2.
	prune = `DELETE FROM trace WHERE partition = ?1 AND trace IN (
	SELECT trace FROM trace WHERE partition = ?1 AND at < ?2 ORDER BY at LIMIT 1000)`

	// traceItems are what the traces showed, as rows.
	traceItems = `(
	SELECT t.partition, t.trace, t.at, t.items, i.value ->> 'owner' AS owner, i.value ->> 'kind' AS owner_kind,
		coalesce(i.value ->> 'shared', FALSE) AS shared
	FROM trace t, json_each(t.items) i)`
)

var insertTrace = insertInto("trace", traceColumns)

// PutTrace implements storage.Store. It does not wait for a commit that is under
// way: whoever makes it writes the trace after it, and if that fails, the trace
// is lost. A writer of another process is waited for.
func (s *Store) PutTrace(ctx context.Context, t memory.Trace) error {
	c, err := s.writerOrLeave(&t)
	if c == nil {
		return err
	}
	defer s.release(c)
	return classify(c.transaction(ctx, beginWrite, func(c *conn) error { return s.insertTrace(ctx, c, &t) }))
}

// writerOrLeave returns the writer connection if it is free, to be given back by
// release; if not, the trace is left to whoever has it, and nil is returned.
func (s *Store) writerOrLeave(t *memory.Trace) (*conn, error) {
	s.left.Lock()
	defer s.left.Unlock()
	select {
	case <-s.closing:
		return nil, storage.ErrClosed
	default:
	}
	select {
	case c := <-s.writer:
		return c, nil
	default:
		s.left.traces = append(s.left.traces, *t)
		return nil, nil
	}
}

// release gives the writer connection back, once the traces that were left are
// written. Of those left meanwhile whoever waits for the connection takes care, or it
// does: searches that leave one after the other keep nobody waiting.
func (s *Store) release(c *conn) {
	for c != nil {
		s.writeLeft(c)
		s.left.Lock()
		more := len(s.left.traces) > 0
		s.writer <- c // it has room: this is the one connection
		s.left.Unlock()
		c = nil
		if more {
			select {
			case c = <-s.writer:
			default:
			}
		}
	}
}

// writeLeft writes the traces that were left: together, so that it takes no time to
// speak of.
func (s *Store) writeLeft(c *conn) {
	s.left.Lock()
	list := s.left.traces
	s.left.Unlock()
	if len(list) == 0 {
		return
	}
	ctx := context.Background() // those who left them have gone on
	_ = c.transaction(ctx, beginWrite, func(c *conn) error {
		for i := range list {
			if err := s.insertTrace(ctx, c, &list[i]); err != nil {
				return err
			}
		}
		return nil
	})
	s.left.Lock()
	s.left.traces = slices.Clone(s.left.traces[len(list):])
	s.left.Unlock()
}

// insertTrace writes a trace. Old traces are dropped in the
// partition being written, with the first trace of a process and every 64th
// after it.
func (s *Store) insertTrace(ctx context.Context, c *conn, t *memory.Trace) error {
	degraded, err := storeList(t.Degraded)
	if err != nil {
		return err
	}
	rungs, err := storeList(t.Rungs)
	if err != nil {
		return err
	}
	items, err := memory.FormatTraceItems(t.Items)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // watching it would cost more than it takes
	err = c.run(ctx, insertTrace, t.Partition, t.ID, t.Kind, t.Query, t.Route, t.Intent, degraded,
		t.Model, t.PromptHash, rungs, items, blob(t.Handed), memory.Micros(t.At))
	if err == nil && s.traces.Add(1)%pruneEvery == 1 {
		err = c.run(ctx, prune, t.Partition, memory.Micros(t.At.Add(-memory.TraceRetention)))
	}
	return err
}

// Resolve implements storage.Store.
func (s *Store) Resolve(ctx context.Context, p storage.ResolveParams) (out storage.Resolved, err error) {
	if p.Trace == nil {
		return out, s.glance(ctx, func(c *conn) error { return readResolved(ctx, c, p, &out) })
	}
	if c := s.freeWriter(); c != nil {
		defer s.release(c)
		return s.resolveAndTrace(ctx, c, p)
	}
	if err := s.view(ctx, func(c *conn) error { return readResolved(ctx, c, p, &out) }); err != nil {
		return storage.Resolved{}, err
	}
	out.TraceErr = s.PutTrace(ctx, *p.Trace)
	return out, nil
}

// resolveAndTrace reads and writes in one transaction, which does not wait before
// it reads. If another process writes meanwhile, the trace needs one of its own.
func (s *Store) resolveAndTrace(ctx context.Context, c *conn, p storage.ResolveParams) (out storage.Resolved, err error) {
	read := false
	err = c.transaction(ctx, beginRead, func(c *conn) error {
		if err := readResolved(ctx, c, p, &out); err != nil {
			return err
		}
		read = true
		return s.insertTrace(ctx, c, p.Trace)
	})
	if err != nil && (!read || ctx.Err() != nil) {
		return storage.Resolved{}, classify(err)
	}
	if err != nil {
		out.TraceErr = classify(c.transaction(ctx, beginWrite, func(c *conn) error { return s.insertTrace(ctx, c, p.Trace) }))
	}
	return out, nil
}

func readResolved(ctx context.Context, c *conn, p storage.ResolveParams, out *storage.Resolved) (err error) {
	ctx = context.WithoutCancel(ctx) // watching it would cost more than these look-ups take
	if len(p.Items) > 0 {
		if out.Items, err = readItems(ctx, c, p.Partition, p.Items); err != nil {
			return err
		}
	}
	if len(p.Episodes) > 0 {
		out.Episodes, err = readEpisodes(ctx, c, p.Partition, p.Episodes)
	}
	return err
}

// Trace implements storage.Reader.
func (s *Store) Trace(ctx context.Context, partition, id string) (t memory.Trace, err error) {
	if t, ok := s.leftTrace(partition, id); ok {
		return t, nil
	}
	err = s.view(ctx, func(c *conn) error { t, err = readTrace(ctx, c, partition, id); return err })
	return t, err
}

// Trace implements storage.Tx. A trace that was left to a writer is written by
// now: see write.
func (t *tx) Trace(ctx context.Context, id string) (memory.Trace, error) {
	return readTrace(ctx, t.c, t.head.Partition, id)
}

func readTrace(ctx context.Context, c *conn, partition, id string) (t memory.Trace, err error) {
	var items string
	err = c.row(ctx, `SELECT `+traceColumns+` FROM trace WHERE partition = ?1 AND trace = ?2`, []any{partition, id},
		&t.Partition, &t.ID, &t.Kind, &t.Query, &t.Route, &t.Intent, scanList(&t.Degraded),
		&t.Model, &t.PromptHash, scanList(&t.Rungs), &items, scanBytes(&t.Handed), scanTime(&t.At))
	if errors.Is(err, sql.ErrNoRows) {
		return memory.Trace{}, storage.ErrNotFound
	}
	if err != nil {
		return memory.Trace{}, err
	}
	t.Items, err = memory.ParseTraceItems(items)
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

// leftTrace is a trace that waits to be written.
func (s *Store) leftTrace(partition, id string) (memory.Trace, bool) {
	s.left.Lock()
	defer s.left.Unlock()
	i := slices.IndexFunc(s.left.traces, func(t memory.Trace) bool { return t.Partition == partition && t.ID == id })
	if i < 0 {
		return memory.Trace{}, false
	}
	return s.left.traces[i], true
}

// FirstShown implements storage.Reader.
func (s *Store) FirstShown(ctx context.Context, partition string, since time.Time, owners []string) (map[string]time.Time, error) {
	first := make(map[string]time.Time, len(owners))
	traced := make([]string, len(owners))
	of := make(map[string]string, len(owners))
	for i, id := range owners {
		traced[i] = memory.TracedOwner(id)
		of[traced[i]] = id
	}
	err := s.view(ctx, func(c *conn) error {
		return c.each(ctx, `
SELECT w.value, min(t.at) FROM trace t JOIN json_each(?3) w ON instr(t.items, w.value) > 0
WHERE t.partition = ?1 AND t.at >= ?2 GROUP BY w.value`,
			[]any{partition, memory.Micros(since), jsonList(traced)}, func(row scanner) error {
				var traced string
				var at time.Time
				err := row.Scan(&traced, scanTime(&at))
				first[of[traced]] = at
				return err
			})
	})
	return first, err
}

const feedbackColumns = `partition, feedback, trace, reward, key, at, change, salt`

func scanFeedback(row scanner, f *storage.Feedback) error {
	return row.Scan(&f.Partition, &f.ID, &f.TraceID, &f.Reward, &f.Key, scanTime(&f.At), &f.Change, &f.Salt)
}

var insertFeedback = insertInto("feedback", feedbackColumns)

// InsertFeedback implements storage.Tx.
func (t *tx) InsertFeedback(ctx context.Context, list []storage.Feedback) error {
	return put(ctx, t, insertFeedback, list, func(f *storage.Feedback) ([]any, error) {
		return []any{
			t.head.Partition, f.ID, f.TraceID, f.Reward, f.Key, memory.Micros(f.At), t.head.Change, blob(f.Salt),
		}, nil
	})
}
