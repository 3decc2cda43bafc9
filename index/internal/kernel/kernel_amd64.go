package kernel

import "golang.org/x/sys/cpu"

// available lists what this machine can run, slowest first.
var available = detect()

func detect() []kernels {
	list := []kernels{plain}
	if cpu.X86.HasAVX2 {
		list = append(list, kernels{"avx2", dot2, bytes2, wide2, peak2, round2})
	}
	x := &cpu.X86
	if x.HasAVX2 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX512DQ && x.HasAVX512VNNI {
		list = append(list, kernels{"avx512", dot512, bytes512, wide512, peak512, round512})
	}
	return list
}

func dot2(a, b []float32) float32   { return dotAVX2(&a[0], &b[:len(a)][0], len(a)) }
func dot512(a, b []float32) float32 { return dotAVX512(&a[0], &b[:len(a)][0], len(a)) }

func bytes2(q, codes []int8, ids, out []int32) {
	bytesAVX2(&q[0], &codes[0], len(q), len(ids), &ids[0], &out[0])
}

func bytes512(q, codes []int8, ids, out []int32) {
	bytesAVX512(&q[0], &codes[0], len(q), len(ids), &ids[0], &out[0])
}

func wide2(q []int16, codes []int8, ids, out []int32) {
	wideAVX2(&q[0], &codes[0], len(q), len(ids), &ids[0], &out[0])
}

func wide512(q []int16, codes []int8, ids, out []int32) {
	wideAVX512(&q[0], &codes[0], len(q), len(ids), &ids[0], &out[0])
}

func peak2(v []float32) float32   { return peakAVX2(&v[0], len(v)) }
func peak512(v []float32) float32 { return peakAVX512(&v[0], len(v)) }

func round2(codes []int8, v []float32, inverse float32) float64 {
	return roundAVX2(&codes[0], &v[0], len(v), inverse)
}

func round512(codes []int8, v []float32, inverse float32) float64 {
	return roundAVX512(&codes[0], &v[0], len(v), inverse)
}

// The assembly. Lengths are multiples of Lanes; n is at least 1.

//go:noescape
func dotAVX2(a, b *float32, length int) float32

//go:noescape
func dotAVX512(a, b *float32, length int) float32

//go:noescape
func bytesAVX2(q, codes *int8, length, n int, ids, out *int32)

//go:noescape
func bytesAVX512(q, codes *int8, length, n int, ids, out *int32)

//go:noescape
func wideAVX2(q *int16, codes *int8, length, n int, ids, out *int32)

//go:noescape
func wideAVX512(q *int16, codes *int8, length, n int, ids, out *int32)

//go:noescape
func peakAVX2(v *float32, length int) float32

//go:noescape
func peakAVX512(v *float32, length int) float32

//go:noescape
func roundAVX2(codes *int8, v *float32, length int, inverse float32) float64

//go:noescape
func roundAVX512(codes *int8, v *float32, length int, inverse float32) float64
