// Package wipe says which statements erase rows, in the one order that the
// references among them allow, for every dialect.
package wipe

import (
	"strings"

	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Step deletes the rows of one table.
type Step struct {
	Table string
	// Where selects them: {items}, {episodes}, ... stand for lists of ids and
	// {p} for the partition. "" is a table whose rows go with the whole
	// partition only.
	Where string
	// Kind and ID name a row as the ledger does; "" for rows it does not cover.
	Kind, ID string
}

// Steps are in order: what refers goes before what it refers to. Every table
// with a partition is here or in Kept; a test checks it.
var Steps = []Step{
	{"credit", "item IN {items} OR feedback IN (SELECT feedback FROM feedback WHERE partition = {p} AND trace IN {traces})", "", ""},
	{"confirmation", "", "", ""},
	{"feedback", "trace IN {traces}", "feedback", "feedback"},
	{"trace", "trace IN {traces}", "", ""},
	{"extraction", "episode IN {episodes}", "", ""},
	{"embedding", "owner_kind = 'episode' AND owner IN {episodes} OR owner_kind = 'item' AND owner IN {items}", "", ""},
	{"conflict", "item IN {items} OR other IN {items}", "conflict", "item || '/' || other"},
	{"item_derivation", "item IN {items} OR source IN {items}", "", ""},
	{"item_origin", "item IN {items}", "", ""},
	{"evidence", "item IN {items} OR episode IN {episodes}", "evidence", "item || '/' || n"},
	{"item_state", "item IN {items}", "state", "item || '/' || n"},
	{"item", "item IN {items}", "item", "item"},
	{"episode", "episode IN {episodes}", "episode", "episode"},
	{"conversation", "conversation NOT IN (SELECT conversation FROM episode WHERE partition = {p})", "", ""},
	{"decision", `decision IN {decisions}
	AND decision NOT IN (SELECT decision FROM item WHERE partition = {p})
	AND decision NOT IN (SELECT decision FROM item_state WHERE partition = {p})
	AND decision NOT IN (SELECT decision FROM conflict WHERE partition = {p})`, "decision", "decision"},
	{"idempotency", "key IN {keys}", "", ""},
	{"access_grant", "access_grant IN {grants}", "grant", "access_grant"},
	{"usage", "", "", ""},
}

// Summaries drops the summary of each conversation that loses a message; a
// later one is made of what is left. It returns a row for each.
func Summaries(partition, episodes string) string {
	return `UPDATE conversation SET summary = '', summary_seq = 0
WHERE partition = ` + partition + ` AND summary <> '' AND conversation IN (
	SELECT conversation FROM episode WHERE partition = ` + partition + ` AND episode IN ` + episodes + `)
RETURNING conversation`
}

// Kept are the tables that an erasure leaves alone: the counters, the chain,
// and the notes on erasures themselves. None holds content.
var Kept = []string{"partition", "ledger", "erasure"}

// Statement is the step's DELETE, which returns the id of each row or "". lists
// are the arguments after the partition, in order: ids for each list. list
// writes the n-th of them as a subquery, partition the first argument.
func (s Step) Statement(e *storage.Erasure, partition string, list func(n int) string) (sql string, lists [][]string) {
	where := s.Where
	if e.All {
		where = "TRUE"
	}
	for _, l := range []struct {
		name string
		ids  []string
	}{{"{items}", e.Items}, {"{episodes}", e.Episodes}, {"{traces}", e.Traces}, {"{decisions}", e.Decisions},
		{"{keys}", e.Keys}, {"{grants}", e.Grants}} {
		if strings.Contains(where, l.name) {
			lists = append(lists, l.ids)
			where = strings.ReplaceAll(where, l.name, list(len(lists)+1))
		}
	}
	where = strings.ReplaceAll(where, "{p}", partition)
	id := s.ID
	if id == "" {
		id = "''"
	}
	return "DELETE FROM " + s.Table + " WHERE partition = " + partition + " AND (" + where + ") RETURNING " + id, lists
}

// Idle reports whether the step cannot delete anything: no list it reads has
// an element.
func (s Step) Idle(e *storage.Erasure, lists [][]string) bool {
	if e.All {
		return false
	}
	if s.Where == "" {
		return true
	}
	for _, l := range lists {
		if len(l) > 0 {
			return false
		}
	}
	return len(lists) > 0 || len(e.Episodes) == 0
}
