package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// readme returns the repository's root, and its README with the page on the
// command behind it.
func readme(t *testing.T) (root, text string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "docs/command.md"} {
		raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		text += string(raw)
	}
	return root, text
}

// The Go example of the README compiles, runs, and prints what it says. It is
// laid over the tree as a package of its own, so it needs no network.
func TestReadmeExampleRuns(t *testing.T) {
	root, text := readme(t)
	_, rest, found := strings.Cut(text, "```go\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README has no Go block")
	}
	folder := t.TempDir()
	source := filepath.Join(folder, "main.go")
	program := `package main

import (
	"context"
	"fmt"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
` + block + "}\n"
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(root, "cmd", "readme-example", "main.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{place: source}})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(folder, "example")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlayFile, "-o", binary, "./cmd/readme-example")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), binary)
	run.Dir = folder
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(block), "\n")
	_, want, _ := strings.Cut(lines[len(lines)-1], "// ")
	if strings.TrimSpace(string(out)) != want {
		t.Errorf("printed %q, the README says %q", out, want)
	}
}

// The README's import line is one that import takes.
func TestReadmeImportLine(t *testing.T) {
	_, text := readme(t)
	_, rest, _ := strings.Cut(text, "```json\n")
	line, _, _ := strings.Cut(rest, "\n```")
	c := newCLI(t)
	var doc map[string]any
	c.document(&doc, "import", "--user", "ada", "--user-name", "Ada", "--json", writeFile(t, line))
	if doc["stored"] != 1.0 {
		t.Errorf("import: %v", doc)
	}
}

// Every command and every filter is in the README.
func TestReadmeNamesEverything(t *testing.T) {
	_, text := readme(t)
	for _, command := range newCLIApp().rootCommand().Commands() {
		if !strings.Contains(text, "\n| `"+command.Name()) {
			t.Errorf("the README's table lacks %s", command.Name())
		}
	}
	for _, key := range filterKeys() {
		if !strings.Contains(text, "`"+key+"`") {
			t.Errorf("the README lacks the filter %s", key)
		}
	}
}

func newCLIApp() *app { return &app{getenv: func(string) string { return "" }} }
