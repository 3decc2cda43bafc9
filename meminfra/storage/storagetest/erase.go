package storagetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var eraseTests = []test{
	{name: "rows and what belongs to them", run: eraseSome},
	{name: "what names a row", run: bearing},
	{name: "a whole partition", run: eraseAll},
	{name: "a refused erasure erases nothing", run: eraseRefused},
	{name: "scrubbing settles what is pending", run: scrub},
	{name: "what has expired", run: due},
	{name: "old traces, and those of rows that are gone", run: pruneTraces},
	{name: "traces that showed shared rows", run: pruneShown},
	{name: "what a user told", run: contributed},
}

// furnish commits two items with everything that can hang on them: i1 quotes
// e1 and e2, i2 quotes e2, i3 is derived from i1 and i2.
func furnish(t *testing.T, s storage.Store, p memory.Partition) {
	t.Helper()
	putEpisodes(t, s, p, 3)
	for _, id := range []string{"i1", "i2", "i3"} {
		putItem(t, s, p, id, func(m *memory.Item, _ *memory.State) {
			m.Origins = []memory.Origin{{Kind: memory.OriginAgent, Name: "a"}}
			if id == "i3" {
				m.DerivedFrom = []string{"i1", "i2"}
			}
		})
	}
	ctx := t.Context()
	commit(t, s, p, func(tx storage.Tx) error {
		check(t, tx.PutConversation(ctx, storage.Conversation{ID: "c1", CreatedAt: at(1), UpdatedAt: at(1)}))
		check(t, tx.PutSummary(ctx, "c1", "what was said", 2))
		check(t, tx.InsertEvidence(ctx, []memory.Evidence{newEvidence("i1", 1, "e1"), newEvidence("i1", 2, "e2"), newEvidence("i2", 1, "e2")}))
		check(t, tx.InsertConflicts(ctx, []memory.Conflict{{ItemID: "i1", OtherID: "i2", Reason: "r", Decision: "d-i2", At: at(3)}}))
		check(t, tx.PutEmbeddings(ctx, []memory.Embedding{
			{OwnerKind: memory.OwnerItem, OwnerID: "i1", Model: "m", Vector: []float32{1}},
			{OwnerKind: memory.OwnerItem, OwnerID: "i2", Model: "m", Vector: []float32{1}},
			{OwnerKind: memory.OwnerEpisode, OwnerID: "e1", Model: "m", Vector: []float32{1}}}))
		check(t, tx.PutExtractions(ctx, []memory.Extraction{{EpisodeID: "e1", Extractor: "x", Status: memory.ExtractionDone, UpdatedAt: at(1)}}))
		check(t, tx.InsertFeedback(ctx, []storage.Feedback{{ID: "f1", TraceID: "t1", Reward: 1, At: at(4)}}))
		check(t, tx.InsertGrants(ctx, []memory.Grant{{ID: "g1", Kind: memory.GrantUserAgent, Left: "u", Right: "a", At: at(1)}}))
		return tx.PutIdempotency(ctx, storage.IdempotencyRecord{Key: "k", Body: []byte{1}, Result: `["i1"]`, At: at(1)})
	})
	check(t, s.PutTrace(ctx, memory.Trace{Partition: p.ID(), ID: "t1", Kind: "search", Query: "q", At: at(5),
		Items: []memory.TraceItem{{Rank: 1, OwnerKind: memory.OwnerItem, OwnerID: "i1", Authority: memory.Attested}}}))
}

func newEvidence(item string, n int, episode string) memory.Evidence {
	return memory.Evidence{ItemID: item, N: n, EpisodeID: episode, Quote: "q", End: 1, Full: true,
		Polarity: memory.Positive, Authority: memory.Attested, Salt: []byte{1}}
}

func erasure(id string) storage.Erasure { return storage.Erasure{ID: id, At: at(9)} }

// erase runs an erasure in a commit of its own.
func erase(t *testing.T, s storage.Store, p memory.Partition, e storage.Erasure) (out storage.Erased) {
	t.Helper()
	commit(t, s, p, func(tx storage.Tx) (err error) {
		out, err = tx.Erase(t.Context(), e)
		return err
	})
	return out
}

func objects(list []memory.Object) []string {
	words := ids(list, func(o memory.Object) string { return o.Kind + " " + o.ID })
	slices.Sort(words)
	return words
}

func eraseSome(t *testing.T, s storage.Store) {
	furnish(t, s, ada)
	furnish(t, s, bob)
	e := erasure("x1")
	e.Items, e.Episodes, e.Decisions = []string{"i1", "i3", "unknown"}, []string{"e1"}, []string{"d-i1", "d-i2"}
	e.Traces, e.Keys, e.Grants = []string{"t1"}, []string{"k"}, []string{"g1"}
	out := erase(t, s, ada, e)
	same(t, "rows", out.Rows, map[string]int{"feedback": 1, "trace": 1, "extraction": 1, "embedding": 2, "conflict": 1,
		"item_derivation": 2, "item_origin": 2, "evidence": 2, "item_state": 2, "item": 2, "episode": 1, "decision": 1,
		"idempotency": 1, "access_grant": 1, storage.Summaries: 1})
	same(t, "covered", objects(out.Covered), []string{"conflict i1/i2", "decision d-i1", "episode e1", "evidence i1/1", "evidence i1/2",
		"feedback f1", "grant g1", "item i1", "item i3", "state i1/1", "state i3/1"})
	c := changes(t, s, ada, 0)
	same(t, "left", append(ids(c.Items, statesID), ids(c.Episodes, episodeID)...), []string{"i2", "e2", "e3"})
	same(t, "an older index starts anew", changes(t, s, ada, 1), storage.Changes{Head: c.Head, Reset: true})
	same(t, "erased at", c.Head.Erased, c.Head.Change)
	same(t, "another partition", len(changes(t, s, bob, 0).Items), 3)
	e = erasure("x2")
	e.Episodes = []string{"e2", "e3"}
	same(t, "the last messages of a conversation", erase(t, s, ada, e).Rows, map[string]int{"evidence": 1, "episode": 2, "conversation": 1})
}

func bearing(t *testing.T, s storage.Store) {
	furnish(t, s, ada)
	furnish(t, s, bob)
	putItem(t, s, ada, "i4", func(m *memory.Item, _ *memory.State) { m.Supersedes = "i2" })
	commit(t, s, ada, func(tx storage.Tx) error {
		b, err := tx.Bearing(t.Context(), []string{"i2"}, []string{"e1"})
		check(t, err)
		slices.Sort(b.Items)
		same(t, "items", b.Items, []string{"i1", "i3", "i4"})
		same(t, "decisions", ids(b.Decisions, func(d memory.Decision) string { return d.ID }), []string{"d-i1", "d-i2", "d-i3", "d-i4"})
		same(t, "traces", len(b.Traces), 0)
		same(t, "receipts", ids(b.Receipts, func(r storage.IdempotencyRecord) string { return r.Key + r.Result }), []string{`k["i1"]`})
		b, err = tx.Bearing(t.Context(), []string{"i1"}, nil)
		check(t, err)
		same(t, "traces", b.Traces, []string{"t1"})
		episodes, err := tx.Episodes(t.Context(), []string{"e3", "nothing", "e1"})
		check(t, err)
		same(t, "episodes", ids(episodes, episodeID), []string{"e3", "e1"})
		return nil
	})
}

func eraseAll(t *testing.T, s storage.Store) {
	furnish(t, s, ada)
	furnish(t, s, bob)
	commit(t, s, ada, func(tx storage.Tx) error { return tx.AppendEntries(t.Context(), []memory.Entry{newEntry(ada, 1)}) })
	before := head(t, s, ada)
	e := erasure("x")
	e.All = true
	out := erase(t, s, ada, e)
	same(t, "kinds of rows", len(out.Rows), 15)
	same(t, "items", out.Rows["item"], 3)
	c := changes(t, s, ada, before.Change)
	before.Change++
	before.Erased = before.Change
	same(t, "changes", c, storage.Changes{Head: before, Reset: true})
	for _, c := range []struct {
		at   []time.Time
		want int
	}{{nil, 1}, {[]time.Time{}, 0}, {[]time.Time{newEntry(ada, 1).At.Add(time.Second)}, 0}, {[]time.Time{{}, newEntry(ada, 1).At}, 1}} {
		seen := 0
		commit(t, s, ada, func(tx storage.Tx) error {
			return tx.Entries(t.Context(), c.at, func(memory.Entry) error { seen++; return nil })
		})
		same(t, "entries", seen, c.want)
	}
	same(t, "another partition", len(changes(t, s, bob, 0).Items), 3)
	putEpisodes(t, s, ada, 1) // the ids are free again
}

func eraseRefused(t *testing.T, s storage.Store) {
	furnish(t, s, ada)
	before := head(t, s, ada)
	err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
		e := erasure("x")
		e.Decisions = []string{"d-i1"}
		e.Episodes = []string{"e1", "e2"}
		_, err := tx.Erase(t.Context(), e)
		check(t, err)
		return tx.InsertDecisions(t.Context(), []memory.Decision{newDecision(tx, "d-i1")}) // which is referred to and still there
	})
	wantErr(t, "a decision twice", err, storage.ErrConflict)
	same(t, "head", head(t, s, ada), before)
	same(t, "episodes", len(changes(t, s, ada, 0).Episodes), 3)
	n, err := s.Pending(t.Context())
	check(t, err)
	same(t, "pending", n, 0)
}

func scrub(t *testing.T, s storage.Store) {
	furnish(t, s, ada)
	n, err := s.Scrub(t.Context())
	check(t, err)
	same(t, "nothing to do", n, 0)
	e := erasure("x1")
	e.Items = []string{"i1"}
	e.Traces = []string{"t1"}
	erase(t, s, ada, e)
	n, err = s.Pending(t.Context())
	check(t, err)
	same(t, "pending", n, 1)
	left, err := s.Scrub(t.Context())
	check(t, err)
	n, err = s.Pending(t.Context())
	check(t, err)
	same(t, "left", left, n) // a server that others use may keep it pending
	same(t, "what stays", len(changes(t, s, ada, 0).Items), 2)
	if s.Residue() == "" {
		t.Error("nothing is said of what may stay")
	}
}

func due(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 1) // expires at 201
	putItem(t, s, bob, "i1", nil)
	for now, want := range map[int][]memory.Partition{4: nil, 5: {bob}, 200: {bob}, 201: {ada, bob}} {
		got, err := s.Due(t.Context(), at(now))
		check(t, err)
		slices.SortFunc(got, func(a, b memory.Partition) int { return strings.Compare(a.Name, b.Name) })
		same(t, "due", got, want)
	}
}

func pruneTraces(t *testing.T, s storage.Store) {
	furnish(t, s, ada)
	put := func(id string, when time.Time, owner string) {
		check(t, s.PutTrace(t.Context(), memory.Trace{Partition: ada.ID(), ID: id, Kind: "search", Query: "q", At: when,
			Items: []memory.TraceItem{{Rank: 1, OwnerKind: memory.OwnerEpisode, OwnerID: owner, Authority: memory.Attested}}}))
	}
	put("old", at(1), "e1")
	put("gone", at(50), "e9")
	put("shared", at(50), "e1")
	n, err := s.Prune(t.Context(), at(2))
	check(t, err)
	same(t, "dropped", n, 2)
	for id, want := range map[string]error{"old": storage.ErrNotFound, "gone": storage.ErrNotFound, "t1": nil, "shared": nil} {
		_, err := s.Trace(t.Context(), ada.ID(), id)
		wantErr(t, id, err, want)
	}
}

func pruneShown(t *testing.T, s storage.Store) {
	furnish(t, s, ada)
	put := func(p memory.Partition, id, owner string, shared bool) {
		check(t, s.PutTrace(t.Context(), memory.Trace{Partition: p.ID(), ID: id, Kind: "search", Query: "q", At: at(50),
			Items: []memory.TraceItem{{Rank: 1, OwnerKind: memory.OwnerItem, OwnerID: owner, Shared: shared, Authority: memory.Attested},
				{Rank: 2, OwnerKind: memory.OwnerItem, OwnerID: "i2", Authority: memory.Attested}}}))
	}
	put(ada, "own", "i1", false)
	put(ada, "showed", "i1", true)
	put(bob, "showed too", "i1", true)
	put(bob, "another", "i9", true)
	n, err := s.PruneShown(t.Context(), []string{"i1", "i2"})
	check(t, err)
	same(t, "dropped", n, 2)
	for _, w := range []struct {
		p    memory.Partition
		id   string
		want error
	}{{ada, "own", nil}, {ada, "t1", nil}, {ada, "showed", storage.ErrNotFound}, {bob, "showed too", storage.ErrNotFound}, {bob, "another", nil}} {
		_, err := s.Trace(t.Context(), w.p.ID(), w.id)
		wantErr(t, w.id, err, w.want)
	}
	n, err = s.PruneShown(t.Context(), nil)
	check(t, err)
	same(t, "dropped for nothing", n, 0)
}

func contributed(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 2)
	putItem(t, s, ada, "i1", func(m *memory.Item, _ *memory.State) { m.Scope.UserID = "cy" })
	putItem(t, s, ada, "i2", func(m *memory.Item, _ *memory.State) { m.Scope.UserID = "Cy" })
	putItem(t, s, bob, "i3", func(m *memory.Item, _ *memory.State) { m.Scope.UserID = "cy" })
	commit(t, s, ada, func(tx storage.Tx) error {
		told, err := tx.Episodes(t.Context(), []string{"e1"})
		check(t, err)
		_, episodes, err := tx.Contributed(t.Context(), told[0].UserID)
		check(t, err)
		same(t, "messages", episodes, []string{"e1", "e2"})
		items, episodes, err := tx.Contributed(t.Context(), "cy")
		check(t, err)
		same(t, "items", items, []string{"i1"})
		same(t, "no messages", len(episodes), 0)
		return nil
	})
}
