package exact

// dot returns the dot product of two vectors of equal length. Eight sums run side
// by side so that no addition waits for the one before; the explicit conversions
// keep the compiler from fusing, so every machine gets the same bits.
func dot(a, b []float32) float64 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	b = b[:len(a)]
	for len(a) >= 8 {
		x, y := (*[8]float32)(a), (*[8]float32)(b)
		s0 += float32(x[0] * y[0])
		s1 += float32(x[1] * y[1])
		s2 += float32(x[2] * y[2])
		s3 += float32(x[3] * y[3])
		s4 += float32(x[4] * y[4])
		s5 += float32(x[5] * y[5])
		s6 += float32(x[6] * y[6])
		s7 += float32(x[7] * y[7])
		a, b = a[8:], b[8:]
	}
	for i, v := range a {
		s0 += float32(v * b[i])
	}
	return float64((s0 + s4) + (s1 + s5) + (s2 + s6) + (s3 + s7))
}

// dotSparse is dot over the components named by dims.
func dotSparse(a, b []float32, dims []int32) float64 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for len(dims) >= 4 {
		d := (*[4]int32)(dims)
		s0 += float32(a[d[0]] * b[d[0]])
		s1 += float32(a[d[1]] * b[d[1]])
		s2 += float32(a[d[2]] * b[d[2]])
		s3 += float32(a[d[3]] * b[d[3]])
		dims = dims[4:]
	}
	for _, d := range dims {
		s0 += float32(a[d] * b[d])
	}
	return float64((s0 + s1) + (s2 + s3))
}
