package meminfra

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// ErrNoLedgerKey: there is no key to go on with.
var ErrNoLedgerKey = errors.New("no ledger key is set")

// opSeal is the operation of an entry that names nothing: with its key it holds
// the chain before it.
const opSeal = "seal"

// SealResult counts what was done.
type SealResult struct {
	Partitions int `json:"partitions"` // of the tenant
	Sealed     int `json:"sealed"`     // whose chain had no entry with a key, and has one now
}

// Seal goes on with the ledger key in every chain of the tenant that has no
// entry made with one: once, after a key is set for memory that was written
// without. Any later write does the same for its chain; until then Verify names
// it, since anybody could have made it. Each chain is verified first, and as it
// was then it is sealed: what was tampered with before is not found by it.
// Errors: ErrNoLedgerKey, a *ledger.TamperError for anything else that is wrong,
// ErrClosed. What is sealed stays so if it stops half-way.
func (l Ledger) Seal(ctx context.Context) (*SealResult, error) {
	res, err := l.seal(ctx)
	if err != nil {
		return res, fmt.Errorf("seal: %w", err)
	}
	return res, nil
}

func (l Ledger) seal(ctx context.Context) (*SealResult, error) {
	if l.m.closed.Load() {
		return nil, ErrClosed
	}
	if l.m.ledgerKey.ID == "" {
		return nil, ErrNoLedgerKey
	}
	rows, err := l.m.store.Partitions(ctx, l.m.tenant)
	if err != nil {
		return nil, err
	}
	out := &SealResult{Partitions: len(rows)}
	for _, row := range rows {
		sealed, err := l.sealOne(ctx, row.Partition)
		if err != nil {
			return out, err
		}
		if sealed {
			out.Sealed++
		}
	}
	return out, nil
}

// sealOne seals a partition if nothing but the key is wrong with it.
func (l Ledger) sealOne(ctx context.Context, partition string) (sealed bool, err error) {
	var report *ledger.Report
	var row storage.PartitionRow
	err = l.m.store.Snapshot(ctx, partition, func(s storage.Snapshot) (err error) {
		row = s.Row()
		report, err = ledger.Verify(ctx, s, l.options())
		return err
	})
	if err != nil || report.OK() {
		return false, err
	}
	if !report.UnkeyedOnly() {
		report.Findings = slices.DeleteFunc(report.Findings, func(f ledger.Finding) bool { return f.Reason == ledger.ReasonUnkeyed })
		return false, report.Err()
	}
	err = l.m.store.Update(ctx, row.Named, func(tx storage.Tx) error {
		head := tx.Head()
		if head.LedgerSeq != row.LedgerSeq || !bytes.Equal(head.LedgerHead, row.LedgerHead) {
			return errNothing // written since, and so sealed
		}
		entry := l.m.chainAt(head).Append(head.Partition, opSeal, memory.Time(l.m.now()), nil)
		return tx.AppendEntries(ctx, []memory.Entry{entry})
	})
	if errors.Is(err, errNothing) {
		return false, nil
	}
	return err == nil, err
}
