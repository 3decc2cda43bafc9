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

// Embeddings implements storage.Reader.
func (s *Store) Embeddings(ctx context.Context, p storage.EmbeddingsParams) ([]memory.Embedding, error) {
	items, episodes := distinct(p.Items), distinct(p.Episodes)
	scan := scanEmbedding(p.Partition, p.Model, &keep.Vectors{Room: len(items) + len(episodes)})
	return query(ctx, s, "embeddings", selectEmbeddings, scan, p.Partition, items, episodes, p.Model)
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
