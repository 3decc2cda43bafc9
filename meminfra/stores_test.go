package meminfra_test

import (
	"sync"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/memtest/pgtest"
	"github.com/meminfra/memory-layer/meminfra/memtest/sqlitetest"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/postgres"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
	"github.com/meminfra/memory-layer/migrate"
	migratepg "github.com/meminfra/memory-layer/migrate/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// onStores runs a test on a fresh database of each store, side by side: while
// one store waits for its server, the other computes.
func onStores(t *testing.T, run func(t *testing.T, store storage.Store)) {
	sideBySide(t,
		func(t *testing.T) { run(t, openSQLite(t)) },
		func(t *testing.T) { run(t, openPostgres(t)) })
}

// sideBySide runs a test's part for each store, and returns when both have ended.
func sideBySide(t *testing.T, onSQLite, onPostgres func(t *testing.T)) {
	var both sync.WaitGroup
	both.Go(func() { t.Run("sqlite", onSQLite) })
	both.Go(func() { t.Run("postgres", onPostgres) })
	both.Wait()
}

func openSQLite(t testing.TB) storage.Store {
	t.Helper()
	return openSQLiteAt(t, sqlitetest.Migrated(t))
}

func openSQLiteAt(t testing.TB, path string) storage.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func openPostgres(t testing.TB) storage.Store {
	t.Helper()
	return openPostgresAt(t, pgtest.Migrated(t, migratepg.Dialect))
}

// migratedPostgres returns the URL of a fresh schema at its head that no other
// test will use, whatever is done to it.
func migratedPostgres(t testing.TB) string {
	t.Helper()
	return migrated(t, pgtest.URL(t))
}

func migrated(t testing.TB, url string) string {
	t.Helper()
	m, err := migrate.For(url, migratepg.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return url
}

func openPostgresAt(t testing.TB, url string) storage.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// testClock starts late enough that what tests say was said before it.
func testClock() *memtest.Clock {
	return memtest.NewClock(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC), time.Millisecond)
}

// newLayer returns a layer with a fake clock and predictable ids.
func newLayer(t testing.TB, store storage.Store, edit ...func(*meminfra.Options)) *meminfra.MemoryLayer {
	t.Helper()
	clock, ids := testClock(), &memtest.IDs{}
	opts := &meminfra.Options{Now: clock.Now, NewID: ids.NewID}
	for _, f := range edit {
		f(opts)
	}
	if opts.Extractor == nil && opts.Predicates == nil {
		opts.Extractor = builtIn(t) // the default, compiled once
	}
	ml, err := meminfra.New(store, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ml.Close() })
	return ml
}
