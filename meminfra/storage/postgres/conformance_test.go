package postgres_test

import (
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memtest/pgtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/postgres"
	"github.com/meminfra/memory-layer/meminfra/storage/storagetest"
	schema "github.com/meminfra/memory-layer/migrate/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestConformance(t *testing.T) {
	storagetest.Exercise(t, func(t *testing.T) storage.Store { return open(t, migrated(t)) })
}

func BenchmarkStore(b *testing.B) {
	storagetest.Benchmark(b, func(b *testing.B) storage.Store { return open(b, migrated(b)) })
}

// migrated returns the URL of a schema with all tables, empty.
func migrated(t testing.TB) string {
	t.Helper()
	return pgtest.Migrated(t, schema.Dialect)
}

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
