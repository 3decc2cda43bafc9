// Package migrate brings a database to the schema this program needs, one
// numbered step at a time. It runs golang-migrate over embedded SQL; the
// packages postgres and sqlite below it hold the SQL, same numbers and titles
// in both, and wire one driver each, so that a program links only the one it
// imports:
//
//	m, err := migrate.For(target, sqlite.Dialect, postgres.Dialect)
//	applied, err := m.Up(ctx, target)
//
// A step and the version it leads to commit in one transaction, so a process
// killed half-way leaves the step undone, never half done. A version that is
// marked half-applied all the same (by another tool) is never forced: every
// verb stops with a *storage.SchemaError, as it does on a schema newer than
// this program.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	gomigrate "github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/source/iofs"

	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Dialect is one kind of database: its SQL and how to reach it.
type Dialect struct {
	Name    string   // sqlite or postgres
	Schemes []string // of its targets, for example "sqlite" in sqlite:memory.db
	SQL     fs.FS    // NNNN_title.up.sql and NNNN_title.down.sql

	// Open opens the target. With create, a missing database file is made;
	// without, that is fs.ErrNotExist.
	Open func(ctx context.Context, target string, create bool) (*sql.DB, error)
	// Driver is golang-migrate's own driver on db: its version table and lock.
	Driver func(db *sql.DB) (database.Driver, error)
	// Lock keeps other processes out where Driver does not; nil where it does.
	Lock func(ctx context.Context, target string) (unlock func() error, err error)
	// HasVersions is a query for one boolean: is there a version table?
	HasVersions string
	// Describe names a target for people, without credentials.
	Describe func(target string) string
	// Classify wraps an error of the database in the storage sentinel it means.
	Classify func(err error) error
}

// Options of a Migrator; the zero value and nil are the defaults.
type Options struct {
	// Logf is told of each step applied or undone. Default: nobody is.
	Logf func(format string, args ...any)
}

// Migrator runs the steps of one dialect. It holds no connection.
type Migrator struct {
	dialect Dialect
	steps   []step
	logf    func(string, ...any)
}

// New returns a Migrator for a dialect; opts may be nil. It panics if the
// dialect's embedded SQL is not well named, which a test rules out.
func New(d Dialect, opts *Options) *Migrator {
	steps, err := readSteps(d.SQL)
	if err != nil {
		panic(fmt.Sprintf("migrate: %s: %v", d.Name, err))
	}
	m := &Migrator{dialect: d, steps: steps, logf: func(string, ...any) {}}
	if opts != nil && opts.Logf != nil {
		m.logf = opts.Logf
	}
	return m
}

// For returns a Migrator for the first dialect that knows the target's scheme.
// The error names the schemes, never the target, which may hold a password.
func For(target string, dialects ...Dialect) (*Migrator, error) {
	scheme, _, _ := strings.Cut(target, ":")
	var known []string
	for _, d := range dialects {
		for _, s := range d.Schemes {
			if s == scheme {
				return New(d, nil), nil
			}
			known = append(known, s+":")
		}
	}
	return nil, fmt.Errorf("unknown kind of database: want a target that begins with %s", strings.Join(known, ", "))
}

// WithOptions returns a copy of m with other options; nil means the defaults.
func (m *Migrator) WithOptions(opts *Options) *Migrator { return New(m.dialect, opts) }

// Head is the last step this program knows: the version it needs, and its name.
func (m *Migrator) Head() (version uint, name string) {
	last := m.steps[len(m.steps)-1]
	return last.version, last.name
}

// Status is where a database stands.
type Status struct {
	Version  uint   // 0 for an empty database
	Name     string // of Version, "" for 0 or one this program does not know
	Dirty    bool   // Version was left half-applied
	Head     uint   // what this program needs
	HeadName string
	Pending  []string // names of the steps Up would apply, in order
}

// Status reads where the target stands and changes nothing; a database file
// that does not exist is version 0. A dirty or newer schema is no error here.
func (m *Migrator) Status(ctx context.Context, target string) (Status, error) {
	db, err := m.dialect.Open(ctx, target, false)
	if errors.Is(err, fs.ErrNotExist) {
		return m.status(0, false), nil
	}
	if err != nil {
		return Status{}, m.fail("open", target, err)
	}
	defer db.Close()
	version, dirty, err := m.version(ctx, db)
	if err != nil {
		return Status{}, m.fail("read the schema version of", target, errors.Join(err, ctx.Err()))
	}
	return m.status(version, dirty), nil
}

func (m *Migrator) status(version uint, dirty bool) Status {
	s := Status{Version: version, Dirty: dirty}
	s.Head, s.HeadName = m.Head()
	for _, step := range m.steps {
		if step.version == version {
			s.Name = step.name
		}
		if step.version > version {
			s.Pending = append(s.Pending, step.name)
		}
	}
	return s
}

// version reads the version table of db: 0 where there is none.
func (m *Migrator) version(ctx context.Context, db *sql.DB) (version uint, dirty bool, err error) {
	var has bool
	if err := db.QueryRowContext(ctx, m.dialect.HasVersions).Scan(&has); err != nil || !has {
		return 0, false, err
	}
	err = db.QueryRowContext(ctx, readVersion).Scan(&version, &dirty)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return version, dirty, err
}

// Fits tells whether a program that needs head can work on a database at
// version have. It returns nil or a *storage.SchemaError, and does no I/O: an
// adapter hands in what it read from the version table.
func (m *Migrator) Fits(have uint, dirty bool) error {
	head, _ := m.Head()
	if dirty || have != head {
		return &storage.SchemaError{Have: have, Want: head, Dirty: dirty}
	}
	return nil
}

// Check returns nil if the target's schema is the one this program needs.
// Errors: *storage.SchemaError (older, newer or dirty), and as Status.
func (m *Migrator) Check(ctx context.Context, target string) error {
	s, err := m.Status(ctx, target)
	if err != nil {
		return err
	}
	if err := m.Fits(s.Version, s.Dirty); err != nil {
		return fmt.Errorf("%s: %w", m.dialect.Describe(target), err)
	}
	return nil
}

// Up applies what is missing, in order, and returns the names of the steps it
// applied itself: none if another process did, or nothing was missing. A
// missing database file is made. It waits for other processes that migrate the
// same target until ctx ends, at most LockTimeout.
// Errors: *storage.SchemaError (newer or dirty), storage.ErrBusy,
// storage.ErrUnreachable. A step that fails leaves nothing of itself behind.
func (m *Migrator) Up(ctx context.Context, target string) (applied []string, err error) {
	// The common case, nothing to do, needs no lock.
	s, err := m.Status(ctx, target)
	if err != nil {
		return nil, err
	}
	if m.Fits(s.Version, s.Dirty) == nil {
		return nil, nil
	}
	return m.run(ctx, target, "apply", func(g *gomigrate.Migrate) error { return g.Up() })
}

// Down undoes the last step and returns its name, "" if there was none to undo.
// The data that the step's tables hold is lost. Errors: as Up.
func (m *Migrator) Down(ctx context.Context, target string) (undone string, err error) {
	s, err := m.Status(ctx, target)
	if err != nil || s.Version == 0 && !s.Dirty {
		return "", err
	}
	names, err := m.run(ctx, target, "undo", func(g *gomigrate.Migrate) error { return g.Steps(-1) })
	if len(names) > 0 {
		undone = names[0]
	}
	return undone, err
}

// run takes the locks, looks at the version once more under them, and lets
// golang-migrate do its steps.
func (m *Migrator) run(ctx context.Context, target, verb string, do func(*gomigrate.Migrate) error) (done []string, err error) {
	if m.dialect.Lock != nil {
		waiting, cancel := context.WithTimeout(ctx, LockTimeout)
		unlock, err := m.dialect.Lock(waiting, target)
		cancel()
		if err != nil {
			return nil, m.fail("lock", target, err)
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	db, err := m.dialect.Open(ctx, target, true)
	if err != nil {
		return nil, m.fail("open", target, err)
	}
	inner, err := m.dialect.Driver(db)
	if err != nil {
		return nil, m.fail("open", target, errors.Join(err, ctx.Err(), db.Close()))
	}
	source, err := iofs.New(m.dialect.SQL, ".")
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	driver := &atomicDriver{Driver: inner, ctx: ctx, db: db, migrator: m}
	g, err := gomigrate.NewWithInstance("embedded", source, m.dialect.Name, driver)
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	g.LockTimeout = LockTimeout
	err = do(g)
	sourceErr, dbErr := g.Close()
	if err != nil && !errors.Is(err, gomigrate.ErrNoChange) {
		return driver.done, m.fail(verb+" a step of", target, errors.Join(err, ctx.Err()))
	}
	return driver.done, errors.Join(sourceErr, dbErr)
}

// fail names the target without credentials, and the sentinel.
func (m *Migrator) fail(verb, target string, err error) error {
	return fmt.Errorf("migrate: %s %s: %w", verb, m.dialect.Describe(target), m.dialect.Classify(err))
}
