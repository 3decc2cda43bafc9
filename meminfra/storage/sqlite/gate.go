package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

const confirmationColumns = `partition, confirmation, token_hash, call_hash, at, expires_at, used_at`

var insertConfirmation = insertInto("confirmation", confirmationColumns)

// PutConfirmation implements storage.Tx.
func (t *tx) PutConfirmation(ctx context.Context, c storage.Confirmation, expired time.Time) error {
	err := t.run(ctx, `DELETE FROM confirmation WHERE partition = ?1 AND expires_at < ?2`, t.head.Partition, memory.Micros(expired))
	if err != nil {
		return err
	}
	return t.run(ctx, insertConfirmation, t.head.Partition, c.ID, blob(c.TokenHash), blob(c.CallHash), memory.Micros(c.At),
		memory.Micros(c.ExpiresAt), nullTime(c.UsedAt))
}

// Confirmation implements storage.Tx.
func (t *tx) Confirmation(ctx context.Context, id string) (c storage.Confirmation, err error) {
	err = t.c.row(ctx, `SELECT `+confirmationColumns+` FROM confirmation WHERE partition = ?1 AND confirmation = ?2`,
		[]any{t.head.Partition, id}, &c.Partition, &c.ID, scanBytes(&c.TokenHash), scanBytes(&c.CallHash), scanTime(&c.At), scanTime(&c.ExpiresAt), scanTime(&c.UsedAt))
	if errors.Is(err, sql.ErrNoRows) {
		return storage.Confirmation{}, storage.ErrNotFound
	}
	return c, err
}

// UseConfirmation implements storage.Tx.
func (t *tx) UseConfirmation(ctx context.Context, id string, at time.Time) (bool, error) {
	used, err := collect(ctx, t.c, `UPDATE confirmation SET used_at = ?3
WHERE partition = ?1 AND confirmation = ?2 AND used_at IS NULL RETURNING confirmation`,
		[]any{t.head.Partition, id, memory.Micros(at)}, func(row scanner, s *string) error { return row.Scan(s) })
	return len(used) == 1, t.noted(err)
}

var insertCredit = insertInto("credit", `partition, feedback, item, reward, change`)

// InsertCredits implements storage.Tx.
func (t *tx) InsertCredits(ctx context.Context, list []storage.Credit) error {
	return put(ctx, t, insertCredit, list, func(c *storage.Credit) ([]any, error) {
		return []any{t.head.Partition, c.FeedbackID, c.ItemID, c.Reward, t.head.Change}, nil
	})
}

// Feedback implements storage.Tx.
func (t *tx) Feedback(ctx context.Context, traceID, key string) (f storage.Feedback, err error) {
	err = t.c.row(ctx, `SELECT partition, feedback, trace, reward, key, at, change, salt FROM feedback
WHERE partition = ?1 AND trace = ?2 AND key = ?3`, []any{t.head.Partition, traceID, key},
		&f.Partition, &f.ID, &f.TraceID, &f.Reward, &f.Key, scanTime(&f.At), &f.Change, scanBytes(&f.Salt))
	if errors.Is(err, sql.ErrNoRows) {
		return storage.Feedback{}, storage.ErrNotFound
	}
	return f, err
}

// readCounters sums the credits of items that match.
func readCounters(ctx context.Context, c *conn, where string, args []any, items []storage.ItemStates) error {
	if len(items) == 0 {
		return nil
	}
	at := make(map[string]*storage.ItemStates, len(items))
	return c.each(ctx, `SELECT item, sum(max(reward, 0.0)), sum(max(-reward, 0.0)), count(*) FROM credit `+where+` GROUP BY item`, args,
		func(row scanner) error {
			if len(at) == 0 {
				for i := range items {
					at[items[i].ID] = &items[i]
				}
			}
			var item string
			var n storage.Counters
			err := row.Scan(&item, &n.Successes, &n.Failures, &n.Uses)
			if m := at[item]; err == nil && m != nil {
				m.Counters = n
			}
			return err
		})
}
