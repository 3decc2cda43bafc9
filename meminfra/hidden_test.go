package meminfra_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Rows that a search may not see change neither results, scores, order nor
// counts, in any branch: not those that filters leave out, not those that no
// longer count, not those that came through an agent the user does not hold. A
// thousand of them come between the same questions. Source: design section 6; issue 5.
func TestHiddenRowsChangeNothing(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store, frozen, func(o *meminfra.Options) { o.Extractor = sentences{builtIn(t)} })
		mustGrant(t, ml, meminfra.GrantRequest{UserID: "ada", AgentID: "mine"})
		list, agent := chatter(1300), "mine"
		add := func(conversation string, messages []meminfra.Message) (made []string) {
			for some := range slices.Chunk(messages, 250) {
				req := addTo("ada", conversation, some...)
				req.AgentID = agent
				for _, a := range mustAdd(t, ml, req).Actions {
					made = append(made, a.ItemID)
				}
			}
			return made
		}
		add("c", list[:200])
		mine := meminfra.Filters{ConversationID: "c"}
		past := meminfra.Filters{ConversationID: "c", History: "include"}
		before := askAll(t, ml, mine, past)
		made := add("other", talkOnly(list[200:800])) // messages and an item of each
		sameAnswers(t, "rows of another conversation", askAll(t, ml, mine, past), before)

		visible := meminfra.Filters{Kind: memory.KindFact, History: "exclude"}
		items := askAll(t, ml, visible)
		gone := add("gone", []meminfra.Message{{ID: "x", Content: "The bafu ce. The dido fern gohaje. The clem dust kilomu."}})
		for _, id := range gone {
			if _, err := ml.Curate().Retract(t.Context(), meminfra.RetractRequest{UserID: "ada", ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		sameAnswers(t, "items that were withdrawn", askAll(t, ml, visible), items)

		everything := askAll(t, ml, meminfra.Filters{})
		agent = "theirs"
		theirs := add("theirs", talkOnly(list[800:]))
		sameAnswers(t, "rows of another agent", askAll(t, ml, meminfra.Filters{}), everything)
		if len(made) < 450 || len(gone) != 3 || len(theirs) < 375 {
			t.Errorf("%d, %d and %d items: too few to tell", len(made), len(gone), len(theirs))
		}
	})
}

// talkOnly keeps the messages that state nothing that an older one could be
// replaced by, or witnessed again.
func talkOnly(list []meminfra.Message) []meminfra.Message {
	return slices.DeleteFunc(slices.Clone(list), func(m meminfra.Message) bool { return m.Content[:4] != "The " })
}

// askAll asks every question under each of the filters.
func askAll(t *testing.T, ml *meminfra.MemoryLayer, filters ...meminfra.Filters) map[string][]meminfra.SearchHit {
	t.Helper()
	all := map[string][]meminfra.SearchHit{}
	for _, f := range filters {
		for _, q := range questions() {
			res := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: q, Filters: f, Limit: 100})
			if len(res.Hits) == 0 {
				t.Fatalf("nothing found for %q", q)
			}
			all[fmt.Sprintf("%+v %s", f, q)] = res.Hits
		}
		for _, r := range mustList(t, ml, "ada", f) {
			key := fmt.Sprintf("%+v list", f)
			all[key] = append(all[key], meminfra.SearchHit{Record: r})
		}
	}
	return all
}

func sameAnswers(t *testing.T, what string, got, want map[string][]meminfra.SearchHit) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d answers, want %d", what, len(got), len(want))
	}
	for key, hits := range want {
		sameHits(t, what+": "+key, got[key], hits)
	}
}

// That there are rows which a search may not see does not show in what it says of
// itself: here hidden ones have vectors of another model, or of the present one.
func TestHiddenRowsAreNotToldOf(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		degraded := func(ml *meminfra.MemoryLayer, user string) []string {
			return mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: "the cat"}).Degraded
		}
		before := newLayer(t, store, randomIDs, withEmbedder(bagOfWords{"old", 8}))
		after := newLayer(t, store, randomIDs, withEmbedder(bagOfWords{"new", 8}))
		hide := func(ml *meminfra.MemoryLayer, user string) {
			req := addTo(user, "hidden", said("m1", "The cat sleeps all day.", 0))
			req.AgentID = "theirs"
			mustAdd(t, ml, req)
			mustGrant(t, ml, meminfra.GrantRequest{UserID: user, AgentID: "mine"})
		}
		hide(before, "ada")
		if got := degraded(after, "ada"); len(got) != 0 {
			t.Errorf("with hidden rows alone: %q", got)
		}
		mustAdd(t, before, addTo("bob", "c", said("m1", "The cat sleeps all day.", 0)))
		want := degraded(after, "bob")
		hide(after, "bob")
		if got := degraded(after, "bob"); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("beside hidden rows: %q, want %q", got, want)
		}
	})
}

// What the user's own memory holds changes nothing of what is shared with him.
func TestOwnRowsLeaveSharedOnesAsTheyAre(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store, frozen)
		joins(t, ml, "team", "ada", "bob")
		req := addTo("bob", "c", told("I use PostgreSQL.", "I live in Lisbon.", "The cat sleeps all day.")...)
		req.TeamID = "team"
		mustAdd(t, ml, req)
		shared := func(q string) []meminfra.SearchHit {
			return mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: q}).Shared
		}
		for _, own := range []string{"Hm, hm.", "I live in Porto."} { // a message alone, then a fact
			for _, q := range []string{"Who lives in Lisbon?", "An overall summary of Lisbon"} {
				before := shared(q)
				mustAdd(t, ml, addTo("ada", own, said("", own, 0)))
				if sameHits(t, own+" "+q, shared(q), before); len(before) == 0 {
					t.Errorf("nothing shared about %q", q)
				}
			}
		}
	})
}
