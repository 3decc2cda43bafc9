package provider_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/llmtest"
	"github.com/meminfra/memory-layer/meminfra/llm/provider"
)

const secret = "sk-test-1234567890"

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func TestFromEnv(t *testing.T) {
	tests := []struct {
		name     string
		env      []string
		gen, emb *provider.Settings
		fault    string
	}{
		{"nothing", nil, nil, nil, ""},
		{"a key of another tool is no wish", []string{"OPENAI_API_KEY", secret}, nil, nil, ""},
		{"openai by default", []string{"LLM_API_KEY", secret, "LLM_MODEL", "m"},
			&provider.Settings{Provider: "openai", Model: "m", KeyEnv: "LLM_API_KEY"}, nil, ""},
		{"openai with its own key", []string{"LLM_PROVIDER", "OpenAI", "LLM_MODEL", "m", "OPENAI_API_KEY", secret},
			&provider.Settings{Provider: "openai", Model: "m", KeyEnv: "OPENAI_API_KEY"}, nil, ""},
		{"that key goes to no other address", []string{"LLM_PROVIDER", "openai", "LLM_MODEL", "m", "LLM_BASE_URL", "http://h/v1", "OPENAI_API_KEY", secret},
			&provider.Settings{Provider: "openai", Model: "m", BaseURL: "http://h/v1"}, nil, ""},
		{"a base URL alone", []string{"LLM_BASE_URL", "http://h/v1", "LLM_MODEL", "m"},
			&provider.Settings{Provider: "openai_compatible", Model: "m", BaseURL: "http://h/v1"}, nil, ""},
		{"hyphen", []string{"LLM_PROVIDER", "openai-compatible", "LLM_BASE_URL", "http://h/v1", "LLM_MODEL", "m"},
			&provider.Settings{Provider: "openai_compatible", Model: "m", BaseURL: "http://h/v1"}, nil, ""},
		{"compatible without base URL", []string{"LLM_PROVIDER", "openai_compatible", "LLM_API_KEY", secret, "LLM_MODEL", "m"}, nil, nil, "base URL"},
		{"unknown provider", []string{"LLM_PROVIDER", secret, "LLM_MODEL", "m"}, nil, nil, "unknown provider"},
		{"no model", []string{"LLM_PROVIDER", "ollama"}, nil, nil, "no model"},
		{"a blank key", []string{"LLM_PROVIDER", "openai", "LLM_MODEL", "m", "OPENAI_API_KEY", " "}, nil, nil, "API key"},
		{"no key", []string{"LLM_PROVIDER", "openrouter", "LLM_MODEL", "m"}, nil, nil, "API key"},
		{"anthropic", []string{"LLM_PROVIDER", "anthropic", "LLM_MODEL", "m", "ANTHROPIC_API_KEY", secret},
			&provider.Settings{Provider: "anthropic", Model: "m", KeyEnv: "ANTHROPIC_API_KEY"}, nil, ""},
		{"embeddings", []string{"EMBEDDING_API_KEY", secret, "EMBEDDING_DIMENSIONS", "256"},
			nil, &provider.Settings{Provider: "openai", Model: "text-embedding-3-small", KeyEnv: "EMBEDDING_API_KEY", Dimensions: 256}, ""},
		{"embeddings of ollama", []string{"EMBEDDING_PROVIDER", "ollama", "EMBEDDING_MODEL", "nomic-embed-text"},
			nil, &provider.Settings{Provider: "ollama", Model: "nomic-embed-text"}, ""},
		{"embeddings of anthropic", []string{"EMBEDDING_PROVIDER", "anthropic", "EMBEDDING_MODEL", "m"}, nil, nil, "no embeddings"},
		{"dimensions", []string{"EMBEDDING_API_KEY", secret, "EMBEDDING_DIMENSIONS", secret}, nil, nil, "EMBEDDING_DIMENSIONS"},
	}
	for _, tt := range tests {
		gen, emb, err := provider.FromEnv(env(tt.env...))
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: error %v, want %q", tt.name, err, tt.fault)
			}
			continue
		}
		if err != nil || !equal(gen, tt.gen) || !equal(emb, tt.emb) {
			t.Errorf("%s: %+v, %+v, error %v", tt.name, gen, emb, err)
		}
	}
}

func equal(a, b *provider.Settings) bool { return a == b || a != nil && b != nil && *a == *b }

func TestSettingsMakeModels(t *testing.T) {
	s := llmtest.NewOpenAI(llmtest.Reply("hello"), llmtest.Vectors(nil))
	defer s.Close()
	meter := llm.NewMeter(nil)
	o := provider.Options{Getenv: env("K", secret), Meter: meter}
	g, err := provider.Settings{Provider: "openai_compatible", Model: "m", BaseURL: s.URL, KeyEnv: "K"}.Generator(o)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := g.Generate(t.Context(), llm.Request{}); err != nil || r.Text != "hello" {
		t.Errorf("%+v, error %v", r, err)
	}
	e, err := provider.Settings{Provider: "openai_compatible", Model: "v", BaseURL: s.URL}.Embedder(t.Context(), o)
	if err != nil || e.Dim() != 8 {
		t.Fatal(err)
	}
	if _, err := e.Embed(t.Context(), []string{"x"}); err != nil || len(meter.Lines()) != 2 {
		t.Errorf("lines %+v, error %v", meter.Lines(), err)
	}
	if s.Requests()[0].Header.Get("Authorization") != "Bearer "+secret || s.Requests()[1].Header.Get("Authorization") != "" {
		t.Error("keys went where they should not")
	}
}

func TestSettingsThatCannotBeUsed(t *testing.T) {
	for name, s := range map[string]provider.Settings{
		"empty key":    {Provider: "openai", Model: "m", KeyEnv: "NOT_SET"},
		"not linked":   {Provider: "anthropic", Model: "m", KeyEnv: "K"},
		"no base URL":  {Provider: "openai_compatible", Model: "m"},
		"bad base URL": {Provider: "openai_compatible", Model: "m", BaseURL: "http://u:" + secret + "@h"},
	} {
		if _, err := s.Generator(provider.Options{Getenv: env("K", secret)}); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// transport answers for every address, and notes what was asked.
type transport struct {
	asked  []string
	answer func(*http.Request) (*http.Response, error)
}

func (tr *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	tr.asked = append(tr.asked, r.Method+" "+r.URL.String()+r.Header.Get("Authorization"))
	return tr.answer(r)
}

func status(code int, header ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		if len(header) == 2 {
			h.Set(header[0], header[1])
		}
		return &http.Response{StatusCode: code, Header: h, Body: http.NoBody, Request: r}, nil
	}
}

// says answers 200 with a body.
func says(body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
}

func TestDetect(t *testing.T) {
	const health = "GET http://127.0.0.1:11434/api/version"
	down := func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }
	tests := []struct {
		name   string
		answer func(*http.Request) (*http.Response, error)
		env    []string
		want   string
	}{
		{"nothing", down, nil, ""},
		{"ollama", says(`{"version":"0.9.1"}`), nil, "ollama"},
		{"a web page on its port", says("<html>hello</html>"), nil, ""},
		{"no version", says(`{"status":"ok"}`), nil, ""},
		{"garbage", says("\x00\xff{"), nil, ""},
		{"nothing said", status(200), nil, ""},
		{"it hangs", func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }, nil, ""},
		{"something else on its port", status(404), nil, ""},
		{"a redirect off the machine", status(302, "Location", "http://thief.example/"), nil, ""},
		{"all", says(`{"version":"0.9.1"}`), []string{"OPENAI_API_KEY", secret, "ANTHROPIC_API_KEY", secret, "LLM_MODEL", "m", "EMBEDDING_MODEL", "v"},
			"ollama OPENAI_API_KEY ANTHROPIC_API_KEY LLM_* EMBEDDING_*"},
		{"blank keys", down, []string{"OPENAI_API_KEY", " ", "ANTHROPIC_API_KEY", "\t", "LLM_MODEL", " "}, ""},
		{"unusable", down, []string{"LLM_PROVIDER", "openai_compatible", "LLM_MODEL", "m"}, "LLM_*!"},
	}
	for _, tt := range tests {
		tr := &transport{answer: tt.answer}
		found := provider.Detect(t.Context(), provider.Options{Getenv: env(tt.env...), HTTPClient: &http.Client{Transport: tr}})
		var got []string
		for _, f := range found {
			name := f.Source
			if f.Err != nil {
				name += "!"
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: found %v, want %s", tt.name, got, tt.want)
		}
		if len(tr.asked) != 1 || tr.asked[0] != health {
			t.Errorf("%s: asked %v, only a health request is allowed", tt.name, tr.asked)
		}
	}
}
