// Package openai talks to any server of the OpenAI API: OpenAI, OpenRouter,
// Ollama, vLLM, llama.cpp and others.
//
// Servers differ in what they take. A client asks for the most and, where a
// server refuses a part, asks again without it and remembers: a JSON schema,
// then any JSON object, then only the prompt; max_tokens or
// max_completion_tokens; a temperature or none. It repeats nothing else and has no
// timeout of its own: wrap it in an llm.Policy.
package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/internal/wire"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says which server and model to ask.
type Config struct {
	// Model is the model's name at the server; required.
	Model string
	// BaseURL is the address up to and including the version; "" is OpenAI's.
	BaseURL string
	// APIKey is sent to the host of BaseURL and to no other; "" sends none.
	APIKey string
	// Provider is how errors name the server; "" is "openai".
	Provider string
	// HTTPClient carries the requests; nil is a client of its own. Its rule for
	// redirects is replaced: other hosts are refused.
	HTTPClient *http.Client
}

// connect makes the SDK's client.
func (c *Config) connect() (*sdk.Client, *wire.Doer, error) {
	if c.Provider == "" {
		c.Provider = "openai"
	}
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if c.Model == "" {
		return nil, nil, fmt.Errorf("%s: no model", c.Provider)
	}
	if err := wire.CheckBase(c.BaseURL); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Provider, err)
	}
	doer := wire.NewDoer(c.Provider, c.HTTPClient)
	conf := sdk.DefaultConfig(c.APIKey)
	conf.BaseURL = strings.TrimRight(c.BaseURL, "/")
	conf.HTTPClient = doer
	return sdk.NewClientWithConfig(conf), doer, nil
}

// Generator asks a chat model.
type Generator struct {
	client *sdk.Client
	doer   *wire.Doer
	model  string
	learnt atomic.Pointer[dialect]
}

var _ llm.Generator = (*Generator)(nil)

// New returns a generator. It asks nothing yet. Errors: no model, a base URL
// that is none.
func New(c Config) (*Generator, error) {
	client, doer, err := c.connect()
	if err != nil {
		return nil, err
	}
	g := &Generator{client: client, doer: doer, model: c.Model}
	g.learnt.Store(&dialect{})
	return g, nil
}

// Model returns the configured name.
func (g *Generator) Model() string { return g.model }

// Generate implements llm.Generator. The usage counts each request that was
// sent, those that were refused for their form included.
func (g *Generator) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	d := *g.learnt.Load()
	var calls int64
	for {
		resp, err := g.client.CreateChatCompletion(ctx, d.request(g.model, req))
		if !refusedHere(err) {
			calls++
		}
		if err == nil {
			g.learnt.Store(&d)
			out := response(resp)
			out.Usage.Calls = calls
			if len(resp.Choices) == 0 {
				return out, g.doer.Nothing()
			}
			return out, nil
		}
		used := llm.Usage{Calls: calls}
		next, ok := d.without(req, err)
		if !ok {
			return llm.Response{Usage: used}, g.doer.Failure(err)
		}
		if err := llm.Permit(ctx, used); err != nil {
			return llm.Response{Usage: used}, err
		}
		d = next
	}
}

func response(r sdk.ChatCompletionResponse) llm.Response {
	out := llm.Response{Model: r.Model, Usage: llm.Usage{InputTokens: int64(r.Usage.PromptTokens), OutputTokens: int64(r.Usage.CompletionTokens)}}
	if len(r.Choices) == 0 {
		return out
	}
	m := r.Choices[0].Message
	out.Text = m.Content
	for _, part := range m.MultiContent {
		out.Text += part.Text
	}
	out.Truncated = r.Choices[0].FinishReason == sdk.FinishReasonLength
	return out
}

// dialect is what a server does not take. The zero value takes all.
type dialect struct {
	noSchema         bool // json_schema
	noJSON           bool // json_object
	noTemperature    bool
	completionTokens bool // wants max_completion_tokens for max_tokens
}

// nearlyZero is sent for a temperature of 0, which the SDK would leave out. It is
// not the smallest number there is: servers divide by it.
const nearlyZero = 1e-4

// schemaPrompt precedes the schema where the server cannot hold the model to it.
const schemaPrompt = "\n\nReply with one JSON object that fits this JSON schema, and with nothing else:\n"

func (d dialect) request(model string, req llm.Request) sdk.ChatCompletionRequest {
	out := sdk.ChatCompletionRequest{Model: model}
	system := req.System
	if req.Schema != nil {
		out.ResponseFormat = d.format(req.Schema)
		if d.noSchema {
			system += schemaPrompt + string(req.Schema.JSON)
		}
	}
	if system != "" {
		out.Messages = append(out.Messages, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleSystem, Content: system})
	}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, sdk.ChatCompletionMessage{Role: string(m.Role), Content: m.Content})
	}
	if d.completionTokens {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		//lint:ignore SA1019 what most servers know; those that want the other say so
		out.MaxTokens = req.MaxTokens
	}
	switch {
	case d.noTemperature || req.Temperature < 0:
	case req.Temperature == 0:
		out.Temperature = nearlyZero
	default:
		out.Temperature = float32(req.Temperature)
	}
	return out
}

func (d dialect) format(s *llm.Schema) *sdk.ChatCompletionResponseFormat {
	switch {
	case !d.noSchema:
		return &sdk.ChatCompletionResponseFormat{Type: sdk.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &sdk.ChatCompletionResponseFormatJSONSchema{Name: s.Name, Schema: s.JSON, Strict: true}}
	case !d.noJSON:
		return &sdk.ChatCompletionResponseFormat{Type: sdk.ChatCompletionResponseFormatTypeJSONObject}
	}
	return nil
}

// refusedHere reports an error of the SDK's own checks: nothing was sent.
func refusedHere(err error) bool {
	return errors.Is(err, sdk.ErrReasoningModelMaxTokensDeprecated) || refusedSampling(err)
}

func refusedSampling(err error) bool {
	return errors.Is(err, sdk.ErrReasoningSamplingUnsupported) || errors.Is(err, sdk.ErrReasoningModelLimitationsOther)
}

// without returns the dialect without what the error says is not taken. A
// refusal that names nothing is put down to the schema, the part that servers
// differ in most; if that was not it, the next try fails as well and nothing
// is remembered.
func (d dialect) without(req llm.Request, err error) (dialect, bool) {
	var refusal *wire.Refusal
	said := ""
	if errors.As(err, &refusal) {
		if s := refusal.Err.Status; s != http.StatusBadRequest && s != http.StatusUnprocessableEntity && s != http.StatusNotImplemented {
			return d, false
		}
		if refusal.Err.Code == "context_length_exceeded" || strings.Contains(refusal.Said, "context length") {
			return d, false
		}
		said = refusal.Said
	} else if !refusedHere(err) {
		return d, false
	}
	switch {
	case !d.completionTokens && req.MaxTokens > 0 &&
		(strings.Contains(said, "max_completion_tokens") || errors.Is(err, sdk.ErrReasoningModelMaxTokensDeprecated)):
		d.completionTokens = true
	case !d.noTemperature && req.Temperature >= 0 && (strings.Contains(said, "temperature") || refusedSampling(err)):
		d.noTemperature = true
	case req.Schema != nil && !d.noSchema && refusal != nil:
		d.noSchema = true
	case req.Schema != nil && !d.noJSON && refusal != nil:
		d.noJSON = true
	default:
		return d, false
	}
	return d, true
}
