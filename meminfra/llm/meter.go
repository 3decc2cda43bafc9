package llm

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Purpose says what a call is for, and in whose memory. It travels in the
// context, so that calls made in the background are counted like any other.
type Purpose struct {
	Operation string // "extract", "intent", "answer", "embed", ...
	Partition string
}

type purposeKey struct{}

// WithPurpose returns a context whose calls have that purpose. An empty field
// keeps what ctx has.
func WithPurpose(ctx context.Context, p Purpose) context.Context {
	old := PurposeOf(ctx)
	return context.WithValue(ctx, purposeKey{}, Purpose{
		Operation: cmp.Or(p.Operation, old.Operation), Partition: cmp.Or(p.Partition, old.Partition)})
}

// PurposeOf returns the purpose of ctx, zero if it has none.
func PurposeOf(ctx context.Context) Purpose {
	p, _ := ctx.Value(purposeKey{}).(Purpose)
	return p
}

// Line is what one operation used of one model.
type Line struct {
	Operation string `json:"operation"`
	Model     string `json:"model"`
	Usage
}

// Spending is one call as it is told to MeterOptions.Record.
type Spending struct {
	Purpose
	Model string
	At    time.Time
	Usage
}

// MeterOptions configures a Meter. Every zero value is a default.
type MeterOptions struct {
	// TokensPerDay and CallsPerDay are the budget of each partition on each day
	// (UTC); 0 is no bound. Calls under way at the same moment may overshoot it
	// by what they use.
	TokensPerDay int64
	CallsPerDay  int64
	// Spent returns what a partition used on a day, from wherever Record keeps
	// it, so that a budget holds for several processes; nil counts what this
	// meter saw. It is asked before each request under a budget. Its error fails
	// the call: a budget that cannot be known is not assumed to have room.
	Spent func(ctx context.Context, partition string, day time.Time) (Usage, error)
	// Record is told of every call, in the calling goroutine; nil is nobody.
	Record func(ctx context.Context, s Spending)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Meter sums what calls use, by operation and model, and stops a partition that
// has used up its budget. It is safe for concurrent use.
type Meter struct {
	opts  MeterOptions
	mu    sync.Mutex
	lines map[Line]Usage // keys have no usage
	day   time.Time
	spent map[string]Usage // on that day, by partition, as seen here
}

// NewMeter returns a meter; opts may be nil.
func NewMeter(opts *MeterOptions) *Meter {
	m := &Meter{lines: map[Line]Usage{}, spent: map[string]Usage{}}
	if opts != nil {
		m.opts = *opts
	}
	if m.opts.Now == nil {
		m.opts.Now = time.Now
	}
	return m
}

// Generator returns g with its calls metered. It fails with a *BudgetError
// instead of making a call beyond the budget. A call through several meters
// counts for each of them, and once for the tallies of its context.
func (m *Meter) Generator(g Generator) Generator { return &meteredGenerator{g, m} }

// Embedder is Generator for an embedder. Whatever the purpose of a context,
// what its calls do is "embed".
func (m *Meter) Embedder(e Embedder) Embedder { return &meteredEmbedder{e, m} }

// Lines returns what was used since the meter began, by operation, then model.
func (m *Meter) Lines() []Line {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sortedLines(m.lines)
}

func sortedLines(lines map[Line]Usage) []Line {
	out := make([]Line, 0, len(lines))
	for l, u := range lines {
		l.Usage = u
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Model, b.Model))
	})
	return out
}

type meteredGenerator struct {
	Generator
	meter *Meter
}

func (g *meteredGenerator) Generate(ctx context.Context, req Request) (Response, error) {
	if err := g.meter.allow(ctx, Usage{}); err != nil {
		return Response{}, err
	}
	resp, err := g.Generator.Generate(g.meter.permitting(untallied(ctx)), req)
	g.meter.add(ctx, g.Model(), resp.Usage)
	return resp, err
}

type meteredEmbedder struct {
	Embedder
	meter *Meter
}

func (e *meteredEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, _, err := e.EmbedMetered(ctx, texts)
	return vectors, err
}

func (e *meteredEmbedder) EmbedMetered(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	if len(texts) == 0 {
		return nil, Usage{}, nil
	}
	ctx = WithPurpose(ctx, Purpose{Operation: "embed"})
	if err := e.meter.allow(ctx, Usage{}); err != nil {
		return nil, Usage{}, err
	}
	vectors, used, err := EmbedMetered(e.meter.permitting(untallied(ctx)), e.Embedder, texts)
	e.meter.add(ctx, e.Model(), used)
	return vectors, used, err
}

type permitKey struct{}

// Permit reports whether the budgets of the meters that a call goes through have
// room for one more request of it: for who repeats or splits calls. used is what
// the call's requests used so far, which no meter knows of yet; if that is nothing,
// there is room, since the meters were asked before the call. Errors:
// *BudgetError, and those of MeterOptions.Spent.
func Permit(ctx context.Context, used Usage) error {
	if permit, metered := ctx.Value(permitKey{}).(func(Usage) error); metered && used != (Usage{}) {
		return permit(used)
	}
	return nil
}

// using returns a context whose requests come after others of the same call.
func using(ctx context.Context, used Usage) context.Context {
	if ctx.Value(permitKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, permitKey{}, func(more Usage) error { return Permit(ctx, used.Plus(more)) })
}

// permitting returns a context whose requests ask this meter too.
func (m *Meter) permitting(ctx context.Context) context.Context {
	return context.WithValue(ctx, permitKey{}, func(used Usage) error {
		if err := m.allow(ctx, used); err != nil {
			return err
		}
		return Permit(ctx, used)
	})
}

// allow reports whether the budget of the partition has room for a request,
// beside what is not recorded yet.
func (m *Meter) allow(ctx context.Context, pending Usage) error {
	if m.opts.TokensPerDay <= 0 && m.opts.CallsPerDay <= 0 {
		return nil
	}
	partition := PurposeOf(ctx).Partition
	spent, day, err := m.spentToday(ctx, partition)
	if err != nil {
		return err
	}
	spent = spent.Plus(pending)
	if m.opts.TokensPerDay > 0 && spent.Tokens() >= m.opts.TokensPerDay || m.opts.CallsPerDay > 0 && spent.Calls >= m.opts.CallsPerDay {
		return &BudgetError{Partition: partition, Day: day, Spent: spent}
	}
	return nil
}

// spentToday returns what the partition used on the present day.
func (m *Meter) spentToday(ctx context.Context, partition string) (Usage, time.Time, error) {
	day, spent := m.today(partition)
	if m.opts.Spent == nil {
		return spent, day, nil
	}
	spent, err := m.opts.Spent(ctx, partition, day)
	return spent, day, err
}

func (m *Meter) today(partition string) (day time.Time, spent Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turnDay(m.opts.Now())
	return m.day, m.spent[partition]
}

func (m *Meter) turnDay(now time.Time) {
	if day := now.UTC().Truncate(24 * time.Hour); day.After(m.day) {
		m.day = day
		clear(m.spent)
	}
}

// add counts what a call used, in the meter and in the tallies of ctx.
func (m *Meter) add(ctx context.Context, model string, used Usage) {
	if used == (Usage{}) {
		return
	}
	p, now := PurposeOf(ctx), m.opts.Now()
	key := Line{Operation: p.Operation, Model: model}
	m.mu.Lock()
	m.turnDay(now)
	m.lines[key] = m.lines[key].Plus(used)
	m.spent[p.Partition] = m.spent[p.Partition].Plus(used)
	m.mu.Unlock()
	for t := tallyOf(ctx); t != nil; t = t.outer {
		t.add(key, used)
	}
	if m.opts.Record != nil {
		m.opts.Record(ctx, Spending{Purpose: p, Model: model, At: now.UTC(), Usage: used})
	}
}

// Tally sums what the metered calls under one context used: those of one
// request. It is safe for concurrent use.
type Tally struct {
	outer *Tally
	mu    sync.Mutex
	lines map[Line]Usage
}

type tallyKey struct{}

func tallyOf(ctx context.Context) *Tally {
	t, _ := ctx.Value(tallyKey{}).(*Tally)
	return t
}

// untallied is ctx for a call that is counted already.
func untallied(ctx context.Context) context.Context {
	if tallyOf(ctx) == nil {
		return ctx
	}
	return context.WithValue(ctx, tallyKey{}, (*Tally)(nil))
}

// WithTally returns a context and the tally of the metered calls made under it.
// Those of a tally within count for both.
func WithTally(ctx context.Context) (context.Context, *Tally) {
	t := &Tally{outer: tallyOf(ctx), lines: map[Line]Usage{}}
	return context.WithValue(ctx, tallyKey{}, t), t
}

// Lines returns what was used, by operation, then model; none is an empty list.
func (t *Tally) Lines() []Line {
	t.mu.Lock()
	defer t.mu.Unlock()
	return sortedLines(t.lines)
}

func (t *Tally) add(key Line, used Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines[key] = t.lines[key].Plus(used)
}
