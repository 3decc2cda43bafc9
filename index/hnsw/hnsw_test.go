package hnsw

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/exact"
	"github.com/meminfra/memory-layer/index/indextest"
)

// The graph alone, at any size.
func TestGraph(t *testing.T) {
	indextest.Approximate(t, func(dim, rows int) index.VectorEngine {
		return New(dim, rows, &Options{Threshold: -1, Workers: 2, Lean: true})
	})
}

func TestRecall(t *testing.T) {
	indextest.Recall(t, func(dim, rows int) index.VectorEngine {
		return New(dim, rows, &Options{Threshold: -1, Workers: 2})
	}, 0.99, indextest.Sizes()...)
}

// Below the threshold the engine is exact.
func TestBelowThreshold(t *testing.T) {
	indextest.Vectors(t, func(dim, rows int) index.VectorEngine { return New(dim, rows, &Options{Lean: true}) })
}

func TestThreshold(t *testing.T) {
	for dim, want := range map[int]int{384: 16_000, 1536: 8_000} {
		if got := Threshold(dim); got != want {
			t.Errorf("Threshold(%d) is %d, want %d", dim, got, want)
		}
	}
}

func fill(t testing.TB, x *Index, vectors [][]float32) {
	t.Helper()
	for row, v := range vectors {
		if err := x.Set(row, v); err != nil {
			t.Fatal(err)
		}
	}
}

// shape is the graph without its lock and buffers.
func shape(x *Index) any {
	l := x.linker
	return []any{l.linked, l.base, l.towers, l.tower, l.entry, l.top}
}

// The graph is the same however it was built: at once by one or several
// goroutines, bit by bit by searches, or as the vectors came.
func TestDeterministic(t *testing.T) {
	const n, dim = 400, 48
	vectors := indextest.Clustered(n, dim, 1)
	builds := map[string]func(x *Index){
		"at once": func(x *Index) { fill(t, x, vectors); x.Prepare(n) },
		"bit by bit": func(x *Index) {
			fill(t, x, vectors)
			for left := n; left > 0; {
				left = x.Prepare(1 + left%50)
			}
		},
		"by searches": func(x *Index) {
			fill(t, x, vectors)
			for range 2 * n {
				if _, err := x.Search(vectors[0], nil, n/4); err != nil {
					t.Fatal(err)
				}
			}
		},
		"as they came": func(x *Index) {
			for row, v := range vectors {
				if err := x.Set(row, v); err != nil {
					t.Fatal(err)
				}
				x.Prepare(10)
			}
		},
	}
	var want any
	for name, build := range builds {
		for workers := 1; workers <= 3; workers++ {
			x := New(dim, 0, &Options{Threshold: -1, Seed: 7, Workers: workers})
			build(x)
			got := shape(x)
			if want == nil {
				want = got
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s with %d workers: another graph", name, workers)
			}
		}
	}
}

// Links are in range, unique, to others, on levels that the target has, and no
// more than may be.
func TestShape(t *testing.T) {
	const n, dim = 3000, 24
	x := New(dim, n, &Options{Threshold: -1})
	fill(t, x, indextest.Clustered(n, dim, 1))
	for row := 0; row < n; row += 9 {
		x.Delete(row)
	}
	x.Prepare(n)
	g := x.linker.graph
	if g.linked != n/batch*batch {
		t.Fatalf("%d linked", g.linked)
	}
	for slot := range int32(g.linked) {
		for level := range int(g.level[slot]) + 1 {
			links := g.links(slot, level)
			if len(links) > most(level) {
				t.Fatalf("node %d has %d links on level %d", slot, len(links), level)
			}
			sorted := slices.Clone(links)
			slices.Sort(sorted)
			if len(slices.Compact(sorted)) != len(links) || slices.Contains(links, slot) {
				t.Fatalf("node %d links to %v", slot, links)
			}
			for _, to := range links {
				if int(to) >= g.linked || int(g.level[to]) < level {
					t.Fatalf("node %d links to %d on level %d", slot, to, level)
				}
			}
		}
	}
}

// While the graph is not done, and for what is not admitted, results are exact.
// Once it is, hits have the exact scores.
func TestExactMeanwhile(t *testing.T) {
	const n, dim, k = 4000, 32, 10
	vectors := indextest.Clustered(n, dim, 1)
	x, truth := New(dim, n, &Options{Threshold: 1000}), exact.New(dim, n)
	for row, v := range vectors {
		if err := x.Set(row, v); err != nil {
			t.Fatal(err)
		}
		if err := truth.Set(row, v); err != nil {
			t.Fatal(err)
		}
	}
	left := n
	for i, q := range indextest.Clustered(200, dim, 2) {
		got, _ := x.Search(q, nil, k)
		want, _ := truth.Search(q, nil, k)
		if left > tail+1000 && !slices.Equal(got, want) {
			t.Fatalf("query %d: %v, want %v", i, got, want)
		}
		for _, h := range got {
			if h.Score < want[k-1].Score-0.2 {
				t.Fatalf("query %d: %v is far from %v", i, h, want)
			}
		}
		left = x.Prepare(20)
	}
}

// Dead vectors go once they are a quarter, the graph once too few are left.
func TestTombstones(t *testing.T) {
	const n, dim = 2000, 16
	vectors := indextest.Clustered(n, dim, 1)
	x := New(dim, n, &Options{Threshold: 1000})
	fill(t, x, vectors)
	x.Prepare(n)
	for row := range n / 5 {
		x.Delete(row)
	}
	if x.block.Slots() != n || x.Len() != n*4/5 {
		t.Fatalf("%d slots, %d vectors", x.block.Slots(), x.Len())
	}
	for row := n / 5; row < n*3/10; row++ {
		x.Delete(row)
	}
	if x.block.Slots() > n*8/10 || x.linker == nil {
		t.Fatalf("%d slots for %d vectors: the dead were kept", x.block.Slots(), x.Len())
	}
	x.Prepare(n)
	fill(t, x, vectors) // most of them are there already
	if x.Len() != n || x.block.Slots() > n*5/4 {
		t.Fatalf("%d slots for %d vectors", x.block.Slots(), x.Len())
	}
	for row := range n - 400 {
		x.Delete(row)
	}
	if x.linker != nil || x.block.Slots() != x.Len() {
		t.Fatalf("a graph for %d vectors", x.Len())
	}
}

// Writes in any order leave no trace but the rows: never a panic, a deleted or
// doubled row, or fewer hits than there are (wild faults A13, A15).
func FuzzChanges(f *testing.F) {
	f.Add(uint64(1), uint16(3000))
	f.Add(uint64(2), uint16(50))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint16) {
		const rows, dim = 300, 12
		rng := rand.New(rand.NewPCG(seed, 5))
		vectors := indextest.Clustered(rows, dim, seed)
		held := map[int]bool{}
		x := New(dim, 0, &Options{Threshold: rng.IntN(200) - 1, Seed: seed})
		deleting := rng.IntN(10)
		for range int(steps) % 4000 {
			row := rng.IntN(rows)
			switch op := rng.IntN(12); {
			case op < deleting:
				x.Delete(row)
				delete(held, row)
			case op < 10:
				if err := x.Set(row, vectors[rng.IntN(rows)]); err != nil {
					t.Fatal(err)
				}
				held[row] = true
			case op < 11:
				x.Prepare(rng.IntN(100))
			default:
				checkHeld(t, x, vectors[row], 1+rng.IntN(20), held)
			}
		}
		checkHeld(t, x, vectors[0], rows, held)
	})
}

func checkHeld(t *testing.T, x *Index, query []float32, k int, held map[int]bool) {
	t.Helper()
	hits, err := x.Search(query, nil, k)
	if err != nil || len(hits) != min(k, len(held)) || x.Len() != len(held) {
		t.Fatalf("%d hits of %d rows, want %d of %d; error %v", len(hits), x.Len(), min(k, len(held)), len(held), err)
	}
	seen := map[int]bool{}
	for _, h := range hits {
		if !held[h.Row] || seen[h.Row] {
			t.Fatalf("row %d: held %v, seen %v", h.Row, held[h.Row], seen[h.Row])
		}
		seen[h.Row] = true
	}
}

// Searches and building side by side, for the race detector.
func TestBuildBesideSearches(t *testing.T) {
	const n, dim = 1500, 16
	x := New(dim, n, &Options{Threshold: 100, Workers: 2})
	fill(t, x, indextest.Clustered(n, dim, 1))
	queries := indextest.Clustered(100, dim, 2)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for _, q := range queries {
				if hits, err := x.Search(q, nil, 10); err != nil || len(hits) != 10 {
					t.Errorf("%d hits, %v", len(hits), err)
				}
			}
		})
	}
	all.Go(func() {
		for left := n; left > 0; {
			left = x.Prepare(100)
		}
	})
	all.Wait()
}

func ExampleIndex() {
	x := New(2, 0, nil)
	for row, v := range [][]float32{{1, 0}, {0, 1}, {1, 1}} {
		if err := x.Set(row, v); err != nil {
			panic(err)
		}
	}
	hits, err := x.Search([]float32{2, 1}, nil, 2)
	if err != nil {
		panic(err)
	}
	for _, h := range hits {
		fmt.Printf("row %d, cosine %.3f\n", h.Row, h.Score)
	}
	// Output:
	// row 2, cosine 0.949
	// row 0, cosine 0.894
}

// A graph whose first vectors were deleted before they were linked has a way in
// all the same.
func TestFirstOnesDead(t *testing.T) {
	const n, dim = 1000, 16
	vectors := indextest.Clustered(n, dim, 1)
	x := New(dim, n, &Options{Threshold: -1})
	fill(t, x, vectors)
	for row := range 2 * batch {
		x.Delete(row)
	}
	x.Prepare(n)
	if !x.linker.ready() {
		t.Fatal("the graph has no entry")
	}
	hits, err := x.linker.search(vectors[500], nil, 10, 50)
	if err != nil || len(hits) != 10 || hits[0].Row != 500 {
		t.Fatalf("hits %v, error %v", hits, err)
	}
}

// Vectors that come where many were deleted are found: dead nodes lead to them.
func TestNewAmongDead(t *testing.T) {
	const n, gone, fresh, dim, k = 2000, 300, 96, 32, 10
	rng := rand.New(rand.NewPCG(1, 1))
	around := func(spot []float32, spread float64, n int) [][]float32 {
		list := make([][]float32, n)
		for i := range list {
			list[i] = slices.Clone(spot)
			for j := range list[i] {
				list[i][j] += float32(spread * rng.NormFloat64())
			}
		}
		return list
	}
	nowhere := make([]float32, dim)
	spot := around(nowhere, 1, 1)[0]
	vectors := slices.Concat(around(nowhere, 1, n), around(spot, 0.05, gone+fresh), around(nowhere, 1, tail)) // the last are the tail
	x := New(dim, 0, &Options{Threshold: -1})
	for row, v := range vectors {
		if row == n+gone {
			x.Prepare(row)
			for r := n; r < row; r++ {
				x.Delete(r)
			}
		}
		if err := x.Set(row, v); err != nil {
			t.Fatal(err)
		}
	}
	x.Prepare(len(vectors))
	x.SetEffort(2 * gone)
	hits, err := x.Search(spot, nil, k)
	if err != nil || len(hits) != k {
		t.Fatalf("hits %v, error %v", hits, err)
	}
	for _, h := range hits {
		if h.Row < n+gone || h.Row >= n+gone+fresh {
			t.Errorf("%v is not among the nearest", h)
		}
	}
}
