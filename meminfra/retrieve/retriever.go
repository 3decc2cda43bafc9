// Package retrieve is the read path: which rows a caller may see, the three
// branches over them, their fusion, and the hits resolved from SQL.
//
// Truth and derivation: the index proposes rows, SQL resolves and re-checks
// every one of them before it becomes a hit. A stale index can cost recall for
// a moment and never shows what is deleted, superseded or forbidden.
package retrieve

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/meminfra/memory-layer/fusion"
	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/predicates"
)

// Errors of the read path.
var (
	// ErrBlankQuery: the query says nothing.
	ErrBlankQuery = errors.New("blank query")
	// ErrLimit: a negative limit.
	ErrLimit = errors.New("negative limit")
)

// Limits of the read path. Source: design section 6.
const (
	DefaultLimit = 10
	MaxLimit     = 100
	// DefaultSharedLimit keeps the shared block small beside the caller's own.
	DefaultSharedLimit = 3
	branchDepth        = 100 // candidates of a branch; constant, so that a limit never changes an order
)

// Retriever searches and lists. Its fields are required but Logger and Tenant.
type Retriever struct {
	Store    storage.Store
	Index    *index.Manager
	Embedder llm.Embedder
	Registry *predicates.Registry
	Now      func() time.Time
	NewID    func() string
	Logger   *slog.Logger
	Tenant   string
	// IsPrivate reports a message that, wherever it was told, is for who told it
	// alone: one that says what he prefers.
	IsPrivate func(*memory.Episode) bool
}

// Query is a search in what a user may read.
type Query struct {
	UserID     string
	Text       string
	Limit      int
	Filters    Filters
	SkipIntent bool
	// IntentModel infers the hint; nil leaves it to rules.
	IntentModel *IntentModel
	// SkipTrace writes no trace: it is part of something that has its own.
	SkipTrace bool
	// Fusion merges the branches; nil is fusion.Default.
	Fusion fusion.Strategy
	// SkipContext leaves the order to fusion, SkipPriors gives nothing to what
	// is recent.
	SkipContext bool
	SkipPriors  bool
	// SharedLimit is the most hits from shared partitions: 0 is
	// DefaultSharedLimit, negative none.
	SharedLimit int
}

// clip checks a limit: 0 is the default, negative an error, too much the most.
func clip(limit, byDefault, most int) (int, error) {
	switch {
	case limit < 0:
		return 0, ErrLimit
	case limit == 0:
		return byDefault, nil
	}
	return min(limit, most), nil
}

// checkQuery applies the text rules to a query.
func checkQuery(s string) (string, error) {
	if len(s) > memory.MaxQueryBytes {
		return "", fmt.Errorf("query: %d bytes, at most %d: %w", len(s), memory.MaxQueryBytes, memory.ErrTooLong)
	}
	s = memory.CleanText(s)
	if memory.IsBlank(s) {
		return "", ErrBlankQuery
	}
	return s, nil
}
