// Package ledger makes the chain of entries that shows tampering: each entry
// names the rows a decision wrote by id and salted digest, and its hash covers
// the entry before it. An entry holds no content, so a row can be erased and
// the chain stays whole; salts live beside the rows and die with them.
//
// Truth and derivation: the rows are the truth; the chain proves that they are
// the rows that were written. Source: design section 8.
package ledger

import (
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Chain appends entries after a head.
type Chain struct {
	key  Key
	seq  int64
	prev []byte
}

// NewChain continues after the entry with that sequence number and hash; 0 and
// nil begin a chain.
func NewChain(key Key, seq int64, head []byte) *Chain {
	return &Chain{key: key, seq: seq, prev: head}
}

// Append makes the next entry: its number, the hash before it and its own.
func (c *Chain) Append(partition, operation string, at time.Time, objects []memory.Object) memory.Entry {
	c.seq++
	e := memory.Entry{
		Partition: partition,
		Seq:       c.seq,
		Operation: operation,
		Objects:   objects,
		At:        memory.Time(at),
		Alg:       c.key.alg(),
		KeyID:     c.key.ID,
		Prev:      c.prev,
	}
	if e.Prev == nil {
		e.Prev = []byte{}
	}
	e.Hash = Hash(c.key, e)
	c.prev = e.Hash
	return e
}

// Hash returns the hash of an entry: over the previous hash and the canonical
// entry, which holds everything but the partition and the hash itself.
func Hash(key Key, e memory.Entry) []byte {
	h := key.hash()
	h.Write(e.Prev)
	h.Write(canonical(e))
	return h.Sum(nil)
}

// canonical writes the entry as canonical JSON (RFC 8785); written by hand
// because every append pays for it. Operation, alg and kinds are plain words;
// ids are quoted by the shared writer.
func canonical(e memory.Entry) []byte {
	b := make([]byte, 0, 160+len(e.Objects)*160)
	b = append(b, `{"alg":`...)
	b = memory.AppendString(b, e.Alg)
	b = append(b, `,"at":`...)
	b = memory.AppendInt(b, memory.Micros(e.At))
	b = append(b, `,"key_id":`...)
	b = memory.AppendString(b, e.KeyID)
	b = append(b, `,"objects":`...)
	b = memory.AppendObjects(b, e.Objects)
	b = append(b, `,"operation":`...)
	b = memory.AppendString(b, e.Operation)
	b = append(b, `,"seq":`...)
	b = memory.AppendInt(b, e.Seq)
	return append(b, '}')
}
