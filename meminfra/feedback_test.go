package meminfra_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// TestFeedback is papers.md section 3, outcome loop T3 and T4, for searches.
func TestFeedback(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store, frozen)
		for _, user := range []string{"ada", "control"} {
			mustAdd(t, ml, addTo(user, "c", told("I speak French.", "I speak German.", "I speak Dutch.")...))
		}
		ask := func(user string) *meminfra.SearchResult {
			return mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: "Which languages do I speak?", SkipContext: true, Filters: meminfra.Filters{Kind: "fact"}})
		}
		before := ask("ada")
		give := func(req meminfra.FeedbackRequest) (*meminfra.FeedbackResult, error) {
			return ml.Feedback(t.Context(), req)
		}
		for name, c := range map[string]struct {
			req  meminfra.FeedbackRequest
			want error
		}{
			"too much":      {meminfra.FeedbackRequest{UserID: "ada", TraceID: before.TraceID, Reward: 1.5}, meminfra.ErrReward},
			"not a number":  {meminfra.FeedbackRequest{UserID: "ada", TraceID: before.TraceID, Reward: math.NaN()}, meminfra.ErrReward},
			"another user":  {meminfra.FeedbackRequest{UserID: "control", TraceID: before.TraceID, Reward: 1}, meminfra.ErrNotFound},
			"a stranger":    {meminfra.FeedbackRequest{UserID: "eve", TraceID: before.TraceID, Reward: 1}, meminfra.ErrNotFound},
			"unknown trace": {meminfra.FeedbackRequest{UserID: "ada", TraceID: "t", Reward: 1}, meminfra.ErrNotFound},
			"no user":       {meminfra.FeedbackRequest{TraceID: before.TraceID}, meminfra.ErrNoUser},
		} {
			if _, err := give(c.req); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if exists(t, store, "eve") {
			t.Error("refused feedback made a partition")
		}
		sameHits(t, "refused feedback", ask("ada").Hits, before.Hits)
		last := before.Hits[len(before.Hits)-1]
		mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: last.Text})
		one := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: last.Text, Limit: 1, Filters: meminfra.Filters{Predicate: "spoken_language", Value: last.Value}})
		req := meminfra.FeedbackRequest{UserID: "ada", TraceID: one.TraceID, Reward: 1, IdempotencyKey: "k"}
		for i := range 3 {
			res, err := give(req)
			if err != nil || !slices.Equal(res.Credited, []string{last.ID}) || res.Known != (i > 0) {
				t.Fatalf("%+v, %v", res, err)
			}
		}
		req.Reward = -1
		if _, err := give(req); !errors.Is(err, meminfra.ErrKeyReused) {
			t.Errorf("another reward under the key: %v", err)
		}
		again := func(reward float64, times int) {
			for i := range times {
				r := meminfra.FeedbackRequest{UserID: "ada", TraceID: one.TraceID, Reward: reward, IdempotencyKey: fmt.Sprint(reward, i)}
				if _, err := give(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		again(1, 20)
		after := ask("ada").Hits
		if after[2].ID == last.ID {
			t.Errorf("three like hits, of which %q was rewarded: %v", last.Text, texts(after))
		}
		for _, h := range after {
			if h.Score < 0 || h.Score > 1 {
				t.Errorf("score %v", h.Score)
			}
		}
		fresh := newLayer(t, store, frozen, randomIDs)
		sameHits(t, "an index built anew", mustSearch(t, fresh, meminfra.SearchRequest{UserID: "ada", Query: "Which languages do I speak?", SkipContext: true, Filters: meminfra.Filters{Kind: "fact"}}).Hits, after)
		again(-1, 30)
		if h := ask("ada").Hits; h[len(h)-1].ID != last.ID {
			t.Errorf("punished: %v", texts(h))
		}
		chain := entries(t, store, "ada")
		count := 0
		for _, e := range chain {
			if e.Operation == "feedback" {
				count++
			}
		}
		if count != 51 {
			t.Errorf("%d entries of feedback, want 51", count)
		}
		untouched := ask("control").Hits
		if len(untouched) != len(before.Hits) || untouched[0].Score != before.Hits[0].Score || untouched[2].Text != before.Hits[2].Text {
			t.Errorf("another user's ranking moved: %v", texts(untouched))
		}
	})
}

// An old trace names what was shown then; the reward goes to what its user may
// still read. Each item is hidden in another way, and one stays.
func TestFeedbackCreditsWhatIsStillThere(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		clock := testClock()
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Now = clock.Now })
		dutch := mustAdd(t, ml, addTo("ada", "c", said("m1", "I speak Dutch.", 0))).Actions[0].ItemID
		german := mustAdd(t, ml, addTo("ada", "c", said("m2", "I speak German.", 1))).Actions[0].ItemID
		french := through(t, ml, "ada", "p", "", "I speak French.").Actions[0].ItemID
		crm := through(t, ml, "ada", "q", "crm", "I speak Danish.").Actions[0].ItemID
		short := said("m3", "I speak Greek.", 2)
		short.ExpiresAt = clock.Now().Add(time.Hour)
		greek := mustAdd(t, ml, addTo("ada", "d", short)).Actions[0].ItemID
		edges := []meminfra.GrantRequest{{UserID: "ada", AgentID: "p"}, {UserID: "ada", AgentID: "q"}, {AgentID: "q", ResourceID: "crm"}}
		for _, e := range edges {
			mustGrant(t, ml, e)
		}
		found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Which languages do I speak?", Filters: meminfra.Filters{Kind: "fact"}})
		left := []string{dutch, german, french, crm, greek}
		credited := func(when string, gone string) {
			t.Helper()
			left = slices.DeleteFunc(left, func(id string) bool { return id == gone })
			res, err := ml.Feedback(t.Context(), meminfra.FeedbackRequest{UserID: "ada", TraceID: found.TraceID, Reward: 1})
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			got := slices.Sorted(slices.Values(res.Credited))
			if want := slices.Sorted(slices.Values(left)); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
		credited("nothing is hidden", "")
		mustRevoke(t, ml, meminfra.RevokeRequest(edges[0]))
		credited("its agent was revoked", french)
		mustRevoke(t, ml, meminfra.RevokeRequest(edges[2]))
		credited("its resource was revoked", crm)
		clock.Advance(2 * time.Hour)
		credited("it has expired", greek)
		if _, err := ml.Curate().Retract(t.Context(), meminfra.RetractRequest{UserID: "ada", ID: german}); err != nil {
			t.Fatal(err)
		}
		credited("it was withdrawn", german)
		mustGrant(t, ml, edges[0])
		left = append(left, french)
		credited("granted again", "")
		// A trace that names what was forgotten goes with it.
		if _, err := ml.Forget(t.Context(), meminfra.ForgetRequest{UserID: "ada", ID: dutch}); err != nil {
			t.Fatal(err)
		}
		_, err := ml.Feedback(t.Context(), meminfra.FeedbackRequest{UserID: "ada", TraceID: found.TraceID, Reward: 1})
		if !errors.Is(err, meminfra.ErrNotFound) {
			t.Errorf("one was forgotten: %v", err)
		}
		verifies(t, "after all", ml, nil)
	})
}

// forgetful is a store in which something happens just before a commit.
type forgetful struct {
	storage.Store
	before func()
}

func (s *forgetful) Update(ctx context.Context, p memory.Partition, fn func(storage.Tx) error) error {
	if f := s.before; f != nil {
		s.before = nil
		f()
	}
	return s.Store.Update(ctx, p, fn)
}

// What is forgotten while feedback is on its way takes none: no row with the
// caller's key is left, nor the forgotten user's name.
func TestFeedbackAfterAForgetInBetween(t *testing.T) {
	onRaw(t, func(t *testing.T, store storage.Store, raw *rawDB) {
		ml, between := newLayer(t, store, randomIDs), &forgetful{Store: store}
		slow := newLayer(t, between, randomIDs)
		for name, req := range map[string]func(id string) meminfra.ForgetRequest{
			"item": func(id string) meminfra.ForgetRequest { return meminfra.ForgetRequest{UserID: "ada", ID: id} },
			"user": func(string) meminfra.ForgetRequest { return meminfra.ForgetRequest{UserID: "ada", Everything: true} },
		} {
			item := mustAdd(t, ml, addTo("ada", name, said(name, "I speak Dutch.", 0))).Actions[0].ItemID
			found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Which languages do I speak?"})
			between.before = func() {
				if _, err := ml.Forget(t.Context(), req(item)); err != nil {
					t.Error(err)
				}
			}
			_, err := slow.Feedback(t.Context(), meminfra.FeedbackRequest{UserID: "ada", TraceID: found.TraceID, Reward: 1, IdempotencyKey: "ada's key"})
			if !errors.Is(err, meminfra.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
			if rows := raw.query(`SELECT key FROM feedback`); len(rows) > 0 {
				t.Errorf("%s: feedback is left: %v", name, rows)
			}
			if rows := raw.query(`SELECT name FROM partition WHERE partition = $1`, userPartition("ada")); name == "user" && rows[0][0] != "" {
				t.Errorf("the name of who was forgotten is back")
			}
			verifies(t, name, ml, nil)
		}
	})
}
