package ledger

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Rows are exported field by field, so that a column added to a row is exported
// with it: names in snake case, times in microseconds, bytes in hexadecimal,
// zero values left out. Where a row is kept and when it was written there are
// not its own.
var notExported = map[string]bool{"Partition": true, "Change": true, "TextKey": true, "LeaseUntil": true}

var (
	timeType      = reflect.TypeFor[time.Time]()
	metadataType  = reflect.TypeFor[memory.Metadata]()
	authorityType = reflect.TypeFor[memory.Authority]()
)

// encodeLine is one line of an export: {"kind":{...}} as canonical JSON.
func encodeLine(kind string, row any) ([]byte, error) {
	v, err := encode(reflect.ValueOf(row))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	if v == nil {
		v = map[string]any{}
	}
	s, err := memory.CanonicalJSON(map[string]any{kind: v})
	return append([]byte(s), '\n'), err
}

// encode returns a value as JSON, nil for a zero value.
func encode(v reflect.Value) (any, error) {
	empty := (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
	if empty || v.IsZero() {
		return nil, nil
	}
	switch v.Type() {
	case timeType:
		return memory.Micros(v.Interface().(time.Time)), nil
	case metadataType:
		return plain(v.Interface().(memory.Metadata))
	case authorityType:
		return v.Interface().(memory.Authority).String(), nil
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), nil
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int64:
		return v.Int(), nil
	case reflect.Float64:
		return v.Float(), nil
	case reflect.Array, reflect.Slice:
		return encodeList(v)
	case reflect.Struct:
		return encodeFields(v)
	}
	return nil, fmt.Errorf("%v has no exported form", v.Type())
}

func plain(m memory.Metadata) (any, error) {
	s, err := m.Canonical()
	if err != nil {
		return nil, err
	}
	return s, nil
}

func encodeList(v reflect.Value) (any, error) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		b := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(b), v)
		return hex.EncodeToString(b), nil
	}
	list := make([]any, v.Len())
	for i := range list {
		e, err := encode(v.Index(i))
		if err != nil {
			return nil, err
		}
		list[i] = e
	}
	return list, nil
}

func encodeFields(v reflect.Value) (any, error) {
	m := map[string]any{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if notExported[f.Name] {
			continue
		}
		e, err := encode(v.Field(i))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if e != nil {
			m[snake(f.Name)] = e
		}
	}
	return m, nil
}

func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// decodeRow reads what encodeLine wrote of a row.
func decodeRow(raw json.RawMessage, into any) error {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return errRow
	}
	return decode(v, reflect.ValueOf(into).Elem())
}

var errRow = fmt.Errorf("not a row of that kind")

func decode(v any, into reflect.Value) error {
	switch into.Type() {
	case timeType:
		us, err := integer(v)
		into.Set(reflect.ValueOf(memory.FromMicros(us)))
		return err
	case metadataType:
		s, _ := v.(string)
		m, err := memory.ParseMetadata(s)
		into.Set(reflect.ValueOf(m))
		return err
	case authorityType:
		s, _ := v.(string)
		a, err := memory.ParseAuthority(s)
		into.Set(reflect.ValueOf(a))
		return err
	}
	switch into.Kind() {
	case reflect.String:
		s, ok := v.(string)
		into.SetString(s)
		return unless(ok)
	case reflect.Bool:
		b, ok := v.(bool)
		into.SetBool(b)
		return unless(ok)
	case reflect.Int, reflect.Int8, reflect.Int64:
		n, err := integer(v)
		into.SetInt(n)
		return err
	case reflect.Float64:
		n, ok := v.(json.Number)
		f, err := n.Float64()
		into.SetFloat(f)
		if err != nil {
			ok = false
		}
		return unless(ok)
	case reflect.Array, reflect.Slice:
		return decodeList(v, into)
	case reflect.Struct:
		return decodeFields(v, into)
	}
	return errRow
}

func integer(v any) (int64, error) {
	n, ok := v.(json.Number)
	i, err := n.Int64()
	if err != nil {
		ok = false
	}
	return i, unless(ok)
}

func unless(ok bool) error {
	if !ok {
		return errRow
	}
	return nil
}

func decodeList(v any, into reflect.Value) error {
	if into.Type().Elem().Kind() == reflect.Uint8 {
		s, _ := v.(string)
		b, err := hex.DecodeString(s)
		if err != nil || into.Kind() == reflect.Array && len(b) != into.Len() {
			return errRow
		}
		if into.Kind() == reflect.Slice {
			into.SetBytes(b)
		} else {
			reflect.Copy(into, reflect.ValueOf(b))
		}
		return nil
	}
	list, ok := v.([]any)
	if !ok || into.Kind() != reflect.Slice {
		return errRow
	}
	into.Set(reflect.MakeSlice(into.Type(), len(list), len(list)))
	for i := range list {
		if err := decode(list[i], into.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func decodeFields(v any, into reflect.Value) error {
	m, ok := v.(map[string]any)
	if !ok {
		return errRow
	}
	for i := range into.NumField() {
		f := into.Type().Field(i)
		e, there := m[snake(f.Name)]
		if !there || notExported[f.Name] {
			continue
		}
		delete(m, snake(f.Name))
		if err := decode(e, into.Field(i)); err != nil {
			return err
		}
	}
	return unless(len(m) == 0)
}
