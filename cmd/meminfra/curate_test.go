package main

import (
	"strings"
	"testing"
)

// TestOwnersActs walks one fact through its life by the owner's hand.
func TestOwnersActs(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		var added addDoc
		c.document(&added, "add", "--user", "ada", "--json", "I live in Pariss.")
		id := added.Actions[0].ItemID
		var derived struct {
			ItemID string `json:"item_id"`
		}
		c.document(&derived, "derive", "--user", "ada", "--from", id, "--json", "Ada speaks some French")
		if out := c.ok("stale", "--user", "ada"); out != "nothing is stale\n" {
			t.Errorf("stale: %q", out)
		}
		var edited struct {
			Action       string   `json:"action"`
			ItemID       string   `json:"item_id"`
			SupersededID string   `json:"superseded_id"`
			Value        string   `json:"value"`
			Changed      []string `json:"changed"`
		}
		c.document(&edited, "edit", "--user", "ada", id, "--text", "I live in Paris", "--meta", "checked=yes", "--json")
		if edited.Action != "SUPERSEDE" || edited.SupersededID != id || edited.Value != "Paris" || len(edited.Changed) != 2 {
			t.Errorf("edit: %+v", edited)
		}
		if out := c.ok("stale", "--user", "ada"); !strings.Contains(out, "Ada speaks some French") || !strings.Contains(out, id+" is superseded") {
			t.Errorf("stale: %q", out)
		}
		if out := c.ok("retract", "--user", "ada", edited.ItemID, "--reason", "I was joking"); !strings.Contains(out, "RETRACT") || !strings.Contains(out, "I was joking") {
			t.Errorf("retract: %q", out)
		}
		if out := c.ok("list", "--user", "ada", "--filter", "predicate=location"); out != "nothing found\n" {
			t.Errorf("after a retract: %q", out)
		}
		c.ok("restore", "--user", "ada", edited.ItemID)
		if out := c.ok("search", "--user", "ada", "Where do I live?"); !strings.Contains(out, "I live in Paris") {
			t.Errorf("after a restore: %q", out)
		}
		if out := c.ok("reprocess", "--user", "ada"); out != "read 0 messages\n" {
			t.Errorf("reprocess: %q", out)
		}
		c.fails(exitFailure, "not found", "retract", "--user", "bob", edited.ItemID)
		c.fails(exitUsage, "no --text", "edit", "--user", "ada", edited.ItemID)
		c.fails(exitUsage, "no sources", "derive", "--user", "ada", "text")
		c.fails(exitUsage, "no user id", "stale")
	})
}
