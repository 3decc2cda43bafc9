package index

import "math"

// Top keeps the k best rows pushed into it: higher score first, equal scores by
// ascending row, whatever the order of pushing. Engines share it so that ties
// fall the same way everywhere. The zero value keeps nothing; call Reset.
type Top struct {
	k    int
	heap []Hit // the worst of the best on top
}

// Reset empties t and makes it keep k rows; k < 1 keeps none.
func (t *Top) Reset(k int) {
	t.k = max(k, 0)
	t.heap = t.heap[:0]
}

// Push offers a row. A NaN score is never kept.
func (t *Top) Push(row int, score float64) {
	h := Hit{Row: row, Score: score}
	switch {
	case math.IsNaN(score) || t.k == 0:
	case len(t.heap) < t.k:
		t.heap = append(t.heap, h)
		t.up(len(t.heap) - 1)
	case better(h, t.heap[0]):
		t.heap[0] = h
		t.down(0)
	}
}

// Floor is the score below which a push changes nothing: minus infinity until
// k rows are kept.
func (t *Top) Floor() float64 {
	switch {
	case t.k == 0:
		return math.Inf(1)
	case len(t.heap) < t.k:
		return math.Inf(-1)
	}
	return t.heap[0].Score
}

// Hits returns the kept rows, best first, in a new slice (nil for none), and
// empties t.
func (t *Top) Hits() []Hit {
	if len(t.heap) == 0 {
		return nil
	}
	out := make([]Hit, len(t.heap))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = t.heap[0]
		t.heap[0] = t.heap[i]
		t.heap = t.heap[:i]
		t.down(0)
	}
	return out
}

func better(a, b Hit) bool {
	return a.Score > b.Score || (a.Score == b.Score && a.Row < b.Row)
}

func (t *Top) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !better(t.heap[parent], t.heap[i]) {
			return
		}
		t.heap[parent], t.heap[i] = t.heap[i], t.heap[parent]
		i = parent
	}
}

func (t *Top) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(t.heap) {
			return
		}
		if r := child + 1; r < len(t.heap) && better(t.heap[child], t.heap[r]) {
			child = r
		}
		if !better(t.heap[i], t.heap[child]) {
			return
		}
		t.heap[i], t.heap[child] = t.heap[child], t.heap[i]
		i = child
	}
}
