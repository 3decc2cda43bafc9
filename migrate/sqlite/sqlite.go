// Package sqlite holds the SQLite schema and how migrate reaches a SQLite file.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/golang-migrate/migrate/v4/database"
	driver "github.com/golang-migrate/migrate/v4/database/sqlite"
	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/migrate"
)

//go:embed *.sql
var files embed.FS

// Dialect is SQLite; its targets are sqlite:PATH, or a bare path.
var Dialect = migrate.Dialect{
	Name:    "sqlite",
	Schemes: []string{"sqlite"},
	SQL:     files,
	Open:    open,
	Driver: func(db *sql.DB) (database.Driver, error) {
		return driver.WithInstance(db, &driver.Config{MigrationsTable: migrate.VersionTable})
	},
	Lock:        lock,
	HasVersions: `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '` + migrate.VersionTable + `')`,
	Describe:    Describe,
	Classify:    Classify,
}

// Path is the file that a target names: what follows "sqlite:" or "sqlite://".
func Path(target string) string {
	path, found := strings.CutPrefix(target, "sqlite:")
	if !found {
		return target
	}
	return strings.TrimPrefix(path, "//")
}

// Describe returns sqlite: and the absolute path.
func Describe(target string) string {
	path := Path(target)
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return "sqlite:" + path
}

// Create makes the file, for its owner only (0600), if there is none, and the
// folder above it (0700). A path in memory is refused.
func Create(path string) error {
	if path == "" || strings.HasPrefix(path, ":") {
		return errors.New("sqlite: a database in memory is not supported: name a file")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// WAL is the DSN parameter that turns the write-ahead log on, for good.
const WAL = "_journal_mode=WAL"

// pageSize is the DSN parameter with the size of a new file's pages: a vector of
// 1,536 components lies in one, not in two. It comes before WAL, which fixes it: the
// driver takes _pragma first.
const pageSize = "_pragma=page_size(8192)"

// DSN is the driver's name for an existing file, whatever characters its path
// holds: foreign keys on, waiting for locks as long as busy, and the further
// parameters.
func DSN(path string, busy time.Duration, more ...string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	abs = filepath.ToSlash(abs)
	if !strings.HasPrefix(abs, "/") { // a drive letter
		abs = "/" + abs
	}
	u := url.URL{Scheme: "file", Path: abs}
	params := append([]string{
		"mode=rw",
		fmt.Sprintf("_pragma=busy_timeout(%d)", busy.Milliseconds()),
		"_pragma=synchronous(normal)",
		"_pragma=foreign_keys(1)",
	}, more...)
	return u.String() + "?" + strings.Join(params, "&"), nil
}

func open(ctx context.Context, target string, create bool) (*sql.DB, error) {
	path, params := Path(target), []string(nil)
	if create {
		if err := Create(path); err != nil {
			return nil, err
		}
		params = []string{pageSize, WAL, "_txlock=immediate"}
	} else if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	dsn, err := DSN(path, 5*time.Second, params...)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// inProcess is held beside the file lock, which not every system applies
// between two handles of one process.
var inProcess = make(chan struct{}, 1)

// lock holds PATH.migrate.lock. The file stays behind and is harmless: what
// counts is the operating system's lock on it, which dies with its process.
func lock(ctx context.Context, target string) (func() error, error) {
	path := Path(target)
	if err := Create(path); err != nil {
		return nil, err
	}
	select {
	case inProcess <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	side := flock.New(path+".migrate.lock", flock.SetPermissions(0o600))
	if _, err := side.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		<-inProcess
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: it is being migrated: %w", storage.ErrBusy, err)
		}
		return nil, err
	}
	return func() error {
		defer func() { <-inProcess }()
		return side.Unlock()
	}, nil
}

// Classify wraps a locked database in storage.ErrBusy.
func Classify(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
			return fmt.Errorf("%w: %w", storage.ErrBusy, err)
		}
	}
	return err
}
