package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeFile writes a file of the test and returns its path.
func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "messages")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const twoDays = `{"conversation_id":"c1","id":"m1","content":"I live in Lisbon.","sent_at":"2025-03-03T09:00:00Z","session_id":"s1"}
{"conversation_id":"c1","id":"m2","role":"assistant","name":"Bot","content":"Nice place.","sent_at":"2025-03-03T09:01:00Z","session_id":"s1"}

{"conversation_id":"c1","content":"I moved to Porto.","sent_at":"2025-03-04T18:33:00+01:00","session_id":"s2","metadata":{"app":"web","n":3}}
{"conversation_id":"c2","content":"Hello again.","session_id":"s1"}
{"conversation_id":"c2","content":"Hello again.","session_id":"s1"}
`

func TestImportTwice(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		file := writeFile(t, twoDays)
		want := "{\"messages\":5,\"stored\":5,\"known\":0,\"conversations\":2,\"sessions\":3,\"actions\":{\"ADD\":1,\"NOOP\":0,\"RETRACT\":0,\"SUPERSEDE\":1},\"rejections\":0,\"usage\":[]}\n"
		if out := c.ok("import", "--user", "ada", "--json", file); out != want {
			t.Errorf("first:\n%swant\n%s", out, want)
		}
		want = "{\"messages\":5,\"stored\":0,\"known\":5,\"conversations\":2,\"sessions\":3,\"actions\":{\"ADD\":0,\"NOOP\":0,\"RETRACT\":0,\"SUPERSEDE\":0},\"rejections\":0,\"usage\":[]}\n"
		if out := c.ok("import", "--user", "ada", "--batch", "1", "--json", file); out != want {
			t.Errorf("again:\n%swant\n%s", out, want)
		}
		var list listOf
		c.document(&list, "list", "--user", "ada", "--filter", "metadata.app=web", "--filter-json", `{"metadata":{"field":"n","op":"gte","value":3}}`, "--kind", "episode", "--json")
		if len(list.Items) != 1 || list.Items[0]["event_at"] != "2025-03-04T17:33:00Z" {
			t.Errorf("by metadata: %v", list.Items)
		}
	})
}

func TestImportSummaryForPeople(t *testing.T) {
	c := newCLI(t)
	c.stdin = "\uFEFF" + twoDays
	out := c.ok("import", "--user", "ada", "-")
	want := `read         5 messages in 2 conversations, 3 sessions
stored       5 new, 0 known already
decisions    1 ADD, 0 NOOP, 1 SUPERSEDE, 0 RETRACT
`
	if out != want {
		t.Errorf("summary:\n%s", out)
	}
	c.stdin = twoDays
	if out := c.ok("import", "--user", "ada", "--conversation", "c1", "-"); !strings.Contains(out, "read         3 messages in 1 conversation, 2 sessions\n") {
		t.Errorf("one conversation:\n%s", out)
	}
}

func TestImportOfABadFileLeavesNothing(t *testing.T) {
	good := `{"conversation_id":"c1","id":"m1","content":"I live in Lisbon."}` + "\n"
	for _, test := range []struct{ line, want string }{
		{`{"conversation_id":"c1","content":"secret`, "line 2: not valid JSON"},
		{`{"conversation_id":"c1","content":secret}`, "line 2: not valid JSON at byte"},
		{`{"conversation_id":"c1","contents":"secret"}`, `line 2: unknown field "contents"`},
		{`["secret"]`, "line 2: not a JSON object"},
		{`{"conversation_id":"c1","content":"secret"} {}`, "line 2: more than one JSON value"},
		{`{"conversation_id":"c1","content":7}`, "line 2: field content: want a string"},
		{`{"conversation_id":"c1","content":"x","metadata":["secret"]}`, "line 2: field metadata: want an object"},
		{`{"conversation_id":"c1","content":"x","metadata":{"n":9007199254740993}}`, "line 2: metadata"},
		{`{"conversation_id":"c1","content":"x","role":"secret"}`, "line 2: field role"},
		{`{"conversation_id":"c1","content":"x","sent_at":"secret"}`, "line 2: field sent_at: not a time"},
		{`{"content":"secret"}`, "line 2: conversation_id: blank"},
		{`{"conversation_id":"c1"}`, "line 2: content: blank"},
		{`{"conversation_id":"c1","content":"` + strings.Repeat("x", 1<<20+1) + `"}`, "line 2: content: 1048577 bytes"},
		{`{"conversation_id":"c1","content":"x","name":"` + strings.Repeat("x", 257) + `"}`, "line 2: name: 257 bytes"},
		{`{"conversation_id":"c1","id":"m1","content":"secret"}`, "line 2: the message id of line 1 is used again"},
		{strings.Repeat(" ", maxLine+1), "line 2: longer than"},
	} {
		c := newCLI(t)
		file := writeFile(t, good+test.line+"\n"+good)
		o := c.fails(exitFailure, test.want, "import", "--user", "ada", file)
		if !strings.Contains(o.stderr, "nothing was imported") || strings.Contains(o.stderr, "secret") {
			t.Errorf("%.60s: %q", test.line, o.stderr)
		}
		c.stdin = good + test.line
		c.fails(exitFailure, test.want, "import", "--user", "ada", "-")
		c.fails(exitFailure, "there is no database", "list", "--user", "ada")
	}
}

// A message that the store knows by other content stops the import; what was
// stored before it stays, is said, and is not added again.
func TestImportStopsAtAConflict(t *testing.T) {
	c := newCLI(t)
	c.ok("add", "--user", "ada", "--conversation", "c2", "--id", "m1", "Something else.")
	file := writeFile(t, `{"conversation_id":"c1","content":"I live in Lisbon."}
{"conversation_id":"c2","id":"m1","content":"I live in Porto."}`)
	o := c.fails(exitFailure, "line 2: ", "import", "--user", "ada", file)
	for _, want := range []string{"message id reused", "1 message stored before", "not added twice"} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("want %q in %q", want, o.stderr)
		}
	}
}

func TestImportOfTheSameMessageTwiceInAFile(t *testing.T) {
	c := newCLI(t)
	line := `{"conversation_id":"c1","id":"m1","content":"I live in Lisbon."}` + "\n"
	var doc map[string]any
	c.document(&doc, "import", "--user", "ada", "--json", writeFile(t, line+line))
	if doc["stored"] != 1.0 || doc["known"] != 1.0 {
		t.Errorf("import: %v", doc)
	}
}

// A made-up conversation in the shape of LoCoMo: sessions out of order, a
// picture, and dates of sessions that do not exist.
const locomoLike = `[{"sample_id":"conv-1","qa":[{"question":"never read"}],"conversation":{
 "speaker_a":"Mia","speaker_b":"Tom","session_3_date_time":"9:00 am on 1 May, 2023",
 "session_10_date_time":"12:05 am on 2 February, 2023","session_10":[{"speaker":"Tom","dia_id":"D10:1","text":"I moved to Porto."}],
 "session_2_date_time":"4:04 pm on 20 January, 2023","session_2":[
  {"speaker":"Mia","dia_id":"D2:1","text":"Look at this!","img_url":["u"],"blip_caption":"a photo of a red boat","query":"unsaid search term"},
  {"speaker":"Tom","dia_id":"D2:2","text":"I live in Lisbon."}]}},
 {"sample_id":"conv-2","conversation":{"session_1_date_time":"1:00 pm on 3 March, 2023","session_1":[{"speaker":"Zoe","dia_id":"D1:1","text":"Hi."}]}}]`

func TestImportLocomo(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		file := writeFile(t, locomoLike)
		for _, want := range []string{`"stored":3,"known":0`, `"stored":0,"known":3`} {
			out := c.ok("import", "--format", "locomo", "--conversation", "conv-1", "--json", file)
			if !strings.Contains(out, `"messages":3,`+want+`,"conversations":1,"sessions":2,`) {
				t.Errorf("want %s in %s", want, out)
			}
		}
		var list listOf
		c.document(&list, "list", "--user", "conv-1", "--kind", "episode", "--json")
		var got []string
		for _, e := range list.Items {
			got = append(got, fmt.Sprint(e["event_at"], " ", e["speaker"], ": ", e["text"]))
		}
		want := "2023-02-02T00:05:00Z Tom: I moved to Porto.\n" +
			"2023-01-20T16:04:00Z Tom: I live in Lisbon.\n" +
			"2023-01-20T16:04:00Z Mia: Look at this! [image: a photo of a red boat]"
		if strings.Join(got, "\n") != want {
			t.Errorf("episodes:\n%s", strings.Join(got, "\n"))
		}
		if out := c.ok("list", "--user", "conv-1", "--filter", "subject_name=tom"); !strings.Contains(out, "Porto") {
			t.Errorf("about Tom: %s", out)
		}
		if out := c.ok("import", "--format", "locomo", "--user", "all", "--json", file); !strings.Contains(out, `"stored":4,"known":0,"conversations":2,`) {
			t.Errorf("all under one user: %s", out)
		}
	})
}

func TestImportOfABadLocomoFile(t *testing.T) {
	for content, want := range map[string]string{
		`{"sample_id":"x"}`:     "the file: not a LoCoMo file",
		`[{"conversation":{}}]`: "sample 1: no sample_id",
		strings.Replace(locomoLike, "4:04 pm on 20 January, 2023", "yesterday", 1):             "conv-1 session_2: its date",
		strings.Replace(locomoLike, `"session_2_date_time"`, `"session_4_date_time"`, 1):       "conv-1 session_2: no date",
		strings.Replace(locomoLike, `"text":"I live in Lisbon."`, `"text":""`, 1):              "conv-1 session_2 turn 2: content: blank",
		strings.Replace(locomoLike, `"dia_id":"D2:2"`, `"dia_id":"D2:1"`, 1):                   "conv-1 session_2 turn 2: the message id of conv-1 session_2 turn 1 is used again",
		strings.Replace(locomoLike, `"session_1":[{"speaker"`, `"session_1":[7,{"speaker"`, 1): "conv-2 session_1: not a list",
	} {
		c := newCLI(t)
		c.fails(exitFailure, want, "import", "--format", "locomo", writeFile(t, content))
		c.fails(exitFailure, "there is no database", "list", "--user", "conv-1")
	}
}

// The data set itself is for evaluation only and not part of this repository:
// LOCOMO_DATA says where it is.
func TestImportLocomoItself(t *testing.T) {
	file := os.Getenv("LOCOMO_DATA")
	if file == "" {
		t.Skip("LOCOMO_DATA is not set")
	}
	onStores(t, func(t *testing.T, c *cli) {
		for _, want := range []string{`"stored":369,"known":0`, `"stored":0,"known":369`} {
			out := c.ok("import", "--format", "locomo", "--conversation", "conv-30", "--user", "conv-30", "--json", file)
			if !strings.Contains(out, `"messages":369,`+want+`,"conversations":1,"sessions":19,`) {
				t.Errorf("want %s in %s", want, out)
			}
		}
		var found struct {
			Hits []struct {
				Evidence []struct {
					MessageID string `json:"message_id"`
				} `json:"evidence"`
			} `json:"hits"`
		}
		c.document(&found, "search", "--user", "conv-30", "--limit", "5", "--json", "When did Gina launch an ad campaign for her store?")
		for _, hit := range found.Hits {
			for _, e := range hit.Evidence {
				if e.MessageID == "D2:1" {
					return
				}
			}
		}
		t.Errorf("the turn that says it is not among %+v", found.Hits)
	})
}
