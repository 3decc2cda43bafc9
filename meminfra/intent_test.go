package meminfra_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract/model"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/predicates"
)

// waiting is a model that answers nothing until its caller gives up.
type waiting struct{}

func (waiting) Model() string { return "waiting" }

func (waiting) Generate(ctx context.Context, _ llm.Request) (llm.Response, error) {
	<-ctx.Done()
	return llm.Response{Usage: llm.Usage{Calls: 1}}, ctx.Err()
}

// byModel has the generator asked for intents.
func byModel(g llm.Generator) func(*meminfra.Options) {
	return func(o *meminfra.Options) { o.Generator, o.ModelIntent, o.IntentTimeout = g, true, time.Hour }
}

// impatient does not wait for them.
func impatient(o *meminfra.Options) { o.IntentTimeout = time.Nanosecond }

// A model says what a query is about; where it does not, the rules do, and the
// result says so. The rules know "Where do I live?".
func TestIntentByModel(t *testing.T) {
	about := func(predicate string) string { return `{"predicate":` + predicate + `,"scope":"current"}` }
	onStores(t, func(t *testing.T, store storage.Store) {
		tests := []struct {
			name      string
			generator llm.Generator
			predicate string // of the intent, "" for none
			degraded  string
			byModel   bool
		}{
			{"its answer counts", memtest.NewGenerator(about(`"job title"`)), "job_title", "", true},
			{"nothing controlled is an answer", memtest.NewGenerator(about("null")), "", "", true},
			{"outside the vocabulary", memtest.NewGenerator(about(`"drop_table"`)), "location", "intent by rules: the model failed", false},
			{"never readable", memtest.NewGenerator("no", "no", "no"), "location", "intent by rules: the model failed", false},
			{"down", memtest.NewScript(memtest.Turn{Err: &llm.Error{Provider: "x", Status: 500}}), "location", "intent by rules: the model failed", false},
			{"hangs", waiting{}, "location", "intent by rules: the model did not answer in time", false},
			{"none configured", nil, "location", "", false},
		}
		mustAdd(t, newLayer(t, store, randomIDs), addTo("ada", "c", told("I live in Lisbon.", "I am a nurse.")...))
		for _, tt := range tests {
			ml := newLayer(t, store, randomIDs, byModel(tt.generator))
			if tt.generator == (waiting{}) {
				ml = newLayer(t, store, randomIDs, byModel(tt.generator), impatient)
			}
			found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"})
			got := ""
			if found.Intent != nil {
				got = found.Intent.Predicate
			}
			if got != tt.predicate || found.ByModel != tt.byModel || strings.Join(found.Degraded, "|") != tt.degraded {
				t.Errorf("%s: intent %+v by model %v, degraded %q", tt.name, found.Intent, found.ByModel, found.Degraded)
			}
			if len(found.Hits) != 2 || (found.Structured > 0) != (got != "") {
				t.Errorf("%s: %d hits, %d by the hint", tt.name, len(found.Hits), found.Structured)
			}
			trace := mustTrace(t, store, "ada", found.TraceID)
			hash, name := "", ""
			if tt.byModel {
				hash, name = model.IntentHash(predicates.Default()), "scripted"
			}
			if trace.Kind != "search" || trace.PromptHash != hash || trace.Model != name || (trace.Intent != "") != (got != "") {
				t.Errorf("%s: trace %+v", tt.name, trace)
			}
		}
	})
}

// Without the switch, or where the caller skips the intent, no model is asked.
func TestIntentIsNotAskedFor(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		g := memtest.NewScript(memtest.Turn{Err: errors.New("asked")})
		off := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.Generator = g })
		mustSearch(t, off, meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"})
		on := newLayer(t, store, randomIDs, byModel(g))
		mustSearch(t, on, meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?", SkipIntent: true})
		if n := len(g.Requests()); n != 0 {
			t.Errorf("asked %d times", n)
		}
	})
}

// One answer asks for its intent once, however far it climbs.
func TestIntentOnceAnAnswer(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		r := &reader{t: t, words: []string{"Lisbon"}, answer: "In Lisbon.", verdict: func([]offered) string { return "insufficient" },
			intent: func() string { return `{"predicate":"location","scope":"current"}` }}
		r.options = func(o *meminfra.Options) { o.ModelIntent = true }
		ml := r.layer(store)
		mustAdd(t, ml, addTo("ada", "c", told("I live in Lisbon.", "The boat is red.")...))
		res := mustAnswer(t, ml, "ada", "Where do I live?", 1)
		if r.asked["query_intent"] != 1 || len(res.Rungs) != 4 {
			t.Errorf("asked %v, rungs %v", r.asked, res.Rungs)
		}
		if lines := res.Usage; len(lines) != 2 || lines[0].Operation != "answer" || lines[1].Operation != "intent" || lines[1].Calls != 1 {
			t.Errorf("usage %+v", lines)
		}
	})
}
