package meminfra_test

import (
	"context"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// TestIndexStatus: an index says whether it has seen the last change, and is
// built anew on request.
func TestIndexStatus(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		load := false
		status := func(reindex bool) meminfra.IndexStatus {
			f := ml.IndexStatus
			if reindex {
				f = ml.Reindex
			}
			s, err := f(t.Context(), meminfra.IndexRequest{UserID: "ada", Load: load})
			if err != nil {
				t.Fatal(err)
			}
			return *s
		}
		say(t, ml, "I live in Paris.", nil)
		if s := status(false); s.Loaded || s.Current || s.Change == 0 {
			t.Errorf("before a search: %+v", s)
		}
		if s := status(true); !s.Loaded || !s.Current || s.Rows != 2 || s.Vectors != 2 || s.Bytes == 0 {
			t.Errorf("built: %+v", s)
		}
		say(t, ml, "I moved to Rome.", nil)
		if s := status(false); !s.Loaded || s.Current || s.Watermark >= s.Change {
			t.Errorf("after a write: %+v", s)
		}
		load = true
		if s := status(false); !s.Current || s.Rows <= 2 || s.Watermark != s.Change {
			t.Errorf("loaded: %+v", s)
		}
	})
}

// passed is a store of which somebody else writes between two reads.
type passed struct {
	storage.Store
	write func()
}

func (s passed) Heads(ctx context.Context, partitions ...string) (map[string]storage.Head, error) {
	heads, err := s.Store.Heads(ctx, partitions...)
	s.write()
	return heads, err
}

// An index that has seen more than the status had asked about is not stale.
func TestIndexStatusBesideAWriter(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		writing := newLayer(t, store, randomIDs)
		say(t, writing, "I live in Paris.", nil)
		reading := newLayer(t, passed{store, func() { say(t, writing, "I use Vim.", nil) }}, randomIDs)
		s, err := reading.IndexStatus(t.Context(), meminfra.IndexRequest{UserID: "ada", Load: true})
		if err != nil || !s.Current || s.Watermark != s.Change || s.Rows != 4 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
