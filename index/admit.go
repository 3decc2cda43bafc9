package index

import (
	"sync"
	"time"
)

// admissions remembers admitted sets of one state of the index. Most searches of a
// partition ask the same question with the same answer: what is current now.
type admissions struct {
	mu   sync.Mutex
	sets map[string]*admission
}

// admission is an admitted set and the stretch of time in which it holds.
type admission struct {
	set         *Bitmap
	from, until time.Time // half-open; a zero until is no end
}

// maxAdmissions bounds how many sets are remembered; then all are forgotten.
const maxAdmissions = 16

// AdmitAt is Admit for a question that has a name and depends on the time: key
// says all that f goes by but now. F also returns when its answer about the row
// may change next, were nothing written: a zero time for never. A set is
// remembered until then, or until the index is written to, and handed out again
// for equal keys; so it is read only.
func (v *View) AdmitAt(key string, now time.Time, f func(a *Attr) (admitted bool, until time.Time)) *Bitmap {
	c := &v.s.admissions
	if set := c.get(key, now); set != nil {
		return set
	}
	a := &admission{from: now}
	a.set = v.Admit(func(attr *Attr) bool {
		ok, until := f(attr)
		if !until.IsZero() && (a.until.IsZero() || until.Before(a.until)) {
			a.until = until
		}
		return ok
	})
	c.put(key, a)
	return a.set
}

func (c *admissions) get(key string, now time.Time) *Bitmap {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.sets[key]
	if a == nil || now.Before(a.from) || (!a.until.IsZero() && !now.Before(a.until)) {
		return nil
	}
	return a.set
}

func (c *admissions) put(key string, a *admission) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sets == nil || len(c.sets) >= maxAdmissions {
		c.sets = make(map[string]*admission)
	}
	c.sets[key] = a
}

// forget drops all sets: rows have changed.
func (c *admissions) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sets = nil
}

func (c *admissions) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int64(0)
	for key, a := range c.sets {
		n += int64(len(key)) + a.set.bytes()
	}
	return n
}
