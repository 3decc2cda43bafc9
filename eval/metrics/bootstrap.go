package metrics

import (
	"math/rand/v2"
	"slices"
)

// Resamples is how often the bootstrap and the permutation test draw.
const Resamples = 2000

// seed makes every run draw the same samples.
const seed = 20230507

// Interval is a 95 % interval.
type Interval [2]float64

// Bootstrap returns the 95 % percentile interval of the mean of x, from
// Resamples seeded resamples of the questions. No values give [0,0].
// Source: Efron and Tibshirani 1993.
func Bootstrap(x []float64) Interval {
	if len(x) == 0 {
		return Interval{}
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(x))))
	means := make([]float64, Resamples)
	for i := range means {
		sum := 0.0
		for range x {
			sum += x[rng.IntN(len(x))]
		}
		means[i] = sum / float64(len(x))
	}
	slices.Sort(means)
	const tail = 0.025
	return Interval{means[int(tail*Resamples)], means[int((1-tail)*Resamples)-1]}
}

// Comparison is how run B differs from run A on the same questions.
type Comparison struct {
	Difference float64  `json:"difference"` // mean of B minus mean of A
	CI95       Interval `json:"ci95"`       // of the difference, paired bootstrap
	P          float64  `json:"p"`          // two-sided paired permutation test
}

// Compare compares two runs, whose values belong to the same questions in the
// same order. P is the share of random sign flips of the differences, the
// observed one included, whose mean is at least as far from 0.
// Source: Smucker, Allan and Carterette 2007 (randomisation test).
func Compare(a, b []float64) Comparison {
	n := min(len(a), len(b))
	diff := make([]float64, n)
	var sum float64
	for i := range diff {
		diff[i] = b[i] - a[i]
		sum += diff[i]
	}
	if n == 0 {
		return Comparison{P: 1}
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)+1))
	const rounding = 1e-9
	extreme := 1
	for range Resamples {
		flipped := 0.0
		for _, d := range diff {
			if rng.Uint64()&1 == 0 {
				d = -d
			}
			flipped += d
		}
		if abs(flipped) >= abs(sum)-rounding {
			extreme++
		}
	}
	return Comparison{Difference: sum / float64(n), CI95: Bootstrap(diff), P: float64(extreme) / (Resamples + 1)}
}

func abs(x float64) float64 { return max(x, -x) }

// Percentile returns the p-th percentile (0 to 100) of x by the nearest rank; 0
// for no values.
func Percentile(x []float64, p float64) float64 {
	if len(x) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(x))
	i := int(p / 100 * float64(len(sorted)))
	return sorted[min(max(i, 0), len(sorted)-1)]
}
