package main

import (
	"regexp"
	"strings"
	"testing"
)

// addDoc and the others are the documents as a reader of the README has them.
type addDoc struct {
	Episodes []struct {
		ID        string `json:"id"`
		MessageID string `json:"message_id"`
	} `json:"episodes"`
	Actions []struct {
		Action       string `json:"action"`
		ItemID       string `json:"item_id"`
		Predicate    string `json:"predicate"`
		Value        string `json:"value"`
		SupersededID string `json:"superseded_id"`
		Reason       string `json:"reason"`
	} `json:"actions"`
}

func TestAddLifecycle(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		for _, step := range []struct {
			text, at string
			want     []string
		}{
			{"I prefer PostgreSQL for backend projects.", "2025-03-03T09:00:00Z", []string{"ADD ", "database_preference = PostgreSQL", "stored 1 message\n"}},
			{"I still use PostgreSQL.", "2025-03-04T09:00:00Z", []string{"NOOP ", "database_preference = PostgreSQL"}},
			{"I switched to SQLite.", "2025-03-05T09:00:00+02:00", []string{"SUPERSEDE ", "database_preference = SQLite", "replaces "}},
			{"I no longer use SQLite.", "2025-03-06T09:00:00Z", []string{"RETRACT ", "ends "}},
			{"What a lovely day it is.", "2025-03-06T09:01:00Z", []string{"stored 1 message; nothing in it is a fact I know how to keep\n"}},
		} {
			out := c.ok("add", "--user", "ada", "--at", step.at, step.text)
			for _, want := range step.want {
				if !strings.Contains(out, want) {
					t.Errorf("add %q: want %q in %q", step.text, want, out)
				}
			}
		}
	})
}

func TestAddOnce(t *testing.T) {
	c := newCLI(t)
	add := []string{"add", "--user", "ada", "--id", "m1", "--json", "I live in Lisbon."}
	var first, again addDoc
	c.document(&first, add...)
	c.document(&again, add...)
	if len(first.Actions) != 1 || len(again.Actions) != 0 || first.Episodes[0] != again.Episodes[0] || first.Episodes[0].MessageID != "m1" {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if out := c.ok("add", "--user", "ada", "--id", "m1", "I live in Lisbon."); out != "1 message known already\n" {
		t.Errorf("known message: %q", out)
	}
	o := c.fails(exitFailure, "reused", "add", "--user", "ada", "--id", "m1", "I live in Porto.")
	if strings.Contains(o.stderr, "Porto") {
		t.Errorf("memory text in %q", o.stderr)
	}
	keyed := []string{"add", "--user", "ada", "--key", "k1", "--json", "I moved to Porto."}
	c.document(&first, keyed...)
	c.document(&again, keyed...)
	if first.Episodes[0] != again.Episodes[0] {
		t.Errorf("idempotency key: first %+v, again %+v", first, again)
	}
	c.fails(exitFailure, "idempotency key", "add", "--user", "ada", "--key", "k1", "I moved to Braga.")
}

func TestAddDryRun(t *testing.T) {
	c := newCLI(t)
	out := c.ok("add", "--user", "ada", "--dry-run", "I live in Lisbon.")
	if !strings.Contains(out, "ADD ") || !strings.Contains(out, "nothing was written") {
		t.Errorf("dry run: %q", out)
	}
	if out := c.ok("list", "--user", "ada", "--kind", "episode"); out != "nothing found\n" {
		t.Errorf("dry run wrote %q", out)
	}
}

func TestAddFromStandardInput(t *testing.T) {
	c := newCLI(t)
	c.stdin = "I live in Lisbon.\n"
	c.ok("add", "--user", "ada", "--meta", "app=web", "--meta", "note=a=b", "-")
	var list listOf
	c.document(&list, "list", "--user", "ada", "--filter", "metadata.app=web", "--filter", "metadata.note=a=b", "--kind", "episode", "--json")
	if len(list.Items) != 1 || list.Items[0]["text"] != "I live in Lisbon." {
		t.Errorf("list: %+v", list)
	}
	c.stdin = strings.Repeat("x", 1<<20+1)
	c.fails(exitUsage, "too long", "add", "--user", "ada", "-")
	c.stdin = ""
	c.fails(exitUsage, "blank", "add", "--user", "ada", "-")
}

type listOf struct {
	Items []map[string]any `json:"items"`
	Next  string           `json:"next"`
}

const recordKeys = "id kind text authority status subject predicate value polarity valid_from valid_to event_at recorded_at " +
	"conversation_id speaker supersedes conflicts derived_from stale evidence metadata"

func TestJSONShapes(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		var added map[string]any
		c.document(&added, "add", "--user", "ada", "--id", "m1", "--at", "2025-03-03T09:00:00Z", "--json", "I prefer PostgreSQL for backend projects.")
		wantKeys(t, "add", added, "episodes actions rejections usage")
		wantKeys(t, "episode", added["episodes"].([]any)[0], "id message_id")
		action := added["actions"].([]any)[0].(map[string]any)
		wantKeys(t, "action", action, "action item_id text predicate value superseded_id reason guards")
		c.ok("add", "--user", "ada", "--id", "m2", "--at", "2025-03-04T09:00:00Z", "I switched to SQLite.")

		var found map[string]any
		c.document(&found, "search", "--user", "ada", "--json", "Which database do I prefer?")
		wantKeys(t, "search", found, "hits shared trace_id intent route degraded usage")
		hits := found["hits"].([]any)
		hit := hits[0].(map[string]any)
		wantKeys(t, "hit", hit, "id kind text score ranks authority status predicate value valid_from valid_to evidence conflicts")
		wantKeys(t, "ranks", hit["ranks"], "structured lexical vector")
		wantKeys(t, "evidence", hit["evidence"].([]any)[0], "episode_id message_id quote")
		if hit["value"] != "SQLite" || hit["authority"] != "authorized" || hit["status"] != "active" || hit["valid_to"] != nil {
			t.Errorf("first hit: %v", hit)
		}
		if hit["valid_from"] != "2025-03-04T09:00:00Z" {
			t.Errorf("valid_from: %v", hit["valid_from"])
		}
		for _, list := range []string{"shared", "degraded"} {
			if l, ok := found[list].([]any); !ok || len(l) != 0 {
				t.Errorf("%s: want an empty list, got %v", list, found[list])
			}
		}

		old := action["item_id"].(string)
		var record map[string]any
		c.document(&record, "get", "--user", "ada", "--json", old)
		wantKeys(t, "get", record, recordKeys)
		wantKeys(t, "subject", record["subject"], "type name")
		if record["status"] != "superseded" || record["valid_to"] != "2025-03-04T09:00:00Z" || record["polarity"] != "positive" {
			t.Errorf("get: %v", record)
		}

		var history map[string]any
		c.document(&history, "history", "--user", "ada", "--json", old)
		wantKeys(t, "history", history, "versions")
		versions := history["versions"].([]any)
		if len(versions) != 2 {
			t.Fatalf("history: %d versions", len(versions))
		}
		version := versions[0].(map[string]any)
		wantKeys(t, "version", version, recordKeys+" stages")
		stages := version["stages"].([]any)
		wantKeys(t, "stage", stages[0], "status valid_from valid_to known_from known_to action reason closed_by")

		var list map[string]any
		c.document(&list, "list", "--user", "ada", "--json")
		wantKeys(t, "list", list, "items next")
		wantKeys(t, "item", list["items"].([]any)[0], recordKeys)
	})
}

func TestEmptyAnswersAreLists(t *testing.T) {
	c := newCLI(t)
	c.ok("init")
	out := c.ok("search", "--user", "nobody", "--json", "Where do I live?")
	for _, want := range []string{`"hits":[]`, `"shared":[]`, `"degraded":[]`} {
		if !strings.Contains(out, want) {
			t.Errorf("search: want %s in %s", want, out)
		}
	}
	if out := c.ok("list", "--user", "nobody", "--json"); out != `{"items":[],"next":""}`+"\n" {
		t.Errorf("list: %s", out)
	}
	if out := c.ok("search", "--user", "nobody", "Where do I live?"); out != "nothing found\n" {
		t.Errorf("search: %q", out)
	}
}

func TestSearchTable(t *testing.T) {
	c := newCLI(t)
	c.ok("add", "--user", "ada", "--at", "2025-03-03T09:00:00Z", "I prefer PostgreSQL for backend projects.")
	out := c.ok("search", "--user", "ada", "Which database do I prefer?")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	row := regexp.MustCompile(`^ 1  [01]\.\d{4}   1   \d   \d  preference  I prefer PostgreSQL for backend projects\.?$`)
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "#  score    S   L   V  kind        text") || !row.MatchString(lines[1]) {
		t.Errorf("table:\n%s", out)
	}
	if !strings.Contains(lines[2], "database_preference = PostgreSQL, since 2025-03-03, id ") {
		t.Errorf("second line: %q", lines[2])
	}
}

func TestHistoryOnRequest(t *testing.T) {
	c := newCLI(t)
	c.ok("add", "--user", "ada", "--at", "2025-03-03T09:00:00Z", "I live in Lisbon.")
	c.ok("add", "--user", "ada", "--at", "2025-04-03T09:00:00Z", "I moved to Porto.")
	for _, test := range []struct {
		flags []string
		want  string // value of the location items, in order
	}{
		{nil, "Porto"},
		{[]string{"--valid-at", "2025-03-10T00:00:00Z"}, "Lisbon"},
		{[]string{"--filter", "valid_at=2025-03-10T00:00:00Z"}, "Lisbon"},
		{[]string{"--filter-json", `{"valid_at":"2025-03-10T00:00:00Z"}`}, "Lisbon"},
		{[]string{"--history", "exclude"}, "Porto"},
		{[]string{"--filter", "predicate=lives_in", "--filter", "value=Lisbon", "--history", "include"}, "Lisbon"},
	} {
		var list listOf
		c.document(&list, append([]string{"list", "--user", "ada", "--kind", "fact", "--json"}, test.flags...)...)
		var got []string
		for _, item := range list.Items {
			got = append(got, item["value"].(string))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("list %v: %v, want %s", test.flags, got, test.want)
		}
	}
	out := c.ok("list", "--user", "ada", "--kind", "fact", "--history", "include")
	if !strings.Contains(out, "superseded, 2025-03-03 to 2025-04-03, id ") {
		t.Errorf("list: %s", out)
	}
}

func TestListPages(t *testing.T) {
	c := newCLI(t)
	for _, text := range []string{"I live in Lisbon.", "I program in Go.", "I prefer SQLite."} {
		c.ok("add", "--user", "ada", text)
	}
	var seen []any
	cursor := ""
	for range 4 {
		var page listOf
		c.document(&page, "list", "--user", "ada", "--limit", "1", "--cursor", cursor, "--filter", "memory_type=semantic", "--json")
		for _, item := range page.Items {
			seen = append(seen, item["value"])
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(seen) != 3 || seen[0] != "SQLite" || seen[2] != "Lisbon" {
		t.Errorf("pages: %v", seen)
	}
}

func TestUsersAreApart(t *testing.T) {
	c := newCLI(t)
	var added addDoc
	c.document(&added, "add", "--user", "ada", "--json", "I live in Lisbon.")
	if out := c.ok("search", "--user", "grace", "Where do I live?"); out != "nothing found\n" {
		t.Errorf("search: %q", out)
	}
	c.fails(exitFailure, "not found", "get", "--user", "grace", added.Actions[0].ItemID)
	c.fails(exitFailure, "not found", "history", "--user", "grace", added.Actions[0].ItemID)
}

func TestHistoryAndGetForPeople(t *testing.T) {
	c := newCLI(t)
	var added addDoc
	c.document(&added, "add", "--user", "ada", "--id", "m1", "--at", "2025-03-03T09:00:00Z", "--json", "I live in Lisbon.")
	c.ok("add", "--user", "ada", "--at", "2025-04-03T09:00:00Z", "I moved to Porto.")
	id := added.Actions[0].ItemID
	for _, want := range []string{"location = Lisbon", "status       superseded", "holds        2025-03-03 to 2025-04-03",
		`evidence     "I live in Lisbon" in message m1`, "authority    authorized"} {
		if out := c.ok("get", "--user", "ada", id); !strings.Contains(out, strings.TrimSuffix(want, `"`)) {
			t.Errorf("get: want %q in\n%s", want, out)
		}
	}
	out := c.ok("history", "--user", "ada", id)
	for _, want := range []string{" 1  ", " 2  ", "known from 2025-06-01 12:00:00", "ADD, nothing was known of it", "SUPERSEDE, a newer value"} {
		if !strings.Contains(out, want) {
			t.Errorf("history: want %q in\n%s", want, out)
		}
	}
}
