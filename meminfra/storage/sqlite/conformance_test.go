package sqlite_test

import (
	"path/filepath"
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

func open(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
