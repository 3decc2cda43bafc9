package sqlite

import (
	"context"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

const addUsage = `
INSERT INTO usage (partition, day, operation, model, calls, input_tokens, output_tokens) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (partition, day, operation, model) DO UPDATE SET calls = calls + excluded.calls,
	input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens`

// AddUsage implements storage.Store.
func (s *Store) AddUsage(ctx context.Context, list []memory.Usage) error {
	return s.write(ctx, func(c *conn) error {
		return insert(ctx, c, addUsage, list, func(u *memory.Usage) ([]any, error) {
			return []any{u.Partition, memory.Micros(u.Day), u.Operation, u.Model, u.Calls, u.InputTokens, u.OutputTokens}, nil
		})
	})
}

// Usage implements storage.Reader.
func (s *Store) Usage(ctx context.Context, partition string, since time.Time) (list []memory.Usage, err error) {
	err = s.view(ctx, func(c *conn) error {
		list, err = collect(ctx, c, `
SELECT partition, day, operation, model, calls, input_tokens, output_tokens FROM usage
WHERE partition = ?1 AND day >= ?2 ORDER BY day, operation, model`, []any{partition, memory.Micros(since)}, scanUsage)
		return err
	})
	return list, err
}

func scanUsage(row scanner, u *memory.Usage) error {
	return row.Scan(&u.Partition, scanTime(&u.Day), &u.Operation, &u.Model, &u.Calls, &u.InputTokens, &u.OutputTokens)
}
