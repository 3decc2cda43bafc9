package main

import (
	"strings"
	"testing"
)

func TestForgetCommand(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		c.ok("add", "--user", "ada", "--conversation", "a", "--id", "m1", "I live in Lisbon.")
		c.ok("add", "--user", "ada", "--conversation", "b", "--id", "m1", "I use PostgreSQL.")
		var list struct{ Items []struct{ ID, Value string } }
		c.document(&list, "list", "--user", "ada", "--json")

		c.fails(exitUsage, "no terminal to ask", "forget", "--user", "ada")
		c.fails(exitUsage, "no user id", "forget", "--yes")
		c.fails(exitUsage, "nothing selected", "forget", "--user", "ada", "--id", "", "--yes")
		c.fails(exitUsage, "nothing selected", "forget", "--user", "ada", "--history", "all", "--yes")
		c.fails(exitUsage, "more than one", "forget", "--user", "ada", "--id", "x", "--conversation", "a", "--yes")
		c.fails(exitFailure, "not found", "forget", "--user", "ada", "--id", "x", "--yes")
		if out := c.ok("forget", "--user", "ada", "--dry-run"); !strings.Contains(out, "would erase  2 messages, 2 memories") {
			t.Errorf("dry run: %s", out)
		}
		var doc map[string]any
		c.document(&doc, "forget", "--user", "ada", "--conversation", "a", "--yes", "--json")
		wantKeys(t, "certificate", doc, "partition selector at dry_run rows items episodes retold tombstones ledger_seq ledger_hash shared residue outside sha256")
		if out := c.ok("list", "--user", "ada"); strings.Contains(out, "Lisbon") || !strings.Contains(out, "PostgreSQL") {
			t.Errorf("left: %s", out)
		}
		if out := c.ok("forget", "--user", "ada", "--yes"); !strings.Contains(out, "erased       1 message, 1 memory") || !strings.Contains(out, "not covered") {
			t.Errorf("forget: %s", out)
		}
		if out := c.ok("list", "--user", "ada"); out != "nothing found\n" {
			t.Errorf("left: %s", out)
		}
	})
}

func TestForgetAsks(t *testing.T) {
	c := newCLI(t)
	c.ok("add", "--user", "ada", "I live in Lisbon.")
	c.interactive = true
	for answer, gone := range map[string]bool{"": false, "no\n": false} {
		c.stdin = answer
		if o := c.run("forget", "--user", "ada"); o.code != exitOK || !strings.Contains(o.stderr, "This erases for good: 1 message, 1 memory") || gone {
			t.Errorf("%q: %+v", answer, o)
		}
	}
	if out := c.ok("list", "--user", "ada"); !strings.Contains(out, "Lisbon") {
		t.Error("erased without a yes")
	}
	c.stdin = "y\n"
	if o := c.run("forget", "--user", "ada"); o.code != exitOK || !strings.Contains(o.stdout, "erased") {
		t.Errorf("yes: %+v", o)
	}
}

func TestSweepCommand(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		c.ok("add", "--user", "ada", "--expires", "30d", "I live in Lisbon.")
		c.ok("add", "--user", "ada", "--expires", "2025-06-02T00:00:00Z", "I use PostgreSQL.")
		for _, bad := range []string{"soon", "-5m", "0d", "xd", "2025-13-01T00:00:00Z", "", "213504d", "0001-01-01T00:00:00Z"} {
			c.fails(exitUsage, "--expires", "add", "--user", "ada", "--expires", bad, "I live in Porto.")
		}
		c.now = c.now.AddDate(0, 0, 2)
		if out := c.ok("list", "--user", "ada"); strings.Contains(out, "PostgreSQL") || !strings.Contains(out, "Lisbon") {
			t.Errorf("list: %s", out)
		}
		if out := c.ok("sweep", "--dry-run"); !strings.Contains(out, "would erase  1 message, 1 memory") {
			t.Errorf("dry run: %s", out)
		}
		if out := c.ok("sweep"); !strings.Contains(out, "1 partition lost something, 0 traces dropped") {
			t.Errorf("sweep: %s", out)
		}
		var doc map[string]any
		c.document(&doc, "sweep", "--json")
		wantKeys(t, "sweep", doc, "certificates traces residue")
	})
}
