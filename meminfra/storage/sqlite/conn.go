package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// conn is one connection with the statements prepared on it, so that each is
// parsed once and not once in every transaction. One call uses it at a time. It
// is the driver's own: what database/sql does for a row, among many callers and
// for any driver, costs as much as most rows do.
type conn struct {
	from       driver.Connector
	c          driver.Conn // nil until first used
	statements map[string]statement
	args       []driver.NamedValue // of the last statement, to be used again
	takers     *takers
}

// statement is what the driver's statements are.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func (c *conn) connect(ctx context.Context) (err error) {
	if c.c == nil {
		c.statements = map[string]statement{}
		c.c, err = c.from.Connect(ctx)
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
	if err := ctx.Err(); err != nil { // nothing is begun, so nothing to roll back, which would fail
		return err
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	quiet, committed := context.WithoutCancel(ctx), false
	defer func() {
		if committed {
			return
		}
		if err := c.run(quiet, "ROLLBACK"); err != nil {
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

// prepared returns query, prepared, and its arguments as the driver takes them,
// which stay so until the next call. Queries are constants or made of a few of
// them, so the map stays small.
func (c *conn) prepared(query string, args []any) (statement, []driver.NamedValue, error) {
	s, ok := c.statements[query]
	if !ok {
		made, err := c.c.Prepare(query)
		if err != nil {
			return nil, nil, err
		}
		s = made.(statement)
		c.statements[query] = s
	}
	c.args = c.args[:0]
	for i, a := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return nil, nil, err
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return s, c.args, nil
}

// run executes a statement that returns no rows.
func (c *conn) run(ctx context.Context, query string, args ...any) error {
	s, values, err := c.prepared(query, args)
	if err == nil {
		_, err = s.ExecContext(ctx, values)
	}
	return err
}

// row scans the only row of query. Errors: sql.ErrNoRows.
func (c *conn) row(ctx context.Context, query string, args []any, into ...any) error {
	found := false
	err := c.each(ctx, query, args, func(r scanner) error {
		found = true
		return r.Scan(into...)
	})
	if err == nil && !found {
		err = sql.ErrNoRows
	}
	return err
}

// scanner is a row of a result.
type scanner interface{ Scan(into ...any) error }

// each calls fn for every row of query.
func (c *conn) each(ctx context.Context, query string, args []any, fn func(scanner) error) error {
	s, values, err := c.prepared(query, args)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, values)
	if err != nil {
		return err
	}
	defer rows.Close()
	row := make(columns, len(rows.Columns()))
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := rows.Next(row); err != nil {
			if err == io.EOF {
				err = nil
			}
			return err
		}
		if err := fn(row); err != nil {
			return err
		}
	}
}

// columns are a row as the driver gives it.
type columns []driver.Value

// Scan copies each column to where into points: take's end with the row. Errors
// hold no values.
func (c columns) Scan(into ...any) error {
	if len(into) != len(c) {
		return fmt.Errorf("%d columns, not %d", len(c), len(into))
	}
	for i, v := range c {
		if err := assign(into[i], v); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

// assign stores what a column holds.
func assign(into any, v driver.Value) error {
	switch into := into.(type) {
	case *string:
		if s, ok := v.(string); ok {
			*into = strings.Clone(s)
			return nil
		}
	case *int64:
		if n, ok := v.(int64); ok {
			*into = n
			return nil
		}
	case *[]byte:
		if b, ok := v.([]byte); ok || v == nil {
			*into = append([]byte(nil), b...)
			return nil
		}
	case sql.Scanner:
		return into.Scan(v)
	}
	return convert(reflect.ValueOf(into).Elem(), v)
}

// convert is assign for what is seldom: other numbers, named types, and what
// somebody else has put into the file.
func convert(into reflect.Value, v driver.Value) error {
	b, isBytes := v.([]byte)
	s, isText := v.(string)
	n, isNumber := v.(int64)
	f, isFraction := v.(float64)
	switch {
	case into.Kind() == reflect.String && (isText || isBytes):
		into.SetString(strings.Clone(s) + string(b))
	case into.Kind() == reflect.Bool && isNumber && n&^1 == 0:
		into.SetBool(n == 1)
	case into.CanInt() && isNumber && !into.OverflowInt(n):
		into.SetInt(n)
	case into.CanFloat() && (isNumber || isFraction):
		into.SetFloat(f + float64(n))
	default:
		return fmt.Errorf("%T is no stored %s", v, into.Type())
	}
	return nil
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
