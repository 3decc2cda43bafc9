package exact_test

import (
	"fmt"
	"testing"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/exact"
	"github.com/meminfra/memory-layer/index/indextest"
)

func open(dim, rows int) index.VectorEngine { return exact.New(dim, rows) }

func TestContract(t *testing.T) { indextest.Vectors(t, open) }

// A sparse query is scored over its own components; the scores are cosines all
// the same.
func TestSparseQuery(t *testing.T) {
	const n, dim = 200, 96
	vectors := indextest.Clustered(n, dim, 1)
	x := exact.New(dim, n)
	for row, v := range vectors {
		if err := x.Set(row, v); err != nil {
			t.Fatal(err)
		}
	}
	query := make([]float32, dim)
	for i := 0; i < dim; i += 5 {
		query[i] = float32(i + 1)
	}
	hits, err := x.Search(query, nil, n)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range indextest.Nearest(vectors, query, nil, n) {
		if diff := hits[i].Score - want.Score; diff > 1e-5 || diff < -1e-5 {
			t.Fatalf("hit %d: %v, want %v", i, hits[i], want)
		}
	}
}

func BenchmarkExact(b *testing.B) {
	for _, s := range []struct{ n, dim int }{{1000, 384}, {10_000, 384}, {10_000, 512}, {10_000, 1536}} {
		x := exact.New(s.dim, s.n)
		for row, v := range indextest.Clustered(s.n, s.dim, 1) {
			if err := x.Set(row, v); err != nil {
				b.Fatal(err)
			}
		}
		half := index.NewBitmap(s.n)
		for row := 0; row < s.n; row += 2 {
			half.Set(row)
		}
		dense := indextest.Clustered(1, s.dim, 2)[0]
		sparse := make([]float32, s.dim)
		for i := range 80 {
			sparse[i*37%s.dim] = 1
		}
		for _, c := range []struct {
			name     string
			query    []float32
			admitted *index.Bitmap
		}{{"dense", dense, nil}, {"half", dense, half}, {"sparse", sparse, nil}} {
			b.Run(fmt.Sprintf("%dx%d/%s", s.n, s.dim, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := x.Search(c.query, c.admitted, 10); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
