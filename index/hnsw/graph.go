package hnsw

import (
	"math"
	"slices"
	"sync"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/internal/block"
	"github.com/meminfra/memory-layer/index/internal/kernel"
)

// Shape of the graph. Source: Malkov and Yashunin 2016; deps-lab A3.
const (
	upLinks   = 16  // neighbours of a node on an upper level (M)
	baseLinks = 32  // on the base level
	breadth   = 100 // candidates weighed when a node is linked (efConstruction)
	topLevel  = 15
)

// graph is a hierarchical navigable small world over the codes of a block. Its
// nodes are slots; those from linked on are not in it yet.
//
// Of equal vectors only the first is a node, and leads to the others: so many
// nodes at one point would have links to each other only.
//
// Mu guards all of it: searches read, and a batch that is ready is written in at
// once. What the graph looks like depends on the vectors, their order and the
// seed alone.
type graph struct {
	block *block.Block
	seed  uint64

	mu     sync.RWMutex
	base   []int32 // links of slot i on the base level: their number, then they
	towers []int32 // the same for the upper levels, level 1 first
	tower  []int32 // slot -> where its upper levels start in towers
	level  []uint8
	twin   []int32 // slot -> the next one with the same vector, None for no more
	entry  int32
	top    int // level of entry, -1 without one
	linked int
}

func newGraph(b *block.Block, seed uint64) *graph {
	n := b.Slots()
	return &graph{
		block:  b,
		seed:   seed,
		top:    -1,
		base:   make([]int32, 0, n*(1+baseLinks)),
		tower:  make([]int32, 0, n),
		level:  make([]uint8, 0, n),
		twin:   make([]int32, 0, n),
		towers: make([]int32, 0, n*(1+upLinks)/upLinks),
	}
}

func (g *graph) bytes() int64 {
	return 4*int64(cap(g.base)+cap(g.towers)+cap(g.tower)+cap(g.twin)) + int64(cap(g.level))
}

// most is how many links a node has on a level at most.
func most(level int) int {
	if level == 0 {
		return baseLinks
	}
	return upLinks
}

// list returns where a node's links on a level are kept.
func (g *graph) list(slot int32, level int) []int32 {
	if level == 0 {
		i := int(slot) * (1 + baseLinks)
		return g.base[i : i+1+baseLinks]
	}
	i := int(g.tower[slot]) + (level-1)*(1+upLinks)
	return g.towers[i : i+1+upLinks]
}

// links returns the neighbours of a node on a level.
func (g *graph) links(slot int32, level int) []int32 {
	l := g.list(slot, level)
	return l[1 : 1+l[0]]
}

// levelOf draws the level of a slot: each level holds a sixteenth of the one
// below.
func (g *graph) levelOf(slot int32) int {
	z := g.seed + (uint64(slot)+1)*0x9E3779B97F4A7C15 // splitmix64
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	level := 0
	for ; z&(upLinks-1) == 0 && level < topLevel; level++ {
		z >>= 4
	}
	return level
}

// walker is what one walk through the graph needs.
type walker struct {
	query []int8
	best  []key    // so far, best first, at most breadth of them
	limit int      // of best
	next  int      // no node before it in best is unexplored
	seen  []uint64 // bitmap over slots
	ids   []int32
	dots  []int32

	mates  []key     // see linker
	chosen []int32   // see choose
	unit   []float32 // see search
	codes  []int8
	top    index.Top
}

var walkers = sync.Pool{New: func() any { return new(walker) }}

// key is a node with its score, so that larger is better and equal scores fall
// by slot. The lowest bit says that the node's links were followed.
type key uint64

const explored key = 1

func newKey(score float32, slot int32) key {
	bits := math.Float32bits(score)
	if bits>>31 != 0 {
		bits = ^bits
	} else {
		bits |= 1 << 31
	}
	return key(bits)<<32 | key(math.MaxInt32-slot)<<1
}

func (k key) slot() int32 { return math.MaxInt32 - int32(k>>1&math.MaxInt32) }

func (k key) score() float32 {
	bits := uint32(k >> 32)
	if bits>>31 != 0 {
		return math.Float32frombits(bits &^ (1 << 31))
	}
	return math.Float32frombits(^bits)
}

// reset prepares a walk that keeps the best limit nodes.
func (w *walker) reset(g *graph, limit int) {
	n := (g.linked + 63) / 64
	if cap(w.seen) < n {
		w.seen = make([]uint64, n+n/4)
	}
	w.seen = w.seen[:n]
	clear(w.seen)
	w.limit, w.next = limit, 0
	if cap(w.best) < limit {
		w.best = make([]key, 0, limit)
	}
	w.best = w.best[:0]
}

// score computes the scores of w.ids, up to a factor of the query, into w.dots.
func (w *walker) score(g *graph) {
	if cap(w.dots) < len(w.ids) {
		w.dots = make([]int32, 2*len(w.ids))
	}
	w.dots = w.dots[:len(w.ids)]
	kernel.Bytes(w.query, g.block.Codes(), w.ids, w.dots)
}

// key returns the key of w.ids[i], after score.
func (w *walker) key(g *graph, i int) key {
	id := w.ids[i]
	return newKey(float32(w.dots[i])*g.block.Scale(id), id)
}

// offer puts a node among the best, if it is.
func (w *walker) offer(k key) {
	n := len(w.best)
	if n == w.limit {
		if n--; k <= w.best[n] {
			return
		}
	} else {
		w.best = w.best[:n+1]
	}
	i := 0
	for left := n; left > 0; { // binary search, written so that no branch depends on the data
		half := (left + 1) / 2
		if w.best[i+half-1] > k {
			i += half
		}
		left -= half
	}
	copy(w.best[i+1:], w.best[i:n])
	w.best[i] = k
	w.next = min(w.next, i)
}

// descend walks greedily from the top to a level and returns where it ends.
func (w *walker) descend(g *graph, level int) int32 {
	w.ids = append(w.ids[:0], g.entry)
	w.score(g)
	at := w.key(g, 0)
	for l := g.top; l > level; l-- {
		for moved := true; moved; {
			moved = false
			w.ids = append(w.ids[:0], g.links(at.slot(), l)...)
			w.score(g)
			for i := range w.ids {
				if k := w.key(g, i); k > at {
					at, moved = k, true
				}
			}
		}
	}
	return at.slot()
}

// spread finds the nodes of a level that are nearest to the query, starting
// from one of them. After reset.
func (w *walker) spread(g *graph, from int32, level int) {
	w.ids = append(w.ids[:0], from)
	w.seen[from>>6] |= 1 << (from & 63)
	for {
		w.score(g)
		for i := range w.ids {
			w.offer(w.key(g, i))
		}
		w.ids = w.ids[:0]
		for range width {
			for w.next < len(w.best) && w.best[w.next]&explored != 0 {
				w.next++
			}
			if w.next == len(w.best) {
				break
			}
			at := &w.best[w.next]
			*at |= explored
			w.meet(g.links(at.slot(), level))
		}
		if len(w.ids) == 0 && w.next == len(w.best) {
			return
		}
	}
}

// width is how many nodes are explored in one step: their neighbours come from
// memory together. More would look at too many that better ones rule out.
const width = 3

// meet adds the nodes that were not met before to w.ids.
func (w *walker) meet(links []int32) {
	n := len(w.ids)
	w.ids = slices.Grow(w.ids, len(links))[:n+len(links)]
	for _, id := range links {
		word, bit := &w.seen[id>>6], uint64(1)<<(id&63)
		w.ids[n] = id
		if *word&bit == 0 {
			n++
		}
		*word |= bit
	}
	w.ids = w.ids[:n]
}

// choose picks up to n neighbours for a node of the given scale out of
// candidates, best first: those that are nearer to the node than to any
// neighbour picked before, so that links point in all directions.
func (w *walker) choose(g *graph, candidates []key, scale float32, n int) []int32 {
	const few = 4 // most candidates fail against the first neighbours
	w.dots = slices.Grow(w.dots[:0], few)[:few]
	w.chosen = w.chosen[:0]
	for _, c := range candidates {
		if len(w.chosen) == n {
			break
		}
		id := c.slot()
		query, limit := g.block.Code(id), c.score()*scale/g.block.Scale(id)
		good := true
		for rest := w.chosen; good && len(rest) > 0; rest = rest[min(few, len(rest)):] {
			part := rest[:min(few, len(rest))]
			kernel.Bytes(query, g.block.Codes(), part, w.dots)
			for i, other := range part {
				good = good && float32(w.dots[i])*g.block.Scale(other) <= limit
			}
		}
		if good {
			w.chosen = append(w.chosen, id)
		}
	}
	return slices.Clone(w.chosen)
}
