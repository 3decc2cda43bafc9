package memtest

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"sync"

	"github.com/meminfra/memory-layer/meminfra/llm"
)

// ErrScriptEnded is the error of a Generator that is asked more often than its
// script has turns.
var ErrScriptEnded = errors.New("the script has ended")

// Turn is what a scripted Generator does when it is asked.
type Turn struct {
	Text      string
	Truncated bool
	Err       error
	// Do is called first, with the request; nil does nothing. A text that it
	// returns replaces Text.
	Do func(llm.Request) string
}

// Generator is a scripted model: each question takes the next turn. It is safe
// for concurrent use.
type Generator struct {
	mu       sync.Mutex
	turns    []Turn
	requests []llm.Request
	repeat   bool
}

var _ llm.Generator = (*Generator)(nil)

// NewGenerator returns a model that gives the replies in order, then fails with
// ErrScriptEnded.
func NewGenerator(replies ...string) *Generator {
	g := &Generator{}
	for _, r := range replies {
		g.turns = append(g.turns, Turn{Text: r})
	}
	return g
}

// NewScript is NewGenerator for turns that are more than a reply.
func NewScript(turns ...Turn) *Generator { return &Generator{turns: turns} }

// NewResponder returns a model that answers every question with fn.
func NewResponder(fn func(llm.Request) string) *Generator {
	return &Generator{turns: []Turn{{Do: fn}}, repeat: true}
}

// Then adds replies to the script.
func (g *Generator) Then(replies ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range replies {
		g.turns = append(g.turns, Turn{Text: r})
	}
}

// Model returns "scripted".
func (g *Generator) Model() string { return "scripted" }

// Generate takes the next turn. Its usage is one call, a token for each byte.
func (g *Generator) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, err
	}
	turn, ok := g.take(req)
	used := llm.Usage{Calls: 1, InputTokens: int64(len(req.System))}
	for _, m := range req.Messages {
		used.InputTokens += int64(len(m.Content))
	}
	if !ok {
		return llm.Response{Usage: used}, ErrScriptEnded
	}
	if turn.Do != nil {
		if text := turn.Do(req); text != "" {
			turn.Text = text
		}
	}
	if turn.Err != nil {
		return llm.Response{Usage: used}, turn.Err
	}
	used.OutputTokens = int64(len(turn.Text))
	return llm.Response{Text: turn.Text, Truncated: turn.Truncated, Usage: used, Model: g.Model()}, nil
}

func (g *Generator) take(req llm.Request) (Turn, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requests = append(g.requests, req)
	if len(g.turns) == 0 {
		return Turn{}, false
	}
	turn := g.turns[0]
	if !g.repeat {
		g.turns = g.turns[1:]
	}
	return turn, true
}

// Requests returns what was asked so far, in order.
func (g *Generator) Requests() []llm.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]llm.Request(nil), g.requests...)
}

// Embedder is a scripted embedder. A text without a vector of its own gets one
// made from its bytes: the same text the same vector, others hardly alike. It is
// safe for concurrent use.
type Embedder struct {
	model string
	dim   int

	mu      sync.Mutex
	vectors map[string][]float32
	err     error
	texts   []string
}

var _ llm.MeteredEmbedder = (*Embedder)(nil)

// NewEmbedder returns an embedder of that name and length.
func NewEmbedder(model string, dim int) *Embedder {
	return &Embedder{model: model, dim: dim, vectors: map[string][]float32{}}
}

// Set gives a text its vector, scaled to length 1; missing numbers are 0.
func (e *Embedder) Set(text string, numbers ...float32) {
	v := make([]float32, e.dim)
	copy(v, numbers)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.vectors[text] = unit(v)
}

// Fail makes every call fail with err from now on; nil ends it.
func (e *Embedder) Fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
}

// Texts returns what was embedded so far, in order.
func (e *Embedder) Texts() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.texts...)
}

// Model returns the name given.
func (e *Embedder) Model() string { return e.model }

// Dim returns the length given.
func (e *Embedder) Dim() int { return e.dim }

// Embed implements llm.Embedder.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, _, err := e.EmbedMetered(ctx, texts)
	return vectors, err
}

// EmbedMetered implements llm.MeteredEmbedder: one call, a token for each byte.
func (e *Embedder) EmbedMetered(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	if err := ctx.Err(); err != nil || len(texts) == 0 {
		return nil, llm.Usage{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	used := llm.Usage{Calls: 1}
	if e.err != nil {
		return nil, used, e.err
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		used.InputTokens += int64(len(text))
		out[i] = append([]float32(nil), e.vectors[text]...)
		if len(out[i]) == 0 {
			out[i] = made(text, e.dim)
		}
	}
	e.texts = append(e.texts, texts...)
	return out, used, nil
}

// made spreads a text's hash over a vector.
func made(text string, dim int) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	state := h.Sum64() | 1
	v := make([]float32, dim)
	for i := range v {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		v[i] = float32(int64(state)) / math.MaxInt64
	}
	return unit(v)
}

func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum > 0 {
		for i := range v {
			v[i] = float32(float64(v[i]) / math.Sqrt(sum))
		}
	}
	return v
}
