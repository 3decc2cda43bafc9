package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Metadata is caller data kept beside a message or item: JSON values only.
type Metadata map[string]any

// Canonical returns the metadata as canonical JSON (RFC 8785), with the text
// rules of CleanText applied, and "" for no metadata. An integer that a JSON
// number (a float64) cannot hold would not survive and is refused; write it as a
// string.
// Errors: ErrTooLong over MaxMetadataBytes, a plain error for what is no JSON.
func (m Metadata) Canonical() (string, error) {
	if len(m) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(map[string]any(m))
	if err != nil {
		return "", errors.New("metadata: a value that is not JSON") // what package json says can quote it
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return "", fmt.Errorf("metadata: %w", err)
	}
	s, err := CanonicalJSON(v)
	if err != nil {
		return "", fmt.Errorf("metadata: %w", err)
	}
	if len(s) > MaxMetadataBytes {
		return "", fmt.Errorf("metadata: %d bytes, at most %d: %w", len(s), MaxMetadataBytes, ErrTooLong)
	}
	return s, nil
}

// ParseMetadata is the inverse of Canonical.
func ParseMetadata(s string) (Metadata, error) {
	if s == "" {
		return nil, nil
	}
	var m Metadata
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		return nil, fmt.Errorf("stored metadata: %w", err)
	}
	return m, nil
}

// CanonicalJSON writes a decoded JSON value by RFC 8785: keys sorted by UTF-16
// code units, numbers as ECMAScript prints them, no white space.
func CanonicalJSON(v any) (string, error) {
	var b strings.Builder
	if err := writeCanonical(&b, v); err != nil {
		return "", err
	}
	return b.String(), nil
}

func writeCanonical(b *strings.Builder, v any) error {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		writeString(b, CleanText(v))
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return fmt.Errorf("number out of range")
		}
		if !strings.ContainsAny(string(v), ".eE") && strconv.FormatFloat(f, 'f', -1, 64) != string(v) {
			return fmt.Errorf("integer of more digits than a JSON number keeps: write it as a string")
		}
		return writeNumber(b, f)
	case float64:
		return writeNumber(b, v)
	case int:
		return writeNumber(b, float64(v))
	case int64:
		if v > 1<<53 || v < -(1<<53) {
			return fmt.Errorf("integer beyond 2^53: write it as a string")
		}
		return writeNumber(b, float64(v))
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeCanonical(b, e); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case []string:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = e
		}
		return writeCanonical(b, list)
	case map[string]any:
		return writeObject(b, v)
	default:
		return fmt.Errorf("%T is no JSON value", v)
	}
	return nil
}

func writeObject(b *strings.Builder, m map[string]any) error {
	clean := make(map[string]any, len(m))
	for k, v := range m {
		clean[CleanText(k)] = v
	}
	if len(clean) != len(m) {
		return fmt.Errorf("two keys are equal once cleaned")
	}
	keys := slices.SortedFunc(maps.Keys(clean), func(x, y string) int {
		return slices.Compare(utf16.Encode([]rune(x)), utf16.Encode([]rune(y)))
	})
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		writeString(b, k)
		b.WriteByte(':')
		if err := writeCanonical(b, clean[k]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writeString(b *strings.Builder, s string) {
	b.Write(AppendString(nil, s))
}

// AppendString appends s as a canonical JSON string (RFC 8785).
func AppendString(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// AppendInt appends n as a JSON number; only for numbers within 2^53.
func AppendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// writeNumber follows ECMAScript Number::toString, as RFC 8785 requires.
func writeNumber(b *strings.Builder, f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("NaN and infinity are no JSON numbers")
	}
	if f == 0 {
		b.WriteByte('0')
		return nil
	}
	abs := math.Abs(f)
	if abs >= 1e-6 && abs < 1e21 {
		b.WriteString(strconv.FormatFloat(f, 'f', -1, 64))
		return nil
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exp, _ := strings.Cut(s, "e")
	sign := exp[:1]
	b.WriteString(mantissa + "e" + sign + strings.TrimLeft(exp[1:], "0"))
	return nil
}
