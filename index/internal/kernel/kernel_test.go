package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPad(t *testing.T) {
	for dim, want := range map[int]int{0: 0, 1: 64, 64: 64, 65: 128, 384: 384, 1536: 1536} {
		if got := Pad(dim); got != want {
			t.Errorf("Pad(%d) is %d, want %d", dim, got, want)
		}
	}
	for _, dim := range []int{1, 384, 1536, MaxDim} {
		if most := MaxWide(dim); most < MaxCode || dim*MaxCode*most > math.MaxInt32 {
			t.Errorf("MaxWide(%d) is %d", dim, most)
		}
	}
}

// Every implementation gives the bits of plain Go, whatever the length, the
// number of rows and where they start in memory.
func TestSame(t *testing.T) {
	if len(available) == 1 {
		t.Skip("plain Go only on this machine")
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		checkSame(t, rng.Uint64(), Lanes*(1+rng.IntN(25)), rng.IntN(40))
	}
}

func FuzzSame(f *testing.F) {
	f.Add(uint64(1), uint8(6), uint8(13))
	f.Fuzz(func(t *testing.T, seed uint64, chunks, rows uint8) {
		checkSame(t, seed, Lanes*(1+int(chunks)%32), int(rows))
	})
}

func checkSame(t *testing.T, seed uint64, length, rows int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	shift := rng.IntN(Lanes)
	a, b := randomFloats(rng, length, shift), randomFloats(rng, length, shift/2)
	q := randomCodes(rng, length, shift)
	codes := randomCodes(rng, length*(rows+1), shift/3)
	wide := make([]int16, length)
	most := MaxWide(length)
	extreme := rng.IntN(4) == 0 // as far out as a sum can get
	for i := range wide {
		wide[i] = int16(rng.IntN(2*most+1) - most)
		if extreme {
			wide[i], q[i], codes[i] = int16(most), MaxCode, MaxCode
		}
	}
	ids := make([]int32, rows)
	for i := range ids {
		ids[i] = int32(rng.IntN(rows + 1))
	}
	wantDot := plain.dot(a, b)
	wantBytes, wantWide := make([]int32, rows), make([]int32, rows)
	plain.bytes(q, codes, ids, wantBytes)
	plain.wide(wide, codes, ids, wantWide)
	for _, k := range available[1:] {
		if got := k.dot(a, b); math.Float32bits(got) != math.Float32bits(wantDot) {
			t.Fatalf("%s: dot of %d is %x, plain Go says %x", k.name, length, got, wantDot)
		}
		if rows == 0 {
			continue
		}
		got := make([]int32, rows+1)
		got[rows] = 77
		if k.bytes(q, codes, ids, got[:rows]); !slices.Equal(got[:rows], wantBytes) {
			t.Fatalf("%s: bytes of %d x %d: %v, plain Go says %v", k.name, rows, length, got, wantBytes)
		}
		if k.wide(wide, codes, ids, got[:rows]); !slices.Equal(got[:rows], wantWide) {
			t.Fatalf("%s: wide of %d x %d: %v, plain Go says %v", k.name, rows, length, got, wantWide)
		}
		if got[rows] != 77 {
			t.Fatalf("%s writes past its results", k.name)
		}
	}
}

// Plain Go itself, against sums in a wider type.
func TestPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 100 {
		length := Lanes * (1 + rng.IntN(25))
		a, b := randomFloats(rng, length, 0), randomFloats(rng, length, 0)
		q, codes := randomCodes(rng, length, 0), randomCodes(rng, 2*length, 0)
		var dot, size float64
		var sum int32
		for i := range a {
			dot += float64(a[i]) * float64(b[i])
			size += math.Abs(float64(a[i]) * float64(b[i]))
			sum += int32(q[i]) * int32(codes[length+i])
		}
		if got := float64(dotGo(a, b)); math.Abs(got-dot) > size*1e-6 {
			t.Fatalf("dot is %v, want %v", got, dot)
		}
		out := make([]int32, 1)
		if bytesGo(q, codes, []int32{1}, out); out[0] != sum {
			t.Fatalf("bytes are %d, want %d", out[0], sum)
		}
	}
}

func randomFloats(rng *rand.Rand, n, shift int) []float32 {
	v := make([]float32, n+shift)[shift:]
	for i := range v {
		if rng.IntN(5) > 0 {
			v[i] = float32(rng.NormFloat64())
		}
	}
	return v
}

func randomCodes(rng *rand.Rand, n, shift int) []int8 {
	v := make([]int8, n+shift)[shift:]
	for i := range v {
		v[i] = int8(rng.IntN(2*MaxCode+1) - MaxCode)
	}
	return v
}

func BenchmarkKernels(b *testing.B) {
	const length, rows = 384, 1000
	rng := rand.New(rand.NewPCG(4, 4))
	x, y := randomFloats(rng, length, 0), randomFloats(rng, length, 0)
	q, codes := randomCodes(rng, length, 0), randomCodes(rng, length*rows, 0)
	wide := make([]int16, length)
	ids, out := make([]int32, rows), make([]int32, rows)
	for i := range ids {
		ids[i] = int32(i)
	}
	for _, k := range available {
		b.Run(k.name+"/dot/384", func(b *testing.B) {
			for b.Loop() {
				k.dot(x, y)
			}
		})
		b.Run(k.name+"/bytes/1000x384", func(b *testing.B) {
			for b.Loop() {
				k.bytes(q, codes, ids, out)
			}
		})
		b.Run(k.name+"/wide/1000x384", func(b *testing.B) {
			for b.Loop() {
				k.wide(wide, codes, ids, out)
			}
		})
	}
}
