package meminfra_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var update = flag.Bool("update", false, "rewrite the expected sections of testdata/scenarios")

// TestScenarios runs every conversation of testdata/scenarios on both stores.
// testdata/scenarios/README says how they are written.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../testdata/scenarios/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	onStores(t, func(t *testing.T, store storage.Store) {
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runScenario(t, store, file) })
		}
	})
}

type scenario struct {
	t     *testing.T
	ml    *meminfra.MemoryLayer
	clock *memtest.Clock
	user  string
	last  *meminfra.AddResult
	done  *meminfra.CurateResult // of the last curate, nil if an add came after
}

func runScenario(t *testing.T, store storage.Store, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	clock := testClock()
	s := &scenario{t: t, clock: clock, user: t.Name()}
	s.ml = newLayer(t, store, func(o *meminfra.Options) {
		o.Now, o.NewID = clock.Now, nil // scenarios share a database, so ids must differ
	})
	for i := range archive.Files {
		f := &archive.Files[i]
		verb, args, _ := strings.Cut(f.Name, " ")
		got, expects := s.do(verb, args, string(f.Data))
		if !expects {
			continue
		}
		if *update {
			f.Data = []byte(got)
		} else if want := string(bytes.TrimSpace(f.Data)); strings.TrimSpace(got) != want {
			t.Errorf("%s: section %q\ngot:\n%s\nwant:\n%s", file, f.Name, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// do runs a section; expects says that got is to be compared with its body.
func (s *scenario) do(verb, args, body string) (got string, expects bool) {
	switch verb {
	case "add":
		s.add(args, body)
		return "", false
	case "edit", "retract", "restore":
		s.curate(verb, args, body)
		return "", false
	case "clock":
		s.clock.Set(s.time(args))
		return "", false
	case "actions":
		return s.actions(), true
	case "current":
		return s.current(args), true
	case "history":
		return s.history(args), true
	case "search":
		return s.search(args, body), true
	}
	s.t.Fatalf("unknown section %q", verb)
	return "", false
}

func (s *scenario) time(text string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	s.t.Fatalf("not a time: %q", text)
	return time.Time{}
}

// add stores the lines "[who: ]text" as one Add, said at the given time, one
// second apart. args: CONVERSATION TIME.
func (s *scenario) add(args, body string) {
	conversation, at, _ := strings.Cut(args, " ")
	req := meminfra.AddRequest{UserID: s.user, ConversationID: conversation, UserName: "Ada"}
	sent := s.time(at)
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		msg := meminfra.Message{Content: line, SentAt: sent}
		if who, text, ok := strings.Cut(line, ": "); ok && !strings.ContainsAny(who, " ,.") {
			msg.Content = text
			setSpeaker(&msg, who)
		}
		req.Messages = append(req.Messages, msg)
		sent = sent.Add(time.Second)
	}
	res, err := s.ml.Add(s.t.Context(), req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.last, s.done = res, nil
}

// curate edits (to the body's text), retracts or restores the newest item that
// reads so, whatever its status.
func (s *scenario) curate(verb, fact, body string) {
	ctx, id, c := s.t.Context(), s.find(fact), s.ml.Curate()
	var err error
	switch verb {
	case "edit":
		s.done, err = c.Edit(ctx, meminfra.EditRequest{UserID: s.user, ID: id, Text: strings.TrimSpace(body)})
	case "retract":
		s.done, err = c.Retract(ctx, meminfra.RetractRequest{UserID: s.user, ID: id})
	case "restore":
		s.done, err = c.Restore(ctx, meminfra.RestoreRequest{UserID: s.user, ID: id})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scenario) find(fact string) string {
	for _, history := range []retrieve.History{retrieve.HistoryExclude, retrieve.HistoryAll} {
		res, err := s.ml.List(s.t.Context(), meminfra.ListRequest{UserID: s.user, Limit: 1000,
			Filters: meminfra.Filters{History: history}})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, r := range res.Records {
			if render(r) == fact {
				return r.ID
			}
		}
	}
	s.t.Fatalf("no item reads %q", fact)
	return ""
}

func setSpeaker(msg *meminfra.Message, who string) {
	role, source, _ := strings.Cut(who, "/")
	switch memory.Role(role) {
	case memory.RoleUser, memory.RoleAssistant, memory.RoleSystem, memory.RoleTool, memory.RoleDocument:
		msg.Role, msg.Source = memory.Role(role), source
	default:
		msg.Name = who
	}
}

// actions renders the last add: "ACTION fact reason [closes fact]" and rejections.
func (s *scenario) actions() string {
	var b strings.Builder
	taken := s.last.Actions
	if s.done != nil {
		taken = []meminfra.ActionTaken{s.done.ActionTaken}
	}
	for _, a := range taken {
		fmt.Fprintf(&b, "%s %s %s", a.Action, s.fact(a.ItemID), a.Reason)
		if a.SupersededID != "" {
			fmt.Fprintf(&b, " closes %s", s.fact(a.SupersededID))
		}
		b.WriteByte('\n')
	}
	for _, r := range s.last.Rejections {
		fmt.Fprintf(&b, "REJECTED %s %s\n", r.Predicate, r.Reason)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

func (s *scenario) fact(id string) string {
	r, err := s.ml.Get(s.t.Context(), meminfra.GetRequest{UserID: s.user, ID: id})
	if err != nil {
		s.t.Fatal(err)
	}
	return render(*r)
}

// render writes an item as "[not ][subject ]predicate=value", an open one or
// an episode as its text in quotes.
func render(r meminfra.Record) string {
	if r.Kind == memory.KindEpisode {
		return fmt.Sprintf("episode %q", r.Text)
	}
	out := ""
	if r.Polarity == memory.Negative {
		out = "not "
	}
	if r.Subject.Name != "" {
		out += r.Subject.Name + " "
	}
	if r.Predicate == "" {
		return out + fmt.Sprintf("%q", r.Text)
	}
	return out + r.Predicate + "=" + r.Value
}

// current lists current items, sorted. args: [valid TIME] [known TIME].
func (s *scenario) current(args string) string {
	var f meminfra.Filters
	words := strings.Fields(args)
	for i := 0; i+1 < len(words); i += 2 {
		switch words[i] {
		case "valid":
			f.ValidAt = s.time(words[i+1])
		case "known":
			f.KnownAt = s.time(words[i+1])
		default:
			s.t.Fatalf("current: unknown argument %q", words[i])
		}
	}
	res, err := s.ml.List(s.t.Context(), meminfra.ListRequest{UserID: s.user, Filters: f, Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	lines := []string{}
	for _, r := range res.Records {
		line := render(r)
		if r.Authority != memory.Authorized {
			line += " (" + r.Authority.String() + ")"
		}
		if len(r.Conflicts) > 0 {
			line += " (conflict)"
		}
		lines = append(lines, line)
	}
	sort.Strings(lines)
	if len(lines) == 0 {
		return "nothing\n"
	}
	return strings.Join(lines, "\n") + "\n"
}

// history lists every version of a predicate: "fact status from..to authority".
func (s *scenario) history(args string) string {
	subject, predicate, ok := strings.Cut(args, " ")
	f := meminfra.Filters{History: retrieve.HistoryAll, Predicate: args}
	if ok {
		f.SubjectName, f.Predicate = subject, predicate
	}
	res, err := s.ml.List(s.t.Context(), meminfra.ListRequest{UserID: s.user, Filters: f, Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	lines := []string{}
	for _, r := range res.Records {
		lines = append(lines, fmt.Sprintf("%s..%s %s %s", day(r.ValidFrom), day(r.ValidTo), render(r), r.Status))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n") + "\n"
}

// day shows a time as a date, with the time of day if it is not midnight.
func day(t *time.Time) string {
	switch {
	case t == nil:
		return ""
	case t.Equal(t.Truncate(24 * time.Hour)):
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02T15:04:05")
}

// search shows as many hits as the body has lines, at least one.
func (s *scenario) search(query, body string) string {
	res, err := s.ml.Search(s.t.Context(), meminfra.SearchRequest{UserID: s.user, Query: query,
		Limit: max(1, strings.Count(strings.TrimSpace(body), "\n")+1)})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(res.Hits) == 0 {
		return "nothing\n"
	}
	var b strings.Builder
	for _, h := range res.Hits {
		fmt.Fprintln(&b, render(h.Record))
	}
	return b.String()
}
