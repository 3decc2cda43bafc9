package meminfra_test

import (
	"errors"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Why leads from a trace, and from an item, to the words and to the entries
// that name the decisions.
func TestWhyLeadsToTheWordsAndTheLedger(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		mustAdd(t, ml, addTo("ada", "c", said("m1", "By the way, I use PostgreSQL.", 0)))
		mustAdd(t, ml, addTo("ada", "c", said("m2", "I switched to SQLite.", 1)))
		found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Which database do I use?"})
		why, err := ml.Ledger().Why(t.Context(), meminfra.WhyRequest{UserID: "ada", ID: found.TraceID})
		if err != nil || len(why.Items) == 0 || why.Kind != "search" || why.Items[0].Rank != 1 {
			t.Fatalf("%+v, %v", why, err)
		}
		item := why.Items[0]
		if q := item.Evidence[0]; q.Before+q.Quote+q.After != "I switched to SQLite." || q.MessageID != "m2" {
			t.Errorf("evidence %+v", q)
		}
		for _, d := range item.Decisions {
			if want := entryOf(t, store, "decision", d.ID); d.Entry != want || len(d.Hash) != 64 {
				t.Errorf("decision %s: entry %d %s, want %d", d.ID, d.Entry, d.Hash, want)
			}
		}
		old := mustList(t, ml, "ada", meminfra.Filters{History: retrieve.HistoryAll})
		for _, r := range old {
			if r.Value != "PostgreSQL" {
				continue
			}
			why, err = ml.Ledger().Why(t.Context(), meminfra.WhyRequest{UserID: "ada", ID: r.ID})
			if err != nil || len(why.Items) != 1 || len(why.Items[0].Decisions) != 2 || why.Items[0].Status != memory.StatusEnded && why.Items[0].Status != memory.StatusSuperseded {
				t.Errorf("the old one: %+v, %v", why, err)
			}
		}
		if _, err := ml.Ledger().Why(t.Context(), meminfra.WhyRequest{UserID: "bob", ID: found.TraceID}); !errors.Is(err, meminfra.ErrNotFound) {
			t.Errorf("another user's trace: %v", err)
		}
	})
}
