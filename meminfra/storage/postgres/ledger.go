package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// AppendEntries implements storage.Tx.
func (t *tx) AppendEntries(ctx context.Context, list []memory.Entry) error {
	columns := []string{"partition", "seq", "operation", "objects", "at", "alg", "key_id", "prev", "hash"}
	err := t.insert(ctx, "ledger", columns, len(list), func(i int) ([]any, error) {
		e := &list[i]
		return []any{
			t.head.Partition, e.Seq, e.Operation, string(memory.AppendObjects(nil, e.Objects)), memory.Micros(e.At), e.Alg,
			e.KeyID, notNull(e.Prev), notNull(e.Hash),
		}, nil
	})
	if err == nil && len(list) > 0 {
		last := list[len(list)-1]
		t.ledgerSeq, t.ledgerHead = last.Seq, last.Hash
	}
	return err
}

const selectEntry = `SELECT partition, seq, operation, objects, at, alg, key_id, prev, hash FROM ledger`

// Entries implements storage.Reader.
func (s *Store) Entries(ctx context.Context, partition string, after int64, fn func(memory.Entry) error) error {
	if s.closed.Load() {
		return storage.ErrClosed
	}
	rows, err := s.pool.Query(ctx, selectEntry+` WHERE partition = $1 AND seq > $2 ORDER BY seq`, partition, after)
	if err != nil {
		return s.failure(ctx, "entries", err)
	}
	defer rows.Close()
	for rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return s.failure(ctx, "entries", err)
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	return s.failure(ctx, "entries", rows.Err())
}

func scanEntry(row pgx.CollectableRow) (e memory.Entry, err error) {
	var objects string
	err = row.Scan(&e.Partition, &e.Seq, &e.Operation, &objects, when{&e.At}, &e.Alg, &e.KeyID, blob{&e.Prev}, blob{&e.Hash})
	if err == nil {
		e.Objects, err = memory.ParseObjects(objects)
	}
	return e, err
}
