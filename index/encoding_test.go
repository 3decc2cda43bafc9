package index_test

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/indextest"
)

// stream moves the vectors of a delta's rows into what takes them early, the last
// one first.
func stream(d index.Delta, early *index.Early) {
	take := early.Vectors(d.Change, dim, len(d.Rows))
	scratch := make([]float32, dim)
	for i := range slices.Backward(d.Rows) {
		r := &d.Rows[i]
		if r.Vector != nil {
			take(r.Key, append(scratch[:0], r.Vector...))
			clear(scratch)
			r.Vector = nil
		}
	}
}

// lean is a manager of an index whose load kept no vectors of these rows, and how
// many were read again.
func lean(t *testing.T, rows func() []index.Row, load func(index.Delta, *index.Early) index.Delta) (*index.Manager, *atomic.Int64) {
	var read atomic.Int64
	m := index.New(func(_ context.Context, _ string, since int64, early *index.Early) (index.Delta, error) {
		return load(index.Delta{Change: 2, Model: "m", Dim: dim, Rows: rows()}, early), nil
	}, graphs(0), &index.Options{Vectors: func(_ context.Context, _ string, keys []index.Key, take func(index.Key, []float32) error) error {
		return handOut(rows(), keys, func(k index.Key, vec []float32) error {
			read.Add(1)
			return take(k, vec)
		})
	}})
	t.Cleanup(m.Close)
	return m, &read
}

// An index whose load kept no vectors answers as one that has them, from the first
// question on, whatever came early.
func TestVectorsReadAgain(t *testing.T) {
	const n = 300
	rows := func() []index.Row {
		list := makeRows(n, 1, "ada")
		list[7].Vector = nil
		clear(list[8].Vector)
		return list
	}
	for name, load := range map[string]func(index.Delta, *index.Early) index.Delta{
		"vectors alone": func(d index.Delta, early *index.Early) index.Delta {
			stream(d, early)
			return d
		},
		"rows first": func(d index.Delta, early *index.Early) index.Delta {
			vectors := d
			vectors.Rows = slices.Clone(d.Rows)
			for i := range d.Rows {
				d.Rows[i].Vector = nil
			}
			early.Rows(d)
			stream(vectors, early)
			return d
		},
		"overtaken": func(d index.Delta, early *index.Early) index.Delta {
			old := index.Delta{Change: 1, Rows: makeRows(n+9, 40, "eve")}
			stream(old, early)
			early.Rows(old)
			stream(d, early)
			return d
		},
		"all at once after all": func(d index.Delta, early *index.Early) index.Delta {
			stream(index.Delta{Change: 1, Rows: makeRows(n, 40, "eve")}, early)
			return d
		},
		"vectors of no row": func(d index.Delta, early *index.Early) index.Delta {
			more := d
			more.Rows = slices.Concat(makeRows(20, 5000, "eve"), d.Rows)
			stream(more, early)
			for i := range d.Rows {
				d.Rows[i].Vector = nil
			}
			return d
		},
	} {
		want := index.NewPartition(graphs(0))
		apply(t, want, index.Delta{Change: 2, Reset: true, Model: "m", Dim: dim, Rows: rows()})
		m, read := lean(t, rows, load)
		texts, queries := indextest.Texts(5, 99), indextest.Clustered(5, dim, 99)
		for i := range queries {
			view := func(f func(*index.View) error) error { return m.View(t.Context(), "p", 2, f) }
			w, g := ask(t, want, texts[i], queries[i], everyone, 10), askIn(t, view, texts[i], queries[i], everyone, 10)
			if !reflect.DeepEqual(g, w) {
				t.Errorf("%s: %+v, want %+v", name, g, w)
			}
		}
		p, err := m.Rebuild(t.Context(), "p", 2)
		if err != nil {
			t.Fatal(err)
		}
		if w, g := want.Stats(), p.Stats(); g.Vectors != w.Vectors || g.BadVectors != w.BadVectors || g.Rows != w.Rows || g.Model != w.Model || g.Watermark != w.Watermark {
			t.Errorf("%s: %+v, want %+v", name, g, w)
		}
		if none := name == "all at once after all"; none != (read.Load() == 0) {
			t.Errorf("%s: %d vectors were read again", name, read.Load())
		}
	}
}

// All vectors come in the background once a search has needed some, and the costs
// are booked anew.
func TestVectorsComeInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1200
		rows := func() []index.Row { return makeRows(n, 1, "ada") }
		m, read := lean(t, rows, func(d index.Delta, early *index.Early) index.Delta {
			stream(d, early)
			return d
		})
		query := indextest.Clustered(1, dim, 99)[0]
		few := get(t, m, "p", 2).Stats().Bytes
		if err := m.View(t.Context(), "p", 2, func(v *index.View) error {
			_, err := v.SearchVector(query, v.Admit(func(a *index.Attr) bool { return a.Seq <= 20 }), 10)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		p := get(t, m, "p", 2)
		if all := p.Stats().Bytes; all < few+n*dim*4 || m.Bytes() != all || read.Load() != 20+n {
			t.Errorf("%d bytes at first and %d later, %d are booked; %d vectors were read again", few, all, m.Bytes(), read.Load())
		}
		if err := p.View(func(v *index.View) error {
			_, err := v.SearchVector(query, v.All(), 300)
			return err
		}); err != nil {
			t.Error(err)
		}
	})
}

// An index that Rebuild loads has all vectors and a graph of them, and they are
// booked.
func TestRebuildBringsVectors(t *testing.T) {
	rows := makeRows(400, 1, "ada")
	var read atomic.Int64
	m := index.New(func(_ context.Context, _ string, _ int64, early *index.Early) (index.Delta, error) {
		return streamed(2, rows, early), nil
	}, graphs(100), &index.Options{Vectors: func(_ context.Context, _ string, keys []index.Key, take func(index.Key, []float32) error) error {
		return handOut(rows, keys, func(k index.Key, vec []float32) error {
			read.Add(1)
			return take(k, vec)
		})
	}})
	defer m.Close()
	p, err := m.Rebuild(t.Context(), "p", 2)
	if err != nil {
		t.Fatal(err)
	}
	if read.Load() != 400 || m.Bytes() != p.Stats().Bytes {
		t.Errorf("%d vectors were read again, %d bytes are booked, want %d", read.Load(), m.Bytes(), p.Stats().Bytes)
	}
}

// What cannot be read fails the search that needs it and no other; a vector that
// is another by now is nobody's until its delta comes.
func TestVectorsReadAgainFail(t *testing.T) {
	fail := errors.New("the source is down")
	var failing error
	rows := makeRows(300, 1, "ada")
	m := index.New(func(_ context.Context, _ string, since int64, early *index.Early) (index.Delta, error) {
		if since > 0 {
			return index.Delta{Change: 3, Model: "m", Rows: slices.Clone(rows[:50])}, nil
		}
		d := index.Delta{Change: 2, Model: "m", Dim: dim, Rows: slices.Clone(rows)}
		stream(d, early)
		return d, nil
	}, graphs(0), &index.Options{Vectors: func(_ context.Context, _ string, keys []index.Key, take func(index.Key, []float32) error) error {
		return cmp.Or(handOut(rows[10:], keys, take), failing) // the first ten are gone
	}})
	defer m.Close()
	var hits []index.Hit
	search := func(change int64) error {
		return m.View(t.Context(), "p", change, func(v *index.View) (err error) {
			hits, err = v.SearchVector(rows[5].Vector, v.All(), 300)
			return err
		})
	}
	failing = fail
	if err := search(2); !errors.Is(err, fail) {
		t.Errorf("the source is down: %v", err)
	}
	if err := m.View(t.Context(), "p", 2, func(v *index.View) error { return nil }); err != nil {
		t.Errorf("a search that needs no vector: %v", err)
	}
	failing = nil
	if err := search(2); err != nil || len(hits) != 290 {
		t.Errorf("%d hits, %v, want the 290 that are there", len(hits), err)
	}
	for i, v := range indextest.Clustered(10, dim, 55) {
		rows[i].Vector = v
	}
	if err := search(3); err != nil || len(hits) != 300 {
		t.Errorf("%d hits, %v, want all", len(hits), err)
	}
}

// streamed is a load that keeps no vectors.
func streamed(change int64, rows []index.Row, early *index.Early) index.Delta {
	d := index.Delta{Change: change, Model: "m", Dim: dim, Rows: slices.Clone(rows)}
	if early != nil {
		stream(d, early)
	}
	return d
}

// handOut hands out the vectors that rows have, as a VectorsFunc does, and clears
// what it lent.
func handOut(rows []index.Row, keys []index.Key, take func(index.Key, []float32) error) error {
	for _, r := range rows {
		if (keys == nil || slices.Contains(keys, r.Key)) && r.Vector != nil {
			lent := slices.Clone(r.Vector)
			if err := take(r.Key, lent); err != nil {
				return err
			}
			clear(lent)
		}
	}
	return nil
}

// What was read before all rows were loaded anew is not held against the vectors
// that these have since then, which no delta would bring again.
func TestVectorsReadBeforeALoad(t *testing.T) {
	const n = 300
	rows := makeRows(n, 1, "ada")
	anew := slices.Clone(rows)
	for i, v := range indextest.Clustered(n, dim, 55) {
		anew[i].Vector = v
	}
	var reads int
	var m *index.Manager
	m = index.New(func(_ context.Context, _ string, since int64, early *index.Early) (index.Delta, error) {
		switch {
		case since > 0:
			return index.Delta{Change: 3, Rows: makeRows(1, 0, "ada")}, nil // out of order, so that all are asked for
		case m.Peek("p") == nil:
			return streamed(2, rows, early), nil
		}
		return streamed(3, anew, early), nil
	}, graphs(0), &index.Options{Vectors: func(ctx context.Context, _ string, keys []index.Key, take func(index.Key, []float32) error) error {
		if reads++; reads > 1 {
			return handOut(anew, keys, take)
		}
		if _, err := m.Get(ctx, "p", 3); err != nil {
			return err
		}
		return handOut(rows, keys, take)
	}})
	m.Close() // nothing comes in the background
	if err := m.View(t.Context(), "p", 2, func(v *index.View) error {
		hits, err := v.SearchVector(anew[5].Vector, v.All(), n)
		if found := names(v, hits); err == nil && (len(found) != n || found[0].ID != anew[5].ID) {
			t.Errorf("%d hits: %v", len(found), found)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// An index that is loaded anew while all its vectors are read has those of the new
// rows read in one go, too: by key it would take several times as long.
func TestLoadedAnewWhileVectorsAreRead(t *testing.T) {
	const n, end = 700, 4 // the change at which it is left alone
	change := int64(2)
	rows := func() []index.Row { return makeRows(n-int(change), 1, "ada") }
	var whole, byKey int
	var m *index.Manager
	m = index.New(func(_ context.Context, _ string, since int64, early *index.Early) (index.Delta, error) {
		if since > 0 {
			return index.Delta{}, index.ErrReset
		}
		return streamed(change, rows(), early), nil
	}, graphs(0), &index.Options{Vectors: func(ctx context.Context, _ string, keys []index.Key, take func(index.Key, []float32) error) error {
		if keys != nil {
			byKey++
			return handOut(rows(), keys, take)
		}
		whole++
		read := 0
		return handOut(rows(), nil, func(k index.Key, vec []float32) error {
			if read++; read == 600 && change < end { // some have been brought
				change++
				if _, err := m.Get(ctx, "p", change); err != nil {
					return err
				}
			}
			return take(k, vec)
		})
	}})
	defer m.Close()
	p, err := m.Rebuild(t.Context(), "p", change)
	if err != nil {
		t.Fatal(err)
	}
	if whole != 3 || byKey != 0 {
		t.Errorf("read %d times in one go and %d times by key, want 3 and 0", whole, byKey)
	}
	if s := p.Stats(); s.Watermark != end || s.Vectors != n-end || s.Rows != n-end {
		t.Errorf("%+v", s)
	}
}

// An index that is not kept any more gets no vectors and holds up no other.
func TestVectorsOfAnEvictedIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := makeRows(400, 1, "ada")
		var ended error
		m := index.New(func(_ context.Context, _ string, _ int64, early *index.Early) (index.Delta, error) {
			return streamed(2, rows, early), nil
		}, graphs(0), &index.Options{Budget: -1, Vectors: func(ctx context.Context, partition string, keys []index.Key, take func(index.Key, []float32) error) error {
			if background := ctx != t.Context(); background && partition == "p" {
				<-ctx.Done()
				ended = ctx.Err()
				return ended
			}
			return handOut(rows, keys, take)
		}})
		defer m.Close()
		for _, partition := range []string{"p", "q"} {
			if err := m.View(t.Context(), partition, 2, func(v *index.View) error {
				few := v.Admit(func(a *index.Attr) bool { return a.Seq < 20 })
				_, err := v.SearchVector(rows[5].Vector, few, 10)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if !errors.Is(ended, context.Canceled) {
			t.Errorf("reading the vectors of p: %v", ended)
		}
		if q := m.Peek("q").Stats().Bytes; q < 400*dim*4 || m.Bytes() != q {
			t.Errorf("%d bytes are booked, q costs %d", m.Bytes(), q)
		}
	})
}
