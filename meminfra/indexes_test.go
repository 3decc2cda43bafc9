package meminfra_test

import (
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
