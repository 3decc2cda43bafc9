package keep

import (
	"slices"
	"testing"
)

func TestVectors(t *testing.T) {
	one, two := []byte{0, 0, 128, 63}, []byte{0, 0, 128, 63, 0, 0, 0, 64} // 1; 1, 2
	for _, c := range []struct {
		name   string
		k      Vectors
		raw    [][]byte
		shared bool // the last lies where the one before did
	}{
		{"side by side", Vectors{Room: 2}, [][]byte{nil, two, two}, false},
		{"more than expected", Vectors{}, [][]byte{two, two}, false},
		{"in one place", Vectors{Reuse: true}, [][]byte{nil, two, two}, true},
		{"in one place, a longer one between", Vectors{Reuse: true}, [][]byte{one, two, one}, true},
	} {
		var list [][]float32
		for _, raw := range c.raw {
			v, err := c.k.Keep(raw)
			if err != nil || !slices.Equal(v, []float32{1, 2}[:len(raw)/4]) || cap(v) != len(v) {
				t.Errorf("%s: %v of %v (%v)", c.name, v, raw, err)
			}
			list = append(list, v)
		}
		if a, b := list[len(list)-2], list[len(list)-1]; (&a[0] == &b[0]) != c.shared {
			t.Errorf("%s: shared is not %t", c.name, c.shared)
		}
	}
	if _, err := new(Vectors).Keep(one[:3]); err == nil {
		t.Error("three bytes are a vector")
	}
}
