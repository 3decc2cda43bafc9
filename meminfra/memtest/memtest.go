// Package memtest helps to test programs that remember: a clock and ids that
// are the same in every run, and a store that breaks on demand. It imports the
// standard library and this module only; the PostgreSQL finder, which needs
// more, is package pgtest.
package memtest

import (
	"fmt"
	"sync"
	"time"
)

// Clock is a clock that moves only when it is told to. It is safe for
// concurrent use.
type Clock struct {
	mu   sync.Mutex
	now  time.Time
	step time.Duration
}

// NewClock returns a clock that shows start, in UTC. Each call of Now moves it
// on by step; 0 keeps it still.
func NewClock(start time.Time, step time.Duration) *Clock {
	return &Clock{now: start.UTC(), step: step}
}

// Now returns the time shown, then moves on by the step.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now
	c.now = now.Add(c.step)
	return now
}

// Set makes the clock show t, in UTC.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t.UTC()
}

// Advance moves the clock by d, which may be negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// IDs makes the ids 00000000-0000-7000-8000-000000000001 and up: the form of
// a UUID of version 7, sortable, the same in every run. The zero value starts
// at 1. It is safe for concurrent use.
type IDs struct {
	mu   sync.Mutex
	last uint64
}

// NewID returns the next id.
func (s *IDs) NewID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return fmt.Sprintf("00000000-0000-7000-8000-%012x", s.last)
}
