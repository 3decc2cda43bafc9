package meminfra

import (
	"context"
	"encoding/hex"
	"time"

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
// at are the moments at which their commits were made, as far as that is known.
func (m *MemoryLayer) entomb(ctx context.Context, tx storage.Tx, chain *ledger.Chain, gone []memory.Object, at []time.Time, c *Certificate) error {
	named, err := recorded(ctx, tx, gone, at)
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

// row names a row as the ledger does.
type row struct{ kind, id string }

// recorded finds the digests of rows in the ledger, in its order. A state that
// was closed is named twice, by its row and by its closing. What is recorded is
// repeated, and not made anew of the row: Verify wants it so, and tells a row
// that was tampered with until it is forgotten. Entries are read by the moments
// of their commits, and all of them if a row is in none of those.
func recorded(ctx context.Context, tx storage.Tx, gone []memory.Object, at []time.Time) (found []memory.Object, err error) {
	want := make(map[row]bool, len(gone))
	for _, o := range gone {
		want[row{o.Kind, o.ID}] = true
	}
	if at != nil {
		if found, err = named(ctx, tx, want, at); err != nil || hasAll(found, want) {
			return found, err
		}
	}
	return named(ctx, tx, want, nil)
}

func hasAll(found []memory.Object, want map[row]bool) bool {
	n := 0
	for _, o := range found {
		if want[row{o.Kind, o.ID}] {
			n++
		}
	}
	return n == len(want)
}

// named are the objects of entries that are wanted, each once.
func named(ctx context.Context, tx storage.Tx, want map[row]bool, at []time.Time) (found []memory.Object, err error) {
	index := map[row]int{}
	err = tx.Entries(ctx, at, func(e memory.Entry) error {
		for _, o := range e.Objects {
			key, wanted := row{o.Kind, o.ID}, row{o.Kind, o.ID}
			if o.Kind == ledger.KindClose {
				wanted.kind = ledger.KindState
			}
			if !want[wanted] {
				continue
			}
			if i, again := index[key]; again {
				found[i] = o
				continue
			}
			index[key] = len(found)
			found = append(found, o)
		}
		return nil
	})
	return found, err
}
