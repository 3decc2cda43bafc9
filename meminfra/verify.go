package meminfra

import (
	"context"
	"fmt"

	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Ledger is what can be asked of the record of all decisions: whether it and
// the rows it covers are as they were written, why something is remembered,
// and a copy of it all.
type Ledger struct {
	m *MemoryLayer
}

// Ledger returns the handle for the record of all decisions.
func (m *MemoryLayer) Ledger() Ledger { return Ledger{m} }

// VerifyRequest asks whether memory is as it was written.
type VerifyRequest struct {
	UserID string
	All    bool // every partition of the tenant, in place of a user's
	// Checkpoint, if there is one, also finds a chain that was cut or replaced
	// since it was taken.
	Checkpoint *ledger.Checkpoint
	// Progress is called now and then, with the number of the partition under
	// way, from 1, of how many.
	Progress func(partition, of int, done ledger.Progress)
}

// VerifyResult is what verifying found.
type VerifyResult struct {
	Partitions []ledger.Report
	// NotCovered are the columns that no entry covers: they can be changed and
	// nothing shows.
	NotCovered []ledger.Columns
}

// Err is nil if everything is as it was written, else a *ledger.TamperError
// with the first finding.
func (r *VerifyResult) Err() error {
	for i := range r.Partitions {
		if err := r.Partitions[i].Err(); err != nil {
			return err
		}
	}
	return nil
}

// Verify recomputes the chain of a user's partition, or of all, and compares
// every row it covers with what is stored now: hashes, digests, rows that no
// entry names, rows that are gone and were not forgotten, messages and items of
// another user, team or scope than the partition's, and with Options.LedgerKey a
// chain or an end of it that was made without (see Seal). Each partition is
// read as one snapshot; writers go on. What is wrong is in the result, whose
// Err is then a *ledger.TamperError; an error means that it could not be
// looked at. A user nobody knows verifies. Errors: ErrNoUser, ErrClosed.
// Source: design section 8.
func (l Ledger) Verify(ctx context.Context, req VerifyRequest) (*VerifyResult, error) {
	res, err := l.verify(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	return res, nil
}

// options are what every verification needs.
func (l Ledger) options() ledger.Options {
	return ledger.Options{Keys: l.m.keys, Current: l.m.ledgerKey.ID}
}

func (l Ledger) verify(ctx context.Context, req VerifyRequest) (*VerifyResult, error) {
	ids, err := l.partitions(ctx, req)
	if err != nil {
		return nil, err
	}
	res := &VerifyResult{Partitions: []ledger.Report{}, NotCovered: ledger.NotCovered}
	for i, id := range ids {
		opts := l.options()
		if req.Checkpoint != nil {
			opts.At = req.Checkpoint.Of(id)
		}
		if req.Progress != nil {
			opts.Progress = func(p ledger.Progress) { req.Progress(i+1, len(ids), p) }
		}
		var report *ledger.Report
		err := l.m.store.Snapshot(ctx, id, func(s storage.Snapshot) (err error) {
			report, err = ledger.Verify(ctx, s, opts)
			return err
		})
		if err != nil {
			return nil, err
		}
		res.Partitions = append(res.Partitions, *report)
	}
	return res, nil
}

// partitions are those to verify: of all, also those that only the checkpoint
// knows.
func (l Ledger) partitions(ctx context.Context, req VerifyRequest) ([]string, error) {
	if !req.All {
		id, err := l.m.partitionOf(req.UserID)
		return []string{id}, err
	}
	if l.m.closed.Load() {
		return nil, ErrClosed
	}
	rows, err := l.m.store.Partitions(ctx, l.m.tenant)
	ids := make([]string, len(rows))
	known := make(map[string]bool, len(rows))
	for i, r := range rows {
		ids[i] = r.Partition
		known[r.Partition] = true
	}
	if req.Checkpoint != nil {
		for _, h := range req.Checkpoint.Heads {
			if !known[h.Partition] {
				ids = append(ids, h.Partition)
			}
		}
	}
	return ids, err
}

// Checkpoint returns the heads of all chains of the tenant as of now. Kept
// outside of the database, it lets Verify find a chain that was cut or replaced.
// Errors: ErrClosed.
func (l Ledger) Checkpoint(ctx context.Context) (*ledger.Checkpoint, error) {
	if l.m.closed.Load() {
		return nil, fmt.Errorf("checkpoint: %w", ErrClosed)
	}
	rows, err := l.m.store.Partitions(ctx, l.m.tenant)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	c := &ledger.Checkpoint{At: memory.Time(l.m.now())}
	for _, r := range rows {
		if r.LedgerSeq > 0 {
			c.Heads = append(c.Heads, ledger.Checked{Partition: r.Partition, Seq: r.LedgerSeq, Hash: r.LedgerHead})
		}
	}
	return c, nil
}
