package llm_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memtest"
)

// sleeper notes what it is asked to wait and does not.
type sleeper struct {
	mu    sync.Mutex
	waits []time.Duration
}

func (s *sleeper) sleep(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = append(s.waits, d)
	return ctx.Err()
}

func turns(list ...memtest.Turn) *memtest.Generator { return memtest.NewScript(list...) }

func fails(e llm.Error) memtest.Turn { e.Provider = "test"; return memtest.Turn{Err: &e} }

func TestRepeats(t *testing.T) {
	busy := fails(llm.Error{Status: 500, Retryable: true})
	ok := memtest.Turn{Text: "ok"}
	tests := []struct {
		name  string
		turns []memtest.Turn
		waits []time.Duration // with Random 0.5
		calls int64
		ok    bool
	}{
		{"success", []memtest.Turn{ok}, nil, 1, true},
		{"500 then success", []memtest.Turn{busy, ok}, []time.Duration{750 * time.Millisecond}, 2, true},
		{"three failures", []memtest.Turn{busy, busy, busy, ok}, []time.Duration{750 * time.Millisecond, 1500 * time.Millisecond}, 3, false},
		{"Retry-After", []memtest.Turn{fails(llm.Error{Status: 429, Retryable: true, RetryAfter: 7 * time.Second}), ok},
			[]time.Duration{7*time.Second + 750*time.Millisecond/4}, 2, true},
		{"Retry-After too long", []memtest.Turn{fails(llm.Error{Status: 429, Retryable: true, RetryAfter: time.Hour}), ok}, nil, 1, false},
		{"not worth it", []memtest.Turn{fails(llm.Error{Status: 401}), ok}, nil, 1, false},
		{"attempt timed out", []memtest.Turn{{Err: context.DeadlineExceeded}, ok}, []time.Duration{750 * time.Millisecond}, 2, true},
		{"another error", []memtest.Turn{{Err: errors.New("odd")}, ok}, nil, 1, false},
	}
	for _, tt := range tests {
		s := &sleeper{}
		g := llm.Policy{Sleep: s.sleep, Random: func() float64 { return 0.5 }}.Generator(turns(tt.turns...))
		resp, err := g.Generate(t.Context(), llm.Request{})
		if (err == nil) != tt.ok || resp.Usage.Calls != tt.calls || (err == nil) != (resp.Text == "ok") {
			t.Errorf("%s: %+v, error %v", tt.name, resp, err)
		}
		if len(s.waits) != len(tt.waits) {
			t.Errorf("%s: waited %v, want %v", tt.name, s.waits, tt.waits)
			continue
		}
		for i := range s.waits {
			if s.waits[i] != tt.waits[i] {
				t.Errorf("%s: waited %v, want %v", tt.name, s.waits, tt.waits)
			}
		}
	}
}

func TestEndOfTheCallerIsNoTimeout(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := llm.Policy{}.Generator(turns(memtest.Turn{Err: &llm.Error{Retryable: true}, Do: func(llm.Request) string { cancel(); return "" }}))
	if _, err := g.Generate(ctx, llm.Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestTimeoutOfOneAttempt(t *testing.T) {
	s := &sleeper{}
	slow := &slowOnce{Generator: memtest.NewGenerator("ok")}
	g := llm.Policy{Timeout: 20 * time.Millisecond, Sleep: s.sleep}.Generator(slow)
	resp, err := g.Generate(t.Context(), llm.Request{})
	if err != nil || resp.Text != "ok" || len(s.waits) != 1 {
		t.Errorf("%+v, waits %v, error %v", resp, s.waits, err)
	}
}

type slowOnce struct {
	llm.Generator
	asked atomic.Bool
}

func (s *slowOnce) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	if !s.asked.Swap(true) {
		<-ctx.Done()
		return llm.Response{}, ctx.Err()
	}
	return s.Generator.Generate(ctx, req)
}

func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time stands still until all calls are in or waiting
		var now, most atomic.Int64
		g := llm.Policy{Concurrency: 2}.Generator(memtest.NewResponder(func(llm.Request) string {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(2 * time.Millisecond)
			now.Add(-1)
			return "ok"
		}))
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { _, _ = g.Generate(t.Context(), llm.Request{}) })
		}
		wg.Wait()
		if most.Load() != 2 {
			t.Errorf("%d at a time", most.Load())
		}
	})
}

func TestEmbedderUnderAPolicy(t *testing.T) {
	inner := memtest.NewEmbedder("m", 4)
	inner.Fail(&llm.Error{Status: 503, Retryable: true})
	s := &sleeper{}
	e := llm.Policy{Sleep: s.sleep}.Embedder(inner)
	if _, used, err := llm.EmbedMetered(t.Context(), e, []string{"x"}); err == nil || used.Calls != 3 || len(s.waits) != 2 {
		t.Errorf("usage %+v, waits %v, error %v", used, s.waits, err)
	}
	inner.Fail(nil)
	if v, err := e.Embed(t.Context(), []string{"x"}); err != nil || len(v) != 1 || e.Dim() != 4 || e.Model() != "m" {
		t.Errorf("%v, error %v", v, err)
	}
}

func TestErrorsHoldNoContent(t *testing.T) {
	e := &llm.Error{Provider: "openai", Status: 429, Reason: "too many requests", Code: "rate_limit_exceeded", RequestID: "req_1"}
	if got := e.Error(); got != "openai: status 429: too many requests (rate_limit_exceeded), request req_1" {
		t.Errorf("%q", got)
	}
}
