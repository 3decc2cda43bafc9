package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
)

// The algorithms of an entry's hash.
const (
	SHA256     = "sha256"
	HMACSHA256 = "hmac-sha256"
)

// Key is an HMAC key and its name, which entries carry. The zero Key chains
// with plain SHA-256.
type Key struct {
	ID     string
	Secret []byte
}

// NewKey makes a key of a secret and names it by its hash, so that no name has
// to be kept beside it. No secret is the zero Key.
func NewKey(secret []byte) Key {
	if len(secret) == 0 {
		return Key{}
	}
	k := Key{Secret: secret}
	h := k.hash()
	h.Write([]byte("meminfra ledger key id"))
	k.ID = hex.EncodeToString(h.Sum(nil)[:8])
	return k
}

func (k Key) alg() string {
	if len(k.Secret) == 0 {
		return SHA256
	}
	return HMACSHA256
}

func (k Key) hash() hash.Hash {
	if len(k.Secret) == 0 {
		return sha256.New()
	}
	return hmac.New(sha256.New, k.Secret)
}

// ErrKey: a key that cannot be used: a name without a secret, a secret without
// a name, or two keys of one name.
var ErrKey = errors.New("malformed ledger key")

// Keys are the keys that the entries of a chain may have been made with, by
// name; plain SHA-256 needs none.
type Keys map[string]Key

// NewKeys collects keys; zero ones are left out, and the same key may come
// twice. Errors: ErrKey, with names only.
func NewKeys(list ...Key) (Keys, error) {
	keys := Keys{}
	for _, k := range list {
		if k.ID == "" && len(k.Secret) == 0 {
			continue
		}
		if k.ID == "" || len(k.Secret) == 0 {
			return nil, fmt.Errorf("%w: %q needs both a name and a secret", ErrKey, k.ID)
		}
		if old, taken := keys[k.ID]; taken && !hmac.Equal(old.Secret, k.Secret) {
			return nil, fmt.Errorf("%w: two keys are called %q", ErrKey, k.ID)
		}
		keys[k.ID] = k
	}
	return keys, nil
}
