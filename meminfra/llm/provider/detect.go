package provider

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Finding is something that a machine has to offer.
type Finding struct {
	// Source is where it was found: "ollama", "OPENAI_API_KEY",
	// "ANTHROPIC_API_KEY", "LLM_*", "EMBEDDING_*".
	Source string
	// Generator and Embedder are settings for it, nil where it has none. Their
	// Model is "" where the user must say which.
	Generator *Settings
	Embedder  *Settings
	// Err says why variables that are set cannot be used.
	Err error
}

// Suggested are models for keys that were found without a model.
const (
	suggestedOpenAI    = "gpt-5-mini"
	suggestedEmbedding = "text-embedding-3-small"
	suggestedAnthropic = "claude-haiku-4-5"
)

// healthTimeout is how long a server on the same machine may take to say that it
// is there.
const healthTimeout = 500 * time.Millisecond

// Detect returns what there is, in order: an Ollama server on loopback,
// OPENAI_API_KEY, ANTHROPIC_API_KEY, LLM_* and EMBEDDING_*. It sends one health
// request, to loopback, and no key to anybody.
func Detect(ctx context.Context, o Options) []Finding {
	var found []Finding
	if ollamaIsThere(ctx, o.HTTPClient) {
		found = append(found, Finding{Source: "ollama",
			Generator: &Settings{Provider: Ollama}, Embedder: &Settings{Provider: Ollama}})
	}
	isSet := func(name string) bool { return strings.TrimSpace(o.Getenv(name)) != "" }
	if isSet(keys[OpenAI]) {
		found = append(found, Finding{Source: keys[OpenAI],
			Generator: &Settings{Provider: OpenAI, Model: suggestedOpenAI, KeyEnv: keys[OpenAI]},
			Embedder:  &Settings{Provider: OpenAI, Model: suggestedEmbedding, KeyEnv: keys[OpenAI]}})
	}
	if isSet(keys[Anthropic]) {
		found = append(found, Finding{Source: keys[Anthropic],
			Generator: &Settings{Provider: Anthropic, Model: suggestedAnthropic, KeyEnv: keys[Anthropic]}})
	}
	if s, err := fromEnv(o.Getenv, "LLM_"); s != nil || err != nil {
		found = append(found, Finding{Source: "LLM_*", Generator: s, Err: err})
	}
	if s, err := fromEnv(o.Getenv, "EMBEDDING_"); s != nil || err != nil {
		found = append(found, Finding{Source: "EMBEDDING_*", Embedder: s, Err: err})
	}
	return found
}

// ollamaIsThere asks the server's version: whatever else may listen there does
// not tell one. A redirect is no answer: it could lead off the machine.
func ollamaIsThere(ctx context.Context, base *http.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	address := strings.TrimSuffix(bases[Ollama], "/v1") + "/api/version"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil || !loopback(req.URL.Hostname()) {
		return false
	}
	client := http.Client{}
	if base != nil {
		client = *base
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var says struct {
		Version string `json:"version"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 4096)).Decode(&says)
	return err == nil && resp.StatusCode == http.StatusOK && says.Version != ""
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
