package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sqlite "modernc.org/sqlite"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// takers are the functions that take rows as they lie in SQLite's memory, through
// the SQL function take. What comes through the driver's rows costs allocations and
// a copy for each value, which is most of the time of reading many rows.
type takers struct {
	sync.Mutex
	last int64
	by   map[int64]func([]driver.Value) error
}

func (t *takers) add(fn func([]driver.Value) error) int64 {
	t.Lock()
	defer t.Unlock()
	t.last++
	t.by[t.last] = fn
	return t.last
}

func (t *takers) drop(n int64) {
	t.Lock()
	defer t.Unlock()
	delete(t.by, n)
}

// call runs a taker: its number comes first, then the values of the row.
func (t *takers) call(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	n, _ := args[0].(int64)
	t.Lock()
	fn := t.by[n]
	t.Unlock()
	if fn == nil {
		return nil, fmt.Errorf("nobody takes %d", n)
	}
	return n, fn(args[1:])
}

// connector makes connections to dsn that know take.
func (t *takers) connector(dsn string) (driver.Connector, error) {
	d := &sqlite.Driver{}
	err := d.RegisterFunction("take", &sqlite.FunctionImpl{NArgs: -1, Scalar: t.call, VolatileArgs: true})
	if err != nil {
		return nil, err
	}
	return connector{d, dsn}, nil
}

type connector struct {
	driver *sqlite.Driver
	dsn    string
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return c.driver }

// take calls fn with every row of a query, in no order. The values are fn's until
// it returns: what is to stay, it has a keeper keep.
func (c *conn) take(ctx context.Context, columns, from string, args []any, fn func(*taken) error) error {
	return c.takeAll(ctx, "", args, taking{columns, from, fn})
}

// taking is a query whose rows a function takes.
type taking struct {
	columns, from string
	fn            func(*taken) error
}

// takeAll is take for several queries, one after the other, in one statement. They
// may begin with the same WITH.
func (c *conn) takeAll(ctx context.Context, with string, args []any, list ...taking) error {
	var row taken
	var failed error
	var query strings.Builder
	query.Grow(4 << 10) // most are shorter
	query.WriteString(with)
	args = slices.Clip(args)
	for i, q := range list {
		n := c.takers.add(func(values []driver.Value) error {
			row = taken{values: values}
			if failed = q.fn(&row); failed == nil {
				failed = row.err
			}
			return failed
		})
		defer c.takers.drop(n)
		if args = append(args, n); i > 0 {
			query.WriteString(" UNION ALL")
		}
		query.WriteString(" SELECT count(take(?" + strconv.Itoa(len(args)) + ", " + q.columns + ")) FROM " + q.from)
	}
	err := c.each(ctx, query.String(), args, func(scanner) error { return nil })
	if failed != nil {
		return failed
	}
	return err
}

// taken is a row whose values are read one after the other; err is what was wrong
// with the first that could not be read.
type taken struct {
	values []driver.Value
	err    error
}

// Scan copies all values to where into points.
func (t *taken) Scan(into ...any) error { return columns(t.values).Scan(into...) }

func (t *taken) next() driver.Value {
	v := t.values[0]
	t.values = t.values[1:]
	return v
}

func (t *taken) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// text is the next value, which ends with the call.
func (t *taken) text() string {
	s, err := text(t.next())
	if err != nil {
		t.fail(err)
	}
	return s
}

func (t *taken) bytes() []byte {
	switch v := t.next().(type) {
	case nil:
	case []byte:
		return v
	default:
		t.fail(fmt.Errorf("%T is no stored blob", v))
	}
	return nil
}

func (t *taken) number() int64 {
	v := t.next()
	n, ok := v.(int64)
	if !ok {
		t.fail(fmt.Errorf("%T is no stored number", v))
	}
	return n
}

func (t *taken) fraction() float64 {
	switch v := t.next().(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	default:
		t.fail(fmt.Errorf("%T is no stored number", v))
	}
	return 0
}

func (t *taken) time() (at time.Time) {
	if err := scanTime(&at).Scan(t.next()); err != nil {
		t.fail(err)
	}
	return at
}

func (t *taken) metadata() (m memory.Metadata) {
	if err := scanMetadata(&m).Scan(t.next()); err != nil {
		t.fail(err)
	}
	return m
}

func (t *taken) authority() (a memory.Authority) {
	if err := scanAuthority(&a).Scan(t.next()); err != nil {
		t.fail(err)
	}
	return a
}
