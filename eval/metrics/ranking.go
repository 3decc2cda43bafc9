// Package metrics scores rankings and answers, and says how sure a score is.
// Everything is per question first and averaged after (macro), so that runs can
// be compared question by question.
package metrics

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// Ks are the depths at which rankings are scored.
var Ks = []int{1, 3, 5, 10}

// Values are the metrics of one question or their means, by name: hit@5,
// recall@5, mrr@5, ndcg@5 and so on for each depth, and mrr for the whole list.
type Values map[string]float64

// Rank scores one ranking. ranked holds, for each hit in order, the ids that it
// stands for; gold are the ids that answer the question, at least one, each once.
//
//   - hit@k is 1 if one of the first k hits stands for a gold id.
//   - recall@k is the share of gold ids that the first k hits stand for together.
//   - mrr@k is 1/rank of the first relevant hit if that is at most k, else 0; mrr
//     is the same over the whole list.
//   - ndcg@k gives each gold id a gain of 1 at the first hit that stands for it,
//     discounted by 1/log2(rank+1), over what the best possible list would gain
//     with one gold id a hit. A hit for several gold ids gains for each, so it is
//     cut at 1.
//
// Source: python-meminfra.md section 11; Järvelin and Kekäläinen 2002 for ndcg.
func Rank(gold []string, ranked [][]string, ks []int) Values {
	v := make(Values, 4*len(ks)+1)
	covered := make(map[string]bool, len(gold))
	wanted := make(map[string]bool, len(gold))
	for _, id := range gold {
		wanted[id] = true
	}
	first, gain := 0, 0.0
	depth := len(ranked)
	for _, k := range ks {
		depth = max(depth, k)
	}
	for rank := 1; rank <= depth; rank++ {
		if rank <= len(ranked) {
			fresh := 0
			for _, id := range ranked[rank-1] {
				if wanted[id] && !covered[id] {
					covered[id] = true
					fresh++
				}
			}
			if fresh > 0 && first == 0 {
				first = rank
			}
			gain += float64(fresh) / math.Log2(float64(rank)+1)
		}
		if slices.Contains(ks, rank) {
			v[at("hit", rank)] = indicator(first > 0)
			v[at("recall", rank)] = float64(len(covered)) / float64(len(wanted))
			v[at("mrr", rank)] = reciprocal(first)
			v[at("ndcg", rank)] = min(1, gain/ideal(len(wanted), rank))
		}
	}
	v["mrr"] = reciprocal(first)
	return v
}

func at(metric string, k int) string { return fmt.Sprintf("%s@%d", metric, k) }

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func reciprocal(rank int) float64 {
	if rank == 0 {
		return 0
	}
	return 1 / float64(rank)
}

// ideal is the gain of the best list of k hits for n gold ids.
func ideal(n, k int) float64 {
	sum := 0.0
	for rank := 1; rank <= min(n, k); rank++ {
		sum += 1 / math.Log2(float64(rank)+1)
	}
	return sum
}

// Mean averages metrics over questions; no questions give no metrics.
func Mean(list []Values) Values {
	out := Values{}
	if len(list) == 0 {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(list[0])) {
		sum := 0.0
		for _, v := range list {
			sum += v[name]
		}
		out[name] = sum / float64(len(list))
	}
	return out
}
