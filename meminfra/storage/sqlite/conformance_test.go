package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
	"github.com/meminfra/memory-layer/meminfra/storage/storagetest"
)

func TestConformance(t *testing.T) {
	storagetest.Exercise(t, func(t *testing.T) storage.Store { return open(t) }, storagetest.OneWriter)
}

func BenchmarkStore(b *testing.B) {
	storagetest.Benchmark(b, func(b *testing.B) storage.Store { return open(b) })
}

// open opens a fresh store: a copy of an empty one, since migrating takes longer
// than many a test.
func open(t testing.TB) *sqlite.Store {
	t.Helper()
	raw, err := empty()
	path := filepath.Join(t.TempDir(), "memory.db")
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return openStore(t, path)
}

var empty = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "meminfra-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "memory.db")
	store, err := sqlite.Open(context.Background(), path)
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
