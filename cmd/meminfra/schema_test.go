package main

import (
	"strings"
	"testing"
)

func TestInitIsRepeatable(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		if out := c.ok("init"); !strings.Contains(out, "store        ") || !strings.Contains(out, "meminfra add") {
			t.Errorf("init: %s", out)
		}
		if out := c.ok("init"); !strings.Contains(out, "found a database that is up to date") {
			t.Errorf("again: %s", out)
		}
	})
}

func TestInitSaysWhatItFound(t *testing.T) {
	c := newCLI(t)
	if out := c.ok("init"); !strings.Contains(out, "made a new database") {
		t.Errorf("first: %s", out)
	}
	c.ok("migrate", "down")
	if out := c.ok("init"); !strings.Contains(out, "brought a database up from schema 000") {
		t.Errorf("after down: %s", out)
	}
}

func TestMigrateUpDownUp(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		c.ok("add", "--user", "ada", "I live in Lisbon.")
		up := c.ok("migrate")
		if !strings.HasPrefix(up, "the schema is at ") {
			t.Errorf("up on a current schema: %q", up)
		}
		down := c.ok("migrate", "down")
		name := strings.TrimSpace(strings.TrimPrefix(down, "undid "))
		if status := c.ok("migrate", "status"); !strings.Contains(status, "pending      "+name) {
			t.Errorf("undid %q, status:\n%s", name, status)
		}
		if up := c.ok("migrate", "up"); !strings.HasPrefix(up, "applied "+name+"\n") {
			t.Errorf("up again: %q", up)
		}
		for range 20 {
			if out := c.ok("migrate", "down"); strings.Contains(out, "nothing to undo") {
				c.ok("migrate")
				return
			}
		}
		t.Error("down never came to an end")
	})
}

func TestShowSQLOpensNothing(t *testing.T) {
	c := newCLI(t)
	for url, want := range map[string]string{"sqlite:/nowhere/at/all.db": "BLOB", "postgres://ada:hunter2@127.0.0.1:1/app": "bytea"} {
		up := c.ok("migrate", "--show-sql", "--db", url)
		if !strings.HasPrefix(up, "-- 0001_") || !strings.Contains(strings.ToLower(up), strings.ToLower(want)) {
			t.Errorf("--show-sql for %s: %.80q", url, up)
		}
		if down := c.ok("migrate", "down", "--show-sql", "--db", url); !strings.Contains(down, "DROP TABLE") {
			t.Errorf("down --show-sql: %.80q", down)
		}
	}
}

// A PostgreSQL without the schema is told apart from one without memories.
func TestPostgresWantsMigrating(t *testing.T) {
	onPostgres(t, func(t *testing.T, c *cli) {
		o := c.fails(exitFailure, "run migrate", "add", "--user", "ada", "I live in Lisbon.")
		if !strings.Contains(o.stderr, "try: meminfra migrate") {
			t.Errorf("hint: %q", o.stderr)
		}
		c.env["DIRECT_URL"], c.env["DATABASE_URL"] = c.env["DATABASE_URL"], "postgres://ada@127.0.0.1:1/app"
		c.ok("migrate") // by DIRECT_URL
		c.env["DATABASE_URL"] = c.env["DIRECT_URL"]
		c.ok("add", "--user", "ada", "I live in Lisbon.")
	})
}

func TestVersion(t *testing.T) {
	out := newCLI(t).ok("version")
	for _, want := range []string{"meminfra     ", "go           go1.", "schema       000"} {
		if !strings.Contains(out, want) {
			t.Errorf("version: want %q in\n%s", want, out)
		}
	}
}

func TestHelpOfEveryCommand(t *testing.T) {
	c := newCLI(t)
	root := c.ok()
	for _, command := range []string{"demo", "init", "migrate", "add", "search", "get", "list", "history", "import", "version"} {
		if !strings.Contains(root, "\n  "+command+" ") {
			t.Errorf("help does not list %s", command)
		}
		for line := range strings.Lines(c.ok(command, "--help")) {
			if !strings.Contains(line, "--filter ") && len(line) > 130 {
				t.Errorf("%s --help: a line of %d characters: %s", command, len(line), line)
			}
		}
	}
}
