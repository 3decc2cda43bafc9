package index_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/bm25"
	"github.com/meminfra/memory-layer/index/hnsw"
	"github.com/meminfra/memory-layer/index/indextest"
)

// graphs are engines that use a graph from so many vectors on.
func graphs(threshold int) index.Engines {
	return index.Engines{
		Words: func(rows int) index.WordEngine { return bm25.New(nil, rows) },
		Vectors: func(dim, rows int) index.VectorEngine {
			return hnsw.New(dim, rows, &hnsw.Options{Threshold: threshold, Lean: true})
		},
	}
}

// Above the threshold, hidden rows may change which of the nearest are found, but
// no score, and nothing at all for whoever may not see all rows.
func TestRankingInvarianceWithGraph(t *testing.T) {
	const n, hidden, k = 600, 1000, 25
	own := makeRows(n, 1, "ada")
	plain := index.NewPartition(engines)
	apply(t, plain, index.Delta{Change: 1, Reset: true, Rows: slices.Clone(own)})
	alone, crowd := index.NewPartition(graphs(200)), index.NewPartition(graphs(200))
	apply(t, alone, index.Delta{Change: 1, Reset: true, Rows: slices.Clone(own)})
	strangers := makeRows(hidden, 1, "eve")
	for i := range strangers {
		strangers[i].ID += "x"
		strangers[i].Seq = own[i%n].Seq
	}
	apply(t, crowd, index.Delta{Change: 1, Rows: append(slices.Clone(own), strangers...)})
	for _, p := range []*index.Partition{alone, crowd} {
		if err := p.Prepare(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	isAda := func(a *index.Attr) bool { return a.UserID == "ada" }
	missed := 0
	vectors := indextest.Clustered(50, dim, 99)
	for _, vec := range vectors {
		want := ask(t, plain, "", vec, isAda, k).Vectors
		if got := ask(t, crowd, "", vec, isAda, k).Vectors; !slices.Equal(got, want) {
			t.Fatalf("in a crowd: %v, want %v", got, want)
		}
		scores := map[string]float64{}
		for _, f := range ask(t, plain, "", vec, isAda, n).Vectors {
			scores[f.ID] = f.Score
		}
		got := ask(t, alone, "", vec, isAda, k).Vectors
		if len(got) != k {
			t.Fatalf("%d hits, want %d", len(got), k)
		}
		for _, f := range got {
			if f.Score != scores[f.ID] {
				t.Fatalf("%v, its score is %v", f, scores[f.ID])
			}
			if f.Score < want[k-1].Score {
				missed++
			}
		}
	}
	if missed > len(vectors)*k/100 {
		t.Errorf("%d of %d are not among the best", missed, len(vectors)*k)
	}
}

// Another model, and another length, do not mix with the old vectors (wild
// fault A14); erased rows are gone (A13); an emptied index fills again (A15).
func TestVectorLife(t *testing.T) {
	for name, e := range map[string]index.Engines{"exact": engines, "graph": graphs(-1)} {
		t.Run(name, func(t *testing.T) {
			p := index.NewPartition(e)
			rows := makeRows(200, 1, "ada")
			apply(t, p, index.Delta{Change: 1, Model: "m", Rows: slices.Clone(rows)})
			if err := p.Apply(index.Delta{Change: 2, Model: "n", Rows: makeRows(1, 500, "ada")}); !errors.Is(err, index.ErrModel) {
				t.Errorf("vectors of another model: %v", err)
			}
			wide := makeRows(1, 500, "ada")
			wide[0].Vector = make([]float32, 2*dim)
			if err := p.Apply(index.Delta{Change: 2, Model: "m", Rows: wide}); !errors.Is(err, index.ErrModel) {
				t.Errorf("vectors of another length: %v", err)
			}
			for change, i := int64(2), 0; i < len(rows); change, i = change+1, i+40 {
				var keys []index.Key
				for _, r := range rows[i : i+40] {
					keys = append(keys, r.Key)
				}
				apply(t, p, index.Delta{Change: change, Deleted: keys})
				left := len(rows) - i - 40
				if a := ask(t, p, "", rows[0].Vector, everyone, 300); len(a.Vectors) != left {
					t.Fatalf("%d hits for %d rows", len(a.Vectors), left)
				}
			}
			apply(t, p, index.Delta{Change: 100, Model: "m", Rows: makeRows(3, 900, "ada")})
			if a := ask(t, p, "", rows[0].Vector, everyone, 5); len(a.Vectors) != 3 {
				t.Errorf("refilled: %v", a.Vectors)
			}
			for i := range wide {
				wide[i].Vector[0] = 1
			}
			apply(t, p, index.Delta{Change: 101, Model: "n", Reset: true, Rows: wide})
			if s := p.Stats(); s.Model != "n" || s.Dim != 2*dim || s.Vectors != 1 {
				t.Errorf("after the change of model: %+v", s)
			}
		})
	}
}

func TestPrepare(t *testing.T) {
	p := index.NewPartition(graphs(100))
	apply(t, p, index.Delta{Change: 1, Reset: true, Rows: makeRows(2000, 1, "ada")})
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Prepare(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := p.Prepare(context.Background()); err != nil {
		t.Error(err)
	}
	if err := index.NewPartition(engines).Prepare(cancelled); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}

func TestStatus(t *testing.T) {
	tb := newTable()
	m := index.New(tb.load, engines, nil)
	if s := m.Status(); len(s) != 0 {
		t.Errorf("status of nothing: %v", s)
	}
	for _, name := range []string{"q", "p"} {
		get(t, m, name, tb.add(name, 7))
	}
	s := m.Status()
	if len(s) != 2 || s[0].Partition != "p" || s[1].Partition != "q" {
		t.Fatalf("status %+v", s)
	}
	if p := s[0]; p.Rows != 7 || p.Vectors != 7 || p.Watermark != 7 || p.Bytes < 1000 || p.Loading {
		t.Errorf("status %+v", p)
	}
}

// Readers of what is there do not wait for a load of what is newer.
func TestOldServesMeanwhile(t *testing.T) {
	tb := newTable()
	m := index.New(tb.load, engines, nil)
	change := tb.add("p", 10)
	get(t, m, "p", change)
	tb.gate = make(chan struct{})
	newer := tb.add("p", 5)
	var loading sync.WaitGroup
	loading.Go(func() {
		if p := get(t, m, "p", newer); p.Len() != 15 {
			t.Errorf("%d rows", p.Len())
		}
	})
	for tb.loads.Load() < 2 {
		runtime.Gosched()
	}
	if p := get(t, m, "p", change); p.Len() != 10 || !m.Status()[0].Loading {
		t.Errorf("%d rows, status %+v", p.Len(), m.Status())
	}
	close(tb.gate)
	loading.Wait()
}

// One database with very many partitions, few of them hot: the hot ones stay,
// the budget holds, and those that went come back.
func TestManyPartitions(t *testing.T) {
	partitions, hot := 100_000, 1000
	if indextest.Race || testing.Short() {
		partitions, hot = 5000, 50
	}
	var hotLoads int
	row := makeRows(1, 1, "ada")
	load := func(_ context.Context, name string, _ int64, _ *index.Early) (index.Delta, error) {
		if name[0] == 'h' {
			hotLoads++
		}
		return index.Delta{Change: 1, Model: "m", Rows: slices.Clone(row)}, nil
	}
	one := get(t, index.New(load, engines, nil), "h0", 1).Stats().Bytes
	budget := int64(hot) * 3 * one
	m := index.New(load, engines, &index.Options{Budget: budget})
	hotLoads = 0
	names := make([]string, hot)
	for i := range names {
		names[i] = fmt.Sprint("h", i)
	}
	for i := range partitions - hot {
		get(t, m, fmt.Sprint("c", i), 1)
		get(t, m, names[i%hot], 1)
		if m.Bytes() > budget {
			t.Fatalf("%d bytes, the budget is %d", m.Bytes(), budget)
		}
	}
	if hotLoads != hot {
		t.Errorf("%d hot partitions were loaded %d times", hot, hotLoads)
	}
	if p := get(t, m, "c0", 1); p.Len() != 1 {
		t.Errorf("an evicted partition came back with %d rows", p.Len())
	}
}

// Everything at once for as long as INDEX_SOAK says (make soak-index: 10m), with
// constant memory and files.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("INDEX_SOAK"))
	if err != nil {
		length = 300 * time.Millisecond
	}
	s := newSoak()
	stop := make(chan struct{})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() { s.run(t, w, stop) })
	}
	var first, last usage
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); {
		time.Sleep(min(10*time.Second, length/20))
		last = measure()
		if first == (usage{}) && time.Until(end) < length*4/5 { // caches are full by then
			first = last
		}
		if length > time.Minute {
			t.Logf("%+v, %d steps", last, s.steps.Load())
		}
	}
	close(stop)
	all.Wait()
	s.m.Close()
	if last.heap > first.heap*3/2+16<<20 || last.files > first.files+5 || last.routines > first.routines+5 {
		t.Errorf("grew from %+v to %+v", first, last)
	}
}

// What is remembered holds until a row's answer changes, by time or by a write.
func TestKeep(t *testing.T) {
	p := index.NewPartition(engines)
	rows := makeRows(10, 1, "ada")
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for i := range rows {
		rows[i].ExpiresAt = noon.Add(time.Duration(i) * time.Hour)
	}
	apply(t, p, index.Delta{Change: 1, Rows: rows})
	asked := 0
	count := func(key string, now time.Time) (n int) {
		_ = p.View(func(v *index.View) error {
			n = index.Keep(v, key, now, func() (*index.Bitmap, time.Time) {
				var next time.Time
				set := v.Admit(func(a *index.Attr) bool {
					asked++
					if !now.Before(a.ExpiresAt) {
						return false
					}
					if next.IsZero() || a.ExpiresAt.Before(next) {
						next = a.ExpiresAt
					}
					return true
				})
				return set, next
			}).Count()
			return nil
		})
		return n
	}
	for _, c := range []struct {
		key         string
		minutes     int
		want, asked int
	}{
		{"a", 30, 9, 10}, // the first has expired
		{"a", 59, 9, 10}, // remembered
		{"b", 59, 9, 20}, // another question
		{"a", 60, 8, 30}, // the second has
		{"a", 59, 9, 40}, // earlier than what is remembered
		{"a", 6000, 0, 50},
		{"a", 9000, 0, 50}, // and so for good
	} {
		if n := count(c.key, noon.Add(time.Duration(c.minutes)*time.Minute)); n != c.want || asked != c.asked {
			t.Errorf("%+v: %d admitted, %d asked", c, n, asked)
		}
	}
	more := makeRows(1, 50, "ada")
	more[0].ExpiresAt = noon.Add(1000 * time.Hour)
	apply(t, p, index.Delta{Change: 2, Rows: more})
	if n := count("a", noon.Add(9000*time.Minute)); n != 1 {
		t.Errorf("after a write: %d admitted", n)
	}
	for i := range 100 {
		count(fmt.Sprint(i), noon)
	}
	if s := p.Stats(); s.Bytes > 100_000 {
		t.Errorf("%d bytes: the sets pile up", s.Bytes)
	}
}
