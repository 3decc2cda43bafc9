package meminfra_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// shelf is an embedder that costs next to nothing: the vectors of questions lie
// ready, those of other texts are drawn around one of a hundred centres.
type shelf struct {
	dim     int
	centres [][]float32
	ready   map[string][]float32
}

func newShelf(dim int, questions []string) *shelf {
	s := &shelf{dim: dim, ready: map[string][]float32{}}
	for i := range 100 {
		s.centres = append(s.centres, s.draw(rand.New(rand.NewPCG(uint64(i), 3)), nil))
	}
	for _, q := range questions {
		s.ready[q] = s.vector(q)
	}
	return s
}

func (s *shelf) Model() string { return fmt.Sprint("shelf-", s.dim) }
func (s *shelf) Dim() int      { return s.dim }

func (s *shelf) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if out[i] = s.ready[text]; out[i] == nil {
			out[i] = s.vector(text)
		}
	}
	return out, nil
}

func (s *shelf) vector(text string) []float32 {
	h := fnv.New64a()
	h.Write([]byte(text))
	rng := rand.New(rand.NewPCG(h.Sum64(), 5))
	return s.draw(rng, s.centres[rng.IntN(len(s.centres))])
}

func (s *shelf) draw(rng *rand.Rand, centre []float32) []float32 {
	v := make([]float32, s.dim)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
		if centre != nil {
			v[i] = 0.06*v[i] + centre[i]
		}
	}
	unit(v)
	return v
}

// sentences proposes every sentence of a message, as an open fact about its
// speaker, beside what the built-in extractor finds.
type sentences struct{ extract.Extractor }

func (sentences) ID() string { return "sentences/1" }

func (x sentences) Extract(ctx context.Context, in extract.Input) (extract.Output, error) {
	out, err := x.Extractor.Extract(ctx, in)
	for _, m := range in.Target {
		for s := range strings.SplitAfterSeq(m.Content, ". ") {
			if s = strings.TrimSpace(s); strings.HasPrefix(s, "The ") {
				out.Candidates = append(out.Candidates, extract.Candidate{Subject: m.Speaks, Polarity: memory.Positive,
					EpisodeID: m.ID, Quote: s, Start: -1})
			}
		}
	}
	return out, err
}

// statements are n sentences as chatter says them, ten to a message.
func statements(n int) []meminfra.Message {
	said := chatter(n)
	var list []meminfra.Message
	for ten := range slices.Chunk(said, 10) {
		m := ten[0]
		for _, other := range ten[1:] {
			m.Content += " " + other.Content
		}
		list = append(list, m)
	}
	return list
}

// questions are some that all branches answer and others that words and vectors
// answer.
func questions() []string {
	rng := rand.New(rand.NewPCG(1, 2))
	vocabulary := makeWords(rand.New(rand.NewPCG(7, 31)), 2000)
	list := []string{"Where do I live?", "What am I allergic to?", "Which database do I use?"}
	for range 13 {
		list = append(list, talkOf(rng, vocabulary)[:40])
	}
	return list
}

// timed runs f while the benchmark lasts and reports the percentiles of what it
// says that it took.
func timed(b *testing.B, f func(i int) time.Duration) {
	b.Helper()
	b.ReportAllocs()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		took = append(took, f(i))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
}

// askingOf returns what asks a user's i-th question and says how long it took.
func askingOf(b *testing.B, ml *meminfra.MemoryLayer, user string) func(i int) time.Duration {
	list := questions()
	return func(i int) time.Duration {
		start := time.Now()
		res, err := ml.Search(context.Background(), meminfra.SearchRequest{UserID: user, Query: list[i%len(list)]})
		took := time.Since(start)
		if err != nil {
			b.Fatal(err)
		}
		if len(res.Hits) != 10 || res.TraceID == "" || len(res.Degraded) > 0 {
			b.Fatalf("%d hits, trace %q, degraded %v", len(res.Hits), res.TraceID, res.Degraded)
		}
		return took
	}
}

// withMemories runs a benchmark over memories of 10,000 items and of 10,000
// messages, and over one of a tenth, for two numbers of dimensions, some time
// after they were filled. Open returns a layer of a new process, as it were.
func withMemories(b *testing.B, run func(b *testing.B, open func() *meminfra.MemoryLayer, user string)) {
	sizes := []struct {
		name  string
		items bool
		list  []meminfra.Message
	}{
		{"episodes=1000", false, chatter(1_000)},
		{"episodes=10000", false, chatter(10_000)},
		{"items=10000", true, statements(10_000)},
	}
	onCrowds(b, func(b *testing.B, store storage.Store, crowd *crowd) {
		for _, size := range sizes {
			for _, dim := range []int{384, 1536} {
				b.Run(fmt.Sprintf("%s/dim=%d", size.name, dim), func(b *testing.B) {
					embedder := newShelf(dim, questions())
					open := func() *meminfra.MemoryLayer {
						return newLayer(b, store, randomIDs, withEmbedder(embedder), func(o *meminfra.Options) {
							if o.Now, o.Extractor = nil, builtIn(b); size.items {
								o.Extractor = sentences{o.Extractor}
							}
						})
					}
					user := fmt.Sprint(size.name, dim)
					addAll(b, open(), user, size.list, 500) // known already on a repeated run
					crowd.do(b, crowd.settle)
					run(b, open, user)
				})
			}
		}
	})
}

// BenchmarkSearch searches a warm index, a large one's graph included: ten hits
// from SQL and a trace written. p50-µs is what counts; the embedder's time is not
// in it.
func BenchmarkSearch(b *testing.B) {
	withMemories(b, func(b *testing.B, open func() *meminfra.MemoryLayer, user string) {
		ml := open()
		if _, err := ml.Reindex(b.Context(), meminfra.IndexRequest{UserID: user}); err != nil {
			b.Fatal(err)
		}
		ask := askingOf(b, ml, user)
		for i := range 16 { // prepares the statements
			ask(i)
		}
		timed(b, ask)
	})
}

// awaitVectors waits until an index has all vectors, which come in the background.
func awaitVectors(b *testing.B, ml *meminfra.MemoryLayer, user string) {
	last := int64(-1)
	for {
		s, err := ml.IndexStatus(context.Background(), meminfra.IndexRequest{UserID: user})
		if err != nil {
			b.Fatal(err)
		}
		if s.Bytes == last {
			return
		}
		last = s.Bytes
		time.Sleep(100 * time.Millisecond)
	}
}

// BenchmarkSearchFirst is the first search of a process: it builds the index
// from SQL.
func BenchmarkSearchFirst(b *testing.B) {
	withMemories(b, func(b *testing.B, open func() *meminfra.MemoryLayer, user string) {
		timed(b, func(i int) time.Duration {
			ml := open()
			took := askingOf(b, ml, user)(i)
			awaitVectors(b, ml, user)
			return took
		})
	})
}
