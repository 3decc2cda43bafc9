// Package llm holds the contracts to language models, and what every call to
// one needs whatever the provider: a timeout and repeats (Policy), a ledger of
// what was used with budgets (Meter), reading JSON out of a reply (Object), and
// putting data into a prompt so that it cannot leave its place (Data).
//
// Adapters live below it and are linked by whoever imports them; hashed is the
// built-in embedder that needs no network and no weights. A model proposes
// only: nothing here decides or writes.
package llm

import (
	"context"
	"encoding/json"
)

// Embedder turns texts into vectors.
type Embedder interface {
	// Model names the model and its version; vectors of two models are never
	// compared.
	Model() string
	// Dim is the length of every vector.
	Dim() int
	// Embed returns one vector per text, in input order, each of Dim values
	// and length 1. A text without any feature gives the zero vector, of
	// which only that it is so is kept. No texts give no vectors.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// HasDirection reports whether a vector says anything: the zero vector, of a
// text without any feature, is not searched with, and stored as an empty one.
func HasDirection(vector []float32) bool {
	for _, x := range vector {
		if x != 0 {
			return true
		}
	}
	return false
}

// IsFinite reports whether no component is NaN or infinite: such a vector is none.
func IsFinite(vector []float32) bool {
	for _, x := range vector {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// MeteredEmbedder is an Embedder that tells what a call used.
type MeteredEmbedder interface {
	Embedder
	// EmbedMetered is Embed. The usage counts even if there is an error: what
	// came back malformed was paid for.
	EmbedMetered(ctx context.Context, texts []string) ([][]float32, Usage, error)
}

// EmbedMetered embeds with e and returns what that used; nothing for an
// embedder that does not tell, such as one that runs in process.
func EmbedMetered(ctx context.Context, e Embedder, texts []string) ([][]float32, Usage, error) {
	if m, ok := e.(MeteredEmbedder); ok {
		return m.EmbedMetered(ctx, texts)
	}
	vectors, err := e.Embed(ctx, texts)
	return vectors, Usage{}, err
}

// Generator asks a language model for text. It is safe for concurrent use.
type Generator interface {
	// Model names the model asked, for decisions and the usage ledger.
	Model() string
	// Generate returns one reply. An empty Text is a reply, not an error.
	// Errors: *Error of the provider, that of ctx, and those of wrappers
	// (ErrBudget). Beside an error only the response's Usage counts.
	Generate(ctx context.Context, req Request) (Response, error)
}

// Role is who speaks in a message to a model.
type Role string

// The roles of a prompt. The system prompt is a field of the request.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one turn of a prompt.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content"`
}

// Request is one question to a model.
type Request struct {
	System   string    `json:"system"`
	Messages []Message `json:"messages"`
	// Schema asks for a JSON object of that form; nil asks for text. A provider
	// that cannot hold a model to a schema is given it in the prompt, so the
	// reply must be checked all the same.
	Schema *Schema `json:"schema,omitempty"`
	// MaxTokens bounds the reply; 0 leaves it to the provider. A reply that
	// was cut is Truncated.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Temperature 0 is as repeatable as the model can; a negative one leaves it
	// to the provider. A model that takes none is asked without.
	Temperature float64 `json:"temperature,omitempty"`
}

// Response is a model's reply.
type Response struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"` // ended at a limit, not by itself
	Usage     Usage  `json:"usage"`
	Model     string `json:"model"` // as the provider names what answered
}

// Usage is what calls cost. Calls counts requests that were sent, failed ones
// included; tokens are what the provider reports, 0 if it does not.
type Usage struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	Calls        int64 `json:"calls"`
}

// Plus returns the sum.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.Calls + v.Calls}
}

// Tokens is the sum of both directions.
func (u Usage) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// Schema is a JSON schema that providers accept as strict: an object, all of
// its properties required, none beside them. Package schema makes it from a Go
// type.
type Schema struct {
	Name string          `json:"name"` // letters, digits, _ and -, at most 64
	JSON json.RawMessage `json:"json"`
}
