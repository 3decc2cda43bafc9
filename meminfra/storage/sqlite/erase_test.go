package sqlite_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/storage/internal/wipe"
)

// Every table is either emptied with its partition or known to hold no content.
// A new one must be put into wipe.Steps, or a forgotten user would live on in it.
func TestEveryTableIsErasable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	openStore(t, path)
	rows, err := raw(t, path).Query(`SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'meminfra_migrations' AND name NOT LIKE 'sqlite_%' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var have []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		have = append(have, name)
	}
	known := slices.Clone(wipe.Kept)
	for _, s := range wipe.Steps {
		known = append(known, s.Table)
	}
	slices.Sort(known)
	if rows.Err() != nil || !slices.Equal(have, known) {
		t.Errorf("tables %v, known to an erasure %v", have, known)
	}
}
