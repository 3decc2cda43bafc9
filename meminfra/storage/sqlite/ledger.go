package sqlite

import (
	"context"
	"errors"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

const entryColumns = `partition, seq, operation, objects, at, alg, key_id, prev, hash`

var insertEntry = insertInto("ledger", entryColumns)

// AppendEntries implements storage.Tx.
func (t *tx) AppendEntries(ctx context.Context, list []memory.Entry) error {
	err := put(ctx, t, insertEntry, list, func(e *memory.Entry) ([]any, error) {
		return []any{
			t.head.Partition, e.Seq, e.Operation, string(memory.AppendObjects(nil, e.Objects)), memory.Micros(e.At), e.Alg,
			e.KeyID, blob(e.Prev), blob(e.Hash),
		}, nil
	})
	if err == nil && len(list) > 0 {
		last := list[len(list)-1]
		t.ledgerSeq, t.ledgerHead = last.Seq, last.Hash
	}
	return err
}

// entriesPage is how many ledger entries are read before fn sees them.
const entriesPage = 1000

// Entries implements storage.Reader. It reads page by page and holds no
// connection while fn runs, which may read from the store itself. Entries are
// only ever appended, so ending where the ledger ended at the start makes the
// pages one snapshot.
func (s *Store) Entries(ctx context.Context, partition string, after int64, fn func(memory.Entry) error) error {
	heads, err := s.Heads(ctx, partition)
	if err != nil {
		return err
	}
	for end := heads[partition].LedgerSeq; after < end; {
		page, err := s.entries(ctx, partition, after, end)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			if err := errors.Join(ctx.Err(), fn(e)); err != nil {
				return err
			}
		}
		after = page[len(page)-1].Seq
	}
	return nil
}

func (s *Store) entries(ctx context.Context, partition string, after, end int64) (page []memory.Entry, err error) {
	err = s.view(ctx, func(c *conn) error {
		page, err = collect(ctx, c, `SELECT `+entryColumns+` FROM ledger
WHERE partition = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4`,
			[]any{partition, after, end, entriesPage}, scanEntry)
		return err
	})
	return page, err
}

func scanEntry(row scanner, e *memory.Entry) error {
	return row.Scan(&e.Partition, &e.Seq, &e.Operation, scanObjects(&e.Objects), scanTime(&e.At), &e.Alg, &e.KeyID,
		&e.Prev, &e.Hash)
}
