package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// endTimeout bounds the end of a transaction, which no caller's context cuts
// short: a commit that was sent must come to a known end.
const endTimeout = 30 * time.Second

// takePartition makes or raises the partition's row and keeps it locked. READ
// COMMITTED is enough: whoever waits here goes on with the row as it was last
// committed, and each later statement sees all commits before it. An erasure may
// have emptied its name.
const takePartition = `
INSERT INTO partition (partition, tenant, kind, name, change, created_at) VALUES ($1, $2, $3, $4, 1, $5)
ON CONFLICT (partition) DO UPDATE SET change = partition.change + 1, name = excluded.name
RETURNING change, seq, erased, ledger_seq, ledger_head`

// Update implements storage.Store.
func (s *Store) Update(ctx context.Context, p memory.Partition, fn func(storage.Tx) error) error {
	if s.closed.Load() {
		return storage.ErrClosed
	}
	id := p.ID()
	leave, err := s.writers.enter(ctx, id)
	if err != nil {
		return s.failure(ctx, "update", err)
	}
	defer leave()

	t, err := s.begin(ctx, p, id)
	if err != nil {
		return s.failure(ctx, "update", err)
	}
	defer t.rollback(ctx) // after a commit it does nothing; it also runs when fn panics
	if err := fn(t); err != nil {
		return err
	}
	return t.commit(ctx)
}

// begin starts the transaction and takes the partition, in one round trip.
func (s *Store) begin(ctx context.Context, p memory.Partition, id string) (*tx, error) {
	t := &tx{store: s, tenant: p.Tenant, head: storage.Head{Partition: id}}
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	b.Queue(takePartition, id, p.Tenant, string(p.Kind), p.Name, time.Now().UnixMicro()).QueryRow(func(row pgx.Row) error {
		h := &t.head
		return row.Scan(&h.Change, &h.Seq, &h.Erased, &h.LedgerSeq, blob{&h.LedgerHead})
	})
	results := s.pool.SendBatch(ctx, &b)
	err := results.Close()
	t.sql = results.Tx()
	if err != nil {
		if t.sql != nil {
			t.rollback(ctx)
		}
		return nil, err
	}
	t.seq, t.ledgerSeq, t.ledgerHead = t.head.Seq, t.head.LedgerSeq, t.head.LedgerHead
	return t, nil
}

// tx is one commit. It is used by one goroutine.
type tx struct {
	store  *Store
	tenant string
	sql    pgx.Tx
	head   storage.Head // as of the start, with this commit's change number
	err    error        // the first failed statement, which the commit cannot outlive

	seq        int64
	ledgerSeq  int64
	ledgerHead []byte
}

var _ storage.Tx = (*tx)(nil)

// Head implements storage.Tx.
func (t *tx) Head() storage.Head { return t.head }

// NextSeq implements storage.Tx.
func (t *tx) NextSeq(n int) int64 {
	first := t.seq + 1
	t.seq += int64(n)
	return first
}

// commit writes the counters back and ends the transaction.
func (t *tx) commit(ctx context.Context) error {
	if t.err != nil {
		return t.err
	}
	if t.seq != t.head.Seq || t.ledgerSeq != t.head.LedgerSeq {
		t.exec(ctx, "update", `UPDATE partition SET seq = $2, ledger_seq = $3, ledger_head = $4 WHERE partition = $1`,
			t.head.Partition, t.seq, t.ledgerSeq, t.ledgerHead)
	}
	if t.err == nil && ctx.Err() != nil {
		t.err = t.store.failure(ctx, "update", ctx.Err())
	}
	if t.err != nil {
		return t.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := t.store.failure(ctx, "commit", t.sql.Commit(ctx)); errors.Is(err, storage.ErrUnreachable) {
		return fmt.Errorf("%w; it is not known whether the commit arrived", err)
	} else if err != nil {
		return err
	}
	return nil
}

func (t *tx) rollback(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	_ = t.sql.Rollback(ctx) // a connection that cannot roll back is closed, which does
}

// failed notes the first failure: the server undoes everything from then on.
func (t *tx) failed(ctx context.Context, op string, err error) error {
	err = t.store.failure(ctx, op, err)
	if t.err == nil && err != nil && !errors.Is(err, storage.ErrNotFound) {
		t.err = err
	}
	return err
}

func (t *tx) exec(ctx context.Context, op, sql string, args ...any) error {
	_, err := t.sql.Exec(ctx, sql, args...)
	return t.failed(ctx, op, err)
}

// send runs queued queries in one round trip.
func (t *tx) send(ctx context.Context, op string, b *pgx.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	return t.failed(ctx, op, t.sql.SendBatch(ctx, b).Close())
}

// insert copies n new rows into a table.
func (t *tx) insert(ctx context.Context, table string, columns []string, n int, row func(i int) ([]any, error)) error {
	if n == 0 {
		return nil
	}
	op := "insert into " + table
	rows := make([][]any, n)
	for i := range rows { // before the copy begins, which would turn an error here into one of the server
		values, err := row(i)
		if err != nil {
			return t.failed(ctx, op, err)
		}
		rows[i] = values
	}
	_, err := t.sql.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
	return t.failed(ctx, op, err)
}

// read runs a query within the commit and scans its rows.
func read[T any](ctx context.Context, t *tx, op, sql string, scan pgx.RowToFunc[T], args ...any) ([]T, error) {
	rows, err := t.sql.Query(ctx, sql, args...)
	if err != nil {
		return nil, t.failed(ctx, op, err)
	}
	list, err := pgx.AppendRows([]T(nil), rows, scan)
	return list, t.failed(ctx, op, err)
}

// lanes lets one writer of a partition through at a time. The row lock does
// that too, across processes; queueing here keeps the writers that wait for
// one busy partition from holding the connections that others need.
type lanes struct {
	mu   sync.Mutex
	open map[string]*lane
}

type lane struct {
	turn  chan struct{}
	users int
}

// enter waits for the partition's turn and returns how to leave.
func (l *lanes) enter(ctx context.Context, partition string) (leave func(), err error) {
	l.mu.Lock()
	if l.open == nil {
		l.open = map[string]*lane{}
	}
	own := l.open[partition]
	if own == nil {
		own = &lane{turn: make(chan struct{}, 1)}
		l.open[partition] = own
	}
	own.users++
	l.mu.Unlock()

	forget := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(l.open, partition)
		}
	}
	select {
	case own.turn <- struct{}{}:
		return func() { <-own.turn; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
}
