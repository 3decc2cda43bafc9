package extract

// mostDistance is the edit distance at which a window of the best length still
// has similarity 0.9 to a pattern of m bytes: d <= 0.1 (m + d).
func mostDistance(m int) int { return m / 9 }

// maxPattern bounds the quotes that are searched for by similarity; what is
// longer must be exact after folding. With it the search of a message of 1 MiB
// takes at most 16 words of bits for each byte.
const maxPattern = 1024

// bestEnd returns where in text the stretch ends that is nearest to pattern by
// edit distance, the one nearest to hint if there are several, and the distance.
// It is Myers' bit-parallel search over blocks of 64 (Hyyrö 2003).
func bestEnd(text, pattern string, hint int) (end, distance int) {
	blocks := (len(pattern) + 63) / 64
	equal := make([][256]uint64, blocks)
	for i := range len(pattern) {
		equal[i/64][pattern[i]] |= 1 << (i % 64)
	}
	column := make([]vectors, blocks)
	for b := range column {
		column[b].up = ^uint64(0)
	}
	last := uint64(1) << ((len(pattern) - 1) % 64)
	score := len(pattern)
	end, distance = 0, score
	for j := range len(text) {
		carry := 0
		for b := range column {
			high := uint64(1) << 63
			if b == blocks-1 {
				high = last
			}
			carry = column[b].step(equal[b][text[j]], high, carry)
		}
		score += carry
		if score < distance || score == distance && abs(j+1-hint) < abs(end-hint) {
			end, distance = j+1, score
		}
	}
	return end, distance
}

// vectors are the vertical differences of 64 rows of a column: +1 and -1.
type vectors struct{ up, down uint64 }

// step moves 64 rows one column on; carry is the horizontal difference above
// them, and what is returned that of the row of bit high.
func (v *vectors) step(equal, high uint64, carry int) int {
	x := equal | v.down
	if carry < 0 {
		equal |= 1
	}
	h := (((equal & v.up) + v.up) ^ v.up) | equal
	up, down := v.down|^(h|v.up), v.up&h
	out := 0
	switch {
	case up&high != 0:
		out = 1
	case down&high != 0:
		out = -1
	}
	up, down = up<<1, down<<1
	switch {
	case carry < 0:
		down |= 1
	case carry > 0:
		up |= 1
	}
	v.up, v.down = down|^(x|up), up&x
	return out
}

// bestStart returns where the stretch of text that ends with it begins that is
// nearest to pattern.
func bestStart(text, pattern string) int {
	from := max(0, len(text)-len(pattern)-mostDistance(len(pattern)))
	row := lastRow(reversed(pattern), reversed(text[from:]))
	best := 0
	for j, d := range row {
		if d < row[best] || d == row[best] && abs(j-len(pattern)) < abs(best-len(pattern)) {
			best = j
		}
	}
	return len(text) - best
}

// lastRow returns the edit distances of a to every beginning of b.
func lastRow(a, b string) []int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row
}

func reversed(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

func abs(n int) int { return max(n, -n) }
