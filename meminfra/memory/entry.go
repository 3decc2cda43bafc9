package memory

import "time"

// Entry is one link of a partition's ledger chain. It names objects by id and
// salted digest, never by content, and does not name its partition, so that an
// export carries its chain.
type Entry struct {
	Partition string // where it is kept; not part of what is hashed
	Seq       int64  // from 1, gapless
	Operation string
	Objects   []Object
	At        time.Time // microseconds
	Alg       string    // sha256 or hmac-sha256
	KeyID     string    // of the HMAC key, "" without
	Prev      []byte    // hash of the entry before, empty for the first
	Hash      []byte
}

// Object is one row covered by an entry.
type Object struct {
	Kind   string // episode, item, state, evidence, conflict, decision, grant, feedback
	ID     string
	Digest []byte // SHA-256 of salt and canonical row
}
