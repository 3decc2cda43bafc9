package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDemo(t *testing.T) {
	c := newCLI(t)
	out := c.ok("demo")
	for _, want := range []string{"ADD ", "NOOP ", "SUPERSEDE ", "RETRACT ", "demo.db", "meminfra search --db sqlite:"} {
		if !strings.Contains(out, want) {
			t.Errorf("demo: want %q in\n%s", want, out)
		}
	}
	for _, question := range demoQuestions {
		_, after, found := strings.Cut(out, question+"\n")
		if !found || !strings.HasPrefix(after, "    1  ") {
			t.Errorf("demo: no hit for %q in\n%s", question, out)
		}
	}
	for question, want := range map[string]string{demoQuestions[0]: "SQLite", demoQuestions[1]: "Lisbon", demoQuestions[2]: "booking"} {
		_, after, _ := strings.Cut(out, question+"\n")
		if hit, _, _ := strings.Cut(after, "\n"); !strings.Contains(hit, want) {
			t.Errorf("demo: the first hit for %q is %q", question, hit)
		}
	}
	if lines := strings.Count(out, "\n"); lines >= 60 {
		t.Errorf("demo prints %d lines", lines)
	}
	if _, err := os.Stat(filepath.Join(c.env["XDG_DATA_HOME"], "meminfra", "demo.db")); err != nil {
		t.Error(err)
	}
	if again := c.ok("demo"); again != out {
		t.Errorf("the second run differs:\n%s\n%s", out, again)
	}
}

// The demo writes with the ledger's key as every command does.
func TestDemoUsesTheLedgerKey(t *testing.T) {
	c := newCLI(t)
	c.env["LEDGER_KEY"] = "a secret"
	c.ok("init", "--builtin")
	db := "sqlite:" + filepath.Join(t.TempDir(), "demo.db")
	c.ok("demo", "--db", db)
	if out := c.ok("verify", "--db", db, "--json"); !strings.Contains(out, `"ok":true`) || !strings.Contains(out, `"unkeyed":0,`) {
		t.Errorf("verify: %s", out)
	}
}

// The demo never deletes in a store that it is pointed at, and is not led there
// by DATABASE_URL.
func TestDemoElsewhere(t *testing.T) {
	c := newCLI(t)
	db := "sqlite:" + filepath.Join(t.TempDir(), "mine.db")
	c.env["DATABASE_URL"] = db
	c.ok("add", "--user", "ada", "I live in Lisbon.")
	c.ok("demo")
	c.ok("demo", "--db", db)
	out := c.ok("list", "--user", "ada")
	if !strings.Contains(out, "Lisbon") || strings.Contains(out, "SQLite") {
		t.Errorf("ada's memory: %s", out)
	}
	if out := c.ok("list", "--user", "demo-20250601-120000"); !strings.Contains(out, "SQLite") {
		t.Errorf("the demo's user: %s", out)
	}
}
