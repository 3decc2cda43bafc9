package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract/model"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/provider"
	"github.com/meminfra/memory-layer/predicates"
)

// silent is an embedding model that did not say how long its vectors are: what
// can be done by words is done, and what cannot fails.
type silent struct {
	model string
	err   error
}

func (s silent) Model() string { return s.model }

// Dim is the length of no vector.
func (s silent) Dim() int { return 1 }

func (s silent) Embed(context.Context, []string) ([][]float32, error) { return nil, s.err }

// layerOptions chooses by the settings which models are used, one for extraction
// and answers, one for vectors, and reads LEDGER_KEY. A key that merely lies in
// the environment of another tool is no choice: without one everything is built
// in. meter counts what they use.
func (a *app) layerOptions(ctx context.Context, meter *llm.Meter) (*meminfra.Options, error) {
	opts := &meminfra.Options{Now: a.now}
	opts.LedgerKey, opts.OldLedgerKeys = a.ledgerKeys()
	s, err := a.settings()
	if err != nil {
		return nil, err
	}
	generator, embedder := s.LLM, s.Embedding
	opts.TokensPerDay, opts.CallsPerDay, opts.ModelIntent = s.TokensPerDay, s.CallsPerDay, s.ModelIntent
	with := provider.Options{Getenv: a.getenv, Anthropic: anthropicGenerator, Meter: meter}
	if embedder != nil {
		if opts.Embedder, err = embedder.Embedder(ctx, with); err != nil {
			err = fmt.Errorf("embedding model: %w", err)
			if failed, ok := errors.AsType[*llm.Error](err); !ok || !failed.Retryable && !errors.Is(err, llm.ErrMalformed) {
				return nil, err
			}
			a.warn([]string{err.Error()})
			opts.Embedder = silent{embedder.Model, err}
		}
	}
	if generator == nil {
		return opts, nil
	}
	if opts.Generator, err = generator.Generator(with); err != nil {
		return nil, fmt.Errorf("language model: %w", err)
	}
	opts.JudgeAnswers = true
	opts.Extractor, err = model.New(opts.Generator, predicates.Default(), nil)
	return opts, err
}
