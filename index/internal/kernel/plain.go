package kernel

// dotGo defines the order of operations. Partial sum l takes the components l,
// l+32, l+64 and so on; eight are summed at a time so that they stay in
// registers. The conversions keep the compiler from fusing.
func dotGo(a, b []float32) float32 {
	const sums, group = 32, 8
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
