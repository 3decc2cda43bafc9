package block

import (
	"cmp"
	"slices"

	"github.com/meminfra/memory-layer/internal/pages"
)

// many is how many components of vectors are worth reading twice to have them out
// of the way at first: 16 MB of them. Source: measured; of fewer, reading by key
// what the first search lacks takes longer than fetching memory for all.
const many = 4 << 20

// Lean has Encode keep no vectors, however few they are.
func (b *Block) Lean() { b.lean = b.Coded() }

// Encode is Append for a row that Place will name. Of many vectors it keeps the
// codes only. Errors: those of Unit.
func (b *Block) Encode(vec []float32) (err error) {
	if b.unit, err = b.Unit(b.unit, vec); err != nil {
		return err
	}
	if b.lean {
		b.add(nil, b.unit)
	} else {
		b.add(b.copied(b.unit), b.unit)
	}
	return nil
}

// Place names the rows of what Encode has put into an empty block, one after the
// other; None for no row. The slots are put in the order of the rows, so that it
// makes no difference in which order the vectors came.
func (b *Block) Place(rows []int) {
	order := make([]int32, len(rows)) // of the slots as they are; those of no row come last
	for i := range order {
		order[i] = int32(i)
	}
	byRow := func(i, j int32) int { return cmp.Compare(uint(rows[i]), uint(rows[j])) }
	if !slices.IsSortedFunc(order, byRow) {
		slices.SortFunc(order, byRow)
		b.arrange(slices.Clone(order))
	}
	for slot, was := range order {
		if rows[was] == None {
			b.truncate(slot)
			break
		}
		b.name(int32(slot), rows[was])
	}
}

// arrange puts into each slot what is in slot order[slot]; none has a row. It uses
// order up, and little memory: around each ring of slots, the codes of the first
// step aside, the others move up, and those come in last.
func (b *Block) arrange(order []int32) {
	for first := range int32(len(order)) {
		if order[first] == first {
			continue
		}
		scale, slack := b.scale[first], b.slack[first]
		b.code = append(b.code[:0], b.Code(first)...)
		at := first
		for order[at] != first {
			b.move(at, order[at])
			order[at], at = at, order[at]
		}
		copy(b.Code(at), b.code)
		b.scale[at], b.slack[at], order[at] = scale, slack, at
	}
}

// Whole reports whether the vectors of all rows are here.
func (b *Block) Whole() bool { return b.lacks == 0 }

// Lacks returns at most n rows whose vector is not here, in the order of slots.
func (b *Block) Lacks(n int) (rows []int) {
	if b.Whole() {
		return nil
	}
	for slot := b.seen; slot < len(b.rows) && len(rows) < n; slot++ {
		if b.rows[slot] != None && b.floats[slot] == nil {
			rows = append(rows, int(b.rows[slot]))
		} else if len(rows) == 0 {
			b.seen = slot + 1
		}
	}
	return rows
}

// Room returns memory for n vectors to bring, in large pages if they are some: a
// search looks at a hundred of them, which lie anywhere.
func (b *Block) Room(n int) []float32 { return pages.Make[float32](n * b.dim) }

// Bring is given vectors of rows that lack them, to keep and to change. It returns
// the rows whose vector is not the one that was encoded.
func (b *Block) Bring(rows []int, vecs [][]float32) (others []int) {
	for i, row := range rows {
		slot := b.Slot(row)
		switch {
		case slot == None || b.floats[slot] != nil:
		case b.isOf(slot, vecs[i]):
			vec := vecs[i]
			if b.dim < b.length {
				vec = make([]float32, b.length)
			}
			copy(vec, b.unit)
			b.floats[slot] = vec
			b.lacks--
		default:
			others = append(others, row)
		}
	}
	return others
}

// isOf reports whether a slot has the codes of a vector, and scales it to b.unit.
func (b *Block) isOf(slot int32, vec []float32) bool {
	var err error
	if b.unit, err = b.Unit(b.unit, vec); err != nil {
		return false
	}
	b.code = resize(b.code, b.length)
	scale, slack := encode(b.code, b.unit)
	return scale == b.scale[slot] && slack == b.slack[slot] && slices.Equal(b.code, b.Code(slot))
}
