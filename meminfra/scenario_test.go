package meminfra_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	t       *testing.T
	ml      *meminfra.MemoryLayer
	store   storage.Store
	clock   *memtest.Clock
	user    string
	last    *meminfra.AddResult
	done    *meminfra.CurateResult // of the last curate, nil if an add came after
	refused error                  // of the last curate, until an actions section shows it
	with    meminfra.Filters       // of the searches to come
}

func runScenario(t *testing.T, store storage.Store, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	clock := testClock()
	s := &scenario{t: t, store: store, clock: clock, user: t.Name()}
	s.ml = newLayer(t, store, func(o *meminfra.Options) {
		o.Now, o.NewID = clock.Now, nil // scenarios share a database, so ids must differ
	})
	for i := range archive.Files {
		f := &archive.Files[i]
		verb, args, _ := strings.Cut(f.Name, " ")
		if s.refused != nil && verb != "actions" {
			t.Fatalf("%s: before section %q: %v", file, f.Name, s.refused)
		}
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
	if s.refused != nil {
		t.Fatalf("%s: %v", file, s.refused)
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
	case "filter":
		s.with = s.filters(args)
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
	case "line":
		return s.line(args), true
	case "evidence":
		return s.evidence(args), true
	case "search":
		return strings.Join(s.search(args, body), ""), true
	case "finds":
		hits := s.search(args, body)
		slices.Sort(hits)
		return strings.Join(hits, ""), true
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
// second apart. args: CONVERSATION TIME [KEY=VALUE ...], the metadata.
func (s *scenario) add(args, body string) {
	words := strings.Fields(args)
	if len(words) < 2 {
		s.t.Fatalf("add: want CONVERSATION TIME, got %q", args)
	}
	req := meminfra.AddRequest{UserID: s.user, ConversationID: words[0], UserName: "Ada"}
	sent, metadata := s.time(words[1]), s.metadata(words[2:])
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		msg := meminfra.Message{Content: line, SentAt: sent, Metadata: metadata}
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

func (s *scenario) metadata(pairs []string) memory.Metadata {
	var m memory.Metadata
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			s.t.Fatalf("not KEY=VALUE: %q", pair)
		}
		if m == nil {
			m = memory.Metadata{}
		}
		m[key] = value
	}
	return m
}

// curate edits (to the body's text), retracts or restores the newest item that
// reads so, whatever its status. An error is for the actions section to show.
func (s *scenario) curate(verb, fact, body string) {
	ctx, id, c := s.t.Context(), s.find(fact), s.ml.Curate()
	switch verb {
	case "edit":
		s.done, s.refused = c.Edit(ctx, meminfra.EditRequest{UserID: s.user, ID: id, Text: strings.TrimSpace(body)})
	case "retract":
		s.done, s.refused = c.Retract(ctx, meminfra.RetractRequest{UserID: s.user, ID: id})
	case "restore":
		s.done, s.refused = c.Restore(ctx, meminfra.RestoreRequest{UserID: s.user, ID: id})
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

// actions renders the last add or curate: "ACTION fact reason [closes fact]",
// then rejections, or "REFUSED why".
func (s *scenario) actions() string {
	if err := s.refused; err != nil {
		s.refused = nil
		return fmt.Sprintf("REFUSED %v\n", err)
	}
	taken, rejected := s.last.Actions, s.last.Rejections
	if s.done != nil {
		taken, rejected = []meminfra.ActionTaken{s.done.ActionTaken}, nil
	}
	var b strings.Builder
	for _, a := range taken {
		fmt.Fprintf(&b, "%s %s %s", a.Action, s.fact(a.ItemID), a.Reason)
		if a.SupersededID != "" {
			fmt.Fprintf(&b, " closes %s", s.fact(a.SupersededID))
		}
		b.WriteByte('\n')
	}
	for _, r := range rejected {
		fmt.Fprintf(&b, "REJECTED %s %s\n", r.Predicate, r.Reason)
	}
	return orNothing(b.String())
}

func orNothing(text string) string {
	if text == "" {
		return "nothing\n"
	}
	return text
}

// sorted joins lines in order, for lists whose order is not what is shown.
func sorted(lines []string) string {
	slices.Sort(lines)
	return orNothing(strings.Join(append(lines, ""), "\n"))
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

// filters reads "NAME VALUE" pairs; a value with spaces stands in quotes.
func (s *scenario) filters(args string) meminfra.Filters {
	var f meminfra.Filters
	if args == "" {
		return f
	}
	r := csv.NewReader(strings.NewReader(args))
	r.Comma = ' '
	words, err := r.Read()
	if err != nil || len(words)%2 != 0 {
		s.t.Fatalf("not NAME VALUE pairs: %q", args)
	}
	for i := 0; i < len(words); i += 2 {
		name, value := words[i], words[i+1]
		switch name {
		case "valid":
			f.ValidAt = s.time(value)
		case "known":
			f.KnownAt = s.time(value)
		case "predicate":
			f.Predicate = value
		case "value":
			f.Value = value
		case "subject":
			f.SubjectName = value
		case "conversation":
			f.ConversationID = value
		case "history":
			f.History = retrieve.History(value)
		case "meta":
			key, want, _ := strings.Cut(value, "=")
			f.Metadata = &meminfra.Where{Field: key, Op: "eq", Value: want}
		default:
			s.t.Fatalf("unknown filter %q", name)
		}
	}
	return f
}

func (s *scenario) list(f meminfra.Filters) []meminfra.Record {
	res, err := s.ml.List(s.t.Context(), meminfra.ListRequest{UserID: s.user, Filters: f, Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	return res.Records
}

// current lists items, sorted. args: filters.
func (s *scenario) current(args string) string {
	var lines []string
	for _, r := range s.list(s.filters(args)) {
		line := render(r)
		if r.Authority != memory.Authorized {
			line += " (" + r.Authority.String() + ")"
		}
		if len(r.Conflicts) > 0 {
			line += " (conflict)"
		}
		lines = append(lines, line)
	}
	return sorted(lines)
}

// history lists every version of a predicate: "from..to fact status", and the
// words of a vague time with the interval they can mean. args: [SUBJECT] PREDICATE.
func (s *scenario) history(args string) string {
	f := meminfra.Filters{History: retrieve.HistoryAll, Predicate: args}
	if subject, predicate, ok := strings.Cut(args, " "); ok {
		f.SubjectName, f.Predicate = subject, predicate
	}
	var lines []string
	for _, r := range s.list(f) {
		lines = append(lines, span(r)+" "+render(r)+" "+string(r.Status)+s.vague(r.ID))
	}
	return sorted(lines)
}

// vague shows the words of a vague time and what they can mean.
func (s *scenario) vague(id string) string {
	items, err := s.store.Items(s.t.Context(), userPartition(s.user), []string{id})
	if err != nil || len(items) != 1 {
		s.t.Fatalf("item of history: %d found: %v", len(items), err)
	}
	v := items[0].Vague
	if v.IsZero() {
		return ""
	}
	return fmt.Sprintf(" %q %s..%s", v.Words, day(&v.Earliest), day(&v.Latest))
}

// line shows a line of versions: "from..to fact status", its metadata, and what
// closed it at each later stage.
func (s *scenario) line(fact string) string {
	res, err := s.ml.History(s.t.Context(), meminfra.HistoryRequest{UserID: s.user, ID: s.find(fact)})
	if err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	for _, v := range res.Versions {
		fmt.Fprintf(&b, "%s %s %s", span(v.Record), render(v.Record), v.Status)
		for _, key := range slices.Sorted(maps.Keys(v.Metadata)) {
			fmt.Fprintf(&b, " %s=%v", key, v.Metadata[key])
		}
		sep := "; "
		for _, stage := range v.Stages {
			b.WriteString(sep + stage.Reason)
			sep = ", "
			if stage.ClosedBy != "" {
				b.WriteString(" by " + s.fact(stage.ClosedBy))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// evidence lists the quotes of an item.
func (s *scenario) evidence(fact string) string {
	r, err := s.ml.Get(s.t.Context(), meminfra.GetRequest{UserID: s.user, ID: s.find(fact)})
	if err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	for _, e := range r.Evidence {
		lines = append(lines, fmt.Sprintf("%q", e.Quote))
	}
	return sorted(lines)
}

func span(r meminfra.Record) string { return day(r.ValidFrom) + ".." + day(r.ValidTo) }

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

// search returns as many hits as the body has lines, at least one, a line each,
// with the place in the structured branch and the status unless it is active.
func (s *scenario) search(query, body string) []string {
	res, err := s.ml.Search(s.t.Context(), meminfra.SearchRequest{UserID: s.user, Query: query, Filters: s.with,
		Limit: max(1, strings.Count(strings.TrimSpace(body), "\n")+1)})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(res.Hits) == 0 {
		return []string{"nothing\n"}
	}
	lines := make([]string, len(res.Hits))
	for i, h := range res.Hits {
		lines[i] = render(h.Record)
		if h.Ranks.Structured > 0 {
			lines[i] += fmt.Sprintf(" [structured %d]", h.Ranks.Structured)
		}
		if h.Status != memory.StatusActive {
			lines[i] += fmt.Sprintf(" (%s)", h.Status)
		}
		lines[i] += "\n"
	}
	return lines
}

// TestNULInText is case A16, which a text file cannot carry: U+0000 and invalid
// UTF-8 come out the same on both stores, and spoil no other message.
func TestNULInText(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		req := meminfra.AddRequest{UserID: "ada", ConversationID: "c1", Messages: []meminfra.Message{
			{Content: "I use PostgreSQL."},
			{Content: "I live in Os\x00lo.", Metadata: memory.Metadata{"pro\x00ject": "ki\x00ln"}},
			{Content: "My wife is called An\xffna."},
		}}
		res, err := ml.Add(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		s := &scenario{t: t, ml: ml, store: store, user: "ada", last: res}
		want := "ADD database_preference=PostgreSQL new_fact\nADD location=Oslo new_fact\n"
		if got := s.actions(); !strings.HasPrefix(got, want) {
			t.Errorf("actions:\n%swant at first:\n%s", got, want)
		}
		if got := s.evidence("location=Oslo"); got != "\"I live in Oslo\"\n" {
			t.Errorf("evidence: %s", got)
		}
		if got := s.current("meta project=kiln"); got != "location=Oslo\n" {
			t.Errorf("by metadata: %s", got)
		}
		if got := s.search("Os\x00lo", ""); got[0] != "location=Oslo\n" {
			t.Errorf("search: %s", got)
		}
		stored, err := store.Episodes(t.Context(), userPartition("ada"), []string{res.Episodes[1].ID, res.Episodes[2].ID})
		if err != nil || len(stored) != 2 {
			t.Fatalf("%d episodes: %v", len(stored), err)
		}
		for _, e := range stored {
			if strings.ContainsRune(e.Content, 0) || e.Hash != sha256.Sum256([]byte(e.Content)) {
				t.Errorf("episode %q is not stored clean, or its hash is of something else", e.Content)
			}
		}
		req.Messages = []meminfra.Message{{ID: "m\x001", Content: "I live in Rome."}}
		if _, err := ml.Add(t.Context(), req); !errors.Is(err, memory.ErrMalformedID) {
			t.Errorf("an id with NUL: %v", err)
		}
	})
}

func userPartition(user string) string {
	return memory.Partition{Tenant: "default", Kind: memory.PartitionUser, Name: user}.ID()
}
