package meminfra_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract/model"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/predicates"
)

// asked is one message as a prompt shows it.
type asked struct{ ID, Role, Speaker, Time, Text string }

// shown is what a request shows a model: for a summary, or for an extraction.
type shown struct {
	summary  bool
	before   string // summary so far
	messages []asked
	context  struct {
		Summary       string
		Older, Recent []asked
	}
	target []asked
}

func readRequest(t *testing.T, r llm.Request) (s shown) {
	t.Helper()
	block := func(name string, into any) bool {
		_, data, ok := strings.Cut(r.Messages[0].Content, "<"+name+">\n")
		data, _, _ = strings.Cut(data, "</"+name+">")
		if ok {
			if err := json.Unmarshal([]byte(data), into); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		return ok
	}
	var before *string
	if s.summary = block("summary", &before); s.summary {
		block("messages", &s.messages)
		if before != nil {
			s.before = *before
		}
		return s
	}
	block("context", &s.context)
	block("target", &s.target)
	return s
}

func lines(list []asked) string {
	var out []string
	for _, m := range list {
		out = append(out, m.Text)
	}
	return strings.Join(out, " | ")
}

// withModel makes a layer extract with a model.
func withModel(t *testing.T, g llm.Generator) func(*meminfra.Options) {
	t.Helper()
	x, err := model.New(g, predicates.Default(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *meminfra.Options) { o.Extractor, o.NewID = x, nil }
}

// watchedModel is a model that summarises with the given words and notes every user
// message of a target as it stands. It keeps what it was shown.
type watchedModel struct {
	*memtest.Generator
	seen []shown
}

func newWatched(t *testing.T, summary string) *watchedModel {
	r := &watchedModel{}
	r.Generator = memtest.NewResponder(func(req llm.Request) string {
		s := readRequest(t, req)
		r.seen = append(r.seen, s)
		if s.summary {
			return summary
		}
		return noteAll(s.target)
	})
	return r
}

// noteAll is a reply that notes what users say.
func noteAll(target []asked) string {
	list := []map[string]any{}
	for _, m := range target {
		if m.Role == "user" {
			list = append(list, map[string]any{"kind": "fact", "text": m.Text, "subject_type": "speaker", "polarity": "positive", "message": m.ID, "quote": m.Text})
		}
	}
	b, err := json.Marshal(map[string]any{"memories": list})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// chat makes n messages about nothing in particular, the first ones about the
// given things.
func chat(n int, about ...string) []meminfra.Message {
	list := make([]meminfra.Message, n)
	for i := range list {
		text := fmt.Sprintf("Line %d of the talk.", i+1)
		if i < len(about) {
			text = about[i]
		}
		list[i] = said(fmt.Sprint("chat", i+1), text, i)
	}
	return list
}

func summaryOf(t *testing.T, store storage.Store, user, conversation string) storage.Conversation {
	t.Helper()
	c, err := store.Conversation(t.Context(), partitionNamed(user).ID(), conversation)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What a model is shown beside its target: a rolling summary, the last six
// messages, and older ones of the conversation that bear on the target.
func TestContextOfAModel(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		plain := newLayer(t, store, func(o *meminfra.Options) { o.NewID = nil })
		mustAdd(t, plain, addTo("ada", "other", said("x", "My boat is called Zephyr in another conversation.", 0)))
		mustAdd(t, plain, addTo("ada", "c", chat(30, "My boat is called Aurora.", "The boat has a red sail.", "My dentist is Dr Mall.")...))
		r := newWatched(t, `{"summary":"Ada talks of quibblewocks."}`)
		ml := newLayer(t, store, withModel(t, r))

		res := mustAdd(t, ml, addTo("ada", "c", said("new", "I will sell the boat Aurora.", 40)))
		if len(r.seen) != 2 || !r.seen[0].summary || r.seen[1].summary || len(res.Degraded) != 0 {
			t.Fatalf("%d requests, degraded %v", len(r.seen), res.Degraded)
		}
		if got := r.seen[0]; len(got.messages) != 24 || got.before != "" || got.messages[0].Text != "My boat is called Aurora." || got.messages[23].Text != "Line 24 of the talk." {
			t.Errorf("summarised %d messages, from %q: %s", len(got.messages), got.before, lines(got.messages))
		}
		got := r.seen[1]
		if got.context.Summary != "Ada talks of quibblewocks." || lines(got.target) != "I will sell the boat Aurora." {
			t.Errorf("summary %q, target %s", got.context.Summary, lines(got.target))
		}
		if want := "Line 25 of the talk. | Line 26 of the talk. | Line 27 of the talk. | Line 28 of the talk. | Line 29 of the talk. | Line 30 of the talk."; lines(got.context.Recent) != want {
			t.Errorf("recent: %s", lines(got.context.Recent))
		}
		older := lines(got.context.Older)
		if n := len(got.context.Older); n < 2 || n > 6 || !strings.HasPrefix(older, "My boat is called Aurora. | The boat has a red sail.") || strings.Contains(older, "Zephyr") {
			t.Errorf("older: %s", older)
		}
		if c := summaryOf(t, store, "ada", "c"); c.Summary != "Ada talks of quibblewocks." || c.SummarySeq != 25 { // one message came before
			t.Errorf("kept: %q up to %d", c.Summary, c.SummarySeq)
		}
		found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "quibblewocks"})
		for _, h := range found.Hits {
			if strings.Contains(h.Text, "quibblewock") {
				t.Errorf("the summary is found by a search: %s", h.Text)
			}
		}

		mustAdd(t, ml, addTo("ada", "c", said("next", "I like tea.", 41)))
		if n := len(r.seen); n != 3 || r.seen[2].context.Summary != "Ada talks of quibblewocks." {
			t.Errorf("%d requests; a summary that covers all but a few is not made anew", n)
		}
		mustAdd(t, ml, addTo("ada", "c", chat(40)[30:]...))
		mustAdd(t, ml, addTo("ada", "c", said("later", "I like coffee.", 60)))
		if s := r.seen[len(r.seen)-2]; len(r.seen) != 5 || s.summary {
			t.Errorf("%d requests: 18 beyond the summary are too few for a new one", len(r.seen))
		}
		mustAdd(t, ml, addTo("ada", "c", said("l1", "I like rain.", 61), said("l2", "I like snow.", 62)))
		mustAdd(t, ml, addTo("ada", "c", said("l3", "I like hail.", 63)))
		if s := r.seen[len(r.seen)-2]; !s.summary || s.before != "Ada talks of quibblewocks." || len(s.messages) != 15 || s.messages[0].Text != "Line 25 of the talk." {
			t.Errorf("the second summary: %+v", s)
		}
	})
}

// outsider fails if anything is read that only a model's context needs.
type outsider struct {
	storage.Store
	t *testing.T
}

func (s outsider) Turns(context.Context, string, storage.TurnsParams) ([]memory.Episode, error) {
	s.t.Error("read a stretch of the conversation")
	return nil, nil
}

func (s outsider) Conversation(context.Context, string, string) (storage.Conversation, error) {
	s.t.Error("read the conversation's summary")
	return storage.Conversation{}, nil
}

// The built-in extractor pays nothing for what a model is shown.
func TestContextCostsThePatternsNothing(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		embedder := &counted{Embedder: bagOfWords{"bag", 64}}
		ml := newLayer(t, outsider{store, t}, withEmbedder(embedder))
		for _, m := range chat(40) {
			mustAdd(t, ml, addTo("ada", "c", m))
		}
		if n := embedder.calls.Load(); n != 40 {
			t.Errorf("%d calls of the embedder for 40 messages", n)
		}
	})
}

// A summary or a search that fails is said, and the Add is done all the same.
func TestContextThatFails(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		embedder := &counted{Embedder: bagOfWords{"bag", 64}}
		mustAdd(t, newLayer(t, store, withEmbedder(embedder), func(o *meminfra.Options) { o.NewID = nil }), addTo("ada", "c", chat(30)...))
		r := newWatched(t, "no summary today")
		ml := newLayer(t, store, withModel(t, r), withEmbedder(embedder))
		res := mustAdd(t, ml, addTo("ada", "c", said("a", "I keep bees.", 40)))
		if len(res.Actions) != 1 || len(res.Degraded) != 1 || !strings.Contains(res.Degraded[0], "summary was not brought up to date") {
			t.Errorf("actions %v, degraded %q", res.Actions, res.Degraded)
		}
		if c := summaryOf(t, store, "ada", "c"); c.Summary != "" || c.SummarySeq != 0 {
			t.Errorf("kept: %q up to %d", c.Summary, c.SummarySeq)
		}
		embedder.broken.Store(true)
		res = mustAdd(t, ml, addTo("ada", "c", said("b", "Line 3 was about bees.", 41)))
		last := r.seen[len(r.seen)-1]
		if !slices.ContainsFunc(res.Degraded, func(s string) bool { return strings.Contains(s, "by words alone") }) || len(last.context.Older) == 0 {
			t.Errorf("degraded %q, older %s", res.Degraded, lines(last.context.Older))
		}
	})
}

// A dry run makes no summary, and one that tells what came after an old message
// is not shown when that message is read again.
func TestSummaryOfLaterIsNotShown(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		plain := newLayer(t, store, func(o *meminfra.Options) { o.NewID = nil })
		mustAdd(t, plain, addTo("ada", "c", chat(30)...))
		r := newWatched(t, `{"summary":"They talk."}`)
		ml := newLayer(t, store, withModel(t, r))
		req := addTo("ada", "c", said("a", "I keep bees.", 40))
		req.DryRun = true
		mustAdd(t, ml, req)
		if len(r.seen) != 1 || summaryOf(t, store, "ada", "c").Summary != "" {
			t.Fatalf("a dry run made %d requests and kept %q", len(r.seen), summaryOf(t, store, "ada", "c").Summary)
		}
		req.DryRun = false
		mustAdd(t, ml, req)
		if s := r.seen[len(r.seen)-1]; s.context.Summary != "They talk." {
			t.Fatalf("summary %q", s.context.Summary)
		}
		r.seen = nil
		if _, err := ml.Curate().Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: "ada", Upgrade: true}); err != nil {
			t.Fatal(err)
		}
		if len(r.seen) != 1 || len(r.seen[0].target) != 30 || r.seen[0].context.Summary != "" {
			t.Errorf("%d requests, the first with the summary %q", len(r.seen), r.seen[0].context.Summary)
		}
	})
}

// erasing tells of an erasure that the commits do not know, as if one had come
// between making a summary and keeping it.
type erasing struct{ storage.Store }

func (s erasing) Heads(ctx context.Context, ids ...string) (map[string]storage.Head, error) {
	heads, err := s.Store.Heads(ctx, ids...)
	for id, h := range heads {
		h.Erased--
		heads[id] = h
	}
	return heads, err
}

func TestSummaryAcrossAnErasure(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		mustAdd(t, newLayer(t, store, func(o *meminfra.Options) { o.NewID = nil }), addTo("ada", "c", chat(30)...))
		ml := newLayer(t, erasing{store}, withModel(t, newWatched(t, `{"summary":"It tells of what was forgotten."}`)))
		res := mustAdd(t, ml, addTo("ada", "c", said("a", "I keep bees.", 40)))
		if c := summaryOf(t, store, "ada", "c"); c.Summary != "" || len(res.Degraded) != 1 {
			t.Errorf("kept %q, degraded %q", c.Summary, res.Degraded)
		}
	})
}

// A long backlog is summarised step by step over several Adds.
func TestSummaryOfABacklog(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		long := make([]meminfra.Message, 100)
		for i := range long {
			long[i] = said(fmt.Sprint("long", i), strings.Repeat(fmt.Sprintf("Line %d. ", i), 250), i)
		}
		mustAdd(t, newLayer(t, store, func(o *meminfra.Options) { o.NewID = nil }), addTo("ada", "c", long...))
		r := newWatched(t, `{"summary":"They talk."}`)
		ml := newLayer(t, store, withModel(t, r))
		var covered []int64
		for n := range 20 {
			mustAdd(t, ml, addTo("ada", "c", said(fmt.Sprint("a", n), "I keep bees.", 200+n)))
			covered = append(covered, summaryOf(t, store, "ada", "c").SummarySeq)
		}
		if !slices.IsSorted(covered) || covered[0] < 3 || covered[0] > 30 || covered[19] < 94 {
			t.Errorf("covered after each Add: %v", covered)
		}
		if n := len(r.seen); n > 20+60 {
			t.Errorf("%d requests", n)
		}
	})
}

// Case A05: each message carries its own time, and offset, to the extractor; the
// clock of the import is no part of it.
func TestTimesReachTheModel(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		r := &watchedModel{}
		r.Generator = memtest.NewResponder(func(req llm.Request) string {
			s := readRequest(t, req)
			r.seen = append(r.seen, s)
			return `{"memories":[` +
				`{"kind":"event","text":"The user started at the bakery last week.","subject_type":"speaker","polarity":"positive","from":"last week","message":"m1","quote":"I started at the bakery last week."},` +
				`{"kind":"event","text":"The user bought a bicycle yesterday.","subject_type":"speaker","polarity":"positive","from":"yesterday","message":"m2","quote":"Yesterday I bought a bicycle."}]}`
		})
		ml := newLayer(t, store, withModel(t, r), func(o *meminfra.Options) {
			o.Now = memtest.NewClock(time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC), 0).Now
		})
		east := time.FixedZone("", 9*3600)
		mustAdd(t, ml, addTo("ada", "c",
			meminfra.Message{ID: "1", Name: "Ada", Content: "I started at the bakery last week.", SentAt: time.Date(2022, 11, 18, 10, 0, 0, 0, east)},
			meminfra.Message{ID: "2", Content: "Yesterday I bought a bicycle.", SentAt: time.Date(2022, 11, 25, 10, 0, 0, 0, time.UTC)}))
		target := r.seen[0].target
		if len(target) != 2 || target[0].Time != "Friday 2022-11-18T10:00:00+09:00" || target[1].Time != "Friday 2022-11-25T10:00:00Z" || target[0].ID == target[1].ID || target[0].Role != "user" {
			t.Errorf("shown: %+v", target)
		}
		for _, req := range r.Requests() {
			if all := req.System + req.Messages[0].Content; strings.Contains(all, "2026") {
				t.Error("the clock of the import is in the prompt")
			}
		}
		when := map[string]string{}
		for _, rec := range mustList(t, ml, "ada", meminfra.Filters{History: "include"}) {
			when[rec.Evidence[0].MessageID] = rec.ValidFrom.Format(time.DateOnly)
			if rec.RecordedAt.Year() != 2026 {
				t.Errorf("recorded at %s", rec.RecordedAt)
			}
		}
		if when["1"] < "2022-11-06" || when["1"] > "2022-11-13" || when["2"] != "2022-11-24" {
			t.Errorf("began: %v", when)
		}
	})
}
