package migrate_test

import (
	"path/filepath"
	"testing"

	"github.com/meminfra/memory-layer/migrate"
	"github.com/meminfra/memory-layer/migrate/sqlite"
)

// Every key begins with the partition and no reference leaves it, so that the
// schema can be distributed by partition. The dialects are the same text but
// for their types (TestDialectsArePaired), so what holds here holds on both.
func TestKeysStartWithPartition(t *testing.T) {
	target := "sqlite:" + filepath.Join(t.TempDir(), "memory.db")
	if _, err := migrate.New(sqlite.Dialect, nil).Up(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	tables := texts(t, target, `SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'meminfra_migrations'`)
	if len(tables) < 18 {
		t.Fatalf("only %d tables: %v", len(tables), tables)
	}
	for _, table := range tables {
		if keys := texts(t, target, `SELECT name FROM pragma_table_info(?) WHERE pk = 1`, table); len(keys) != 1 || keys[0] != "partition" {
			t.Errorf("%s: the primary key begins with %v", table, keys)
		}
		for _, index := range texts(t, target, `SELECT name FROM pragma_index_list(?) WHERE "unique"`, table) {
			if first := texts(t, target, `SELECT name FROM pragma_index_info(?) WHERE seqno = 0`, index); first[0] != "partition" {
				t.Errorf("%s: unique index %s begins with %s", table, index, first[0])
			}
		}
		outside := texts(t, target, `
SELECT "table" FROM pragma_foreign_key_list(?1) AS f
GROUP BY id HAVING NOT sum("from" = 'partition' AND coalesce("to", 'partition') = 'partition')`, table)
		if len(outside) > 0 {
			t.Errorf("%s refers to %v without the partition", table, outside)
		}
		if n := texts(t, target, `SELECT name FROM pragma_table_info(?) WHERE name = 'partition' AND "notnull"`, table); len(n) != 1 {
			t.Errorf("%s: the partition may be NULL", table)
		}
	}
}

func texts(t *testing.T, target, query string, args ...any) (list []string) {
	t.Helper()
	db := openDB(t, target)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}
