package index

import (
	"errors"
	"fmt"
	"math"
)

// Hit is one row found, and how well. Scores of two engines do not compare.
type Hit struct {
	Row   int
	Score float64
}

// WordEngine finds rows by their words.
//
// Rows are small non-negative numbers given by the caller. A search returns at
// most k hits, best score first, equal scores by ascending row; only rows of
// admitted (nil: all rows) that match at least one term; exactly k if so many
// match; nothing for k < 1. Every statistic that enters a score is taken over
// the admitted rows. Searches may run together; a write needs the engine for
// itself.
type WordEngine interface {
	// Set puts text in for row, in place of what was there.
	Set(row int, text string)
	// Delete takes row out; a row that is not there is fine.
	Delete(row int)
	Search(query string, admitted *Bitmap, k int) []Hit
	// Len is the number of rows set, Bytes what they cost, approximately.
	Len() int
	Bytes() int64
}

// WordScorer is a WordEngine that can score given rows.
type WordScorer interface {
	WordEngine
	// Score returns what Search would give each of rows, in their order, 0 for
	// one that does not match or is not admitted; and the sum that no row can
	// exceed for this query, which depends on the query and the admitted set alone.
	Score(query string, admitted *Bitmap, rows []int) (scores []float64, bound float64)
}

// VectorEngine finds rows by the cosine of their vectors.
//
// The rules of WordEngine hold: k, order, ties, admitted, concurrency. Every
// admitted row that has a vector matches, whatever its cosine. An engine whose
// search is approximate has recall@10 of at least 0.99 against the exact scan,
// and the score of a returned hit is its exact cosine.
type VectorEngine interface {
	// Dim is the length of all vectors.
	Dim() int
	// Set puts vec in for row, in place of what was there, scaled to length 1.
	// The engine keeps a copy. Errors, which leave the row as it was:
	// *DimensionError, ErrNotFinite, ErrZeroVector.
	Set(row int, vec []float32) error
	Delete(row int)
	// Search has the errors of Set. An engine without rows finds nothing.
	Search(vec []float32, admitted *Bitmap, k int) ([]Hit, error)
	Len() int
	Bytes() int64
}

// VectorEncoder is a VectorEngine that finds rows by codes of their vectors and
// looks at few of the vectors themselves, so that these may come later. While it
// lacks one that it needs, Search and Score return *LackError; what they return in
// the end is what they would had they had all from the start.
//
// Filling an empty one takes three steps: Encode each vector, Place them all, and
// Bring what it lacks. Set and Delete may come any time after Place.
type VectorEncoder interface {
	VectorEngine
	// Encode takes in a vector for a row that Place will name. It keeps codes, or a
	// copy if it likes. Errors, which leave nothing behind: those of Set.
	Encode(vec []float32) error
	// Place names the rows of all vectors that Encode has taken, in that order,
	// each once; -1 is no row.
	Place(rows []int)
	// Lacks returns at most n rows whose vectors it lacks. It is a write.
	Lacks(n int) []int
	// Room returns memory for n vectors to bring. It is no write, nor a search.
	Room(n int) []float32
	// Bring hands over vectors of rows that it lacks, to keep and to change. A row
	// whose vector does not have the codes that were encoded, nil included, is
	// deleted.
	Bring(rows []int, vecs [][]float32)
}

// LackError reports that what was asked for takes vectors that are not in memory.
// Rows are theirs; Keys, which a View adds, those of the rows.
type LackError struct {
	Rows []int
	Keys []Key
}

func (e *LackError) Error() string { return fmt.Sprintf("%d vectors are not in memory", len(e.Rows)) }

// VectorScorer is a VectorEngine that can score given rows.
type VectorScorer interface {
	VectorEngine
	// Score returns what Search would give each of rows, in their order, 0 for one
	// without a vector. It has the errors of Set.
	Score(vec []float32, rows []int) ([]float64, error)
}

// Engines makes the engines of a partition. Rows is how many are about to come,
// 0 if unknown: a hint for the first allocation.
type Engines struct {
	Words   func(rows int) WordEngine
	Vectors func(dim, rows int) VectorEngine
}

// Errors of vectors.
var (
	// ErrNotFinite: a component is NaN or infinite.
	ErrNotFinite = errors.New("vector is not finite")
	// ErrZeroVector: a vector of length 0 has no direction.
	ErrZeroVector = errors.New("vector has length 0")
)

// DimensionError reports a vector of another length than the engine's.
type DimensionError struct {
	Want, Got int
}

func (e *DimensionError) Error() string {
	return fmt.Sprintf("vector has %d dimensions, want %d", e.Got, e.Want)
}

// Unit writes vec scaled to length 1 into dst, which has its length; the two
// may be the same slice. A vector that already has length 1 to within float32
// rounding is copied bit by bit, so that rows survive a rebuild unchanged.
// Errors: *DimensionError if the lengths differ, ErrNotFinite, ErrZeroVector.
func Unit(dst, vec []float32) error {
	if len(vec) != len(dst) {
		return &DimensionError{Want: len(dst), Got: len(vec)}
	}
	sum := square(vec)
	switch {
	case math.IsNaN(sum) || math.IsInf(sum, 0):
		return ErrNotFinite
	case sum == 0:
		return ErrZeroVector
	}
	const tolerance = 1e-6
	if math.Abs(sum-1) <= tolerance {
		copy(dst, vec)
		return nil
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range vec {
		dst[i] = float32(float64(x) * scale)
	}
	return nil
}

// Preparer is a VectorEngine that gets faster by work that may be done beside
// searches. Prepare does up to n vectors' worth of it and returns for how many
// vectors it is left to do. A write needs the engine for itself all the same.
type Preparer interface {
	VectorEngine
	Prepare(n int) (left int)
}

// square returns the sum of squares. Four sums run side by side so that no
// addition waits for the one before; the conversions keep the compiler from
// fusing, so every machine gets the same bits.
func square(vec []float32) float64 {
	var s0, s1, s2, s3 float64
	for ; len(vec) >= 4; vec = vec[4:] {
		v := (*[4]float32)(vec)
		a, b, c, d := float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])
		s0 += float64(a * a)
		s1 += float64(b * b)
		s2 += float64(c * c)
		s3 += float64(d * d)
	}
	for _, v := range vec {
		a := float64(v)
		s0 += float64(a * a)
	}
	return (s0 + s1) + (s2 + s3)
}
