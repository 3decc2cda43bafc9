package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Policy says how calls to a provider are made. Every zero value is a default.
type Policy struct {
	// Timeout bounds one attempt; 0 means a minute.
	Timeout time.Duration
	// Attempts is the most times that a call is made; 0 means 3, 1 never repeats.
	Attempts int
	// Wait is the longest pause before the second attempt, doubled for each
	// further one; 0 means a second. The pause is random between half and all
	// of it, so that callers that failed together do not return together.
	Wait time.Duration
	// MaxWait is the longest that a provider may ask to wait (Retry-After); 0
	// means 30 seconds. One that asks for more gets no further attempt.
	MaxWait time.Duration
	// Concurrency is the most attempts under way at a time; 0 means 4.
	Concurrency int
	// Sleep waits for d or until ctx is done; nil is a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Random returns a number in [0, 1); nil is math/rand.
	Random func() float64
}

// Generator returns g under the policy. It repeats what a *Error says may
// succeed later, and attempts that ran into the timeout; nothing else. The
// response's usage is that of all attempts. Each attempt is checked against the
// budgets of the meters on either side of the policy.
func (p Policy) Generator(g Generator) Generator { return &steadyGenerator{g, newCaller(p)} }

// Embedder is Generator for an embedder.
func (p Policy) Embedder(e Embedder) Embedder { return &steadyEmbedder{e, newCaller(p)} }

type steadyGenerator struct {
	Generator
	caller *caller
}

func (s *steadyGenerator) Generate(ctx context.Context, req Request) (Response, error) {
	var used Usage
	var last Response
	err := s.caller.do(ctx, func(ctx context.Context) (err error) {
		if err := Permit(ctx, used); err != nil {
			return err
		}
		last, err = s.Generator.Generate(using(ctx, used), req)
		used = used.Plus(last.Usage)
		return err
	})
	if err != nil {
		last = Response{}
	}
	last.Usage = used
	return last, err
}

type steadyEmbedder struct {
	Embedder
	caller *caller
}

func (s *steadyEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, _, err := s.EmbedMetered(ctx, texts)
	return vectors, err
}

func (s *steadyEmbedder) EmbedMetered(ctx context.Context, texts []string) (vectors [][]float32, used Usage, err error) {
	err = s.caller.do(ctx, func(ctx context.Context) error {
		if err := Permit(ctx, used); err != nil {
			return err
		}
		v, u, err := EmbedMetered(using(ctx, used), s.Embedder, texts)
		vectors, used = v, used.Plus(u)
		return err
	})
	if err != nil {
		vectors = nil
	}
	return vectors, used, err
}

// caller makes calls by a policy without zero values.
type caller struct {
	Policy
	running chan struct{}
}

func newCaller(p Policy) *caller {
	p.Timeout = orDefault(p.Timeout, time.Minute)
	p.Attempts = orDefault(p.Attempts, 3)
	p.Wait = orDefault(p.Wait, time.Second)
	p.MaxWait = orDefault(p.MaxWait, 30*time.Second)
	p.Concurrency = orDefault(p.Concurrency, 4)
	if p.Sleep == nil {
		p.Sleep = sleep
	}
	if p.Random == nil {
		p.Random = rand.Float64
	}
	return &caller{p, make(chan struct{}, p.Concurrency)}
}

func orDefault[T int | time.Duration](v, standard T) T {
	if v <= 0 {
		return standard
	}
	return v
}

// do makes the call until it succeeds, fails for good, or was tried enough.
func (c *caller) do(ctx context.Context, call func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := c.once(ctx, call)
		if err == nil {
			return nil
		}
		wait, again := c.pause(err, attempt)
		if !again || ctx.Err() != nil {
			return after(attempt, err)
		}
		if stopped := c.Sleep(ctx, wait); stopped != nil {
			return fmt.Errorf("%w while waiting to repeat: %w", stopped, after(attempt, err))
		}
	}
}

func after(attempts int, err error) error {
	if attempts == 1 {
		return err
	}
	return fmt.Errorf("after %d attempts: %w", attempts, err)
}

// once makes one attempt when there is room for it. No room is held while
// waiting between attempts.
func (c *caller) once(ctx context.Context, call func(context.Context) error) error {
	select {
	case c.running <- struct{}{}:
		defer func() { <-c.running }()
	case <-ctx.Done():
		return ctx.Err()
	}
	attempt, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	err := call(attempt)
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // the caller's own end, however the adapter saw it
	}
	return err
}

// pause decides whether an error is worth another attempt, and after how long.
func (c *caller) pause(err error, attempt int) (wait time.Duration, again bool) {
	if attempt >= c.Attempts {
		return 0, false
	}
	backoff := c.Wait << min(attempt-1, 10)
	backoff = backoff/2 + time.Duration(c.Random()*float64(backoff/2))
	var failed *Error
	switch {
	case errors.As(err, &failed):
		if !failed.Retryable || failed.RetryAfter > c.MaxWait {
			return 0, false
		}
		if failed.RetryAfter > 0 {
			// Never sooner than asked; a little later, each at another moment.
			return failed.RetryAfter + min(backoff, c.Wait)/4, true
		}
		return min(backoff, c.MaxWait), true
	case errors.Is(err, context.DeadlineExceeded):
		return min(backoff, c.MaxWait), true
	}
	return 0, false
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
