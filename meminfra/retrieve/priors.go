package retrieve

import (
	"math"
	"time"

	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Priors are what speaks for a row before any question is asked.
const (
	// recencyWeight is what the newest memory gains on the scale where the first
	// place in all branches counts 1: enough to tell equals apart, too little to
	// displace what answers better. Source: design section 6, mild recency.
	recencyWeight = 0.01
	// recencyHalf is how much older than the newest a memory is that gains half as much.
	recencyHalf = 180 * 24 * time.Hour
	// utilityWeight is what utility can add. Source: design section 6.
	utilityWeight = 0.05
	// mostPrior is the most that priors add without feedback.
	mostPrior = recencyWeight
)

// prior is what a row's event time says for it, in [0, mostPrior]. Its age is
// counted from the newest event that may be seen, not from the clock: the same
// memory gives the same scores today and tomorrow, and on either store.
func prior(at, newest time.Time) float64 {
	age := max(newest.Sub(at), 0)
	return recencyWeight * math.Exp2(-float64(age)/float64(recencyHalf))
}

// utility is what an item's credits say for it, in (0,1): 0.5 without any.
// Source: design section 6; papers.md section 3.
func utility(c storage.Counters) float64 { return (c.Successes + 1) / (c.Successes + c.Failures + 2) }

// isRewarded reports whether feedback bears on any candidate. Only then it has a
// part in the scores, so that without any they are what they were.
func isRewarded(list []candidate) bool {
	for i := range list {
		if list[i].attr.Utility != 0 {
			return true
		}
	}
	return false
}
