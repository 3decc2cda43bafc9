package index

import "context"

// VectorsFunc reads the vectors of rows of a partition that have one: those that a
// LoadFunc would bring now. They are the index's to keep and to change.
type VectorsFunc func(ctx context.Context, partition string, keys []Key) (map[Key][]float32, error)

// Early takes what a LoadFunc has before it has all.
type Early struct {
	// Rows may be called once with the delta before its vectors are read: what
	// needs none is done meanwhile. The delta that is returned then has the same
	// Rows, which Rows has put in order and emptied of their texts, with their
	// vectors; or else another Change.
	Rows func(Delta)
	// Vectors, if not nil, may be called for what takes the vectors instead of
	// Delta.Rows: with the change number at which they stand, their length and
	// about how many they are. It takes one after the other, from one goroutine,
	// beside Rows or before it, and keeps none. Called again, it begins anew. The
	// delta that is returned has either the last one's change number and no
	// vectors, or else another and its own.
	Vectors func(change int64, dim, n int) func(Key, []float32)
}

// encoding is a vector engine that is filled before the rows are known.
type encoding struct {
	engine VectorEncoder
	change int64
	keys   []Key // of what the engine took
	bad    []Key // and of what it did not
}

// encode reports whether the vector engines can do so.
func (e Engines) encode() bool {
	if e.Vectors == nil {
		return false
	}
	_, can := e.Vectors(1, 0).(VectorEncoder)
	return can
}

func (e Engines) newEncoding(change int64, dim, n int) *encoding {
	return &encoding{engine: e.Vectors(dim, n).(VectorEncoder), change: change, keys: make([]Key, 0, n)}
}

func (c *encoding) take(k Key, vec []float32) {
	if err := c.engine.Encode(vec); err != nil {
		c.bad = append(c.bad, k) // no direction: see state.refused
		return
	}
	c.keys = append(c.keys, k)
}

// finish makes the engine that of a state, none of whose rows has a vector yet.
func (c *encoding) finish(s *state, d *Delta) {
	rows := make([]int, len(c.keys))
	for i, k := range c.keys {
		rows[i] = int(s.find(k))
	}
	for _, k := range c.bad {
		if s.find(k) != none {
			s.badVectors++
		}
	}
	if len(rows) > 0 {
		c.engine.Place(rows)
		s.vectors, s.model = c.engine, d.Model
	}
}
