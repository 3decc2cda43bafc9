package kernel

import "math"

// sums is how many partial sums the floating-point loops have.
const sums = 32

// dotGo defines the order of operations. Partial sum l takes the components l,
// l+32, l+64 and so on; eight are summed at a time so that they stay in
// registers. The conversions keep the compiler from fusing.
func dotGo(a, b []float32) float32 {
	const group = 8
	var s [sums]float32
	b = b[:len(a)]
	for l := 0; l < sums; l += group {
		var s0, s1, s2, s3, s4, s5, s6, s7 float32
		for i := l; i+group <= len(a); i += sums {
			x, y := (*[group]float32)(a[i:]), (*[group]float32)(b[i:])
			s0 += float32(x[0] * y[0])
			s1 += float32(x[1] * y[1])
			s2 += float32(x[2] * y[2])
			s3 += float32(x[3] * y[3])
			s4 += float32(x[4] * y[4])
			s5 += float32(x[5] * y[5])
			s6 += float32(x[6] * y[6])
			s7 += float32(x[7] * y[7])
		}
		*(*[group]float32)(s[l:]) = [group]float32{s0, s1, s2, s3, s4, s5, s6, s7}
	}
	return fold(&s)
}

// fold adds up partial sums, in halves.
func fold[T float32 | float64](s *[sums]T) T {
	for half := sums / 2; half > 0; half /= 2 {
		for l := range half {
			s[l] += s[l+half]
		}
	}
	return s[0]
}

func bytesGo(q, codes []int8, ids, out []int32) {
	for i, id := range ids {
		out[i] = dotCodes(q, codes[int(id)*len(q):])
	}
}

func wideGo(q []int16, codes []int8, ids, out []int32) {
	for i, id := range ids {
		out[i] = dotCodes(q, codes[int(id)*len(q):])
	}
}

func dotCodes[T int8 | int16](q []T, c []int8) int32 {
	var s0, s1, s2, s3 int32
	c = c[:len(q)]
	for len(q) >= 4 {
		x, y := (*[4]T)(q), (*[4]int8)(c)
		s0 += int32(x[0]) * int32(y[0])
		s1 += int32(x[1]) * int32(y[1])
		s2 += int32(x[2]) * int32(y[2])
		s3 += int32(x[3]) * int32(y[3])
		q, c = q[4:], c[4:]
	}
	return s0 + s1 + s2 + s3
}

// peakGo compares bits, of absolute values: they have the order of the numbers.
func peakGo(v []float32) float32 {
	var p0, p1, p2, p3 uint32
	for ; len(v) >= 4; v = v[4:] {
		x := (*[4]float32)(v)
		p0 = max(p0, math.Float32bits(x[0])&math.MaxInt32)
		p1 = max(p1, math.Float32bits(x[1])&math.MaxInt32)
		p2 = max(p2, math.Float32bits(x[2])&math.MaxInt32)
		p3 = max(p3, math.Float32bits(x[3])&math.MaxInt32)
	}
	return math.Float32frombits(max(p0, p1, p2, p3))
}

// roundGo defines the order of operations, as dotGo does: partial sum l takes the
// components l, l+32, l+64 and so on.
func roundGo[T int8 | int16](codes []T, v []float32, inverse float32) float64 {
	const shift = 3 << 22 // adding it leaves the nearest integer in the lowest bits
	var s [sums]float64
	codes = codes[:len(v)]
	for ; len(v) >= sums; v, codes = v[sums:], codes[sums:] {
		x, c := (*[sums]float32)(v), (*[sums]T)(codes)
		for l := range s {
			steps := float32(x[l] * inverse)
			nearest := float32(steps + shift)
			c[l] = T(math.Float32bits(nearest))
			rest := float64(steps - float32(nearest-shift)) // exactly, as is its square
			s[l] += float64(rest * rest)
		}
	}
	return fold(&s)
}
