package meminfra_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// contributed are the ids of a partition's items and messages that a user told.
func contributed(t *testing.T, store storage.Store, p memory.Partition, user string) (ids []string) {
	t.Helper()
	undo := errors.New("read only")
	err := store.Update(t.Context(), p, func(tx storage.Tx) error {
		items, episodes, err := tx.Contributed(t.Context(), user)
		ids = append(items, episodes...)
		return errors.Join(undo, err)
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
	return ids
}

func teamPartition(team string) memory.Partition {
	return memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionTeam, Name: team}
}

var publicPartition = memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionTenantPublic}

func checkVerified(t *testing.T, ml *meminfra.MemoryLayer) {
	t.Helper()
	verified, err := ml.Ledger().Verify(t.Context(), meminfra.VerifyRequest{All: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := verified.Err(); err != nil {
		t.Errorf("verify: %v", err)
	}
}

// Who is forgotten is forgotten in the teams' memory and in everybody's as well,
// also where he is no member any more; what others told there stays as it was.
func TestForgettingAUserReachesWhatHeShared(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		joins(t, ml, "red", "ada", "bo")
		joins(t, ml, "blue", "ada")
		mustAdd(t, ml, addTo("ada", "c", said("m1", "I live in Lisbon.", 0)))
		var gone, kept []string
		for _, team := range []string{"red", ""} {
			gone = append(gone, tells(t, ml, team, "ada", "m1", "Mia: I live in Rome.").Actions[0].ItemID)
			kept = append(kept, tells(t, ml, team, "bo", "m2", "Mia: I live in Oslo.").Actions[0].ItemID)
			gone = append(gone, tells(t, ml, team, "ada", "m3", "Mia: I moved to Faro.").Actions[0].ItemID)
		}
		gone = append(gone, tells(t, ml, "blue", "ada", "m1", "Mia: I live in Bari.").Actions[0].ItemID)
		key := meminfra.AddRequest{UserID: "ada", ConversationID: "k", TeamID: "red", IdempotencyKey: "once", Messages: []meminfra.Message{{Content: "Mia speaks Dutch.", SentAt: monday}}}
		mustAdd(t, ml, key)
		mustRevoke(t, ml, meminfra.RevokeRequest{TeamID: "red", UserID: "ada"})
		shown := mustSearch(t, ml, meminfra.SearchRequest{UserID: "bo", Query: "Where does Mia live?", SharedLimit: 50})
		if !slices.ContainsFunc(shown.Shared, func(h meminfra.SearchHit) bool { return h.By == "ada" }) {
			t.Fatalf("bo is shown %q", texts(shown.Shared))
		}
		before := map[string]*meminfra.Record{}
		for _, id := range kept {
			before[id] = mustGet(t, ml, "bo", id)
		}
		req := meminfra.ForgetRequest{UserID: "ada", Everything: true, DryRun: true}
		planned := mustForget(t, ml, req)
		if n := len(contributed(t, store, teamPartition("red"), "ada")); n == 0 {
			t.Error("the dry run erased")
		}
		req.DryRun = false
		done := mustForget(t, ml, req)
		if !slices.Equal(planned.Items, done.Items) || !slices.Equal(planned.Episodes, done.Episodes) || len(done.Retold) != 0 {
			t.Errorf("planned %+v, done %+v", planned.Certificate, done.Certificate)
		}
		var partitions []string
		for _, s := range done.Shared {
			partitions = append(partitions, s.Scope+" "+s.TeamID)
			if s.LedgerSeq == 0 || s.LedgerHash == "" || s.Tombstones == 0 {
				t.Errorf("no tombstone: %+v", s)
			}
		}
		slices.Sort(partitions)
		if !slices.Equal(partitions, []string{"public ", "team blue", "team red"}) {
			t.Errorf("the certificate names %q", partitions)
		}
		for _, id := range gone {
			if !slices.Contains(done.Items, id) {
				t.Errorf("the certificate does not name %s", id)
			}
		}
		for _, p := range []memory.Partition{teamPartition("red"), teamPartition("blue"), publicPartition} {
			if left := contributed(t, store, p, "ada"); len(left) != 0 {
				t.Errorf("%s %s keeps %v", p.Kind, p.Name, left)
			}
		}
		for _, id := range kept {
			rec := mustGet(t, ml, "bo", id)
			if rec.Status != memory.StatusActive || rec.Text != before[id].Text || len(rec.Evidence) != 1 || len(rec.Conflicts) != 0 {
				t.Errorf("bo's own: %+v", rec)
			}
		}
		for _, h := range mustSearch(t, ml, meminfra.SearchRequest{UserID: "bo", Query: "Where does Mia live? Rome Faro", SharedLimit: 50}).Shared {
			if h.By != "bo" {
				t.Errorf("bo is still shown %q", h.Text)
			}
		}
		if _, err := store.Trace(t.Context(), userPartition("bo"), shown.TraceID); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("a trace still shows what is forgotten: %v", err)
		}
		checkVerified(t, ml)
		joins(t, ml, "red", "ada")
		if again := mustAdd(t, ml, key); again.Episodes[0].Known {
			t.Error("her key is remembered")
		}
	})
}

// What one member forgets is what he told, and it leaves the others' lines of the
// same fact as they are, whoever holds its slot.
func TestForgettingWhatOneSharedMixesNobody(t *testing.T) {
	type told struct{ id, user, text string }
	onStores(t, func(t *testing.T, store storage.Store) {
		for name, c := range map[string]struct {
			told   []told
			forget string // a message of ada's
			want   []string
		}{
			"the newest": {[]told{{"m1", "ada", "Mia: I live in Rome."}, {"m2", "bo", "Mia: I live in Oslo."}, {"m3", "ada", "Mia: I moved to Faro."}},
				"m3", []string{"Rome ended", "Oslo active"}},
			"the only one, which held the slot": {[]told{{"m1", "ada", "Mia: I live in Rome."}, {"m2", "bo", "Mia: I live in Oslo."}, {"m3", "cy", "Mia: I live in Bern."}},
				"m1", []string{"Oslo active", "Bern active"}},
			"what another says too": {[]told{{"m1", "ada", "Mia: I live in Rome."}, {"m2", "bo", "Mia: I live in Rome."}}, "m1", []string{"Rome active"}},
			"beside the slot":       {[]told{{"m1", "bo", "Mia: I live in Oslo."}, {"m2", "ada", "Mia: I live in Rome."}}, "m2", []string{"Oslo active"}},
		} {
			t.Run(name, func(t *testing.T) {
				ml, team := newLayer(t, store, randomIDs), "team "+name
				joins(t, ml, team, "ada", "bo", "cy")
				var episode string
				items := map[string]bool{}
				for _, m := range c.told {
					res := tells(t, ml, team, m.user, m.id, m.text)
					if m.id == c.forget {
						episode = res.Episodes[0].ID
					}
					if m.user != "ada" {
						items[res.Actions[0].ItemID] = true
					}
				}
				others := slices.Sorted(maps.Keys(items))
				before, err := store.Items(t.Context(), teamPartition(team).ID(), others)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := ml.Forget(t.Context(), meminfra.ForgetRequest{UserID: "bo", TeamID: team, ID: episode}); !errors.Is(err, meminfra.ErrNotFound) {
					t.Errorf("forgotten by another: %v", err)
				}
				mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", TeamID: team, ID: episode})
				after, err := store.Items(t.Context(), teamPartition(team).ID(), others)
				if err != nil {
					t.Fatal(err)
				}
				for i := range before {
					if fmt.Sprint(before[i].States, before[i].Evidence) != fmt.Sprint(after[i].States, after[i].Evidence) {
						t.Errorf("another's item was touched: %+v, then %+v", before[i].States, after[i].States)
					}
				}
				page, err := ml.List(t.Context(), meminfra.ListRequest{UserID: "bo", TeamID: team, Filters: meminfra.Filters{History: "all"}})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, r := range page.Records {
					got = append(got, r.Value+" "+string(r.Status))
				}
				slices.Sort(got)
				slices.Sort(c.want)
				if !slices.Equal(got, c.want) {
					t.Errorf("left %q, want %q", got, c.want)
				}
				checkVerified(t, ml)
			})
		}
	})
}

// A conversation of several members loses what its teller said, and the same that
// he said elsewhere is told by that, in his name.
func TestForgettingASharedConversation(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		joins(t, ml, "red", "ada", "bo")
		say := func(user, conversation, id string) string {
			m := said(id, "I live in Rome.", 0)
			m.Name = "Mia"
			return mustAdd(t, ml, meminfra.AddRequest{UserID: user, ConversationID: conversation, TeamID: "red", Messages: []meminfra.Message{m}}).Actions[0].ItemID
		}
		first, his := say("ada", "one", "m1"), say("bo", "one", "m2")
		say("ada", "two", "m3")
		for _, bad := range []meminfra.ForgetRequest{
			{UserID: "ada", TeamID: "red", Public: true, ConversationID: "one"}, {UserID: "ada", TeamID: "red"},
			{UserID: "eve", TeamID: "red", ID: first}, {UserID: "ada", TeamID: "red", ID: his}, {UserID: "ada", ID: first},
		} {
			if res, err := ml.Forget(t.Context(), bad); err == nil {
				t.Errorf("%+v: %+v", bad, res)
			}
		}
		if res := mustForget(t, ml, meminfra.ForgetRequest{UserID: "eve", TeamID: "red", ConversationID: "one"}); len(res.Rows) != 0 {
			t.Errorf("a stranger erased %v", res.Rows)
		}
		done := mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", TeamID: "red", ConversationID: "one"})
		if !slices.Equal(done.Items, []string{first}) || len(done.Episodes) != 1 || len(done.Retold) != 1 {
			t.Fatalf("certificate %+v", done.Certificate)
		}
		if rec := mustGet(t, ml, "bo", done.Retold[0]); rec.By != "ada" || len(rec.Evidence) != 1 || rec.Status != memory.StatusActive {
			t.Errorf("retold %+v", rec)
		}
		if rec := mustGet(t, ml, "ada", his); rec.By != "bo" || rec.Status != memory.StatusActive || len(rec.Evidence) != 1 {
			t.Errorf("his %+v", rec)
		}
		checkVerified(t, ml)
	})
}
