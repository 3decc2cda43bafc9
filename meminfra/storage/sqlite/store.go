// Package sqlite keeps the memory in one SQLite file: the default store. It
// runs on modernc.org/sqlite, needs no cgo, and writes ahead (WAL), so readers
// and the one writer do not wait for each other. Several processes may share
// the file; writers of different processes take turns.
//
// A commit survives the death of the process as soon as Update returns, and a
// power cut up to the last checkpoint (synchronous NORMAL); the file is never
// torn by either.
package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	sqlite "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/migrate"
	schema "github.com/meminfra/memory-layer/migrate/sqlite"
)

// Options of a store; the zero value is the default.
type Options struct {
	// NoMigrate refuses a file whose schema is missing or older, with a
	// *storage.SchemaError, instead of bringing it up to date. Set it where
	// migrations are a step of their own. Default: Open migrates.
	NoMigrate bool

	// BusyTimeout is how long a call waits while another process writes to the
	// file, before it fails with storage.ErrBusy. Default: 5 seconds.
	BusyTimeout time.Duration

	// Readers is how many reads may run at once. Default: 8.
	Readers int
}

// Store is a SQLite file. It is safe for concurrent use.
type Store struct {
	path    string
	writer  chan *conn // the one writer connection, or empty while it is in use
	readers chan *conn
	closing chan struct{}
	close   func()
	traces  atomic.Uint32 // written so far; see insertTrace
	left    struct {      // traces that wait for the writer to come back: see PutTrace
		sync.Mutex
		traces []memory.Trace
	}
}

var _ storage.Store = (*Store)(nil)

// Open opens the file at path, which may hold any characters. It makes the file
// (0600) and the folder above it (0700) if they are missing, and brings an
// older schema up to date; see Options.NoMigrate. ":memory:" is refused.
// Errors: *storage.SchemaError for a schema newer than this program or left
// half-applied, storage.ErrBusy.
func Open(ctx context.Context, path string) (*Store, error) { return OpenWith(ctx, path, nil) }

// OpenWith is Open with options; nil means the defaults.
func OpenWith(ctx context.Context, path string, opts *Options) (*Store, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Readers <= 0 {
		o.Readers = 8
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, path, abs, o.NoMigrate); err != nil {
		return nil, err
	}
	return open(ctx, abs, o)
}

// prepare makes the file and sees to its schema.
func prepare(ctx context.Context, path, abs string, noMigrate bool) error {
	target := schema.Dialect.Name + ":" + abs
	m := migrate.New(schema.Dialect, nil)
	if noMigrate {
		return m.Check(ctx, target)
	}
	if err := schema.Create(path); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	_, err := m.Up(ctx, target)
	return err
}

func open(ctx context.Context, path string, o Options) (*Store, error) {
	s := &Store{
		path:    path,
		writer:  make(chan *conn, 1),
		readers: make(chan *conn, o.Readers),
		closing: make(chan struct{}),
	}
	s.close = sync.OnceFunc(s.shut)
	t := &takers{by: map[int64]func([]driver.Value) error{}}
	for to, params := range map[chan *conn][]string{
		s.writer:  {schema.WAL, overwrite, cache},
		s.readers: {"_pragma=query_only(1)"},
	} {
		dsn, err := schema.DSN(path, o.BusyTimeout, params...)
		if err != nil {
			return nil, err
		}
		from, err := t.connector(dsn)
		if err != nil {
			return nil, err
		}
		for range cap(to) {
			to <- &conn{from: from, takers: t}
		}
	}
	// Open one connection of each kind now, so that what is wrong shows here.
	for _, from := range []chan *conn{s.writer, s.readers} {
		err := s.with(ctx, from, func(c *conn) error { return c.connect(ctx) })
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", s.Describe(), err), s.Close())
		}
	}
	return s, nil
}

// overwrite is the DSN parameter that has deleted rows overwritten.
const overwrite = "_pragma=secure_delete(1)"

// cache is the DSN parameter that lets the writer connection keep 32 MiB of pages,
// not 2: glance reads what every search reads through it, and the rows of some
// 10,000 items are more than 2 MiB.
const cache = "_pragma=cache_size(-32768)"

// Describe returns sqlite: and the absolute path.
func (s *Store) Describe() string { return "sqlite:" + s.path }

// Close waits for the calls that run, refuses new ones with storage.ErrClosed,
// and closes the file. It returns nil.
func (s *Store) Close() error {
	s.close()
	return nil
}

func (s *Store) shut() {
	close(s.closing)
	for range cap(s.readers) {
		(<-s.readers).discard()
	}
	c := <-s.writer
	s.writeLeft(c)
	c.discard()
}

// with lends a connection to fn.
func (s *Store) with(ctx context.Context, from chan *conn, fn func(*conn) error) error {
	select {
	case <-s.closing:
		return storage.ErrClosed
	default:
	}
	select {
	case c := <-from:
		if from == s.writer {
			defer s.release(c)
		} else {
			defer func() { from <- c }()
		}
		return classify(fn(c))
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return storage.ErrClosed
	}
}

// view runs fn on one snapshot.
func (s *Store) view(ctx context.Context, fn func(*conn) error) error {
	return s.with(ctx, s.readers, func(c *conn) error { return c.transaction(ctx, beginRead, fn) })
}

// glance is view for the few rows that every search reads. It takes the writer
// connection if that is free: what a connection has in its cache is worth nothing
// once another one has written, and every search writes a trace.
func (s *Store) glance(ctx context.Context, fn func(*conn) error) error {
	c := s.freeWriter()
	if c == nil {
		return s.view(ctx, fn)
	}
	defer s.release(c)
	return classify(c.transaction(ctx, beginRead, fn))
}

// freeWriter returns the writer connection, to be given back by release, or nil
// if it is in use or the store is closed.
func (s *Store) freeWriter() *conn {
	select {
	case <-s.closing:
		return nil
	default:
	}
	select {
	case c := <-s.writer:
		return c
	default:
		return nil
	}
}

const (
	beginRead  = "BEGIN"
	beginWrite = "BEGIN IMMEDIATE"
)

// write runs fn in one write transaction, which commits if fn returns nil. The
// traces that were left before it are written first: fn may ask for one, or drop it.
func (s *Store) write(ctx context.Context, fn func(*conn) error) error {
	return s.with(ctx, s.writer, func(c *conn) error {
		s.writeLeft(c)
		return c.transaction(ctx, beginWrite, fn)
	})
}

// classify wraps what SQLite says in the sentinel it means. SQLite's messages
// name tables and columns, never values.
func classify(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	var sentinel error
	switch e.Code() & 0xff {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		sentinel = storage.ErrBusy
	case codes.SQLITE_CONSTRAINT:
		sentinel = storage.ErrConflict
	default:
		return err
	}
	if errors.Is(err, sentinel) {
		return err
	}
	return fmt.Errorf("%w: %w", sentinel, err)
}

func isBusy(err error) bool { return errors.Is(classify(err), storage.ErrBusy) }
