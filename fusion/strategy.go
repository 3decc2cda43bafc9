package fusion

// Strategy turns a candidate's ranks into a score. A better rank or one more
// branch never lowers it, and it depends on which branch gave which rank only
// where it has weights by branch.
type Strategy interface {
	// Name is the strategy's word in options and explanations.
	Name() string
	// Score is 0 for a candidate that no branch found.
	Score(Ranks) float64
}

// The constants of design section 6.
const (
	// K softens the difference between neighbouring ranks. Source: Cormack,
	// Clarke and Büttcher 2009, reciprocal rank fusion.
	K = 60
	// DefaultLambda is what the second and third branch add to the best one.
	DefaultLambda = 0.10
)

// Default is the strategy used when none is asked for.
var Default = Agreement{Lambda: DefaultLambda}

// Agreement is discounted agreement: with rr = 1/(60+rank), the best branch's rr
// plus Lambda times the sum of the other branches' rr, divided by the same for
// rank 1 in all three branches, which is (1+2*0.10)/61 by default. So a weak
// branch can confirm what a strong one found, and hardly displace it.
//
// Lambda is not negative: 0 takes the best branch alone, 1 orders as RRF does.
type Agreement struct {
	Lambda float64
}

// Name returns "agreement".
func (Agreement) Name() string { return "agreement" }

// Score returns a number in [0, 1]; rank 1 in all branches gives exactly 1.
func (a Agreement) Score(r Ranks) float64 {
	rr := reciprocals(r)
	best, others := rr[0], 0.0
	for _, x := range rr[1:] {
		others += x
	}
	// The conversions keep the compiler from fusing, so that every machine
	// gets the same bits.
	return (best + float64(a.Lambda*others)) / (1 + float64(a.Lambda*float64(branches-1)))
}

// RRF is equal reciprocal rank fusion, the sum of 1/(60+rank): for comparison.
type RRF struct{}

// Name returns "rrf".
func (RRF) Name() string { return "rrf" }

// Score returns a number in [0, 3/61].
func (RRF) Score(r Ranks) float64 {
	sum := 0.0
	for _, x := range reciprocals(r) {
		sum += x
	}
	return sum / (K + 1)
}

// Weighted is RRF with a weight for each branch, none of them negative.
type Weighted struct {
	Weights [branches]float64
}

// Name returns "weighted".
func (Weighted) Name() string { return "weighted" }

// Score returns the sum of weight/(60+rank).
func (w Weighted) Score(r Ranks) float64 {
	sum := 0.0
	for branch, rank := range r {
		if rank > 0 {
			sum += w.Weights[branch] / (K + float64(rank))
		}
	}
	return sum
}

// reciprocals returns 61/(60+rank) for each branch, highest first, 0 for none:
// the rr of the formulas on a scale where rank 1 is 1. In this order the sums do
// not depend on which branch gave which rank, to the last bit.
func reciprocals(r Ranks) [branches]float64 {
	var out [branches]float64
	for i, rank := range r {
		if rank <= 0 {
			continue
		}
		x := (K + 1) / (K + float64(rank))
		for i > 0 && out[i-1] < x {
			out[i] = out[i-1]
			i--
		}
		out[i] = x
	}
	return out
}
