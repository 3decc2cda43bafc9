package meminfra_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract/model"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/anthropic"
	"github.com/meminfra/memory-layer/meminfra/llm/llmtest"
	"github.com/meminfra/memory-layer/meminfra/llm/openai"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/predicates"
)

// providers are the real SDKs before fake servers.
var providers = map[string]struct {
	start func(...llmtest.Step) *llmtest.Server
	ask   func(url string) (llm.Generator, error)
}{
	"openai": {llmtest.NewOpenAI, func(url string) (llm.Generator, error) {
		return openai.New(openai.Config{Model: "m", BaseURL: url})
	}},
	"anthropic": {llmtest.NewAnthropic, func(url string) (llm.Generator, error) {
		return anthropic.New(anthropic.Config{Model: "m", BaseURL: url, APIKey: "k"})
	}},
}

// patient is a policy that notes its pauses instead of waiting.
func patient(waits *[]time.Duration) llm.Policy {
	return llm.Policy{Attempts: 2, Sleep: func(_ context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return nil
	}}
}

// What servers do wrong, and what becomes of "I keep bees.": one memory, or the
// message is kept and waits, nothing half-written, and the next Add on the
// conversation makes the one memory of it. Never an Add that says that there was
// nothing to remember. Case A01.
func TestServersThatMisbehave(t *testing.T) {
	good := llmtest.Words(bees)
	busy := llmtest.Status(429, "rate_limit", "slow down", "Retry-After", "7")
	down := llmtest.Status(500, "server_error", "I keep bees. is what you said")
	rows := []struct {
		name  string
		steps []llmtest.Step // the last one repeats
		asked int
		waits bool // else one memory
	}{
		{"as it should be", []llmtest.Step{llmtest.Reply(bees)}, 1, false},
		{"fenced", []llmtest.Step{llmtest.Words("```json\n" + bees + "\n```")}, 1, false},
		{"chatty", []llmtest.Step{llmtest.Words("Here you are: " + bees + " Anything else?")}, 1, false},
		{"fence in chatter", []llmtest.Step{llmtest.Words("Sure.\n```json\n" + bees + "\n```\nDone.")}, 1, false},
		{"a reasoning block", []llmtest.Step{llmtest.Words(`<think>{"memories":[]}?</think>` + bees)}, 1, false},
		{"truncated once", []llmtest.Step{llmtest.Truncated(bees[:50]), good}, 2, false},
		{"truncated always", []llmtest.Step{llmtest.Truncated(bees[:50])}, 3, true},
		{"a draft, truncated, then right", []llmtest.Step{llmtest.Truncated(`Is it {"memories":[]}? No, since`), good}, 2, false},
		{"a draft, truncated always", []llmtest.Step{llmtest.Truncated(`Is it {"memories":[]}? No, since`)}, 3, true},
		{"an envelope twice in one", []llmtest.Step{llmtest.Words(strings.TrimSuffix(bees, "}") + `,"memories":[]}`)}, 3, true},
		{"an error as a success, then right", []llmtest.Step{llmtest.Raw(`{"error":{"message":"overloaded"}}`), good}, 2, false},
		{"an error as a success always", []llmtest.Step{llmtest.Raw(`{"error":{"message":"overloaded"}}`)}, 2, true},
		{"a web page", []llmtest.Step{llmtest.Raw("<html><body>502 Bad Gateway</body></html>")}, 1, true},
		{"a wrong envelope once", []llmtest.Step{llmtest.Words(`{"facts":[]}`), good}, 2, false},
		{"a wrong envelope always", []llmtest.Step{llmtest.Words(`{"facts":[]}`)}, 3, true},
		{"empty once", []llmtest.Step{llmtest.Words(""), good}, 2, false},
		{"empty always", []llmtest.Step{llmtest.Words("")}, 3, true},
		{"429 with Retry-After, then right", []llmtest.Step{busy, good}, 2, false},
		{"429 always", []llmtest.Step{busy}, 2, true},
		{"500, then right", []llmtest.Step{down, good}, 2, false},
		{"500 always", []llmtest.Step{down}, 2, true},
		{"no such model", []llmtest.Step{llmtest.Status(404, "not_found", "no such model")}, 1, true},
		{"reset, then right", []llmtest.Step{llmtest.Reset(), good}, 2, false},
		{"reset always", []llmtest.Step{llmtest.Reset()}, 2, true},
		{"cut off, then right", []llmtest.Step{llmtest.Cut(), good}, 2, false},
		{"hangs until the timeout", []llmtest.Step{llmtest.Hang()}, 2, true},
	}
	onStores(t, func(t *testing.T, store storage.Store) {
		for provider, p := range providers {
			for _, row := range rows {
				t.Run(provider+"/"+row.name, func(t *testing.T) {
					server := p.start(row.steps...)
					defer server.Close()
					g, err := p.ask(server.URL)
					if err != nil {
						t.Fatal(err)
					}
					var waits []time.Duration
					policy := patient(&waits)
					if row.steps[0].Hangs() {
						policy.Timeout = 20 * time.Millisecond
					}
					err = misbehaved(t, store, provider+" "+row.name, policy.Generator(g), row.waits)
					if row.name == "a web page" && !errors.Is(err, llm.ErrMalformed) {
						t.Errorf("error %v", err)
					}
					if n := len(server.Requests()); n != row.asked {
						t.Errorf("asked %d times, want %d", n, row.asked)
					}
					if strings.HasPrefix(row.name, "429") && (len(waits) != 1 || waits[0] < 7*time.Second) {
						t.Errorf("waited %v, was asked to wait 7 s", waits)
					}
					if row.waits {
						server.Script(good)
						resumed(t, store, provider+" "+row.name, g)
					}
				})
			}
		}
	})
}

func extracting(t *testing.T, g llm.Generator) func(*meminfra.Options) {
	x, err := model.New(g, predicates.Default(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *meminfra.Options) { o.Extractor = x }
}

// misbehaved adds the message and checks what became of it.
func misbehaved(t *testing.T, store storage.Store, user string, g llm.Generator, waits bool) error {
	t.Helper()
	ml := newLayer(t, store, randomIDs, extracting(t, g))
	res, err := ml.Add(t.Context(), addTo(user, "c", said("m1", "I keep bees.", 0)))
	var failed *meminfra.ExtractionError
	if errors.As(err, &failed) != waits || (err != nil) != waits || res == nil || len(res.Episodes) != 1 {
		t.Fatalf("%+v, error %v", res, err)
	}
	if err != nil && strings.Contains(err.Error(), "bees") {
		t.Errorf("memory text in %v", err)
	}
	if n := len(mustList(t, ml, user, meminfra.Filters{Kind: memory.KindEpisode})); n != 1 {
		t.Errorf("%d messages kept", n)
	}
	items := mustList(t, ml, user, meminfra.Filters{})
	if want := map[bool]int{true: 0, false: 1}[waits]; len(items) != want || len(res.Actions) != want || len(res.Rejections) != 0 {
		t.Errorf("%d memories, %+v", len(items), res)
	}
	if found := mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: "bees"}); len(found.Hits) != 1 {
		t.Errorf("found %q", texts(found.Hits))
	}
	return err
}

// resumed adds another message, with a server that is right again.
func resumed(t *testing.T, store storage.Store, user string, g llm.Generator) {
	t.Helper()
	ml := newLayer(t, store, randomIDs, extracting(t, g))
	mustAdd(t, ml, addTo(user, "c", said("m2", "Good night.", 1)))
	if items := mustList(t, ml, user, meminfra.Filters{}); len(items) != 1 || items[0].Evidence[0].MessageID != "m1" {
		t.Errorf("after the next Add: %+v", items)
	}
	again := mustAdd(t, ml, addTo(user, "c", said("m1", "I keep bees.", 0), said("m2", "Good night.", 1)))
	if len(again.Actions) != 0 || len(mustList(t, ml, user, meminfra.Filters{})) != 1 {
		t.Errorf("once more: %+v", again)
	}
}

// What embedding servers do wrong costs no memory: what has no vector is said,
// found by words, and gets its vector once the server is right.
func TestEmbeddingServersThatMisbehave(t *testing.T) {
	each := func(f func(v []float32) []float32) []llmtest.Step {
		return []llmtest.Step{llmtest.Vectors(func(v [][]float32, order []int) ([][]float32, []int) {
			for i := range v {
				v[i] = f(v[i])
			}
			return v, order
		})}
	}
	reversed := llmtest.Vectors(func(v [][]float32, order []int) ([][]float32, []int) {
		slices.Reverse(v)
		slices.Reverse(order)
		return v, order
	})
	rows := []struct {
		name  string
		steps []llmtest.Step
		right bool
	}{
		{"out of order", []llmtest.Step{reversed}, true},
		{"429, then right", []llmtest.Step{llmtest.Status(429, "rate_limit", "slow down", "Retry-After", "7"), llmtest.Vectors(nil)}, true},
		{"too short", each(func(v []float32) []float32 { return v[:7] }), false},
		{"too long", each(func(v []float32) []float32 { return append(v, 1) }), false},
		{"NaN", each(func(v []float32) []float32 { v[2] = float32(math.NaN()); return v }), false},
		{"zero", each(func([]float32) []float32 { return make([]float32, 8) }), false},
		{"a web page", []llmtest.Step{llmtest.Raw("<html><body>502 Bad Gateway</body></html>")}, false},
		{"fewer than asked", []llmtest.Step{llmtest.Vectors(func(v [][]float32, o []int) ([][]float32, []int) { return v[:len(v)-1], o[:len(o)-1] })}, false},
		{"500 always", []llmtest.Step{llmtest.Status(500, "server_error", "no")}, false},
		{"hangs until the timeout", []llmtest.Step{llmtest.Hang()}, false},
	}
	onStores(t, func(t *testing.T, store storage.Store) {
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				server := llmtest.NewOpenAI(row.steps...)
				defer server.Close()
				e, err := openai.NewEmbedder(t.Context(), openai.EmbedderConfig{Dimensions: 8, Base64: true,
					Config: openai.Config{Model: "v", BaseURL: server.URL}})
				if err != nil {
					t.Fatal(err)
				}
				policy := patient(&[]time.Duration{})
				if row.steps[0].Hangs() {
					policy.Timeout = 20 * time.Millisecond
				}
				ml := newLayer(t, store, randomIDs, withEmbedder(policy.Embedder(e)))
				res := mustAdd(t, ml, addTo(row.name, "c", told("I live in Lisbon.", "The cat sleeps all day.")...))
				if len(res.Actions) != 1 || strings.Contains(strings.Join(res.Degraded, " "), "without vectors") == row.right {
					t.Errorf("%+v", res)
				}
				byVector(t, ml, row.name, row.right)
				server.Script(llmtest.Vectors(nil))
				right := newLayer(t, store, randomIDs, withEmbedder(patient(&[]time.Duration{}).Embedder(e)))
				made, err := right.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: row.name})
				if want := map[bool]int{true: 0, false: 3}[row.right]; err != nil || made.Embedded != want {
					t.Errorf("made later: %+v, error %v", made, err)
				}
				byVector(t, right, row.name, true)
			})
		}
	})
}

// byVector checks that a message is found in its own words, with a vector or,
// saying so, without.
func byVector(t *testing.T, ml *meminfra.MemoryLayer, user string, vectors bool) {
	t.Helper()
	found := mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: "The cat sleeps all day."})
	if len(found.Hits) == 0 || found.Hits[0].Text != "The cat sleeps all day." || found.Hits[0].Ranks.Lexical != 1 {
		t.Fatalf("found %q", texts(found.Hits))
	}
	if r := found.Hits[0].Ranks.Vector; vectors && r != 1 || !vectors && r != 0 {
		t.Errorf("ranks %+v", found.Hits[0].Ranks)
	}
	if said := strings.Contains(strings.Join(found.Degraded, " "), "vector branch left out"); said == vectors {
		t.Errorf("degraded %q", found.Degraded)
	}
}
