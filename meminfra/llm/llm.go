// Package llm holds the contracts to language models. Adapters live below it
// and are linked by whoever imports them; hashed is the built-in embedder that
// needs no network and no weights.
package llm

import "context"

// Embedder turns texts into vectors.
type Embedder interface {
	// Model names the model and its version; vectors of two models are never
	// compared.
	Model() string
	// Dim is the length of every vector.
	Dim() int
	// Embed returns one vector per text, in input order, each of Dim values
	// and length 1. A text without any feature gives the zero vector, which is
	// not stored. No texts give no vectors.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
