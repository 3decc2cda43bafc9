// Package meminfra is long-term memory for applications built on language
// models: add conversations, search what is remembered, with the evidence for
// each memory. One SQL database is the truth (SQLite in one file, or
// PostgreSQL); vector and word indexes are derived from it and rebuilt whenever
// they are missing or stale.
//
// The model proposes, deterministic code decides, SQL is the truth, everything
// else can be rebuilt. Without any model the built-in extractor and embedder
// are used: no key, no container, no network.
package meminfra
