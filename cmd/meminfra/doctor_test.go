package main

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

func TestDoctorCommand(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		c.ok("add", "--user", "ada", "I live in Lisbon.")
		out := c.ok("doctor")
		for _, name := range []string{"config", "store", "schema", "ledger", "vectors", "orphans", "extractions", "erasures", "expired"} {
			if !strings.Contains(out, "ok     "+name) {
				t.Errorf("doctor does not look at %s:\n%s", name, out)
			}
		}
		var doc map[string]any
		c.document(&doc, "doctor", "--fix", "--json")
		wantKeys(t, "doctor", doc, "ok checks")
		c.ok("add", "--user", "ada", "--expires", "1h", "I use PostgreSQL.")
		c.now = c.now.AddDate(0, 0, 1)
		if o := c.run("doctor"); o.code != exitFailure || !strings.Contains(o.stdout, "WRONG  expired      2 memories") || !strings.Contains(o.stdout, "try: meminfra sweep") {
			t.Errorf("expired: %+v", o)
		}
	})
}

// Damage is named, with what helps; nothing else is.
func TestDoctorFindsDamage(t *testing.T) {
	for _, d := range []struct{ statement, name string }{
		{`DELETE FROM embedding`, "vectors"},
		{`INSERT INTO embedding SELECT partition, 'item', 'nothing', 0, model, dim, vector, change FROM embedding LIMIT 1`, "orphans"},
		{`UPDATE extraction SET status = 'failed'`, "extractions"},
		{`UPDATE item SET text = 'I live in Porto'`, "ledger"},
		{`INSERT INTO erasure (partition, erasure, at) SELECT partition, 'e', 1 FROM partition LIMIT 1`, "erasures"},
		{`UPDATE meminfra_migrations SET dirty = TRUE`, "schema"},
	} {
		t.Run(d.name, func(t *testing.T) {
			c := newCLI(t)
			c.ok("add", "--user", "ada", "I live in Lisbon.")
			db, err := sql.Open("sqlite", filepath.Join(c.env["XDG_DATA_HOME"], "meminfra", "memory.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec(d.statement); err != nil {
				t.Fatal(err)
			}
			o := c.run("doctor")
			if o.code != exitFailure || strings.Count(o.stdout, "WRONG") != 1 || !strings.Contains(o.stdout, "WRONG  "+d.name) || !strings.Contains(o.stdout, "try: ") {
				t.Errorf("%+v", o)
			}
			if d.name == "erasures" {
				c.ok("doctor", "--fix")
			}
		})
	}
	c := newCLI(t)
	if o := c.run("doctor"); o.code != exitFailure || !strings.Contains(o.stdout, "WRONG  store") || !strings.Contains(o.stdout, "meminfra init") {
		t.Errorf("no database: %+v", o)
	}
}

// A database without its schema is told to migrate, on both stores; an empty one
// with it is in order. Case A19 (d).
func TestDoctorOfAnUnmigratedDatabase(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		c.ok("migrate")
		c.ok("doctor")
		c.ok("migrate", "down")
		o := c.run("doctor", "--fix")
		if o.code != exitFailure || strings.Count(o.stdout, "WRONG") != 1 || !strings.Contains(o.stdout, "WRONG  schema") ||
			!strings.Contains(o.stdout, "try: meminfra migrate") {
			t.Errorf("%+v", o)
		}
		c.ok("migrate")
		c.ok("doctor")
	})
}
