package meminfra_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// BenchmarkVerify verifies a chain of 1,000,000 entries, each with the row of a
// decision. MB-peak is the most heap in use meanwhile.
func BenchmarkVerify(b *testing.B) {
	const entries = 1_000_000
	benchStores(b, func(b *testing.B, store storage.Store) {
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) {
			ml := newLayer(b, store)
			chainOf(b, store, entries)
			runtime.GC()
			var peak uint64
			var m runtime.MemStats
			watch := func(int, int, ledger.Progress) {
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
			for b.Loop() {
				res, err := ml.Ledger().Verify(b.Context(), meminfra.VerifyRequest{UserID: "ada", Progress: watch})
				if err != nil || res.Err() != nil || res.Partitions[0].Entries != entries || res.Partitions[0].Rows != entries {
					b.Fatal(err, res)
				}
			}
			b.ReportMetric(float64(peak)/1e6, "MB-peak")
			b.ReportMetric(float64(entries*b.N)/b.Elapsed().Seconds(), "entries/s")
		})
	})
}

// chainOf fills a user's partition with decisions, each in an entry of its own,
// unless an earlier round of the benchmark has.
func chainOf(b *testing.B, store storage.Store, n int) {
	b.Helper()
	const commit = 10_000
	at := monday
	for first := 1; first <= n; first += commit {
		err := store.Update(b.Context(), partitionNamed("ada"), func(tx storage.Tx) error {
			head := tx.Head()
			if head.LedgerSeq >= int64(n) {
				return nil
			}
			chain := ledger.NewChain(ledger.Key{}, head.LedgerSeq, head.LedgerHead)
			decisions, entries := make([]memory.Decision, commit), make([]memory.Entry, commit)
			for i := range decisions {
				at = at.Add(time.Millisecond)
				decisions[i] = memory.Decision{Partition: head.Partition, ID: fmt.Sprintf("00000000-0000-7000-8000-%012x", first+i),
					Operation: "add", Action: memory.ActionNoop, ItemID: "item", Reason: "echo", Extractor: "bench/1", At: at,
					Change: head.Change, Salt: []byte(strconv.Itoa(first + i))}
				entries[i] = chain.Append(head.Partition, "noop", at, []memory.Object{ledger.Decision(decisions[i])})
			}
			if err := tx.InsertDecisions(b.Context(), decisions); err != nil {
				return err
			}
			return tx.AppendEntries(b.Context(), entries)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLedgerShare adds messages and measures what of it is the ledger's:
// the digests and hashes, timed by making them once more, and the writing of
// entries. ledger-% is their share of the time of an Add.
func BenchmarkLedgerShare(b *testing.B) {
	const messages = 4000
	list := chatter(messages)
	benchStores(b, func(b *testing.B, store storage.Store) {
		for _, batch := range []int{1, 500} {
			b.Run(fmt.Sprintf("messages=%d/batch=%d", messages, batch), func(b *testing.B) {
				timed := &timedStore{Store: store}
				ml := newLayer(b, timed, randomIDs, func(o *meminfra.Options) { o.Now = nil })
				user := 0
				for b.Loop() {
					user++
					addAll(b, ml, fmt.Sprint(b.N, "-", batch, "-", user), list, batch)
				}
				whole := b.Elapsed() - timed.again
				b.ReportMetric(100*float64(timed.again+timed.writing)/float64(whole), "ledger-%")
				b.ReportMetric(100*float64(timed.again)/float64(whole), "digests-%")
				b.ReportMetric(float64(messages*b.N)/whole.Seconds(), "msgs/s")
			})
		}
	})
}

// timedStore makes digests and hashes of what is written once more, to time them.
type timedStore struct {
	storage.Store
	again   time.Duration // for making them once more
	writing time.Duration // of entries
}

func (s *timedStore) Update(ctx context.Context, p memory.Partition, fn func(storage.Tx) error) error {
	return s.Store.Update(ctx, p, func(tx storage.Tx) error { return fn(&timedTx{tx, s}) })
}

type timedTx struct {
	storage.Tx
	s *timedStore
}

func again[T any](s *timedStore, list []T, digest func(T) memory.Object) {
	start := time.Now()
	for _, row := range list {
		digest(row)
	}
	s.again += time.Since(start)
}

func (t *timedTx) InsertEpisodes(ctx context.Context, list []memory.Episode) error {
	again(t.s, list, ledger.Episode)
	return t.Tx.InsertEpisodes(ctx, list)
}

func (t *timedTx) InsertDecisions(ctx context.Context, list []memory.Decision) error {
	again(t.s, list, ledger.Decision)
	return t.Tx.InsertDecisions(ctx, list)
}

func (t *timedTx) InsertItems(ctx context.Context, list []memory.Item) error {
	again(t.s, list, ledger.Item)
	return t.Tx.InsertItems(ctx, list)
}

func (t *timedTx) InsertStates(ctx context.Context, list []memory.State) error {
	again(t.s, list, ledger.State)
	again(t.s, list, func(s memory.State) memory.Object { return ledger.Close(s, s.SystemFrom) })
	return t.Tx.InsertStates(ctx, list)
}

func (t *timedTx) InsertEvidence(ctx context.Context, list []memory.Evidence) error {
	again(t.s, list, ledger.Evidence)
	return t.Tx.InsertEvidence(ctx, list)
}

func (t *timedTx) InsertConflicts(ctx context.Context, list []memory.Conflict) error {
	again(t.s, list, ledger.Conflict)
	return t.Tx.InsertConflicts(ctx, list)
}

func (t *timedTx) AppendEntries(ctx context.Context, list []memory.Entry) error {
	start := time.Now()
	for _, e := range list {
		ledger.Hash(ledger.Key{}, e)
	}
	t.s.again += time.Since(start)
	start = time.Now()
	err := t.Tx.AppendEntries(ctx, list)
	t.s.writing += time.Since(start)
	return err
}
