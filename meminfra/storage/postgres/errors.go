package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/meminfra/memory-layer/meminfra/storage"
)

// undefinedTable is the SQLSTATE of a table that does not exist.
const undefinedTable = "42P01"

// failure says what failed in words that are safe to log. A server's message
// and detail can quote rows, and pgx's connect error names the user, so of
// them only the code and the names of table and constraint are kept.
func (s *Store) failure(ctx context.Context, op string, err error) error {
	var pgErr *pgconn.PgError
	var connErr *pgconn.ConnectError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrClosed), errors.Is(err, puddle.ErrClosedPool):
		return fmt.Errorf("postgres: %s: %w", op, storage.ErrClosed)
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("postgres: %s: %w", op, ctx.Err())
	case errors.As(err, &pgErr):
		return s.serverFailure(op, pgErr)
	case errors.As(err, &connErr), disconnected(err):
		return s.unreachable(ctx, op, reason(err))
	case ctx.Err() != nil:
		return fmt.Errorf("postgres: %s: %w", op, ctx.Err())
	case errors.Is(err, pgx.ErrNoRows):
		return storage.ErrNotFound
	}
	return fmt.Errorf("postgres: %s: %w", op, err)
}

// serverFailure maps an error of the server by its SQLSTATE.
func (s *Store) serverFailure(op string, e *pgconn.PgError) error {
	what := "SQLSTATE " + e.Code
	if e.TableName != "" {
		what += ", table " + e.TableName
	}
	if e.ConstraintName != "" {
		what += ", constraint " + e.ConstraintName
	}
	switch class := e.Code[:min(2, len(e.Code))]; {
	case class == "23", class == "40": // constraint, serialization and deadlock
		return fmt.Errorf("postgres: %s: %w (%s)", op, storage.ErrConflict, what)
	case class == "28":
		return fmt.Errorf("postgres: %s: %s refused the credentials (%s)", op, s.where, what)
	case e.Code == "3D000":
		return fmt.Errorf("postgres: %s: no such database: %s (%s)", op, s.where, what)
	case e.Code == "55P03":
		return fmt.Errorf("postgres: %s: %w (%s)", op, storage.ErrBusy, what)
	case class == "08", class == "57" && strings.HasPrefix(e.Code, "57P"), e.Code == "53300":
		return s.unreachable(context.Background(), op, what)
	}
	return fmt.Errorf("postgres: %s: the server refused (%s)", op, what)
}

func (s *Store) unreachable(ctx context.Context, op, why string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("postgres: %s: %w: %s: %w", op, storage.ErrUnreachable, s.where, ctx.Err())
	}
	return fmt.Errorf("postgres: %s: %w: %s: %s", op, storage.ErrUnreachable, s.where, why)
}

// disconnected reports whether the connection broke under the call.
func disconnected(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed)
}

// reason puts the usual causes into words; anything else could hold text that
// is not ours to show.
func reason(err error) string {
	var dns *net.DNSError
	var netErr net.Error
	switch {
	case errors.As(err, &dns):
		return "host not found"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, os.ErrNotExist):
		return "no such socket"
	case errors.As(err, &netErr) && netErr.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "connection failed"
}
