package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/anthropic"
	"github.com/meminfra/memory-layer/meminfra/llm/llmtest"
)

const secret = "sk-ant-test-1234567890"

func generator(t *testing.T, steps ...llmtest.Step) (*anthropic.Generator, *llmtest.Server) {
	t.Helper()
	s := llmtest.NewAnthropic(steps...)
	t.Cleanup(s.Close)
	g, err := anthropic.New(anthropic.Config{Model: "claude-test", BaseURL: s.URL, APIKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	return g, s
}

var request = llm.Request{System: "be brief", Messages: []llm.Message{{Role: llm.RoleUser, Content: "my SECRET diary"}, {Role: llm.RoleUser, Content: "again"}},
	Schema: &llm.Schema{Name: "reply", JSON: []byte(`{"type":"object","properties":{"a":{"type":"number"}},"required":["a"],"additionalProperties":false}`)}}

func TestGenerate(t *testing.T) {
	g, s := generator(t, llmtest.Reply(`{"a":1}`), llmtest.Reply("plain words"))
	resp, err := g.Generate(t.Context(), request)
	if err != nil || resp.Text != `{"a":1}` || resp.Model != "claude-test-served" || resp.Usage != (llm.Usage{InputTokens: 100, OutputTokens: 10, Calls: 1}) {
		t.Fatalf("%+v, error %v", resp, err)
	}
	r := s.Requests()[0]
	tools, _ := r.Body["tools"].([]any)
	tool, _ := tools[0].(map[string]any)
	input, _ := tool["input_schema"].(map[string]any)
	choice, _ := r.Body["tool_choice"].(map[string]any)
	if tool["name"] != "reply" || input["type"] != "object" || input["additionalProperties"] != false || choice["type"] != "tool" || choice["name"] != "reply" {
		t.Errorf("body %v", r.Body)
	}
	if r.Path != "/v1/messages" || r.Body["max_tokens"] != 8192.0 || !strings.Contains(fmt.Sprint(r.Header), secret) {
		t.Errorf("%s %v", r.Path, r.Body)
	}
	plain := request
	plain.Schema = nil
	if resp, err = g.Generate(t.Context(), plain); err != nil || resp.Text != "plain words" || s.Requests()[1].Body["tools"] != nil {
		t.Errorf("%+v, error %v", resp, err)
	}
}

func TestOutcomes(t *testing.T) {
	tests := []struct {
		name  string
		step  llmtest.Step
		check func(llm.Response, error) bool
	}{
		{"truncated", llmtest.Truncated(`{"a":`), func(r llm.Response, err error) bool { return err == nil && r.Truncated && r.Text == `{"a":` }},
		{"words for the tool", llmtest.Words(`Here: {"a":1}`), func(r llm.Response, err error) bool { return err == nil && r.Text == `Here: {"a":1}` }},
		{"empty", llmtest.Words(""), func(r llm.Response, err error) bool { return err == nil && r.Text == "" }},
		{"no content", llmtest.Raw(`{"type":"message","content":[],"stop_reason":"end_turn"}`), func(r llm.Response, err error) bool { return err == nil && r.Text == "" }},
		{"no reply", llmtest.Raw(`{"type":"message"}`), failed(0, true, 0)},
		{"an error as a success", llmtest.Raw(`{"type":"error","error":{"type":"overloaded_error","message":"SECRET"}}`), failed(0, true, 0)},
		{"429 with Retry-After", llmtest.Status(429, "rate_limit_error", "SECRET", "Retry-After", "7"), failed(429, true, 7*time.Second)},
		{"500", llmtest.Status(500, "api_error", "SECRET"), failed(500, true, 0)},
		{"529", llmtest.Status(529, "overloaded_error", "SECRET"), failed(529, true, 0)},
		{"400", llmtest.Status(400, "invalid_request_error", "SECRET"), failed(400, false, 0)},
		{"401", llmtest.Status(401, "authentication_error", secret), failed(401, false, 0)},
		{"told not to", llmtest.Status(503, "api_error", "", "x-should-retry", "false"), failed(503, false, 0)},
		{"reset", llmtest.Reset(), failed(0, true, 0)},
		{"cut", llmtest.Cut(), failed(0, true, 0)},
		{"web page", llmtest.Raw("<html>SECRET</html>"), func(_ llm.Response, err error) bool { return errors.Is(err, llm.ErrMalformed) }},
		{"hang", llmtest.Hang(), func(_ llm.Response, err error) bool {
			var e *llm.Error
			return errors.As(err, &e) && e.Retryable && errors.Is(err, context.DeadlineExceeded)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, s := generator(t, tt.step)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			resp, err := g.Generate(ctx, request)
			if !tt.check(resp, err) {
				t.Errorf("%+v, error %v", resp, err)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests: an adapter repeats nothing", n)
			}
			if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, "SECRET") || strings.Contains(text, secret) || strings.Contains(text, "127.0.0.1") {
				t.Errorf("the error tells: %s", text)
			}
		})
	}
}

func failed(status int, retryable bool, after time.Duration) func(llm.Response, error) bool {
	return func(_ llm.Response, err error) bool {
		var e *llm.Error
		return errors.As(err, &e) && e.Status == status && e.Retryable == retryable && e.RetryAfter == after &&
			(status == 0 || e.RequestID == "req_test")
	}
}

func TestRedirectsDoNotCarryTheKey(t *testing.T) {
	asked := 0
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer thief.Close()
	g, _ := generator(t, llmtest.Redirect(thief.URL+"/v1/messages"))
	var e *llm.Error
	if _, err := g.Generate(t.Context(), request); !errors.As(err, &e) || e.Retryable || asked != 0 {
		t.Errorf("asked %d times, error %v", asked, err)
	}
}

// The environment is not read: neither its key nor its address.
func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "other-key")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Other: 1")
	g, s := generator(t, llmtest.Reply(`{"a":1}`))
	if _, err := g.Generate(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if h := fmt.Sprint(s.Requests()[0].Header); strings.Contains(h, "other-key") || strings.Contains(h, "X-Other") {
		t.Error("something of the environment was sent")
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]anthropic.Config{
		"no model": {APIKey: secret},
		"no key":   {Model: "m"},
		"bad URL":  {Model: "m", APIKey: secret, BaseURL: "https://" + secret + "@host"},
	} {
		if _, err := anthropic.New(c); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
