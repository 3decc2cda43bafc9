package ledger

import (
	"errors"
	"testing"
)

func TestKeysAreNamedByTheirSecret(t *testing.T) {
	a, b := NewKey([]byte("one")), NewKey([]byte("two"))
	if a.ID == "" || a.ID == b.ID || a.ID != NewKey([]byte("one")).ID {
		t.Errorf("names %q and %q", a.ID, b.ID)
	}
	if k := NewKey(nil); k.ID != "" || k.Secret != nil {
		t.Errorf("no secret makes %v", k)
	}
}

func TestNewKeysRefusesHalvesAndDoubles(t *testing.T) {
	a := NewKey([]byte("one"))
	keys, err := NewKeys(Key{}, a, a, Key{ID: "x", Secret: []byte("y")})
	if err != nil || len(keys) != 2 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	for _, bad := range [][]Key{{{ID: "x"}}, {{Secret: []byte("y")}}, {a, {ID: a.ID, Secret: []byte("other")}}} {
		if _, err := NewKeys(bad...); !errors.Is(err, ErrKey) {
			t.Errorf("%d keys: %v", len(bad), err)
		}
	}
}
