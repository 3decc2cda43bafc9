package meminfra

import (
	"context"
	"fmt"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// SweepRequest asks to erase what has expired, of all users.
type SweepRequest struct {
	DryRun bool // tells what would go and erases nothing
}

// SweepResult is a certificate for each partition that lost something, and how
// many old traces went: those of users who search again go by themselves.
type SweepResult struct {
	Certificates []*ForgetResult `json:"certificates"`
	Traces       int             `json:"traces"`
	Residue      string          `json:"residue"`
}

// Sweep erases what has expired in all partitions of the tenant, as Forget
// would, and drops traces over 30 days of all users. Nothing reads expired
// memory before it, so when it runs is a matter of tidiness. It also finishes
// erasures that are pending. Errors: ErrClosed and those of the store; what was
// erased before one stays erased.
func (m *MemoryLayer) Sweep(ctx context.Context, req SweepRequest) (*SweepResult, error) {
	if m.closed.Load() {
		return nil, fmt.Errorf("sweep: %w", ErrClosed)
	}
	res, err := m.sweep(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	return res, nil
}

func (m *MemoryLayer) sweep(ctx context.Context, req SweepRequest) (*SweepResult, error) {
	now := memory.Time(m.now())
	due, err := m.store.Due(ctx, now)
	if err != nil {
		return nil, err
	}
	res := &SweepResult{Certificates: []*ForgetResult{}, Residue: ResidueNone}
	var certificates []*Certificate
	for _, p := range due {
		if p.Tenant != m.tenant {
			continue
		}
		c := newCertificate(p.ID(), byExpiry, now, req.DryRun)
		if err := m.expire(ctx, p, c); err != nil {
			return nil, err
		}
		if len(c.Rows) > 0 && isShared(p) {
			if err := m.forgetShown(ctx, c, c); err != nil {
				return nil, err
			}
		}
		if len(c.Rows) > 0 {
			certificates = append(certificates, c)
		}
	}
	if !req.DryRun {
		if res.Traces, err = m.store.Prune(ctx, now.Add(-memory.TraceRetention)); err != nil {
			return nil, err
		}
		res.Residue = m.scrub(ctx)
	}
	for _, c := range certificates {
		c.Residue = res.Residue
		signed, err := m.sign(c)
		if err != nil {
			return nil, err
		}
		res.Certificates = append(res.Certificates, signed)
	}
	return res, nil
}

// expire erases what has expired in one partition.
func (m *MemoryLayer) expire(ctx context.Context, p memory.Partition, c *Certificate) error {
	items, episodes, err := m.retriever.Expired(ctx, c.Partition, c.At)
	if err != nil {
		return err
	}
	return m.erase(ctx, p, c, func(e *erasing) error {
		list, err := e.tx.Items(ctx, items)
		if err != nil {
			return err
		}
		for i := range list {
			e.items[list[i].ID], e.expired[list[i].ID] = true, true
		}
		e.addEpisodes(episodes)
		return nil
	})
}
