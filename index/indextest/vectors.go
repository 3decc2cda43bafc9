package indextest

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/meminfra/memory-layer/index"
)

// NewVectors makes the engine under test.
type NewVectors func(dim, rows int) index.VectorEngine

// Vectors proves a vector engine.
func Vectors(t *testing.T, open NewVectors) {
	t.Run("Recall", func(t *testing.T) { vectorRecall(t, open) })
	t.Run("Empty", func(t *testing.T) { vectorEmpty(t, open) })
	t.Run("Refuses", func(t *testing.T) { vectorRefuses(t, open) })
	t.Run("Ties", func(t *testing.T) { vectorTies(t, open) })
	t.Run("Delete", func(t *testing.T) { vectorDelete(t, open) })
	t.Run("Replace", func(t *testing.T) { vectorReplace(t, open) })
	t.Run("Refill", func(t *testing.T) { vectorRefill(t, open) })
	t.Run("Admitted", func(t *testing.T) { vectorAdmitted(t, open) })
	t.Run("Hidden", func(t *testing.T) { vectorHidden(t, open) })
	t.Run("Rebuild", func(t *testing.T) { vectorRebuild(t, open) })
	t.Run("Scale", func(t *testing.T) { vectorScale(t, open) })
}

// scoreError is what float32 arithmetic may cost against the float64 oracle.
const scoreError = 1e-5

func vectorRecall(t *testing.T, open NewVectors) {
	sizes := []struct{ n, dim int }{{1, 8}, {100, 7}, {1000, 384}, {10_000, 96}}
	if !testing.Short() {
		sizes = append(sizes, struct{ n, dim int }{3000, 1536})
	}
	for _, s := range sizes {
		vectors := Clustered(s.n, s.dim, 1)
		x := fillVectors(t, open, vectors)
		const queries, k = 30, 10
		var recall float64
		for _, q := range Clustered(queries, s.dim, 2) {
			got := searchVector(t, x, q, nil, k)
			want := Nearest(vectors, q, nil, k)
			recall += Recall(got, want) / queries
			checkHits(t, got, min(k, s.n))
			for _, h := range got {
				if exact := Nearest(vectors[h.Row:h.Row+1], q, nil, 1)[0].Score; math.Abs(h.Score-exact) > scoreError {
					t.Fatalf("%d x %d: score %v of row %d, its cosine is %v", s.n, s.dim, h.Score, h.Row, exact)
				}
			}
		}
		if recall < 0.99 {
			t.Errorf("%d x %d: recall@10 is %.4f, want at least 0.99", s.n, s.dim, recall)
		}
	}
}

func vectorEmpty(t *testing.T, open NewVectors) {
	x := open(4, 0)
	q := []float32{1, 0, 0, 0}
	if hits := searchVector(t, x, q, nil, 5); len(hits) != 0 {
		t.Errorf("an empty engine found %v", hits)
	}
	x.Delete(0)
	x.Delete(99)
	setVector(t, x, 3, q)
	for _, k := range []int{0, -1, math.MinInt} {
		if hits := searchVector(t, x, q, nil, k); len(hits) != 0 {
			t.Errorf("k %d found %v", k, hits)
		}
	}
	if hits := searchVector(t, x, q, index.NewBitmap(0), 5); len(hits) != 0 {
		t.Errorf("nobody admitted, found %v", hits)
	}
	if x.Dim() != 4 || x.Len() != 1 {
		t.Errorf("dim %d, len %d, want 4 and 1", x.Dim(), x.Len())
	}
}

func vectorRefuses(t *testing.T, open NewVectors) {
	x := open(3, 0)
	good := []float32{0, 1, 0}
	setVector(t, x, 0, good)
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		vec  []float32
		want error
	}{
		{[]float32{1, nan, 0}, index.ErrNotFinite},
		{[]float32{1, inf, 0}, index.ErrNotFinite},
		{[]float32{0, 0, 0}, index.ErrZeroVector},
		{[]float32{1, 0}, &index.DimensionError{Want: 3, Got: 2}},
		{[]float32{1, 0, 0, 0}, &index.DimensionError{Want: 3, Got: 4}},
		{nil, &index.DimensionError{Want: 3}},
	} {
		for _, row := range []int{0, 7} {
			if err := x.Set(row, c.vec); !sameError(err, c.want) {
				t.Errorf("Set %v: error %v, want %v", c.vec, err, c.want)
			}
		}
		if _, err := x.Search(c.vec, nil, 1); !sameError(err, c.want) {
			t.Errorf("Search %v: error %v, want %v", c.vec, err, c.want)
		}
	}
	if hits := searchVector(t, x, good, nil, 9); len(hits) != 1 || hits[0].Row != 0 || hits[0].Score != 1 {
		t.Errorf("refused vectors changed the engine: %v", hits)
	}
}

func sameError(got, want error) bool {
	var g, w *index.DimensionError
	if errors.As(want, &w) {
		return errors.As(got, &g) && *g == *w
	}
	return errors.Is(got, want)
}

func vectorTies(t *testing.T, open NewVectors) {
	x := open(2, 0)
	rows := []int{5, 2, 9, 0, 7, 1}
	for _, row := range rows {
		setVector(t, x, row, []float32{0.6, 0.8})
	}
	setVector(t, x, 8, []float32{1, 0})
	want := []int{8, 0, 1, 2, 5, 7, 9}
	for k := 1; k <= len(want)+1; k++ {
		got := rowsOf(searchVector(t, x, []float32{1, 0}, nil, k))
		if !slices.Equal(got, want[:min(k, len(want))]) {
			t.Errorf("k %d: rows %v, want %v", k, got, want[:min(k, len(want))])
		}
	}
}

func vectorDelete(t *testing.T, open NewVectors) {
	const n, dim, k = 400, 16, 10
	vectors := Clustered(n, dim, 3)
	x := fillVectors(t, open, vectors)
	rng := rand.New(rand.NewPCG(4, 4))
	for _, row := range rng.Perm(n)[:n-k/2] {
		hits := searchVector(t, x, vectors[row], nil, k)
		if len(hits) == 0 || hits[0].Score < 1-scoreError {
			t.Fatalf("row %d does not find itself: %v", row, hits)
		}
		x.Delete(row)
		vector := vectors[row]
		vectors[row] = nil
		got := searchVector(t, x, vector, nil, k)
		if slices.Contains(rowsOf(got), row) {
			t.Fatalf("deleted row %d was found", row)
		}
		checkHits(t, got, min(k, x.Len()))
	}
	if x.Len() != k/2 {
		t.Errorf("%d rows left, want %d", x.Len(), k/2)
	}
}

func vectorReplace(t *testing.T, open NewVectors) {
	x := open(2, 0)
	setVector(t, x, 1, []float32{1, 0})
	setVector(t, x, 2, []float32{0.6, 0.8})
	setVector(t, x, 1, []float32{0, 1})
	hits := searchVector(t, x, []float32{1, 0}, nil, 5)
	if x.Len() != 2 || len(hits) != 2 || hits[0].Row != 2 || hits[1] != (index.Hit{Row: 1}) {
		t.Errorf("after replacing: len %d, hits %v", x.Len(), hits)
	}
}

func vectorRefill(t *testing.T, open NewVectors) {
	x := open(8, 0)
	vectors := Clustered(50, 8, 5)
	for round := range 3 {
		for row, v := range vectors {
			setVector(t, x, row, v)
			setVector(t, x, row, v)
		}
		checkSame(t, searchVector(t, x, vectors[7], nil, 5), Nearest(vectors, vectors[7], nil, 5))
		for row := range vectors {
			x.Delete((row*7 + round) % len(vectors))
		}
		if hits := searchVector(t, x, vectors[7], nil, 5); x.Len() != 0 || len(hits) != 0 {
			t.Fatalf("emptied engine has %d rows and finds %v", x.Len(), hits)
		}
	}
}

func vectorAdmitted(t *testing.T, open NewVectors) {
	const n, dim, k = 1500, 24, 10
	vectors := Clustered(n, dim, 6)
	x := fillVectors(t, open, vectors)
	rng := rand.New(rand.NewPCG(7, 7))
	for _, q := range Clustered(20, dim, 8) {
		for _, share := range []float64{0.002, 0.05, 0.5, 1} {
			admitted := index.NewBitmap(n)
			for row := range n {
				if rng.Float64() < share {
					admitted.Set(row)
				}
			}
			checkSame(t, searchVector(t, x, q, admitted, k), Nearest(vectors, q, admitted, k))
		}
	}
}

// vectorHidden: rows that are not admitted change no result, order or score.
func vectorHidden(t *testing.T, open NewVectors) {
	const n, hidden, dim, k = 500, 1000, 24, 20
	seen := Clustered(n, dim, 9)
	alone := fillVectors(t, open, seen)
	crowd := open(dim, 0)
	rows, admitted := interleave(n, hidden)
	for i, v := range Clustered(hidden, dim, 10) {
		setVector(t, crowd, rows.hidden[i], v)
	}
	for i, v := range seen {
		setVector(t, crowd, rows.seen[i], v)
	}
	for _, q := range Clustered(30, dim, 11) {
		want := searchVector(t, alone, q, nil, k)
		for i := range want {
			want[i].Row = rows.seen[want[i].Row]
		}
		if got := searchVector(t, crowd, q, admitted, k); !slices.Equal(got, want) {
			t.Fatalf("hidden rows changed the result: %v, want %v", got, want)
		}
	}
}

// numbers says which row the i-th seen and hidden text or vector gets.
type numbers struct{ seen, hidden []int }

// interleave deals row numbers to seen and hidden rows in turn, keeping the
// order within each, and admits the seen.
func interleave(seen, hidden int) (numbers, *index.Bitmap) {
	var out numbers
	admitted := index.NewBitmap(seen + hidden)
	rng := rand.New(rand.NewPCG(uint64(seen), uint64(hidden)))
	for row := range seen + hidden {
		left := seen - len(out.seen)
		if rng.IntN(seen+hidden-row) < left {
			out.seen = append(out.seen, row)
			admitted.Set(row)
		} else {
			out.hidden = append(out.hidden, row)
		}
	}
	return out, admitted
}

// vectorRebuild: an engine that lived through changes answers like a new one.
func vectorRebuild(t *testing.T, open NewVectors) {
	const n, dim, k = 600, 16, 10
	vectors := make([][]float32, n)
	pool := Clustered(4*n, dim, 12)
	x := open(dim, 0)
	rng := rand.New(rand.NewPCG(13, 13))
	for i := range 4 * n {
		row := rng.IntN(n)
		if rng.IntN(4) == 0 {
			x.Delete(row)
			vectors[row] = nil
		} else {
			setVector(t, x, row, pool[i])
			vectors[row] = pool[i]
		}
	}
	fresh := fillVectors(t, open, vectors)
	if x.Len() != fresh.Len() {
		t.Fatalf("%d rows, a new engine has %d", x.Len(), fresh.Len())
	}
	admitted := index.NewBitmap(n)
	for row := range n {
		admitted.Set(row)
	}
	for _, q := range Clustered(30, dim, 14) {
		want := searchVector(t, fresh, q, admitted, k)
		if got := searchVector(t, x, q, admitted, k); !slices.Equal(got, want) {
			t.Fatalf("after changes %v, rebuilt %v", got, want)
		}
	}
}

// vectorScale: length says nothing, only direction.
func vectorScale(t *testing.T, open NewVectors) {
	x := open(2, 0)
	setVector(t, x, 0, []float32{3e-20, 4e-20})
	setVector(t, x, 1, []float32{4e18, 3e18})
	hits := searchVector(t, x, []float32{30, 0}, nil, 2)
	if len(hits) != 2 || hits[0].Row != 1 || math.Abs(hits[0].Score-0.8) > scoreError || math.Abs(hits[1].Score-0.6) > scoreError {
		t.Errorf("scaled vectors give %v", hits)
	}
}

func fillVectors(t *testing.T, open NewVectors, vectors [][]float32) index.VectorEngine {
	t.Helper()
	x := open(len(vectors[slices.IndexFunc(vectors, func(v []float32) bool { return v != nil })]), len(vectors))
	for row, v := range vectors {
		if v != nil {
			setVector(t, x, row, v)
		}
	}
	return x
}

func setVector(t *testing.T, x index.VectorEngine, row int, vec []float32) {
	t.Helper()
	if err := x.Set(row, vec); err != nil {
		t.Fatalf("Set row %d: %v", row, err)
	}
}

func searchVector(t *testing.T, x index.VectorEngine, vec []float32, admitted *index.Bitmap, k int) []index.Hit {
	t.Helper()
	hits, err := x.Search(vec, admitted, k)
	if err != nil {
		t.Fatalf("Search: %v", err)
	}
	return hits
}

func rowsOf(hits []index.Hit) []int {
	rows := make([]int, len(hits))
	for i, h := range hits {
		rows[i] = h.Row
	}
	return rows
}

// checkHits checks number and order.
func checkHits(t *testing.T, hits []index.Hit, n int) {
	t.Helper()
	if len(hits) != n {
		t.Fatalf("%d hits, want %d", len(hits), n)
	}
	for i := 1; i < len(hits); i++ {
		a, b := hits[i-1], hits[i]
		if a.Score < b.Score || (a.Score == b.Score && a.Row >= b.Row) {
			t.Fatalf("hits out of order: %v before %v", a, b)
		}
	}
}

// checkSame compares with the float64 oracle. Rows that float32 cannot tell
// apart may change places.
func checkSame(t *testing.T, got, want []index.Hit) {
	t.Helper()
	checkHits(t, got, len(want))
	for i := range got {
		if math.Abs(got[i].Score-want[i].Score) > scoreError {
			t.Fatalf("hit %d is %v, want %v", i, got[i], want[i])
		}
	}
}
