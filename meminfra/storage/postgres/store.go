// Package postgres keeps memory in a PostgreSQL database, through pgx.
//
// A commit takes its partition's row and holds it to the end, so writers of one
// partition come one after another and writers of different partitions do not
// wait for each other. Reads that need several statements run in one read-only
// snapshot and cost one round trip. The package runs no migration: Open checks
// that the schema is the one this program knows.
package postgres

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meminfra/memory-layer/meminfra/storage"
)

// schemaHead is the schema version this program needs.
const schemaHead = 3

// connectTimeout bounds one attempt to connect when the URL does not say.
const connectTimeout = 10 * time.Second

// Store is a PostgreSQL database. It is safe for concurrent use.
type Store struct {
	pool    *pgxpool.Pool
	where   string // for people, without credentials
	writers lanes
	traces  atomic.Int64 // traces written by this process
	closed  atomic.Bool
}

var _ storage.Store = (*Store)(nil)

// Open connects to the database at url, for example
// "postgres://user:password@db.example:5432/app", and checks its schema. The
// URL's parameters are those of pgx: search_path chooses the schema and
// pool_max_conns the number of connections. Errors never hold the URL.
// Errors: storage.ErrUnreachable, *storage.SchemaError.
func Open(ctx context.Context, url string) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil { // its text can quote the password
		return nil, errors.New("postgres: malformed database URL: want postgres://user:password@host:port/database")
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	params := config.ConnConfig.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = "meminfra"
	}
	s := &Store{where: describe(config.ConnConfig)}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, s.failure(ctx, "open", err)
	}
	if err := s.checkSchema(ctx); err != nil {
		s.pool.Close()
		return nil, err
	}
	return s, nil
}

// checkSchema compares the version that golang-migrate has noted with the one
// this program was built with.
func (s *Store) checkSchema(ctx context.Context) error {
	var version int64
	var dirty bool
	err := s.pool.QueryRow(ctx, `SELECT version, dirty FROM meminfra_migrations`).Scan(&version, &dirty)
	var pgErr *pgconn.PgError
	switch {
	case errors.Is(err, pgx.ErrNoRows), errors.As(err, &pgErr) && pgErr.Code == undefinedTable:
		version = 0
	case err != nil:
		return s.failure(ctx, "open", err)
	}
	if have := uint(max(version, 0)); dirty || have != schemaHead {
		return &storage.SchemaError{Have: have, Want: schemaHead, Dirty: dirty}
	}
	return nil
}

// describe names the database by host, port and name; a socket folder has no
// place in a URL's host and becomes a parameter.
func describe(c *pgx.ConnConfig) string {
	u := url.URL{Scheme: "postgres", Path: "/" + c.Database}
	port := strconv.Itoa(int(c.Port))
	if strings.HasPrefix(c.Host, "/") {
		u.RawQuery = url.Values{"host": {c.Host}, "port": {port}}.Encode()
	} else {
		u.Host = net.JoinHostPort(c.Host, port)
	}
	return u.String()
}

// Describe implements storage.Store.
func (s *Store) Describe() string { return s.where }

// Close waits for running calls to end. Closing twice is no error.
func (s *Store) Close() error {
	if !s.closed.Swap(true) {
		s.pool.Close()
	}
	return nil
}

const beginSnapshot = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

// snapshot runs the queries that ask queues as one read-only snapshot, in one
// round trip; each query handles its own rows.
func (s *Store) snapshot(ctx context.Context, op string, ask func(*pgx.Batch)) error {
	if s.closed.Load() {
		return storage.ErrClosed
	}
	var b pgx.Batch
	b.Queue(beginSnapshot)
	ask(&b)
	b.Queue(`COMMIT`)
	return s.failure(ctx, op, s.pool.SendBatch(ctx, &b).Close())
}

// query runs one query, which is a snapshot by itself, and scans its rows.
func query[T any](ctx context.Context, s *Store, op, sql string, scan pgx.RowToFunc[T], args ...any) ([]T, error) {
	if s.closed.Load() {
		return nil, storage.ErrClosed
	}
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, s.failure(ctx, op, err)
	}
	list, err := pgx.AppendRows([]T(nil), rows, scan)
	return list, s.failure(ctx, op, err)
}

// lookup is the FROM clause that reads the rows of partition $1 whose column is
// one of ids, an SQL array of distinct values in parentheses. Each value is looked up by itself
// (OFFSET 0 keeps the planner from rearranging that): on a table that was just
// filled and has no statistics yet, it would rather read a whole partition.
func lookup(table, alias, column, ids string) string {
	return ` FROM unnest` + ids + ` AS w(id) CROSS JOIN LATERAL (SELECT * FROM ` + table +
		` t WHERE t.partition = $1 AND t.` + column + ` = w.id OFFSET 0) ` + alias
}

// distinct drops repeated ids.
func distinct(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// into returns a handler that scans all rows into out.
func into[T any](out *[]T, scan pgx.RowToFunc[T]) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*out, err = pgx.AppendRows(*out, rows, scan)
		return err
	}
}

// asked puts rows into the order in which their ids were asked for.
func asked[T any](ids []string, rows []T, id func(*T) string) []T {
	at := make(map[string]int, len(rows))
	for i := range rows {
		at[id(&rows[i])] = i
	}
	var list []T
	for _, want := range ids {
		if i, ok := at[want]; ok {
			list = append(list, rows[i])
		}
	}
	return list
}
