// Package memory holds the nouns of the system and their laws: what an
// episode, an item, a state, a statement and a partition are, and what may be
// said of them. It does no I/O and imports the standard library and x/text
// only; every other package speaks in these words.
//
// Truth and derivation: rows of these types live in SQL and are the truth.
// Vectors, postings and attributes in package index are derived from them and
// can always be rebuilt.
//
// Times are UTC with microsecond precision, because that is what both stores
// keep: what is hashed is exactly what is read back. A zero time.Time means
// "unknown" or "open" and is stored as NULL.
package memory
