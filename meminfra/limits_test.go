package meminfra_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm/hashed"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// manyMessages makes n messages with ids, one a minute.
func manyMessages(n int) []meminfra.Message {
	list := make([]meminfra.Message, n)
	for i := range list {
		list[i] = said(fmt.Sprintf("m%05d", i), fmt.Sprintf("Entry number %d of the log.", i), i)
	}
	return list
}

// badAdd is what is wrong with a request, and the error it gets; nil is any.
type badAdd struct {
	want error
	edit func(*meminfra.AddRequest)
}

// badAdds are requests that no store should ever see, by what is wrong.
func badAdds() map[string]badAdd {
	message := func(f func(*meminfra.Message)) func(*meminfra.AddRequest) {
		return func(r *meminfra.AddRequest) { f(&r.Messages[1]) }
	}
	metadata := func(v any) func(*meminfra.AddRequest) {
		return message(func(m *meminfra.Message) { m.Metadata = memory.Metadata{"x": v} })
	}
	sent := func(at time.Time) func(*meminfra.AddRequest) {
		return message(func(m *meminfra.Message) { m.SentAt = at })
	}
	list := map[string]badAdd{
		"no user":              {meminfra.ErrNoUser, func(r *meminfra.AddRequest) { r.UserID = "" }},
		"a blank user":         {meminfra.ErrNoUser, func(r *meminfra.AddRequest) { r.UserID = " \u200b" }},
		"no conversation":      {memory.ErrBlank, func(r *meminfra.AddRequest) { r.ConversationID = "" }},
		"no messages":          {meminfra.ErrNoMessages, func(r *meminfra.AddRequest) { r.Messages = nil }},
		"1,001 messages":       {meminfra.ErrTooMany, func(r *meminfra.AddRequest) { r.Messages = manyMessages(1001) }},
		"one message twice":    {meminfra.ErrMessageConflict, message(func(m *meminfra.Message) { m.ID = "m1" })},
		"an unknown role":      {nil, message(func(m *meminfra.Message) { m.Role = "oracle" })},
		"the year 10000":       {nil, sent(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))},
		"10000 in its zone":    {nil, sent(time.Date(10000, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600)))},
		"an impossible zone":   {nil, sent(monday.In(time.FixedZone("", 90*3600)))},
		"metadata of no JSON":  {nil, metadata(func() {})},
		"infinite metadata":    {nil, metadata(math.Inf(1))},
		"an integer over 2^53": {nil, metadata(int64(1<<53 + 1))},
		"metadata over 64 KiB": {meminfra.ErrTooLong, metadata(strings.Repeat("x", memory.MaxMetadataBytes))},
	}
	for _, blank := range []string{"", " \n\t\r", "\u200b", "\u200b\ufeff\u2060", "\x00", "\u00a0\u3000"} {
		list[fmt.Sprintf("the blank message %q", blank)] = badAdd{meminfra.ErrBlankMessage,
			message(func(m *meminfra.Message) { m.Content = blank })}
	}
	for what, field := range map[string]func(*meminfra.AddRequest) *string{
		"user":            func(r *meminfra.AddRequest) *string { return &r.UserID },
		"conversation":    func(r *meminfra.AddRequest) *string { return &r.ConversationID },
		"session":         func(r *meminfra.AddRequest) *string { return &r.SessionID },
		"agent":           func(r *meminfra.AddRequest) *string { return &r.AgentID },
		"user name":       func(r *meminfra.AddRequest) *string { return &r.UserName },
		"idempotency key": func(r *meminfra.AddRequest) *string { return &r.IdempotencyKey },
		"message":         func(r *meminfra.AddRequest) *string { return &r.Messages[1].ID },
		"speaker":         func(r *meminfra.AddRequest) *string { return &r.Messages[1].Name },
		"source":          func(r *meminfra.AddRequest) *string { return &r.Messages[1].Source },
	} {
		list["257 bytes of "+what] = badAdd{meminfra.ErrTooLong, func(r *meminfra.AddRequest) { *field(r) = longID(257) }}
		list["NUL in "+what] = badAdd{memory.ErrMalformedID, func(r *meminfra.AddRequest) { *field(r) = "a\x00b" }}
		list["invalid UTF-8 in "+what] = badAdd{memory.ErrMalformedID, func(r *meminfra.AddRequest) { *field(r) = "a\xffb" }}
	}
	return list
}

// Case A18: what is unsound is refused as a whole, before the extractor, the
// embedder or the store hear of it.
func TestUnsoundAddsTouchNothing(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		embedder := &counted{Embedder: hashed.New()}
		asked := 0
		ml := newLayer(t, store, withEmbedder(embedder), withHook(t, func() error { asked++; return nil }))
		for what, bad := range badAdds() {
			req := addTo("ada", "c", told("I live in Lisbon.", "I speak Dutch.", "I work at Acme.")...)
			bad.edit(&req)
			res, err := ml.Add(t.Context(), req)
			if err == nil || res != nil || (bad.want != nil && !errors.Is(err, bad.want)) {
				t.Errorf("%s: result %v, error %v, want %v", what, res != nil, err, bad.want)
			}
			if exists(t, store, req.UserID) {
				t.Fatalf("%s: something was stored", what)
			}
		}
		if n := embedder.calls.Load(); n != 0 || asked != 0 {
			t.Errorf("embedder asked %d times, extractor %d times", n, asked)
		}
	})
}

// The largest Add is kept whole; odd limits and pages over what it stored.
func TestLargestAdd(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		res := mustAdd(t, ml, addTo("ada", "c", manyMessages(memory.MaxMessages)...))
		seen := map[string]bool{}
		for _, e := range res.Episodes {
			seen[e.ID] = true
		}
		if len(seen) != memory.MaxMessages {
			t.Fatalf("%d different episodes", len(seen))
		}
		mustAdd(t, ml, addTo("ada", "c2", manyMessages(60)...))
		checkLimits(t, ml)
		checkPages(t, ml)
	})
}

// checkLimits asks for odd numbers of what is there 1,060 times.
func checkLimits(t *testing.T, ml *meminfra.MemoryLayer) {
	t.Helper()
	for _, c := range []struct{ limit, hits, records int }{
		{0, 10, 50}, {1, 1, 1}, {7, 7, 7}, {100, 100, 100}, {101, 100, 101}, {1001, 100, 1000}, {math.MaxInt, 100, 1000},
	} {
		found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "log entry number", Limit: c.limit})
		list, err := ml.List(t.Context(), meminfra.ListRequest{UserID: "ada", Filters: episodesOnly, Limit: c.limit})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Hits) != c.hits || len(list.Records) != c.records {
			t.Errorf("limit %d: %d hits and %d records, want %d and %d", c.limit, len(found.Hits), len(list.Records), c.hits, c.records)
		}
	}
	for _, limit := range []int{-1, math.MinInt} {
		_, err := ml.Search(t.Context(), meminfra.SearchRequest{UserID: "ada", Query: "log", Limit: limit})
		if !errors.Is(err, meminfra.ErrLimit) {
			t.Errorf("search with limit %d: %v", limit, err)
		}
		_, err = ml.List(t.Context(), meminfra.ListRequest{UserID: "ada", Limit: limit})
		if !errors.Is(err, meminfra.ErrLimit) {
			t.Errorf("list with limit %d: %v", limit, err)
		}
	}
}

var episodesOnly = meminfra.Filters{Kind: memory.KindEpisode}

// checkPages reads all 1,060 rows page by page: each once, newest first.
func checkPages(t *testing.T, ml *meminfra.MemoryLayer) {
	t.Helper()
	for _, size := range []int{7, 53, 265, 1000} {
		req := meminfra.ListRequest{UserID: "ada", Filters: episodesOnly, Limit: size}
		var last, n int64
		for {
			page, err := ml.List(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Records {
				if n++; last != 0 && r.Seq >= last {
					t.Fatalf("pages of %d: row %d after %d", size, r.Seq, last)
				}
				last = r.Seq
			}
			if req.Cursor = page.Next; req.Cursor == "" {
				break
			}
		}
		if n != 1060 {
			t.Errorf("pages of %d: %d rows", size, n)
		}
	}
}

func TestBadCursors(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		for _, user := range []string{"ada", "bo"} {
			mustAdd(t, ml, addTo(user, "c", manyMessages(5)...))
		}
		first, err := ml.List(t.Context(), meminfra.ListRequest{UserID: "ada", Filters: episodesOnly, Limit: 2})
		if err != nil || first.Next == "" {
			t.Fatalf("next %q, %v", first.Next, err)
		}
		for _, cursor := range []string{"0", "-1", "+2", "hello", "zzzzzzzzzzzzzzzzzzzz", " ", "\x00", "1;--",
			first.Next + "0", "0" + first.Next, "x" + first.Next[1:], first.Next[:len(first.Next)-1]} {
			_, err := ml.List(t.Context(), meminfra.ListRequest{UserID: "ada", Filters: episodesOnly, Cursor: cursor})
			if !errors.Is(err, meminfra.ErrCursor) {
				t.Errorf("cursor %q: %v", cursor, err)
			}
		}
		_, err = ml.List(t.Context(), meminfra.ListRequest{UserID: "bo", Filters: episodesOnly, Cursor: first.Next})
		if !errors.Is(err, meminfra.ErrCursor) {
			t.Errorf("another user's cursor: %v", err)
		}
	})
}

func TestUnsoundReads(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		mustAdd(t, ml, addTo("ada", "c", told("I live in Lisbon.")...))
		for _, query := range []string{"", " \n", "\u200b", "\x00"} {
			if _, err := ml.Search(t.Context(), meminfra.SearchRequest{UserID: "ada", Query: query}); !errors.Is(err, meminfra.ErrBlankQuery) {
				t.Errorf("query %q: %v", query, err)
			}
		}
		_, err := ml.Search(t.Context(), meminfra.SearchRequest{UserID: "ada", Query: strings.Repeat("x", memory.MaxQueryBytes+1)})
		if !errors.Is(err, meminfra.ErrTooLong) {
			t.Errorf("query of 8 KiB and a byte: %v", err)
		}
		mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: strings.Repeat("x", memory.MaxQueryBytes)})
		for _, id := range []string{"nobody", "a/../b", "'; DROP TABLE item; --", longID(memory.MaxIDBytes)} {
			if _, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: "ada", ID: id}); !errors.Is(err, meminfra.ErrNotFound) {
				t.Errorf("get %q: %v", id, err)
			}
			if _, err := ml.History(t.Context(), meminfra.HistoryRequest{UserID: "ada", ID: id}); !errors.Is(err, meminfra.ErrNotFound) {
				t.Errorf("history %q: %v", id, err)
			}
		}
		for id, want := range map[string]error{"": memory.ErrBlank, "a\x00": memory.ErrMalformedID, longID(257): meminfra.ErrTooLong} {
			if _, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: "ada", ID: id}); !errors.Is(err, want) {
				t.Errorf("get %q: %v", id, err)
			}
			if _, err := ml.History(t.Context(), meminfra.HistoryRequest{UserID: "ada", ID: id}); !errors.Is(err, want) {
				t.Errorf("history %q: %v", id, err)
			}
		}
	})
}

// Calls after Close say so and do nothing.
func TestClosed(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		if err := ml.Close(); err != nil {
			t.Fatal(err)
		}
		for verb, err := range everyVerb(t, ml, "ada") {
			if !errors.Is(err, meminfra.ErrClosed) {
				t.Errorf("%s: %v", verb, err)
			}
		}
		open := newLayer(t, store)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		for verb, err := range everyVerb(t, open, "ada") {
			if !errors.Is(err, meminfra.ErrClosed) {
				t.Errorf("%s on a closed store: %v", verb, err)
			}
		}
	})
}

// everyVerb calls each verb soundly as user and returns the errors.
func everyVerb(t *testing.T, ml *meminfra.MemoryLayer, user string) map[string]error {
	t.Helper()
	list := map[string]error{}
	_, list["add"] = ml.Add(t.Context(), addTo(user, "c", told("I live in Lisbon.")...))
	_, list["search"] = ml.Search(t.Context(), meminfra.SearchRequest{UserID: user, Query: "Lisbon"})
	_, list["get"] = ml.Get(t.Context(), meminfra.GetRequest{UserID: user, ID: "x"})
	_, list["list"] = ml.List(t.Context(), meminfra.ListRequest{UserID: user})
	_, list["history"] = ml.History(t.Context(), meminfra.HistoryRequest{UserID: user, ID: "x"})
	return list
}

// badCandidates are proposals that must be refused, each alone.
var badCandidates = map[string]func(*extract.Candidate){
	"quote_not_found":          func(c *extract.Candidate) { c.Quote = "I never said this" },
	"quotes_no_target_message": func(c *extract.Candidate) { c.EpisodeID = "elsewhere" },
	"no_polarity":              func(c *extract.Candidate) { c.Polarity = 0 },
	"no_subject":               func(c *extract.Candidate) { c.Subject = memory.Subject{} },
	"no_value":                 func(c *extract.Candidate) { c.Predicate, c.Value = "location", " " },
	"too_long":                 func(c *extract.Candidate) { c.Value = strings.Repeat("x", memory.MaxFieldBytes+1) },
	"ends_before_it_begins":    func(c *extract.Candidate) { c.Stated = memory.Validity{From: monday, To: monday} },
}

// proposing puts a bad candidate before the good one.
type proposing struct {
	verbatim
	edit func(*extract.Candidate)
}

func (p proposing) Extract(ctx context.Context, in extract.Input) (extract.Output, error) {
	out, err := p.verbatim.Extract(ctx, in)
	bad := out.Candidates[0]
	p.edit(&bad)
	out.Candidates = append([]extract.Candidate{bad}, out.Candidates...)
	return out, err
}

// One bad candidate is refused by name and the good one beside it is kept.
func TestBadCandidatesAreRejectedAlone(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		for reason, edit := range badCandidates {
			ml := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.Extractor = proposing{edit: edit} })
			res := mustAdd(t, ml, addTo(reason, "c", told("The boiler is serviced in May.")...))
			if len(res.Rejections) != 1 || res.Rejections[0].Reason != reason || len(res.Actions) != 1 {
				t.Errorf("%s: rejections %v, actions %v", reason, res.Rejections, actionsOf(res))
			}
		}
	})
}

// A vector whose model or length nobody knows can be kept apart from no other.
func TestNewRefusesAnEmbedderThatDoesNotSayWhatItMakes(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		for _, e := range []bagOfWords{{"", 8}, {"words", 0}, {"words", -1}} {
			if _, err := meminfra.New(store, &meminfra.Options{Embedder: e}); err == nil {
				t.Errorf("an embedder of model %q and %d dimensions was taken", e.Model(), e.Dim())
			}
		}
	})
}
