// Package indextest proves that an engine keeps the contracts of package index.
// An engine's test calls Vectors or Words with its constructor.
package indextest

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/meminfra/memory-layer/index"
)

// Clustered returns n unit vectors in clumps, as embeddings of real texts lie:
// random ones are so far apart that any search looks good. Equal arguments give
// equal vectors.
func Clustered(n, dim int, seed uint64) [][]float32 {
	rng := rand.New(rand.NewPCG(seed, 17))
	const topics, spread = 40, 0.7
	centres := rand.New(rand.NewPCG(uint64(dim), 18)) // the same for every seed
	topic := make([][]float32, topics)
	for i := range topic {
		topic[i] = gauss(centres, dim)
	}
	out := make([][]float32, n)
	for i := range out {
		v := gauss(rng, dim)
		for j, c := range topic[rng.IntN(topics)] {
			v[j] = c + spread*v[j]
		}
		normalise(v)
		out[i] = v
	}
	return out
}

func gauss(rng *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

func normalise(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
}

// Nearest is the oracle: the k admitted rows (nil: all) with the highest cosine
// to query, in float64. A nil vector is a row without one.
func Nearest(vectors [][]float32, query []float32, admitted *index.Bitmap, k int) []index.Hit {
	var hits []index.Hit
	for row, v := range vectors {
		if v == nil || (admitted != nil && !admitted.Has(row)) {
			continue
		}
		var dot, vv, qq float64
		for i, x := range v {
			dot += float64(x) * float64(query[i])
			vv += float64(x) * float64(x)
			qq += float64(query[i]) * float64(query[i])
		}
		hits = append(hits, index.Hit{Row: row, Score: dot / math.Sqrt(vv*qq)})
	}
	slices.SortStableFunc(hits, func(a, b index.Hit) int {
		if a.Score > b.Score {
			return -1
		}
		if a.Score < b.Score {
			return 1
		}
		return 0
	})
	return hits[:min(k, len(hits))]
}

// Recall is the share of want's rows that got holds.
func Recall(got, want []index.Hit) float64 {
	if len(want) == 0 {
		return 1
	}
	found := 0
	for _, w := range want {
		if slices.ContainsFunc(got, func(g index.Hit) bool { return g.Row == w.Row }) {
			found++
		}
	}
	return float64(found) / float64(len(want))
}

// Texts returns n short texts whose words follow Zipf's law. Equal arguments
// give equal texts.
func Texts(n int, seed uint64) []string {
	rng := rand.New(rand.NewPCG(seed, 19))
	zipf := rand.NewZipf(rng, 1.1, 8, 20_000)
	out := make([]string, n)
	var b []byte
	for i := range out {
		b = b[:0]
		for range 6 + rng.IntN(20) {
			b = append(appendWord(b, zipf.Uint64()), ' ')
		}
		out[i] = string(b)
	}
	return out
}

// appendWord spells a number as syllables that no stop list or stemmer knows.
func appendWord(b []byte, n uint64) []byte {
	const consonants, vowels = "bdfgklmnprtvz", "aou"
	for range 3 {
		b = append(b, consonants[n%13], vowels[n/13%3])
		n /= 39
	}
	return append(b, 'k')
}
