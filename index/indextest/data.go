// Package indextest proves that an engine keeps the contracts of package index.
// An engine's test calls Vectors or Words with its constructor.
package indextest

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/meminfra/memory-layer/index"
)

// Clustered returns n unit vectors that lie as embeddings of real texts do: 600
// topics of very different sizes in 40 groups, each spread mostly along 24
// directions of its own. Random vectors are so far apart that any search looks
// good, or so alike that none can. Equal arguments give equal vectors; topics
// depend on dim alone, so vectors of another seed are queries from the same
// mixture. Source: deps-lab A.
func Clustered(n, dim int, seed uint64) [][]float32 {
	rng := rand.New(rand.NewPCG(seed, 17))
	zipf := rand.NewZipf(rng, 1.2, 20, topics-1)
	block := make([]float32, n*dim)
	out := make([][]float32, n)
	for i := range out {
		out[i] = block[i*dim : (i+1)*dim : (i+1)*dim]
		topicOf(dim, int(zipf.Uint64())).draw(rng, out[i])
	}
	return out
}

const (
	groups     = 40
	topics     = 600
	directions = 24
)

// topic is a centre and the directions in which its vectors differ.
type topic struct {
	centre []float32
	axes   [directions][]float32
}

type topicKey struct{ dim, n int }

var madeTopics sync.Map // topicKey -> *topic

func topicOf(dim, n int) *topic {
	key := topicKey{dim, n}
	if t, ok := madeTopics.Load(key); ok {
		return t.(*topic)
	}
	group := gauss(rand.New(rand.NewPCG(uint64(dim), uint64(n%groups))), dim)
	rng := rand.New(rand.NewPCG(uint64(dim), uint64(groups+n)))
	t := &topic{centre: gauss(rng, dim)}
	for i, g := range group {
		t.centre[i] = (t.centre[i] + g) * float32(math.Sqrt2/2)
	}
	for i := range t.axes {
		t.axes[i] = gauss(rng, dim)
	}
	madeTopics.Store(key, t)
	return t
}

// draw fills v with a unit vector of the topic.
//
//go:norace // the detector would take longer than all tests
func (t *topic) draw(rng *rand.Rand, v []float32) {
	const spread, noise = 0.6, 0.3 // lengths, the centre's being 1
	state := rng.Uint64()
	for i, c := range t.centre {
		state = state*6364136223846793005 + 1442695040888963407 // Knuth's; rng would be slow
		const unit = 1.7320508 / (1 << 31)                      // makes the variance 1
		v[i] = c + noise*unit*float32(int32(state>>32))
	}
	for _, axis := range t.axes {
		c := float32(rng.NormFloat64() * spread / math.Sqrt(directions))
		for i, a := range axis {
			v[i] += c * a
		}
	}
	normalise(v)
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
	scale := 1 / math.Sqrt(sum)
	for i := range v {
		v[i] = float32(float64(v[i]) * scale)
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
