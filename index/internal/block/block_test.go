package block

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/internal/kernel"
)

// kinds are vectors on which codes do badly, each in its way.
var kinds = map[string]func(rng *rand.Rand, v []float32){
	"gauss": func(rng *rand.Rand, v []float32) {
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
	},
	// All within a hair of each other: nothing can be ruled out.
	"near": func(rng *rand.Rand, v []float32) {
		for i := range v {
			v[i] = 1 + 1e-4*float32(rng.NormFloat64())
		}
	},
	// One large component makes the steps coarse for all others.
	"peak": func(rng *rand.Rand, v []float32) {
		for i := range v {
			v[i] = 0.02 * float32(rng.NormFloat64())
		}
		v[rng.IntN(len(v))] = 3
	},
	"sparse": func(rng *rand.Rand, v []float32) {
		for range 1 + len(v)/20 {
			v[rng.IntN(len(v))] = rng.Float32()
		}
	},
	"same": func(_ *rand.Rand, v []float32) {
		for i := range v {
			v[i] = float32(i%7) - 2.5
		}
	},
}

// The search over codes finds what looking at every vector finds, bit by bit,
// whichever loops run and whatever the vectors are like.
func TestExactWhateverTheVectors(t *testing.T) {
	for name, draw := range kinds {
		for _, dim := range []int{1, 3, 64, 200, 384, 1536} {
			rng := rand.New(rand.NewPCG(uint64(dim), 1))
			n := max(300, 2*small/kernel.Pad(dim))
			if dim < 64 {
				n = 2 * small / 64
			}
			b := fill(t, rng, draw, n, dim)
			for range 8 {
				query := make([]float32, dim)
				draw(rng, query)
				query[rng.IntN(dim)] += 0.01
				var admitted *index.Bitmap
				if rng.IntN(2) == 0 {
					admitted = index.NewBitmap(n)
					for row := range n {
						if rng.IntN(10) > 0 {
							admitted.Set(row)
						}
					}
				}
				for _, k := range []int{1, 10, 100} {
					got, err := b.Search(query, admitted, k)
					if err != nil {
						t.Fatal(err)
					}
					if want := plainly(b, query, admitted, k); !slices.Equal(got, want) {
						t.Fatalf("%s %d x %d, k %d: %v, want %v", name, n, dim, k, got, want)
					}
				}
			}
		}
	}
}

func fill(t *testing.T, rng *rand.Rand, draw func(*rand.Rand, []float32), n, dim int) *Block {
	t.Helper()
	b := New(dim, n)
	var unit []float32
	for row := range n {
		v := make([]float32, dim)
		draw(rng, v)
		v[rng.IntN(dim)] += 1e-3 // no zero vector
		var err error
		if unit, err = b.Unit(unit, v); err != nil {
			t.Fatal(err)
		}
		b.Append(row, unit)
	}
	return b
}

func plainly(b *Block, query []float32, admitted *index.Bitmap, k int) []index.Hit {
	unit, err := b.Unit(nil, query)
	if err != nil {
		panic(err)
	}
	var top index.Top
	top.Reset(k)
	for slot, row := range b.rows {
		if row != None && (admitted == nil || admitted.Has(int(row))) {
			top.Push(int(row), b.Score(unit, int32(slot)))
		}
	}
	return top.Hits()
}

// The bound is one: no score exceeds it.
func TestBound(t *testing.T) {
	for name, draw := range kinds {
		for _, dim := range []int{2, 64, 384, 1536} {
			rng := rand.New(rand.NewPCG(uint64(dim), 2))
			b := fill(t, rng, draw, 200, dim)
			sc := new(scratch)
			for range 20 {
				query := make([]float32, dim)
				draw(rng, query)
				query[0] += 0.5
				var err error
				if sc.unit, err = b.Unit(sc.unit, query); err != nil {
					t.Fatal(err)
				}
				b.choose(sc, nil)
				sc.top.Reset(5)
				b.estimate(sc)
				for i, id := range sc.ids {
					if score := b.Score(sc.unit, id); score > float64(sc.upper[i]) {
						t.Fatalf("%s, %d: a score of %v was bound by %v", name, dim, score, sc.upper[i])
					}
				}
			}
		}
	}
}

// Codes are the nearest multiples, and the slack is the length of the rest.
func TestEncode(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for name, draw := range kinds {
		b := fill(t, rng, draw, 50, 200)
		for slot := range int32(50) {
			var rest float64
			for i, v := range b.Vector(slot) {
				r := float64(v) - float64(b.Scale(slot))*float64(b.Code(slot)[i])
				rest += r * r
				if math.Abs(r) > float64(b.Scale(slot))*0.5001 {
					t.Fatalf("%s: component %v is off by %v steps", name, v, r/float64(b.Scale(slot)))
				}
			}
			if rest = math.Sqrt(rest); rest > float64(b.slack[slot]) || rest < float64(b.slack[slot])*0.999-4e-7 {
				t.Fatalf("%s: slack %v, want %v", name, b.slack[slot], rest)
			}
		}
	}
}

// Rows keep their vectors through removing, killing and compacting.
func TestSlots(t *testing.T) {
	const n, dim = 300, 20
	rng := rand.New(rand.NewPCG(4, 4))
	b := New(dim, 0)
	held := map[int][]float32{}
	for i := range 5000 {
		row := rng.IntN(n)
		switch op := rng.IntN(10); {
		case op < 6 && held[row] == nil:
			v := make([]float32, dim)
			kinds["gauss"](rng, v)
			unit, err := b.Unit(nil, v)
			if err != nil {
				t.Fatal(err)
			}
			b.Append(row, unit)
			held[row] = unit
		case op < 8:
			b.Remove(row)
			delete(held, row)
		case op < 9:
			b.Kill(row)
			delete(held, row)
		case i%20 == 0:
			b.Compact()
			if b.Slots() != b.Len() {
				t.Fatalf("%d slots for %d vectors", b.Slots(), b.Len())
			}
		}
		if b.Len() != len(held) {
			t.Fatalf("%d vectors, want %d", b.Len(), len(held))
		}
	}
	for row := range n {
		slot := b.Slot(row)
		if (slot != None) != (held[row] != nil) {
			t.Fatalf("row %d is in slot %d, want it held: %v", row, slot, held[row] != nil)
		}
		if slot != None && (!b.Holds(slot, held[row]) || b.Row(slot) != int32(row)) {
			t.Fatalf("row %d lost its vector", row)
		}
	}
}

// Scores are the same bits on every machine. The test runs with whatever loops
// the processor has; GODEBUG=cpu.avx512f=off and cpu.avx2=off take them away.
func TestScoresOnEveryMachine(t *testing.T) {
	const n, dim, want = 700, 400, 0xaf08810eb26ab097
	state := uint64(1)
	draw := func(_ *rand.Rand, v []float32) {
		for i := range v {
			state = state*6364136223846793005 + 1442695040888963407
			v[i] = float32(int32(state>>32) >> 8) // exact in float32
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	b := fill(t, rng, draw, n, dim)
	sum := uint64(14695981039346656037)
	for range 20 {
		query := make([]float32, dim)
		draw(nil, query)
		hits, err := b.Search(query, nil, 25)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			sum = (sum ^ uint64(h.Row)) * 1099511628211
			sum = (sum ^ math.Float64bits(h.Score)) * 1099511628211
		}
	}
	if sum != want {
		t.Errorf("%s: rows and scores hash to %#x, want %#x", kernel.Name(), sum, uint64(want))
	}
}

// Vectors encoded in any order make the block that appending them in the order of
// their rows makes. If they are many, it has none of them until they are brought.
func TestPlace(t *testing.T) {
	for _, size := range []struct{ dim, n int }{{60, 1}, {60, 600}, {60, many / 64}, {kernel.MaxDim + 1, 5}} {
		dim, n := size.dim, size.n
		rng := rand.New(rand.NewPCG(5, 5))
		placed, appended := New(dim, n), New(dim, n)
		rows := rng.Perm(n)
		vecs := make([][]float32, n) // by row
		for i, row := range rows {
			vecs[row] = make([]float32, dim)
			kinds["gauss"](rng, vecs[row])
			if err := placed.Encode(vecs[row]); err != nil {
				t.Fatal(err)
			}
			if i%7 == 1 {
				rows[i], vecs[row] = None, nil
			}
		}
		placed.Place(rows)
		lean := n == many/64 && kernel.Fast()
		if lacks := placed.Lacks(n); lean != (len(lacks) > 0) || lean != (len(lacks) == placed.Len()) || lean == placed.Whole() {
			t.Fatalf("%d of %d vectors lack", len(lacks), placed.Len())
		}
		for row, vec := range vecs {
			if vec != nil {
				unit, err := appended.Unit(nil, vec)
				if err != nil {
					t.Fatal(err)
				}
				appended.Append(row, unit)
				if others := placed.Bring([]int{row}, [][]float32{slices.Clone(vec)}); others != nil {
					t.Fatalf("the vector of row %d is another", row)
				}
			}
		}
		if !placed.Whole() || placed.Lacks(1) != nil || placed.Bytes() < 4*int64(dim*placed.Len()) {
			t.Errorf("%d vectors lack, %d bytes", placed.lacks, placed.Bytes())
		}
		if !slices.Equal(placed.rows, appended.rows) || !slices.Equal(placed.slots, appended.slots) || !slices.Equal(placed.codes, appended.codes) ||
			!slices.Equal(placed.scale, appended.scale) || !slices.Equal(placed.slack, appended.slack) ||
			!slices.EqualFunc(placed.floats, appended.floats, slices.Equal) {
			t.Errorf("%d vectors of %d: the block differs from one they were appended to", n, dim)
		}
	}
}
