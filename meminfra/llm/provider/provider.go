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
	"net/url"
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
	return FromEnvOver(getenv, nil, nil)
}

// FromEnvOver is FromEnv for who has settings from elsewhere, which may be nil.
// They remain where nothing is set, and where only LLM_MODEL, EMBEDDING_MODEL or
// EMBEDDING_DIMENSIONS is, with that changed; any other variable replaces them
// whole, so that no key goes to an address that it was not given for.
func FromEnvOver(getenv func(string) string, generator, embedder *Settings) (g, e *Settings, err error) {
	if g, err = fromEnvOver(getenv, "LLM_", generator); err != nil {
		return nil, nil, err
	}
	if e, err = fromEnvOver(getenv, "EMBEDDING_", embedder); err != nil {
		return nil, nil, err
	}
	return g, e, nil
}

func fromEnvOver(getenv func(string) string, prefix string, base *Settings) (*Settings, error) {
	get := func(name string) string { return strings.TrimSpace(getenv(prefix + name)) }
	if base == nil || get("PROVIDER")+get("BASE_URL")+get("API_KEY") != "" {
		s, err := fromEnv(getenv, prefix)
		if s == nil && err == nil {
			s = base
		}
		return s, err
	}
	s := *base
	if model := get("MODEL"); model != "" {
		s.Model = model
	}
	if prefix == "EMBEDDING_" {
		n, err := dimensions(get("DIMENSIONS"))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			s.Dimensions = n
		}
	}
	return &s, nil
}

// dimensions reads EMBEDDING_DIMENSIONS; "" is 0.
func dimensions(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > maxDimensions {
		return 0, errors.New("EMBEDDING_DIMENSIONS: want a number from 1 to 65536")
	}
	return n, nil
}

const maxDimensions = 1 << 16

func fromEnv(getenv func(string) string, prefix string) (*Settings, error) {
	get := func(name string) string { return strings.TrimSpace(getenv(prefix + name)) }
	s := &Settings{Provider: canonical(get("PROVIDER")), Model: get("MODEL"), BaseURL: get("BASE_URL")}
	wide := get("DIMENSIONS")
	if get("API_KEY") != "" {
		s.KeyEnv = prefix + "API_KEY"
	}
	if *s == (Settings{}) && wide == "" {
		return nil, nil
	}
	if s.Provider == "" {
		s.Provider = OpenAI
		if s.BaseURL != "" {
			s.Provider = Compatible
		}
	}
	if own := keys[s.Provider]; s.KeyEnv == "" && s.BaseURL == "" && own != "" && strings.TrimSpace(getenv(own)) != "" {
		s.KeyEnv = own
	}
	if prefix == "EMBEDDING_" {
		if s.Model == "" && s.Provider == OpenAI {
			s.Model = "text-embedding-3-small"
		}
		var err error
		if s.Dimensions, err = dimensions(wide); err != nil {
			return nil, err
		}
		if s.Provider == Anthropic {
			return nil, errors.New("EMBEDDING_PROVIDER: anthropic has no embeddings")
		}
	}
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("%s*: %w", prefix, err)
	}
	return s, nil
}

func canonical(provider string) string {
	return strings.ReplaceAll(strings.ToLower(provider), "-", "_")
}

// A SettingError says which field of Settings is wrong. It holds no value.
type SettingError struct {
	Field string // as in JSON
	Fault string
}

func (e *SettingError) Error() string { return e.Fault }

// Check says what is wrong before a call finds out. Errors: *SettingError.
func (s Settings) Check() error {
	_, known := bases[s.Provider]
	fault := func(field, format string, args ...any) error {
		return &SettingError{Field: field, Fault: fmt.Sprintf(format, args...)}
	}
	switch {
	case !known:
		return fault("provider", "unknown provider: want openai, openrouter, openai_compatible, ollama or anthropic")
	case s.Provider == Compatible && s.BaseURL == "":
		return fault("base_url", "provider openai_compatible needs a base URL: without one the key and the texts would go to OpenAI")
	case s.BaseURL != "" && !plainURL(s.BaseURL):
		return fault("base_url", "want http:// or https:// and a host, without a user, a password or a query")
	case s.Model == "":
		return fault("model", "no model")
	case s.KeyEnv == "" && s.BaseURL == "" && s.Provider != Ollama:
		return fault("api_key_env", "provider %s needs an API key", s.Provider)
	case !isVariable(s.KeyEnv):
		return fault("api_key_env", "want the name of an environment variable, in capitals: the key itself does not belong here")
	case s.Dimensions < 0 || s.Dimensions > maxDimensions:
		return fault("dimensions", "want a number from 1 to 65536, or 0 for the model's own")
	}
	return nil
}

// plainURL reports whether an address holds nothing that could be a secret.
func plainURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// isVariable reports whether s names a variable, as keys hardly ever do.
func isVariable(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
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
	if err := s.Check(); err != nil {
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
