package sqlite

import (
	"context"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// takePartition makes or raises the partition's row. An erasure may have emptied
// its name.
const takePartition = `
INSERT INTO partition (partition, tenant, kind, name, change, created_at) VALUES (?1, ?2, ?3, ?4, 1, ?5)
ON CONFLICT (partition) DO UPDATE SET change = change + 1, name = excluded.name
RETURNING change, seq, erased, ledger_seq, ledger_head`

// Update implements storage.Store.
func (s *Store) Update(ctx context.Context, p memory.Partition, fn func(storage.Tx) error) error {
	return s.write(ctx, func(c *conn) error {
		t := &tx{c: c, tenant: p.Tenant, head: storage.Head{Partition: p.ID()}}
		if err := t.begin(ctx, p); err != nil {
			return err
		}
		if err := fn(t); err != nil {
			return err
		}
		return t.finish(ctx)
	})
}

// tx is one commit. It is used by one goroutine.
type tx struct {
	c      *conn
	tenant string
	head   storage.Head // as of the start, with this commit's change number
	err    error        // of the first write that failed, which the commit cannot outlive

	seq        int64
	ledgerSeq  int64
	ledgerHead []byte
}

var _ storage.Tx = (*tx)(nil)

func (t *tx) begin(ctx context.Context, p memory.Partition) error {
	h := &t.head
	args := []any{h.Partition, p.Tenant, string(p.Kind), p.Name, time.Now().UnixMicro()}
	err := t.c.row(ctx, takePartition, args, &h.Change, &h.Seq, &h.Erased, &h.LedgerSeq, &h.LedgerHead)
	t.seq, t.ledgerSeq, t.ledgerHead = h.Seq, h.LedgerSeq, h.LedgerHead
	return err
}

// finish writes the counters back. A failed write ends the commit even if fn
// went on after it, as it does on PostgreSQL.
func (t *tx) finish(ctx context.Context) error {
	if t.err != nil || t.seq == t.head.Seq && t.ledgerSeq == t.head.LedgerSeq {
		return t.err
	}
	return t.run(ctx, `UPDATE partition SET seq = ?2, ledger_seq = ?3, ledger_head = ?4 WHERE partition = ?1`,
		t.head.Partition, t.seq, t.ledgerSeq, t.ledgerHead)
}

// Head implements storage.Tx.
func (t *tx) Head() storage.Head { return t.head }

// NextSeq implements storage.Tx.
func (t *tx) NextSeq(n int) int64 {
	first := t.seq + 1
	t.seq += int64(n)
	return first
}

// run executes one write.
func (t *tx) run(ctx context.Context, query string, args ...any) error {
	return t.noted(t.c.run(ctx, query, args...))
}

// noted keeps the first failure and gives it the sentinel it means.
func (t *tx) noted(err error) error {
	err = classify(err)
	if t.err == nil {
		t.err = err
	}
	return err
}

// put executes one write for each element of list.
func put[T any](ctx context.Context, t *tx, query string, list []T, args func(*T) ([]any, error)) error {
	return t.noted(insert(ctx, t.c, query, list, args))
}
