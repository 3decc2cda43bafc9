package meminfra_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// expiring is a message that expires n minutes after the test clock's start.
func expiring(id, text string, at, n int) meminfra.Message {
	m := said(id, text, at)
	m.ExpiresAt = testClock().Now().Add(time.Duration(n) * time.Minute)
	return m
}

// at is a layer whose clock stands n minutes after its start.
func layerAt(t *testing.T, store storage.Store, n int, edit ...func(*meminfra.Options)) *meminfra.MemoryLayer {
	t.Helper()
	now := testClock().Now().Add(time.Duration(n) * time.Minute)
	return newLayer(t, store, append([]func(*meminfra.Options){randomIDs, func(o *meminfra.Options) {
		o.Now = func() time.Time { return now }
	}}, edit...)...)
}

// What has expired is seen by no read from that moment on, messages and quotes
// included, and is erased by the next sweep, which leaves the rest alone.
func TestExpired(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		before, after := layerAt(t, store, 9), layerAt(t, store, 10)
		mustAdd(t, before, addTo("ada", "c", said("m1", "I use PostgreSQL.", 0), expiring("m2", "I live in Lisbon.", 1, 10),
			expiring("m3", "I use PostgreSQL.", 2, 10)))
		req := addTo("bob", "c", said("m1", "I live in Porto.", 0))
		req.ExpiresAt = testClock().Now().Add(10 * time.Minute)
		mustAdd(t, before, req)
		all := meminfra.Filters{History: "all"}
		records := mustList(t, before, "ada", all)
		if got := len(records) + len(mustList(t, before, "ada", episodesOnly)) + len(mustList(t, before, "bob", all)); got != 6 {
			t.Fatalf("%d rows before", got)
		}
		for _, r := range append(records, mustList(t, before, "ada", episodesOnly)...) {
			if r.Value != "Lisbon" && r.Text != "I live in Lisbon." {
				continue
			}
			if _, err := after.Get(t.Context(), meminfra.GetRequest{UserID: "ada", ID: r.ID}); !errors.Is(err, meminfra.ErrNotFound) {
				t.Errorf("get of an expired %s: %v", r.Kind, err)
			}
			if _, err := after.History(t.Context(), meminfra.HistoryRequest{UserID: "ada", ID: r.ID}); !errors.Is(err, meminfra.ErrNotFound) {
				t.Errorf("history of an expired %s: %v", r.Kind, err)
			}
		}
		for _, f := range []meminfra.Filters{{}, all, {ValidAt: monday.Add(time.Hour)}, episodesOnly} {
			for _, r := range mustList(t, after, "ada", f) {
				if r.Value == "Lisbon" || r.Text == "I live in Lisbon." || len(r.Evidence) != 1 {
					t.Errorf("%+v lists %+v", f, r)
				}
			}
		}
		for _, h := range mustSearch(t, after, meminfra.SearchRequest{UserID: "ada", Query: "Where do I live, in Lisbon?"}).Hits {
			if h.Value == "Lisbon" || h.Text == "I live in Lisbon." {
				t.Errorf("found %+v", h)
			}
		}
		answer, err := after.Answer(t.Context(), meminfra.AnswerRequest{UserID: "bob", Query: "Where do I live?"})
		if err != nil || !answer.Abstained {
			t.Errorf("answer %+v, %v", answer, err)
		}
		if early, err := before.Sweep(t.Context(), meminfra.SweepRequest{}); err != nil || len(early.Certificates) != 0 {
			t.Errorf("an early sweep: %+v, %v", early, err)
		}
		planned, err := after.Sweep(t.Context(), meminfra.SweepRequest{DryRun: true})
		if err != nil || len(planned.Certificates) != 2 {
			t.Errorf("dry: %+v, %v", planned, err)
		}
		if rows := changesOf(t, store, "ada"); len(rows.Episodes) != 3 || len(rows.Items) != 2 {
			t.Error("the dry run erased")
		}
		done, err := after.Sweep(t.Context(), meminfra.SweepRequest{})
		if err != nil || len(done.Certificates) != 2 || done.Certificates[0].Selector != "expiry" {
			t.Errorf("sweep: %+v, %v", done, err)
		}
		rows := changesOf(t, store, "ada")
		if len(rows.Episodes) != 1 || len(rows.Items) != 1 || len(changesOf(t, store, "bob").Episodes) != 0 {
			t.Errorf("left: %d messages, %d items", len(rows.Episodes), len(rows.Items))
		}
		checkTombstones(t, store, "ada")
		checkTombstones(t, store, "bob")
	})
}

// An expired successor brings no predecessor back, before the sweep or after.
func TestExpiryReopensNothing(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		before, after := layerAt(t, store, 0), layerAt(t, store, 10)
		mustAdd(t, before, addTo("ada", "c", said("m1", "I live in Oslo.", 0), expiring("m2", "I moved to Lisbon.", 1, 10)))
		if got := mustList(t, after, "ada", meminfra.Filters{}); len(got) != 0 {
			t.Errorf("expired: %v", values(got))
		}
		if _, err := after.Sweep(t.Context(), meminfra.SweepRequest{}); err != nil {
			t.Fatal(err)
		}
		if got := standing(t, after, "ada"); !slices.Equal(got, []string{"Oslo ended 09:00..09:01"}) {
			t.Errorf("swept: %v", got)
		}
	})
}

// The same thing said again without an end, or with a later one, does not
// expire with the first, whichever comes first.
func TestSaidAgainToStay(t *testing.T) {
	for name, extractor := range map[string]func(*meminfra.Options){"controlled": func(*meminfra.Options) {},
		"open": func(o *meminfra.Options) { o.Extractor = verbatim{} }} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, store storage.Store) {
				before, after := layerAt(t, store, 0, extractor), layerAt(t, store, 10, extractor)
				for user, messages := range map[string][]meminfra.Message{
					"short first": {expiring("m1", "I use PostgreSQL", 0, 10), said("m2", "I use PostgreSQL", 1)},
					"long first":  {said("m1", "I use PostgreSQL", 0), expiring("m2", "I use PostgreSQL", 1, 10)},
					"longer":      {expiring("m1", "I use PostgreSQL", 0, 10), expiring("m2", "I use PostgreSQL", 1, 20)},
				} {
					for _, m := range messages {
						mustAdd(t, before, addTo(user, "c", m))
					}
					for _, when := range []string{"expired", "swept"} {
						if got := mustList(t, after, user, meminfra.Filters{}); len(got) != 1 || got[0].Text != "I use PostgreSQL" {
							t.Errorf("%s, %s: %+v", user, when, got)
						}
						if _, err := after.Sweep(t.Context(), meminfra.SweepRequest{}); err != nil {
							t.Fatal(err)
						}
					}
					checkTombstones(t, store, user)
				}
			})
		})
	}
}

// Edits and what is derived expire with what they are made of.
func TestExpiryIsInherited(t *testing.T) {
	store := openSQLite(t)
	before, after := layerAt(t, store, 0), layerAt(t, store, 10)
	id := mustAdd(t, before, addTo("ada", "c", expiring("m1", "I live in Lisbon.", 0, 10))).Actions[0].ItemID
	if _, err := before.Curate().Derive(t.Context(), meminfra.DeriveRequest{UserID: "ada", From: []string{id}, Text: "Southern Europe."}); err != nil {
		t.Fatal(err)
	}
	if _, err := before.Curate().Edit(t.Context(), meminfra.EditRequest{UserID: "ada", ID: id, Text: "I live in Lisbon, Alfama."}); err != nil {
		t.Fatal(err)
	}
	if got := len(mustList(t, before, "ada", meminfra.Filters{History: "all"})); got != 3 {
		t.Errorf("%d before", got)
	}
	if got := mustList(t, after, "ada", meminfra.Filters{History: "all"}); len(got) != 0 {
		t.Errorf("after: %+v", got)
	}
	if _, err := after.Sweep(t.Context(), meminfra.SweepRequest{}); err != nil {
		t.Fatal(err)
	}
	if c := changesOf(t, store, "ada"); len(c.Items)+len(c.Episodes) != 0 {
		t.Errorf("%d items, %d messages are left", len(c.Items), len(c.Episodes))
	}
}

func TestMalformedExpiryIsRefused(t *testing.T) {
	ml := newLayer(t, openSQLite(t))
	m := said("m1", "I live in Lisbon.", 0)
	m.ExpiresAt = time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := ml.Add(t.Context(), addTo("ada", "c", m)); !errors.Is(err, meminfra.ErrExpiry) {
		t.Errorf("%v", err)
	}
	req := addTo("ada", "c", said("m1", "I live in Lisbon.", 0))
	req.ExpiresAt = time.Date(-3, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := ml.Add(t.Context(), req); !errors.Is(err, meminfra.ErrExpiry) {
		t.Errorf("%v", err)
	}
}

// Traces of users who never search again go with a sweep.
func TestSweepDropsOldTraces(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		mustAdd(t, layerAt(t, store, 0), addTo("ada", "c", told("I live in Lisbon.")...))
		old := mustSearch(t, layerAt(t, store, 0), meminfra.SearchRequest{UserID: "ada", Query: "Lisbon"}).TraceID
		res, err := layerAt(t, store, int(memory.TraceRetention/time.Minute)+1).Sweep(t.Context(), meminfra.SweepRequest{})
		if err != nil || res.Traces != 1 {
			t.Errorf("%+v, %v", res, err)
		}
		if _, err := store.Trace(t.Context(), userPartition("ada"), old); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("trace: %v", err)
		}
	})
}
