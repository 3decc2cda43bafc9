package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUsageErrors(t *testing.T) {
	c := newCLI(t)
	file := filepath.Join(t.TempDir(), "messages.jsonl")
	if err := os.WriteFile(file, []byte(`{"conversation_id":"c","content":"hello"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		want string
		args []string
	}{
		{"unknown command", []string{"serach"}},
		{"unknown flag", []string{"search", "--usre", "ada", "what"}},
		{"unknown command", []string{"migrate", "sideways"}},
		{"no user", []string{"search", "what"}},
		{"no user", []string{"search", "--user", "  ", "what"}},
		{"no QUERY", []string{"search", "--user", "ada"}},
		{"2 arguments", []string{"search", "--user", "ada", "what", "else"}},
		{"blank", []string{"search", "--user", "ada", " \u200b\t"}},
		{"negative", []string{"search", "--user", "ada", "--limit", "-1", "what"}},
		{"invalid argument", []string{"search", "--user", "ada", "--limit", "many", "what"}},
		{`unknown filter "colour"`, []string{"search", "--user", "ada", "--filter", "colour=red", "what"}},
		{"key=value", []string{"search", "--user", "ada", "--filter", "kind", "what"}},
		{`"kind" is given twice`, []string{"search", "--user", "ada", "--filter", "kind=fact", "--kind", "event", "what"}},
		{"invalid filter", []string{"search", "--user", "ada", "--filter-json", `{"colour":"red"}`, "what"}},
		{"invalid filter", []string{"search", "--user", "ada", "--filter-json", `{"kind":`, "what"}},
		{"valid_at: neither a time", []string{"search", "--user", "ada", "--valid-at", "yesterday", "what"}},
		{"from: neither a time", []string{"list", "--user", "ada", "--filter", "from=2025-03-32"}},
		{"negative", []string{"list", "--user", "ada", "--limit", "-5"}},
		{"takes no arguments", []string{"list", "--user", "ada", "all"}},
		{"no user", []string{"get", "some-id"}},
		{"no ID", []string{"history", "--user", "ada"}},
		{"no user", []string{"add", "I live in Lisbon."}},
		{"no TEXT", []string{"add", "--user", "ada"}},
		{"blank", []string{"add", "--user", "ada", " \n"}},
		{"--role", []string{"add", "--user", "ada", "--role", "king", "I live in Lisbon."}},
		{"--at: neither a time", []string{"add", "--user", "ada", "--at", "3 March", "I live in Lisbon."}},
		{"--meta", []string{"add", "--user", "ada", "--meta", "novalue", "I live in Lisbon."}},
		{"no user", []string{"import", file}},
		{"--format", []string{"import", "--user", "ada", "--format", "xml", file}},
		{"--batch", []string{"import", "--user", "ada", "--batch", "0", file}},
		{`no conversation "d"`, []string{"import", "--user", "ada", "--conversation", "d", file}},
	} {
		o := c.fails(exitUsage, test.want, test.args...)
		for _, secret := range []string{"Lisbon", "what else", "hello"} {
			if strings.Contains(o.stderr, secret) {
				t.Errorf("meminfra %q: memory text in %q", test.args, o.stderr)
			}
		}
	}
	for _, command := range []string{"index status", "reindex", "reembed", "reprocess", "stale"} {
		c.fails(exitUsage, "takes no arguments", append(strings.Fields(command), "--user", "ada", "all")...)
	}
	if _, err := os.Stat(c.env["XDG_DATA_HOME"]); !os.IsNotExist(err) {
		t.Errorf("usage errors left something in the data folder: %v", err)
	}
}

// A limit that only the library knows is the caller's mistake as well.
func TestLibraryErrorsThatAreUsage(t *testing.T) {
	c := newCLI(t)
	c.ok("add", "--user", "ada", "I live in Lisbon.")
	c.fails(exitUsage, "too long", "search", "--user", "ada", strings.Repeat("long ", 2000))
	c.fails(exitUsage, "cursor", "list", "--user", "ada", "--cursor", "?")
	c.fails(exitUsage, "filter", "list", "--user", "ada", "--filter", "kind=nonsense")
	c.fails(exitFailure, "not found", "get", "--user", "ada", "0198f0c2-7c1e-7abc-8def-0123456789ab")
}

func TestStoreForms(t *testing.T) {
	c := newCLI(t)
	for _, url := range []string{"mysql://ada:hunter2@host/db", "hunter2", "sqlite:", "postgres:hunter2", "sqlite::memory:"} {
		o := c.fails(exitUsage, "", "search", "--db", url, "--user", "ada", "what")
		if strings.Contains(o.stderr, "hunter2") || !strings.Contains(o.stderr, "sqlite:PATH") {
			t.Errorf("--db %s: %q", url, o.stderr)
		}
	}
	o := c.fails(exitFailure, "there is no database at", "search", "--user", "ada", "what")
	if !strings.Contains(o.stderr, "meminfra init") {
		t.Errorf("no hint: %q", o.stderr)
	}
	delete(c.env, "XDG_DATA_HOME")
	c.fails(exitFailure, "no data folder", "init")
}

func TestStorePrecedence(t *testing.T) {
	folder := t.TempDir()
	byEnv, byFlag := filepath.Join(folder, "env.db"), filepath.Join(folder, "flag.db")
	c := newCLI(t)
	c.env["DATABASE_URL"] = "sqlite:" + byEnv
	c.ok("init")
	c.ok("init", "--db", "sqlite:"+byFlag)
	for _, path := range []string{byEnv, byFlag} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	// DIRECT_URL goes around a pooler of PostgreSQL; a SQLite file has none.
	c.env["DIRECT_URL"] = "postgres://ada:hunter2@127.0.0.1:1/app"
	c.ok("migrate", "status")
	delete(c.env, "DATABASE_URL")
	c.fails(exitFailure, "127.0.0.1", "migrate", "status")
	c.ok("migrate", "status", "--db", "sqlite:"+byFlag)
}

func TestUnreachablePostgres(t *testing.T) {
	c := newCLI(t)
	c.env["DATABASE_URL"] = "postgres://ada:hunter2@127.0.0.1:1/app?connect_timeout=3"
	for _, args := range [][]string{
		{"add", "--user", "ada", "I live in Lisbon."}, {"search", "--user", "ada", "what"}, {"migrate"}, {"migrate", "down"}, {"init"},
	} {
		o := c.fails(exitFailure, "127.0.0.1", args...)
		if strings.Contains(o.stderr, "hunter2") || !strings.Contains(o.stderr, "try: ") {
			t.Errorf("meminfra %q: %q", args, o.stderr)
		}
	}
	c.env["DATABASE_URL"] = "postgres://ada:hunter2@127.0.0.1:port/app"
	for _, command := range []string{"init", "migrate"} {
		if o := c.fails(exitFailure, "", command); strings.Contains(o.stderr, "hunter2") {
			t.Errorf("password in %q", o.stderr)
		}
	}
}

func TestLockedDatabase(t *testing.T) {
	c := newCLI(t)
	path := filepath.Join(t.TempDir(), "memory.db")
	c.env["DATABASE_URL"] = "sqlite:" + path
	c.ok("add", "--user", "ada", "I live in Lisbon.")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	c.fails(exitFailure, "locked by another process", "add", "--user", "ada", "I moved to Porto.")
	if _, err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if out := c.ok("list", "--user", "ada", "--kind", "episode"); strings.Contains(out, "Porto") {
		t.Errorf("half-written: %s", out)
	}
	c.ok("add", "--user", "ada", "I moved to Porto.")
}

func TestRedact(t *testing.T) {
	for _, test := range []struct{ url, text, want string }{
		{"postgres://ada:p%40ss@h/db", "x postgres://ada:p%40ss@h/db y", "x postgres://... y"},
		{"postgres://ada:p%40ss@h/db", "password p@ss or p%40ss", "password *** or ***"},
		{"postgres://h/db?password=s3cret", "bad s3cret", "bad ***"},
		{"sqlite:a.db", "a.db is locked", "a.db is locked"},
	} {
		tg := target{url: test.url}
		if strings.HasPrefix(test.url, "sqlite:") {
			tg.path = "a.db"
		}
		if got := tg.redact(test.text); got != test.want {
			t.Errorf("redact(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}
