// Package kernel holds the inner loops of the vector engines: dot products of
// float32 vectors and of their int8 codes, and the making of codes, in plain Go
// and in assembly for the machine at hand.
//
// Every implementation of a loop returns the same bits. The integer loops are
// exact. The floating-point loops have one order of operations, which plain Go
// spells out and the assembly follows: no fused multiply-add, 32 partial sums,
// folded in halves. So a score does not depend on which machine computed it.
//
// Slices are as long as Pad says; ids lie within codes. The assembly does not
// check either.
package kernel

import "math"

// Lanes divides the length of all vectors here.
const Lanes = 64

// Pad returns the smallest multiple of Lanes that is at least dim. Vectors are
// filled up with zeros, which change no dot product.
func Pad(dim int) int { return (dim + Lanes - 1) / Lanes * Lanes }

// Bounds of what the integer loops take, so that no sum overflows.
const (
	// MaxCode bounds the absolute value of a code.
	MaxCode = 127
	// MaxDim is the longest vector that has codes.
	MaxDim = 1 << 16
)

// MaxWide bounds the absolute value of the components of a wide query for
// vectors of dim components: dim * MaxCode * MaxWide fits int32.
func MaxWide(dim int) int {
	const all, most = 1<<31 - 1, 16383
	return min(most, all/(MaxCode*max(dim, 1)))
}

// kernels is one implementation of all loops.
type kernels struct {
	name string
	// dot returns the dot product of two vectors.
	dot func(a, b []float32) float32
	// bytes puts the dot product of q and the codes of ids[i] in out[i].
	bytes func(q, codes []int8, ids, out []int32)
	// wide is bytes for a query of finer steps.
	wide func(q []int16, codes []int8, ids, out []int32)
	// peak returns the largest absolute value in v.
	peak func(v []float32) float32
	// round puts the integers nearest to v*inverse, which are codes, in codes and
	// returns the sum of the squares of what they leave out.
	round func(codes []int8, v []float32, inverse float32) float64
}

// plain is what every machine can run.
var plain = kernels{"go", dotGo, bytesGo, wideGo, peakGo, roundGo[int8]}

// best is the implementation for this machine: the last one it can run.
var best = available[len(available)-1]

// Fast reports whether the integer loops are faster than the float32 loop. Plain
// Go gains nothing from small numbers.
func Fast() bool { return len(available) > 1 }

// Name is "go", "avx2" or "avx512".
func Name() string { return best.name }

// Dot returns the dot product of two vectors of one length. It is the score of
// all engines.
func Dot(a, b []float32) float32 { return best.dot(a, b) }

// Bytes computes out[i] = q · codes[ids[i]*len(q):], for every i.
func Bytes(q, codes []int8, ids, out []int32) {
	if len(ids) > 0 {
		best.bytes(q, codes, ids, out[:len(ids)])
	}
}

// Wide is Bytes for a query of finer steps: components within MaxWide.
func Wide(q []int16, codes []int8, ids, out []int32) {
	if len(ids) > 0 {
		best.wide(q, codes, ids, out[:len(ids)])
	}
}

// Quantise writes a unit vector as multiples, of at most MaxCode, of a scale. It
// returns the scale and a bound of the length of what the codes leave out that is
// hardly above it.
func Quantise(codes []int8, unit []float32) (scale float32, rest float64) {
	return best.quantise(codes, unit)
}

func (k *kernels) quantise(codes []int8, unit []float32) (scale float32, rest float64) {
	scale = k.peak(unit) / MaxCode
	return scale, bound(scale, k.round(codes[:len(unit)], unit, 1/scale))
}

// QuantiseWide is Quantise for a query of finer steps: multiples of at most the
// given size, within MaxWide. It is done once for many codes, so its rounding is
// plain Go on every machine.
func QuantiseWide(wide []int16, unit []float32, most int) (scale float32, rest float64) {
	scale = best.peak(unit) / float32(most)
	return scale, bound(scale, roundGo(wide, unit, 1/scale))
}

// bound returns at least the length of what round has left out, in steps of scale.
func bound(scale float32, squares float64) float64 {
	const rounding = 3e-7 // of inverse and of the multiples of it, in a vector of length 1
	return float64(float64(scale)*math.Sqrt(squares)) + rounding
}
