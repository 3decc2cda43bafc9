// Package postgres holds the PostgreSQL schema and how migrate reaches a server.
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	driver "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/migrate"
)

//go:embed *.sql
var files embed.FS

// Dialect is PostgreSQL; its targets are postgres:// and postgresql:// URLs.
// golang-migrate's driver holds an advisory lock while it works.
var Dialect = migrate.Dialect{
	Name:    "postgres",
	Schemes: []string{"postgres", "postgresql"},
	SQL:     files,
	Open:    open,
	Driver: func(db *sql.DB) (database.Driver, error) {
		return driver.WithInstance(db, &driver.Config{MigrationsTable: migrate.VersionTable})
	},
	HasVersions: `SELECT to_regclass('` + migrate.VersionTable + `') IS NOT NULL`,
	Describe:    Describe,
	Classify:    Classify,
}

// errBadURL stands for whatever is wrong with a URL that cannot be parsed: the
// parser's own words may quote a password.
var errBadURL = errors.New("the Postgres URL cannot be parsed (it is not shown, because it may hold a password)")

// parse is pgx.ParseConfig without the URL in its error.
func parse(target string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(target)
	if err != nil {
		return nil, errBadURL
	}
	return cfg, nil
}

// Describe returns host, port and database: no user, no password. A socket's
// folder has no place in a URL's host and becomes a parameter.
func Describe(target string) string {
	cfg, err := parse(target)
	if err != nil {
		return "postgres"
	}
	u := url.URL{Scheme: "postgres", Path: "/" + cfg.Database}
	port := strconv.Itoa(int(cfg.Port))
	if strings.HasPrefix(cfg.Host, "/") {
		u.RawQuery = url.Values{"host": {cfg.Host}, "port": {port}}.Encode()
	} else {
		u.Host = net.JoinHostPort(cfg.Host, port)
	}
	return u.String()
}

// open connects. The driver's own statements know no context, so the sockets
// are closed when ctx ends, and waiting for a lock is bounded by the server.
func open(ctx context.Context, target string, _ bool) (*sql.DB, error) {
	cfg, err := parse(target)
	if err != nil {
		return nil, err
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 10 * time.Second
	}
	if cfg.RuntimeParams["lock_timeout"] == "" {
		cfg.RuntimeParams["lock_timeout"] = strconv.FormatInt(migrate.LockTimeout.Milliseconds(), 10)
	}
	dial := cfg.DialFunc
	cfg.DialFunc = func(dialCtx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(dialCtx, network, addr)
		if err != nil {
			return nil, err
		}
		return closeWith(ctx, c), nil
	}
	db := stdlib.OpenDB(*cfg)
	db.SetMaxOpenConns(2) // the driver's own, which holds its lock, and the steps'
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// boundConn is closed when a context ends.
type boundConn struct {
	net.Conn
	stop func() bool
}

func closeWith(ctx context.Context, c net.Conn) net.Conn {
	return &boundConn{Conn: c, stop: context.AfterFunc(ctx, func() { _ = c.Close() })}
}

func (b *boundConn) Close() error {
	b.stop()
	return b.Conn.Close()
}

// Classify wraps a server that does not answer in storage.ErrUnreachable, and
// one that another session has locked in storage.ErrBusy. Neither's text holds
// a password.
func Classify(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		if refused.Code == "55P03" { // lock_not_available
			return fmt.Errorf("%w: %w", storage.ErrBusy, err)
		}
		return err
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return fmt.Errorf("%w: %w", storage.ErrUnreachable, err)
	}
	return err
}
