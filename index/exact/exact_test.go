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

func TestRecall(t *testing.T) { indextest.Recall(t, open, 1, indextest.Sizes()...) }

func BenchmarkExact(b *testing.B) {
	for _, s := range []struct{ n, dim int }{{100, 384}, {1000, 384}, {10_000, 384}, {10_000, 512}, {10_000, 1536}} {
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
		queries := indextest.Clustered(50, s.dim, 2)
		for _, c := range []struct {
			name     string
			admitted *index.Bitmap
			k        int
		}{{"all", nil, 10}, {"half", half, 10}, {"best100", nil, 100}} {
			b.Run(fmt.Sprintf("%dx%d/%s", s.n, s.dim, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, err := x.Search(queries[i%len(queries)], c.admitted, c.k); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
