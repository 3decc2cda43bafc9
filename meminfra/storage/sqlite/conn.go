package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// conn is one connection with the statements prepared on it, so that each is
// parsed once and not once in every transaction. One call uses it at a time.
type conn struct {
	db         *sql.DB
	c          *sql.Conn // nil until first used
	statements map[string]*sql.Stmt
	takers     *takers
}

func (c *conn) connect(ctx context.Context) (err error) {
	if c.c == nil {
		c.statements = map[string]*sql.Stmt{}
		c.c, err = c.db.Conn(ctx)
	}
	return err
}

// discard drops the connection; the next use makes a new one. Errors of closing
// are of no use: whatever was open is rolled back by it.
func (c *conn) discard() {
	for _, s := range c.statements {
		_ = s.Close()
	}
	if c.c != nil {
		_ = c.c.Close()
	}
	c.c, c.statements = nil, nil
}

// transaction runs fn between begin and COMMIT, or ROLLBACK if fn fails,
// panics, or ctx ends before the commit. The commit itself is not interrupted,
// so its outcome is always known.
func (c *conn) transaction(ctx context.Context, begin string, fn func(*conn) error) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	quiet, committed := context.WithoutCancel(ctx), false
	defer func() {
		if committed {
			return
		}
		if _, err := c.c.ExecContext(quiet, "ROLLBACK"); err != nil {
			c.discard()
		}
	}()
	if err := c.run(ctx, begin); err != nil {
		return err
	}
	if err := fn(c); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := c.run(quiet, "COMMIT")
	committed = err == nil
	return err
}

// statement returns query, prepared. Queries are constants or made of a few of
// them, so the map stays small.
func (c *conn) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	s, ok := c.statements[query]
	if ok {
		return s, nil
	}
	s, err := c.c.PrepareContext(ctx, query)
	if err == nil {
		c.statements[query] = s
	}
	return s, err
}

// run executes a statement that returns no rows.
func (c *conn) run(ctx context.Context, query string, args ...any) error {
	s, err := c.statement(ctx, query)
	if err == nil {
		_, err = s.ExecContext(ctx, args...)
	}
	return err
}

// row scans the only row of query. Errors: sql.ErrNoRows.
func (c *conn) row(ctx context.Context, query string, args []any, into ...any) error {
	s, err := c.statement(ctx, query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(ctx, args...).Scan(into...)
}

// scanner is a row of a result.
type scanner interface{ Scan(into ...any) error }

// each calls fn for every row of query.
func (c *conn) each(ctx context.Context, query string, args []any, fn func(scanner) error) error {
	s, err := c.statement(ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// collect returns the rows of query as scan reads them.
func collect[T any](ctx context.Context, c *conn, query string, args []any, scan func(scanner, *T) error) ([]T, error) {
	var list []T
	err := c.each(ctx, query, args, func(r scanner) error {
		if n := len(list); n == cap(list) {
			list = slices.Grow(list, max(n, 8)) // rows are large: copied once on average, not five times
		}
		list = append(list, *new(T))
		return scan(r, &list[len(list)-1])
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// insert executes query once for each element, with the arguments that it gives.
// It looks at ctx between the rows: watching it during each would cost more
// than the row.
func insert[T any](ctx context.Context, c *conn, query string, list []T, args func(*T) ([]any, error)) error {
	quiet := context.WithoutCancel(ctx)
	for i := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		values, err := args(&list[i])
		if err != nil {
			return err
		}
		if err := c.run(quiet, query, values...); err != nil {
			return err
		}
	}
	return nil
}

// insertInto is the statement that inserts one row with these columns.
func insertInto(table, columns string) string {
	n := strings.Count(columns, ",") + 1
	return "INSERT INTO " + table + " (" + columns + ") VALUES (?" + strings.Repeat(", ?", n-1) + ")"
}
