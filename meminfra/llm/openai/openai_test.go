package openai_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/llmtest"
	"github.com/meminfra/memory-layer/meminfra/llm/openai"
)

const secret = "sk-test-1234567890"

func generator(t *testing.T, steps ...llmtest.Step) (*openai.Generator, *llmtest.Server) {
	t.Helper()
	s := llmtest.NewOpenAI(steps...)
	t.Cleanup(s.Close)
	g, err := openai.New(openai.Config{Model: "m", BaseURL: s.URL, APIKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	return g, s
}

var request = llm.Request{System: "be brief", Messages: []llm.Message{{Role: llm.RoleUser, Content: "my SECRET diary"}}, MaxTokens: 50,
	Schema: &llm.Schema{Name: "reply", JSON: []byte(`{"type":"object","properties":{},"required":[],"additionalProperties":false}`)}}

func TestGenerate(t *testing.T) {
	g, s := generator(t, llmtest.Reply(`{"a":1}`))
	resp, err := g.Generate(t.Context(), request)
	if err != nil || resp.Text != `{"a":1}` || resp.Model != "m-served" || resp.Usage != (llm.Usage{InputTokens: 100, OutputTokens: 10, Calls: 1}) {
		t.Fatalf("%+v, error %v", resp, err)
	}
	r := s.Requests()[0]
	if r.Header.Get("Authorization") != "Bearer "+secret || r.Path != "/v1/chat/completions" {
		t.Errorf("path %s", r.Path)
	}
	if zero, sent := r.Body["temperature"].(float64); !sent || zero > 1e-3 {
		t.Errorf("temperature 0 was sent as %v", r.Body["temperature"])
	}
	format, _ := r.Body["response_format"].(map[string]any)
	inner, _ := format["json_schema"].(map[string]any)
	if format["type"] != "json_schema" || inner["strict"] != true || inner["schema"] == nil || r.Body["max_tokens"] != 50.0 {
		t.Errorf("body %v", r.Body)
	}
}

// TestOutcomes is the table of what servers do wrong and what comes of it.
func TestOutcomes(t *testing.T) {
	tests := []struct {
		name  string
		step  llmtest.Step
		check func(llm.Response, error) bool
	}{
		{"truncated", llmtest.Truncated(`{"a":`), func(r llm.Response, err error) bool { return err == nil && r.Truncated && r.Text == `{"a":` }},
		{"empty", llmtest.Reply(""), func(r llm.Response, err error) bool { return err == nil && r.Text == "" && r.Usage.Calls == 1 }},
		{"refused in words", llmtest.Raw(`{"choices":[{"message":{"role":"assistant","content":null,"refusal":"no"}}]}`), func(r llm.Response, err error) bool { return err == nil && r.Text == "" }},
		{"no reply", llmtest.Raw(`{"choices":[]}`), failed(0, true, 0, "")},
		{"an error as a success", llmtest.Raw(`{"error":{"message":"SECRET","code":502}}`), failed(0, true, 0, "")},
		{"null", llmtest.Raw(`null`), failed(0, true, 0, "")},
		{"429 with Retry-After", llmtest.Status(429, "rate_limit_exceeded", "SECRET", "Retry-After", "7"), failed(429, true, 7*time.Second, "rate_limit_exceeded")},
		{"quota used up", llmtest.Status(429, "insufficient_quota", "SECRET"), failed(429, false, 0, "insufficient_quota")},
		{"500", llmtest.Status(500, "server_error", "SECRET"), failed(500, true, 0, "server_error")},
		{"529", llmtest.Status(529, "overloaded_error", "SECRET"), failed(529, true, 0, "overloaded_error")},
		{"401", llmtest.Status(401, "invalid_api_key", "Incorrect key: "+secret), failed(401, false, 0, "invalid_api_key")},
		{"a code with content", llmtest.Status(404, "no model SECRET", ""), failed(404, false, 0, "")},
		{"reset", llmtest.Reset(), failed(0, true, 0, "")},
		{"cut", llmtest.Cut(), failed(0, true, 0, "")},
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
			req := request
			req.Schema = nil
			resp, err := g.Generate(ctx, req)
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

func failed(status int, retryable bool, after time.Duration, code string) func(llm.Response, error) bool {
	return func(_ llm.Response, err error) bool {
		var e *llm.Error
		return errors.As(err, &e) && e.Status == status && e.Retryable == retryable && e.RetryAfter == after && e.Code == code &&
			(status == 0 || e.RequestID == "req_test")
	}
}

// A server that takes less is asked for less, once.
func TestServersThatTakeLess(t *testing.T) {
	refuse := func(what string) llmtest.Step { return llmtest.Status(400, "invalid_request_error", what) }
	ok := llmtest.Reply(`{"a":1}`)
	tests := []struct {
		name  string
		steps []llmtest.Step
		check func(body map[string]any) bool
	}{
		{"no schema", []llmtest.Step{refuse("response_format.type json_schema is not supported"), ok},
			func(b map[string]any) bool {
				f, _ := b["response_format"].(map[string]any)
				return f["type"] == "json_object" && strings.Contains(fmt.Sprint(b["messages"]), `"additionalProperties":false`)
			}},
		{"no JSON mode", []llmtest.Step{refuse("unknown field"), refuse("unknown field"), ok},
			func(b map[string]any) bool {
				return b["response_format"] == nil && strings.Contains(fmt.Sprint(b["messages"]), "JSON schema")
			}},
		{"other max_tokens", []llmtest.Step{refuse("Use 'max_completion_tokens' instead."), ok},
			func(b map[string]any) bool { return b["max_tokens"] == nil && b["max_completion_tokens"] == 50.0 }},
		{"no temperature", []llmtest.Step{refuse("Unsupported value: 'temperature'"), ok},
			func(b map[string]any) bool { _, sent := b["temperature"]; return !sent && b["response_format"] != nil }},
	}
	for _, tt := range tests {
		g, s := generator(t, tt.steps...)
		resp, err := g.Generate(t.Context(), request)
		if err != nil || resp.Usage.Calls != int64(len(tt.steps)) {
			t.Errorf("%s: %+v, error %v", tt.name, resp, err)
		}
		if _, err := g.Generate(t.Context(), request); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		all := s.Requests()
		if len(all) != len(tt.steps)+1 || !tt.check(all[len(all)-1].Body) {
			t.Errorf("%s: %d requests, the last %v", tt.name, len(all), all[len(all)-1].Body)
		}
	}
}

func TestRefusalForAnotherReason(t *testing.T) {
	g, s := generator(t, llmtest.Status(400, "context_length_exceeded", "maximum context length"))
	if _, err := g.Generate(t.Context(), request); err == nil || len(s.Requests()) != 1 {
		t.Errorf("%d requests, error %v", len(s.Requests()), err)
	}
	g, s = generator(t, llmtest.Status(400, "odd", "odd"), llmtest.Status(400, "odd", "odd"), llmtest.Status(400, "odd", "odd"), llmtest.Reply("{}"))
	if _, err := g.Generate(t.Context(), request); err == nil {
		t.Error("no error")
	}
	if _, err := g.Generate(t.Context(), request); err != nil {
		t.Error(err)
	}
	if last := s.Requests()[3].Body; last["response_format"].(map[string]any)["type"] != "json_schema" {
		t.Error("remembered what did not help")
	}
}

// The SDK refuses some models' requests by itself.
func TestReasoningModel(t *testing.T) {
	s := llmtest.NewOpenAI(llmtest.Reply("{}"))
	defer s.Close()
	g, err := openai.New(openai.Config{Model: "gpt-5-mini", BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	req := request
	req.Temperature = 0.7
	resp, err := g.Generate(t.Context(), req)
	if err != nil || resp.Usage.Calls != 1 {
		t.Fatalf("%+v, error %v", resp, err)
	}
	b := s.Requests()[0].Body
	if _, sent := b["temperature"]; sent || b["max_completion_tokens"] != 50.0 {
		t.Errorf("body %v", b)
	}
	if s.Requests()[0].Header.Get("Authorization") != "" {
		t.Error("a key that is not there was sent")
	}
}

func TestRedirectsDoNotCarryTheKey(t *testing.T) {
	var got []string
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization")+r.URL.Path)
	}))
	defer thief.Close()
	g, _ := generator(t, llmtest.Redirect(thief.URL+"/v1/chat/completions"))
	_, err := g.Generate(t.Context(), request)
	var e *llm.Error
	if !errors.As(err, &e) || e.Retryable || len(got) != 0 {
		t.Errorf("asked %q, error %v", got, err)
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]openai.Config{
		"no model":     {},
		"no scheme":    {Model: "m", BaseURL: "localhost:8080/v1"},
		"key in it":    {Model: "m", BaseURL: "https://user:" + secret + "@host/v1"},
		"query":        {Model: "m", BaseURL: "https://host/v1?key=" + secret},
		"not an URL":   {Model: "m", BaseURL: "https://h ost/" + secret},
		"other scheme": {Model: "m", BaseURL: "ftp://host/v1"},
	} {
		if _, err := openai.New(c); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func embedder(t *testing.T, c openai.EmbedderConfig, steps ...llmtest.Step) (*openai.Embedder, *llmtest.Server) {
	t.Helper()
	s := llmtest.NewOpenAI(steps...)
	t.Cleanup(s.Close)
	c.Model, c.BaseURL, c.APIKey = "m", s.URL, secret
	if c.Dimensions == 0 {
		c.Dimensions = s.Dim
	}
	e, err := openai.NewEmbedder(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return e, s
}

func unit(text string) []float32 {
	v := llmtest.Vector(text, 8)
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

func near(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > 1e-6 {
			return false
		}
	}
	return true
}

func TestEmbed(t *testing.T) {
	shuffle := llmtest.Vectors(func(v [][]float32, order []int) ([][]float32, []int) {
		for i, k := 0, len(v)-1; i < k; i, k = i+1, k-1 {
			v[i], v[k], order[i], order[k] = v[k], v[i], order[k], order[i]
		}
		return v, order
	})
	texts := []string{"one", "two", " ", "three", "four", "five"}
	for name, tt := range map[string]struct {
		config openai.EmbedderConfig
		step   llmtest.Step
		calls  int64
	}{
		"numbers":        {openai.EmbedderConfig{}, llmtest.Vectors(nil), 1},
		"base64":         {openai.EmbedderConfig{Base64: true}, llmtest.Vectors(nil), 1},
		"base64 refused": {openai.EmbedderConfig{Base64: true}, llmtest.Numbers(), 2},
		"out of order":   {openai.EmbedderConfig{}, shuffle, 1},
		"in batches":     {openai.EmbedderConfig{Batch: 2}, shuffle, 3},
	} {
		e, s := embedder(t, tt.config, tt.step)
		got, used, err := e.EmbedMetered(t.Context(), texts)
		if err != nil || len(got) != len(texts) || used.Calls != tt.calls || len(s.Requests()) != int(tt.calls) {
			t.Errorf("%s: %d vectors, %+v, error %v", name, len(got), used, err)
			continue
		}
		for i, text := range texts {
			want := unit(text)
			if text == " " {
				want = make([]float32, 8)
			}
			if !near(got[i], want) {
				t.Errorf("%s: vector of %q is %v, want %v", name, text, got[i], want)
			}
		}
		if _, err := e.Embed(t.Context(), []string{"x"}); err != nil || int64(len(s.Requests())) != tt.calls+1 {
			t.Errorf("%s: not remembered: %d requests, error %v", name, len(s.Requests()), err)
		}
	}
}

func TestVectorsThatMustNotBeStored(t *testing.T) {
	change := func(f func(v []float32) []float32) llmtest.Step {
		return llmtest.Vectors(func(v [][]float32, order []int) ([][]float32, []int) {
			v[1] = f(v[1])
			return v, order
		})
	}
	for name, step := range map[string]llmtest.Step{
		"too short": change(func(v []float32) []float32 { return v[:7] }),
		"too long":  change(func(v []float32) []float32 { return append(v, 1) }),
		"NaN":       change(func(v []float32) []float32 { v[3] = float32(math.NaN()); return v }),
		"infinite":  change(func(v []float32) []float32 { v[3] = float32(math.Inf(1)); return v }),
		"zero":      change(func([]float32) []float32 { return make([]float32, 8) }),
		"none":      change(func([]float32) []float32 { return nil }),
	} {
		e, _ := embedder(t, openai.EmbedderConfig{Base64: true}, step)
		got, err := e.Embed(t.Context(), []string{"one", "two", "three"})
		var bad *llm.VectorError
		if got != nil || !errors.As(err, &bad) || bad.Text != 1 || bad.Want != 8 || !errors.Is(err, llm.ErrMalformed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for name, step := range map[string]llmtest.Step{
		"one missing": llmtest.Vectors(func(v [][]float32, o []int) ([][]float32, []int) { return v[:2], o[:2] }),
		"index twice": llmtest.Vectors(func(v [][]float32, o []int) ([][]float32, []int) { o[1] = 0; return v, o }),
		"index wild":  llmtest.Vectors(func(v [][]float32, o []int) ([][]float32, []int) { o[1] = -7; return v, o }),
		"NaN in JSON": llmtest.Raw(`{"data":[{"index":0,"embedding":[NaN]}]}`),
		"null vector": llmtest.Raw(`{"data":[{"index":0,"embedding":null},{"index":1,"embedding":null},{"index":2,"embedding":null}]}`),
		"nothing":     llmtest.Raw(`{}`),
	} {
		e, _ := embedder(t, openai.EmbedderConfig{}, step)
		if got, err := e.Embed(t.Context(), []string{"one", "two", "three"}); got != nil || !errors.Is(err, llm.ErrMalformed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestDimensions(t *testing.T) {
	e, s := embedder(t, openai.EmbedderConfig{}, llmtest.Status(400, "x", "this model takes no dimensions"), llmtest.Vectors(nil))
	if _, err := e.Embed(t.Context(), []string{"x"}); err != nil || s.Requests()[0].Body["dimensions"] != 8.0 || s.Requests()[1].Body["dimensions"] != nil {
		t.Errorf("error %v", err)
	}
	probed, err := openai.NewEmbedder(t.Context(), openai.EmbedderConfig{Config: openai.Config{Model: "unheard-of", BaseURL: s.URL}})
	if err != nil || probed.Dim() != 8 || probed.Model() != "unheard-of@8" {
		t.Errorf("error %v", err)
	}
	known, err := openai.NewEmbedder(t.Context(), openai.EmbedderConfig{Config: openai.Config{Model: "openai/text-embedding-3-large"}})
	if err != nil || known.Dim() != 3072 {
		t.Errorf("error %v", err)
	}
}

func TestLongTextIsEmbeddedInPieces(t *testing.T) {
	e, s := embedder(t, openai.EmbedderConfig{MaxTokens: 10}, llmtest.Vectors(nil))
	text := strings.Repeat("a word or two ", 20)
	got, err := e.Embed(t.Context(), []string{text, "short"})
	if err != nil || !near(got[1], unit("short")) {
		t.Fatal(err)
	}
	sent, _ := s.Requests()[0].Body["input"].([]any)
	joined := ""
	for _, p := range sent[:len(sent)-1] {
		if llm.Tokens(p.(string)) > 10 {
			t.Errorf("piece of %d tokens", llm.Tokens(p.(string)))
		}
		joined += p.(string)
	}
	if joined != text {
		t.Error("the pieces are not the text")
	}
}

// Under a policy and through the SDK: 429 with its wait, 500, then success.
func TestPolicyOverTheWire(t *testing.T) {
	g, s := generator(t, llmtest.Status(429, "rate_limit_exceeded", "", "Retry-After", "3"), llmtest.Status(500, "x", ""), llmtest.Reply("{}"))
	var waits []time.Duration
	p := llm.Policy{Random: func() float64 { return 0 }, Sleep: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }}
	resp, err := p.Generator(g).Generate(t.Context(), request)
	if err != nil || resp.Usage.Calls != 3 || len(s.Requests()) != 3 || len(waits) != 2 || waits[0] < 3*time.Second {
		t.Errorf("%+v, waits %v, error %v", resp, waits, err)
	}
	g, s = generator(t, llmtest.Hang(), llmtest.Reset(), llmtest.Reply("{}"))
	p.Timeout = 100 * time.Millisecond
	if resp, err = p.Generator(g).Generate(t.Context(), request); err != nil || resp.Usage.Calls != 3 || len(s.Requests()) != 3 {
		t.Errorf("%+v, error %v", resp, err)
	}
}

// A call that takes several requests asks the budget before each.
func TestBudgetWithinACall(t *testing.T) {
	server := llmtest.NewOpenAI(llmtest.Vectors(nil))
	defer server.Close()
	e, err := openai.NewEmbedder(t.Context(), openai.EmbedderConfig{Dimensions: 8, Batch: 1, Config: openai.Config{Model: "v", BaseURL: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	m := llm.NewMeter(&llm.MeterOptions{CallsPerDay: 2})
	if _, err := m.Embedder(e).Embed(t.Context(), []string{"a", "b", "c", "d"}); !errors.Is(err, llm.ErrBudget) || len(server.Requests()) != 2 {
		t.Errorf("asked %d times, error %v", len(server.Requests()), err)
	}
	chat := llmtest.NewOpenAI(llmtest.Status(400, "invalid", "response_format"))
	defer chat.Close()
	g, err := openai.New(openai.Config{Model: "m", BaseURL: chat.URL})
	if err != nil {
		t.Fatal(err)
	}
	m = llm.NewMeter(&llm.MeterOptions{CallsPerDay: 2})
	_, err = m.Generator(g).Generate(t.Context(), llm.Request{Schema: &llm.Schema{Name: "x", JSON: []byte(`{"type":"object"}`)}})
	if !errors.Is(err, llm.ErrBudget) || len(chat.Requests()) != 2 {
		t.Errorf("asked %d times, error %v", len(chat.Requests()), err)
	}
}
