package meminfra_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// twoUsers adds the same conversation, word for word and id for id, for two
// users who differ in one sentence each.
func twoUsers(t *testing.T, ml *meminfra.MemoryLayer) (ada, bo *meminfra.AddResult) {
	t.Helper()
	conversation := func(user, own string) *meminfra.AddResult {
		return mustAdd(t, ml, addTo(user, "c", told("I live in Lisbon.", "I speak Dutch.", own)...))
	}
	return conversation("ada", "I breed quail."), conversation("bo", "I restore clocks.")
}

// owners says whose row an id is.
func owners(results map[string]*meminfra.AddResult) map[string]string {
	owner := map[string]string{}
	for user, res := range results {
		for _, e := range res.Episodes {
			owner[e.ID] = user
		}
		for _, a := range res.Actions {
			owner[a.ItemID] = user
		}
	}
	return owner
}

// Case A12: no branch forgets whom it searches for.
func TestNoBranchFindsAnotherUsers(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		ada, bo := twoUsers(t, ml)
		owner := owners(map[string]*meminfra.AddResult{"ada": ada, "bo": bo})
		branches := meminfra.SearchHit{}.Ranks
		for _, user := range []string{"ada", "bo"} {
			for _, query := range []string{"Where do I live?", "Which languages do I speak?", "quail clocks", "breed restore", "Lisbon"} {
				res := mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: query, Limit: 100})
				for _, h := range res.Hits {
					if owner[h.ID] != user || owner[h.Evidence[0].EpisodeID] != user {
						t.Errorf("%s asks %q and sees %q of %s", user, query, h.Text, owner[h.ID])
					}
					branches.Structured = max(branches.Structured, h.Ranks.Structured)
					branches.Lexical = max(branches.Lexical, h.Ranks.Lexical)
					branches.Vector = max(branches.Vector, h.Ranks.Vector)
				}
			}
		}
		if branches.Structured == 0 || branches.Lexical == 0 || branches.Vector == 0 {
			t.Errorf("not all branches took part: %+v", branches)
		}
		if bo.Episodes[0].Known || len(bo.Actions) == 0 || bo.Actions[0].Action != memory.ActionAdd {
			t.Errorf("the second user's: known %v, %v", bo.Episodes[0].Known, actionsOf(bo))
		}
	})
}

func TestAnotherUsersIDsAreNotFound(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		ada, bo := twoUsers(t, ml)
		ids := []string{ada.Episodes[0].ID, ada.Actions[0].ItemID}
		for _, user := range []string{"bo", "nobody", "ADA", "ada ", "ada%", "_da"} {
			for _, id := range ids {
				if _, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: user, ID: id}); !errors.Is(err, meminfra.ErrNotFound) {
					t.Errorf("get as %q: %v", user, err)
				}
				if _, err := ml.History(t.Context(), meminfra.HistoryRequest{UserID: user, ID: id}); !errors.Is(err, meminfra.ErrNotFound) {
					t.Errorf("history as %q: %v", user, err)
				}
			}
		}
		history, err := ml.History(t.Context(), meminfra.HistoryRequest{UserID: "bo", ID: bo.Actions[0].ItemID})
		if err != nil || len(history.Versions) != 1 || history.Versions[0].ID != bo.Actions[0].ItemID {
			t.Errorf("own history: %+v, %v", history, err)
		}
		for user, res := range map[string]*meminfra.AddResult{"ada": ada, "bo": bo} {
			if listed := mustList(t, ml, user, meminfra.Filters{History: "include"}); len(listed) != len(res.Actions) {
				t.Errorf("%s lists %d items, said %d", user, len(listed), len(res.Actions))
			}
		}
		other := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.Tenant = "elsewhere" })
		if listed := mustList(t, other, "ada", meminfra.Filters{}); len(listed) != 0 {
			t.Errorf("another tenant's ada lists %d items", len(listed))
		}
	})
}

// A call without a user is an error, never everybody; a user nobody has heard
// of finds nothing and is none, and asking makes no row.
func TestNoUserAndUnknownUser(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		twoUsers(t, ml)
		for _, user := range []string{"", " ", "\t\u200b"} {
			for verb, err := range everyVerb(t, ml, user) {
				if !errors.Is(err, meminfra.ErrNoUser) {
					t.Errorf("%s as %q: %v", verb, user, err)
				}
			}
		}
		res := mustSearch(t, ml, meminfra.SearchRequest{UserID: "nobody", Query: "Where do I live?"})
		if res.Hits == nil || len(res.Hits) != 0 || len(res.Degraded) != 0 {
			t.Errorf("an unknown user finds %+v, degraded %q", res.Hits, res.Degraded)
		}
		page, err := ml.List(t.Context(), meminfra.ListRequest{UserID: "nobody"})
		if err != nil || page.Records == nil || len(page.Records) != 0 || page.Next != "" {
			t.Errorf("an unknown user lists %+v, %v", page, err)
		}
		if exists(t, store, "nobody") {
			t.Error("asking made a partition")
		}
	})
}

// A thousand rows of somebody else change no result, no score and no order.
func TestOtherUsersDoNotWeighIn(t *testing.T) {
	queries := []string{"Where do I live?", "quail", "Which languages do I speak?", "entry of the log in Lisbon"}
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store, frozen)
		twoUsers(t, ml)
		before := make([][]meminfra.SearchHit, len(queries))
		for i, q := range queries {
			before[i] = mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: q}).Hits
			if len(before[i]) == 0 {
				t.Fatalf("%q finds nothing", q)
			}
		}
		crowd := manyMessages(1000)
		for i := range crowd {
			crowd[i].Content = "I live in Lisbon and breed quail. " + strings.Repeat("Lisbon ", i%7)
		}
		mustAdd(t, ml, addTo("bo", "c2", crowd...))
		for _, when := range []string{"same layer", "fresh layer"} {
			if when == "fresh layer" {
				ml = newLayer(t, store, frozen, randomIDs)
			}
			for i, q := range queries {
				sameHits(t, when+": "+q, mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: q}).Hits, before[i])
			}
		}
	})
}

// TestScoresDoNotAge: the same memory gives the same scores whenever it is asked,
// so two stores, or two days, can be compared.
func TestScoresDoNotAge(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		clock := testClock()
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Now = clock.Now })
		for i, text := range []string{"I live in Paris.", "The lighthouse stands on a rock", "I moved to Rome."} {
			if _, err := ml.Add(t.Context(), meminfra.AddRequest{UserID: "ada", ConversationID: "c", Messages: []meminfra.Message{
				{Content: text, SentAt: time.Date(2025, time.Month(i+1), 1, 0, 0, 0, 0, time.UTC)}}}); err != nil {
				t.Fatal(err)
			}
		}
		scores := func() (list []float64) {
			res, err := ml.Search(t.Context(), meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range res.Hits {
				list = append(list, h.Score)
			}
			return list
		}
		before := scores()
		clock.Advance(1000 * time.Hour)
		if after := scores(); len(after) == 0 || !slices.Equal(before, after) {
			t.Errorf("before %v, after %v", before, after)
		}
	})
}
