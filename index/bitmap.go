package index

import (
	"iter"
	"math/bits"
)

// Bitmap is a set of rows. The zero value is the empty set over no rows. It is
// not safe for writing from several goroutines.
type Bitmap struct {
	words []uint64
}

// NewBitmap returns an empty set with room for rows 0 to n-1.
func NewBitmap(n int) *Bitmap { return &Bitmap{words: make([]uint64, (n+63)/64)} }

// Set puts row in, growing as needed. Rows are not negative.
func (b *Bitmap) Set(row int) {
	for row>>6 >= len(b.words) {
		b.words = append(b.words, 0)
	}
	b.words[row>>6] |= 1 << (row & 63)
}

// Clear takes row out.
func (b *Bitmap) Clear(row int) {
	if row>>6 < len(b.words) {
		b.words[row>>6] &^= 1 << (row & 63)
	}
}

// Has reports whether row is in the set.
func (b *Bitmap) Has(row int) bool {
	w := uint(row) >> 6
	return w < uint(len(b.words)) && b.words[w]>>(uint(row)&63)&1 != 0
}

// Count returns how many rows are in the set.
func (b *Bitmap) Count() int {
	n := 0
	for _, w := range b.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// CountAnd returns how many rows are in both sets.
func (b *Bitmap) CountAnd(c *Bitmap) int {
	n := 0
	for i := range min(len(b.words), len(c.words)) {
		n += bits.OnesCount64(b.words[i] & c.words[i])
	}
	return n
}

// And returns the rows that are in both sets, as a new set.
func (b *Bitmap) And(c *Bitmap) *Bitmap {
	out := &Bitmap{words: make([]uint64, min(len(b.words), len(c.words)))}
	for i := range out.words {
		out.words[i] = b.words[i] & c.words[i]
	}
	return out
}

// Clone returns a copy.
func (b *Bitmap) Clone() *Bitmap { return &Bitmap{words: append([]uint64(nil), b.words...)} }

// All yields the rows of the set in ascending order.
func (b *Bitmap) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range b.words {
			for ; w != 0; w &= w - 1 {
				if !yield(i<<6 | bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}

// Bytes is what the set costs in memory.
func (b *Bitmap) Bytes() int64 { return int64(8 * cap(b.words)) }
