package retrieve

import (
	"context"

	"github.com/meminfra/memory-layer/intent"
	"github.com/meminfra/memory-layer/meminfra/llm"
)

// IntentModel asks a model what stored fact a query is about.
type IntentModel struct {
	Model, PromptHash string // for traces
	// Ask returns the intent; an empty Predicate says that the query is about
	// none. On an error the rules are used, and a line in Degraded says so.
	Ask func(ctx context.Context, query string) (intent.QueryIntent, error)
}

// readIntent infers the hint for the structured branch: by the model if there is
// one and it can, else by rules.
func (s *search) readIntent(ctx context.Context) {
	if s.query.SkipIntent {
		return
	}
	if by := s.query.IntentModel; by != nil {
		found, err := by.Ask(ctx, s.query.Text)
		if err == nil {
			s.intentBy = by
			if found.Predicate != "" {
				s.intent = &found
			}
			return
		}
		s.degrade("intent by rules: %s", llm.Fault("the model", err))
		if s.Logger != nil {
			s.Logger.WarnContext(ctx, "search: the intent by model failed", "model", by.Model, "error", llm.Safe(err))
		}
	}
	if found, ok := intent.Infer(s.Registry, s.query.Text); ok {
		s.intent = &found
	}
}
