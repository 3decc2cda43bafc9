package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

const addUsage = `
INSERT INTO usage AS u (partition, day, operation, model, calls, input_tokens, output_tokens) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (partition, day, operation, model) DO UPDATE SET calls = u.calls + excluded.calls,
	input_tokens = u.input_tokens + excluded.input_tokens, output_tokens = u.output_tokens + excluded.output_tokens`

// AddUsage implements storage.Store. Its statements are one transaction, sent in
// one round trip.
func (s *Store) AddUsage(ctx context.Context, list []memory.Usage) error {
	if s.closed.Load() {
		return storage.ErrClosed
	}
	if len(list) == 0 {
		return nil
	}
	var b pgx.Batch
	for i := range list {
		u := &list[i]
		b.Queue(addUsage, u.Partition, memory.Micros(u.Day), u.Operation, u.Model, u.Calls, u.InputTokens, u.OutputTokens)
	}
	return s.failure(ctx, "add usage", s.pool.SendBatch(ctx, &b).Close())
}

// Usage implements storage.Reader.
func (s *Store) Usage(ctx context.Context, partition string, since time.Time) ([]memory.Usage, error) {
	return query(ctx, s, "usage", `
SELECT partition, day, operation, model, calls, input_tokens, output_tokens FROM usage
WHERE partition = $1 AND day >= $2 ORDER BY day, operation, model`, scanUsage, partition, memory.Micros(since))
}

func scanUsage(row pgx.CollectableRow) (u memory.Usage, err error) {
	err = row.Scan(&u.Partition, when{&u.Day}, &u.Operation, &u.Model, &u.Calls, &u.InputTokens, &u.OutputTokens)
	return u, err
}
