package wipe

import (
	"strings"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Query counts rows that should not be there, or not be so.
type Query struct {
	Topic storage.Topic
	What  string
	SQL   string // a count; {model} and {now} are its arguments
}

// orphans counts the rows of a table without a partner in another.
func orphans(table, column, other, key, more string) Query {
	return Query{storage.TopicOrphans, table + " without its " + other,
		`SELECT count(*) FROM ` + table + ` t WHERE ` + more + ` NOT EXISTS (
	SELECT 1 FROM ` + other + ` o WHERE o.partition = t.partition AND o.` + key + ` = t.` + column + `)`}
}

// Audit are the queries of a store's audit, in order. References that an
// erasure leaves dangling on purpose (supersedes, root, cause: ids of versions
// that are gone) are none.
var Audit = []Query{
	orphans("extraction", "episode", "episode", "episode", ""),
	orphans("embedding", "owner", "episode", "episode", "t.owner_kind = 'episode' AND"),
	orphans("embedding", "owner", "item", "item", "t.owner_kind = 'item' AND"),
	orphans("evidence", "item", "item", "item", ""),
	orphans("evidence", "episode", "episode", "episode", ""),
	orphans("item", "decision", "decision", "decision", ""),
	orphans("item", "item", "item_state", "item", ""),
	orphans("item_state", "item", "item", "item", ""),
	orphans("item_state", "decision", "decision", "decision", ""),
	orphans("conflict", "item", "item", "item", ""),
	orphans("conflict", "other", "item", "item", ""),
	orphans("item_derivation", "item", "item", "item", ""),
	orphans("item_derivation", "source", "item", "item", ""),
	orphans("item_origin", "item", "item", "item", ""),
	orphans("episode", "partition", "partition", "partition", ""),
	orphans("item", "partition", "partition", "partition", ""),
	orphans("ledger", "partition", "partition", "partition", ""),
	{storage.TopicVectors, "items without a vector of the model", `SELECT count(*) FROM item t WHERE NOT EXISTS (
	SELECT 1 FROM embedding o WHERE o.partition = t.partition AND o.owner_kind = 'item' AND o.owner = t.item AND o.model = {model})`},
	{storage.TopicVectors, "messages without a vector of the model", `SELECT count(*) FROM episode t WHERE NOT EXISTS (
	SELECT 1 FROM embedding o WHERE o.partition = t.partition AND o.owner_kind = 'episode' AND o.owner = t.episode AND o.model = {model})`},
	{storage.TopicExtractions, "messages whose extraction was left", `SELECT count(*) FROM extraction
WHERE status = 'pending' AND (lease_until IS NULL OR lease_until <= {now})`},
	{storage.TopicExtractions, "messages whose extraction failed", `SELECT count(*) FROM extraction WHERE status = 'failed'`},
	{storage.TopicErasures, "erasures with something left in the database's files", `SELECT count(*) FROM erasure`},
	{storage.TopicExpired, "memories and messages that have expired", `SELECT
	(SELECT count(*) FROM item WHERE expires_at <= {now}) + (SELECT count(*) FROM episode WHERE expires_at <= {now})`},
}

// Statement is the query with its argument, if it has one.
func (q Query) Statement(p storage.AuditParams, place func(n int) string) (sql string, args []any) {
	sql = strings.ReplaceAll(strings.ReplaceAll(q.SQL, "{model}", place(1)), "{now}", place(1))
	switch {
	case strings.Contains(q.SQL, "{model}"):
		args = []any{p.Model}
	case strings.Contains(q.SQL, "{now}"):
		args = []any{memory.Micros(p.Now)}
	}
	return sql, args
}
