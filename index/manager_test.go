package index_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/meminfra/memory-layer/index"
)

// table is a stand-in for SQL: rows with the change that wrote them.
type table struct {
	mu     sync.Mutex
	rows   map[string][]index.Row
	change map[string]int64
	loads  atomic.Int64
	full   atomic.Int64
	fail   error
	gate   chan struct{} // loads wait for it, if set
}

func newTable() *table {
	return &table{rows: map[string][]index.Row{}, change: map[string]int64{}}
}

// add writes n rows and returns the new change number.
func (tb *table) add(partition string, n int) int64 {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.rows[partition] = append(tb.rows[partition], makeRows(n, int64(len(tb.rows[partition])), "ada")...)
	tb.change[partition] += int64(n) // one change per row, as an Add each
	return tb.change[partition]
}

func (tb *table) load(ctx context.Context, partition string, since int64, _ *index.Early) (index.Delta, error) {
	tb.loads.Add(1)
	if since == 0 {
		tb.full.Add(1)
	}
	if tb.gate != nil {
		select {
		case <-tb.gate:
		case <-ctx.Done():
			return index.Delta{}, ctx.Err()
		}
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.fail != nil {
		return index.Delta{}, tb.fail
	}
	return index.Delta{Change: tb.change[partition], Model: "m", Rows: slices.Clone(tb.rows[partition][since:])}, nil
}

func get(t testing.TB, m *index.Manager, partition string, change int64) *index.Partition {
	t.Helper()
	p, err := m.Get(context.Background(), partition, change)
	if err != nil {
		t.Fatalf("Get %s at %d: %v", partition, change, err)
	}
	if p.Watermark() < change {
		t.Fatalf("Get %s at %d is at %d", partition, change, p.Watermark())
	}
	return p
}

// loaded names the partitions in memory, sorted.
func loaded(m *index.Manager) (names []string) {
	for _, s := range m.Status() {
		names = append(names, s.Partition)
	}
	return names
}

func TestGet(t *testing.T) {
	tb := newTable()
	m := index.New(tb.load, engines, nil)
	if p := get(t, m, "nobody", 0); p.Len() != 0 || tb.loads.Load() != 0 || len(loaded(m)) != 0 {
		t.Error("a partition without changes was loaded")
	}
	change := tb.add("p", 20)
	p := get(t, m, "p", change)
	get(t, m, "p", change)
	get(t, m, "p", change-1)
	if p.Len() != 20 || tb.loads.Load() != 1 {
		t.Errorf("%d rows after %d loads, want 20 after 1", p.Len(), tb.loads.Load())
	}
	if q := get(t, m, "p", tb.add("p", 3)); q != p || p.Len() != 23 || tb.full.Load() != 1 {
		t.Errorf("%d rows, %d full loads; want 23 and 1", q.Len(), tb.full.Load())
	}
	if m.Peek("p") != p || m.Peek("q") != nil || !slices.Equal(loaded(m), []string{"p"}) || m.Bytes() < 1000 {
		t.Errorf("loaded %v, %d bytes", loaded(m), m.Bytes())
	}
	m.Drop("p")
	m.Drop("p")
	if m.Peek("p") != nil || m.Bytes() != 0 {
		t.Errorf("dropped, but %d bytes are left", m.Bytes())
	}
	if q := get(t, m, "p", 1); q == p || q.Len() != 23 || tb.full.Load() != 2 {
		t.Error("a dropped index was not loaded anew")
	}
}

func TestGetErrors(t *testing.T) {
	tb := newTable()
	m := index.New(tb.load, engines, nil)
	change := tb.add("p", 5)
	tb.fail = errors.New("database is down")
	if _, err := m.Get(context.Background(), "p", change); !errors.Is(err, tb.fail) {
		t.Errorf("error %v, want the loader's", err)
	}
	if len(loaded(m)) != 0 || m.Peek("p") != nil {
		t.Error("what failed to load is kept")
	}
	tb.fail = nil
	p := get(t, m, "p", change)
	tb.fail = errors.New("database is down")
	if _, err := m.Get(context.Background(), "p", change+1); !errors.Is(err, tb.fail) || p.Len() != 5 {
		t.Errorf("error %v, %d rows", err, p.Len())
	}
	get(t, m, "p", change)
	tb.fail = nil
	var behind *index.BehindError
	if _, err := m.Get(context.Background(), "p", change+7); !errors.As(err, &behind) || *behind != (index.BehindError{Want: change + 7, Got: change}) {
		t.Errorf("error %v, want a BehindError", err)
	}
	get(t, m, "p", change)
}

// Deltas that do not fit make the manager load all rows.
func TestReload(t *testing.T) {
	rows := makeRows(6, 0, "ada")
	deltas := []index.Delta{
		{Change: 1, Model: "m", Rows: rows[2:4]},
		{Change: 2, Model: "m", Rows: rows[:1]}, // out of order
		{Change: 2, Model: "m", Rows: rows[:4]},
		{Change: 3, Model: "n", Rows: rows[4:]}, // another model
		{Change: 3, Model: "n", Rows: rows},
		{Change: 4, Model: "n", Rows: rows[5:], Reset: true},
	}
	var since []int64
	m := index.New(func(_ context.Context, _ string, s int64, _ *index.Early) (index.Delta, error) {
		since = append(since, s)
		d := deltas[0]
		d.Rows = slices.Clone(d.Rows)
		deltas = deltas[1:]
		return d, nil
	}, engines, nil)
	for i, want := range []int{2, 4, 6, 1} {
		if p := get(t, m, "p", int64(i+1)); p.Len() != want {
			t.Errorf("at change %d: %d rows, want %d", i+1, p.Len(), want)
		}
	}
	if !slices.Equal(since, []int64{0, 1, 0, 2, 0, 3}) {
		t.Errorf("loads since %v", since)
	}
}

func TestSingleFlight(t *testing.T) {
	tb := newTable()
	tb.gate = make(chan struct{})
	m := index.New(tb.load, engines, nil)
	change := tb.add("p", 10)
	leader, giveUp := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := m.Get(leader, "p", change); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled leader: %v", err)
		}
	})
	for tb.loads.Load() == 0 {
		runtime.Gosched()
	}
	for range 20 {
		all.Go(func() { get(t, m, "p", change) })
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Get(cancelled, "p", change); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled follower: %v", err)
	}
	giveUp() // the others must not fail with the leader
	close(tb.gate)
	all.Wait()
	if n := tb.loads.Load(); n > 2 {
		t.Errorf("%d loads, want one by the leader and one after it", n)
	}
}

func TestPanickingLoad(t *testing.T) {
	calls := 0
	m := index.New(func(context.Context, string, int64, *index.Early) (index.Delta, error) {
		if calls++; calls == 1 {
			panic("loader")
		}
		return index.Delta{Change: 1}, nil
	}, engines, nil)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = m.Get(context.Background(), "p", 1)
	}()
	get(t, m, "p", 1)
}

func TestEviction(t *testing.T) {
	tb := newTable()
	name := func(i int) string { return fmt.Sprint("p", i) }
	const partitions, kept = 12, 4
	for i := range partitions {
		tb.add(name(i), 50)
	}
	one := index.NewPartition(engines)
	apply(t, one, index.Delta{Change: 1, Rows: makeRows(50, 0, "ada")})
	m := index.New(tb.load, engines, &index.Options{Budget: (kept*2 + 1) * one.Stats().Bytes / 2})
	var first *index.Partition
	for i := range partitions {
		p := get(t, m, name(i), 50)
		if i == 0 {
			first = p
		}
		get(t, m, name(0), 50) // in use, so it stays
	}
	if n := len(loaded(m)); n != kept || m.Peek(name(0)) != first || m.Peek(name(1)) != nil {
		t.Errorf("%d indexes are kept: %v", n, loaded(m))
	}
	evicted := get(t, m, name(1), 50)
	if evicted.Len() != 50 || tb.full.Load() != partitions+1 {
		t.Errorf("%d rows after %d loads", evicted.Len(), tb.full.Load())
	}

	small := index.New(tb.load, engines, &index.Options{Budget: -1})
	get(t, small, name(2), 50)
	loads := tb.loads.Load()
	get(t, small, name(2), 50)
	if tb.loads.Load() != loads {
		t.Error("an index over the budget is loaded on every call")
	}
	get(t, small, name(3), 50)
	if !slices.Equal(loaded(small), []string{name(3)}) {
		t.Errorf("kept %v", loaded(small))
	}
}

// An index that is mostly holes is rebuilt while the old rows serve and take
// what is new; nobody waits for it but Close.
func TestHoles(t *testing.T) {
	const n = 3000
	rows := makeRows(n, 0, "ada")
	var keys []index.Key
	for _, r := range rows[10:] {
		keys = append(keys, r.Key)
	}
	more := makeRows(1, n, "ada")
	gate, asked := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	m := index.New(func(_ context.Context, _ string, since int64, _ *index.Early) (index.Delta, error) {
		switch {
		case since == 1:
			return index.Delta{Change: 2, Deleted: keys}, nil
		case since == 2:
			return index.Delta{Change: 3, Rows: slices.Clone(more)}, nil
		case !first.Swap(true):
			return index.Delta{Change: 1, Rows: slices.Clone(rows)}, nil
		}
		close(asked) // once only: a second rebuild panics
		<-gate
		return index.Delta{Change: 2, Rows: slices.Clone(rows[:10])}, nil
	}, engines, nil)
	get(t, m, "p", 1)
	p := get(t, m, "p", 2)
	if s := p.Stats(); s.Holes != n-10 || s.Rows != 10 {
		t.Errorf("after deleting: %+v", s)
	}
	<-asked
	if s := get(t, m, "p", 3).Stats(); s.Holes != n-10 || s.Rows != 11 {
		t.Errorf("while it is rebuilt: %+v", s)
	}
	before := m.Bytes()
	close(gate)
	m.Close()
	if s := p.Stats(); s.Holes != 0 || s.Rows != 11 || s.Watermark != 3 {
		t.Errorf("rebuilt: %+v", s)
	}
	if m.Bytes() >= before || m.Bytes() != p.Stats().Bytes {
		t.Errorf("%d bytes booked, before %d", m.Bytes(), before)
	}
	if get(t, m, "p", 3) != p {
		t.Error("another index")
	}
}

// Rebuild makes a loaded index anew, in its place, and loads one that is not.
func TestRebuild(t *testing.T) {
	tb := newTable()
	m := index.New(tb.load, engines, nil)
	defer m.Close()
	change := tb.add("p", 20)
	p, err := m.Rebuild(t.Context(), "p", change)
	if err != nil || p.Len() != 20 || tb.full.Load() != 1 {
		t.Fatalf("%v, %d full loads", err, tb.full.Load())
	}
	change = tb.add("p", 5)
	again, err := m.Rebuild(t.Context(), "p", change)
	if err != nil || again != p || p.Len() != 25 || tb.full.Load() != 2 {
		t.Errorf("%v, %d rows, %d full loads", err, p.Len(), tb.full.Load())
	}
	tb.fail = errors.New("no SQL")
	if _, err := m.Rebuild(t.Context(), "p", change); !errors.Is(err, tb.fail) || p.Len() != 25 {
		t.Errorf("%v, %d rows", err, p.Len())
	}
}

func TestManagerConcurrently(t *testing.T) {
	tb := newTable()
	m := index.New(tb.load, engines, &index.Options{Budget: 200_000})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 60 {
				partition := fmt.Sprint("p", (i+w)%6)
				change := tb.add(partition, 2)
				p := get(t, m, partition, change)
				if p.Len() < int(change) {
					t.Errorf("%d rows at change %d", p.Len(), change)
				}
				switch i % 10 {
				case 3:
					m.Drop(partition)
				case 5:
					loaded(m)
					m.Peek(partition)
				}
			}
		})
	}
	all.Wait()
	for _, name := range loaded(m) {
		m.Drop(name)
	}
	if m.Bytes() != 0 {
		t.Errorf("%d bytes are booked for nothing", m.Bytes())
	}
}

func BenchmarkGet(b *testing.B) {
	for _, n := range []int{1, 1000} {
		tb := newTable()
		m := index.New(tb.load, engines, nil)
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint("p", i)
			tb.add(names[i], 5)
			get(b, m, names[i], 5)
		}
		b.Run(fmt.Sprint("current/", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				get(b, m, names[i%n], 5)
			}
		})
	}
}

// A source from which rows were erased cannot tell what to forget: all is loaded
// anew, by a rebuild that this overtakes, too.
func TestErasedSince(t *testing.T) {
	var m *index.Manager
	change, full := int64(1), 0
	m = index.New(func(ctx context.Context, _ string, since int64, _ *index.Early) (index.Delta, error) {
		if since > 0 {
			return index.Delta{}, fmt.Errorf("load: %w", index.ErrReset)
		}
		full++
		d := index.Delta{Change: change, Rows: makeRows(10-int(change), 1, "ada")}
		if full == 3 { // the rebuild's
			change++
			_, err := m.Get(ctx, "p", change)
			return d, err
		}
		return d, nil
	}, engines, nil)
	get(t, m, "p", 1)
	change++
	if p := get(t, m, "p", 2); full != 2 || p.Len() != 8 {
		t.Errorf("%d loads, %d rows, want 2 and 8", full, p.Len())
	}
	p, err := m.Rebuild(t.Context(), "p", 3)
	if err != nil {
		t.Fatal(err)
	}
	if full != 5 || p.Watermark() != 3 || p.Len() != 7 {
		t.Errorf("%d loads, %d rows at change %d, want 5, 7 and 3", full, p.Len(), p.Watermark())
	}
}
