// Package block keeps unit vectors side by side with their int8 codes, and finds
// the nearest by looking at all of them. The vector engines share it.
//
// A vector v has the codes c and the scale s, with v = s*c + r. What the codes
// leave out, r, is known by its length, the slack: it bounds how far a cosine
// computed from codes can be off. So a search looks at the codes of all vectors
// and at the few vectors that the bound cannot rule out, and still returns
// exactly what looking at every vector would.
//
// That is why a block can do without most vectors: see Encode. A search names the
// rows whose vectors it lacks, and has its result once these are brought.
package block

import (
	"math"
	"slices"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/internal/kernel"
	"github.com/meminfra/memory-layer/internal/pages"
)

// None is the slot of a row without vector, and the row of a dead slot.
const None = -1

// Block holds vectors in slots, one for each row. Searches may run together; a
// write needs the block for itself.
type Block struct {
	dim    int
	length int         // of a vector in memory: dim padded
	floats [][]float32 // by slot; nil where the vector is not here
	spare  [][]float32 // what removed rows left
	room   []float32   // for the vectors to come
	codes  []int8
	scale  []float32
	slack  []float32
	rows   []int32 // slot -> row, None for a dead slot
	slots  []int32 // row -> slot, None where the row has no vector
	held   *index.Bitmap
	live   int

	lean  bool      // Encode keeps no vectors
	lacks int       // live slots whose vector is not here
	seen  int       // slots before this one lack none
	unit  []float32 // scratch of writes
	code  []int8    // and this
}

// New returns an empty block for vectors of dim components; rows is a hint of
// how many will come.
func New(dim, rows int) *Block {
	b := &Block{dim: dim, length: kernel.Pad(dim), held: index.NewBitmap(rows)}
	b.floats = make([][]float32, 0, rows)
	b.rows = make([]int32, 0, rows)
	b.scale = make([]float32, 0, rows)
	b.slack = make([]float32, 0, rows)
	if b.Coded() {
		b.codes = pages.Make[int8](b.length * rows)
	}
	b.lean = b.Coded() && kernel.Fast() && b.length*rows >= many
	return b
}

// Dim is the length of all vectors.
func (b *Block) Dim() int { return b.dim }

// Len is the number of live vectors.
func (b *Block) Len() int { return b.live }

// Slots is the number of slots, dead ones included.
func (b *Block) Slots() int { return len(b.rows) }

// Coded reports whether vectors have codes; very long ones do not.
func (b *Block) Coded() bool { return b.length <= kernel.MaxDim }

// Bytes is what the block costs in memory, approximately.
func (b *Block) Bytes() int64 {
	const header = 24
	vectors := int64(len(b.floats)-b.lacks+len(b.spare))*int64(4*b.length) + header*int64(cap(b.floats)+cap(b.spare))
	room := cap(b.room) - len(b.room)
	return vectors + 4*int64(room+cap(b.rows)+cap(b.slots)+cap(b.scale)+cap(b.slack)) + int64(cap(b.codes))
}

// Admitted is how many rows with a vector are admitted; a nil set is all rows.
func (b *Block) Admitted(admitted *index.Bitmap) int {
	if admitted == nil {
		return b.live
	}
	return admitted.CountAnd(b.held)
}

// Row returns the row in a slot, None for a dead one.
func (b *Block) Row(slot int32) int32 { return b.rows[slot] }

// Slot returns the slot of a row, None if it has no vector.
func (b *Block) Slot(row int) int32 {
	if row < 0 || row >= len(b.slots) {
		return None
	}
	return b.slots[row]
}

// Vector returns the unit vector in a slot, padded; nil if it is not here.
func (b *Block) Vector(slot int32) []float32 { return b.floats[slot] }

// Code returns the codes of a slot, if vectors have any.
func (b *Block) Code(slot int32) []int8 {
	if !b.Coded() {
		return nil
	}
	i := int(slot) * b.length
	return b.codes[i : i+b.length : i+b.length]
}

// Scale returns what the codes of a slot are multiples of.
func (b *Block) Scale(slot int32) float32 { return b.scale[slot] }

// Codes returns the codes of all slots, one after the other.
func (b *Block) Codes() []int8 { return b.codes }

// Unit writes vec into dst, which may be too short, as the block would keep it:
// scaled to length 1 and padded. Errors: *index.DimensionError,
// index.ErrNotFinite, index.ErrZeroVector.
func (b *Block) Unit(dst, vec []float32) ([]float32, error) {
	if len(vec) != b.dim {
		return dst, &index.DimensionError{Want: b.dim, Got: len(vec)}
	}
	dst = resize(dst, b.length)
	clear(dst[b.dim:])
	return dst, index.Unit(dst[:b.dim], vec)
}

// Append puts a unit vector from Unit in a new slot for row, which has none.
func (b *Block) Append(row int, unit []float32) {
	b.name(b.add(b.copied(unit), unit), row)
}

// copied returns a copy of a vector in memory of the block.
func (b *Block) copied(unit []float32) []float32 {
	to := b.fresh()
	copy(to, unit)
	return to
}

// fresh returns memory for a vector.
func (b *Block) fresh() []float32 {
	if n := len(b.spare); n > 0 {
		v := b.spare[n-1]
		b.spare = b.spare[:n-1]
		return v
	}
	from := len(b.room)
	if cap(b.room)-from < b.length {
		const least, piece = 8, 1 << 20 // components
		n := max(cap(b.floats)-len(b.floats), len(b.floats)/4)
		n = max(least, min(n, piece/b.length)) // others wait while memory is fetched
		b.room, from = pages.Make[float32](b.length*n), 0
	}
	b.room = b.room[:from+b.length]
	return b.room[from : from+b.length : from+b.length]
}

// add makes a slot of no row for a vector, which is kept as vec, nil for not at
// all.
func (b *Block) add(vec, unit []float32) (slot int32) {
	slot = int32(len(b.rows))
	b.rows = append(b.rows, None)
	b.floats = append(b.floats, vec)
	if b.Coded() {
		b.codes = grow(b.codes, b.length)
	}
	b.scale = append(b.scale, 0)
	b.slack = append(b.slack, 0)
	b.write(slot, unit)
	return slot
}

// name gives a slot its row.
func (b *Block) name(slot int32, row int) {
	b.rows[slot] = int32(row)
	for len(b.slots) <= row {
		b.slots = append(b.slots, None)
	}
	b.slots[row] = slot
	b.held.Set(row)
	b.live++
	if b.floats[slot] == nil {
		b.lacks++
	}
}

// Replace puts a unit vector from Unit in place of what is in slot.
func (b *Block) Replace(slot int32, unit []float32) {
	if b.floats[slot] == nil {
		b.floats[slot] = b.fresh()
		b.lacks--
	}
	copy(b.Vector(slot), unit)
	b.write(slot, unit)
}

// Holds reports whether unit, from Unit, is what is in slot; false if the vector
// is not here.
func (b *Block) Holds(slot int32, unit []float32) bool {
	return slices.Equal(b.Vector(slot), unit)
}

// Remove takes row out; the vector in the last slot moves into its place.
func (b *Block) Remove(row int) {
	slot := b.Slot(row)
	if slot == None {
		return
	}
	b.release(row)
	last := int32(len(b.rows) - 1)
	b.move(slot, last)
	b.truncate(int(last))
}

// Kill takes row out and leaves its slot as it was, dead: the codes stay, the
// vector does not.
func (b *Block) Kill(row int) {
	slot := b.Slot(row)
	if slot == None {
		return
	}
	b.release(row)
	b.rows[slot] = None
	clear(b.Vector(slot))
}

func (b *Block) release(row int) {
	if b.floats[b.slots[row]] == nil {
		b.lacks--
	}
	b.slots[row] = None
	b.held.Clear(row)
	b.live--
}

// Compact gives up the dead slots; the others keep their order.
func (b *Block) Compact() {
	to := int32(0)
	for slot := range int32(len(b.rows)) {
		if b.rows[slot] != None {
			b.move(to, slot)
			to++
		}
	}
	b.truncate(int(to))
}

// move puts what is in slot from into slot to; their vectors change places.
func (b *Block) move(to, from int32) {
	if to == from {
		return
	}
	b.seen = min(b.seen, int(to))
	b.floats[to], b.floats[from] = b.floats[from], b.floats[to]
	copy(b.Code(to), b.Code(from))
	b.scale[to], b.slack[to], b.rows[to] = b.scale[from], b.slack[from], b.rows[from]
	if row := b.rows[to]; row != None {
		b.slots[row] = to
	}
}

// truncate keeps the first n slots and wipes the rest.
func (b *Block) truncate(n int) {
	for _, v := range b.floats[n:] {
		if v != nil {
			clear(v)
			b.spare = append(b.spare, v)
		}
	}
	clear(b.floats[n:])
	b.floats = b.floats[:n]
	if b.Coded() {
		clear(b.codes[n*b.length:])
		b.codes = b.codes[:n*b.length]
	}
	b.rows, b.scale, b.slack = b.rows[:n], b.scale[:n], b.slack[:n]
}

// write computes codes, scale and slack of a slot.
func (b *Block) write(slot int32, unit []float32) {
	if b.Coded() {
		b.scale[slot], b.slack[slot] = encode(b.Code(slot), unit)
	}
}

// encode writes the codes of unit and returns their scale and slack.
func encode(codes []int8, unit []float32) (scale, slack float32) {
	scale, rest := kernel.Quantise(codes, unit)
	return scale, roundUp(rest)
}

// roundUp makes a bound of x that float32 arithmetic cannot undercut.
func roundUp(x float64) float32 {
	return math.Nextafter32(float32(x*(1+1e-6)), math.MaxFloat32)
}

// grow lengthens s by n without looking at what comes in.
func grow(s []int8, n int) []int8 {
	if len(s)+n <= cap(s) {
		return s[:len(s)+n]
	}
	return append(s, make([]int8, n)...)
}

// resize returns a slice of length n, s if that has room.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

// Query returns codes of a unit vector, appended to dst, to compare with those
// in the block.
func (b *Block) Query(dst []int8, unit []float32) []int8 {
	dst = resize(dst, b.length)
	kernel.Quantise(dst, unit)
	return dst
}
