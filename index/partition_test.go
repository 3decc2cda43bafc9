package index_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/bm25"
	"github.com/meminfra/memory-layer/index/exact"
	"github.com/meminfra/memory-layer/index/indextest"
)

var engines = index.Engines{
	Words:   func(rows int) index.WordEngine { return bm25.New(nil, rows) },
	Vectors: func(dim, rows int) index.VectorEngine { return exact.New(dim, rows) },
}

const dim = 16

// makeRows returns n rows whose Seq runs from first. User says who may read them.
func makeRows(n int, first int64, user string) []index.Row {
	texts := indextest.Texts(n, uint64(first))
	vectors := indextest.Clustered(n, dim, uint64(first))
	rows := make([]index.Row, n)
	for i := range rows {
		seq := first + int64(i)
		rows[i] = index.Row{
			Attr:   index.Attr{Key: index.Key{Owner: index.Episode, ID: fmt.Sprint("e", seq)}, Seq: seq, UserID: user},
			Text:   texts[i],
			Vector: vectors[i],
		}
	}
	return rows
}

func apply(t testing.TB, p *index.Partition, d index.Delta) {
	t.Helper()
	if err := p.Apply(d); err != nil {
		t.Fatalf("Apply: %v", err)
	}
}

// found is a hit by name, so that two indexes compare.
type found struct {
	ID    string
	Score float64
}

// answer is all that a caller sees of one index.
type answer struct {
	Admitted       int
	Words, Vectors []found
	WordScores     []float64
	Bound          float64
}

func ask(t testing.TB, p *index.Partition, query string, vec []float32, admit func(*index.Attr) bool, k int) answer {
	t.Helper()
	return askIn(t, p.View, query, vec, admit, k)
}

// askIn is ask of what view runs a function on.
func askIn(t testing.TB, view func(func(*index.View) error) error, query string, vec []float32, admit func(*index.Attr) bool, k int) (a answer) {
	t.Helper()
	err := view(func(v *index.View) error {
		admitted := v.Admit(admit)
		a.Admitted = admitted.Count()
		hits, err := v.SearchVector(vec, admitted, k)
		a.Vectors = names(v, hits)
		words := v.SearchWords(query, admitted, k)
		a.Words = names(v, words)
		rows := make([]int, len(words))
		for i, h := range words {
			rows[i] = h.Row
		}
		a.WordScores, a.Bound = v.ScoreWords(query, admitted, rows)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func names(v *index.View, hits []index.Hit) []found {
	out := make([]found, len(hits))
	for i, h := range hits {
		out[i] = found{v.Attr(h.Row).ID, h.Score}
	}
	return out
}

func everyone(*index.Attr) bool { return true }

// Rows that the caller may not see change no result, score, order or count.
func TestRankingInvariance(t *testing.T) {
	const n, hidden, k = 300, 1000, 25
	own := makeRows(n, 1, "ada")
	alone := index.NewPartition(engines)
	apply(t, alone, index.Delta{Change: 1, Reset: true, Rows: slices.Clone(own)})

	crowd := index.NewPartition(engines)
	strangers := makeRows(hidden, 1, "eve")
	for i := range strangers {
		strangers[i].ID += "x"
		strangers[i].Text += " " + own[i%n].Text
		strangers[i].Seq = own[i%n].Seq // side by side
	}
	apply(t, crowd, index.Delta{Change: 1, Rows: append(slices.Clone(own), strangers...)})

	isAda := func(a *index.Attr) bool { return a.UserID == "ada" }
	vectors := indextest.Clustered(40, dim, 99)
	for i, query := range indextest.Texts(40, 99) {
		want := ask(t, alone, query, vectors[i], isAda, k)
		if got := ask(t, crowd, query, vectors[i], isAda, k); !reflect.DeepEqual(got, want) {
			t.Fatalf("strangers' rows changed the answer:\n%+v\nwant\n%+v", got, want)
		}
		if len(want.Words) == 0 || len(want.Vectors) != k {
			t.Fatalf("query %d finds too little: %+v", i, want)
		}
	}
}

// An index that followed the deltas answers like one built from the rows there are.
func TestDeltasEqualRebuild(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	p := index.NewPartition(engines)
	rows := map[index.Key]index.Row{}
	next := int64(1)
	for change := int64(1); change <= 60; change++ {
		d := index.Delta{Change: change}
		for k := range rows {
			switch rng.IntN(20) {
			case 0:
				d.Deleted = append(d.Deleted, k)
				delete(rows, k)
			case 1:
				r := rows[k]
				r.Text, r.Vector, r.Kind = "changed "+r.Text, nil, fmt.Sprint(change)
				rows[k] = r
				d.Rows = append(d.Rows, r)
			}
		}
		for _, r := range makeRows(rng.IntN(12), next, "ada") {
			rows[r.Key] = r
			d.Rows = append(d.Rows, r)
			next++
		}
		rng.Shuffle(len(d.Rows), func(i, j int) { d.Rows[i], d.Rows[j] = d.Rows[j], d.Rows[i] })
		apply(t, p, d)
	}
	fresh := index.NewPartition(engines)
	all := index.Delta{Change: 60, Reset: true}
	for _, r := range rows {
		all.Rows = append(all.Rows, r)
	}
	apply(t, fresh, all)

	if p.Len() != len(rows) || p.Watermark() != 60 {
		t.Fatalf("%d rows at %d, want %d at 60", p.Len(), p.Watermark(), len(rows))
	}
	vectors := indextest.Clustered(20, dim, 98)
	for i, query := range indextest.Texts(20, 98) {
		query += " changed"
		want := ask(t, fresh, query, vectors[i], everyone, 20)
		if got := ask(t, p, query, vectors[i], everyone, 20); !reflect.DeepEqual(got, want) {
			t.Fatalf("after deltas\n%+v\nrebuilt\n%+v", got, want)
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	p := index.NewPartition(engines)
	rows := makeRows(4, 10, "ada")
	apply(t, p, index.Delta{Change: 5, Model: "m", Rows: slices.Clone(rows[1:])})
	before := p.Stats()
	moved := rows[2]
	moved.Seq = 99
	other := makeRows(1, 50, "ada")
	for name, c := range map[string]struct {
		delta index.Delta
		want  error // nil: any
	}{
		"older row":       {index.Delta{Change: 6, Model: "m", Rows: rows[:1]}, index.ErrOutOfOrder},
		"seq changed":     {index.Delta{Change: 6, Model: "m", Rows: []index.Row{moved}}, index.ErrOutOfOrder},
		"other model":     {index.Delta{Change: 6, Model: "n", Rows: other}, index.ErrModel},
		"other dimension": {index.Delta{Change: 6, Model: "m", Dim: dim + 1, Rows: other}, index.ErrModel},
		"no key":          {index.Delta{Change: 6, Model: "m", Rows: []index.Row{{}}, Deleted: []index.Key{rows[1].Key}}, nil},
		"one key twice":   {index.Delta{Change: 6, Model: "m", Rows: slices.Concat(other, other)}, nil},
	} {
		err := p.Apply(c.delta)
		if err == nil || (c.want != nil && !errors.Is(err, c.want)) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	if after := p.Stats(); after != before {
		t.Errorf("refused deltas changed %+v to %+v", before, after)
	}
	apply(t, p, index.Delta{Change: 5, Model: "m", Deleted: []index.Key{rows[1].Key}})
	if p.Len() != 3 {
		t.Errorf("a delta that is not newer was applied")
	}
}

// A vector that is no direction leaves its row to the word search.
func TestBadVectors(t *testing.T) {
	rows := makeRows(4, 1, "ada")
	rows[0].Vector = []float32{1, 2}
	rows[1].Vector = make([]float32, dim)
	rows[2].Vector = slices.Repeat([]float32{float32(math.NaN())}, dim)
	p := index.NewPartition(engines)
	apply(t, p, index.Delta{Change: 1, Dim: dim, Rows: slices.Clone(rows)})
	s := p.Stats()
	if s.Rows != 4 || s.Words != 4 || s.Vectors != 1 || s.BadVectors != 3 || s.Dim != dim {
		t.Errorf("%+v", s)
	}
}

// A14: another model, of another length and of the same. A15: emptied, refilled.
func TestModelChangeAndRefill(t *testing.T) {
	p := index.NewPartition(engines)
	query := indextest.Texts(1, 1)[0]
	for change := int64(1); change < 9; change += 2 {
		width := dim >> (change % 4 / 2)
		rows := makeRows(5, change*10, "ada")
		for i := range rows {
			rows[i].Vector = rows[i].Vector[:width]
		}
		apply(t, p, index.Delta{Change: change, Model: fmt.Sprint("m", change), Rows: slices.Clone(rows)})
		vec := indextest.Clustered(1, width, 3)[0]
		if a := ask(t, p, query, vec, everyone, 10); len(a.Vectors) != 5 {
			t.Fatalf("change %d: %+v", change, a)
		}
		var keys []index.Key
		for _, r := range rows {
			keys = append(keys, r.Key)
		}
		apply(t, p, index.Delta{Change: change + 1, Deleted: keys})
		if a := ask(t, p, query, vec, everyone, 10); a.Admitted+len(a.Vectors)+len(a.Words) != 0 {
			t.Fatalf("emptied index answers %+v", a)
		}
	}
}

func TestView(t *testing.T) {
	p := index.NewPartition(engines)
	rows := makeRows(3, 1, "ada")
	apply(t, p, index.Delta{Change: 1, Model: "m", Rows: slices.Clone(rows)})
	apply(t, p, index.Delta{Change: 2, Deleted: []index.Key{rows[1].Key}})
	_ = p.View(func(v *index.View) error {
		if v.Len() != 2 || v.Watermark() != 2 || v.Model() != "m" || v.All().Count() != 2 {
			t.Errorf("len %d, watermark %d, model %q", v.Len(), v.Watermark(), v.Model())
		}
		row, ok := v.Find(rows[2].Key)
		if !ok || v.Attr(row).Seq != 3 {
			t.Errorf("row %d, %v", row, ok)
		}
		if _, ok := v.Find(rows[1].Key); ok {
			t.Error("a deleted key is found")
		}
		for _, row := range []int{-1, 1, 3, math.MaxInt} {
			if v.Attr(row) != nil {
				t.Errorf("row %d has attributes", row)
			}
		}
		if hits := v.SearchWords(rows[0].Text, nil, 5); hits != nil {
			t.Errorf("nobody admitted, found %v", hits)
		}
		if hits, err := v.SearchVector(rows[0].Vector, nil, 5); hits != nil || err != nil {
			t.Errorf("nobody admitted, found %v, %v", hits, err)
		}
		var dimension *index.DimensionError
		if _, err := v.SearchVector([]float32{1}, v.All(), 5); !errors.As(err, &dimension) {
			t.Errorf("error %v, want a DimensionError", err)
		}
		return nil
	})
}

// An item finds the row of its episode, whichever came first, also after the
// episode was taken out and put in again under another number.
func TestSource(t *testing.T) {
	p := index.NewPartition(engines)
	rows := makeRows(4, 1, "ada")
	early, late := &rows[0], &rows[3] // items made from the messages between them
	for _, item := range []*index.Row{early, late} {
		item.Key, item.Sources = index.Key{Owner: index.Item, ID: fmt.Sprint("i", item.Seq)}, []string{rows[1].ID}
	}
	source := func() (list []int) {
		_ = p.View(func(v *index.View) error {
			for _, k := range []index.Key{early.Key, late.Key} {
				row, _ := v.Find(k)
				at, ok := v.Source(row)
				if !ok {
					at = -1
				}
				list = append(list, at)
			}
			if _, ok := v.Source(math.MaxInt); ok {
				t.Error("no row has a source")
			}
			return nil
		})
		return list
	}
	check := func(when string, want int) {
		if got := source(); !slices.Equal(got, []int{want, want}) {
			t.Errorf("%s: sources in rows %v, want %d", when, got, want)
		}
	}
	apply(t, p, index.Delta{Change: 1, Model: "m", Rows: slices.Clone(rows)})
	check("at first", 1)
	apply(t, p, index.Delta{Change: 2, Deleted: []index.Key{rows[1].Key}})
	check("taken out", -1)
	again := rows[1]
	again.Seq = 9
	apply(t, p, index.Delta{Change: 3, Model: "m", Rows: []index.Row{again}})
	check("put in again", 4)
}

// Writers and readers together, for the race detector; readers see whole deltas.
func TestConcurrentApplyAndView(t *testing.T) {
	p := index.NewPartition(engines)
	query, vec := indextest.Texts(1, 1)[0], indextest.Clustered(1, dim, 1)[0]
	const each, changes = 5, 60
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_ = p.View(func(v *index.View) error {
					if n := v.Len(); n%each != 0 {
						t.Errorf("half a delta is visible: %d rows", n)
					}
					return nil
				})
				if a := ask(t, p, query, vec, everyone, 7); len(a.Vectors) != min(7, a.Admitted) {
					t.Errorf("%d admitted, %d found", a.Admitted, len(a.Vectors))
				}
			}
		})
	}
	for change := int64(1); change <= changes; change++ {
		rows := makeRows(each, change*each, "ada")
		d := index.Delta{Change: change, Rows: rows, Reset: change%20 == 0}
		if change%7 == 3 {
			for _, r := range makeRows(each, (change-1)*each, "ada") {
				d.Deleted = append(d.Deleted, r.Key)
			}
		}
		apply(t, p, d)
	}
	close(stop)
	readers.Wait()
}

func TestBitmap(t *testing.T) {
	b := index.NewBitmap(10)
	for _, row := range []int{3, 64, 200, 3} {
		b.Set(row)
	}
	b.Clear(64)
	b.Clear(9999)
	c := b.Clone()
	c.Set(5)
	if got := slices.Collect(c.All()); !slices.Equal(got, []int{3, 5, 200}) {
		t.Errorf("rows %v", got)
	}
	if b.Has(5) || b.Has(64) || b.Has(math.MaxInt) || b.Has(-1) || !b.Has(200) {
		t.Error("Has is wrong")
	}
	if b.Count() != 2 || b.CountAnd(c) != 2 || b.And(c).Count() != 2 || new(index.Bitmap).Count() != 0 {
		t.Error("Count is wrong")
	}
}

func TestUnit(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 1000 {
		v := make([]float32, 1+rng.IntN(600))
		scale := math.Pow(10, float64(rng.IntN(60)-30))
		for i := range v {
			v[i] = float32(rng.NormFloat64() * scale)
		}
		once, twice := make([]float32, len(v)), make([]float32, len(v))
		if err := errors.Join(index.Unit(once, v), index.Unit(twice, once)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(once, twice) {
			t.Fatalf("scaling a unit vector of %d numbers again changes it", len(v))
		}
	}
}

func TestTop(t *testing.T) {
	var top index.Top
	if top.Push(1, 1); top.Hits() != nil {
		t.Error("the zero Top keeps rows")
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		n, k := rng.IntN(50), 1+rng.IntN(20)
		hits := make([]index.Hit, n)
		for i, row := range rng.Perm(n) {
			hits[i] = index.Hit{Row: row, Score: float64(rng.IntN(6))}
		}
		top.Reset(k)
		for _, h := range hits {
			top.Push(h.Row, h.Score)
		}
		top.Push(n, math.NaN())
		slices.SortFunc(hits, func(a, b index.Hit) int {
			if a.Score != b.Score {
				return int(b.Score - a.Score)
			}
			return a.Row - b.Row
		})
		if got := top.Hits(); !slices.Equal(got, hits[:min(k, n)]) {
			t.Fatalf("best %d of %v are %v", k, hits, got)
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		p := index.NewPartition(engines)
		apply(b, p, index.Delta{Change: 1, Rows: makeRows(n, 1, "ada")})
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			_ = p.View(func(v *index.View) error {
				for b.Loop() {
					v.Admit(func(a *index.Attr) bool { return a.UserID == "ada" && a.ExpiresAt.IsZero() })
				}
				return nil
			})
		})
	}
}

func BenchmarkReset(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		rows := makeRows(n, 1, "ada")
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p := index.NewPartition(engines)
				apply(b, p, index.Delta{Change: 1, Reset: true, Rows: rows})
			}
		})
	}
}
