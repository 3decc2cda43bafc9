package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage/internal/keep"
)

// orNull is the stored form of a time that may be unknown or open.
func orNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return memory.Micros(t)
}

// when scans a stored time; NULL is the zero time.
type when struct{ t *time.Time }

// ScanInt64 implements pgtype.Int64Scanner.
func (w when) ScanInt64(v pgtype.Int8) error {
	*w.t = time.Time{}
	if v.Valid {
		*w.t = memory.FromMicros(v.Int64)
	}
	return nil
}

// authority scans its word.
type authority struct{ a *memory.Authority }

// ScanText implements pgtype.TextScanner.
func (s authority) ScanText(v pgtype.Text) (err error) {
	*s.a, err = memory.ParseAuthority(v.String)
	return err
}

// metadata scans canonical JSON.
type metadata struct{ m *memory.Metadata }

// ScanText implements pgtype.TextScanner.
func (s metadata) ScanText(v pgtype.Text) (err error) {
	*s.m, err = memory.ParseMetadata(v.String)
	return err
}

// names scans a canonical JSON list of strings; "" is none.
type names struct{ l *[]string }

// ScanText implements pgtype.TextScanner.
func (s names) ScanText(v pgtype.Text) error {
	*s.l = nil
	if v.String == "" {
		return nil
	}
	return json.Unmarshal([]byte(v.String), s.l)
}

func formatList(l []string) (string, error) {
	if len(l) == 0 {
		return "", nil
	}
	return memory.CanonicalJSON(l)
}

// blob scans bytes; none is nil.
type blob struct{ b *[]byte }

// ScanBytes implements pgtype.BytesScanner.
func (s blob) ScanBytes(v []byte) error {
	*s.b = append([]byte(nil), v...)
	return nil
}

// digest scans a SHA-256.
type digest struct{ h *[sha256.Size]byte }

// ScanBytes implements pgtype.BytesScanner.
func (s digest) ScanBytes(v []byte) error {
	if len(v) != len(s.h) {
		return fmt.Errorf("%d bytes are no stored SHA-256", len(v))
	}
	copy(s.h[:], v)
	return nil
}

// keptText scans a text as keep makes it of one that ends with the row.
type keptText struct {
	s    *string
	keep func(string) string
}

// ScanBytes implements pgtype.BytesScanner.
func (t keptText) ScanBytes(v []byte) error {
	*t.s = t.keep(unsafe.String(unsafe.SliceData(v), len(v)))
	return nil
}

// keptVector scans a vector as vectors keeps it.
type keptVector struct {
	v       *[]float32
	vectors *keep.Vectors
}

// ScanBytes implements pgtype.BytesScanner.
func (s keptVector) ScanBytes(raw []byte) (err error) {
	*s.v, err = s.vectors.Keep(raw)
	return err
}

func vectorBytes(v []float32) []byte {
	raw := make([]byte, 0, 4*len(v))
	for _, f := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	return raw
}

// notNull keeps a nil slice from being written as NULL.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// hash is the indexed form of a fact key or text key.
func hash(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// factHash is NULL for open-world items.
func factHash(key string) any {
	if key == "" {
		return nil
	}
	return hash(key)
}

func hashes(keys []string) [][]byte {
	out := make([][]byte, len(keys))
	for i, k := range keys {
		out[i] = hash(k)
	}
	return out
}
