package suite

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
)

func TestSuites(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	r, err := Run(t.Context(), store, meminfra.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Failures {
		t.Error(f)
	}
	for _, name := range []string{"knowledge_update", "out_of_order", "retraction", "cascade", "ask_to_forget", "isolation"} {
		if n := r.Suites[name].N; n != 24 {
			t.Errorf("%s has %d cases, want 24", name, n)
		}
	}
	for name, want := range map[string]int{"authority": 70, "own_word": 70} {
		if n := r.Suites[name].N; n < want {
			t.Errorf("%s has %d cases, want %d at least", name, n, want)
		}
	}
	for _, part := range parts {
		if !slices.ContainsFunc(r.Order, func(name string) bool { _, has := r.Suites[name].Values[part]; return has }) {
			t.Errorf("no suite has %s", part)
		}
	}
	var b strings.Builder
	if err := r.WriteMarkdown(&b); err != nil || !strings.Contains(b.String(), "| isolation | 24 |") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestVerdict(t *testing.T) {
	fact := func(value string) meminfra.SearchHit {
		var h meminfra.SearchHit
		h.Predicate, h.Value = "location", value
		return h
	}
	v := verdict([]meminfra.SearchHit{fact("Oslo"), fact("Rome")}, "Rome", "Oslo")
	if v["hit@1"] != 0 || v["hit@5"] != 1 || v["clean@5"] != 0 || passed(v) {
		t.Errorf("verdict %v", v)
	}
	if v := verdict([]meminfra.SearchHit{fact("rome")}, "Rome", "Oslo"); !passed(v) {
		t.Errorf("verdict %v", v)
	}
}
