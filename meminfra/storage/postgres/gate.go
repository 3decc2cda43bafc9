package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// PutConfirmation implements storage.Tx.
func (t *tx) PutConfirmation(ctx context.Context, c storage.Confirmation, expired time.Time) error {
	err := t.exec(ctx, "drop confirmations", `DELETE FROM confirmation WHERE partition = $1 AND expires_at < $2`,
		t.head.Partition, memory.Micros(expired))
	if err != nil {
		return err
	}
	return t.exec(ctx, "put confirmation", `
INSERT INTO confirmation (partition, confirmation, token_hash, call_hash, at, expires_at, used_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		t.head.Partition, c.ID, notNull(c.TokenHash), notNull(c.CallHash), memory.Micros(c.At), memory.Micros(c.ExpiresAt), orNull(c.UsedAt))
}

// Confirmation implements storage.Tx.
func (t *tx) Confirmation(ctx context.Context, id string) (c storage.Confirmation, err error) {
	list, err := read(ctx, t, "confirmation", `
SELECT partition, confirmation, token_hash, call_hash, at, expires_at, used_at FROM confirmation
WHERE partition = $1 AND confirmation = $2`, func(row pgx.CollectableRow) (c storage.Confirmation, err error) {
		err = row.Scan(&c.Partition, &c.ID, blob{&c.TokenHash}, blob{&c.CallHash}, when{&c.At}, when{&c.ExpiresAt}, when{&c.UsedAt})
		return c, err
	}, t.head.Partition, id)
	return one(list, err)
}

// UseConfirmation implements storage.Tx.
func (t *tx) UseConfirmation(ctx context.Context, id string, at time.Time) (bool, error) {
	tag, err := t.sql.Exec(ctx, `UPDATE confirmation SET used_at = $3 WHERE partition = $1 AND confirmation = $2 AND used_at IS NULL`,
		t.head.Partition, id, memory.Micros(at))
	return err == nil && tag.RowsAffected() == 1, t.failed(ctx, "use confirmation", err)
}

// InsertCredits implements storage.Tx.
func (t *tx) InsertCredits(ctx context.Context, list []storage.Credit) error {
	return t.insert(ctx, "credit", []string{"partition", "feedback", "item", "reward", "change"}, len(list), func(i int) ([]any, error) {
		c := &list[i]
		return []any{t.head.Partition, c.FeedbackID, c.ItemID, c.Reward, t.head.Change}, nil
	})
}

// Feedback implements storage.Tx.
func (t *tx) Feedback(ctx context.Context, traceID, key string) (storage.Feedback, error) {
	list, err := read(ctx, t, "feedback", `SELECT partition, feedback, trace, reward, key, at, change, salt FROM feedback
WHERE partition = $1 AND trace = $2 AND key = $3`, func(row pgx.CollectableRow) (f storage.Feedback, err error) {
		err = row.Scan(&f.Partition, &f.ID, &f.TraceID, &f.Reward, &f.Key, when{&f.At}, &f.Change, blob{&f.Salt})
		return f, err
	}, t.head.Partition, traceID, key)
	return one(list, err)
}

// one is the only row of a list. Errors: storage.ErrNotFound for none.
func one[T any](list []T, err error) (T, error) {
	var none T
	switch {
	case err != nil:
		return none, err
	case len(list) == 0:
		return none, storage.ErrNotFound
	case len(list) > 1:
		return none, errors.New("more than one row of a key")
	}
	return list[0], nil
}

// credited is an item with its counters.
type credited struct {
	item string
	storage.Counters
}

func scanCounters(row pgx.CollectableRow) (c credited, err error) {
	err = row.Scan(&c.item, &c.Successes, &c.Failures, &c.Uses)
	return c, err
}

func setCounters(items []storage.ItemStates, credits []credited) {
	if len(credits) == 0 {
		return
	}
	at := make(map[string]*storage.ItemStates, len(items))
	for i := range items {
		at[items[i].ID] = &items[i]
	}
	for _, c := range credits {
		if m := at[c.item]; m != nil {
			m.Counters = c.Counters
		}
	}
}
