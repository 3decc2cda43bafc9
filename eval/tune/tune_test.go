package tune

import (
	"math/rand/v2"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/retrieve"
)

// made are questions whose answer has more Words and less TellsNumber than the
// other candidates, and the same of everything else.
func made(n int) []Query {
	rng := rand.New(rand.NewPCG(1, 1))
	list := make([]Query, n)
	for i := range list {
		q := &list[i]
		q.Conversation, q.Gold = []string{"a", "b", "c"}[i%3], []string{"gold"}
		for k := range 12 {
			c := Candidate{Turns: []string{"other"}}
			c.Signals[retrieve.Words] = rng.Float64() * 0.7
			c.Signals[retrieve.TellsNumber] = float64(rng.IntN(2))
			c.Signals[retrieve.Speaker] = float64(rng.IntN(2))
			if k == 7 {
				c.Turns, c.gold = []string{"gold"}, 1
				c.Signals[retrieve.Words] += 0.3
				c.Signals[retrieve.TellsNumber] = 0
			}
			q.Candidates = append(q.Candidates, c)
		}
	}
	return list
}

func TestFitFindsWhatMatters(t *testing.T) {
	queries := made(300)
	w := Fit(queries)
	if w[retrieve.Words] < 2 || w[retrieve.TellsNumber] != 0 {
		t.Errorf("words %v, tells_number %v: want much, and 0 for what speaks against", w[retrieve.Words], w[retrieve.TellsNumber])
	}
	for i := range w {
		s := retrieve.Signal(i)
		if w[i] < 0 || ByHand(s) && w[i] != s.Weight() {
			t.Errorf("%s got %v", s, w[i])
		}
	}
	var level Weights
	if fitted, unfitted := Measure(queries, &w), Measure(queries, &level); fitted.Goal() <= unfitted.Goal() {
		t.Errorf("fitted %v, without weights %v", fitted, unfitted)
	}
	if left := CrossValidate(queries, Fit); left.N != 300 || left.Hit < 0.5 {
		t.Errorf("left out: %v", left)
	}
	if again := Fit(queries); again != w {
		t.Error("a second fit gives other weights")
	}
}

// By hand: gold x and y; ranked x, other, both.
func TestMeasure(t *testing.T) {
	var w Weights
	w[retrieve.Words] = 1
	q := Query{Gold: []string{"x", "y"}}
	for i, turns := range [][]string{{"z"}, {"x", "y"}, {"x"}} {
		c := Candidate{Turns: turns, gold: len(turns)}
		if i == 0 {
			c.gold = 0
		}
		c.Signals[retrieve.Words] = []float64{0.5, 0.1, 0.4}[i]
		q.Candidates = append(q.Candidates, c)
	}
	if s := Measure([]Query{q}, &w); s.Hit != 1 || s.Recall != 1 || s.MRR != 0.5 {
		t.Errorf("score %v", s)
	}
	q.Candidates = q.Candidates[:1]
	if s := Measure([]Query{q}, &w); s.Hit != 0 || s.Recall != 0 || s.MRR != 0 {
		t.Errorf("nothing found: %v", s)
	}
}
