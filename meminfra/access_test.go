package meminfra_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/fusion"
	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// through adds one message that came through an agent and a resource.
func through(t testing.TB, ml *meminfra.MemoryLayer, user, agent, resource, text string) *meminfra.AddResult {
	t.Helper()
	m := meminfra.Message{Content: text, Source: resource, SentAt: monday}
	return mustAdd(t, ml, meminfra.AddRequest{UserID: user, ConversationID: "via " + agent, AgentID: agent, Messages: []meminfra.Message{m}})
}

// sees reports by verb whether a user finds an id on each read path.
func sees(t testing.TB, ml *meminfra.MemoryLayer, user, id, query string) map[string]bool {
	t.Helper()
	found := func(records []meminfra.Record) bool {
		return slices.ContainsFunc(records, func(r meminfra.Record) bool { return r.ID == id })
	}
	hits := func(list []meminfra.SearchHit) bool {
		return slices.ContainsFunc(list, func(h meminfra.SearchHit) bool { return h.ID == id })
	}
	_, getErr := ml.Get(t.Context(), meminfra.GetRequest{UserID: user, ID: id})
	_, historyErr := ml.History(t.Context(), meminfra.HistoryRequest{UserID: user, ID: id})
	asOf := mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: query, Limit: 100, Filters: meminfra.Filters{KnownAt: time.Now().AddDate(50, 0, 0), History: "include"}})
	ans, err := ml.Answer(t.Context(), meminfra.AnswerRequest{UserID: user, Query: query, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]bool{
		"get": getErr == nil, "history": historyErr == nil,
		"list":     found(mustList(t, ml, user, meminfra.Filters{})),
		"search":   hits(mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: query, Limit: 100}).Hits),
		"known at": hits(asOf.Hits),
		"answer":   hits(ans.Hits) || slices.ContainsFunc(ans.Citations, func(c meminfra.Citation) bool { return c.ID == id }),
	}
}

func wantSeen(t *testing.T, when string, got map[string]bool, want bool) {
	t.Helper()
	for verb, seen := range got {
		if seen != want {
			t.Errorf("%s: %s sees it: %v, want %v", when, verb, seen, want)
		}
	}
}

// papers.md section 8, T1 and T4: what is made of memories of two agents and a
// resource is for whoever holds and reaches all of them, on every read path.
func TestEveryOriginOrNothing(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		a := through(t, ml, "ada", "p", "", "I live in Lisbon.")
		b := through(t, ml, "ada", "q", "crm", "I work at Acme.")
		d, err := ml.Curate().Derive(t.Context(), meminfra.DeriveRequest{UserID: "ada", Text: "Works for Acme from Lisbon.",
			From: []string{a.Actions[0].ItemID, b.Actions[0].ItemID}})
		if err != nil {
			t.Fatal(err)
		}
		look := func() map[string]bool { return sees(t, ml, "ada", d.ItemID, "Works for Acme from Lisbon.") }
		wantSeen(t, "open mode", look(), true)
		edges := []meminfra.GrantRequest{{UserID: "ada", AgentID: "p"}, {UserID: "ada", AgentID: "q"}, {AgentID: "q", ResourceID: "crm"}}
		for _, e := range edges {
			mustGrant(t, ml, e)
		}
		wantSeen(t, "all granted", look(), true)
		for _, e := range edges {
			mustRevoke(t, ml, meminfra.RevokeRequest(e))
			wantSeen(t, fmt.Sprintf("without %+v", e), look(), false)
			if _, err := ml.Curate().Retract(t.Context(), meminfra.RetractRequest{UserID: "ada", ID: d.ItemID}); !errors.Is(err, meminfra.ErrNotFound) {
				t.Errorf("retracting what is hidden: %v", err)
			}
			if _, err := ml.Curate().Derive(t.Context(), meminfra.DeriveRequest{UserID: "ada", Text: "x", From: []string{d.ItemID}}); !errors.Is(err, meminfra.ErrNotFound) {
				t.Errorf("deriving from what is hidden: %v", err)
			}
			mustGrant(t, ml, e)
			wantSeen(t, fmt.Sprintf("with %+v again", e), look(), true)
		}
		// A source that lapses makes it stale, for whoever may know.
		mustAdd(t, ml, addTo("ada", "c", said("later", "I live in Porto.", 60)))
		stale := func() int {
			res, err := ml.Stale(t.Context(), meminfra.StaleRequest{UserID: "ada"})
			if err != nil {
				t.Fatal(err)
			}
			return len(res.Records)
		}
		if n := stale(); n != 1 {
			t.Errorf("%d stale items", n)
		}
		mustRevoke(t, ml, meminfra.RevokeRequest(edges[0]))
		if n := stale(); n != 0 {
			t.Errorf("%d stale items are shown though hidden", n)
		}
	})
}

// T2, T3: open mode until the first grant ever written; then grants over time,
// on what was remembered before all of them. Episodes go with their agent.
func TestGrantedRevokedGranted(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		res := through(t, ml, "ada", "p", "", "I live in Lisbon.")
		ids := []string{res.Actions[0].ItemID, res.Episodes[0].ID}
		look := func(when string, want bool) {
			t.Helper()
			found := sees(t, ml, "ada", ids[0], "Where do I live?")
			wantSeen(t, when, found, want)
			if _, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: "ada", ID: ids[1]}); (err == nil) != want {
				t.Errorf("%s: the message: %v", when, err)
			}
		}
		edge := meminfra.GrantRequest{UserID: "ada", AgentID: "p"}
		look("never granted", true)
		mustGrant(t, ml, edge)
		look("granted", true)
		mustRevoke(t, ml, meminfra.RevokeRequest(edge))
		look("revoked", false)
		own := mustAdd(t, ml, addTo("ada", "c", said("m1", "I speak Dutch.", 1)))
		wantSeen(t, "what came through no agent", sees(t, ml, "ada", own.Actions[0].ItemID, "Which languages do I speak?"), true)
		mustGrant(t, ml, edge)
		look("granted again", true)
		mustGrant(t, ml, meminfra.GrantRequest{UserID: "bo", AgentID: "q"})
		look("another user's grant", true)
	})
}

// What is told again while the first telling is hidden stands by itself, and the
// hidden one is neither named nor touched.
func TestToldAgainBesideTheHidden(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		hidden := through(t, ml, "ada", "p", "", "I live in Lisbon.").Actions[0].ItemID
		edge := meminfra.GrantRequest{UserID: "ada", AgentID: "p"}
		mustGrant(t, ml, edge)
		mustRevoke(t, ml, meminfra.RevokeRequest(edge))
		for i, text := range []string{"I live in Lisbon.", "I live in Porto."} {
			act := mustAdd(t, ml, addTo("ada", "c", said(fmt.Sprint("m", i), text, 10+i))).Actions[0]
			if act.ItemID == hidden || act.SupersededID == hidden || act.Action == memory.ActionNoop {
				t.Errorf("%s: %+v", text, act)
			}
			if rec, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: "ada", ID: act.ItemID}); err != nil || len(rec.Conflicts) != 0 {
				t.Errorf("%s: %+v, %v", text, rec, err)
			}
		}
		if got := values(mustList(t, ml, "ada", meminfra.Filters{Predicate: "location"})); !slices.Equal(got, []string{"Porto"}) {
			t.Errorf("current %q", got)
		}
		mustGrant(t, ml, edge)
		rec, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: "ada", ID: hidden})
		if err != nil || rec.Status != memory.StatusActive {
			t.Errorf("the hidden one, granted again: %+v, %v", rec, err)
		}
		mustAdd(t, ml, addTo("ada", "c", said("m9", "I moved to Faro.", 60)))
		if got := values(mustList(t, ml, "ada", meminfra.Filters{Predicate: "location"})); !slices.Equal(got, []string{"Faro"}) {
			t.Errorf("after the next telling current is %q", got)
		}
	})
}

// An item shows the words of its own origins; a witness that came through an
// agent that is not granted supports it unseen.
func TestHiddenWitnessesAreNotQuoted(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		id := mustAdd(t, ml, addTo("ada", "c", said("m1", "I live in Lisbon.", 0))).Actions[0].ItemID
		through(t, ml, "ada", "p", "", "I live in Lisbon.")
		count := func() int {
			rec, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: "ada", ID: id})
			if err != nil {
				t.Fatal(err)
			}
			return len(rec.Evidence)
		}
		if n := count(); n != 2 {
			t.Fatalf("%d witnesses", n)
		}
		mustGrant(t, ml, meminfra.GrantRequest{UserID: "ada", AgentID: "q"})
		if n := count(); n != 1 {
			t.Errorf("%d witnesses are quoted, want the own one", n)
		}
	})
}

// One hint of a hidden neighbour is one too many: the ladder, and what writing
// shows an extractor, pass over it.
func TestHiddenMessagesAreNoContext(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		var shown []string
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Extractor = listening{&shown} })
		add := func(agent, id, text string) {
			mustAdd(t, ml, meminfra.AddRequest{UserID: "ada", ConversationID: "c", AgentID: agent, Messages: []meminfra.Message{said(id, text, 0)}})
		}
		add("p", "m1", "The code word is quince.")
		mustGrant(t, ml, meminfra.GrantRequest{UserID: "ada", AgentID: "q"})
		add("q", "m2", "What was it again?")
		if slices.ContainsFunc(shown, func(s string) bool { return strings.Contains(s, "quince") }) {
			t.Errorf("the extractor was shown %q", shown)
		}
	})
}

// papers.md section 8, T5: a thousand rows of random words, hidden by scope, team,
// agent or resource, change neither results, order, scores nor count, on a warm
// index and on a fresh one.
func TestHiddenRowsDoNotWeighIn(t *testing.T) {
	queries := []string{"Where do I live?", "quail", "Which languages do I speak?", "Lisbon entry of the log"}
	onStores(t, func(t *testing.T, store storage.Store) {
		r := rand.New(rand.NewPCG(8, 5))
		words := strings.Fields("I live in Lisbon and breed quail the log entry languages speak Dutch where do my of which Mia lives we keep")
		saying := func() string {
			var b strings.Builder
			for range 3 + r.IntN(12) {
				b.WriteString(words[r.IntN(len(words))] + " ")
			}
			return b.String() + "I live in Lisbon."[:17*r.IntN(2)]
		}
		ml := newLayer(t, store, frozen)
		mustGrant(t, ml, meminfra.GrantRequest{UserID: "ada", AgentID: "mine"})
		mustGrant(t, ml, meminfra.GrantRequest{AgentID: "mine", ResourceID: "wiki"})
		joins(t, ml, "red", "ada", "bo")
		joins(t, ml, "blue", "bo")
		mustAdd(t, ml, addTo("ada", "c", told("I live in Lisbon.", "I speak Dutch.", "I breed quail.")...))
		mustAdd(t, ml, meminfra.AddRequest{UserID: "bo", ConversationID: "c", TeamID: "red", Messages: told("Mia lives in Lisbon.", "We keep quail in the log.")})
		ask := func(ml *meminfra.MemoryLayer, q string) *meminfra.SearchResult {
			return mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: q})
		}
		before := map[string]*meminfra.SearchResult{}
		for _, q := range queries {
			before[q] = ask(ml, q)
		}
		crowd := func() []meminfra.Message {
			list := manyMessages(200)
			for i := range list {
				list[i].Content = saying()
			}
			return list
		}
		for name, req := range map[string]meminfra.AddRequest{
			"another user's": {UserID: "bo"}, "another team's": {UserID: "bo", TeamID: "blue"},
			"another agent's": {UserID: "ada", AgentID: "theirs"}, "a team's through another agent": {UserID: "bo", TeamID: "red", AgentID: "theirs"},
		} {
			req.ConversationID, req.Messages = name, crowd()
			mustAdd(t, ml, req)
			for _, when := range []string{"warm", "fresh"} {
				asked := ml
				if when == "fresh" {
					asked = newLayer(t, store, frozen, randomIDs)
				}
				for _, q := range queries {
					got := ask(asked, q)
					sameHits(t, name+", "+when+": "+q, got.Hits, before[q].Hits)
					sameHits(t, name+", "+when+", shared: "+q, got.Shared, before[q].Shared)
				}
			}
		}
		secret := crowd()
		for i := range secret {
			secret[i].Source = "vault"
		}
		mustAdd(t, ml, meminfra.AddRequest{UserID: "ada", ConversationID: "r", AgentID: "mine", Messages: secret})
		for _, q := range queries {
			sameHits(t, "another resource's: "+q, ask(ml, q).Hits, before[q].Hits)
		}
	})
}

// Case A12: each branch alone keeps to whom it searches for, its agents too.
func TestEachBranchAloneIsBound(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		ada, bo := twoUsers(t, ml)
		hidden := through(t, ml, "bo", "p", "", "I live in Faro.")
		mustGrant(t, ml, meminfra.GrantRequest{UserID: "bo", AgentID: "q"})
		owner := owners(map[string]*meminfra.AddResult{"ada": ada, "bo": bo, "hidden": hidden})
		for _, branch := range []fusion.Branch{fusion.Structured, fusion.Lexical, fusion.Vector} {
			found := 0
			for _, query := range []string{"Where do I live?", "Which languages do I speak?", "clocks quail Lisbon Faro"} {
				res := mustSearch(t, ml, meminfra.SearchRequest{UserID: "bo", Query: query, Limit: 100, Fusion: only{branch}, SkipContext: true, SkipPriors: true})
				for _, h := range res.Hits {
					found++
					if owner[h.ID] != "bo" {
						t.Errorf("%v alone: %q finds %q of %s", branch, query, h.Text, owner[h.ID])
					}
				}
			}
			if found == 0 {
				t.Errorf("%v alone finds nothing", branch)
			}
		}
	})
}

// only is a fusion of one branch: what another one alone found scores nothing.
type only struct{ branch fusion.Branch }

func (only) Name() string { return "only" }

func (o only) Score(r fusion.Ranks) float64 {
	if r[o.branch] == 0 {
		return 0
	}
	return 1 / float64(fusion.K+r[o.branch])
}

// listening is an extractor that notes what it is shown and proposes nothing.
type listening struct{ shown *[]string }

func (listening) ID() string { return "listening/1" }

func (l listening) Extract(_ context.Context, in extract.Input) (extract.Output, error) {
	for _, list := range [][]extract.Message{in.Context, in.Older} {
		for _, m := range list {
			*l.shown = append(*l.shown, m.Content)
		}
	}
	*l.shown = append(*l.shown, in.Summary)
	return extract.Output{}, nil
}
