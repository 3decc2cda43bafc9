// Package exact is the vector engine that looks at every vector: no build step,
// exact filters, recall 1. Vectors lie side by side in one block; the score is
// the cosine, a dot product of unit vectors.
package exact

import (
	"sync"

	"github.com/meminfra/memory-layer/index"
)

// Index is an exact index.VectorEngine over vectors of one length.
type Index struct {
	dim   int
	block []float32 // vector of slot i at [i*dim : (i+1)*dim], unit length
	rows  []int32   // slot -> row
	slots []int32   // row -> slot, none where the row has no vector
}

const none = -1

var _ index.VectorEngine = (*Index)(nil)

// New returns an empty index for vectors of dim components. Rows is a hint of
// how many will come.
func New(dim, rows int) *Index {
	return &Index{
		dim:   dim,
		block: make([]float32, 0, dim*rows),
		rows:  make([]int32, 0, rows),
	}
}

// Dim is the length of all vectors.
func (x *Index) Dim() int { return x.dim }

// Len is the number of vectors.
func (x *Index) Len() int { return len(x.rows) }

// Bytes is what the index costs in memory, approximately.
func (x *Index) Bytes() int64 {
	return 4 * int64(cap(x.block)+cap(x.rows)+cap(x.slots))
}

// Set puts vec in for row, scaled to length 1, in place of what was there.
// Errors, which leave the row as it was: *index.DimensionError,
// index.ErrNotFinite, index.ErrZeroVector.
func (x *Index) Set(row int, vec []float32) error {
	if len(vec) != x.dim {
		return &index.DimensionError{Want: x.dim, Got: len(vec)}
	}
	if slot := x.slot(row); slot != none {
		return index.Unit(x.vector(slot), vec)
	}
	n := len(x.block)
	x.block = append(x.block, vec...)
	if err := index.Unit(x.block[n:], vec); err != nil {
		x.block = x.block[:n]
		return err
	}
	for len(x.slots) <= row {
		x.slots = append(x.slots, none)
	}
	x.slots[row] = int32(len(x.rows))
	x.rows = append(x.rows, int32(row))
	return nil
}

// Delete takes row out: the last vector moves into its place.
func (x *Index) Delete(row int) {
	slot := x.slot(row)
	if slot == none {
		return
	}
	last := len(x.rows) - 1
	copy(x.vector(slot), x.vector(last))
	x.rows[slot] = x.rows[last]
	x.slots[x.rows[slot]] = int32(slot)
	x.slots[row] = none
	x.rows = x.rows[:last]
	x.block = x.block[:last*x.dim]
}

func (x *Index) slot(row int) int {
	if row < 0 || row >= len(x.slots) {
		return none
	}
	return int(x.slots[row])
}

func (x *Index) vector(slot int) []float32 {
	return x.block[slot*x.dim : (slot+1)*x.dim : (slot+1)*x.dim]
}

// scratch is what one search needs; a pool keeps searches from allocating it.
type scratch struct {
	query []float32
	dims  []int32 // where a sparse query is not zero
	top   index.Top
}

var pool = sync.Pool{New: func() any { return new(scratch) }}

// Search returns the k admitted rows with the highest cosine to vec (nil: all
// rows), best first, ties by ascending row. Errors: those of Set.
func (x *Index) Search(vec []float32, admitted *index.Bitmap, k int) ([]index.Hit, error) {
	sc := pool.Get().(*scratch)
	defer pool.Put(sc)
	if len(vec) != x.dim {
		return nil, &index.DimensionError{Want: x.dim, Got: len(vec)}
	}
	sc.query = append(sc.query[:0], vec...)
	if err := index.Unit(sc.query, vec); err != nil {
		return nil, err
	}
	sc.top.Reset(k)
	if k > 0 {
		x.scan(sc, admitted)
	}
	return sc.top.Hits(), nil
}

// scan scores every admitted vector. A query that is mostly zeros, as the
// built-in embedder's are, is scored over its other components only; which way
// is taken depends on the query alone, so scores do too.
func (x *Index) scan(sc *scratch, admitted *index.Bitmap) {
	sc.dims = nonZero(sc.dims[:0], sc.query)
	sparse := len(sc.dims)*3 < x.dim
	floor := sc.top.Floor()
	for slot, row := range x.rows {
		if admitted != nil && !admitted.Has(int(row)) {
			continue
		}
		var score float64
		if sparse {
			score = dotSparse(sc.query, x.vector(slot), sc.dims)
		} else {
			score = dot(sc.query, x.vector(slot))
		}
		if score >= floor {
			sc.top.Push(int(row), score)
			floor = sc.top.Floor()
		}
	}
}

func nonZero(dims []int32, vec []float32) []int32 {
	for i, v := range vec {
		if v != 0 {
			dims = append(dims, int32(i))
		}
	}
	return dims
}
