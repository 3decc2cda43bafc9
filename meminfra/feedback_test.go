package meminfra_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
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
