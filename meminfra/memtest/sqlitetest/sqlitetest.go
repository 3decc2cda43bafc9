// Package sqlitetest gives tests a SQLite file.
package sqlitetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/meminfra/memory-layer/migrate"
	"github.com/meminfra/memory-layer/migrate/sqlite"
)

// Migrated returns the path of a fresh file at its head, without a row and alone
// in a folder: a copy, since migrating takes longer than many a test.
func Migrated(t testing.TB) string {
	t.Helper()
	raw, err := empty()
	path := filepath.Join(t.TempDir(), "memory.db")
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		t.Fatalf("sqlitetest: a migrated file: %v", err)
	}
	return path
}

// empty is a migrated file, made once per process.
var empty = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "meminfra-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "memory.db")
	if err := sqlite.Create(path); err != nil {
		return nil, err
	}
	if _, err := migrate.New(sqlite.Dialect, nil).Up(context.Background(), sqlite.Dialect.Name+":"+path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
