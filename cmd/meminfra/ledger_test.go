package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
)

// TestLedgerCommands checks a memory, asks why, and carries it to another store.
func TestLedgerCommands(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		var added addDoc
		c.document(&added, "add", "--user", "ada", "--json", "I live in Porto.")
		folder := t.TempDir()
		heads, file := filepath.Join(folder, "heads.json"), filepath.Join(folder, "ada.jsonl")
		c.ok("checkpoint", "--out", heads)
		c.fails(exitFailure, "exists", "checkpoint", "--out", heads)
		if out := c.ok("verify", "--checkpoint", heads); !strings.Contains(out, "as it was written") || !strings.Contains(out, "embedding") {
			t.Errorf("verify: %q", out)
		}
		var found struct {
			TraceID string `json:"trace_id"`
		}
		c.document(&found, "search", "--user", "ada", "--json", "Where do I live?")
		if out := c.ok("why", "--user", "ada", found.TraceID); !strings.Contains(out, "ledger entry 2") || !strings.Contains(out, "»I live in Porto«") {
			t.Errorf("why: %q", out)
		}
		var why meminfra.WhyResult
		c.document(&why, "why", "--user", "ada", "--json", added.Actions[0].ItemID)
		if len(why.Items) != 1 || why.Items[0].Decisions[0].Entry != 2 {
			t.Errorf("why: %+v", why)
		}
		c.fails(exitFailure, "not found", "why", "--user", "bob", found.TraceID)
		c.ok("export", "--user", "ada", "--out", file)
		other := "sqlite:" + filepath.Join(folder, "other.db")
		if out := c.ok("--db", other, "import", "--format", "export", file); !strings.Contains(out, "reembed --user ada") {
			t.Errorf("import: %q", out)
		}
		if out := c.ok("--db", other, "export", "--user", "ada"); out != mustRead(t, file) {
			t.Errorf("the export of the import differs")
		}
		c.ok("--db", other, "verify", "--user", "ada", "--checkpoint", heads)
		c.ok("--db", other, "add", "--user", "ada", "I own a boat.")
		c.ok("checkpoint", "--out", heads+"2")
		c.fails(exitFailure, "diverged", "--db", other, "import", "--format", "export", file)
		for _, want := range []string{`"known":0,"entries":0,"rows":0,"messages":1,"left_out":0`, `"known":1,"entries":0,"rows":0,"messages":0,"left_out":0`} {
			if out := c.ok("--db", other, "import", "--format", "export", "--as-new", "--user", "bea", "--json", file); !strings.Contains(out, want) {
				t.Errorf("import as new: %q, want %s", out, want)
			}
		}
		c.ok("--db", other, "verify", "--user", "bea")
		c.fails(exitUsage, "--as-new", "--db", other, "import", "--user", "bea", "--as-new", file)
		bad := strings.Replace(mustRead(t, file), "Porto", "Faro", 1)
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		c.fails(exitFailure, "line 3", "--db", "sqlite:"+filepath.Join(folder, "third.db"), "import", "--format", "export", file)
	})
}

// TestSealCommand: a key that is set later needs one seal.
func TestSealCommand(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		c.ok("add", "--user", "ada", "I live in Porto.")
		c.fails(exitFailure, "no ledger key", "seal")
		c.env["LEDGER_KEY"] = "a secret"
		if o := c.run("verify"); o.code != exitFailure || !strings.Contains(o.stdout, "seal goes on with it") {
			t.Errorf("verify: %+v", o)
		}
		if o := c.run("doctor"); o.code != exitFailure || !strings.Contains(o.stdout, "try: meminfra seal") {
			t.Errorf("doctor: %+v", o)
		}
		if out := c.ok("seal"); out != "1 chain sealed, of 1\n" {
			t.Errorf("seal: %q", out)
		}
		if out := c.ok("seal", "--json"); !strings.Contains(out, `"sealed":0`) {
			t.Errorf("seal: %q", out)
		}
		c.ok("verify")
		c.ok("doctor")
	})
}

// TestReembedOfATeam: doctor's remedy for shared memory is a command that runs.
func TestReembedOfATeam(t *testing.T) {
	c := newCLI(t)
	c.ok("grant", "--team", "red", "--user", "ada")
	c.ok("add", "--user", "ada", "--team", "red", "I live in Porto.")
	db, err := sql.Open("sqlite", filepath.Join(c.env["XDG_DATA_HOME"], "meminfra", "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`DELETE FROM embedding`); err != nil {
		t.Fatal(err)
	}
	if o := c.run("doctor"); o.code != exitFailure || !strings.Contains(o.stdout, "--team T") {
		t.Errorf("doctor: %+v", o)
	}
	c.fails(exitUsage, "no team", "reembed", "--user", "ada", "--team", "")
	c.fails(exitUsage, "no team", "reprocess", "--user", "ada", "--team", "")
	if out := c.ok("reembed", "--user", "ada", "--team", "red"); !strings.Contains(out, "2 texts") {
		t.Errorf("reembed: %q", out)
	}
	c.ok("reprocess", "--user", "ada", "--team", "red")
	c.ok("doctor")
}

// TestExportOfWhatIsHidden: what came through an agent that was revoked is not
// its user's to export.
func TestExportOfWhatIsHidden(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		file := filepath.Join(t.TempDir(), "ada.jsonl")
		c.ok("add", "--user", "ada", "--agent", "p", "I live in Porto.")
		c.ok("grant", "--user", "ada", "--agent", "p")
		c.ok("export", "--user", "ada")
		c.ok("revoke", "--user", "ada", "--agent", "p")
		c.fails(exitFailure, "hidden", "export", "--user", "ada", "--out", file)
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("a refused export left a file: %v", err)
		}
		if out := c.ok("export", "--user", "ada", "--whole"); !strings.Contains(out, "Porto") {
			t.Errorf("the whole export: %q", out)
		}
	})
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
