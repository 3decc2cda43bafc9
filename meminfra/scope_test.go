package meminfra_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// tells adds one message to a team's memory, or with team "" to everybody's.
// "Mia: ..." is said by Mia.
func tells(t testing.TB, ml *meminfra.MemoryLayer, team, user, id, text string) *meminfra.AddResult {
	t.Helper()
	m := said(id, text, int(id[len(id)-1]))
	if name, words, named := strings.Cut(text, ": "); named {
		m.Name, m.Content = name, words
	}
	return mustAdd(t, ml, meminfra.AddRequest{UserID: user, ConversationID: "channel", TeamID: team, Public: team == "", Messages: []meminfra.Message{m}})
}

func mustGet(t testing.TB, ml *meminfra.MemoryLayer, user, id string) *meminfra.Record {
	t.Helper()
	rec, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: user, ID: id})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	return rec
}

// papers.md section 8, T6: members read the team's memory, apart and labelled;
// who leaves sees nothing of it, and his own stays his. Teams never mix.
func TestTeamMemory(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		joins(t, ml, "red", "ada", "bo")
		joins(t, ml, "blue", "bo")
		own := mustAdd(t, ml, addTo("ada", "c", said("m1", "I live in Lisbon.", 0))).Actions[0].ItemID
		red := tells(t, ml, "red", "bo", "m1", "Mia: I live in Rome.").Actions[0].ItemID
		blue := tells(t, ml, "blue", "bo", "m1", "Mia: I live in Oslo.").Actions[0].ItemID
		shared := func(user string) (ids []string) {
			for _, h := range mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: "Where does Mia live?", SharedLimit: 50}).Shared {
				ids = append(ids, h.ID)
			}
			return ids
		}
		if got := shared("ada"); !slices.Contains(got, red) || slices.Contains(got, blue) {
			t.Errorf("ada is shared %v, red %s, blue %s", got, red, blue)
		}
		rec := mustGet(t, ml, "ada", red)
		if rec.Scope != memory.VisibilityTeam || rec.TeamID != "red" || rec.By != "bo" || rec.Authority != memory.Authorized {
			t.Errorf("label %+v, authority %v", rec.Sharing, rec.Authority)
		}
		if h, err := ml.History(t.Context(), meminfra.HistoryRequest{UserID: "ada", ID: red}); err != nil || len(h.Versions) != 1 {
			t.Errorf("history of a team's item: %+v, %v", h, err)
		}
		page, err := ml.List(t.Context(), meminfra.ListRequest{UserID: "ada", TeamID: "red"})
		if err != nil || len(page.Records) != 1 || page.Records[0].ID != red {
			t.Errorf("the team's list: %+v, %v", page, err)
		}
		if listed := mustList(t, ml, "ada", meminfra.Filters{}); len(listed) != 1 || listed[0].ID != own {
			t.Errorf("her own list: %+v", listed)
		}
		mustRevoke(t, ml, meminfra.RevokeRequest{TeamID: "red", UserID: "ada"})
		for verb, err := range map[string]error{
			"get": second(ml.Get(t.Context(), meminfra.GetRequest{UserID: "ada", ID: red})), "get of another team's": second(ml.Get(t.Context(), meminfra.GetRequest{UserID: "ada", ID: blue})),
			"history": second(ml.History(t.Context(), meminfra.HistoryRequest{UserID: "ada", ID: red})),
		} {
			if !errors.Is(err, meminfra.ErrNotFound) {
				t.Errorf("after leaving, %s: %v", verb, err)
			}
		}
		if _, err := ml.List(t.Context(), meminfra.ListRequest{UserID: "ada", TeamID: "red"}); !errors.Is(err, meminfra.ErrNotMember) {
			t.Errorf("after leaving, list: %v", err)
		}
		if got := shared("ada"); len(got) != 0 {
			t.Errorf("after leaving, shared %v", got)
		}
		mustGet(t, ml, "ada", own)
		other := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.Tenant = "elsewhere" })
		if res := mustSearch(t, other, meminfra.SearchRequest{UserID: "bo", Query: "Where does Mia live?"}); len(res.Hits)+len(res.Shared) != 0 {
			t.Errorf("another tenant's bo finds %+v", res)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// Only a member writes to a team; nothing is left of what was refused.
func TestWritingToATeamNeedsMembership(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		joins(t, ml, "red", "ada")
		req := meminfra.AddRequest{UserID: "eve", ConversationID: "c", TeamID: "red", Messages: told("I live in Rome.")}
		if _, err := ml.Add(t.Context(), req); !errors.Is(err, meminfra.ErrNotMember) {
			t.Errorf("a stranger: %v", err)
		}
		req.UserID, req.Public = "ada", true
		if _, err := ml.Add(t.Context(), req); !errors.Is(err, meminfra.ErrTwoScopes) {
			t.Errorf("two scopes: %v", err)
		}
		team := memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionTeam, Name: "red"}
		if heads, err := store.Heads(t.Context(), team.ID()); err != nil || len(heads) != 0 {
			t.Errorf("refused writes left %v, %v", heads, err)
		}
		// Who leaves while his messages are being read leaves them unread.
		leave := func() error {
			_, err := ml.Grants().Revoke(t.Context(), meminfra.RevokeRequest{TeamID: "red", UserID: "ada"})
			return err
		}
		slow := newLayer(t, store, randomIDs, withHook(t, leave))
		req.Public = false
		if _, err := slow.Add(t.Context(), req); !errors.Is(err, meminfra.ErrNotMember) {
			t.Errorf("leaving in between: %v", err)
		}
		joins(t, ml, "red", "bo")
		if page, err := ml.List(t.Context(), meminfra.ListRequest{UserID: "bo", TeamID: "red"}); err != nil || len(page.Records) != 0 {
			t.Errorf("the team has %+v, %v", page, err)
		}
	})
}

// papers.md section 9, T4: a preference is never shared, by its predicate, by the
// extractor's word or by its wording; its words are the contributor's alone.
func TestPreferencesAreNotShared(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		asFact := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.Extractor = verbatim{} })
		joins(t, ml, "red", "ada", "bo")
		for i, text := range []string{"I always fly aisle", "My favourite editor is Vim.", "We met. I use MySQL now."} {
			for name, l := range map[string]*meminfra.MemoryLayer{"built in": ml, "as a fact": asFact} {
				for _, team := range []string{"red", ""} {
					res := tells(t, l, team, "ada", name+string(rune('a'+i)), text)
					if len(res.Actions) != 0 || len(res.Rejections) != 1 || res.Rejections[0].Reason != "preference_in_shared_scope" {
						t.Errorf("%s, team %q, %q: %+v, %+v", name, team, text, res.Actions, res.Rejections)
					}
					if res := mustSearch(t, ml, meminfra.SearchRequest{UserID: "bo", Query: text, SharedLimit: 50}); len(res.Shared) != 0 {
						t.Errorf("%s, %q: bo is shown %q", name, text, texts(res.Shared))
					}
					if _, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: "bo", ID: res.Episodes[0].ID}); !errors.Is(err, meminfra.ErrNotFound) {
						t.Errorf("%s, %q: bo gets the message: %v", name, text, err)
					}
					mustGet(t, ml, "ada", res.Episodes[0].ID)
				}
			}
		}
		fact := tells(t, asFact, "red", "ada", "f", "The office closes at six.")
		if len(fact.Actions) != 1 {
			t.Fatalf("a fact: %+v", fact)
		}
		_, err := ml.Curate().Edit(t.Context(), meminfra.EditRequest{UserID: "ada", ID: fact.Actions[0].ItemID, Text: "I always leave at six."})
		if !errors.Is(err, meminfra.ErrPreference) {
			t.Errorf("edited into a preference: %v", err)
		}
	})
}

// Section 9, T3: another member's correction stays beside, holds no slot, and
// records the conflict; only the contributor changes what he told.
func TestAnothersCorrectionStaysBeside(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		joins(t, ml, "red", "ada", "bo")
		for _, team := range []string{"red", ""} {
			first := tells(t, ml, team, "ada", "m1", "Mia: I live in Rome.").Actions[0].ItemID
			act := tells(t, ml, team, "bo", "m2", "Mia: I live in Oslo.").Actions[0]
			if act.Action != memory.ActionAdd || act.SupersededID != "" || act.Reason != "stands_beside" {
				t.Errorf("the correction: %+v", act)
			}
			for _, user := range []string{"ada", "bo"} {
				a, b := mustGet(t, ml, user, first), mustGet(t, ml, user, act.ItemID)
				if a.Status != memory.StatusActive || b.Status != memory.StatusActive || !slices.Contains(a.Conflicts, b.ID) || !slices.Contains(b.Conflicts, a.ID) {
					t.Errorf("%s sees %s in conflict with %v and %s with %v", user, a.Status, a.Conflicts, b.Status, b.Conflicts)
				}
			}
			records, err := store.Items(t.Context(), mustPartition(team), []string{first, act.ItemID})
			if err != nil || !records[0].Present().HoldsSlot || records[1].Present().HoldsSlot {
				t.Errorf("slots: %+v, %v", records, err)
			}
			if again := tells(t, ml, team, "bo", "m3", "Mia: I live in Oslo.").Actions[0]; again.Action != memory.ActionNoop || again.ItemID != act.ItemID {
				t.Errorf("said again: %+v", again)
			}
			if moved := tells(t, ml, team, "ada", "m4", "Mia: I moved to Faro.").Actions[0]; moved.SupersededID != first {
				t.Errorf("the contributor's own change: %+v", moved)
			}
			same := tells(t, ml, team, "bo", "m5", "Sam: I live in Bern.").Actions[0]
			echo := tells(t, ml, team, "ada", "m6", "Sam: I live in Bern.").Actions[0]
			if echo.ItemID == same.ItemID || len(mustGet(t, ml, "ada", echo.ItemID).Conflicts) != 0 {
				t.Errorf("the same said by another: %+v", echo)
			}
			for verb, err := range map[string]error{
				"retract": second(ml.Curate().Retract(t.Context(), meminfra.RetractRequest{UserID: "bo", ID: first})),
				"edit":    second(ml.Curate().Edit(t.Context(), meminfra.EditRequest{UserID: "bo", ID: first, Text: "I live in Bari."})),
			} {
				if !errors.Is(err, meminfra.ErrNotContributor) {
					t.Errorf("%s by another: %v", verb, err)
				}
			}
			if _, err := ml.Curate().Retract(t.Context(), meminfra.RetractRequest{UserID: "bo", ID: act.ItemID}); err != nil {
				t.Errorf("retracting his own: %v", err)
			}
		}
	})
}

func mustPartition(team string) string {
	p := memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionTenantPublic}
	if team != "" {
		p.Kind, p.Name = memory.PartitionTeam, team
	}
	return p.ID()
}

// Facts about "the user" keep whose they are: two members' never mix, and a
// member's question about himself is not answered by another's.
func TestMembersFactsNeverMix(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		users := []string{"ada", "Ada", "bo"}
		joins(t, ml, "red", users...)
		for i, user := range users {
			act := tells(t, ml, "red", user, "m"+user, []string{"I live in Rome.", "I live in Oslo.", "I live in Rome."}[i]).Actions[0]
			if act.Action != memory.ActionAdd || act.Reason != "new_fact" {
				t.Errorf("%s: %+v", user, act)
			}
			if rec := mustGet(t, ml, user, act.ItemID); rec.Subject != (memory.Subject{Type: "user", Name: user}) || len(rec.Conflicts) != 0 {
				t.Errorf("%s: about %+v, conflicts %v", user, rec.Subject, rec.Conflicts)
			}
		}
		for _, user := range users {
			res := mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: "Where do I live?", SharedLimit: 50})
			for _, h := range res.Shared {
				if h.Ranks.Structured > 0 && h.Subject.Name != user {
					t.Errorf("%s asks about himself and %s's fact answers", user, h.Subject.Name)
				}
			}
			if len(res.Shared) == 0 || res.Shared[0].By != user {
				t.Errorf("%s's own fact does not come first: %q", user, texts(res.Shared))
			}
		}
		// The same message id is another message if another member says it.
		_, err := ml.Add(t.Context(), meminfra.AddRequest{UserID: "bo", ConversationID: "channel", TeamID: "red", Messages: []meminfra.Message{said("mada", "I live in Rome.", 0)}})
		if !errors.Is(err, meminfra.ErrMessageConflict) {
			t.Errorf("another member under the same message id: %v", err)
		}
		for _, user := range users { // keys are each member's own
			req := meminfra.AddRequest{UserID: user, ConversationID: "k", TeamID: "red", IdempotencyKey: "once", Messages: []meminfra.Message{{Content: "I speak Dutch.", SentAt: monday}}}
			first, again := mustAdd(t, ml, req), mustAdd(t, ml, req)
			if first.Actions[0].ItemID != again.Actions[0].ItemID || len(again.Actions) != 1 {
				t.Errorf("%s: %+v, again %+v", user, first.Actions, again.Actions)
			}
		}
	})
}

// papers.md section 7, T5, and section 9, T1 and T2: the caller's own block, and
// what writing does, are the same whether the pool is empty or full.
func TestThePoolLeavesTheOwnBlockAlone(t *testing.T) {
	queries := []string{"Where do I live?", "book a seat", "window or aisle"}
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store, frozen)
		joins(t, ml, "red", "ada", "bo")
		mustAdd(t, ml, addTo("ada", "c", told("I live in Lisbon.", "I prefer the window seat.", "We should book a seat soon.")...))
		before := map[string][]meminfra.SearchHit{}
		for _, q := range queries {
			before[q] = mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: q}).Hits
		}
		for i, text := range []string{"To book a seat, ask for the aisle first.", "Mia: I live in Lisbon.", "The seat map shows window and aisle.", "The aisle seat is at the front.", "Book a seat by noon."} {
			tells(t, ml, "red", "bo", "t"+string(rune('a'+i)), text)
			tells(t, ml, "", "bo", "p"+string(rune('a'+i)), text)
		}
		for _, q := range queries {
			res := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: q})
			sameHits(t, q, res.Hits, before[q])
			if len(res.Shared) == 0 || len(res.Shared) > 3 {
				t.Errorf("%q: %d shared hits by default", q, len(res.Shared))
			}
			for limit, most := range map[int]int{-1: 0, 1: 1, 2: 2, 1000: 100} {
				if n := len(mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: q, SharedLimit: limit}).Shared); n > most || most < 3 && n != most {
					t.Errorf("%q: %d shared hits under limit %d", q, n, limit)
				}
			}
		}
		if res := mustSearch(t, ml, meminfra.SearchRequest{UserID: "eve", Query: "book a seat"}); len(res.Hits) != 0 || len(res.Shared) == 0 || res.Shared[0].Scope != memory.VisibilityPublic {
			t.Errorf("a stranger finds %q and is shared %+v", texts(res.Hits), res.Shared)
		}
		ans, err := ml.Answer(t.Context(), meminfra.AnswerRequest{UserID: "eve", Query: "Where does Mia live?"})
		if err != nil || !ans.Abstained {
			t.Errorf("an answer in eve's name from what others shared: %+v, %v", ans, err)
		}
		private := mustAdd(t, ml, addTo("bo", "c", said("m", "I speak Dutch.", 0))).Actions[0].ItemID
		act := tells(t, ml, "red", "ada", "x", "I speak Dutch.").Actions[0]
		if act.Action != memory.ActionAdd || act.ItemID == private {
			t.Errorf("the same as another's private memory: %+v", act)
		}
	})
}

// Names that would break what is put together by hand keep their memory apart.
func TestScopesWithOddNames(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Extractor = verbatim{} })
		for _, name := range oddNames {
			joins(t, ml, name, name)
			mustGrant(t, ml, meminfra.GrantRequest{UserID: name, AgentID: name})
			mustAdd(t, ml, meminfra.AddRequest{UserID: name, ConversationID: name, TeamID: name, AgentID: name, Messages: []meminfra.Message{said(name, "The lighthouse stands.", 0)}})
		}
		for _, name := range oddNames {
			res := mustSearch(t, ml, meminfra.SearchRequest{UserID: name, Query: "lighthouse", SharedLimit: 50})
			if len(res.Hits) != 0 || len(res.Shared) != 1 || res.Shared[0].TeamID != name || res.Shared[0].By != name {
				t.Errorf("%q finds %q and is shared %+v", name, texts(res.Hits), res.Shared)
			}
		}
	})
}
