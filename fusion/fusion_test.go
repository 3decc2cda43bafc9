package fusion_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/meminfra/memory-layer/fusion"
)

var strategies = []fusion.Strategy{
	fusion.Default,
	fusion.Agreement{},
	fusion.Agreement{Lambda: 1},
	fusion.RRF{},
	fusion.Weighted{Weights: [3]float64{0.5, 0.8, 0.2}},
}

func lists(structured, lexical, vector []int) []fusion.List {
	return []fusion.List{
		{Branch: fusion.Structured, Keys: structured},
		{Branch: fusion.Lexical, Keys: lexical},
		{Branch: fusion.Vector, Keys: vector},
	}
}

// Figures of papers.md section 6, T6.
func TestRRF(t *testing.T) {
	const a, b, c, d = 1, 2, 3, 4
	got := fusion.Fuse(fusion.RRF{}, lists([]int{a, b, c}, []int{b, a, d}, []int{d, b}), nil)
	want := []struct {
		key   int
		score float64
	}{{b, 0.048652}, {a, 0.032522}, {d, 0.032266}, {c, 0.015873}}
	for i, w := range want {
		if got[i].Key != w.key || math.Abs(got[i].Score-w.score) > 5e-7 {
			t.Errorf("place %d is %+v, want %+v", i+1, got[i], w)
		}
	}
}

func TestAgreement(t *testing.T) {
	for _, c := range []struct {
		ranks fusion.Ranks
		want  float64
	}{
		{fusion.Ranks{}, 0},
		{fusion.Ranks{1, 1, 1}, 1},
		{fusion.Ranks{0, 1, 0}, 1 / 1.2},
		{fusion.Ranks{0, 1, 1}, 1.1 / 1.2},
		{fusion.Ranks{3, 0, 40}, (1.0/63 + 0.1/100) / (1.2 / 61)},
	} {
		got := fusion.Default.Score(c.ranks)
		if math.Abs(got-c.want) > 1e-15 || (c.want == 1 && got != 1) {
			t.Errorf("ranks %v score %v, want %v", c.ranks, got, c.want)
		}
	}
}

func TestFuse(t *testing.T) {
	for _, s := range strategies {
		if got := fusion.Fuse(s, nil, nil); got != nil {
			t.Errorf("%s of no lists is %v", s.Name(), got)
		}
		full := fusion.Fuse(s, lists(nil, []int{7, 5, 7}, []int{5}), nil)
		want := []fusion.Ranks{{0, 1, 0}, {0, 2, 1}}
		for _, f := range full {
			if !slices.Contains(want, f.Ranks) {
				t.Errorf("%s: %+v", s.Name(), f)
			}
		}
		without := fusion.Fuse(s, lists(nil, []int{7, 5, 7}, []int{5})[1:], nil)
		if !reflect.DeepEqual(full, without) {
			t.Errorf("%s: an empty list changed %v to %v", s.Name(), without, full)
		}
	}
}

func TestTies(t *testing.T) {
	in := lists([]int{4}, []int{9}, []int{2})
	keys := func(less func(a, b int) bool) (out []int) {
		for _, f := range fusion.Fuse(fusion.Default, in, less) {
			out = append(out, f.Key)
		}
		return out
	}
	if got := keys(nil); !slices.Equal(got, []int{2, 4, 9}) {
		t.Errorf("ties without less: %v", got)
	}
	if got := keys(func(a, b int) bool { return a > b }); !slices.Equal(got, []int{9, 4, 2}) {
		t.Errorf("ties with less: %v", got)
	}
}

// The order in which branches come changes nothing, to the last bit.
func TestBranchOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		in := lists(rng.Perm(12)[:rng.IntN(12)], rng.Perm(12)[:rng.IntN(12)], rng.Perm(12)[:rng.IntN(12)])
		for _, s := range strategies {
			want := fusion.Fuse(s, in, nil)
			shuffled := slices.Clone(in)
			rng.Shuffle(len(in), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if got := fusion.Fuse(s, shuffled, nil); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %v, in another order %v", s.Name(), want, got)
			}
		}
		r := fusion.Ranks{rng.IntN(100), rng.IntN(100), rng.IntN(100)}
		for _, s := range []fusion.Strategy{fusion.Default, fusion.RRF{}} {
			if a, b := s.Score(r), s.Score(fusion.Ranks{r[2], r[0], r[1]}); a != b {
				t.Fatalf("%s of %v depends on the branch: %v, %v", s.Name(), r, a, b)
			}
		}
	}
}

// A better rank or one more branch never lowers a score.
func TestMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 20_000 {
		r := fusion.Ranks{rng.IntN(300), rng.IntN(300), rng.IntN(300)}
		better := r
		switch b := rng.IntN(3); {
		case better[b] == 0:
			better[b] = 1 + rng.IntN(300)
		default:
			better[b] = 1 + rng.IntN(better[b])
		}
		for _, s := range strategies {
			if was, is := s.Score(r), s.Score(better); is < was {
				t.Fatalf("%s: ranks %v score %v, better ranks %v score %v", s.Name(), r, was, better, is)
			}
			if was := s.Score(r); was < 0 || (was == 0) != (r == fusion.Ranks{}) {
				t.Fatalf("%s: ranks %v score %v", s.Name(), r, was)
			}
		}
		if got := fusion.Default.Score(r); got > 1 {
			t.Fatalf("ranks %v score %v", r, got)
		}
	}
}

func ExampleFuse() {
	fused := fusion.Fuse(fusion.Default, []fusion.List{
		{Branch: fusion.Lexical, Keys: []int{30, 10}},
		{Branch: fusion.Vector, Keys: []int{20, 30}},
	}, nil)
	for _, f := range fused {
		fmt.Println(f.Key, fusion.Explain(fusion.Default, f))
	}
	// Output:
	// 30 agreement 0.915: lexical 1, vector 2
	// 20 agreement 0.833: vector 1
	// 10 agreement 0.820: lexical 2
}

func BenchmarkFuse(b *testing.B) {
	for _, n := range []int{50, 200} {
		b.Run(fmt.Sprintf("3x%d", n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(3, 3))
			in := lists(rng.Perm(n), rng.Perm(2 * n)[:n], rng.Perm(2 * n)[:n])
			b.ReportAllocs()
			for b.Loop() {
				fusion.Fuse(fusion.Default, in, nil)
			}
		})
	}
}
