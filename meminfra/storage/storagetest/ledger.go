package storagetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var ledgerTests = []test{
	{name: "entries come back and move the head", run: ledgerEntries},
	{name: "a refused entry moves nothing", run: ledgerRefused},
}

func newEntry(p memory.Partition, seq int64) memory.Entry {
	e := memory.Entry{Partition: p.ID(), Seq: seq, Operation: "add", At: at(int(seq)), Alg: "hmac-sha256", KeyID: "k1",
		Objects: []memory.Object{{Kind: "item", ID: `i"1`, Digest: []byte{0, 255}}, {Kind: "episode", ID: "é", Digest: []byte{1}}},
		Hash:    []byte(fmt.Sprint("hash ", seq))}
	if seq > 1 {
		e.Prev = []byte(fmt.Sprint("hash ", seq-1))
	}
	return e
}

func ledgerEntries(t *testing.T, s storage.Store) {
	want := []memory.Entry{newEntry(ada, 1), newEntry(ada, 2), newEntry(ada, 3)}
	want[2].Objects, want[2].KeyID, want[2].Alg = nil, "", "sha256"
	commit(t, s, ada, func(tx storage.Tx) error {
		check(t, tx.AppendEntries(t.Context(), want[:1]))
		check(t, tx.AppendEntries(t.Context(), nil))
		return tx.AppendEntries(t.Context(), want[1:2])
	})
	same(t, "head", head(t, s, ada), storage.Head{Partition: ada.ID(), Change: 1, LedgerSeq: 2, LedgerHead: want[1].Hash})
	commit(t, s, ada, func(tx storage.Tx) error {
		same(t, "head in the commit", tx.Head(), storage.Head{Partition: ada.ID(), Change: 2, LedgerSeq: 2, LedgerHead: want[1].Hash})
		return tx.AppendEntries(t.Context(), want[2:])
	})
	commit(t, s, bob, func(tx storage.Tx) error { return tx.AppendEntries(t.Context(), []memory.Entry{newEntry(bob, 1)}) })
	same(t, "head", head(t, s, ada), storage.Head{Partition: ada.ID(), Change: 2, LedgerSeq: 3, LedgerHead: want[2].Hash})
	for after := range 4 {
		var got []memory.Entry
		check(t, s.Entries(t.Context(), ada.ID(), int64(after), func(e memory.Entry) error { got = append(got, e); return nil }))
		same(t, fmt.Sprint("entries after ", after), got, want[after:])
	}
	stop, seen := errors.New("stop"), 0
	err := s.Entries(t.Context(), ada.ID(), 0, func(memory.Entry) error { seen++; return stop })
	wantErr(t, "a failing function", err, stop)
	same(t, "entries seen by it", seen, 1)
}

func ledgerRefused(t *testing.T, s storage.Store) {
	commit(t, s, ada, func(tx storage.Tx) error { return tx.AppendEntries(t.Context(), []memory.Entry{newEntry(ada, 1)}) })
	before := head(t, s, ada)
	err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
		return tx.AppendEntries(t.Context(), []memory.Entry{newEntry(ada, 2), newEntry(ada, 1)})
	})
	wantErr(t, "a number twice", err, storage.ErrConflict)
	same(t, "head", head(t, s, ada), before)
}
