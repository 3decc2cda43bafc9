package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A team from joining to leaving: what members see says whose it is, what others
// see is nothing.
func TestTeamOnTheCommandLine(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		c.fails(exitUsage, "not an edge", "grant", "--user", "ada")
		if out := c.ok("grant", "--team", "red", "--user", "ada", "--by", "root"); !strings.Contains(out, "granted") || !strings.Contains(out, "team red, user ada") || !strings.Contains(out, "by root") {
			t.Errorf("grant: %s", out)
		}
		c.ok("grant", "--team", "red", "--user", "bo")
		if out := c.ok("grant", "--team", "red", "--user", "bo"); !strings.Contains(out, "it was so already") {
			t.Errorf("granted twice: %s", out)
		}
		var doc map[string]any
		c.document(&doc, "grants", "--team", "red", "--json")
		if list, _ := doc["grants"].([]any); len(list) != 2 {
			t.Errorf("grants: %v", doc)
		}
		c.ok("add", "--user", "bo", "--team", "red", "--conversation", "a", "--name", "Mia", "I live in Rome.")
		file := filepath.Join(t.TempDir(), "chat.jsonl")
		line := `{"conversation_id":"b","content":"I live in Bern.","name":"Sam","sent_at":"2025-05-02T09:00:00Z"}`
		if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		c.ok("import", "--user", "bo", "--team", "red", file)
		if out := c.ok("search", "--user", "ada", "Where does Mia live?"); !strings.Contains(out, "shared with you") || !strings.Contains(out, "team red by bo") {
			t.Errorf("search: %s", out)
		}
		if out := c.ok("list", "--user", "ada", "--team", "red"); !strings.Contains(out, "Rome") || !strings.Contains(out, "Bern") || strings.Count(out, "team red by bo") != 2 {
			t.Errorf("list: %s", out)
		}
		if out := c.ok("list", "--user", "bo"); out != "nothing found\n" {
			t.Errorf("his own: %s", out)
		}
		c.fails(exitUsage, "--team names no team", "forget", "--user", "bo", "--team", "", "--yes")
		if out := c.ok("forget", "--user", "bo", "--team", "red", "--conversation", "b", "--yes"); !strings.Contains(out, "1 message, 1 memory") || !strings.Contains(out, "team red") {
			t.Errorf("forget: %s", out)
		}
		if out := c.ok("revoke", "--team", "red", "--user", "ada"); !strings.Contains(out, "revoked") {
			t.Errorf("revoke: %s", out)
		}
		if o := c.run("list", "--user", "ada", "--team", "red"); o.code == exitOK || !strings.Contains(o.stderr, "not a member") {
			t.Errorf("list after leaving: %+v", o)
		}
		if out := c.ok("search", "--user", "ada", "Where does Mia live?"); strings.Contains(out, "Rome") {
			t.Errorf("search after leaving: %s", out)
		}
		if out := c.ok("grants", "--team", "red", "--history"); strings.Count(out, "granted") != 2 || strings.Count(out, "revoked") != 1 {
			t.Errorf("history: %s", out)
		}
	})
}
