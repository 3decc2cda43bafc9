package meminfra_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/meminfra/memory-layer/"

// layers lists the packages of each layer, bottom first. A package may import
// packages of lower layers, and of its own where noted in peers.
var layers = [][]string{
	{"meminfra/memory", "predicates", "fusion", "index"},
	{"index/internal/kernel", "internal/pages"},
	{"index/internal/block"},
	{"eval/locomo", "eval/metrics", "index/exact", "index/hnsw", "index/bm25", "index/indextest", "intent",
		"meminfra/llm", "meminfra/storage", "meminfra/extract", "meminfra/recall", "meminfra/access"},
	{"eval/authmem", "meminfra/llm/hashed", "meminfra/extract/patterns", "migrate", "meminfra/storage/internal/wipe", "meminfra/storage/internal/keep", "meminfra/storage/storagetest",
		"meminfra/memtest", "meminfra/reconcile", "meminfra/ledger", "meminfra/gate",
		"meminfra/llm/schema", "meminfra/llm/internal/wire", "meminfra/llm/replay", "meminfra/llm/llmtest"},
	{"migrate/sqlite", "migrate/postgres", "meminfra/retrieve", "meminfra/memtest/pgtest",
		"meminfra/llm/openai", "meminfra/llm/anthropic", "meminfra/extract/model", "meminfra/reconcile/manager", "meminfra/answer"},
	{"meminfra/llm/provider", "meminfra/storage/sqlite", "meminfra/storage/postgres", "meminfra", "meminfra/memtest/sqlitetest"},
	{"eval"},
	{"eval/tune", "eval/suite"},
	{"cmd/meminfra"},
}

// peers are imports within a layer that are meant.
var peers = map[string][]string{
	"meminfra/extract": {"meminfra/llm"},
}

// leaves may use the standard library and x/text only, so that whoever wants
// the vocabulary or the fusion alone gets nothing else.
var leaves = layers[0]

// never lists imports that are forbidden whatever the layer, with the reason.
var never = []struct{ who, what, why string }{
	{"meminfra", "meminfra/storage/sqlite", "adapters are handed in: whoever uses PostgreSQL links no SQLite"},
	{"meminfra", "meminfra/storage/postgres", "adapters are handed in: whoever uses SQLite links no pgx"},
	{"meminfra", "migrate", "the facade does not change schemas"},
	{"meminfra/storage/sqlite", "meminfra/storage/postgres", "adapters are strangers to each other"},
	{"meminfra/storage/postgres", "meminfra/storage/sqlite", "adapters are strangers to each other"},
	{"meminfra/storage/sqlite", "migrate/postgres", "an embedded store links no pgx"},
	{"meminfra/storage/postgres", "migrate/sqlite", "a server store links no SQLite"},
	{"meminfra", "meminfra/llm/openai", "adapters are handed in: whoever asks no model links no SDK"},
	{"meminfra", "meminfra/llm/anthropic", "adapters are handed in: whoever asks no model links no SDK"},
	{"meminfra/llm/openai", "meminfra/llm/anthropic", "adapters are strangers to each other"},
	{"meminfra/llm/anthropic", "meminfra/llm/openai", "adapters are strangers to each other"},
	{"meminfra/llm/provider", "meminfra/llm/anthropic", "the Anthropic SDK is large and is handed in"},
	{"meminfra", "testing", "test support stays out of what users link"},
	{"cmd/meminfra", "testing", "test support stays out of what users link"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

// TestImportGraphPointsOneWay walks the packages of the module and fails on an
// import that points back, with the reason.
func TestImportGraphPointsOneWay(t *testing.T) {
	rank := map[string]int{}
	for i, layer := range layers {
		for _, p := range layer {
			rank[p] = i
		}
	}
	all := listPackages(t)
	for path, p := range all {
		from, ours := strings.CutPrefix(path, module)
		if !ours {
			continue
		}
		if _, known := rank[from]; !known {
			t.Errorf("%s is in no layer: say in deps_test.go where it belongs", from)
			continue
		}
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, module)
			if ours && rank[to] >= rank[from] && !slices.Contains(peers[from], to) {
				t.Errorf("%s imports %s: arrows point down the layers of the design, never up or sideways", from, to)
			}
			if slices.Contains(leaves, from) && !ours && !all[imp].Standard && !strings.HasPrefix(imp, "golang.org/x/text/") {
				t.Errorf("%s imports %s: leaves use the standard library and x/text only", from, imp)
			}
		}
	}
	for _, n := range never {
		what := n.what
		if rankOf, ours := rank[n.what]; ours && rankOf >= 0 {
			what = module + n.what
		}
		if slices.Contains(all[module+n.who].Deps, what) {
			t.Errorf("%s links %s: %s", n.who, n.what, n.why)
		}
	}
}

func listPackages(t *testing.T) map[string]pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Deps,Standard", module+"...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string]pkg{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
	if len(all) < 20 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}
