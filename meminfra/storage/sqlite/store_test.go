package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
)

var (
	ada = memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionUser, Name: "ada"}
	at  = time.Date(2025, 3, 1, 9, 41, 7, 246813000, time.UTC)
)

func openStore(tb testing.TB, path string) *sqlite.Store {
	tb.Helper()
	store, err := sqlite.Open(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	return store
}

func trace(id string, at time.Time, hits int) memory.Trace {
	t := memory.Trace{Partition: ada.ID(), ID: id, Kind: "search", Query: "where", At: at}
	for i := range hits {
		t.Items = append(t.Items, memory.TraceItem{
			Rank: i + 1, OwnerKind: memory.OwnerEpisode, OwnerID: fmt.Sprint(i), Authority: memory.Authorized, Score: 0.5,
		})
	}
	return t
}

func TestPaths(t *testing.T) {
	for _, name := range []string{"plain.db", "with space.db", "a?b=c.db", "a#b.db", "100%41.db", "quo'te\".db", "日本.db", "file:x.db", "sqlite:x.db"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new folder", "deeper")
			path := filepath.Join(dir, name)
			store := openStore(t, path)
			ids := put(t, store, 3)
			if want := "sqlite:" + path; store.Describe() != want {
				t.Errorf("Describe() = %q, want %q", store.Describe(), want)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.Name() != name && e.Name() != name+".migrate.lock" {
					t.Errorf("unexpected file %q", e.Name())
				}
			}
			again := openStore(t, path)
			if list, err := again.Episodes(t.Context(), ada.ID(), ids); err != nil || len(list) != 3 {
				t.Errorf("after opening again: %d episodes, %v", len(list), err)
			}
		})
	}
}

func TestFileModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	store := openStore(t, filepath.Join(dir, "memory.db"))
	put(t, store, 1)
	for name, want := range map[string]os.FileMode{
		"": 0o700, "memory.db": 0o600, "memory.db-wal": 0o600, "memory.db-shm": 0o600, "memory.db.migrate.lock": 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%q has mode %o, want %o", name, got, want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	for _, path := range []string{"", ":memory:", dir} {
		if store, err := sqlite.Open(ctx, path); err == nil {
			t.Errorf("Open(%q) succeeded", path)
			_ = store.Close()
		}
	}
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("This is no database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(ctx, text); err == nil || !strings.Contains(err.Error(), "not a database") {
		t.Errorf("a text file: %v", err)
	}
	missing := filepath.Join(dir, "missing.db")
	_, err := sqlite.OpenWith(ctx, missing, &sqlite.Options{NoMigrate: true})
	var schema *storage.SchemaError
	if !errors.As(err, &schema) || schema.Have != 0 || schema.Want == 0 {
		t.Errorf("NoMigrate without a schema: %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Error("NoMigrate made the file")
	}
}

func TestOpenRefusesNewerAndDirtySchema(t *testing.T) {
	for _, c := range []struct {
		version uint
		dirty   bool
	}{{99, false}, {2, true}} {
		path := filepath.Join(t.TempDir(), "memory.db")
		if err := openStore(t, path).Close(); err != nil {
			t.Fatal(err)
		}
		execute(t, path, fmt.Sprintf("UPDATE meminfra_migrations SET version = %d, dirty = %t", c.version, c.dirty))
		_, err := sqlite.Open(t.Context(), path)
		var schema *storage.SchemaError
		if !errors.As(err, &schema) || schema.Have != c.version || schema.Dirty != c.dirty {
			t.Errorf("version %d, dirty %t: %v", c.version, c.dirty, err)
		}
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	store, err := sqlite.OpenWith(t.Context(), path, &sqlite.Options{BusyTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ids := put(t, store, 1)

	// A connection of its own stands for another process: SQLite's locks are
	// between connections.
	other := raw(t, path)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	never := func(storage.Tx) error { t.Error("fn was run"); return nil }
	if err := store.Update(t.Context(), ada, never); !errors.Is(err, storage.ErrBusy) {
		t.Errorf("Update: %v, want ErrBusy", err)
	}
	if err := store.PutTrace(t.Context(), trace("t", at, 1)); !errors.Is(err, storage.ErrBusy) {
		t.Errorf("PutTrace: %v, want ErrBusy", err)
	}
	if list, err := store.Episodes(t.Context(), ada.ID(), ids); err != nil || len(list) != 1 {
		t.Errorf("a reader waits for a writer: %v", err)
	}
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	put(t, store, 1) // and goes on
}

func TestCancelWhileWaiting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	store := openStore(t, path)
	other := raw(t, path)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := store.Update(ctx, ada, func(storage.Tx) error { return nil })
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 3*time.Second {
		t.Errorf("Update: %v after %v", err, time.Since(start))
	}
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	put(t, store, 1)
}

func TestCancelInside(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "memory.db"))
	put(t, store, 1)
	ctx, cancel := context.WithCancel(t.Context())
	err := store.Update(ctx, ada, func(storage.Tx) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Update: %v, want context.Canceled", err)
	}
	if h := head(t, store); h.Change != 1 {
		t.Errorf("change %d, want 1: the cancelled commit left something", h.Change)
	}
	put(t, store, 1)
	if h := head(t, store); h.Change != 2 || h.Seq != 2 {
		t.Errorf("head %+v, want change 2, seq 2", h)
	}
}

func TestPanicRollsBack(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "memory.db"))
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic was swallowed")
			}
		}()
		_ = store.Update(t.Context(), ada, func(tx storage.Tx) error { tx.NextSeq(5); panic("boom") })
	}()
	if h := head(t, store); h.Change != 0 {
		t.Errorf("head %+v after a panic", h)
	}
	put(t, store, 1)
}

// A write that failed ends the commit even if fn went on, as on PostgreSQL.
func TestFailedWriteEndsCommit(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "memory.db"))
	err := store.Update(t.Context(), ada, func(tx storage.Tx) error {
		x := memory.Extraction{EpisodeID: "none", Extractor: "x", Status: "secret words", UpdatedAt: at}
		_ = tx.PutExtractions(t.Context(), []memory.Extraction{x})
		return nil
	})
	if !errors.Is(err, storage.ErrConflict) || strings.Contains(err.Error(), "secret") {
		t.Errorf("Update: %v, want ErrConflict without content", err)
	}
	if h := head(t, store); h.Change != 0 {
		t.Errorf("head %+v", h)
	}
}

func TestClosed(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "memory.db"))
	if err := errors.Join(store.Close(), store.Close()); err != nil {
		t.Fatal(err)
	}
	if err := store.Update(t.Context(), ada, func(storage.Tx) error { return nil }); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("Update: %v", err)
	}
	if _, err := store.Heads(t.Context(), ada.ID()); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("Heads: %v", err)
	}
}

// Stores opened at once on one fresh file, as by several processes, agree on the
// schema and lose no commit.
func TestStoresAtOnce(t *testing.T) {
	const stores, commits = 4, 25
	path := filepath.Join(t.TempDir(), "new", "memory.db")
	var group sync.WaitGroup
	for range stores {
		group.Go(func() {
			store, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			defer store.Close()
			for range commits {
				err := store.Update(t.Context(), ada, func(tx storage.Tx) error { tx.NextSeq(2); return nil })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if h := head(t, openStore(t, path)); h.Change != stores*commits || h.Seq != 2*stores*commits {
		t.Errorf("head %+v, want change %d", h, stores*commits)
	}
}

// Entries reads in pages and lets fn read from the store, however few readers
// there are.
func TestEntriesPages(t *testing.T) {
	store, err := sqlite.OpenWith(t.Context(), filepath.Join(t.TempDir(), "memory.db"), &sqlite.Options{Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const n = 2500
	err = store.Update(t.Context(), ada, func(tx storage.Tx) error {
		list := make([]memory.Entry, n)
		for i := range list {
			list[i] = memory.Entry{Seq: int64(i + 1), Operation: "add", At: at, Alg: "sha256", Hash: []byte{1}}
		}
		return tx.AppendEntries(t.Context(), list)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := int64(11)
	err = store.Entries(t.Context(), ada.ID(), 10, func(e memory.Entry) error {
		if e.Seq != want {
			return fmt.Errorf("entry %d, want %d", e.Seq, want)
		}
		want++
		_, err := store.Heads(t.Context(), ada.ID())
		return err
	})
	if err != nil || want != n+1 {
		t.Errorf("stopped before %d: %v", want, err)
	}
}

func TestOldTracesGo(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "memory.db"))
	now := at
	if err := store.PutTrace(t.Context(), trace("old", now.Add(-memory.TraceRetention-time.Hour), 2)); err != nil {
		t.Fatal(err)
	}
	for i := range 70 {
		if err := store.PutTrace(t.Context(), trace(fmt.Sprint(i), now, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Trace(t.Context(), ada.ID(), "old"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the old trace: %v, want ErrNotFound", err)
	}
	if tr, err := store.Trace(t.Context(), ada.ID(), "0"); err != nil || len(tr.Items) != 2 {
		t.Errorf("a young trace: %+v, %v", tr, err)
	}
}

func head(tb testing.TB, store *sqlite.Store) storage.Head {
	tb.Helper()
	heads, err := store.Heads(tb.Context(), ada.ID())
	if err != nil {
		tb.Fatal(err)
	}
	return heads[ada.ID()]
}

// raw is one connection to the file beside the store's.
func raw(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func execute(tb testing.TB, path, statement string) {
	tb.Helper()
	db := raw(tb, path)
	if _, err := db.Exec(statement); err != nil {
		tb.Fatal(err)
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
}
