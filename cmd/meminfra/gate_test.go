package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestGateCommands: check asks, confirm lets pass once, feedback rewards; each
// with its document.
func TestGateCommands(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		c.ok("add", "--user", "ada", "I live in Lisbon.")
		c.ok("add", "--user", "ada", "--name", "Bob", "I live in Oslo.")
		if out := c.ok("check", "--user", "ada", "book", "--arg", "city=Lisbon"); !strings.HasPrefix(out, "allow\n  city: allow, authorized in ") || strings.Contains(out, "token") {
			t.Errorf("the user's word: %q", out)
		}
		for _, args := range [][]string{{"book", "--arg", "city=Porto"}, {"book", "--arg", "city=Lisbon", "--intent"}, {"book"}} {
			if o := c.run(append([]string{"check", "--user", "ada"}, args...)...); !strings.HasPrefix(o.stdout, "missing\n") || o.code != exitFailure {
				t.Errorf("%v: %+v", args, o)
			}
		}
		call := []string{"--user", "ada", "send", "--arg", "to=Oslo"}
		var asked map[string]any
		o := c.run(append([]string{"check", "--json"}, call...)...)
		if err := json.Unmarshal([]byte(o.stdout), &asked); err != nil || o.code != exitFailure || o.stderr != "meminfra: not allowed\n" {
			t.Fatalf("%v, %+v", err, o)
		}
		wantKeys(t, "check", asked, "verdict args intent token expires_at")
		wantKeys(t, "argument", asked["args"].(map[string]any)["to"], "verdict items authority")
		if asked["verdict"] != "needs_confirmation" || asked["intent"] != nil {
			t.Errorf("another's word: %v", asked)
		}
		token := asked["token"].(string)
		c.fails(exitFailure, "another call", "confirm", "--user", "ada", "send", "--arg", "to=Bergen", "--token", token)
		c.fails(exitFailure, "unknown", append([]string{"confirm", "--token", "x"}, call...)...)
		var yes map[string]any
		c.document(&yes, append([]string{"confirm", "--json", "--token", token}, call...)...)
		wantKeys(t, "confirm", yes, "verdict args intent")
		if yes["verdict"] != "allow" {
			t.Errorf("confirmed: %v", yes)
		}
		c.fails(exitFailure, "used", append([]string{"confirm", "--token", token}, call...)...)
		c.fails(exitUsage, "NAME=VALUE", "check", "--user", "ada", "send", "--arg", "to")
		c.fails(exitUsage, "each name once", "check", "--user", "ada", "send", "--arg", "to=a", "--arg", "to=b")
	})
}

func TestFeedbackCommand(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		c.ok("add", "--user", "ada", "I live in Lisbon.")
		var found struct {
			TraceID string `json:"trace_id"`
		}
		c.document(&found, "search", "--user", "ada", "--json", "Where do I live?")
		var first, again map[string]any
		args := []string{"feedback", "--user", "ada", "--key", "k1", "--json", found.TraceID, "1"}
		c.document(&first, args...)
		wantKeys(t, "feedback", first, "id credited known")
		if n := len(first["credited"].([]any)); n != 1 || first["known"] != false {
			t.Errorf("feedback: %v", first)
		}
		if c.document(&again, args...); again["known"] != true || again["id"] != first["id"] {
			t.Errorf("again: %v", again)
		}
		c.fails(exitUsage, "from -1 to 1", "feedback", "--user", "ada", found.TraceID, "1.5")
		c.fails(exitFailure, "not found", "feedback", "--user", "bob", found.TraceID, "1")
	})
}

// TestConflictsAreShown: a hit, a record and the reasons name what contradicts
// them, on both sides.
func TestConflictsAreShown(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		c.ok("add", "--user", "ada", "I moved to Lisbon on 1 May 2025.")
		c.ok("add", "--user", "ada", "I moved to Porto on 1 May 2025.")
		type item struct {
			ID        string   `json:"id"`
			Kind      string   `json:"kind"`
			Value     string   `json:"value"`
			Conflicts []string `json:"conflicts"`
		}
		var found struct {
			Hits    []item `json:"hits"`
			TraceID string `json:"trace_id"`
		}
		c.document(&found, "search", "--user", "ada", "--json", "Where do I live?")
		var a, b item
		for _, h := range found.Hits {
			if h.Conflicts == nil {
				t.Errorf("%s %s: conflicts are null", h.Kind, h.ID)
			}
			if h.Value == "Porto" {
				a = h
			}
		}
		if len(a.Conflicts) != 1 {
			t.Fatalf("hits: %+v", found.Hits)
		}
		if c.document(&b, "get", "--user", "ada", "--json", a.Conflicts[0]); b.Value != "Lisbon" || len(b.Conflicts) != 1 || b.Conflicts[0] != a.ID {
			t.Errorf("the other side: %+v", b)
		}
		var why struct {
			Items []json.RawMessage `json:"items"`
		}
		c.document(&why, "why", "--user", "ada", "--json", a.ID)
		var reasons map[string]any
		if err := json.Unmarshal(why.Items[0], &reasons); err != nil {
			t.Fatal(err)
		}
		wantKeys(t, "why", reasons, "id rank cited kind text authority status decisions evidence conflicts")
		if list := reasons["conflicts"].([]any); len(list) != 1 || list[0] != b.ID {
			t.Errorf("why: %v", reasons)
		}
		if out := c.ok("why", "--user", "ada", b.ID); !strings.Contains(out, "contradicts "+a.ID) {
			t.Errorf("why: %q", out)
		}
	})
}
