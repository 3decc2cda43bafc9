package sqlite_test

import (
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memtest/sqlitetest"
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

// open opens a fresh store.
func open(t testing.TB) *sqlite.Store {
	t.Helper()
	return openStore(t, sqlitetest.Migrated(t))
}
