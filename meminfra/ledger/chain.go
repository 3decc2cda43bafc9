package ledger

import (
	"bytes"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// links follows a chain entry by entry and says of each what is wrong with it.
type links struct {
	keys    Keys
	current string // the key that is written with now, "" for none
	seq     int64
	hash    []byte
	keyed   bool // an entry before was made with a key
}

// follow checks the next entry: "" for nothing wrong. It goes on from the entry
// whatever was wrong, so that one fault is one finding.
func (l *links) follow(e *memory.Entry) (reason, id string) {
	defer func() { l.seq, l.hash, l.keyed = e.Seq, e.Hash, l.keyed || e.KeyID != "" }()
	if e.Seq != l.seq+1 {
		return ReasonGap, ""
	}
	if !bytes.Equal(e.Prev, l.hash) {
		return ReasonPrev, ""
	}
	key, reason := l.keyOf(e)
	if reason == ReasonKeyMissing {
		return reason, e.KeyID
	}
	if reason != "" {
		return reason, ""
	}
	if !bytes.Equal(Hash(key, *e), e.Hash) {
		return ReasonHash, ""
	}
	return "", ""
}

// keyOf returns the key that an entry says it was made with, and what is wrong
// with that. Whoever writes with a key takes no entry without one after those
// with one: it may have been put there by somebody who has none.
func (l *links) keyOf(e *memory.Entry) (Key, string) {
	switch {
	case e.Alg == SHA256 && e.KeyID == "":
		if l.keyed && l.current != "" {
			return Key{}, ReasonKeyDropped
		}
		return Key{}, ""
	case e.Alg != HMACSHA256:
		return Key{}, ReasonAlg
	}
	k, known := l.keys[e.KeyID]
	if !known {
		return Key{}, ReasonKeyMissing
	}
	return k, ""
}
