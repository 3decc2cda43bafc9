package main

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/postgres"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
	pgschema "github.com/meminfra/memory-layer/migrate/postgres"
	sqliteschema "github.com/meminfra/memory-layer/migrate/sqlite"
)

// target is a store as it was asked for.
type target struct {
	url  string // sqlite:PATH or postgres://...
	path string // of a SQLite file, "" for PostgreSQL
}

// parseTarget reads a store's URL. It never repeats it: it may hold a password.
func parseTarget(s string) (target, error) {
	scheme, rest, _ := strings.Cut(s, ":")
	switch scheme {
	case "postgres", "postgresql":
		if strings.HasPrefix(rest, "//") {
			return target{url: s}, nil
		}
	case "sqlite":
		path := strings.TrimPrefix(rest, "//")
		if strings.HasPrefix(path, ":") {
			return target{}, usage("a database in memory would be gone after this command", "--db sqlite:PATH")
		}
		if path != "" {
			return target{url: "sqlite:" + path, path: path}, nil
		}
	}
	return target{}, usage("the store is neither of the two forms known", "--db sqlite:PATH or --db postgres://USER@HOST:PORT/DATABASE")
}

// describe names the target without credentials.
func (t target) describe() string {
	if t.path != "" {
		return sqliteschema.Describe(t.url)
	}
	return pgschema.Describe(t.url)
}

// redact takes the target's password out of a text.
func (t target) redact(text string) string {
	if t.path != "" || t.url == "" {
		return text
	}
	text = strings.ReplaceAll(text, t.url, "postgres://...")
	u, err := url.Parse(t.url)
	if err != nil {
		return text
	}
	secrets := []string{u.Query().Get("password")}
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, password, url.QueryEscape(password), url.PathEscape(password))
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// storeTarget is the store that most commands work on: --db, else
// DATABASE_URL, else a SQLite file in the data folder.
func (a *app) storeTarget() (target, error) {
	if s := first(a.db, a.getenv("DATABASE_URL")); s != "" {
		return parseTarget(s)
	}
	return a.dataFile("memory.db")
}

// migrateTarget is the store whose schema is changed: as storeTarget, but
// DIRECT_URL, which goes around a pooler, before a DATABASE_URL of PostgreSQL.
func (a *app) migrateTarget() (target, error) {
	direct := a.getenv("DIRECT_URL")
	if a.db != "" || direct == "" || strings.HasPrefix(a.getenv("DATABASE_URL"), "sqlite:") {
		return a.storeTarget()
	}
	return parseTarget(direct)
}

// userFolder is the user's folder for a purpose: what the XDG variable names,
// else the system's habit (on Windows a variable, on macOS Application Support, on
// others a path below the home folder); "" where there is none.
func (a *app) userFolder(xdg, windows string, unix ...string) string {
	home := a.getenv("HOME")
	switch folder := a.getenv(xdg); {
	case filepath.IsAbs(folder):
		return folder
	case runtime.GOOS == "windows":
		return a.getenv(windows)
	case home == "":
		return ""
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Application Support")
	}
	return filepath.Join(append([]string{home}, unix...)...)
}

// dataFile is a SQLite file of that name in the user's data folder.
func (a *app) dataFile(name string) (target, error) {
	folder := a.userFolder("XDG_DATA_HOME", "LocalAppData", ".local", "share")
	if folder == "" {
		return target{}, &hinted{errors.New("there is no data folder: neither XDG_DATA_HOME nor a home folder is set"), "--db sqlite:PATH"}
	}
	path := filepath.Join(folder, "meminfra", name)
	return target{url: "sqlite:" + path, path: path}, nil
}

// exists reports whether there is something to open: a SQLite file may be missing.
func (t target) exists() bool {
	if t.path == "" {
		return true
	}
	_, err := os.Stat(t.path)
	return !errors.Is(err, fs.ErrNotExist)
}

// openStore opens the target. With create, a SQLite file that is missing is
// made; a command that only reads would find nothing in it and says so instead.
func (a *app) openStore(ctx context.Context, t target, create bool) (storage.Store, error) {
	a.target = t
	if !create && !t.exists() {
		return nil, &hinted{errors.New("there is no database at " + t.path), "meminfra init, or another --db"}
	}
	if t.path != "" {
		return sqlite.Open(ctx, t.path)
	}
	return postgres.Open(ctx, t.url)
}

// withMemory opens the chosen store, runs fn on its memory and closes both.
func (a *app) withMemory(ctx context.Context, create bool, fn func(*meminfra.MemoryLayer) error) error {
	t, err := a.storeTarget()
	if err != nil {
		return err
	}
	opts, err := a.layerOptions(ctx, nil)
	if err != nil {
		return err
	}
	return a.withTarget(ctx, t, create, opts, func(ml *meminfra.MemoryLayer, _ storage.Store) error { return fn(ml) })
}

// builtin are the options without any model, whatever the environment says; the
// ledger has its key all the same.
func (a *app) builtin() *meminfra.Options {
	opts := &meminfra.Options{Now: a.now}
	opts.LedgerKey, opts.OldLedgerKeys = a.ledgerKeys()
	return opts
}

func (a *app) withTarget(ctx context.Context, t target, create bool, opts *meminfra.Options, fn func(*meminfra.MemoryLayer, storage.Store) error) (err error) {
	store, err := a.openStore(ctx, t, create)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	ml, err := meminfra.New(store, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ml.Close()) }()
	return fn(ml, store)
}

// first returns the first of the texts that is not empty.
func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}
