// Package provider chooses a model provider by settings or by the environment,
// and finds out what a machine has. It reads no environment of its own: the
// caller hands in a look-up. Keys are named in settings by their variable and
// never appear in settings, errors or output.
//
// It links the OpenAI-compatible adapter. The Anthropic one is large and comes
// through Options.Anthropic from whoever wants it linked.
package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/openai"
)

// The providers. Hyphens are read as underscores.
const (
	OpenAI     = "openai"
	OpenRouter = "openrouter"
	Compatible = "openai_compatible"
	Ollama     = "ollama"
	Anthropic  = "anthropic"
)

// bases are the addresses of the providers that have one.
var bases = map[string]string{
	OpenAI:     openai.DefaultBaseURL,
	OpenRouter: "https://openrouter.ai/api/v1",
	Ollama:     "http://127.0.0.1:11434/v1",
	Compatible: "", // must be given
	Anthropic:  "", // the adapter's own
}

// keys are the variables in which providers' own tools keep the key.
var keys = map[string]string{OpenAI: "OPENAI_API_KEY", Anthropic: "ANTHROPIC_API_KEY"}

// Settings choose one model. They hold no secret and can be written to a file.
type Settings struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	BaseURL  string `json:"base_url,omitempty"` // "" is the provider's own
	// KeyEnv names the environment variable with the key; "" sends none.
	KeyEnv string `json:"api_key_env,omitempty"`
	// Dimensions is the length of vectors to ask for; 0 is the model's own.
	Dimensions int `json:"dimensions,omitempty"`
}

// Options are what Settings need from outside. Every zero value is a default,
// but for Getenv.
type Options struct {
	// Getenv looks a variable up; required.
	Getenv func(string) string
	// HTTPClient carries all requests; nil is a client of its own.
	HTTPClient *http.Client
	// Anthropic makes the generator of that provider; nil means that it is not
	// linked, and that choosing it is an error.
	Anthropic func(s Settings, key string, client *http.Client) (llm.Generator, error)
	// Policy is how calls are made.
	Policy llm.Policy
	// Meter counts and bounds them; nil counts nothing.
	Meter *llm.Meter
}

// FromEnv reads LLM_PROVIDER, LLM_API_KEY, LLM_BASE_URL, LLM_MODEL, and
// EMBEDDING_PROVIDER, EMBEDDING_API_KEY, EMBEDDING_BASE_URL, EMBEDDING_MODEL,
// EMBEDDING_DIMENSIONS. What is nil was not asked for: none of its variables is
// set. A missing provider is openai, or openai_compatible beside a base URL. A
// key that is not there is looked for in OPENAI_API_KEY and ANTHROPIC_API_KEY
// for these two providers at their own addresses. Errors name the variable and
// never its value.
func FromEnv(getenv func(string) string) (generator, embedder *Settings, err error) {
	if generator, err = fromEnv(getenv, "LLM_"); err != nil {
		return nil, nil, err
	}
	embedder, err = fromEnv(getenv, "EMBEDDING_")
	if err != nil {
		return nil, nil, err
	}
	return generator, embedder, nil
}

func fromEnv(getenv func(string) string, prefix string) (*Settings, error) {
	get := func(name string) string { return strings.TrimSpace(getenv(prefix + name)) }
	s := &Settings{Provider: canonical(get("PROVIDER")), Model: get("MODEL"), BaseURL: get("BASE_URL")}
	dimensions := get("DIMENSIONS")
	if get("API_KEY") != "" {
		s.KeyEnv = prefix + "API_KEY"
	}
	if *s == (Settings{}) && dimensions == "" {
		return nil, nil
	}
	if s.Provider == "" {
		s.Provider = OpenAI
		if s.BaseURL != "" {
			s.Provider = Compatible
		}
	}
	if own := keys[s.Provider]; s.KeyEnv == "" && s.BaseURL == "" && own != "" && getenv(own) != "" {
		s.KeyEnv = own
	}
	if prefix == "EMBEDDING_" {
		if s.Model == "" && s.Provider == OpenAI {
			s.Model = "text-embedding-3-small"
		}
		if dimensions != "" {
			n, err := strconv.Atoi(dimensions)
			if err != nil || n <= 0 || n > 1<<16 {
				return nil, errors.New("EMBEDDING_DIMENSIONS: want a number from 1 to 65536")
			}
			s.Dimensions = n
		}
		if s.Provider == Anthropic {
			return nil, errors.New("EMBEDDING_PROVIDER: anthropic has no embeddings")
		}
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s*: %w", prefix, err)
	}
	return s, nil
}

func canonical(provider string) string {
	return strings.ReplaceAll(strings.ToLower(provider), "-", "_")
}

// check says what is missing before a call finds out.
func (s Settings) check() error {
	_, known := bases[s.Provider]
	switch {
	case !known:
		return errors.New("unknown provider: want openai, openrouter, openai_compatible, ollama or anthropic")
	case s.Provider == Compatible && s.BaseURL == "":
		return errors.New("provider openai_compatible needs a base URL: without one the key and the texts would go to OpenAI")
	case s.Model == "":
		return errors.New("no model")
	case s.KeyEnv == "" && s.BaseURL == "" && s.Provider != Ollama:
		return fmt.Errorf("provider %s needs an API key", s.Provider)
	}
	return nil
}

// Generator returns the model that the settings choose, metered and under the
// policy. It asks nothing yet.
func (s Settings) Generator(o Options) (llm.Generator, error) {
	key, err := s.key(o)
	if err != nil {
		return nil, err
	}
	var g llm.Generator
	switch {
	case s.Provider != Anthropic:
		g, err = openai.New(s.config(key, o))
	case o.Anthropic != nil:
		g, err = o.Anthropic(s, key, o.HTTPClient)
	default:
		err = errors.New("provider anthropic is not part of this build")
	}
	if err != nil {
		return nil, err
	}
	if o.Meter != nil {
		g = o.Meter.Generator(g)
	}
	return o.Policy.Generator(g), nil
}

// Embedder returns the embedder that the settings choose, metered and under the
// policy. It makes one call if nothing else tells the length of its vectors.
func (s Settings) Embedder(ctx context.Context, o Options) (llm.Embedder, error) {
	if s.Provider == Anthropic {
		return nil, errors.New("provider anthropic has no embeddings")
	}
	key, err := s.key(o)
	if err != nil {
		return nil, err
	}
	wait := o.Policy.Timeout // the policy holds for calls, not for finding the length
	if wait <= 0 {
		wait = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var e llm.Embedder
	e, err = openai.NewEmbedder(ctx, openai.EmbedderConfig{Config: s.config(key, o), Dimensions: s.Dimensions, Base64: s.Provider == OpenAI})
	if err != nil {
		return nil, err
	}
	if o.Meter != nil {
		e = o.Meter.Embedder(e)
	}
	return o.Policy.Embedder(e), nil
}

// key checks the settings and looks the key up. A variable that is named and
// empty is an error: the server's own would say less.
func (s Settings) key(o Options) (string, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	if s.KeyEnv == "" {
		return "", nil
	}
	key := strings.TrimSpace(o.Getenv(s.KeyEnv))
	if key == "" {
		return "", fmt.Errorf("provider %s: the environment variable %s is empty", s.Provider, s.KeyEnv)
	}
	return key, nil
}

func (s Settings) config(key string, o Options) openai.Config {
	c := openai.Config{Model: s.Model, BaseURL: s.BaseURL, APIKey: key, Provider: s.Provider, HTTPClient: o.HTTPClient}
	if c.BaseURL == "" {
		c.BaseURL = bases[s.Provider]
	}
	return c
}
