package index_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/indextest"
)

// An index whose rows came before their vectors is the one that got both at once,
// whether what came early still holds in the end or not.
func TestEarly(t *testing.T) {
	rows := makeRows(300, 1, "ada")
	rows[7].Vector = nil
	back := slices.Clone(rows)
	slices.Reverse(back)
	bare := slices.Clone(rows)
	for i := range bare {
		bare[i].Vector = nil
	}
	for name, c := range map[string]struct {
		rows []index.Row
		dim  int
		at   int64 // change number of what comes early
	}{
		"as it was":       {rows, dim, 2},
		"length unknown":  {rows, 0, 2},
		"not in order":    {back, dim, 2},
		"without vectors": {bare, dim, 2},
		"overtaken":       {rows, dim, 1},
	} {
		want := index.NewPartition(engines)
		apply(t, want, index.Delta{Change: 2, Reset: true, Model: "m", Dim: c.dim, Rows: slices.Clone(c.rows)})
		calls := 0
		m := index.New(func(_ context.Context, _ string, since int64, early *index.Early) (index.Delta, error) {
			calls++
			d := index.Delta{Change: 2, Model: "m", Dim: c.dim, Rows: slices.Clone(c.rows)}
			vectors := map[index.Key][]float32{}
			for i := range d.Rows {
				vectors[d.Rows[i].Key], d.Rows[i].Vector = slices.Clone(d.Rows[i].Vector), nil
			}
			first := d
			if first.Change = c.at; c.at != d.Change {
				first.Rows = makeRows(10, 900, "eve")
			}
			early.Rows(first)
			for i := range d.Rows {
				d.Rows[i].Vector = vectors[d.Rows[i].Key]
			}
			return d, nil
		}, engines, nil)
		got := get(t, m, "p", 2)
		if w, g := want.Stats(), got.Stats(); calls != 1 || g.Rows != w.Rows || g.Words != w.Words || g.Vectors != w.Vectors ||
			g.Dim != w.Dim || g.Model != w.Model || g.Watermark != 2 {
			t.Errorf("%s: %d loads, %+v, want %+v", name, calls, g, w)
		}
		for i, query := range indextest.Texts(5, 99) {
			vec := indextest.Clustered(5, dim, 99)[i]
			if w, g := ask(t, want, query, vec, everyone, 10), ask(t, got, query, vec, everyone, 10); !reflect.DeepEqual(g, w) {
				t.Errorf("%s: %+v, want %+v", name, g, w)
			}
		}
	}
}

// A delta that brings all rows anew puts their vectors in the place of those that
// were there.
func TestAllRowsAgain(t *testing.T) {
	for _, n := range []int{1, 2, 300} {
		list := [][]index.Row{makeRows(n, 1, "ada"), makeRows(n, 1, "ada")}
		for i, v := range indextest.Clustered(n, dim, 77) {
			list[1][i].Vector = v
		}
		want := index.NewPartition(engines)
		apply(t, want, index.Delta{Change: 2, Reset: true, Model: "m", Dim: dim, Rows: slices.Clone(list[1])})
		m := index.New(func(_ context.Context, _ string, since int64, _ *index.Early) (index.Delta, error) {
			d := index.Delta{Change: since + 1, Model: "m", Dim: dim, Rows: slices.Clone(list[since])}
			for i := range d.Rows {
				d.Rows[i].Vector = slices.Clone(d.Rows[i].Vector)
			}
			return d, nil
		}, engines, nil)
		get(t, m, "p", 1)
		got := get(t, m, "p", 2)
		if w, g := want.Stats(), got.Stats(); g.Vectors != w.Vectors || g.Rows != w.Rows {
			t.Errorf("%d rows: %+v, want %+v", n, g, w)
		}
		for _, row := range slices.Concat(list...) {
			if w, g := ask(t, want, row.Text, row.Vector, everyone, 10), ask(t, got, row.Text, row.Vector, everyone, 10); !reflect.DeepEqual(g, w) {
				t.Fatalf("%d rows: %+v, want %+v", n, g, w)
			}
		}
	}
}

// A load that a rebuild overtakes does not take the index back.
func TestLoadOvertaken(t *testing.T) {
	var m *index.Manager
	full := 0
	m = index.New(func(ctx context.Context, _ string, since int64, _ *index.Early) (index.Delta, error) {
		if since > 0 { // does not fit, so that all rows are asked for
			return index.Delta{Change: 2, Rows: makeRows(1, 1, "ada")}, nil
		}
		switch full++; full {
		case 1:
			return index.Delta{Change: 1, Rows: makeRows(2, 5, "ada")}, nil
		case 2:
			d := index.Delta{Change: 2, Rows: makeRows(3, 5, "ada")}
			_, err := m.Rebuild(ctx, "p", 3)
			return d, err
		default:
			return index.Delta{Change: 3, Rows: makeRows(4, 5, "ada")}, nil
		}
	}, engines, nil)
	get(t, m, "p", 1)
	if got := get(t, m, "p", 2); full != 3 || got.Watermark() != 3 || got.Len() != 4 {
		t.Errorf("%d loads, change %d with %d rows", full, got.Watermark(), got.Len())
	}
}
