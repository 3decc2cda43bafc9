package llm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memtest"
)

func TestMeterSums(t *testing.T) {
	var told []llm.Spending
	m := llm.NewMeter(&llm.MeterOptions{Record: func(_ context.Context, s llm.Spending) { told = append(told, s) }})
	g, e := m.Generator(memtest.NewGenerator("abc", "de")), m.Embedder(memtest.NewEmbedder("vectors", 4))
	outer, all := llm.WithTally(llm.WithPurpose(t.Context(), llm.Purpose{Operation: "extract", Partition: "p1"}))
	inner, one := llm.WithTally(outer)
	_, _ = g.Generate(outer, llm.Request{System: "12345"})
	_, _ = g.Generate(inner, llm.Request{System: "12345"})
	_, _ = g.Generate(outer, llm.Request{System: "12345"}) // the script has ended: asked, paid, failed
	_, _ = e.Embed(llm.WithPurpose(inner, llm.Purpose{Operation: "embed"}), []string{"xyz"})
	_, _ = e.Embed(inner, nil)
	want := []llm.Line{
		{Operation: "embed", Model: "vectors", Usage: llm.Usage{InputTokens: 3, Calls: 1}},
		{Operation: "extract", Model: "scripted", Usage: llm.Usage{InputTokens: 15, OutputTokens: 5, Calls: 3}},
	}
	for name, got := range map[string][]llm.Line{"meter": m.Lines(), "tally": all.Lines()} {
		if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := one.Lines(); len(got) != 2 || got[1].Calls != 1 {
		t.Errorf("inner tally: %+v", got)
	}
	if len(told) != 4 || told[3].Operation != "embed" || told[3].Partition != "p1" {
		t.Errorf("recorded %+v", told)
	}
}

func TestBudgetOfADayAndPartition(t *testing.T) {
	clock := memtest.NewClock(time.Date(2026, 5, 1, 23, 0, 0, 0, time.UTC), 0)
	type key struct {
		partition string
		day       int
	}
	kept := map[key]llm.Usage{{"p2", 1}: {InputTokens: 10}} // by another process
	m := llm.NewMeter(&llm.MeterOptions{TokensPerDay: 10, Now: clock.Now,
		Spent: func(_ context.Context, p string, day time.Time) (llm.Usage, error) {
			return kept[key{p, day.Day()}], nil
		},
		Record: func(_ context.Context, s llm.Spending) {
			k := key{s.Partition, s.At.Day()}
			kept[k] = kept[k].Plus(s.Usage)
		}})
	g := m.Generator(memtest.NewResponder(func(llm.Request) string { return "123456" }))
	ask := func(partition string) error {
		_, err := g.Generate(llm.WithPurpose(t.Context(), llm.Purpose{Partition: partition}), llm.Request{})
		return err
	}
	if err := errors.Join(ask("p1"), ask("p1")); err != nil {
		t.Fatal(err)
	}
	var over *llm.BudgetError
	if err := ask("p1"); !errors.Is(err, llm.ErrBudget) || !errors.As(err, &over) || over.Partition != "p1" || over.Spent.Tokens() != 12 {
		t.Errorf("error %v", err)
	}
	if err := ask("p2"); !errors.Is(err, llm.ErrBudget) {
		t.Errorf("what was spent before this process does not count: %v", err)
	}
	if err := ask("p3"); err != nil {
		t.Errorf("another partition: %v", err)
	}
	clock.Advance(2 * time.Hour)
	if err := errors.Join(ask("p1"), ask("p2")); err != nil {
		t.Errorf("the next day: %v", err)
	}
}

// A call through two meters is one call for the request that made it.
func TestMeterWithinAMeter(t *testing.T) {
	inner, outer := llm.NewMeter(nil), llm.NewMeter(nil)
	ctx, tally := llm.WithTally(llm.WithPurpose(t.Context(), llm.Purpose{Operation: "search"}))
	_, _ = outer.Generator(inner.Generator(memtest.NewGenerator("abc"))).Generate(ctx, llm.Request{})
	_, _ = outer.Embedder(inner.Embedder(memtest.NewEmbedder("v", 4))).Embed(ctx, []string{"x"})
	for name, lines := range map[string][]llm.Line{"inner": inner.Lines(), "outer": outer.Lines(), "tally": tally.Lines()} {
		if len(lines) != 2 || lines[0].Operation != "embed" || lines[0].Calls != 1 || lines[1].Operation != "search" || lines[1].Calls != 1 {
			t.Errorf("%s: %+v", name, lines)
		}
	}
}

// A budget that is used up ends the repeats of a policy at once.
func TestBudgetUnderAPolicy(t *testing.T) {
	m := llm.NewMeter(&llm.MeterOptions{CallsPerDay: 2})
	busy := fails(llm.Error{Status: 500, Retryable: true})
	s := &sleeper{}
	g := llm.Policy{Attempts: 9, Sleep: s.sleep}.Generator(m.Generator(turns(busy, busy, busy, busy)))
	if _, err := g.Generate(t.Context(), llm.Request{}); !errors.Is(err, llm.ErrBudget) || len(s.waits) != 2 {
		t.Errorf("waits %v, error %v", s.waits, err)
	}
}

// A meter before the policy has each repeat ask the budget as well, beside what
// the call has used so far, and so has one before another meter.
func TestBudgetBeforeAPolicy(t *testing.T) {
	busy := fails(llm.Error{Status: 500, Retryable: true})
	for name, around := range map[string]func(llm.Generator) llm.Generator{
		"a policy": func(g llm.Generator) llm.Generator {
			return llm.Policy{Attempts: 9, Sleep: (&sleeper{}).sleep}.Generator(g)
		},
		"a policy before a meter": func(g llm.Generator) llm.Generator {
			return llm.Policy{Attempts: 9, Sleep: (&sleeper{}).sleep}.Generator(llm.NewMeter(nil).Generator(g))
		},
		"a meter before a policy": func(g llm.Generator) llm.Generator {
			return llm.NewMeter(nil).Generator(llm.Policy{Attempts: 9, Sleep: (&sleeper{}).sleep}.Generator(g))
		},
		"a policy before a policy": func(g llm.Generator) llm.Generator {
			p := llm.Policy{Attempts: 2, Sleep: (&sleeper{}).sleep}
			return p.Generator(p.Generator(g))
		},
	} {
		m := llm.NewMeter(&llm.MeterOptions{CallsPerDay: 3})
		script := turns(busy, busy, busy, busy, busy, busy)
		var over *llm.BudgetError
		_, err := m.Generator(around(script)).Generate(t.Context(), llm.Request{})
		if !errors.As(err, &over) || over.Spent.Calls != 3 || len(script.Requests()) != 3 {
			t.Errorf("%s: asked %d times, error %v", name, len(script.Requests()), err)
		}
		if lines := m.Lines(); len(lines) != 1 || lines[0].Calls != 3 {
			t.Errorf("%s: %+v", name, lines)
		}
	}
}
