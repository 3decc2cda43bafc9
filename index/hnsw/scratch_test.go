package hnsw

import (
	"fmt"
	"testing"
	"time"
	"os"
	"strconv"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/exact"
	"github.com/meminfra/memory-layer/index/indextest"
)

func TestScratch(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	dim, _ := strconv.Atoi(os.Getenv("DIM"))
	if n == 0 { t.Skip() }
	vs := indextest.Clustered(n, dim, 1)
	qs := indextest.Clustered(200, dim, 2)
	e := exact.New(dim, n)
	t0 := time.Now()
	for i, v := range vs { e.Set(i, v) }
	fmt.Println("exact set", time.Since(t0))
	want := make([][]index.Hit, len(qs))
	t0 = time.Now()
	for i, q := range qs { want[i], _ = e.Search(q, nil, 10) }
	fmt.Println("exact us", time.Since(t0).Microseconds()/200, "top1", want[0][0].Score, want[5][0].Score, "top10", want[0][9].Score, want[5][9].Score)
	for _, workers := range []int{1} {
	x := New(dim, n, &Options{Threshold: -1, Workers: workers})
	for i, v := range vs { x.Set(i, v) }
	t0 = time.Now()
	left := x.Prepare(n)
	fmt.Println("workers", workers, "build", time.Since(t0), "left", left, "bytes/vec", x.Bytes()/int64(n))
	for _, Effort = range []int{12, 16,20, 24,32, 40, 60, 80, 120, 160} {
		var rec float64
		best := time.Duration(1<<60)
		for range 5 {
		t0 = time.Now()
		rec = 0
		for i, q := range qs { h, _ := x.Search(q, nil, 10); rec += indextest.Recall(h, want[i])/200 }
		best = min(best, time.Since(t0))
		}
		fmt.Printf("ef %d: %.1f us recall %.4f\n", Effort, float64(best.Nanoseconds())/200/1000, rec)
	}
	}
}
