// Package tune fits the weights of the context signals (retrieve.Signal) on
// conversations with known answers. It is how the table in meminfra/retrieve came
// about, so that it can be made again when signals change: see CONTRIBUTING.
//
// Questions go through the real search, which gives each hit with its signals;
// fitting re-ranks those hits. Only conversations in Tuning are looked at. None of
// the weights gets negative, so a better branch score never lowers a hit.
package tune

import (
	"context"
	"fmt"
	"slices"

	"github.com/meminfra/memory-layer/eval"
	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Tuning names the conversations of LoCoMo on which weights are chosen; figures
// are reported on the other five. Source: locomo-baselines.md, protocol.
var Tuning = []string{"conv-26", "conv-41", "conv-43", "conv-47", "conv-49"}

// Weights are weights by retrieve.Signal.
type Weights retrieve.Signals

// Current are the weights in use.
func Current() Weights {
	var w Weights
	for i := range w {
		w[i] = retrieve.Signal(i).Weight()
	}
	return w
}

// ByHand reports a signal that is not fitted: see the table in retrieve for why.
func ByHand(s retrieve.Signal) bool {
	return s == retrieve.Exact || s == retrieve.OnRoute || s == retrieve.Cosine
}

// Candidate is a hit as fitting sees it.
type Candidate struct {
	Turns   []string
	Fixed   float64 // what no weight changes
	Signals retrieve.Signals
	gold    int // how many gold turns it stands for
}

// Query is a question with its candidates, as the search ranked them.
type Query struct {
	Conversation string
	Gold         []string
	Candidates   []Candidate
}

// Collect asks all questions with evidence and keeps what came.
func Collect(ctx context.Context, store storage.Store, cfg eval.Config) ([]Query, error) {
	var list []Query
	err := eval.Each(ctx, store, cfg, func(a eval.Asked) {
		q := Query{Conversation: a.Conversation, Gold: a.Question.Evidence}
		for i := range a.Hits {
			q.Candidates = append(q.Candidates, candidate(&a.Hits[i], q.Gold))
		}
		list = append(list, q)
	})
	return list, err
}

func candidate(h *meminfra.SearchHit, gold []string) Candidate {
	c := Candidate{Fixed: h.Why.Fused + h.Why.Prior, Signals: h.Why.Signals}
	for _, e := range h.Evidence {
		if slices.Contains(c.Turns, e.MessageID) {
			continue
		}
		c.Turns = append(c.Turns, e.MessageID)
		if slices.Contains(gold, e.MessageID) {
			c.gold++
		}
	}
	return c
}

// Score is the mean of Hit@5, Recall@5 and MRR@5 over questions.
type Score struct {
	N                int
	Hit, Recall, MRR float64
}

// Goal is what fitting raises.
func (s Score) Goal() float64 { return (s.Hit + s.Recall + s.MRR) / 3 }

func (s Score) String() string {
	return fmt.Sprintf("n %d, Hit@5 %.4f, Recall@5 %.4f, MRR@5 %.4f, mean %.4f", s.N, s.Hit, s.Recall, s.MRR, s.Goal())
}

// Measure scores the queries ranked by weights.
func Measure(queries []Query, w *Weights) Score {
	s := Score{N: len(queries)}
	for i := range queries {
		hit, recall, mrr := queries[i].measure(w)
		s.Hit += hit
		s.Recall += recall
		s.MRR += mrr
	}
	n := float64(max(len(queries), 1))
	s.Hit, s.Recall, s.MRR = s.Hit/n, s.Recall/n, s.MRR/n
	return s
}

// measure ranks the candidates as far as place 5.
func (q *Query) measure(w *Weights) (hit, recall, mrr float64) {
	const depth = 5
	var top [depth]int
	var best [depth]float64
	n := 0
	for i := range q.Candidates {
		x := q.Candidates[i].score(w)
		at := n
		for at > 0 && x > best[at-1] {
			at--
		}
		if at == depth {
			continue
		}
		n = min(n+1, depth)
		copy(top[at+1:n], top[at:n-1])
		copy(best[at+1:n], best[at:n-1])
		top[at], best[at] = i, x
	}
	var found []string
	for rank, i := range top[:n] {
		c := &q.Candidates[i]
		if c.gold == 0 {
			continue
		}
		if mrr == 0 {
			hit, mrr = 1, 1/float64(rank+1)
		}
		for _, id := range c.Turns {
			if slices.Contains(q.Gold, id) && !slices.Contains(found, id) {
				found = append(found, id)
			}
		}
	}
	return hit, float64(len(found)) / float64(len(q.Gold)), mrr
}

func (c *Candidate) score(w *Weights) float64 {
	x := c.Fixed
	for i, s := range c.Signals {
		x += w[i] * s
	}
	return x
}
