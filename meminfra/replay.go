package meminfra

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// receipt is what an idempotency key remembers of a finished Add: ids only,
// so that erasing a memory leaves nothing of it here.
type receipt struct {
	Episodes   []StoredEpisode `json:"episodes"`
	Actions    []receiptAction `json:"actions"`
	Rejections []Rejection     `json:"rejections"`
}

type receiptAction struct {
	Action       memory.Action `json:"action"`
	ItemID       string        `json:"item_id"`
	SupersededID string        `json:"superseded_id"`
	Reason       string        `json:"reason"`
	Guards       []string      `json:"guards,omitempty"`
}

// replay answers a call whose idempotency key is known with the first one's
// result and ends the transaction with errReplayed.
func (a *addition) replay(ctx context.Context, tx storage.Tx) error {
	if a.req.IdempotencyKey == "" {
		return nil
	}
	rec, err := tx.Idempotency(ctx, idempotencyKey(a.req))
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(rec.Body, a.body) {
		return ErrKeyReused
	}
	var old receipt
	if err := json.Unmarshal([]byte(rec.Result), &old); err != nil {
		return fmt.Errorf("stored receipt: %w", err)
	}
	if err := a.restore(ctx, tx, old); err != nil {
		return err
	}
	return errReplayed
}

// restore rebuilds a result from its receipt. Text comes from the items; one
// that has been erased since has none.
func (a *addition) restore(ctx context.Context, tx storage.Tx, old receipt) error {
	ids := make([]string, len(old.Actions))
	for i, act := range old.Actions {
		ids[i] = act.ItemID
	}
	items, err := tx.Items(ctx, ids)
	if err != nil {
		return err
	}
	byID := make(map[string]storage.ItemRecord, len(items))
	for _, it := range unexpired(items, a.now()) {
		if a.reading.Admits(&it.Item) {
			byID[it.ID] = it
		}
	}
	a.result.Episodes, a.result.Rejections = old.Episodes, old.Rejections
	a.result.Actions = make([]ActionTaken, len(old.Actions))
	for i, act := range old.Actions {
		it := byID[act.ItemID]
		a.result.Actions[i] = ActionTaken{Action: act.Action, ItemID: act.ItemID, Text: it.Text,
			Predicate: it.Predicate, Value: it.Value, SupersededID: act.SupersededID, Reason: act.Reason,
			Guards: append([]string{}, act.Guards...)}
	}
	return nil
}

// remember records the result under the idempotency key, in the commit that
// finishes the call: unless a message was forgotten meanwhile, and with it the key.
func (a *addition) remember(ctx context.Context, tx storage.Tx) error {
	if a.req.IdempotencyKey == "" {
		return nil
	}
	ids := make([]string, len(a.result.Episodes))
	for i, e := range a.result.Episodes {
		ids[i] = e.ID
	}
	if there, err := tx.Episodes(ctx, ids); err != nil || len(there) < len(ids) {
		return err
	}
	r := receipt{Episodes: a.result.Episodes, Rejections: a.result.Rejections,
		Actions: make([]receiptAction, len(a.result.Actions))}
	for i, act := range a.result.Actions {
		r.Actions[i] = receiptAction{act.Action, act.ItemID, act.SupersededID, act.Reason, act.Guards}
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return tx.PutIdempotency(ctx, storage.IdempotencyRecord{Partition: a.partition.ID(),
		Key: idempotencyKey(a.req), Body: a.body, Result: string(b), At: memory.Time(a.now())})
}

// finish remembers a call that had nothing to extract.
func (a *addition) finish(ctx context.Context) error {
	if a.req.IdempotencyKey == "" {
		return nil
	}
	err := a.store.Update(ctx, a.partition, func(tx storage.Tx) error {
		if err := a.replay(ctx, tx); err != nil {
			return err
		}
		return a.remember(ctx, tx)
	})
	if errors.Is(err, errReplayed) {
		return nil
	}
	return err
}
