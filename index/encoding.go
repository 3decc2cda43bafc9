package index

import "context"

// VectorsFunc reads the vectors of rows again, of all rows for nil keys, as a
// LoadFunc would bring them now, never older than a load before has seen them, and
// leaves out rows without one. Take gets one at a time and keeps none; its error
// ends the reading.
type VectorsFunc func(ctx context.Context, partition string, keys []Key, take func(Key, []float32) error) error

// Early takes parts of the delta of all rows before a LoadFunc has all of it, so
// that the index is built meanwhile. The parts are taken in any order, and side by
// side. Only those with the Change of the delta that is returned count.
type Early struct {
	// Rows takes the delta without vectors, once at most. It puts d.Rows in order
	// and takes their texts. The delta that is returned with this Change has these
	// very Rows, now with those vectors that Vectors has not taken.
	Rows func(d Delta)
	// Vectors, nil if they are not wanted, begins to take the vectors in place of
	// Delta.Rows: they stand at change, are dim long and about n. What it returns
	// takes one at a time and keeps none. Called again, it begins anew. The delta
	// that is returned with the change of the last call has no vectors.
	Vectors func(change int64, dim, n int) (take func(Key, []float32))
}

// encoding is a vector engine that takes vectors before the rows are known.
type encoding struct {
	engine VectorEncoder
	change int64
	keys   []Key // of what the engine took
	bad    []Key // and of what it did not
}

// canEncode reports whether the vector engines are VectorEncoders.
func (e Engines) canEncode() bool {
	if e.Vectors == nil {
		return false
	}
	_, can := e.Vectors(1, 0).(VectorEncoder)
	return can
}

func newEncoding(engines Engines, change int64, dim, n int) *encoding {
	return &encoding{engine: engines.Vectors(dim, n).(VectorEncoder), change: change, keys: make([]Key, 0, n)}
}

func (c *encoding) take(k Key, vec []float32) {
	if err := c.engine.Encode(vec); err != nil {
		c.bad = append(c.bad, k) // no direction: see state.refused
		return
	}
	c.keys = append(c.keys, k)
}

// finish makes the engine that of a state, none of whose rows has a vector yet.
func (c *encoding) finish(s *state) {
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
		s.vectors = c.engine
	}
}
