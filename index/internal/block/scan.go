package block

import (
	"math"
	"slices"
	"sync"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/internal/kernel"
)

// small is how many float32 components are read straight: that many stay in the
// processor's caches, and then the codes save nothing.
const small = 256 * 384

// scratch is what one search needs; a pool keeps searches from allocating it.
type scratch struct {
	unit  []float32
	wide  []int16
	ids   []int32 // slots to look at
	dots  []int32 // from their codes
	upper []float32
	top   index.Top
	lack  []int // rows whose vectors would have to be here
}

// lacking is the error that names what lacks, nil if nothing does.
func (sc *scratch) lacking() error {
	if len(sc.lack) == 0 {
		return nil
	}
	return &index.LackError{Rows: slices.Clone(sc.lack)}
}

var pool = sync.Pool{New: func() any { return new(scratch) }}

// Search returns the k admitted rows (nil: all rows) with the highest cosine to
// vec, best first, ties by ascending row: always exactly those, and the same
// scores bit by bit on every machine. Errors: those of Unit, and *index.LackError.
func (b *Block) Search(vec []float32, admitted *index.Bitmap, k int) ([]index.Hit, error) {
	sc := pool.Get().(*scratch)
	defer pool.Put(sc)
	var err error
	if sc.unit, err = b.Unit(sc.unit, vec); err != nil || k < 1 {
		return nil, err
	}
	b.choose(sc, admitted)
	sc.top.Reset(k)
	sc.lack = sc.lack[:0]
	if len(sc.ids) <= k || len(sc.ids)*b.length <= small || !b.Coded() || !kernel.Fast() {
		for _, id := range sc.ids {
			b.offer(sc, id)
		}
	} else {
		b.estimate(sc)
		b.confirm(sc, k)
	}
	return sc.top.Hits(), sc.lacking()
}

// Scores returns the cosines of vec and the vectors of rows, in their order, 0 for
// a row without one. Errors: those of Search.
func (b *Block) Scores(vec []float32, rows []int) ([]float64, error) {
	sc := pool.Get().(*scratch)
	defer pool.Put(sc)
	var err error
	if sc.unit, err = b.Unit(sc.unit, vec); err != nil {
		return nil, err
	}
	sc.lack = sc.lack[:0]
	scores := make([]float64, len(rows))
	for i, row := range rows {
		switch slot := b.Slot(row); {
		case slot == None:
		case b.floats[slot] == nil:
			sc.lack = append(sc.lack, row)
		default:
			scores[i] = b.Score(sc.unit, slot)
		}
	}
	return scores, sc.lacking()
}

// choose lists the slots of admitted rows.
func (b *Block) choose(sc *scratch, admitted *index.Bitmap) {
	ids := resize(sc.ids, len(b.rows))
	n := 0
	for slot, row := range b.rows {
		if row != None && (admitted == nil || admitted.Has(int(row))) {
			ids[n] = int32(slot)
			n++
		}
	}
	sc.ids = ids[:n]
}

// offer pushes the row in a slot with its cosine.
func (b *Block) offer(sc *scratch, slot int32) {
	if b.floats[slot] == nil {
		sc.lack = append(sc.lack, int(b.rows[slot]))
		return
	}
	sc.top.Push(int(b.rows[slot]), b.Score(sc.unit, slot))
}

// Score returns the cosine of unit, from Unit, and the vector in slot.
func (b *Block) Score(unit []float32, slot int32) float64 {
	return float64(kernel.Dot(unit, b.Vector(slot)))
}

// estimate computes from codes what each slot can score at most, and keeps in
// sc.top the places in sc.ids of the k that look best.
//
// With query q = p + e, p its wide codes, and vector v = w + r, w its codes:
// q·v = p·w + q·r + e·w. The length of q is 1, that of w at most 1 + |r|, so
// q·v is at most p·w + |r| + |e|(1+|r|). Lengths differ from 1, and the score
// from q·v, by float32 rounding, which margin covers.
func (b *Block) estimate(sc *scratch) {
	sc.wide = resize(sc.wide, b.length)
	step, rest := kernel.QuantiseWide(sc.wide, sc.unit, kernel.MaxWide(b.length))
	sc.dots = resize(sc.dots, len(sc.ids))
	kernel.Wide(sc.wide, b.codes, sc.ids, sc.dots)

	const unitError, ulp = 1e-6, 1.0 / (1 << 24)
	margin := float64(b.length/32+32) * 2 * ulp // additions in a row, and those of this function
	slope := float32((1 + rest) * (1 + 4*unitError))
	base := float32(rest*(1+unitError) + margin)

	sc.upper = resize(sc.upper, len(sc.ids))
	upper, dots := sc.upper, sc.dots[:len(sc.upper)]
	floor := float32(math.Inf(-1))
	for i, id := range sc.ids[:len(upper)] {
		score := float32(float32(dots[i])*step) * b.scale[id]
		upper[i] = score + float32(b.slack[id]*slope) + base
		if score > floor {
			sc.top.Push(i, float64(score))
			floor = float32(sc.top.Floor())
		}
	}
}

// confirm scores the vectors themselves: first of those that look best, which
// gives a floor, then of all that can reach it.
func (b *Block) confirm(sc *scratch, k int) {
	best := sc.top.Hits()
	sc.top.Reset(k)
	least := float32(math.Inf(1)) // that the best can score by their codes
	for _, h := range best {
		b.offer(sc, sc.ids[h.Row])
		least = min(least, 2*float32(h.Score)-sc.upper[h.Row])
		sc.upper[h.Row] = float32(math.Inf(-1))
	}
	floor := float32(sc.top.Floor())
	if len(sc.lack) > 0 { // no floor yet, so that all are named that may be needed
		floor = max(floor, least)
	}
	for i, upper := range sc.upper {
		if upper >= floor {
			b.offer(sc, sc.ids[i])
			floor = max(floor, float32(sc.top.Floor()))
		}
	}
}
