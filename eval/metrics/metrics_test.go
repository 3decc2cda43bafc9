package metrics

import (
	"math"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Worked out by hand: gold a, b, c; hits x, b, {a, b}, y, then c at rank 7.
func TestRank(t *testing.T) {
	ranked := [][]string{{"x"}, {"b"}, {"a", "b"}, {"y"}, {}, {"b"}, {"c"}}
	v := Rank([]string{"a", "b", "c"}, ranked, Ks)
	for name, want := range map[string]float64{
		"hit@1": 0, "hit@3": 1, "hit@5": 1, "hit@10": 1,
		"recall@1": 0, "recall@3": 2.0 / 3, "recall@5": 2.0 / 3, "recall@10": 1,
		"mrr@1": 0, "mrr@3": 0.5, "mrr@5": 0.5, "mrr@10": 0.5, "mrr": 0.5,
		"ndcg@1": 0,
		"ndcg@3": (1/math.Log2(3) + 0.5) / (1 + 1/math.Log2(3) + 0.5),
		// c at rank 7 adds 1/log2(8) = 1/3.
		"ndcg@10": (1/math.Log2(3) + 0.5 + 1.0/3) / (1 + 1/math.Log2(3) + 0.5),
	} {
		near(t, name, v[name], want)
	}
	if len(v) != 4*len(Ks)+1 {
		t.Errorf("%d metrics: %v", len(v), v)
	}
}

func TestRankAtTheEdges(t *testing.T) {
	none := Rank([]string{"a"}, nil, Ks)
	for name, x := range none {
		near(t, "nothing found: "+name, x, 0)
	}
	late := Rank([]string{"a"}, [][]string{{}, {}, {}, {}, {}, {"a"}}, []int{5})
	near(t, "mrr@5 of rank 6", late["mrr@5"], 0)
	near(t, "mrr of rank 6", late["mrr"], 1.0/6)
	all := Rank([]string{"a", "b"}, [][]string{{"a", "b", "a"}}, []int{1})
	near(t, "one hit for two", all["recall@1"], 1)
	near(t, "ndcg is cut at 1", all["ndcg@1"], 1)
}

func TestMean(t *testing.T) {
	m := Mean([]Values{{"hit@5": 1}, {"hit@5": 0}, {"hit@5": 1}, {"hit@5": 1}})
	near(t, "mean", m["hit@5"], 0.75)
	if len(Mean(nil)) != 0 {
		t.Error("the mean of nothing has metrics")
	}
}

func TestBootstrap(t *testing.T) {
	x := make([]float64, 400)
	for i := range x {
		x[i] = float64(i % 2)
	}
	ci := Bootstrap(x)
	// The normal interval of 400 fair coins: 0.5 +- 1.96*0.5/20.
	if math.Abs(ci[0]-0.451) > 0.008 || math.Abs(ci[1]-0.549) > 0.008 {
		t.Errorf("interval %v, want about [0.451, 0.549]", ci)
	}
	if again := Bootstrap(x); again != ci {
		t.Errorf("a second time it is %v, first %v", again, ci)
	}
	if Bootstrap(nil) != (Interval{}) || Bootstrap([]float64{1, 1, 1}) != (Interval{1, 1}) {
		t.Error("intervals of nothing and of a constant")
	}
}

func TestCompare(t *testing.T) {
	a, b := make([]float64, 100), make([]float64, 100)
	for i := range b {
		b[i] = float64(i % 4 / 3) // better on each fourth question
	}
	better := Compare(a, b)
	near(t, "difference", better.Difference, 0.25)
	if better.P > 0.001 || better.CI95[0] <= 0 {
		t.Errorf("25 wins and no loss: %+v", better)
	}
	same := Compare(b, b)
	if same.Difference != 0 || same.P != 1 {
		t.Errorf("a run against itself: %+v", same)
	}
	// Six wins and no loss: of 2^6 sign flips two are as extreme, p = 2/64.
	few := Compare(make([]float64, 6), []float64{1, 1, 1, 1, 1, 1})
	if math.Abs(few.P-2.0/64) > 0.012 {
		t.Errorf("six wins: p %v, want about %v", few.P, 2.0/64)
	}
}

func TestPercentile(t *testing.T) {
	x := []float64{4, 1, 3, 2}
	for p, want := range map[float64]float64{0: 1, 25: 2, 50: 3, 99: 4, 100: 4} {
		near(t, "percentile", Percentile(x, p), want)
	}
	near(t, "of nothing", Percentile(nil, 50), 0)
	if !slices.Equal(x, []float64{4, 1, 3, 2}) {
		t.Error("the values were sorted in place")
	}
}

func TestAnswer(t *testing.T) {
	for _, c := range []struct {
		category, answer, gold string
		want                   float64
	}{
		{"single_hop", "The dogs, running", "a dog runs", 1}, // both stem to dog run
		{"single_hop", "blue car", "blue bicycle", 0.5},
		{"single_hop", "", "blue", 0},
		{"temporal", "7 May 2023", "7 May, 2023", 1},
		{"multi_hop", "tea, coffee", "coffee, milk", 0.5},
		{"open_domain", "likely no", "Likely no; he hates it", 1},
		{"adversarial", "That is not mentioned in the conversation.", "x", 1},
		{"adversarial", "blue", "blue", 0},
	} {
		near(t, c.category+": "+c.answer, Answer(c.category, c.answer, c.gold), c.want)
	}
}

// Pairs from Porter's paper and, where NLTK differs, from its tests.
func TestPorter(t *testing.T) {
	for word, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "ties": "tie", "cats": "cat", "feed": "feed", "agreed": "agre",
		"plastered": "plaster", "motoring": "motor", "sing": "sing", "conflated": "conflat", "hopping": "hop",
		"falling": "fall", "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat",
		"conditional": "condit", "vietnamization": "vietnam", "triplicate": "triplic", "hopefulness": "hope",
		"revival": "reviv", "adoption": "adopt", "controlling": "control", "rate": "rate", "roll": "roll", "2023": "2023", "be": "be",
	} {
		if got := porter(word); got != want {
			t.Errorf("porter(%q) = %q, want %q", word, got, want)
		}
	}
}
