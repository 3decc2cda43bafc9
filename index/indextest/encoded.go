package indextest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/meminfra/memory-layer/index"
)

// encoded proves an index.VectorEncoder: what was encoded and is brought where it
// lacks is found as what was set, in as many searches as that takes, which is one
// more each.
func (s suite) encoded(t *testing.T) {
	for _, size := range []Size{{0, 8}, {300, 48}, {1100, 1000}, {750, 1536}} { // few and many, with and without padding
		t.Run(fmt.Sprintf("%dx%d", size.N, size.Dim), func(t *testing.T) { s.encodedOf(t, size) })
	}
}

func (s suite) encodedOf(t *testing.T, size Size) {
	const k = 10
	vectors := Clustered(size.N, size.Dim, 30)
	x, ok := s.open(size.Dim, size.N).(index.VectorEncoder)
	if !ok {
		t.Skip("no index.VectorEncoder")
	}
	o := encode(t, x, size, vectors)
	if x.Len() != size.N-size.N/10 {
		t.Fatalf("%d vectors of %d", x.Len(), size.N)
	}
	if size.N == 0 {
		return
	}
	some := index.NewBitmap(size.N)
	for row := 0; row < size.N; row += 3 {
		some.Set(row)
	}
	for i, q := range Clustered(8, size.Dim, 31) {
		admitted := []*index.Bitmap{nil, some}[i%2]
		hits := bringing(t, x, o, func() ([]index.Hit, error) { return x.Search(q, admitted, k) })
		if want := o.best(q, admitted, k); !slices.Equal(hits, want) {
			t.Errorf("search %d: %v, want %v", i, hits, want)
		}
		rows := []int{i, 7 * i % size.N, size.N + 5}
		scores := bringing(t, x, o, func() ([]float64, error) { return x.(index.VectorScorer).Score(q, rows) })
		for n, row := range rows {
			if row < size.N && o.units[row] != nil && scores[n] != o.score(q, row) {
				t.Errorf("row %d scores %v, want %v", row, scores[n], o.score(q, row))
			}
		}
	}
	s.encodedChanges(t, x, o)
	for rows := x.Lacks(50); len(rows) > 0; rows = x.Lacks(50) {
		bring(t, x, o, rows)
	}
	s.likeSet(t, x, o)
}

// encode encodes all vectors in any order, a bad one after each, of which nothing
// is to stay, and gives a tenth of them no row.
func encode(t *testing.T, x index.VectorEncoder, size Size, vectors [][]float32) *oracle {
	t.Helper()
	o := &oracle{vectors: make([][]float32, size.N), units: make([][]float32, size.N)}
	rows := rand.New(rand.NewPCG(32, 32)).Perm(size.N)
	bad := [][]float32{make([]float32, size.Dim), make([]float32, size.Dim-1), slices.Repeat([]float32{float32(math.NaN())}, size.Dim)}
	for i, row := range rows {
		vec := slices.Clone(vectors[row])
		if err := x.Encode(vec); err != nil {
			t.Fatal(err)
		}
		clear(vec) // it was the caller's
		if err := x.Encode(bad[i%len(bad)]); err == nil {
			t.Fatalf("a bad vector was encoded")
		}
		if i >= size.N/10 {
			o.set(row, vectors[row])
		} else {
			rows[i] = -1
		}
	}
	x.Place(rows)
	return o
}

// bringing calls f until it lacks nothing, once more at most.
func bringing[T any](t *testing.T, x index.VectorEncoder, o *oracle, f func() (T, error)) T {
	t.Helper()
	out, err := f()
	var lack *index.LackError
	if errors.As(err, &lack) {
		const few = 1 << 18 // components that may all be looked at
		if len(lack.Rows) == 0 || len(lack.Rows) > x.Len()/2 && x.Len()*x.Dim() > few {
			t.Errorf("%d of %d vectors lack", len(lack.Rows), x.Len())
		}
		bring(t, x, o, lack.Rows)
		out, err = f()
	}
	if err != nil {
		t.Error(err)
	}
	return out
}

// bring hands over copies.
func bring(t *testing.T, x index.VectorEncoder, o *oracle, rows []int) {
	t.Helper()
	vecs := make([][]float32, len(rows))
	for i, row := range rows {
		if o.units[row] == nil {
			t.Fatalf("row %d is said to lack a vector", row)
		}
		vecs[i] = slices.Clone(o.vectors[row])
	}
	before := x.Len()
	x.Bring(rows, vecs)
	if x.Len() != before {
		t.Fatalf("of %d rows brought, %d were deleted", len(rows), before-x.Len())
	}
}

// encodedChanges writes to rows whether they lack their vectors or not.
func (s suite) encodedChanges(t *testing.T, x index.VectorEncoder, o *oracle) {
	t.Helper()
	n, dim := len(o.vectors), x.Dim()
	anew := Clustered(n, dim, 33)
	for row := 0; row < n; row += 5 {
		if row%2 == 0 {
			set(t, x, row, anew[row])
			o.set(row, anew[row])
		} else {
			x.Delete(row)
			o.set(row, nil)
		}
	}
	rows := x.Lacks(3)
	for i, row := range rows { // another vector, a bad one, none
		x.Bring([]int{row}, [][]float32{[][]float32{slices.Clone(anew[row]), make([]float32, dim), nil}[i]})
		o.set(row, nil)
	}
	if len(rows) > 3 || slices.ContainsFunc(x.Lacks(n), func(row int) bool { return slices.Contains(rows, row) }) {
		t.Errorf("rows %v lack vectors that are not theirs", rows)
	}
	x.Bring([]int{0, n + 3}, [][]float32{nil, nil}) // neither lacks one
}

// likeSet proves that x is an engine whose vectors were set.
func (s suite) likeSet(t *testing.T, x index.VectorEncoder, o *oracle) {
	t.Helper()
	prepare(x)
	held := 0
	for _, v := range o.vectors {
		if v != nil {
			held++
		}
	}
	if x.Len() != held {
		t.Fatalf("%d vectors, want %d", x.Len(), held)
	}
	var m meter
	for _, q := range Clustered(20, x.Dim(), 34) {
		m.compare(t, search(t, x, q, nil, 10), o.best(q, nil, 10), o, q)
	}
	m.check(t, s.least)
}
