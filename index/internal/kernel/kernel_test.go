package kernel

import (
	"fmt"
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

// shapes are vectors on which codes do badly or well, each in its way.
var shapes = map[string]func(rng *rand.Rand, v []float32){
	"gauss": func(rng *rand.Rand, v []float32) {
		copy(v, randomFloats(rng, len(v), 0))
	},
	// One large component makes the steps coarse for all others.
	"peak": func(rng *rand.Rand, v []float32) {
		copy(v, randomFloats(rng, len(v), 0))
		v[rng.IntN(len(v))] = -1e6
	},
	"denormal": func(rng *rand.Rand, v []float32) {
		for i := range v {
			v[i] = math.Float32frombits(rng.Uint32() & (1<<31 | 1<<23 - 1))
		}
		v[rng.IntN(len(v))] = 1
	},
	"one": func(rng *rand.Rand, v []float32) {
		v[rng.IntN(len(v))] = -1
	},
	"equal": func(rng *rand.Rand, v []float32) {
		for i := range v {
			v[i] = float32(1 - 2*rng.IntN(2))
		}
	},
	// Halfway between two codes, up to rounding.
	"half": func(rng *rand.Rand, v []float32) {
		for i := range v {
			v[i] = float32(rng.IntN(2*MaxCode)-MaxCode) + 0.5
		}
		v[rng.IntN(len(v))] = MaxCode
	},
}

// randomUnit draws a vector of a shape and scales it to length 1.
func randomUnit(rng *rand.Rand, shape string, length, shift int) []float32 {
	v := make([]float32, length+shift)[shift:]
	shapes[shape](rng, v)
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.Abs(sum-1) > 1e-6 {
		for i, x := range v {
			v[i] = float32(float64(x) / math.Sqrt(sum))
		}
	}
	return v
}

// Every implementation makes the codes, the scale and the bound of plain Go.
func TestQuantiseSame(t *testing.T) {
	for shape := range shapes {
		rng := rand.New(rand.NewPCG(5, 5))
		for range 50 {
			checkQuantise(t, rng.Uint64(), shape, Lanes*(1+rng.IntN(64)))
		}
	}
}

func FuzzQuantise(f *testing.F) {
	f.Add(uint64(1), uint8(6))
	f.Fuzz(func(t *testing.T, seed uint64, chunks uint8) {
		for shape := range shapes {
			checkQuantise(t, seed, shape, Lanes*(1+int(chunks)%64))
		}
	})
}

func checkQuantise(t *testing.T, seed uint64, shape string, length int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	unit := randomUnit(rng, shape, length, rng.IntN(Lanes))
	codes, wide := make([]int8, length), make([]int16, length)
	scale, rest := plain.quantise(codes, unit)
	checkCodes(t, shape, codes, unit, MaxCode, scale, rest)
	most := MaxWide(length)
	wideScale, wideRest := QuantiseWide(wide, unit, most)
	checkCodes(t, shape, wide, unit, most, wideScale, wideRest)
	for _, k := range available[1:] {
		const guard = 77
		got := slices.Repeat([]int8{guard}, length+1+rng.IntN(Lanes))
		s, r := k.quantise(got, unit)
		if math.Float32bits(s) != math.Float32bits(scale) || math.Float64bits(r) != math.Float64bits(rest) {
			t.Fatalf("%s: %s of %d has scale %x and rest %x, plain Go says %x and %x", k.name, shape, length, s, r, scale, rest)
		}
		if !slices.Equal(got[:length], codes) {
			t.Fatalf("%s: %s of %d has codes %v, plain Go says %v", k.name, shape, length, got[:length], codes)
		}
		if slices.ContainsFunc(got[length:], func(c int8) bool { return c != guard }) {
			t.Fatalf("%s writes past its codes", k.name)
		}
	}
}

// checkCodes checks that codes are the integers nearest to the multiples of a
// scale, and that rest is hardly above the length of what they leave out.
func checkCodes[T int8 | int16](t *testing.T, shape string, codes []T, unit []float32, most int, scale float32, rest float64) {
	t.Helper()
	var peak float32
	var sum float64
	inverse := 1 / scale
	for i, x := range unit {
		peak = max(peak, x, -x)
		want := math.RoundToEven(float64(float32(x * inverse)))
		if float64(codes[i]) != want || math.Abs(want) > float64(most) {
			t.Fatalf("%s: component %d has code %d, want %v", shape, i, codes[i], want)
		}
		r := float64(x) - float64(scale)*float64(codes[i])
		sum += r * r
	}
	if want := peak / float32(most); scale != want {
		t.Fatalf("%s: scale %v, want %v", shape, scale, want)
	}
	const hardly = 6.1e-7 // twice the rounding that rest allows for
	if exact := math.Sqrt(sum); rest < exact || rest > exact+hardly {
		t.Fatalf("%s of %d: rest %v is no tight bound of %v", shape, len(unit), rest, exact)
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

func BenchmarkQuantise(b *testing.B) {
	for _, length := range []int{384, 1536} {
		unit := randomUnit(rand.New(rand.NewPCG(6, 6)), "gauss", length, 0)
		codes := make([]int8, length)
		for _, k := range available {
			b.Run(fmt.Sprintf("dim=%d/%s", length, k.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					k.quantise(codes, unit)
				}
			})
		}
	}
}
