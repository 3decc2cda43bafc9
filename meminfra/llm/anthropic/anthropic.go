// Package anthropic talks to Anthropic's Messages API with the official SDK.
// JSON is had by forcing the call of one tool whose input is the schema. It
// repeats nothing and has no timeout of its own: wrap it in an llm.Policy.
//
// The API takes no temperature any more (SDK version 2), so a request's is not
// sent. The SDK reads no environment here and emits no traces.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/internal/wire"
)

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com"

// defaultMaxTokens bounds replies of requests that leave it open: the API wants
// a bound.
const defaultMaxTokens = 8192

// Config says which model to ask.
type Config struct {
	Model  string // required
	APIKey string // required; sent to the host of BaseURL and to no other
	// BaseURL is the address without the version; "" is Anthropic's.
	BaseURL string
	// HTTPClient carries the requests; nil is a client of its own. Its rule for
	// redirects is replaced: other hosts are refused.
	HTTPClient *http.Client
}

// Generator asks a model.
type Generator struct {
	client sdk.Client
	doer   *wire.Doer
	model  string
}

var _ llm.Generator = (*Generator)(nil)

// New returns a generator. It asks nothing yet. Errors: no model, no key, a base
// URL that is none.
func New(c Config) (*Generator, error) {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	switch {
	case c.Model == "":
		return nil, errors.New("anthropic: no model")
	case c.APIKey == "":
		return nil, errors.New("anthropic: no API key")
	}
	if err := wire.CheckBase(c.BaseURL); err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	doer := wire.NewDoer("anthropic", c.HTTPClient)
	client := sdk.NewClient(
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithAPIKey(c.APIKey),
		option.WithBaseURL(c.BaseURL),
		option.WithHTTPClient(doer),
		option.WithMaxRetries(0),
	)
	return &Generator{client, doer, c.Model}, nil
}

// Model returns the configured name.
func (g *Generator) Model() string { return g.model }

// Generate implements llm.Generator. With a schema the text is the tool's input;
// a reply in words instead comes back as it is.
func (g *Generator) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	params, err := g.params(req)
	if err != nil {
		return llm.Response{}, err
	}
	m, err := g.client.Messages.New(ctx, params)
	if err != nil {
		return llm.Response{Usage: llm.Usage{Calls: 1}}, g.doer.Failure(err)
	}
	u := m.Usage
	out := llm.Response{
		Text:      text(m),
		Model:     string(m.Model),
		Truncated: m.StopReason == sdk.StopReasonMaxTokens || m.StopReason == sdk.StopReasonModelContextWindowExceeded,
		Usage: llm.Usage{InputTokens: u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens,
			OutputTokens: u.OutputTokens, Calls: 1},
	}
	if len(m.Content) == 0 && m.StopReason == "" {
		return out, g.doer.Nothing()
	}
	return out, nil
}

// text is the input of the tool called, else what was said.
func text(m *sdk.Message) string {
	said := ""
	for _, b := range m.Content {
		switch b := b.AsAny().(type) {
		case sdk.ToolUseBlock:
			return string(b.Input)
		case sdk.TextBlock:
			said += b.Text
		}
	}
	return said
}

func (g *Generator) params(req llm.Request) (sdk.MessageNewParams, error) {
	p := sdk.MessageNewParams{Model: sdk.Model(g.model), MaxTokens: int64(req.MaxTokens)}
	if p.MaxTokens <= 0 {
		p.MaxTokens = defaultMaxTokens
	}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System}}
	}
	for _, m := range req.Messages {
		block := sdk.NewTextBlock(m.Content)
		if m.Role == llm.RoleAssistant {
			p.Messages = append(p.Messages, sdk.NewAssistantMessage(block))
		} else {
			p.Messages = append(p.Messages, sdk.NewUserMessage(block))
		}
	}
	if req.Schema == nil {
		return p, nil
	}
	input, err := inputSchema(req.Schema.JSON)
	if err != nil {
		return p, fmt.Errorf("anthropic: schema %s: %w", req.Schema.Name, err)
	}
	p.Tools = []sdk.ToolUnionParam{{OfTool: &sdk.ToolParam{Name: req.Schema.Name, InputSchema: input,
		Description: sdk.String("Takes the reply.")}}}
	p.ToolChoice = sdk.ToolChoiceUnionParam{OfTool: &sdk.ToolChoiceToolParam{Name: req.Schema.Name,
		DisableParallelToolUse: sdk.Bool(true)}}
	return p, nil
}

// inputSchema hands a schema to the SDK, which has its own form for its parts.
func inputSchema(raw json.RawMessage) (sdk.ToolInputSchemaParam, error) {
	var s struct {
		Properties           json.RawMessage `json:"properties"`
		Required             []string        `json:"required"`
		AdditionalProperties any             `json:"additionalProperties"`
	}
	err := json.Unmarshal(raw, &s)
	return sdk.ToolInputSchemaParam{Properties: s.Properties, Required: s.Required,
		ExtraFields: map[string]any{"additionalProperties": s.AdditionalProperties}}, err
}
