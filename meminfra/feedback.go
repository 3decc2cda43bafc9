package meminfra

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// ErrReward: a reward is a number from -1 to 1.
var ErrReward = errors.New("reward is not a number from -1 to 1")

// FeedbackRequest says how well a search or an answer served.
type FeedbackRequest struct {
	UserID  string
	TraceID string
	Reward  float64 // from -1, it did harm, to 1, it was just right
	// IdempotencyKey makes a repeated call count once for the trace.
	IdempotencyKey string
}

// FeedbackResult names the items that the reward was given for.
type FeedbackResult struct {
	ID       string   `json:"id"`
	Credited []string `json:"credited"`
	Known    bool     `json:"known"` // the key was used before: nothing was counted
}

// Feedback rewards the items that an answer cited, or, of a search or an answer
// without citations, all that it retrieved. A positive reward adds to an item's
// successes s, a negative one to its failures f; its utility (s+1)/(s+f+2) moves
// it a little in later searches. Episodes and shared items get none, nor does
// what the user may not read any more: what is hidden from him since, forgotten,
// expired or withdrawn. Errors: ErrReward, ErrNotFound for a trace that this user
// does not have (any more: traces are kept for 30 days), ErrKeyReused for a key
// with another reward, ErrNoUser, ErrClosed. Source: papers.md section 3, outcome
// loop.
func (m *MemoryLayer) Feedback(ctx context.Context, req FeedbackRequest) (*FeedbackResult, error) {
	res, err := m.feedback(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("feedback: %w", err)
	}
	return res, nil
}

func (m *MemoryLayer) feedback(ctx context.Context, req FeedbackRequest) (*FeedbackResult, error) {
	if _, err := m.partitionOf(req.UserID); err != nil {
		return nil, err
	}
	if math.IsNaN(req.Reward) || req.Reward < -1 || req.Reward > 1 {
		return nil, ErrReward
	}
	if err := memory.CheckID("trace", req.TraceID); err != nil {
		return nil, err
	}
	if req.IdempotencyKey != "" {
		if err := memory.CheckID("idempotency key", req.IdempotencyKey); err != nil {
			return nil, err
		}
	}
	rd, err := m.retriever.Begin(ctx, req.UserID)
	if err != nil {
		return nil, err
	}
	res := &FeedbackResult{ID: m.newID()}
	err = m.store.Update(ctx, m.userPartition(req.UserID), func(tx storage.Tx) error {
		return m.reward(ctx, tx, rd, req, res)
	})
	if errors.Is(err, errReplayed) {
		err = nil
	}
	return res, err
}

// reward writes the feedback, its credits and its ledger entry. It reads the
// trace in the same commit: what is forgotten until then takes no feedback.
func (m *MemoryLayer) reward(ctx context.Context, tx storage.Tx, rd *retrieve.Reading, req FeedbackRequest, res *FeedbackResult) error {
	trace, err := tx.Trace(ctx, req.TraceID)
	if err != nil {
		return err
	}
	res.Credited = credited(trace.Items)
	if req.IdempotencyKey != "" {
		old, err := tx.Feedback(ctx, req.TraceID, req.IdempotencyKey)
		switch {
		case err == nil && old.Reward != req.Reward:
			return ErrKeyReused
		case err == nil:
			res.ID, res.Known = old.ID, true
			return errReplayed
		case !errors.Is(err, storage.ErrNotFound):
			return err
		}
	}
	head := tx.Head()
	found, err := tx.Items(ctx, res.Credited)
	if err != nil {
		return err
	}
	// The trace tells what he could read then.
	found = slices.DeleteFunc(found, func(r storage.ItemRecord) bool {
		return !rd.Admits(&r.Item) || r.Present().Status == memory.StatusWithdrawn
	})
	f := storage.Feedback{Partition: head.Partition, ID: res.ID, TraceID: req.TraceID, Reward: req.Reward, Key: req.IdempotencyKey,
		At: memory.Time(m.now()), Change: head.Change, Salt: newSalt()}
	if err := tx.InsertFeedback(ctx, []storage.Feedback{f}); err != nil {
		return err
	}
	credits := make([]storage.Credit, len(found))
	res.Credited = make([]string, len(found))
	for i := range found {
		credits[i] = storage.Credit{FeedbackID: f.ID, ItemID: found[i].ID, Reward: req.Reward}
		res.Credited[i] = found[i].ID
	}
	if err := tx.InsertCredits(ctx, credits); err != nil {
		return err
	}
	entry := m.chainAt(head).Append(head.Partition, "feedback", f.At, []memory.Object{
		ledger.Feedback(f)})
	return tx.AppendEntries(ctx, []memory.Entry{entry})
}

// credited lists the items of a trace that a reward is given for: the cited
// ones, else all.
func credited(items []memory.TraceItem) []string {
	cited, all := []string{}, []string{}
	for _, t := range items {
		if t.OwnerKind != memory.OwnerItem || t.Shared {
			continue
		}
		all = append(all, t.OwnerID)
		if t.Cited {
			cited = append(cited, t.OwnerID)
		}
	}
	if len(cited) > 0 {
		return cited
	}
	return all
}
