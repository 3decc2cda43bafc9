package index_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/indextest"
)

// usage is what a process must not leak.
type usage struct {
	heap            uint64
	files, routines int
}

func measure() usage {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, _ := os.ReadDir("/proc/self/fd")
	return usage{heap: m.HeapAlloc, files: len(files), routines: runtime.NumGoroutine()}
}

// soak adds, deletes, searches, rebuilds, prepares, drops and evicts the indexes
// of a few partitions, over a source that stays about as large as it is.
type soak struct {
	m       *index.Manager
	mu      sync.Mutex
	sources []source
	steps   atomic.Int64
	queries []string
	vectors [][]float32
}

// source is a partition as SQL would have it.
type source struct {
	change int64
	next   int64
	rows   []index.Row
	wrote  []int64 // change that wrote the row
	purged int64   // change of the last deletion: older readers start over
}

func newSoak() *soak {
	s := &soak{sources: make([]source, 6), queries: indextest.Texts(20, 77), vectors: indextest.Clustered(20, dim, 77)}
	s.m = index.New(s.load, graphs(300), &index.Options{Budget: 1500 << 10, Vectors: s.vectorsOf})
	return s
}

func (s *soak) load(_ context.Context, name string, since int64, early *index.Early) (index.Delta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var i int
	if _, err := fmt.Sscan(name, &i); err != nil {
		return index.Delta{}, err
	}
	src := &s.sources[i]
	d := index.Delta{Change: src.change, Model: "m", Reset: since < src.purged}
	for i, r := range src.rows {
		if d.Reset || src.wrote[i] > since {
			d.Rows = append(d.Rows, r)
		}
	}
	if early != nil && early.Vectors != nil {
		stream(d, early)
	}
	return d, nil
}

// vectorsOf is the source's index.VectorsFunc.
func (s *soak) vectorsOf(_ context.Context, name string, keys []index.Key, take func(index.Key, []float32) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var i int
	if _, err := fmt.Sscan(name, &i); err != nil {
		return err
	}
	return handOut(s.sources[i].rows, keys, take)
}

// write adds some rows and, now and then, takes the oldest away.
func (s *soak) write(i int, rng *rand.Rand) int64 {
	rows := makeRows(1+rng.IntN(40), int64(rng.IntN(1000)), "ada")
	s.mu.Lock()
	defer s.mu.Unlock()
	src := &s.sources[i]
	src.change++
	for _, r := range rows {
		src.next++
		r.Seq, r.ID = src.next, fmt.Sprint("e", src.next)
		src.rows, src.wrote = append(src.rows, r), append(src.wrote, src.change)
	}
	if len(src.rows) > 800 {
		src.rows, src.wrote = slices.Clone(src.rows[300:]), slices.Clone(src.wrote[300:])
		src.purged = src.change
	}
	return src.change
}

func (s *soak) run(t *testing.T, worker int, stop <-chan struct{}) {
	rng := rand.New(rand.NewPCG(uint64(worker), 1))
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		s.steps.Add(1)
		part := rng.IntN(len(s.sources))
		name := fmt.Sprint(part)
		change := int64(1)
		if i%8 == 0 {
			change = s.write(part, rng)
		}
		if s.sourceChange(part) == 0 {
			continue
		}
		p := get(t, s.m, name, change)
		q := rng.IntN(len(s.queries))
		view := func(f func(*index.View) error) error { return s.m.View(context.Background(), name, change, f) }
		a := askIn(t, view, s.queries[q], s.vectors[q], everyone, 10)
		if len(a.Vectors) != min(10, a.Admitted) {
			t.Errorf("%d hits of %d rows", len(a.Vectors), a.Admitted)
		}
		switch i % 200 {
		case 50:
			s.m.Drop(name)
		case 100:
			if err := p.Prepare(context.Background()); err != nil {
				t.Error(err)
			}
		case 130:
			if _, err := s.m.Rebuild(context.Background(), name, change); err != nil {
				t.Error(err)
			}
		case 150:
			s.m.Status()
		}
	}
}

func (s *soak) sourceChange(i int) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sources[i].change
}
