package retrieve

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/bm25"
	"github.com/meminfra/memory-layer/index/exact"
	"github.com/meminfra/memory-layer/meminfra/access"
	"github.com/meminfra/memory-layer/meminfra/llm/hashed"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// rankAll ranks what the filters admit of a partition.
func rankAll(t testing.TB, p *index.Partition, q Query) []*candidate {
	t.Helper()
	r := &Retriever{Embedder: hashed.New(), Registry: predicates.Default(), Now: func() time.Time { return now }}
	s, err := r.begin(q)
	if err != nil {
		t.Fatal(err)
	}
	s.adm.rights = access.At(q.UserID, nil, now)
	var list []*candidate
	err = p.View(func(v *index.View) error {
		list = s.rank(v, s.embedder(t.Context()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func engines() index.Engines {
	return index.Engines{
		Words:   func(rows int) index.WordEngine { return bm25.New(nil, rows) },
		Vectors: func(dim, rows int) index.VectorEngine { return exact.New(dim, rows) },
	}
}

func partition(t testing.TB, e index.Engines, rows []index.Row) *index.Partition {
	t.Helper()
	p := index.NewPartition(e)
	if err := p.Apply(index.Delta{Change: 1, Reset: true, Model: hashed.New().Model(), Rows: rows}); err != nil {
		t.Fatal(err)
	}
	return p
}

var vocabulary = strings.Fields("lemon quince atlas oars skiff lake winter frost leather spine maps Peru Sunday window tub green nine April")

// talk makes n messages of two speakers in sessions of about eight, with an item
// made from every third.
func talk(t testing.TB, rng *rand.Rand, n int) []index.Row {
	t.Helper()
	var rows []index.Row
	seq := int64(0)
	for i := range n {
		said := make([]string, 3+rng.IntN(6))
		for j := range said {
			said[j] = vocabulary[rng.IntN(len(vocabulary))]
		}
		e := &memory.Episode{ID: fmt.Sprintf("e%03d", i), Role: memory.RoleUser, Speaker: []string{"Mirela", "Tobias"}[i%2],
			ConversationID: "c", SessionID: fmt.Sprint(i / 8), Content: strings.Join(said, " ") + []string{".", "?"}[rng.IntN(2)],
			SentAt: now.AddDate(0, 0, i/8-200), Seq: seq}
		seq++
		rows = append(rows, index.Row{Attr: episodeAttr(e, false), Text: episodeText(e), Vector: vector(t, e.Content)})
		if i%3 == 0 {
			item := &memory.Item{ID: fmt.Sprintf("i%03d", i), Kind: memory.KindFact, Text: said[0] + " " + said[1], Seq: seq,
				Subject: memory.Subject{Type: "person", Name: "mirela"}, Authority: memory.Authorized, Polarity: memory.Positive}
			seq++
			a := itemAttr(item, []memory.State{{Status: memory.StatusActive}})
			a.Sources = []string{e.ID}
			rows = append(rows, index.Row{Attr: a, Text: itemText(item), Vector: vector(t, item.Text)})
		}
	}
	return rows
}

func vector(t testing.TB, text string) []float32 {
	t.Helper()
	list, err := hashed.New().Embed(t.Context(), []string{text})
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

const question = "When did Mirela mend the atlas with maps of Peru on the lake in April 2026?"

func TestScoresExplainThemselves(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	list := rankAll(t, partition(t, engines(), talk(t, rng, 60)), Query{Text: question})
	if len(list) < 40 {
		t.Fatalf("%d candidates", len(list))
	}
	for _, c := range list {
		sum := c.why().Fused + c.why().Prior
		for i, x := range c.why().Signals {
			if x < 0 || x > 1 {
				t.Errorf("%s: %s is %v", c.attr.ID, Signal(i), x)
			}
			sum += x * Signal(i).Weight()
		}
		if math.Abs(sum/c.why().Scale-c.score) > 1e-12 || c.score < 0 || c.score > 1 {
			t.Errorf("%s: score %v, its parts give %v", c.attr.ID, c.score, sum/c.why().Scale)
		}
	}
	if best := list[0].why().String(); !strings.Contains(best, "words") || !strings.Contains(best, "fused") {
		t.Errorf("the best explains itself by %q", best)
	}
}

func TestSkipContextLeavesFusion(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	p := partition(t, engines(), talk(t, rng, 60))
	for _, c := range rankAll(t, p, Query{Text: question, SkipContext: true, SkipPriors: true}) {
		if c.score != c.why().Fused || c.why().Signals != (Signals{}) || c.ranks() == (Ranks{}) {
			t.Errorf("%s: score %v, %+v", c.attr.ID, c.score, c.why())
		}
	}
}

// Rows that may not be seen change nothing: not who is near, not the session's
// best, not whose names are known, not a bit of a score.
func TestHiddenRowsChangeNothing(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(3, seed))
		seen := talk(t, rng, 50)
		for i := range seen {
			seen[i].Seq *= 10
		}
		all := slices.Clone(seen)
		for i := range 80 {
			e := &memory.Episode{ID: fmt.Sprintf("h%03d", i), Role: memory.RoleTool, Speaker: []string{"Atlas", "Mirela"}[i%2],
				ConversationID: "c", SessionID: fmt.Sprint(rng.IntN(7)), SentAt: now, Seq: rng.Int64N(600),
				Content: "Peru maps atlas " + vocabulary[rng.IntN(len(vocabulary))] + "?"}
			all = append(all, index.Row{Attr: episodeAttr(e, false), Text: episodeText(e), Vector: vector(t, e.Content)})
		}
		slices.SortStableFunc(all, func(a, b index.Row) int { return cmp.Compare(a.Seq, b.Seq) })
		q := Query{Text: question, Filters: Filters{MinAuthority: "attested"}}
		want, got := rankAll(t, partition(t, engines(), seen), q), rankAll(t, partition(t, engines(), all), q)
		if len(want) != len(got) {
			t.Fatalf("seed %d: %d candidates, without hidden rows %d", seed, len(got), len(want))
		}
		for i := range want {
			if got[i].attr.Key != want[i].attr.Key || got[i].score != want[i].score {
				t.Fatalf("seed %d: place %d is %s %v, without hidden rows %s %v (%s; %s)", seed, i+1, got[i].attr.Key.ID, got[i].score,
					want[i].attr.Key.ID, want[i].score, got[i].why(), want[i].why())
			}
		}
	}
}

// given is a word engine that scores as it is told.
type given struct {
	index.WordEngine
	scores map[int]float64
}

const givenBound = 10

func (g *given) Search(_ string, admitted *index.Bitmap, k int) []index.Hit {
	var top index.Top
	top.Reset(k)
	for row, score := range g.scores {
		if score > 0 && (admitted == nil || admitted.Has(row)) {
			top.Push(row, score)
		}
	}
	return top.Hits()
}

func (g *given) Score(_ string, _ *index.Bitmap, rows []int) ([]float64, float64) {
	out := make([]float64, len(rows))
	for i, row := range rows {
		out[i] = g.scores[row]
	}
	return out, givenBound
}

// A better word score never lowers a row's final score, whatever else it moves.
func TestBetterBranchScoreNeverLowersAScore(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(4, seed))
		rows := talk(t, rng, 70)
		words := &given{scores: map[int]float64{}}
		e := engines()
		e.Words = func(n int) index.WordEngine {
			words.WordEngine = bm25.New(nil, n)
			return words
		}
		p := partition(t, e, rows)
		for row := range rows {
			if rng.IntN(2) == 0 {
				words.scores[row] = rng.Float64() * givenBound
			}
		}
		before := map[string]float64{}
		for _, c := range rankAll(t, p, Query{Text: question}) {
			before[c.attr.ID] = c.score
		}
		row := rng.IntN(len(rows))
		words.scores[row] += rng.Float64() * (givenBound - words.scores[row])
		for _, c := range rankAll(t, p, Query{Text: question}) {
			if c.row == row && c.score < before[c.attr.ID] {
				t.Errorf("seed %d: %s fell from %v to %v", seed, c.attr.ID, before[c.attr.ID], c.score)
			}
		}
	}
}

func TestSpeakerLiftsAndNeverFilters(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	list := rankAll(t, partition(t, engines(), talk(t, rng, 40)), Query{Text: "What did Tobias say about the quince?"})
	speakers := map[string]int{}
	for _, c := range list {
		speakers[c.attr.Speaker]++
		named := c.attr.Speaker == "Tobias"
		if c.why().Signals != (Signals{}) && (c.why().Signals[Speaker] == 1) != named {
			t.Errorf("%s by %s has speaker %v", c.attr.ID, c.attr.Speaker, c.why().Signals[Speaker])
		}
	}
	if speakers["Mirela"] == 0 || speakers["Tobias"] == 0 {
		t.Errorf("speakers found: %v", speakers)
	}
}

func TestWeightsAreNotNegative(t *testing.T) {
	for s := range signalCount {
		if s.Weight() < 0 || s.String() == "" {
			t.Errorf("signal %d: %q weighs %v", s, s, s.Weight())
		}
	}
}

// BenchmarkRank ranks in a partition of 7,500 messages and 2,500 items, without
// the store.
func BenchmarkRank(b *testing.B) {
	p := partition(b, engines(), talk(b, rand.New(rand.NewPCG(6, 6)), 7500))
	for _, skip := range []bool{true, false} {
		b.Run(fmt.Sprintf("rows=10000/context=%v", !skip), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rankAll(b, p, Query{Text: question, SkipContext: skip})
			}
		})
	}
}
