package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var traceTests = []test{
	{name: "every field comes back", run: traceFields},
	{name: "what was handed out since", run: traceHanded},
	{name: "when something was first shown", run: traceShown},
	{name: "no lock and no change number", run: traceApart},
	{name: "old ones go now and then", run: tracePruned},
	{name: "in one with the rows that a search hands out", run: resolve},
	{name: "while a commit is under way", run: traceBesideCommit},
	{name: "feedback once for each key", run: feedback},
}

func traceFields(t *testing.T, s storage.Store) {
	want := memory.Trace{Partition: ada.ID(), ID: "t1", Kind: "search", Query: "wo? 在哪里 'x'", Route: "facts", Intent: `{"predicate":"x"}`,
		Degraded: []string{"vector: down", `"`}, Model: "m/1", PromptHash: "ab12", Rungs: []string{"dual", "summaries"}, Handed: []byte{0, 255, 1, 0, 0, 0, 0, 7}, At: at(1), Items: []memory.TraceItem{
			{Rank: 1, OwnerKind: memory.OwnerItem, OwnerID: "i1", Opened: true, Authority: memory.Attested, Score: 1.0 / 3},
			{Rank: 2, OwnerKind: memory.OwnerEpisode, OwnerID: "e1", Cited: true, Score: 0},
			{Rank: 1, OwnerKind: memory.OwnerItem, OwnerID: "i1", Shared: true, Authority: memory.Unendorsed, Score: -1},
		}}
	bare := memory.Trace{Partition: ada.ID(), ID: "t2", Kind: "answer", At: at(2)}
	check(t, s.PutTrace(t.Context(), want))
	check(t, s.PutTrace(t.Context(), bare))
	for _, trace := range []memory.Trace{want, bare} {
		got, err := s.Trace(t.Context(), ada.ID(), trace.ID)
		check(t, err)
		same(t, "trace", got, trace)
		commit(t, s, ada, func(tx storage.Tx) (err error) { got, err = tx.Trace(t.Context(), trace.ID); return err })
		same(t, "trace in a commit", got, trace)
	}
	commit(t, s, bob, func(tx storage.Tx) error {
		_, err := tx.Trace(t.Context(), "t1")
		wantErr(t, "another partition's in a commit", err, storage.ErrNotFound)
		return nil
	})
	_, err := s.Trace(t.Context(), ada.ID(), "none")
	wantErr(t, "an unknown trace", err, storage.ErrNotFound)
	_, err = s.Trace(t.Context(), bob.ID(), "t1")
	wantErr(t, "another partition's", err, storage.ErrNotFound)

	again := bare
	again.Items = []memory.TraceItem{{Rank: 1, OwnerKind: memory.OwnerItem, OwnerID: "i"}}
	wantErr(t, "the same id twice", s.PutTrace(t.Context(), again), storage.ErrConflict)
	got, err := s.Trace(t.Context(), ada.ID(), "t2")
	check(t, err)
	same(t, "the first one stays", got, bare)
}

func traceShown(t *testing.T, s storage.Store) {
	for i, owners := range [][]string{{"i1", "e1"}, {"i1", "i2"}, {"i2"}} {
		trace := memory.Trace{Partition: ada.ID(), ID: fmt.Sprint("t", i), Kind: "search", At: at(i)}
		for n, owner := range owners {
			trace.Items = append(trace.Items, memory.TraceItem{Rank: n + 1, OwnerKind: memory.OwnerItem, OwnerID: owner})
		}
		check(t, s.PutTrace(t.Context(), trace))
	}
	for _, c := range []struct {
		since int
		want  map[string]time.Time
	}{{0, map[string]time.Time{"i1": at(0), "i2": at(1)}}, {1, map[string]time.Time{"i1": at(1), "i2": at(1)}}, {3, map[string]time.Time{}}} {
		got, err := s.FirstShown(t.Context(), ada.ID(), at(c.since), []string{"i1", "i2", "none"})
		check(t, err)
		same(t, fmt.Sprint("since ", c.since), got, c.want)
	}
	got, err := s.FirstShown(t.Context(), bob.ID(), at(0), []string{"i1"})
	check(t, err)
	same(t, "another partition's", len(got), 0)
}

func traceHanded(t *testing.T, s storage.Store) {
	for i, keys := range []string{"12345678", "", "abcdefgh12345678", "lastlast"} {
		check(t, s.PutTrace(t.Context(), memory.Trace{Partition: ada.ID(), ID: fmt.Sprint("t", i), Kind: "search", Handed: []byte(keys), At: at(i)}))
	}
	check(t, s.PutTrace(t.Context(), memory.Trace{Partition: bob.ID(), ID: "t", Kind: "search", Handed: []byte("of bob's"), At: at(9)}))
	got, err := s.HandedOut(t.Context(), ada.ID(), at(1))
	check(t, err)
	same(t, "handed out", got, []storage.Handed{{At: at(2), Keys: []byte("abcdefgh12345678")}, {At: at(3), Keys: []byte("lastlast")}})
	got, err = s.HandedOut(t.Context(), ada.ID(), at(4))
	check(t, err)
	same(t, "nothing since", len(got), 0)
}

func traceApart(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 1)
	before := head(t, s, ada)
	check(t, s.PutTrace(t.Context(), memory.Trace{Partition: ada.ID(), ID: "t", Kind: "search", At: at(1)}))
	same(t, "head", head(t, s, ada), before)
}

func resolve(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 3)
	putItem(t, s, ada, "i1", nil)
	putItem(t, s, ada, "i2", nil)
	trace := memory.Trace{Partition: ada.ID(), ID: "t1", Kind: "search", At: at(1), Items: []memory.TraceItem{
		{Rank: 1, OwnerKind: memory.OwnerItem, OwnerID: "i2", Score: 0.1}}}
	p := storage.ResolveParams{Partition: ada.ID(), Items: []string{"i2", "none", "i1"}, Episodes: []string{"e3", "e1", "none"}, Trace: &trace}
	got, err := s.Resolve(t.Context(), p)
	check(t, err)
	check(t, got.TraceErr)
	items, err := s.Items(t.Context(), ada.ID(), p.Items)
	check(t, err)
	episodes, err := s.Episodes(t.Context(), ada.ID(), p.Episodes)
	check(t, err)
	same(t, "rows", got, storage.Resolved{Items: items, Episodes: episodes})
	same(t, "items", len(items)+len(episodes), 4)
	written, err := s.Trace(t.Context(), ada.ID(), "t1")
	check(t, err)
	same(t, "trace", written, trace)

	again, err := s.Resolve(t.Context(), p)
	check(t, err)
	wantErr(t, "the same trace twice", again.TraceErr, storage.ErrConflict)
	same(t, "rows all the same", again.Items, items)
	p.Trace, p.Partition = nil, bob.ID()
	none, err := s.Resolve(t.Context(), p)
	check(t, err)
	same(t, "another partition's", none, storage.Resolved{})
}

// traceBesideCommit: a trace waits for no commit, and is found at once and after.
func traceBesideCommit(t *testing.T, s storage.Store) {
	put := func(id string) {
		check(t, s.PutTrace(t.Context(), memory.Trace{Partition: ada.ID(), ID: id, Kind: "search", At: at(1)}))
		got, err := s.Trace(t.Context(), ada.ID(), id)
		check(t, err)
		same(t, "trace", got.ID, id)
	}
	commit(t, s, ada, func(tx storage.Tx) error { // waiting here would wait for ever
		put("t1")
		put("t2")
		return tx.InsertEpisodes(t.Context(), []memory.Episode{newEpisode(tx, "e1", "c1", "m1")})
	})
	put("t3")
	for _, id := range []string{"t1", "t2", "t3"} {
		_, err := s.Trace(t.Context(), ada.ID(), id)
		check(t, err)
	}
}

func tracePruned(t *testing.T, s storage.Store) {
	old := memory.Trace{Partition: ada.ID(), ID: "old", Kind: "search", At: at(0), Items: []memory.TraceItem{{Rank: 1, OwnerKind: memory.OwnerItem, OwnerID: "i"}}}
	check(t, s.PutTrace(t.Context(), old))
	for i := range 1000 {
		id := fmt.Sprint("t", i)
		check(t, s.PutTrace(t.Context(), memory.Trace{Partition: ada.ID(), ID: id, Kind: "search", At: at(i).Add(memory.TraceRetention + time.Second)}))
		if _, err := s.Trace(t.Context(), ada.ID(), "old"); err != nil {
			wantErr(t, "an old trace", err, storage.ErrNotFound)
			_, err := s.Trace(t.Context(), ada.ID(), id)
			check(t, err)
			return
		}
	}
	t.Error("after 1,000 traces an expired one is still there")
}

func feedback(t *testing.T, s storage.Store) {
	put := func(p memory.Partition, id, trace, key string, reward float64) error {
		return s.Update(t.Context(), p, func(tx storage.Tx) error {
			return tx.InsertFeedback(t.Context(), []storage.Feedback{{Partition: p.ID(), ID: id, TraceID: trace, Reward: reward, Key: key,
				At: at(1), Change: tx.Head().Change, Salt: []byte{1}}})
		})
	}
	check(t, put(ada, "f1", "t1", "k", -1))
	check(t, put(ada, "f2", "t1", "", 0.5))
	check(t, put(ada, "f3", "t1", "", 1))
	check(t, put(ada, "f4", "t2", "k", 0))
	check(t, put(bob, "f1", "t1", "k", 0))
	wantErr(t, "the same key twice", put(ada, "f5", "t1", "k", 1), storage.ErrConflict)
	wantErr(t, "a reward over 1", put(ada, "f6", "t1", "", 1.5), storage.ErrConflict)
}
