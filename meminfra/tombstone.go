package meminfra

import (
	"context"
	"encoding/hex"

	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// opForget is the operation of the ledger entries that name erased rows.
const opForget = "forget"

// entryObjects is how many rows one tombstone names at most.
const entryObjects = 1000

// entomb appends the tombstone of erased rows: each by kind, id, and the digest
// that the ledger has of it, which no longer fits anything, because its salt
// went with the row.
func (m *MemoryLayer) entomb(ctx context.Context, tx storage.Tx, chain *ledger.Chain, gone []memory.Object, c *Certificate) error {
	named, err := recorded(ctx, tx, gone)
	if err != nil {
		return err
	}
	var list []memory.Entry
	for first := true; first || len(named) > 0; first = false {
		n := min(len(named), entryObjects)
		list = append(list, chain.Append(tx.Head().Partition, opForget, c.At, named[:n]))
		c.Tombstones += n
		named = named[n:]
	}
	last := list[len(list)-1]
	c.LedgerSeq, c.LedgerHash = last.Seq, hex.EncodeToString(last.Hash)
	return tx.AppendEntries(ctx, list)
}

// recorded finds the digests of rows in the ledger, in its order. A state that
// was closed is named twice, by its row and by its closing.
func recorded(ctx context.Context, tx storage.Tx, gone []memory.Object) ([]memory.Object, error) {
	type row struct{ kind, id string }
	want := make(map[row]bool, len(gone))
	for _, o := range gone {
		want[row{o.Kind, o.ID}] = true
		if o.Kind == ledger.KindState {
			want[row{ledger.KindClose, o.ID}] = true
		}
	}
	var found []memory.Object
	at := map[row]int{}
	err := tx.Entries(ctx, 0, func(e memory.Entry) error {
		for _, o := range e.Objects {
			key := row{o.Kind, o.ID}
			if !want[key] {
				continue
			}
			if i, again := at[key]; again {
				found[i] = o
				continue
			}
			at[key] = len(found)
			found = append(found, o)
		}
		return nil
	})
	return found, err
}
