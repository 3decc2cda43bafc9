package index

import (
	"sync"
	"time"
)

// Kept is something that was made of the rows of an index and says what it costs
// in memory, approximately.
type Kept interface{ Bytes() int64 }

// keeper remembers what was made of one state of the index. Most searches of a
// partition ask the same question with the same answer: what is current now.
type keeper struct {
	mu   sync.Mutex
	list map[string]*keeping
}

// keeping is a value and the stretch of time in which it holds.
type keeping struct {
	value       Kept
	from, until time.Time // half-open; a zero until is no end
}

// maxKept bounds how many values are remembered; then all are forgotten.
const maxKept = 64

// Keep returns what f makes of the view's rows at a time, and remembers it under
// a key that says all that f goes by but the rows and the time. F also returns
// when its answer may change next, were nothing written: a zero time for never.
// The value is handed out again until then, or until the index is written to; so
// it is read only.
func Keep[T Kept](v *View, key string, now time.Time, f func() (value T, until time.Time)) T {
	c := &v.s.kept
	if value, ok := c.get(key, now).(T); ok {
		return value
	}
	value, until := f()
	c.put(key, &keeping{value: value, from: now, until: until})
	return value
}

func (c *keeper) get(key string, now time.Time) Kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.list[key]
	if k == nil || now.Before(k.from) || (!k.until.IsZero() && !now.Before(k.until)) {
		return nil
	}
	return k.value
}

func (c *keeper) put(key string, k *keeping) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil || len(c.list) >= maxKept {
		c.list = make(map[string]*keeping)
	}
	c.list[key] = k
}

// forget drops everything: rows have changed.
func (c *keeper) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = nil
}

func (c *keeper) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int64(0)
	for key, k := range c.list {
		n += int64(len(key)) + k.value.Bytes()
	}
	return n
}
