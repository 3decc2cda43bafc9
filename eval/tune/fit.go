package tune

import (
	"math"
	"slices"

	"github.com/meminfra/memory-layer/meminfra/retrieve"
)

// The settings of Fit. Climbing on from its weights towards Hit@5, Recall@5 and
// MRR@5 themselves, one weight at a time, was tried and left out: it gains 0.013 on
// the conversations fitted and between -0.005 and 0.004 on one left out.
const (
	steps = 300
	rate  = 0.3
	decay = 60.0 // steps after which the rate is halved
	ridge = 1e-4
)

// Fit returns the weights under which the relevant candidates of each question
// are most likely, taking a softmax of the scores as the probability of being
// chosen (listwise logistic regression), by Adam from 1 for every signal that is
// fitted. It draws nothing at random: same queries, same weights.
func Fit(queries []Query) Weights {
	w := Current()
	for i := range w {
		if !ByHand(retrieve.Signal(i)) {
			w[i] = 1
		}
	}
	var mean, square [len(w)]float64
	for step := 1; step <= steps; step++ {
		g := gradient(queries, &w)
		for i := range w {
			if ByHand(retrieve.Signal(i)) {
				continue
			}
			const keep, keepSquare = 0.9, 0.99
			d := g[i] + ridge*w[i]
			mean[i] = keep*mean[i] + (1-keep)*d
			square[i] = keepSquare*square[i] + (1-keepSquare)*d*d
			m := mean[i] / (1 - math.Pow(keep, float64(step)))
			s := math.Sqrt(square[i] / (1 - math.Pow(keepSquare, float64(step))))
			w[i] = max(0, w[i]-rate/(1+float64(step)/decay)*m/(s+1e-6))
		}
	}
	return w
}

// gradient is that of the mean negative log-likelihood.
func gradient(queries []Query, w *Weights) Weights {
	var g Weights
	n := 0.0
	var p []float64
	for i := range queries {
		q := &queries[i]
		p = p[:0]
		top, relevant := math.Inf(-1), false
		for k := range q.Candidates {
			c := &q.Candidates[k]
			x := c.score(w)
			p = append(p, x)
			top = max(top, x)
			relevant = relevant || c.gold > 0
		}
		if !relevant {
			continue
		}
		n++
		all, gold := 0.0, 0.0
		for k, x := range p {
			p[k] = math.Exp(x - top)
			all += p[k]
			if q.Candidates[k].gold > 0 {
				gold += p[k]
			}
		}
		for k, x := range p {
			c := &q.Candidates[k]
			d := x / all
			if c.gold > 0 {
				d -= x / gold
			}
			for j, s := range c.Signals {
				g[j] += d * s
			}
		}
	}
	for j := range g {
		g[j] /= max(n, 1)
	}
	return g
}

// CrossValidate fits on all conversations but one and scores that one, for each:
// what to expect on conversations never seen.
func CrossValidate(queries []Query, fit func([]Query) Weights) Score {
	var total Score
	var names []string
	for i := range queries {
		if !slices.Contains(names, queries[i].Conversation) {
			names = append(names, queries[i].Conversation)
		}
	}
	for _, name := range names {
		var seen, held []Query
		for _, q := range queries {
			if q.Conversation == name {
				held = append(held, q)
			} else {
				seen = append(seen, q)
			}
		}
		w := fit(seen)
		s := Measure(held, &w)
		n := float64(s.N)
		total.N += s.N
		total.Hit += s.Hit * n
		total.Recall += s.Recall * n
		total.MRR += s.MRR * n
	}
	n := float64(max(total.N, 1))
	total.Hit, total.Recall, total.MRR = total.Hit/n, total.Recall/n, total.MRR/n
	return total
}
