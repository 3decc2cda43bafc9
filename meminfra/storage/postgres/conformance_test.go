package postgres_test

import (
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memtest/pgtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/postgres"
	"github.com/meminfra/memory-layer/meminfra/storage/storagetest"
	"github.com/meminfra/memory-layer/migrate"
	schema "github.com/meminfra/memory-layer/migrate/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// empty is much faster than migrating a schema anew for each test of the suite.
const empty = `
DO $$ BEGIN EXECUTE (
	SELECT 'TRUNCATE ' || string_agg(quote_ident(tablename), ', ') FROM pg_tables
	WHERE schemaname = current_schema() AND tablename <> 'meminfra_migrations');
END $$`

func TestConformance(t *testing.T) {
	url := migrated(t)
	storagetest.Exercise(t, func(t *testing.T) storage.Store {
		sql(t, url, empty)
		return open(t, url)
	})
}

func BenchmarkStore(b *testing.B) {
	storagetest.Benchmark(b, func(b *testing.B) storage.Store { return open(b, migrated(b)) })
}

// migrated returns the URL of a schema of its own with all tables.
func migrated(t testing.TB) string {
	t.Helper()
	url := pgtest.URL(t)
	if _, err := migrate.New(schema.Dialect, nil).Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return url
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
