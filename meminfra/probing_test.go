package meminfra_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// probes are the verbs that take an id, for a user.
func probes(t *testing.T, ml *meminfra.MemoryLayer, user, id string) map[string]error {
	ctx := t.Context()
	return map[string]error{
		"get":      second(ml.Get(ctx, meminfra.GetRequest{UserID: user, ID: id})),
		"history":  second(ml.History(ctx, meminfra.HistoryRequest{UserID: user, ID: id})),
		"why":      second(ml.Ledger().Why(ctx, meminfra.WhyRequest{UserID: user, ID: id})),
		"edit":     second(ml.Curate().Edit(ctx, meminfra.EditRequest{UserID: user, ID: id, Text: "I live in Bari."})),
		"retract":  second(ml.Curate().Retract(ctx, meminfra.RetractRequest{UserID: user, ID: id})),
		"restore":  second(ml.Curate().Restore(ctx, meminfra.RestoreRequest{UserID: user, ID: id})),
		"derive":   second(ml.Curate().Derive(ctx, meminfra.DeriveRequest{UserID: user, From: []string{id}, Text: "x"})),
		"feedback": second(ml.Feedback(ctx, meminfra.FeedbackRequest{UserID: user, TraceID: id, Reward: 1})),
	}
}

// What one may not read answers like what there never was, word for word, to
// whoever asks: a stranger, one who left the team, one whose only agent was taken
// back, one under an id that is made to look like another, another tenant.
func TestForbiddenLooksLikeUnknown(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		joins(t, ml, "red", "ada", "bo")
		own := mustAdd(t, ml, addTo("ada", "c", said("m1", "I live in Lisbon.", 0)))
		team := tells(t, ml, "red", "ada", "m1", "Mia: I live in Rome.")
		trace := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"}).TraceID
		mustRevoke(t, ml, meminfra.RevokeRequest{TeamID: "red", UserID: "bo"})
		agent := through(t, ml, "cy", "p", "", "I live in Oslo.")
		edge := meminfra.GrantRequest{UserID: "cy", AgentID: "p"}
		mustGrant(t, ml, edge)
		mustRevoke(t, ml, meminfra.RevokeRequest(edge))
		elsewhere := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.Tenant = "elsewhere" })
		odd := []string{"eve", "bo", "red", "public", "ada/", "3:ada", "ada:", "user/ada", "team/red", "ADA", " ada", "ada\u200b", strings.Repeat("a", 256)}
		hidden := []string{own.Actions[0].ItemID, own.Episodes[0].ID, team.Actions[0].ItemID, team.Episodes[0].ID, trace}
		compare := func(who string, ml *meminfra.MemoryLayer, user string, ids []string) {
			unknown := probes(t, ml, user, "01890000-0000-7000-8000-000000000000")
			for _, id := range ids {
				for verb, err := range probes(t, ml, user, id) {
					if err == nil || err.Error() != unknown[verb].Error() {
						t.Errorf("%s: %s of what is hidden: %v, of what is unknown: %v", who, verb, err, unknown[verb])
					}
				}
			}
		}
		for _, user := range odd {
			compare(user, ml, user, hidden)
		}
		compare("whose grant was revoked", ml, "cy", []string{agent.Actions[0].ItemID, agent.Episodes[0].ID})
		compare("another tenant's ada", elsewhere, "ada", hidden)
		for _, user := range []string{"ada\x00", "", strings.Repeat("a", 257)} {
			for verb, err := range probes(t, ml, user, hidden[0]) {
				if err == nil {
					t.Errorf("%q: %s is let through", user, verb)
				}
			}
		}
		mustGet(t, ml, "ada", hidden[0]) // and nothing was changed by asking
		mustGet(t, ml, "ada", hidden[2])
	})
}

// Why goes by present rights: neither text nor words of what is hidden by now,
// though an older trace shows it.
func TestWhyHidesWhatIsHiddenNow(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		own := mustAdd(t, ml, addTo("ada", "c", said("m1", "I live in Lisbon.", 0))).Actions[0].ItemID
		through(t, ml, "ada", "p", "", "I live in Lisbon.") // a second witness
		secret := through(t, ml, "ada", "p", "", "I speak Dutch.").Actions[0].ItemID
		trace := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Lisbon Dutch"}).TraceID
		why := func(id string) string {
			res, err := ml.Ledger().Why(t.Context(), meminfra.WhyRequest{UserID: "ada", ID: id})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, i := range res.Items {
				if i.ID == own {
					n = len(i.Evidence)
				}
			}
			return fmt.Sprintf("%d witnesses of it: %+v %+v", n, res.Items, res.Quoted)
		}
		if got := why(trace); !strings.Contains(got, "Dutch") || !strings.HasPrefix(got, "2 ") {
			t.Fatalf("before: %s", got)
		}
		mustGrant(t, ml, meminfra.GrantRequest{UserID: "ada", AgentID: "q"})
		if got := why(trace); strings.Contains(got, "Dutch") || strings.Contains(got, secret) || !strings.HasPrefix(got, "1 ") {
			t.Errorf("hidden, and why says %s", got)
		}
	})
}

// papers.md section 9, T1 and T2: what Add answers does not depend on what is
// hidden from whoever speaks, and neither does what History then says.
func TestAddAnswersAsIfTheHiddenWereNotThere(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		for _, user := range []string{"ada", "bo"} {
			mustGrant(t, ml, meminfra.GrantRequest{UserID: user, AgentID: "q"})
		}
		for _, text := range []string{"I live in Lisbon.", "I speak Dutch.", "Mia lives in Rome.", "The code word is quince."} {
			through(t, ml, "ada", "p", "vault", text) // hidden from ada herself
		}
		answers := func(user string) (all []string) {
			for i, text := range []string{"I live in Lisbon.", "I live in Porto.", "I speak Dutch.", "I no longer speak Dutch.", "Mia lives in Rome.", "The code word is quince.", "I moved to Faro."} {
				res := mustAdd(t, ml, addTo(user, "c", said(fmt.Sprint("m", i), text, 10+i)))
				for _, a := range res.Actions {
					all = append(all, fmt.Sprintf("%s %s %s %s %v %v", a.Action, a.Text, a.Value, a.Reason, a.SupersededID != "", a.Guards))
					h, err := ml.History(t.Context(), meminfra.HistoryRequest{UserID: user, ID: a.ItemID})
					if err != nil {
						t.Fatal(err)
					}
					for _, v := range h.Versions {
						for _, s := range v.Stages {
							all = append(all, fmt.Sprint("  ", v.Value, s.Status, s.Action, s.Reason, s.ClosedBy != ""))
						}
						all = append(all, fmt.Sprint("  conflicts ", len(v.Conflicts), " evidence ", len(v.Evidence)))
					}
				}
				all = append(all, fmt.Sprint(len(res.Rejections), res.Degraded))
			}
			return all
		}
		if with, without := answers("ada"), answers("bo"); !slices.Equal(with, without) {
			t.Errorf("with hidden memory:\n%s\nwithout:\n%s", strings.Join(with, "\n"), strings.Join(without, "\n"))
		}
	})
}
