// Package exact is the vector engine that looks at every vector: no build step,
// exact filters, recall 1. The score is the cosine, a dot product of unit vectors.
package exact

import (
	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/internal/block"
)

// Index is an exact index.VectorEngine over vectors of one length.
type Index struct {
	block   *block.Block
	scratch []float32 // of Set
}

var (
	_ index.VectorScorer  = (*Index)(nil)
	_ index.VectorEncoder = (*Index)(nil)
)

// New returns an empty index for vectors of dim components. Rows is a hint of
// how many will come.
func New(dim, rows int) *Index { return &Index{block: block.New(dim, rows)} }

// Dim is the length of all vectors.
func (x *Index) Dim() int { return x.block.Dim() }

// Len is the number of vectors.
func (x *Index) Len() int { return x.block.Len() }

// Bytes is what the index costs in memory, approximately.
func (x *Index) Bytes() int64 { return x.block.Bytes() }

// Set puts vec in for row, scaled to length 1, in place of what was there.
// Errors, which leave the row as it was: *index.DimensionError,
// index.ErrNotFinite, index.ErrZeroVector.
func (x *Index) Set(row int, vec []float32) (err error) {
	if x.scratch, err = x.block.Unit(x.scratch, vec); err != nil {
		return err
	}
	if slot := x.block.Slot(row); slot != block.None {
		x.block.Replace(slot, x.scratch)
	} else {
		x.block.Append(row, x.scratch)
	}
	return nil
}

// Encode takes in a vector for a row that Place will name; of many it keeps codes
// alone: see index.VectorEncoder. Errors: those of Set.
func (x *Index) Encode(vec []float32) error { return x.block.Encode(vec) }

// Place names the rows of what Encode has taken, -1 for none.
func (x *Index) Place(rows []int) { x.block.Place(rows) }

// Lacks returns at most n rows whose vectors are not here. It is a write.
func (x *Index) Lacks(n int) []int { return x.block.Lacks(n) }

// Room returns memory for n vectors to bring.
func (x *Index) Room(n int) []float32 { return x.block.Room(n) }

// Bring takes the vectors of rows that lack them. A row whose vector is another
// than was encoded is deleted.
func (x *Index) Bring(rows []int, vecs [][]float32) {
	for _, row := range x.block.Bring(rows, vecs) {
		x.Delete(row)
	}
}

// Delete takes row out.
func (x *Index) Delete(row int) { x.block.Remove(row) }

// Search returns the k admitted rows (nil: all rows) with the highest cosine to
// vec, best first, ties by ascending row. The result is exact, and its scores
// are the same bit by bit on every machine. Errors: those of Set, *index.LackError.
func (x *Index) Search(vec []float32, admitted *index.Bitmap, k int) ([]index.Hit, error) {
	return x.block.Search(vec, admitted, k)
}

// Score returns the cosines of vec and the vectors of rows, in their order, 0 for
// a row without one. Errors: those of Search.
func (x *Index) Score(vec []float32, rows []int) ([]float64, error) {
	return x.block.Scores(vec, rows)
}
