package meminfra

import (
	"context"
	"time"

	"github.com/meminfra/memory-layer/intent"
	"github.com/meminfra/memory-layer/meminfra/extract/model"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
)

// defaultIntentTimeout is how long a search waits for its intent: about what a
// small model needs, and no more than whoever asked will wait for a hint.
const defaultIntentTimeout = 5 * time.Second

// newIntentModel returns what asks the generator for intents, nil if that is not
// wanted or there is none.
func (m *MemoryLayer) newIntentModel(o *Options) *retrieve.IntentModel {
	if !o.ModelIntent || m.generator == nil {
		return nil
	}
	wait := o.IntentTimeout
	if wait <= 0 {
		wait = defaultIntentTimeout
	}
	return &retrieve.IntentModel{Model: m.generator.Model(), PromptHash: model.IntentHash(m.registry),
		Ask: func(ctx context.Context, query string) (intent.QueryIntent, error) {
			ctx, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			return model.Intent(ctx, m.generator, m.registry, query)
		}}
}

// settled is an intent model for repeats of a search within one answer: what the
// first one found, if anything, is not asked for again.
func settled(by *retrieve.IntentModel, found *retrieve.Result) *retrieve.IntentModel {
	if by == nil || !found.ByModel {
		return nil
	}
	again := *by
	again.Ask = func(context.Context, string) (q intent.QueryIntent, err error) {
		if found.Intent != nil {
			q = *found.Intent
		}
		return q, nil
	}
	return &again
}
