// Package hnsw is the vector engine for large partitions. It looks at every
// vector, as exact does, until there are so many of them that a graph pays; and
// goes on doing so for searches that may not see nearly all of them. What the
// others pass over in the graph are mostly versions that were superseded.
//
// The graph is a hierarchical navigable small world over int8 codes. The scores
// of what it finds are computed from the vectors, so a hit's score is the one
// that exact gives, bit by bit; only which rows are found may differ, within
// recall@10 of 0.99.
//
// Building takes far longer than a search. No search waits for it and nothing
// runs in the background: while the graph is not done, each search looks at
// every vector and then works on the graph for about a quarter as long, which
// it takes some ten thousand of them to finish. Prepare does the work at once,
// for who wants that and has the time.
//
// The graph depends on the vectors, the order in which they were set (that of their
// rows, if they were encoded) and the seed, not on who built it, in which portions or on how many goroutines.
//
// Source: Malkov and Yashunin 2016; design section 7; deps-lab A3, which also
// has the figures on the libraries that this package stands in for.
package hnsw

import (
	"cmp"
	"math"
	"sync"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/internal/block"
)

// Options of an index. Nil and the zero value are the defaults.
type Options struct {
	// Threshold is the number of vectors above which the graph is used.
	// Default: Threshold of the dimension. Negative: none, always use it.
	Threshold int
	// Seed draws the levels of the nodes.
	Seed uint64
	// Workers is how many goroutines Prepare uses. Default 1.
	Workers int
	// Lean has Encode keep codes alone, however few vectors there are; else it
	// keeps those of up to 16 MB, too. For tests.
	Lean bool
}

// Threshold is the default number of vectors above which a graph pays: 16,000 of
// 384 dimensions, 8,000 of 1536, where looking at all of them takes about 0.3 ms
// of a processor. Source: make bench-index; design section 7.
func Threshold(dim int) int { return int(16_000 * math.Sqrt(384/float64(max(dim, 1)))) }

// Index is an index.VectorEngine and index.Preparer.
type Index struct {
	block   *block.Block
	opts    Options
	scratch []float32 // of Set
	fixed   int       // effort, 0 for what suits the size

	building sync.Mutex
	linker   *linker // nil while the graph would not pay
}

var (
	_ index.Preparer      = (*Index)(nil)
	_ index.VectorScorer  = (*Index)(nil)
	_ index.VectorEncoder = (*Index)(nil)
)

// New returns an empty index for vectors of dim components. Rows is a hint of
// how many will come. Nil options are the defaults.
func New(dim, rows int, opts *Options) *Index {
	if opts == nil {
		opts = &Options{}
	}
	x := &Index{block: block.New(dim, rows), opts: *opts}
	x.opts.Threshold = max(0, cmp.Or(opts.Threshold, Threshold(dim)))
	x.opts.Workers = max(1, opts.Workers)
	if opts.Lean {
		x.block.Lean()
	}
	return x
}

// Dim is the length of all vectors.
func (x *Index) Dim() int { return x.block.Dim() }

// Len is the number of vectors.
func (x *Index) Len() int { return x.block.Len() }

// Bytes is what the index costs in memory, approximately.
func (x *Index) Bytes() int64 {
	n := x.block.Bytes()
	if x.linker != nil {
		x.linker.mu.RLock()
		defer x.linker.mu.RUnlock()
		n += x.linker.bytes()
	}
	return n
}

// Set puts vec in for row, scaled to length 1, in place of what was there.
// Errors, which leave the row as it was: *index.DimensionError,
// index.ErrNotFinite, index.ErrZeroVector.
func (x *Index) Set(row int, vec []float32) (err error) {
	if x.scratch, err = x.block.Unit(x.scratch, vec); err != nil {
		return err
	}
	slot := x.block.Slot(row)
	switch {
	case slot == block.None:
	case x.block.Holds(slot, x.scratch):
		return nil
	case x.linker == nil:
		x.block.Replace(slot, x.scratch)
		return nil
	default: // the graph leads to the old vector
		x.block.Kill(row)
	}
	x.block.Append(row, x.scratch)
	x.review()
	return nil
}

// Encode takes in a vector for a row that Place will name; of many it keeps codes
// alone: see index.VectorEncoder. Errors: those of Set.
func (x *Index) Encode(vec []float32) error { return x.block.Encode(vec) }

// Place names the rows of what Encode has taken, -1 for none.
func (x *Index) Place(rows []int) {
	x.block.Place(rows)
	x.review()
}

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
func (x *Index) Delete(row int) {
	if x.linker == nil {
		x.block.Remove(row)
		return
	}
	x.block.Kill(row)
	x.review()
}

// review starts a graph once it pays, starts over once a quarter of it is dead,
// and gives it up when it has shrunk to half of what pays.
func (x *Index) review() {
	live, slots := x.block.Len(), x.block.Slots()
	pays := live > x.opts.Threshold && x.block.Coded() && live > 0
	switch {
	case x.linker == nil && pays:
		x.linker = &linker{graph: newGraph(x.block, x.opts.Seed)}
	case x.linker != nil && (live == 0 || 2*live < x.opts.Threshold):
		x.block.Compact()
		x.linker = nil
	case x.linker != nil && (slots-live)*4 > slots:
		x.block.Compact()
		x.linker = &linker{graph: newGraph(x.block, x.opts.Seed)}
	}
}

// Prepare links up to n vectors into the graph and returns how many are left to
// link: none while vectors lack, for the graph is built of all. It may run beside
// searches, not beside writes.
func (x *Index) Prepare(n int) (left int) {
	x.building.Lock()
	defer x.building.Unlock()
	if x.linker == nil || !x.block.Whole() {
		return 0
	}
	return x.linker.work(n, x.opts.Workers)
}

// Search returns the k admitted rows (nil: all rows) with the highest cosine to
// vec, best first, ties by ascending row. Errors: those of Set, *index.LackError.
func (x *Index) Search(vec []float32, admitted *index.Bitmap, k int) ([]index.Hit, error) {
	n := x.block.Admitted(admitted)
	if x.linker == nil || 4*n < 3*x.block.Len() {
		return x.block.Search(vec, admitted, k)
	}
	if k < n/8 && x.linker.ready() {
		hits, err := x.linker.search(vec, admitted, k, x.effort(k, n))
		if err != nil || len(hits) == max(k, 0) {
			return hits, err
		}
	}
	hits, err := x.block.Search(vec, admitted, k)
	if x.block.Whole() {
		x.contribute()
	}
	return hits, err
}

// Score returns the cosines of vec and the vectors of rows, in their order, 0 for
// a row without one. Errors: those of Search.
func (x *Index) Score(vec []float32, rows []int) ([]float64, error) {
	return x.block.Scores(vec, rows)
}

// contribute links so many vectors that it takes about a quarter as long as
// looking at all of them, unless somebody else is linking.
func (x *Index) contribute() {
	const scans = 4 * 4096 // a node is linked in the time that looking at 4,096 takes
	if x.building.TryLock() {
		defer x.building.Unlock()
		x.linker.work(1+x.block.Slots()/scans, 1)
	}
}

// tail is how many vectors outside the graph a search looks at on its own.
const tail = 1024

// ready reports whether the graph holds all but a few vectors.
func (l *linker) ready() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.top >= 0 && l.block.Slots()-l.linked <= tail
}

// search finds the best k admitted rows through the graph; fewer, if it does not
// lead to so many.
func (l *linker) search(vec []float32, admitted *index.Bitmap, k, effort int) ([]index.Hit, error) {
	w := walkers.Get().(*walker)
	defer walkers.Put(w)
	var err error
	if w.unit, err = l.block.Unit(w.unit, vec); err != nil || k < 1 {
		return nil, err
	}
	w.codes = l.block.Query(w.codes, w.unit)
	l.mu.RLock()
	defer l.mu.RUnlock()
	w.query = w.codes
	at := w.descend(l.graph, 0)
	w.reset(l.graph, effort)
	w.spread(l.graph, at, 0)
	l.addTail(w)
	return l.confirm(w, admitted, k), nil
}

// effort is how many nodes a search keeps in view. Measured on clustered data,
// 16 give a recall@10 of 0.99 at 10,000 vectors and 100 at 100,000; this is half as
// much again, and more for few vectors, where it costs little.
func (x *Index) effort(k, admitted int) int {
	if x.fixed > 0 {
		return max(x.fixed, k)
	}
	const few, base, many, growth = 32, 24, 10_000, 0.8
	n := few
	slots := float64(x.block.Slots())
	if slots >= many {
		n = int(base * math.Pow(slots/many, growth))
	}
	return int(float64(max(n, k+k/8)) * slots / float64(admitted)) // the others take room too
}

// addTail offers the vectors that are not in the graph.
func (l *linker) addTail(w *walker) {
	w.ids = w.ids[:0]
	for id := l.linked; id < l.block.Slots(); id++ {
		w.ids = append(w.ids, int32(id))
	}
	w.score(l.graph)
	for i := range w.ids {
		w.offer(w.key(l.graph, i))
	}
}

// confirm scores the vectors of the best nodes. Codes may misjudge which k of
// them are best, but not by far.
func (l *linker) confirm(w *walker, admitted *index.Bitmap, k int) []index.Hit {
	w.top.Reset(k)
	left := k + max(6, k/8)
	for _, key := range w.best {
		if left == 0 {
			break
		}
		if l.push(w, admitted, key.slot()) {
			left--
		}
	}
	return w.top.Hits()
}

// push offers the admitted rows at a node and reports whether there are any.
func (l *linker) push(w *walker, admitted *index.Bitmap, slot int32) (found bool) {
	var score float64
	for ; slot != block.None; slot = l.next(slot) {
		row := l.block.Row(slot)
		if row == block.None || admitted != nil && !admitted.Has(int(row)) {
			continue
		}
		if !found {
			found, score = true, l.block.Score(w.unit, slot)
		}
		w.top.Push(int(row), score)
	}
	return found
}

// next returns the slot with the same vector that comes after.
func (l *linker) next(slot int32) int32 {
	if int(slot) >= l.linked {
		return block.None
	}
	return l.twin[slot]
}

// SetEffort fixes how many nodes a search keeps in view, 0 for what suits the
// size. For measuring; not beside searches.
func (x *Index) SetEffort(n int) { x.fixed = n }
