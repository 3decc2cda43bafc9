package sqlite_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
)

const benchRows, benchDim = 10_000, 512

// BenchmarkInsertEpisodes10000 writes 10,000 episodes, each with its extraction
// row and a vector of 512 dimensions, 1,000 to a commit.
func BenchmarkInsertEpisodes10000(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		store := openStore(b, filepath.Join(b.TempDir(), "memory.db"))
		b.StartTimer()
		fill(b, store, benchRows)
	}
	b.ReportMetric(float64(benchRows*b.N)/b.Elapsed().Seconds(), "episodes/s")
	b.ReportMetric(float64(3*benchRows*b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkChanges10000 reads all of that back, as an index does that is built.
func BenchmarkChanges10000(b *testing.B) {
	store := openStore(b, filepath.Join(b.TempDir(), "memory.db"))
	fill(b, store, benchRows)
	for b.Loop() {
		ch, err := store.Changes(b.Context(), storage.ChangesParams{Partition: ada.ID(), Model: "m"})
		if err != nil || len(ch.Embeddings) != benchRows || len(ch.Episodes) != benchRows {
			b.Fatal(err, len(ch.Embeddings))
		}
	}
}

// BenchmarkUpdate commits one episode at a time.
func BenchmarkUpdate(b *testing.B) {
	store := openStore(b, filepath.Join(b.TempDir(), "memory.db"))
	for b.Loop() {
		put(b, store, 1)
	}
}

// BenchmarkEpisodes reads ten episodes by id, as a search resolves its hits.
func BenchmarkEpisodes(b *testing.B) {
	store := openStore(b, filepath.Join(b.TempDir(), "memory.db"))
	ids := put(b, store, 1000)[:10]
	for b.Loop() {
		if list, err := store.Episodes(b.Context(), ada.ID(), ids); err != nil || len(list) != 10 {
			b.Fatal(err)
		}
	}
}

// BenchmarkPutTrace writes the trace of a search with ten hits.
func BenchmarkPutTrace(b *testing.B) {
	store := openStore(b, filepath.Join(b.TempDir(), "memory.db"))
	n := 0
	for b.Loop() {
		n++
		if err := store.PutTrace(b.Context(), trace(fmt.Sprint(n), time.Now(), 10)); err != nil {
			b.Fatal(err)
		}
	}
}

func fill(tb testing.TB, store *sqlite.Store, n int) {
	for range n / 1000 {
		put(tb, store, 1000)
	}
}

// put commits n episodes with extraction rows and vectors and returns their ids.
func put(tb testing.TB, store *sqlite.Store, n int) (ids []string) {
	tb.Helper()
	ctx := context.Background()
	err := store.Update(ctx, ada, func(tx storage.Tx) error {
		first := tx.NextSeq(n)
		episodes, rows, vectors := make([]memory.Episode, n), make([]memory.Extraction, n), make([]memory.Embedding, n)
		for i := range n {
			seq := first + int64(i)
			id := fmt.Sprintf("0190-%012d", seq)
			ids = append(ids, id)
			content := fmt.Sprintf("Message %d: I moved to Lisbon in spring and started to use PostgreSQL at work every day.", seq)
			episodes[i] = memory.Episode{
				ID: id, ConversationID: "c1", SessionID: "s1", MessageID: id, Seq: seq, Role: memory.RoleUser,
				Content: content, Hash: sha256.Sum256([]byte(content)), SentAt: at, RecordedAt: at, Salt: make([]byte, 16),
			}
			rows[i] = memory.Extraction{EpisodeID: id, Extractor: "x", Status: memory.ExtractionPending, UpdatedAt: at}
			vectors[i] = memory.Embedding{OwnerKind: memory.OwnerEpisode, OwnerID: id, Model: "m", Vector: make([]float32, benchDim)}
		}
		if err := tx.InsertEpisodes(ctx, episodes); err != nil {
			return err
		}
		if err := tx.PutExtractions(ctx, rows); err != nil {
			return err
		}
		return tx.PutEmbeddings(ctx, vectors)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return ids
}
