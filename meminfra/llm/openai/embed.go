package openai

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/internal/wire"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// EmbedderConfig says which server and model makes vectors.
type EmbedderConfig struct {
	Config
	// Dimensions asks for vectors of that length; 0 takes the model's own, known
	// for the common ones and else found out with one call.
	Dimensions int
	// Batch is the most texts of one request; 0 means 96.
	Batch int
	// MaxTokens is the longest text that the model reads, in llm.Tokens; 0 means
	// 6,000. A longer one is embedded in pieces, whose mean is its vector.
	MaxTokens int
	// Base64 asks for vectors in base64, a quarter of the bytes. A server that
	// answers otherwise is asked for numbers from then on.
	Base64 bool
}

// batchTokens bounds one request, in llm.Tokens: OpenAI takes 300,000.
const batchTokens = 100_000

// dims are the lengths of the common models' vectors.
var dims = map[string]int{
	"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536,
	"nomic-embed-text": 768, "mxbai-embed-large": 1024, "all-minilm": 384, "bge-m3": 1024, "embeddinggemma": 768,
}

// Embedder makes vectors with an embedding model. What comes back is put in
// order by its index, checked (number, length, finite, not zero) and scaled to
// length 1.
type Embedder struct {
	client  *sdk.Client
	doer    *wire.Doer
	config  EmbedderConfig
	dim     int
	numbers atomic.Bool // asked for in numbers from now on
	natural atomic.Bool // asked for in the model's own length from now on
}

var _ llm.MeteredEmbedder = (*Embedder)(nil)

// NewEmbedder returns an embedder. It makes one call if neither Dimensions nor
// the model's name tells the length of its vectors. Errors: those of New, and of
// that call.
func NewEmbedder(ctx context.Context, c EmbedderConfig) (*Embedder, error) {
	client, doer, err := c.connect()
	if err != nil {
		return nil, err
	}
	if c.Dimensions < 0 {
		return nil, fmt.Errorf("%s: %d dimensions", c.Provider, c.Dimensions)
	}
	if c.Batch <= 0 {
		c.Batch = 96
	}
	if c.MaxTokens <= 0 {
		c.MaxTokens = 6000
	}
	e := &Embedder{client: client, doer: doer, config: c, dim: c.Dimensions}
	if e.dim == 0 {
		name, _, _ := strings.Cut(c.Model[strings.LastIndexByte(c.Model, '/')+1:], ":")
		e.dim = dims[name]
	}
	if e.dim == 0 {
		vectors, _, err := e.request(ctx, []string{"length"}, llm.Usage{})
		if err != nil {
			return nil, fmt.Errorf("finding the length of vectors: %w", err)
		}
		e.dim = len(vectors[0])
	}
	return e, nil
}

// Model returns "NAME@LENGTH": the same model cut to another length makes other
// vectors.
func (e *Embedder) Model() string { return e.config.Model + "@" + strconv.Itoa(e.dim) }

// Dim returns the length of the vectors.
func (e *Embedder) Dim() int { return e.dim }

// Embed implements llm.Embedder. A blank text gives the zero vector. Errors:
// *llm.Error, and *llm.VectorError for a vector that must not be stored; there
// are all vectors or none.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, _, err := e.EmbedMetered(ctx, texts)
	return vectors, err
}

// EmbedMetered implements llm.MeteredEmbedder.
func (e *Embedder) EmbedMetered(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	if len(texts) == 0 {
		return nil, llm.Usage{}, nil
	}
	out := make([][]float32, len(texts))
	var pieces []string
	var of []int // the text of each piece
	for i, text := range texts {
		out[i] = make([]float32, e.dim)
		for _, p := range cut(text, e.config.MaxTokens) {
			pieces, of = append(pieces, p), append(of, i)
		}
	}
	var used llm.Usage
	for from := 0; from < len(pieces); {
		to := batchEnd(pieces, from, e.config.Batch)
		vectors, u, err := e.request(ctx, pieces[from:to], used)
		used = used.Plus(u)
		if err == nil {
			err = e.collect(out, vectors, of[from:to])
		}
		if err != nil {
			return nil, used, err
		}
		from = to
	}
	for _, i := range of {
		unit(out[i])
	}
	return out, used, nil
}

// batchEnd is where the request that begins with pieces[from] ends.
func batchEnd(pieces []string, from, most int) int {
	to, tokens := from, 0
	for to < len(pieces) && to-from < most {
		tokens += llm.Tokens(pieces[to])
		if to > from && tokens > batchTokens {
			break
		}
		to++
	}
	return to
}

// collect checks the vectors of pieces and adds each to its text's.
func (e *Embedder) collect(out, vectors [][]float32, of []int) error {
	for i, v := range vectors {
		if fault := faultOf(v, e.dim); fault != "" {
			return &llm.VectorError{Model: e.Model(), Text: of[i], Fault: fault, Want: e.dim, Got: len(v)}
		}
		unit(v)
		for k, x := range v {
			out[of[i]][k] += x
		}
	}
	return nil
}

func faultOf(v []float32, dim int) string {
	switch {
	case len(v) != dim:
		return "wrong length"
	case !llm.IsFinite(v):
		return "not finite"
	case !llm.HasDirection(v):
		return "zero"
	}
	return ""
}

// unit scales v to length 1; the zero vector stays.
func unit(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
}

// request embeds one batch; a server that does not take base64 or a length is
// asked without, and remembered once that works. before is what earlier requests
// of the call used.
func (e *Embedder) request(ctx context.Context, texts []string, before llm.Usage) ([][]float32, llm.Usage, error) {
	base64, length := e.config.Base64 && !e.numbers.Load(), e.config.Dimensions > 0 && !e.natural.Load()
	var used llm.Usage
	for {
		if err := llm.Permit(ctx, before.Plus(used)); err != nil {
			return nil, used, err
		}
		req := sdk.EmbeddingRequest{Input: texts, Model: sdk.EmbeddingModel(e.config.Model), EncodingFormat: sdk.EmbeddingEncodingFormatFloat}
		if base64 {
			req.EncodingFormat = sdk.EmbeddingEncodingFormatBase64
		}
		if length {
			req.Dimensions = e.config.Dimensions
		}
		resp, err := e.client.CreateEmbeddings(ctx, req)
		used = used.Plus(llm.Usage{InputTokens: int64(resp.Usage.PromptTokens), Calls: 1})
		if err == nil {
			e.numbers.Store(!base64)
			e.natural.Store(!length)
			vectors, err := e.inOrder(resp.Data, len(texts))
			return vectors, used, err
		}
		fault := e.doer.Failure(err)
		switch {
		case base64 && (errors.Is(fault, llm.ErrMalformed) || refuses(err, "encoding_format")):
			base64 = false
		case length && refuses(err, "dimension"):
			length = false
		default:
			return nil, used, fault
		}
	}
}

// refuses reports a refusal for the form of the request that names the parameter.
func refuses(err error, parameter string) bool {
	var r *wire.Refusal
	return errors.As(err, &r) && (r.Err.Status == http.StatusBadRequest || r.Err.Status == http.StatusUnprocessableEntity) &&
		strings.Contains(r.Said, parameter)
}

// inOrder puts the vectors in the order of their texts: servers may answer in
// any. Each index must come once.
func (e *Embedder) inOrder(data []sdk.Embedding, n int) ([][]float32, error) {
	vectors := make([][]float32, n)
	if len(data) != n {
		return nil, e.doer.Malformed()
	}
	for _, d := range data {
		if d.Index < 0 || d.Index >= n || vectors[d.Index] != nil || d.Embedding == nil {
			return nil, e.doer.Malformed()
		}
		vectors[d.Index] = d.Embedding
	}
	return vectors, nil
}

// cut splits a text into pieces of at most tokens, at white space where there
// is some. A blank text has none.
func cut(text string, tokens int) []string {
	if memory.IsBlank(text) {
		return nil
	}
	var pieces []string
	for llm.Tokens(text) > tokens {
		end := llm.Prefix(text, tokens)
		if at := strings.LastIndexAny(text[:end], " \n\t"); at > end/2 {
			end = at + 1
		}
		if !memory.IsBlank(text[:end]) {
			pieces = append(pieces, text[:end])
		}
		text = text[end:]
	}
	if !memory.IsBlank(text) {
		pieces = append(pieces, text)
	}
	return pieces
}
