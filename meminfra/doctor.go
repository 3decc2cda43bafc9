package meminfra

import (
	"context"
	"fmt"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// DoctorRequest asks whether everything is in order.
type DoctorRequest struct {
	Fix bool // finishes erasures that are pending
}

// DoctorResult is what was looked at, in order.
type DoctorResult struct {
	Checks []Check `json:"checks"`
}

// Check is one thing looked at. Remedy is what to do about what was found, ""
// if nothing is wrong.
type Check struct {
	Name   string   `json:"name"`
	OK     bool     `json:"ok"`
	Found  []string `json:"found"`
	Remedy string   `json:"remedy"`
}

// OK reports whether nothing is wrong.
func (r *DoctorResult) OK() bool {
	for _, c := range r.Checks {
		if !c.OK {
			return false
		}
	}
	return true
}

// Doctor looks the whole database over: the ledger of every partition of the
// tenant and the rows it covers, vectors, rows without their partners, and
// extractions and erasures that were left unfinished. What it finds is in the
// result; an error means that it could not look. It reads everything. Errors:
// ErrClosed and those of the store.
func (m *MemoryLayer) Doctor(ctx context.Context, req DoctorRequest) (*DoctorResult, error) {
	if m.closed.Load() {
		return nil, fmt.Errorf("doctor: %w", ErrClosed)
	}
	if req.Fix {
		if _, err := m.store.Scrub(ctx); err != nil {
			return nil, fmt.Errorf("doctor: %w", err)
		}
	}
	chains, err := m.checkLedgers(ctx)
	if err != nil {
		return nil, fmt.Errorf("doctor: %w", err)
	}
	findings, err := m.store.Audit(ctx, storage.AuditParams{Model: m.embedder.Model(), Now: memory.Time(m.now())})
	if err != nil {
		return nil, fmt.Errorf("doctor: %w", err)
	}
	out := &DoctorResult{Checks: []Check{chains}}
	for _, topic := range []struct {
		storage.Topic
		remedy string
	}{
		{storage.TopicVectors, "meminfra reembed --user U, with --team T or --public for what was told there: words find them until then"},
		{storage.TopicOrphans, "restore a backup, or report it: this program leaves none behind"},
		{storage.TopicExtractions, "meminfra reprocess --user U, with --team T or --public for what U told there"},
		{storage.TopicErasures, "meminfra doctor --fix, when nobody else reads the database"},
		{storage.TopicExpired, "meminfra sweep"},
	} {
		c := Check{Name: string(topic.Topic), OK: true, Found: []string{}}
		for _, f := range findings {
			if f.Topic == topic.Topic {
				c.OK, c.Remedy = false, topic.remedy
				c.Found = append(c.Found, fmt.Sprintf("%d %s", f.Count, f.What))
			}
		}
		out.Checks = append(out.Checks, c)
	}
	return out, nil
}

// checkLedgers verifies all partitions.
func (m *MemoryLayer) checkLedgers(ctx context.Context) (Check, error) {
	c := Check{Name: "ledger", OK: true, Found: []string{}}
	res, err := m.Ledger().Verify(ctx, VerifyRequest{All: true})
	if err != nil {
		return c, err
	}
	for i := range res.Partitions {
		if err := res.Partitions[i].Err(); err != nil {
			c.OK = false
			if !res.Partitions[i].UnkeyedOnly() {
				c.Remedy = "meminfra verify lists it; restore a backup, or find out who changed the rows"
			} else if c.Remedy == "" {
				c.Remedy = "meminfra seal, if it was written before LEDGER_KEY was set"
			}
			c.Found = append(c.Found, err.Error())
		}
	}
	return c, nil
}
