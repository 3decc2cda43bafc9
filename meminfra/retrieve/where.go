package retrieve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// maxWhereDepth bounds nesting, so that a hostile filter cannot exhaust the stack.
const maxWhereDepth = 32

// condition is a compiled Where.
type condition func(memory.Metadata) bool

// compile checks a condition and makes it runnable. Whatever it cannot check
// is ErrFilter.
func (w *Where) compile(depth int) (condition, error) {
	if depth > maxWhereDepth {
		return nil, fmt.Errorf("%w: metadata condition nested deeper than %d", ErrFilter, maxWhereDepth)
	}
	forms := 0
	for _, set := range []bool{w.Field != "" || w.Op != "", len(w.And) > 0, len(w.Or) > 0, w.Not != nil} {
		if set {
			forms++
		}
	}
	if forms != 1 {
		return nil, fmt.Errorf("%w: a metadata condition is one of a comparison, and, or, not", ErrFilter)
	}
	switch {
	case len(w.And) > 0:
		return compileList(w.And, depth, false)
	case len(w.Or) > 0:
		return compileList(w.Or, depth, true)
	case w.Not != nil:
		inner, err := w.Not.compile(depth + 1)
		if err != nil {
			return nil, err
		}
		return func(m memory.Metadata) bool { return !inner(m) }, nil
	}
	return w.comparison()
}

// compileList joins conditions: any of them if or is set, else all.
func compileList(list []Where, depth int, or bool) (condition, error) {
	parts := make([]condition, len(list))
	for i := range list {
		c, err := list[i].compile(depth + 1)
		if err != nil {
			return nil, err
		}
		parts[i] = c
	}
	return func(m memory.Metadata) bool {
		for _, c := range parts {
			if c(m) == or {
				return or
			}
		}
		return !or
	}, nil
}

func (w *Where) comparison() (condition, error) {
	if w.Field == "" {
		return nil, fmt.Errorf("%w: metadata comparison without a field", ErrFilter)
	}
	field := w.Field
	switch w.Op {
	case "exists":
		want, ok := w.Value.(bool)
		if !ok {
			return nil, fmt.Errorf("%w: exists wants true or false", ErrFilter)
		}
		return func(m memory.Metadata) bool { _, has := m[field]; return has == want }, nil
	case "in":
		return w.membership()
	case "eq", "ne":
		value, err := scalar(w.Value)
		if err != nil {
			return nil, err
		}
		equal := w.Op == "eq"
		return func(m memory.Metadata) bool { got, has := m[field]; return (has && same(got, value)) == equal }, nil
	case "gt", "gte", "lt", "lte":
		return w.order()
	}
	return nil, fmt.Errorf("%w: unknown metadata operator %.16q: want eq, ne, gt, gte, lt, lte, in or exists", ErrFilter, w.Op)
}

func (w *Where) membership() (condition, error) {
	list := reflect.ValueOf(w.Value)
	if !list.IsValid() || list.Kind() != reflect.Slice {
		return nil, fmt.Errorf("%w: in wants a list", ErrFilter)
	}
	values := make([]any, list.Len())
	for i := range values {
		v, err := scalar(list.Index(i).Interface())
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	field := w.Field
	return func(m memory.Metadata) bool {
		got, has := m[field]
		for _, v := range values {
			if has && same(got, v) {
				return true
			}
		}
		return false
	}, nil
}

func (w *Where) order() (condition, error) {
	value, err := scalar(w.Value)
	if err != nil {
		return nil, err
	}
	if _, isBool := value.(bool); isBool || value == nil {
		return nil, fmt.Errorf("%w: %s wants a number or a string", ErrFilter, w.Op)
	}
	holds := map[string]func(int) bool{
		"gt":  func(c int) bool { return c > 0 },
		"gte": func(c int) bool { return c >= 0 },
		"lt":  func(c int) bool { return c < 0 },
		"lte": func(c int) bool { return c <= 0 },
	}[w.Op]
	field := w.Field
	return func(m memory.Metadata) bool {
		c, ok := compare(m[field], value)
		return ok && holds(c)
	}, nil
}

// scalar turns a filter value into the form that stored metadata has: a
// number is float64. Lists, objects, NaN and the like are ErrFilter.
func scalar(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string:
		return v, nil
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("%w: number out of range", ErrFilter)
		}
		return f, nil
	}
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return float64(r.Int()), nil
	case r.CanUint():
		return float64(r.Uint()), nil
	case r.CanFloat() && !math.IsNaN(r.Float()) && !math.IsInf(r.Float(), 0):
		return r.Float(), nil
	case r.Kind() == reflect.String:
		return r.String(), nil
	}
	return nil, fmt.Errorf("%w: a metadata value of type %T", ErrFilter, v)
}

// same is equality of two scalars of one type.
func same(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool:
		v, ok := b.(bool)
		return ok && a == v
	}
	c, ok := compare(a, b)
	return ok && c == 0
}

// compare orders two numbers or two strings; ok is false for anything else.
func compare(a, b any) (c int, ok bool) {
	switch a := a.(type) {
	case float64:
		b, isNumber := b.(float64)
		return cmp.Compare(a, b), isNumber
	case string:
		b, isString := b.(string)
		return cmp.Compare(a, b), isString
	}
	return 0, false
}
