package meminfra_test

import (
	"fmt"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// BenchmarkForgetLocked measures the part of forgetting one message, of a user
// with 100,000 ledger entries, during which his partition is locked.
func BenchmarkForgetLocked(b *testing.B) {
	for name, open := range map[string]func(testing.TB) storage.Store{"sqlite": openSQLite, "postgres": openPostgres} {
		b.Run(name, func(b *testing.B) {
			store := open(b)
			ml := newLayer(b, store, randomIDs)
			for n := range 100 {
				lengthen(b, store, n)
			}
			id := mustAdd(b, ml, addTo("ada", "c", said("m1", "I live in Lisbon.", 0))).Actions[0].ItemID
			for b.Loop() {
				res, err := ml.Forget(b.Context(), meminfra.ForgetRequest{UserID: "ada", ID: id, DryRun: true})
				if err != nil || res.Tombstones < 4 {
					b.Fatal(res, err)
				}
			}
		})
	}
}

// lengthen appends 1,000 entries, of rows that are not there, to ada's chain.
func lengthen(b *testing.B, store storage.Store, n int) {
	b.Helper()
	err := store.Update(b.Context(), partitionNamed("ada"), func(tx storage.Tx) error {
		head := tx.Head()
		chain := ledger.NewChain(ledger.Key{}, head.LedgerSeq, head.LedgerHead)
		var list []memory.Entry
		for i := range 1000 {
			var objects []memory.Object
			for _, kind := range []string{ledger.KindEpisode, ledger.KindItem, ledger.KindState, ledger.KindEvidence, ledger.KindDecision} {
				objects = append(objects, memory.Object{Kind: kind, ID: fmt.Sprintf("0190aaaa-0000-7000-%04d-%012d", n, i), Digest: make([]byte, 32)})
			}
			list = append(list, chain.Append(head.Partition, "add", monday, objects))
		}
		return tx.AppendEntries(b.Context(), list)
	})
	if err != nil {
		b.Fatal(err)
	}
}
