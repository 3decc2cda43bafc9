package ledger

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// coverage compares what entries name with the rows that are there. It keeps 24
// bytes for each object named: hashes under a seed of its own, which nobody can
// aim at, in place of ids and digests.
type coverage struct {
	seed   maphash.Seed // of ids and digests
	kinds  maphash.Seed
	named  []mark
	erased []mark // named by an entry of operation forget
	rows   int64
}

// mark is an object as an entry names it. A negative seq marks a row seen.
type mark struct {
	object, digest uint64
	seq            int64
}

func newCoverage() *coverage { return &coverage{seed: maphash.MakeSeed(), kinds: maphash.MakeSeed()} }

func (c *coverage) mark(o *memory.Object, seq int64) mark {
	return mark{maphash.String(c.seed, o.ID) ^ maphash.String(c.kinds, o.Kind), maphash.Bytes(c.seed, o.Digest), seq}
}

// OpForget is the operation of entries that name rows as erased.
const OpForget = "forget"

// entry notes what an entry names. All that a forget entry names is erased, and
// comes with the digest that an earlier entry gave it.
func (c *coverage) entry(e *memory.Entry) {
	for i := range e.Objects {
		m := c.mark(&e.Objects[i], e.Seq)
		if e.Operation == OpForget {
			c.erased = append(c.erased, m)
		} else {
			c.named = append(c.named, m)
		}
	}
}

func (c *coverage) sort() {
	byObject := func(x, y mark) int {
		return cmp.Or(cmp.Compare(x.object, y.object), cmp.Compare(x.seq, y.seq))
	}
	slices.SortFunc(c.named, byObject)
	slices.SortFunc(c.erased, byObject)
}

// find is the index of the first mark of an object, -1 for none.
func find(list []mark, object uint64) int {
	i, found := slices.BinarySearchFunc(list, object, func(m mark, o uint64) int { return cmp.Compare(m.object, o) })
	if !found {
		return -1
	}
	return i
}

// row checks a row against the entry that names it: its number and "" if all
// is well. All entries must have been noted before.
func (c *coverage) row(o *memory.Object) (seq int64, reason string) {
	return c.seen(c.mark(o, 0))
}

// seen is row for a mark made before.
func (c *coverage) seen(m mark) (seq int64, reason string) {
	c.rows++
	i := find(c.named, m.object)
	if i < 0 {
		return 0, ReasonUncovered
	}
	n := &c.named[i]
	seq = max(n.seq, -n.seq)
	n.seq = -seq
	if j := find(c.erased, m.object); j >= 0 {
		return c.erased[j].seq, ReasonStillThere
	}
	if n.digest != m.digest {
		return seq, ReasonChanged
	}
	return seq, ""
}

// unreadable marks a row as seen whose digest cannot be made.
func (c *coverage) unreadable(kind, id string) (seq int64) {
	m := c.mark(&memory.Object{Kind: kind, ID: id}, 0)
	if i := find(c.named, m.object); i >= 0 {
		seq = max(c.named[i].seq, -c.named[i].seq)
		c.named[i].seq = -seq
	}
	return seq
}

// loose is an object whose name is to be looked up in its entry.
type loose struct {
	seq    int64
	object uint64
	reason string
}

// rest returns what is wrong with objects once all rows were seen: those that
// are neither there nor forgotten, named twice, or forgotten and never written.
func (c *coverage) rest() (list []loose) {
	for i, n := range c.named {
		if i > 0 && c.named[i-1].object == n.object {
			list = append(list, loose{max(n.seq, -n.seq), n.object, ReasonTwice})
			continue
		}
		if n.seq > 0 && !c.forgotten(n) {
			list = append(list, loose{n.seq, n.object, ReasonMissing})
		}
	}
	for _, e := range c.erased {
		i := find(c.named, e.object)
		if i < 0 || max(c.named[i].seq, -c.named[i].seq) >= e.seq || c.named[i].digest != e.digest {
			list = append(list, loose{e.seq, e.object, ReasonNeverWritten})
		}
	}
	return list
}

// forgotten reports whether a later entry names the object as erased: the
// closing of a state goes with the state.
func (c *coverage) forgotten(n mark) bool {
	asState := n.object ^ maphash.String(c.kinds, KindClose) ^ maphash.String(c.kinds, KindState)
	for _, object := range []uint64{n.object, asState} {
		if i := find(c.erased, object); i >= 0 && c.erased[i].seq > n.seq {
			return true
		}
	}
	return false
}

// name finds the object of an entry that a loose one is.
func (c *coverage) name(e *memory.Entry, object uint64) (memory.Object, bool) {
	for i := range e.Objects {
		if c.mark(&e.Objects[i], 0).object == object {
			return e.Objects[i], true
		}
	}
	return memory.Object{}, false
}
