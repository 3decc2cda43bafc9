package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// How values are stored: times as microseconds, or NULL for a zero time where
// that means unknown or open; lists and metadata as canonical JSON; long keys
// by their SHA-256; vectors as little-endian float32.

// nullTime is the stored form of a time that may be unknown or open.
func nullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return memory.Micros(t)
}

// scanTime scans what memory.Micros or nullTime stored.
func scanTime(t *time.Time) *timeScanner { return (*timeScanner)(t) }

type timeScanner time.Time

func (t *timeScanner) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*t = timeScanner{}
	case int64:
		*t = timeScanner(memory.FromMicros(v))
	default:
		return fmt.Errorf("%T is no stored time", v)
	}
	return nil
}

// hashKey is the SHA-256 under which a key is indexed; NULL for no key.
func hashKey(key string) any {
	if key == "" {
		return nil
	}
	return hash(key)
}

func hash(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// blob makes sure that no bytes are stored as an empty blob, not as NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// scanBytes scans a blob; an empty one is nil.
func scanBytes(b *[]byte) *bytesScanner { return (*bytesScanner)(b) }

type bytesScanner []byte

func (s *bytesScanner) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok && v != nil {
		return fmt.Errorf("%T is no stored blob", v)
	}
	*s = append([]byte(nil), b...)
	return nil
}

// jsonList is how a list of ids goes into a query: json_each takes any number
// of them, and the statement stays the same.
func jsonList(list []string) string {
	if len(list) == 0 {
		return "[]"
	}
	b, _ := json.Marshal(list) // strings always encode
	return string(b)
}

// jsonHashes is a list of keys by their SHA-256, in hexadecimal.
func jsonHashes(keys []string) string {
	hashes := make([]string, len(keys))
	for i, k := range keys {
		hashes[i] = hex.EncodeToString(hash(k))
	}
	return jsonList(hashes)
}

// storeList is a list as canonical JSON, "" for none.
func storeList(list []string) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	return memory.CanonicalJSON(list)
}

// scanList scans what storeList stored.
func scanList(list *[]string) *listScanner { return (*listScanner)(list) }

type listScanner []string

func (l *listScanner) Scan(v any) error {
	s, err := text(v)
	*l = nil
	if err == nil && s != "" {
		err = json.Unmarshal([]byte(s), (*[]string)(l))
	}
	return err
}

// scanMetadata scans what Metadata.Canonical made.
func scanMetadata(m *memory.Metadata) *metadataScanner { return (*metadataScanner)(m) }

type metadataScanner memory.Metadata

func (m *metadataScanner) Scan(v any) error {
	s, err := text(v)
	if err != nil {
		return err
	}
	parsed, err := memory.ParseMetadata(s)
	*m = metadataScanner(parsed)
	return err
}

// scanAuthority scans the word of an authority.
func scanAuthority(a *memory.Authority) *authorityScanner { return (*authorityScanner)(a) }

type authorityScanner memory.Authority

func (a *authorityScanner) Scan(v any) error {
	s, err := text(v)
	if err != nil {
		return err
	}
	parsed, err := memory.ParseAuthority(s)
	*a = authorityScanner(parsed)
	return err
}

func text(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%T is no stored text", v)
	}
	return s, nil
}

// scanHash scans a SHA-256.
func scanHash(h *[sha256.Size]byte) *hashScanner { return (*hashScanner)(h) }

type hashScanner [sha256.Size]byte

func (h *hashScanner) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok || len(b) != len(h) {
		return fmt.Errorf("%T of %d bytes is no stored SHA-256", v, len(b))
	}
	copy(h[:], b)
	return nil
}

func storeVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

// scanObjects scans what memory.AppendObjects made.
func scanObjects(list *[]memory.Object) *objectsScanner { return (*objectsScanner)(list) }

type objectsScanner []memory.Object

func (l *objectsScanner) Scan(v any) error {
	s, err := text(v)
	if err != nil {
		return err
	}
	objects, err := memory.ParseObjects(s)
	*l = objects
	return err
}
