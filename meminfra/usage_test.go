package meminfra_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract/model"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/llmtest"
	"github.com/meminfra/memory-layer/meminfra/llm/openai"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/predicates"
)

// bees is what a model makes of "I keep bees.".
const bees = `{"memories":[{"kind":"fact","text":"The user keeps bees.","subject_type":"speaker","subject_name":null,"predicate":"hobby",` +
	`"value":"beekeeping","polarity":"positive","from":null,"to":null,"future":false,"past":false,"confidence":0.9,"importance":0.4,` +
	`"message":"m1","quote":"I keep bees."}]}`

// asking has the generator extract and answer, and a metered embedder.
func asking(t *testing.T, g llm.Generator, e llm.Embedder) func(*meminfra.Options) {
	x, err := model.New(g, predicates.Default(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *meminfra.Options) { o.Extractor, o.Generator, o.Embedder = x, g, e }
}

// ops lists usage as "operation calls", and checks that tokens were counted.
func ops(t *testing.T, lines []llm.Line) (list []string) {
	t.Helper()
	for _, l := range lines {
		if l.InputTokens == 0 || l.Model == "" {
			t.Errorf("line %+v", l)
		}
		list = append(list, fmt.Sprint(l.Operation, " ", l.Calls))
	}
	return list
}

// Every result carries what it used, and the store the sum of it.
func TestUsageOfEveryVerb(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		g := memtest.NewGenerator(bees)
		ml := newLayer(t, store, randomIDs, asking(t, g, memtest.NewEmbedder("v", 8)))
		added := mustAdd(t, ml, addTo("ada", "c", said("m1", "I keep bees.", 0)))
		found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "bees"})
		g.Then(`{"rely_on":["M1"]}`, `{"answer":"Bees.","citations":["M1"]}`)
		res := mustAnswer(t, ml, "ada", "What do I keep?", 0)
		g.Then(`{"memories":[]}`)
		edited, err := ml.Curate().Edit(t.Context(), meminfra.EditRequest{UserID: "ada", ID: added.Actions[0].ItemID, Text: "I keep many bees.", Value: "beekeeping"})
		if err != nil {
			t.Fatal(err)
		}
		derived, err := ml.Curate().Derive(t.Context(), meminfra.DeriveRequest{UserID: "ada", From: []string{edited.ItemID}, Text: "Ada has hives."})
		if err != nil {
			t.Fatal(err)
		}
		other := newLayer(t, store, randomIDs, asking(t, g, memtest.NewEmbedder("w", 8)))
		reembedded, err := other.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		sum := map[string]int64{}
		for _, c := range []struct {
			verb  string
			lines []llm.Line
			want  []string
		}{
			{"add", added.Usage, []string{"embed 1", "extract 1"}}, {"search", found.Usage, []string{"embed 1"}},
			{"answer", res.Usage, []string{"answer 2", "embed 1"}}, {"edit", edited.Usage, []string{"embed 1"}},
			{"derive", derived.Usage, []string{"embed 1"}}, {"reembed", reembedded.Usage, []string{"embed 1"}},
		} {
			if got := ops(t, c.lines); !slices.Equal(got, c.want) {
				t.Errorf("%s used %v, want %v", c.verb, got, c.want)
			}
			for _, l := range c.lines {
				sum[l.Operation+" "+l.Model] += l.Calls
			}
		}
		kept, err := ml.Usage(t.Context(), meminfra.UsageRequest{UserID: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range kept.Lines {
			if sum[l.Operation+" "+l.Model] != l.Calls || !l.Day.Equal(memory.Day(testClock().Now())) {
				t.Errorf("kept %+v, results said %v", l, sum)
			}
		}
		if len(kept.Lines) != len(sum) || kept.Total.Calls != 9 {
			t.Errorf("kept %+v", kept)
		}
		later := meminfra.UsageRequest{UserID: "ada", Since: testClock().Now().AddDate(0, 0, 1)}
		if kept, err := ml.Usage(t.Context(), later); err != nil || len(kept.Lines) != 0 || kept.Total != (llm.Usage{}) {
			t.Errorf("since tomorrow: %+v, error %v", kept, err)
		}
		if kept, err := ml.Usage(t.Context(), meminfra.UsageRequest{UserID: "bob"}); err != nil || len(kept.Lines) != 0 {
			t.Errorf("another user's: %+v, error %v", kept, err)
		}
		if _, err := ml.Usage(t.Context(), meminfra.UsageRequest{}); !errors.Is(err, meminfra.ErrNoUser) {
			t.Errorf("error %v", err)
		}
	})
}

// Over budget an Add keeps its messages waiting, untried; Search goes by words
// and Answer quotes; another process is bound by it too, another user is not;
// the next day what waits is made one memory.
func TestBudgetOfADay(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		clock := testClock()
		g := memtest.NewGenerator()
		layer := func() *meminfra.MemoryLayer {
			return newLayer(t, store, randomIDs, asking(t, g, memtest.NewEmbedder("v", 8)),
				func(o *meminfra.Options) { o.Now, o.CallsPerDay, o.TokensPerDay = clock.Now, 2, 1_000_000 })
		}
		g.Then(`{"memories":[]}`)
		mustAdd(t, layer(), addTo("ada", "c", said("m0", "The boat is moored in Oslo.", 0))) // one call to extract, one to embed

		ml := layer() // as another process
		res, err := ml.Add(t.Context(), addTo("ada", "c", said("m1", "I keep bees.", 1)))
		var failed *meminfra.ExtractionError
		var over *llm.BudgetError
		if !errors.As(err, &failed) || !errors.As(err, &over) || !errors.Is(err, llm.ErrBudget) || res == nil || len(res.Episodes) != 1 || len(res.Usage) != 0 {
			t.Fatalf("over budget: %+v, error %v", res, err)
		}
		if over.Spent.Calls != 2 || over.Partition != userPartition("ada") || len(failed.EpisodeIDs) != 1 {
			t.Errorf("budget %+v, waiting %v", over, failed.EpisodeIDs)
		}
		found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Where is the boat moored?"})
		if len(found.Hits) == 0 || found.Hits[0].Ranks.Lexical != 1 || !strings.Contains(strings.Join(found.Degraded, " "), "budget is used up") {
			t.Errorf("search: %q, degraded %q", texts(found.Hits), found.Degraded)
		}
		quoted := mustAnswer(t, ml, "ada", "Where is the boat moored?", 0)
		if quoted.Abstained || !strings.Contains(quoted.Text, "moored in Oslo") || !strings.Contains(strings.Join(quoted.Degraded, " "), "answered without the model") {
			t.Errorf("answer: %+v, degraded %q", quoted.Answer, quoted.Degraded)
		}
		if n := len(g.Requests()); n != 1 {
			t.Errorf("the model was asked %d times", n)
		}
		g.Then(`{"memories":[]}`)
		mustAdd(t, ml, addTo("bob", "c", said("m1", "Hello there.", 1)))

		clock.Advance(24 * time.Hour)
		g.Then(bees)
		mustAdd(t, ml, addTo("ada", "c", said("m1", "I keep bees.", 1)))
		if got := values(mustList(t, ml, "ada", meminfra.Filters{Predicate: "hobby"})); len(got) != 1 {
			t.Errorf("the next day: %q", got)
		}
	})
}

// The budget is asked before each request, the repeats within one call of the
// facade included: a server that always fails is asked no more often than it allows.
func TestBudgetHoldsForRepeats(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		for name, step := range map[string]llmtest.Step{"refused": llmtest.Status(500, "busy", "busy"), "unreadable": llmtest.Words("no idea")} {
			server := llmtest.NewOpenAI(step)
			defer server.Close()
			g, err := openai.New(openai.Config{Model: "m", BaseURL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			policy := patient(&[]time.Duration{})
			policy.Attempts = 5
			ml := newLayer(t, store, randomIDs, extracting(t, policy.Generator(g)), func(o *meminfra.Options) { o.CallsPerDay = 2 })
			_, err = ml.Add(t.Context(), addTo(name, "c", said("m1", "I keep bees.", 0)))
			if n := len(server.Requests()); n != 2 || !errors.Is(err, llm.ErrBudget) {
				t.Errorf("%s: asked %d times, error %v", name, n, err)
			}
			kept, err := ml.Usage(t.Context(), meminfra.UsageRequest{UserID: name})
			if err != nil || kept.Total.Calls != 2 {
				t.Errorf("%s: kept %+v, error %v", name, kept, err)
			}
		}
	})
}

// What cannot be kept of the usage costs nobody his memory.
func TestUsageThatCannotBeKept(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, noUsage{store}, asking(t, memtest.NewGenerator(bees), memtest.NewEmbedder("v", 8)))
		res := mustAdd(t, ml, addTo("ada", "c", said("m1", "I keep bees.", 0)))
		if len(res.Actions) != 1 || len(res.Usage) != 2 {
			t.Errorf("%+v", res)
		}
	})
}

// noUsage is a store that keeps no usage.
type noUsage struct{ storage.Store }

func (noUsage) AddUsage(context.Context, []memory.Usage) error { return memtest.ErrBroken }
