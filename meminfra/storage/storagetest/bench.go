package storagetest

import (
	"fmt"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// benchRows is the size of the partition that reads are measured on.
const benchRows = 10_000

// Benchmark measures what a store's callers wait for: bulk and single commits,
// and the reads of a search and of an index build.
func Benchmark(b *testing.B, open func(b *testing.B) storage.Store) {
	for _, size := range []int{1, 1000} {
		b.Run(fmt.Sprint("InsertEpisodes/", size), func(b *testing.B) {
			s := open(b)
			for n := 0; b.Loop(); n++ {
				benchEpisodes(b, s, n, size, false)
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "rows/s")
		})
	}
	b.Run("Commit/8items", func(b *testing.B) {
		s := open(b)
		for n := 0; b.Loop(); n++ {
			benchItems(b, s, n, 8)
		}
	})
	b.Run(fmt.Sprint("Reads/", benchRows), func(b *testing.B) { benchReads(b, open(b)) })
}

func benchReads(b *testing.B, s storage.Store) {
	for n := range benchRows / 1000 {
		benchEpisodes(b, s, n, 1000, true)
		benchItems(b, s, n, 100)
	}
	p := ada.ID()
	var hits []string
	for i := range 10 {
		hits = append(hits, fmt.Sprintf("i%d-%d", i, i))
	}
	run := func(name string, call func() error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				check(b, call())
			}
		})
	}
	run("Heads", func() error { _, err := s.Heads(b.Context(), p, bob.ID()); return err })
	run("Items/10", func() error { _, err := s.Items(b.Context(), p, hits); return err })
	run("Line", func() error { _, err := s.Line(b.Context(), p, hits[0]); return err })
	run("Changes/all", func() error {
		c, err := s.Changes(b.Context(), storage.ChangesParams{Partition: p, Model: "m"})
		if err == nil && len(c.Embeddings) != benchRows {
			err = fmt.Errorf("%d vectors", len(c.Embeddings))
		}
		return err
	})
	run("Changes/streamed", func() error {
		n := 0
		_, err := s.Changes(b.Context(), storage.ChangesParams{Partition: p, Model: "m",
			Vectors: func(int64, int) func(*memory.Embedding) error {
				return func(*memory.Embedding) error { n++; return nil }
			}})
		if err == nil && n != benchRows {
			err = fmt.Errorf("%d vectors", n)
		}
		return err
	})
	var keys []string
	for i := range 100 {
		keys = append(keys, fmt.Sprintf("e%d-%d", i%10, 7*i))
	}
	run("Embeddings/100", func() error {
		n := 0
		err := s.Embeddings(b.Context(), storage.EmbeddingsParams{Partition: p, Model: "m", Episodes: keys},
			func(*memory.Embedding) error { n++; return nil })
		if err == nil && n != len(keys) {
			err = fmt.Errorf("%d vectors", n)
		}
		return err
	})
	now := head(b, s, ada).Change
	run("Changes/none", func() error {
		_, err := s.Changes(b.Context(), storage.ChangesParams{Partition: p, Since: now, Model: "m"})
		return err
	})
	n := 0
	run("PutTrace/10", func() error {
		n++
		t := memory.Trace{Partition: p, ID: fmt.Sprint("t", n), Kind: "search", Query: "which editor", At: at(n % 60)}
		for i, id := range hits {
			t.Items = append(t.Items, memory.TraceItem{Rank: i + 1, OwnerKind: memory.OwnerItem, OwnerID: id})
		}
		return s.PutTrace(b.Context(), t)
	})
}

// benchEpisodes commits size episodes, with vectors of 512 dimensions if asked.
func benchEpisodes(b *testing.B, s storage.Store, n, size int, vectors bool) {
	commit(b, s, ada, func(tx storage.Tx) error {
		list := make([]memory.Episode, size)
		var embeddings []memory.Embedding
		for i := range list {
			id := fmt.Sprintf("e%d-%d", n, i)
			list[i] = newEpisode(tx, id, "c", id)
			list[i].Content = "I moved to Lisbon last spring and I still use Vim for everything, number " + id
			if vectors {
				embeddings = append(embeddings, memory.Embedding{Partition: ada.ID(), OwnerKind: memory.OwnerEpisode, OwnerID: id,
					Model: "m", Vector: benchVector(n*size + i), Change: tx.Head().Change})
			}
		}
		if err := tx.InsertEpisodes(b.Context(), list); err != nil {
			return err
		}
		return tx.PutEmbeddings(b.Context(), embeddings)
	})
}

func benchVector(seed int) []float32 {
	v := make([]float32, 512)
	x := uint32(seed + 1)
	for i := range v {
		x = x*1664525 + 1013904223
		v[i] = float32(x>>8) / (1 << 24)
	}
	return v
}

func benchItems(b *testing.B, s storage.Store, n, size int) {
	commit(b, s, ada, func(tx storage.Tx) error {
		decision := newDecision(tx, fmt.Sprint("d", n))
		items, states := make([]memory.Item, size), make([]memory.State, size)
		for i := range items {
			items[i] = newItem(tx, fmt.Sprintf("i%d-%d", n, i), decision.ID)
			states[i] = newState(tx, items[i], 1)
		}
		if err := tx.InsertDecisions(b.Context(), []memory.Decision{decision}); err != nil {
			return err
		}
		if err := tx.InsertItems(b.Context(), items); err != nil {
			return err
		}
		return tx.InsertStates(b.Context(), states)
	})
}
