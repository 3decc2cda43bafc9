package hnsw

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/meminfra/memory-layer/index/internal/block"
)

// batch is how many nodes are linked at once. Each of them sees the graph as it
// was before the batch, and the nodes of the batch before it. So the work on one
// node does not depend on the others', can be done in any order and by many, and
// the graph comes out the same; and searches go on meanwhile.
const batch = 32

// linker brings nodes into a graph, a batch at a time. It only reads the graph
// until a batch is ready.
type linker struct {
	*graph
	plans []plan // of the nodes at hand, in slot order from graph.linked on
}

// plan is a node's links to be, by level.
type plan struct {
	level int
	links [][]int32
	twin  int32 // a slot before with the same vector, None for no such
}

// work plans up to n nodes with so many workers, and links each batch that is
// complete. It returns how many nodes are left to do: only whole batches count.
func (l *linker) work(n, workers int) (left int) {
	for n > 0 && l.left() > 0 {
		some := min(n, batch-len(l.plans))
		l.plan(some, workers)
		n -= some
		if len(l.plans) == batch {
			l.link(workers)
		}
	}
	return l.left()
}

// left is the number of nodes in whole batches that are not planned.
func (l *linker) left() int {
	return (l.block.Slots()-l.linked)/batch*batch - len(l.plans)
}

// each runs f for 0 to n-1 on so many goroutines, and returns when all are done.
func each(n, workers int, f func(w *walker, i int)) {
	run := func(next func() int) {
		w := walkers.Get().(*walker)
		defer walkers.Put(w)
		for i := next(); i < n; i = next() {
			f(w, i)
		}
	}
	if workers = min(workers, n); workers <= 1 {
		i := -1
		run(func() int { i++; return i })
		return
	}
	var at atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { run(func() int { return int(at.Add(1)) - 1 }) })
	}
	all.Wait()
}

// plan plans the next n nodes of the batch.
func (l *linker) plan(n, workers int) {
	done := len(l.plans)
	l.plans = append(l.plans, make([]plan, n)...)
	each(n, workers, func(w *walker, i int) {
		l.plans[done+i] = l.planOne(w, int32(l.linked+done+i))
	})
}

// planOne finds the neighbours of a slot on each of its levels: dead ones too, since
// a slot that comes where all are dead would else be led to by none. A dead slot
// gets none.
func (l *linker) planOne(w *walker, slot int32) plan {
	p := plan{level: l.levelOf(slot), twin: block.None}
	p.links = make([][]int32, p.level+1)
	if l.block.Row(slot) == block.None {
		return p
	}
	w.query = l.block.Code(slot)
	l.findMates(w, slot)
	at := int32(block.None)
	if l.top >= 0 {
		at = w.descend(l.graph, p.level)
	}
	for level := p.level; level >= 0; level-- {
		w.reset(l.graph, breadth)
		if at != block.None && level <= l.top {
			w.spread(l.graph, at, level)
			at = w.best[0].slot()
		}
		for _, k := range w.mates {
			if l.levelOf(k.slot()) >= level {
				w.offer(k)
			}
		}
		if level == 0 {
			p.twin = l.twinOf(slot, w.best)
		}
		p.links[level] = w.choose(l.graph, w.best, l.block.Scale(slot), upLinks)
	}
	w.query = nil
	return p
}

// twinOf returns a candidate with the vector of slot, None for no such.
func (l *linker) twinOf(slot int32, candidates []key) int32 {
	for _, k := range candidates {
		if l.block.Holds(k.slot(), l.block.Vector(slot)) {
			return k.slot()
		}
		if k.score() < 0.999*candidates[0].score() { // codes blur, but not so much
			break
		}
	}
	return block.None
}

// findMates scores the live nodes of the batch that come before slot.
func (l *linker) findMates(w *walker, slot int32) {
	w.ids, w.mates = w.ids[:0], w.mates[:0]
	for id := int32(l.linked); id < slot; id++ {
		if l.block.Row(id) != block.None {
			w.ids = append(w.ids, id)
		}
	}
	w.score(l.graph)
	for i := range w.ids {
		w.mates = append(w.mates, w.key(l.graph, i))
	}
}

// arrow is a link back: from a node to one that has chosen it.
type arrow struct {
	level    int
	from, to int32
}

// link writes the planned batch into the graph.
func (l *linker) link(workers int) {
	l.unite()
	arrows := l.arrows()
	starts := []int{0} // where the arrows of each node and level begin
	for i := 1; i <= len(arrows); i++ {
		if i == len(arrows) || arrows[i].level != arrows[i-1].level || arrows[i].from != arrows[i-1].from {
			starts = append(starts, i)
		}
	}
	lists := make([][]int32, len(starts)-1)
	each(len(lists), workers, func(w *walker, i int) {
		lists[i] = l.merge(w, arrows[starts[i]:starts[i+1]])
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.linked
	for i, p := range l.plans {
		l.add(int32(first+i), p)
	}
	for i, list := range lists {
		a := arrows[starts[i]]
		set(l.list(a.from, a.level), list)
	}
	l.plans = l.plans[:0]
}

// unite makes the first of equal vectors stand for all: nodes link to it, and
// only it links to others.
func (l *linker) unite() {
	first := func(slot int32) int32 {
		for int(slot) >= l.linked && l.plans[int(slot)-l.linked].twin != block.None {
			slot = l.plans[int(slot)-l.linked].twin
		}
		return slot
	}
	for i := range l.plans {
		p := &l.plans[i]
		if p.twin != block.None {
			*p = plan{links: [][]int32{nil}, twin: first(p.twin)}
		}
		for level, links := range p.links {
			kept := links[:0]
			for _, to := range links {
				if f := first(to); f == to || (level == 0 && !slices.Contains(links, f)) {
					kept = append(kept, f)
				}
			}
			p.links[level] = kept
		}
	}
}

// arrows lists the links back of the batch, grouped by node and level.
func (l *linker) arrows() []arrow {
	var out []arrow
	for i, p := range l.plans {
		for level, links := range p.links {
			for _, from := range links {
				out = append(out, arrow{level, from, int32(l.linked + i)})
			}
		}
	}
	slices.SortFunc(out, func(a, b arrow) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	return out
}

// merge returns the links of a node with new ones added: all if they fit, else
// a choice.
func (l *linker) merge(w *walker, arrows []arrow) []int32 {
	from, level := arrows[0].from, arrows[0].level
	w.ids = append(w.ids[:0], l.present(from, level)...)
	for _, a := range arrows {
		w.ids = append(w.ids, a.to)
	}
	if len(w.ids) <= most(level) {
		return slices.Clone(w.ids)
	}
	w.query = l.block.Code(from)
	w.score(l.graph)
	w.mates = w.mates[:0]
	for i := range w.ids {
		w.mates = append(w.mates, w.key(l.graph, i))
	}
	w.query = nil
	slices.SortFunc(w.mates, func(a, b key) int { return cmp.Compare(b, a) })
	return w.choose(l.graph, w.mates, l.block.Scale(from), most(level))
}

// present returns the links of a node in the graph or in the batch.
func (l *linker) present(slot int32, level int) []int32 {
	if i := int(slot) - l.linked; i >= 0 {
		return l.plans[i].links[level]
	}
	return l.links(slot, level)
}

// add appends a node with its links. Dead ones get no tower: nothing leads there.
func (g *graph) add(slot int32, p plan) {
	g.linked++
	g.level = append(g.level, uint8(p.level))
	g.twin = append(g.twin, block.None)
	g.tower = append(g.tower, int32(len(g.towers)))
	g.base = append(g.base, make([]int32, 1+baseLinks)...)
	g.towers = append(g.towers, make([]int32, p.level*(1+upLinks))...)
	for level, links := range p.links {
		set(g.list(slot, level), links)
	}
	if p.twin != block.None {
		g.twin[slot], g.twin[p.twin] = g.twin[p.twin], slot
		return
	}
	if p.level > g.top && g.block.Row(slot) != block.None {
		g.entry, g.top = slot, p.level
	}
}

func set(list, links []int32) {
	list[0] = int32(len(links))
	copy(list[1:], links)
}
