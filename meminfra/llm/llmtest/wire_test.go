package llmtest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/extract/model"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/anthropic"
	"github.com/meminfra/memory-layer/meminfra/llm/llmtest"
	"github.com/meminfra/memory-layer/meminfra/llm/openai"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

const good = `{"memories":[{"kind":"preference","text":"The user keeps bees.","subject_type":"speaker","predicate":"hobby",
	"value":"beekeeping","message":"m1","quote":"I keep bees."}]}`

var bees = extract.Input{Target: []extract.Message{{Speaks: memory.UserSubject,
	Episode: memory.Episode{ID: "e1", Role: memory.RoleUser, Content: "I keep bees."}}}}

// TestOverTheWire runs the extractor over both real SDKs against servers that do
// all that servers do wrong. Each outcome is a memory, a failure, or an explicit
// nothing; never nothing for a reply that could not be read.
func TestOverTheWire(t *testing.T) {
	again := func(s llmtest.Step) []llmtest.Step { return []llmtest.Step{s} } // the last step repeats
	tests := []struct {
		name  string
		steps []llmtest.Step
		asked int
		kept  int
		fault string
	}{
		{"plain", again(llmtest.Reply(good)), 1, 1, ""},
		{"fenced", again(llmtest.Words("```json\n" + good + "\n```")), 1, 1, ""},
		{"chatty", again(llmtest.Words("Gladly! " + good + " Anything else?")), 1, 1, ""},
		{"reasoning", again(llmtest.Words("<think>{\"memories\":[]} or not?</think>" + good)), 1, 1, ""},
		{"nothing to remember", again(llmtest.Reply(`{"memories":[]}`)), 1, 0, ""},
		{"truncated", again(llmtest.Truncated(good[:50])), 3, 0, "cut off at the limit"},
		{"truncated, then whole", []llmtest.Step{llmtest.Truncated(good[:50]), llmtest.Reply(good)}, 2, 1, ""},
		{"wrong envelope", again(llmtest.Reply(`{"facts":[]}`)), 3, 0, "no member"},
		{"empty", again(llmtest.Words("")), 3, 0, "is empty"},
		{"429 with Retry-After", []llmtest.Step{llmtest.Status(429, "rate_limit", "", "Retry-After", "5"), llmtest.Reply(good)}, 2, 1, ""},
		{"500 then success", []llmtest.Step{llmtest.Status(500, "x", ""), llmtest.Reply(good)}, 2, 1, ""},
		{"500 for good", again(llmtest.Status(500, "x", "")), 3, 0, "status 500"},
		{"401", again(llmtest.Status(401, "x", "")), 1, 0, "status 401"},
		{"hang, then success", []llmtest.Step{llmtest.Hang(), llmtest.Reply(good)}, 2, 1, ""},
		{"reset, then success", []llmtest.Step{llmtest.Reset(), llmtest.Reply(good)}, 2, 1, ""},
		{"cut, then success", []llmtest.Step{llmtest.Cut(), llmtest.Reply(good)}, 2, 1, ""},
	}
	for _, sdk := range []string{"openai", "anthropic"} {
		for _, tt := range tests {
			t.Run(sdk+"/"+tt.name, func(t *testing.T) {
				g, s := overTheWire(t, sdk, tt.steps)
				e, err := model.New(g, predicates.Default(), nil)
				if err != nil {
					t.Fatal(err)
				}
				out, err := e.Extract(t.Context(), bees)
				if len(out.Unread) > 0 {
					err = out.Unread[0].Err
				}
				if len(out.Candidates) != tt.kept || (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("%d candidates, error %v, want %q", len(out.Candidates), err, tt.fault)
				}
				if n := len(s.Requests()); n != tt.asked {
					t.Errorf("asked %d times, want %d", n, tt.asked)
				}
				if err != nil && strings.Contains(err.Error(), "bees") {
					t.Errorf("the error tells: %v", err)
				}
			})
		}
	}
}

func overTheWire(t *testing.T, sdk string, steps []llmtest.Step) (llm.Generator, *llmtest.Server) {
	t.Helper()
	policy := llm.Policy{Timeout: 2 * time.Second, Sleep: func(context.Context, time.Duration) error { return nil }}
	for _, s := range steps {
		if s.Hangs() {
			policy.Timeout = 300 * time.Millisecond
		}
	}
	var s *llmtest.Server
	var g llm.Generator
	var err error
	if sdk == "openai" {
		s = llmtest.NewOpenAI(steps...)
		g, err = openai.New(openai.Config{Model: "m", BaseURL: s.URL, APIKey: "k"})
	} else {
		s = llmtest.NewAnthropic(steps...)
		g, err = anthropic.New(anthropic.Config{Model: "m", BaseURL: s.URL, APIKey: "k"})
	}
	t.Cleanup(s.Close)
	if err != nil {
		t.Fatal(err)
	}
	return policy.Generator(g), s
}
