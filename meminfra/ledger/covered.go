package ledger

// Columns are columns of one table, and what guards them, or why nothing does.
type Columns struct {
	Table   string   `json:"table"`
	Columns []string `json:"columns"` // * is all of them
	Why     string   `json:"why"`
}

// Covered are the columns that an entry covers, by the row's digest or as
// another value that verifying recomputes. A test holds both lists against the
// schema, so a new column has to be put into one of them.
var Covered = []Columns{
	{"ledger", []string{"partition", "seq", "operation", "objects", "at", "alg", "key_id", "prev", "hash"}, "its own hash, the next entry and the head"},
	{"partition", []string{"partition", "tenant", "kind", "name", "ledger_seq", "ledger_head"}, "the id is a hash of the names; the head is the last entry"},
	{"episode", []string{"partition", "episode", "conversation", "session", "message_id", "seq", "role", "speaker", "source", "agent", "user_id",
		"content", "sha256", "sent_at", "sent_offset", "estimated", "recorded_at", "metadata", "expires_at", "salt"}, "digest"},
	{"item", []string{"partition", "item", "seq", "kind", "text", "text_hash", "subject_type", "subject_name", "predicate", "value",
		"value_id", "fact_key", "fact_key_hash", "polarity", "authority", "user_id", "agent", "team", "visibility", "stated_from",
		"stated_to", "vague_earliest", "vague_latest", "vague_words", "expires_at", "supersedes", "root", "importance", "confidence",
		"shareable", "contributor", "metadata", "recorded_at", "decision", "salt"}, "digest; the hashes are recomputed"},
	{"item_derivation", []string{"partition", "item", "source"}, "digest of the item"},
	{"item_origin", []string{"partition", "item", "kind", "name"}, "digest of the item"},
	{"item_state", []string{"partition", "item", "n", "fact_key_hash", "status", "valid_from", "valid_to", "holds_slot", "cause", "reason",
		"system_from", "system_to", "decision", "salt"}, "digest, and one of the closing; the hash is the item's"},
	{"evidence", []string{"partition", "item", "n", "episode", "quote", "start_byte", "end_byte", "full_witness", "lead", "polarity", "authority",
		"stated_from", "stated_to", "at", "salt"}, "digest"},
	{"conflict", []string{"partition", "item", "other", "reason", "decision", "at", "salt"}, "digest"},
	{"decision", []string{"partition", "decision", "operation", "action", "item", "superseded", "episode", "reason", "inputs", "guards",
		"extractor", "model", "prompt_hash", "at", "salt"}, "digest"},
	{"access_grant", []string{"partition", "access_grant", "kind", "left_id", "right_id", "revoked", "at", "by_id", "team_partition", "salt"}, "digest; the team's partition is recomputed"},
	{"feedback", []string{"partition", "feedback", "trace", "reward", "key", "at", "salt"}, "digest"},
}

// NotCovered are the columns that no entry covers. Source: design section 4.
var NotCovered = []Columns{
	{"partition", []string{"change", "seq", "erased", "created_at"}, "counters"},
	{"episode", []string{"change"}, "counter of writes, for indexes"},
	{"item", []string{"change"}, "counter of writes, for indexes"},
	{"item_state", []string{"change"}, "counter of writes, for indexes"},
	{"evidence", []string{"change"}, "counter of writes, for indexes"},
	{"conflict", []string{"change"}, "counter of writes, for indexes"},
	{"decision", []string{"change"}, "counter of writes, for indexes"},
	{"access_grant", []string{"change"}, "counter of writes, for indexes"},
	{"feedback", []string{"change"}, "counter of writes, for indexes"},
	{"conversation", []string{"*"}, "follows from its episodes"},
	{"extraction", []string{"*"}, "where the work stands"},
	{"embedding", []string{"*"}, "derived; made again by reembed"},
	{"idempotency", []string{"*"}, "ids only"},
	{"trace", []string{"*"}, "kept 30 days"},
	{"usage", []string{"*"}, "counts of tokens"},
	{"credit", []string{"*"}, "worked out from a trace, which is kept 30 days"},
	{"confirmation", []string{"*"}, "hashes only; what was confirmed is a decision"},
	{"erasure", []string{"*"}, "where the scrubbing stands"},
}
