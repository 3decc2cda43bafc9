package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/internal/keep"
)

// selectEmbeddings selects those of the model $4 of the items $2 and the episodes $3.
// The model is looked at last: knowing it, the planner would rather walk all its
// vectors, each time, while it has no statistics.
var selectEmbeddings = `SELECT ` + embeddingColumns + lookup("embedding", "v", "owner_kind = 'item' AND t.owner", byID) + ` WHERE v.model = $4
UNION ALL SELECT ` + embeddingColumns + lookup("embedding", "v", "owner_kind = 'episode' AND t.owner", `((SELECT $3::text[]))`) + ` WHERE v.model = $4`

const allEmbeddings = `SELECT ` + embeddingColumns + ` FROM embedding WHERE partition = $1 AND model = $2`

// Embeddings implements storage.Reader.
func (s *Store) Embeddings(ctx context.Context, p storage.EmbeddingsParams, fn func(*memory.Embedding) error) error {
	sql, args := selectEmbeddings, []any{p.Partition, distinct(p.Items), distinct(p.Episodes), p.Model}
	if p.All {
		sql, args = allEmbeddings, []any{p.Partition, p.Model}
	}
	_, err := query(ctx, s, "embeddings", sql, handEmbedding(p.Partition, p.Model, fn), args...)
	return err
}

const embeddingColumns = `owner_kind, owner, part, change, vector`

// scanEmbedding returns what scans one embedding after the other.
func scanEmbedding(partition, model string, vectors *keep.Vectors) pgx.RowToFunc[memory.Embedding] {
	e := memory.Embedding{Partition: partition, Model: model}
	var kept keep.Keeper
	places := []any{&keptText{(*string)(&e.OwnerKind), kept.Share}, &keptText{&e.OwnerID, kept.Keep}, &e.Part, &e.Change,
		&keptVector{&e.Vector, vectors}}
	return func(row pgx.CollectableRow) (memory.Embedding, error) {
		err := row.Scan(places...)
		return e, err
	}
}

// handEmbedding returns what scans one embedding after the other and hands it to fn;
// each vector takes the place of the one before.
func handEmbedding(partition, model string, fn func(*memory.Embedding) error) pgx.RowToFunc[struct{}] {
	scan := scanEmbedding(partition, model, &keep.Vectors{Reuse: true})
	return func(row pgx.CollectableRow) (none struct{}, err error) {
		e, err := scan(row)
		if err == nil {
			err = fn(&e)
		}
		return none, err
	}
}
