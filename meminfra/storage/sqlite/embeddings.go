package sqlite

import (
	"context"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/internal/keep"
)

// Embeddings implements storage.Reader. The plus keeps the planner from walking all
// vectors of the model.
func (s *Store) Embeddings(ctx context.Context, p storage.EmbeddingsParams, fn func(*memory.Embedding) error) error {
	q := embeddings{
		partition: p.Partition, model: p.Model,
		from: `(SELECT 'item' AS kind, value AS id FROM json_each(?3) UNION SELECT 'episode', value FROM json_each(?4)) selected
	CROSS JOIN embedding ON partition = ?1 AND owner_kind = kind AND owner = id AND +model = ?2`,
		args: []any{p.Partition, p.Model, jsonList(p.Items), jsonList(p.Episodes)},
	}
	if p.All {
		q.from, q.args = `embedding WHERE partition = ?1 AND model = ?2`, q.args[:2]
	}
	return s.view(ctx, func(c *conn) error { return q.each(ctx, c, &keep.Vectors{Reuse: true}, fn) })
}

// embeddings is a query for embeddings of one partition and model.
type embeddings struct {
	partition, model string
	from             string
	args             []any
	n                int // how many there are, or 0 if that is not known
}

// each calls fn with one after the other, in no order.
func (q *embeddings) each(ctx context.Context, c *conn, vectors *keep.Vectors, fn func(*memory.Embedding) error) error {
	var kept keep.Keeper
	var e memory.Embedding
	return c.take(ctx, `owner_kind, owner, part, change, vector`, q.from, q.args, func(row *taken) (err error) {
		e = memory.Embedding{Partition: q.partition, Model: q.model, OwnerKind: memory.OwnerKind(kept.Share(row.text())),
			OwnerID: kept.Keep(row.text()), Part: int(row.number()), Change: row.number()}
		if e.Vector, err = vectors.Keep(row.bytes()); err != nil {
			return err
		}
		return fn(&e)
	})
}

// list returns them all, nil for none, with their vectors in one block.
func (q *embeddings) list(ctx context.Context, c *conn) ([]memory.Embedding, error) {
	list := make([]memory.Embedding, 0, q.n)
	err := q.each(ctx, c, &keep.Vectors{Room: q.n}, func(e *memory.Embedding) error {
		list = append(list, *e)
		return nil
	})
	if len(list) == 0 {
		return nil, err
	}
	return list, err
}
