package hnsw_test

import (
	"fmt"
	"testing"

	"github.com/meminfra/memory-layer/index/hnsw"
	"github.com/meminfra/memory-layer/index/indextest"
)

func BenchmarkSearch(b *testing.B) {
	for _, s := range []struct{ n, dim int }{{10_000, 384}, {10_000, 1536}} {
		x := hnsw.New(s.dim, s.n, &hnsw.Options{Threshold: -1})
		for row, v := range indextest.Clustered(s.n, s.dim, 1) {
			if err := x.Set(row, v); err != nil {
				b.Fatal(err)
			}
		}
		x.Prepare(s.n)
		queries := indextest.Clustered(1000, s.dim, 2)
		b.Run(fmt.Sprintf("%dx%d", s.n, s.dim), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := x.Search(queries[i%len(queries)], nil, 10); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	const n, dim = 5_000, 384
	vectors := indextest.Clustered(n, dim, 1)
	for b.Loop() {
		x := hnsw.New(dim, n, &hnsw.Options{Threshold: -1})
		for row, v := range vectors {
			if err := x.Set(row, v); err != nil {
				b.Fatal(err)
			}
		}
		x.Prepare(n)
	}
}
