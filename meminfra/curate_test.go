package meminfra_test

import (
	"errors"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

func say(t *testing.T, ml *meminfra.MemoryLayer, text string, meta memory.Metadata) meminfra.ActionTaken {
	t.Helper()
	res, err := ml.Add(t.Context(), meminfra.AddRequest{UserID: "ada", ConversationID: "c",
		Messages: []meminfra.Message{{Content: text, Metadata: meta}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Actions) != 1 {
		t.Fatalf("%d actions", len(res.Actions))
	}
	return res.Actions[0]
}

// TestUpdateKeepsTheRest is wild fault A08: an update forgets nothing but the
// text, by a normal add and by an edit.
func TestUpdateKeepsTheRest(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		first := say(t, ml, "I live in Paris.", memory.Metadata{"project": "kiln", "tier": 3})
		second := say(t, ml, "I moved to Rome.", nil)
		third, err := ml.Curate().Edit(t.Context(), meminfra.EditRequest{UserID: "ada", ID: second.ItemID,
			Text: "I live in Rome, near the river", Metadata: memory.Metadata{"tier": 4}, Reason: "more detail"})
		if err != nil {
			t.Fatal(err)
		}
		if third.SupersededID != second.ItemID || third.Value != "Rome" || third.Reason != "more detail" {
			t.Errorf("edit: %+v", third)
		}
		list, err := ml.List(t.Context(), meminfra.ListRequest{UserID: "ada", Filters: meminfra.Filters{
			Metadata: &meminfra.Where{Field: "project", Op: "eq", Value: "kiln"}}})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Records) != 2 { // the episode of Paris is no item
			for _, r := range list.Records {
				t.Logf("%s %s", r.Kind, r.Text)
			}
		}
		current := list.Records[0]
		if current.ID != third.ItemID || current.Metadata["tier"] != 4.0 || len(current.Evidence) != 2 {
			t.Errorf("the current version: %+v", current)
		}
		history, err := ml.History(t.Context(), meminfra.HistoryRequest{UserID: "ada", ID: third.ItemID})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, v := range history.Versions {
			got = append(got, v.ID)
		}
		if len(got) != 3 || got[0] != first.ItemID {
			t.Errorf("history %v, want %s, %s, %s", got, first.ItemID, second.ItemID, third.ItemID)
		}
	})
}

func TestCurateRefuses(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		home := say(t, ml, "I live in Paris.", nil)
		c := ml.Curate()
		retract := func(user, id string) error {
			_, err := c.Retract(t.Context(), meminfra.RetractRequest{UserID: user, ID: id})
			return err
		}
		restore := func(id string) error {
			_, err := c.Restore(t.Context(), meminfra.RestoreRequest{UserID: "ada", ID: id})
			return err
		}
		edit := func(id, text string) error {
			_, err := c.Edit(t.Context(), meminfra.EditRequest{UserID: "ada", ID: id, Text: text})
			return err
		}
		for what, got := range map[string]struct{ err, want error }{
			"another user's item": {retract("bob", home.ItemID), meminfra.ErrNotFound},
			"no user":             {retract("", home.ItemID), meminfra.ErrNoUser},
			"an unknown item":     {retract("ada", "nothing"), meminfra.ErrNotFound},
			"restoring an active": {restore(home.ItemID), meminfra.ErrNotRestorable},
			"a blank text":        {edit(home.ItemID, " \u200b"), meminfra.ErrBlankMessage},
			"a text without value": {
				edit(home.ItemID, "somewhere nice"), meminfra.ErrNoValue},
		} {
			if !errors.Is(got.err, got.want) {
				t.Errorf("%s: %v, want %v", what, got.err, got.want)
			}
		}
		if err := retract("ada", home.ItemID); err != nil {
			t.Fatal(err)
		}
		if err := retract("ada", home.ItemID); !errors.Is(err, meminfra.ErrNotCurrent) {
			t.Errorf("retracting twice: %v", err)
		}
		if err := edit(home.ItemID, "I live in Rome"); !errors.Is(err, meminfra.ErrNotCurrent) {
			t.Errorf("editing what was withdrawn: %v", err)
		}
	})
}

// TestDerivedItemGoesStale: an item made of others is flagged when one of them
// no longer counts, through any number of steps, and is well again when that is
// taken back.
func TestDerivedItemGoesStale(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		home := say(t, ml, "I live in Paris.", nil)
		job := say(t, ml, "I work at the harbour office.", nil)
		derive := func(text string, from ...string) string {
			a, err := ml.Curate().Derive(t.Context(), meminfra.DeriveRequest{UserID: "ada", From: from, Text: text})
			if err != nil {
				t.Fatal(err)
			}
			return a.ItemID
		}
		summary := derive("Ada commutes along the Seine", home.ItemID, job.ItemID)
		second := derive("Ada needs a river pass", summary)
		fresh := derive("Ada works near water", job.ItemID)
		stale := func() map[string]string {
			res, err := ml.Stale(t.Context(), meminfra.StaleRequest{UserID: "ada"})
			if err != nil {
				t.Fatal(err)
			}
			causes := map[string]string{}
			for _, r := range res.Records {
				causes[r.ID] = r.Stale[0].Status + " " + r.Stale[0].ItemID
			}
			return causes
		}
		if got := stale(); len(got) != 0 {
			t.Errorf("stale before anything happened: %v", got)
		}
		say(t, ml, "I moved to Rome.", nil)
		got := stale()
		if len(got) != 2 || got[summary] != "superseded "+home.ItemID || got[second] != "stale "+summary || got[fresh] != "" {
			t.Errorf("stale: %v", got)
		}
		res, err := ml.Search(t.Context(), meminfra.SearchRequest{UserID: "ada", Query: "river pass"})
		if err != nil || len(res.Hits) == 0 || res.Hits[0].ID != second || len(res.Hits[0].Stale) != 1 {
			t.Errorf("the hit does not say that it is stale: %v, %+v", err, res.Hits)
		}
		if _, err := ml.Curate().Derive(t.Context(), meminfra.DeriveRequest{UserID: "ada", From: []string{home.ItemID}, Text: "x"}); !errors.Is(err, meminfra.ErrNotCurrent) {
			t.Errorf("deriving from what no longer counts: %v", err)
		}
	})
}
