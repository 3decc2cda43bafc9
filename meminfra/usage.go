package meminfra

import (
	"context"
	"fmt"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// UsageRequest asks what models were used for a user.
type UsageRequest struct {
	UserID string
	Since  time.Time // the day it falls on, in UTC, is the first; zero is all
}

// UsageResult lists it by day, operation and model.
type UsageResult struct {
	Lines []DayUsage `json:"lines"`
	Total llm.Usage  `json:"total"`
}

// DayUsage is what one operation used of one model on one day.
type DayUsage struct {
	Day time.Time `json:"day"` // midnight UTC
	llm.Line
}

// Usage returns what was used of models for the user, calls in the background
// and for vectors included, by whatever process on this store. Models that do
// not tell what they used, such as the built-in embedder, are not in it. Errors:
// ErrNoUser, ErrClosed and those of the store.
func (m *MemoryLayer) Usage(ctx context.Context, req UsageRequest) (*UsageResult, error) {
	partition, err := m.partitionOf(req.UserID)
	if err != nil {
		return nil, fmt.Errorf("usage: %w", err)
	}
	list, err := m.store.Usage(ctx, partition, memory.Day(req.Since))
	if err != nil {
		return nil, fmt.Errorf("usage: %w", err)
	}
	out := &UsageResult{Lines: make([]DayUsage, len(list))}
	for i, u := range list {
		used := llm.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, Calls: u.Calls}
		out.Lines[i] = DayUsage{Day: u.Day, Line: llm.Line{Operation: u.Operation, Model: u.Model, Usage: used}}
		out.Total = out.Total.Plus(used)
	}
	return out, nil
}

// meter puts a meter before every model of the options: what they use is kept
// in the store, by partition and day, and bounded by the day's budget. An
// embedder that does not tell what it used is left as it is.
func (m *MemoryLayer) meter(o *Options) {
	meter := llm.NewMeter(&llm.MeterOptions{TokensPerDay: o.TokensPerDay, CallsPerDay: o.CallsPerDay,
		Spent: m.spent, Record: m.record, Now: m.now})
	if m.generator != nil {
		m.generator = meter.Generator(m.generator)
	}
	if e, ok := m.embedder.(llm.MeteredEmbedder); ok {
		m.embedder = meter.Embedder(e)
	}
	if e, ok := m.extractor.(extract.Asking); ok {
		m.extractor = e.Through(meter.Generator)
	}
}

// spent is what a partition used on a day, so far and by all processes.
func (m *MemoryLayer) spent(ctx context.Context, partition string, day time.Time) (sum llm.Usage, err error) {
	list, err := m.store.Usage(ctx, partition, day)
	for _, u := range list {
		if u.Day.Equal(day) {
			sum = sum.Plus(llm.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, Calls: u.Calls})
		}
	}
	return sum, err
}

// record keeps what a call used, even if its caller has gone: it was paid for.
func (m *MemoryLayer) record(ctx context.Context, s llm.Spending) {
	err := m.store.AddUsage(context.WithoutCancel(ctx), []memory.Usage{{Partition: s.Partition, Day: memory.Day(s.At), Operation: s.Operation,
		Model: s.Model, Calls: s.Calls, InputTokens: s.InputTokens, OutputTokens: s.OutputTokens}})
	if err != nil {
		m.logger.WarnContext(ctx, "keeping what a model used failed", "model", s.Model, "operation", s.Operation, "error", err)
	}
}

// tallied returns a context whose calls to models are for a partition and, as
// far as they do not say better, for a verb; and the tally of what they use.
func tallied(ctx context.Context, verb, partition string) (context.Context, *llm.Tally) {
	return llm.WithTally(llm.WithPurpose(ctx, llm.Purpose{Operation: verb, Partition: partition}))
}
