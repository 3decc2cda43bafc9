package main

import (
	"context"
	"fmt"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract/model"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/provider"
	"github.com/meminfra/memory-layer/predicates"
)

// layerOptions reads from the environment which models are used: LLM_* for
// extraction and answers, EMBEDDING_* for vectors, and LEDGER_KEY. Without them
// everything is built in. meter counts what they use.
func (a *app) layerOptions(ctx context.Context, meter *llm.Meter) (*meminfra.Options, error) {
	opts := &meminfra.Options{Now: a.now}
	opts.LedgerKey, opts.OldLedgerKeys = a.ledgerKeys()
	generator, embedder, err := provider.FromEnv(a.getenv)
	if err != nil {
		return nil, err
	}
	with := provider.Options{Getenv: a.getenv, Anthropic: anthropicGenerator, Meter: meter}
	if embedder != nil {
		if opts.Embedder, err = embedder.Embedder(ctx, with); err != nil {
			return nil, fmt.Errorf("embedding model: %w", err)
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
