package meminfra

import (
	"context"
	"fmt"
)

// IndexRequest names whose derived index is meant.
type IndexRequest struct {
	UserID string
	// Load has IndexStatus bring the index up to date first, as a search does.
	Load bool
}

// IndexStatus is what the derived index of a user's partition holds in this
// process. It is current if Watermark, the change number it has seen, is Change,
// the partition's number in SQL.
type IndexStatus struct {
	Partition string `json:"partition"`
	Loaded    bool   `json:"loaded"` // false: the next search builds it from SQL
	Current   bool   `json:"current"`
	Rows      int    `json:"rows"`
	Vectors   int    `json:"vectors"`
	Model     string `json:"model"`
	Bytes     int64  `json:"bytes"` // approximately, now: the vectors of a large index follow its first searches
	Watermark int64  `json:"watermark"`
	Change    int64  `json:"change"`
}

// IndexStatus tells where the derived index of a user stands. Without Load it
// loads nothing. Errors: ErrNoUser, ErrClosed and those of the store.
func (m *MemoryLayer) IndexStatus(ctx context.Context, req IndexRequest) (*IndexStatus, error) {
	partition, err := m.partitionOf(req.UserID)
	if err != nil {
		return nil, fmt.Errorf("index status: %w", err)
	}
	heads, err := m.store.Heads(ctx, partition)
	if err != nil {
		return nil, fmt.Errorf("index status: %w", err)
	}
	if req.Load {
		if _, err := m.retriever.Index.Get(ctx, partition, heads[partition].Change); err != nil {
			return nil, fmt.Errorf("index status: %w", err)
		}
	}
	out := &IndexStatus{Partition: partition, Change: heads[partition].Change}
	if p := m.retriever.Index.Peek(partition); p != nil {
		s := p.Stats()
		out.Loaded, out.Rows, out.Vectors, out.Model = true, s.Rows, s.Vectors, s.Model
		out.Bytes, out.Watermark = s.Bytes, s.Watermark
		out.Change = max(out.Change, s.Watermark) // somebody wrote meanwhile
		out.Current = s.Watermark == out.Change
	}
	return out, nil
}

// Reindex builds the derived index of a user anew from SQL, at its full speed
// (a large one gets its graph at once), and tells what it holds. Searches go on
// with the old one meanwhile. Errors: those of IndexStatus, and of the context.
func (m *MemoryLayer) Reindex(ctx context.Context, req IndexRequest) (*IndexStatus, error) {
	partition, err := m.partitionOf(req.UserID)
	if err != nil {
		return nil, fmt.Errorf("reindex: %w", err)
	}
	heads, err := m.store.Heads(ctx, partition)
	if err != nil {
		return nil, fmt.Errorf("reindex: %w", err)
	}
	if _, err := m.retriever.Index.Rebuild(ctx, partition, heads[partition].Change); err != nil {
		return nil, fmt.Errorf("reindex: %w", err)
	}
	return m.IndexStatus(ctx, req)
}
