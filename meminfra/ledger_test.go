package meminfra_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// checkLedger recomputes a user's chain from what is read back: gapless, each
// hash over the one before it, the head the last one, and every covered row
// named exactly once with the digest that it has now.
func checkLedger(t *testing.T, store storage.Store, user string) {
	t.Helper()
	rows := coveredRows(t, store, user)
	var last memory.Entry
	for _, e := range entries(t, store, user) {
		if e.Seq != last.Seq+1 || !bytes.Equal(e.Prev, last.Hash) {
			t.Errorf("ledger of %s: entry %d does not follow entry %d", user, e.Seq, last.Seq)
		}
		if !bytes.Equal(e.Hash, ledger.Hash(ledger.Key{}, e)) {
			t.Errorf("ledger of %s: the hash of entry %d (%s) does not recompute", user, e.Seq, e.Operation)
		}
		for _, o := range e.Objects {
			if digest, ok := rows[o.Kind+" "+o.ID]; !ok || !bytes.Equal(digest, o.Digest) {
				t.Errorf("ledger of %s: entry %d names %s %s with another digest than its row (found: %v)", user, e.Seq, o.Kind, o.ID, ok)
			}
			delete(rows, o.Kind+" "+o.ID)
		}
		last = e
	}
	for row := range rows {
		t.Errorf("ledger of %s: no entry names %s", user, row)
	}
	res, err := newLayer(t, store).Ledger().Verify(t.Context(), meminfra.VerifyRequest{UserID: user})
	if err != nil || res.Err() != nil {
		t.Errorf("ledger of %s: verify: %v, %v", user, err, res.Err())
	}
	heads, err := store.Heads(t.Context(), userPartition(user))
	if err != nil {
		t.Fatal(err)
	}
	if h := heads[userPartition(user)]; h.LedgerSeq != last.Seq || !bytes.Equal(h.LedgerHead, last.Hash) {
		t.Errorf("ledger of %s: head %d, last entry %d", user, h.LedgerSeq, last.Seq)
	}
}

func entries(t *testing.T, store storage.Store, user string) (list []memory.Entry) {
	t.Helper()
	err := store.Entries(t.Context(), userPartition(user), 0, func(e memory.Entry) error {
		list = append(list, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// coveredRows returns the digests of all rows of a user that the ledger covers,
// by kind and id, from the rows as they are stored.
func coveredRows(t *testing.T, store storage.Store, user string) map[string][]byte {
	t.Helper()
	rows := map[string][]byte{}
	put := func(o memory.Object) { rows[o.Kind+" "+o.ID] = o.Digest }
	for _, e := range changesOf(t, store, user).Episodes {
		put(ledger.Episode(e))
	}
	for _, r := range records(t, store, user) {
		put(ledger.Item(r.Item))
		for _, s := range r.States {
			put(ledger.State(s))
			if !s.SystemTo.IsZero() {
				put(ledger.Close(s, s.SystemTo))
			}
		}
		for _, e := range r.Evidence {
			put(ledger.Evidence(e.Evidence))
		}
		for _, c := range r.Conflicts {
			put(ledger.Conflict(c))
		}
	}
	for _, d := range decisions(t, store, user) {
		put(ledger.Decision(d))
	}
	return rows
}

// changesOf reads all that an index of a user would, the rows whole.
func changesOf(t *testing.T, store storage.Store, user string) storage.Changes {
	t.Helper()
	c, err := store.Changes(t.Context(), storage.ChangesParams{Partition: userPartition(user), Model: "hashed-512/1"})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(c.Episodes))
	for i := range ids {
		ids[i] = c.Episodes[i].ID
	}
	if c.Episodes, err = store.Episodes(t.Context(), userPartition(user), ids); err != nil {
		t.Fatal(err)
	}
	for i, r := range wholeItems(t, store, user, c.Items) {
		c.Items[i].Item, c.Items[i].States = r.Item, r.States
	}
	return c
}

// records reads all items of a user, by sequence number.
func records(t *testing.T, store storage.Store, user string) []storage.ItemRecord {
	t.Helper()
	return wholeItems(t, store, user, changesOf(t, store, user).Items)
}

func wholeItems(t *testing.T, store storage.Store, user string, items []storage.ItemStates) []storage.ItemRecord {
	t.Helper()
	ids := make([]string, len(items))
	for i := range ids {
		ids[i] = items[i].ID
	}
	list, err := store.Items(t.Context(), userPartition(user), ids)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// decisions reads the decisions that the ledger names and that were not
// forgotten, in its order.
func decisions(t *testing.T, store storage.Store, user string) []memory.Decision {
	t.Helper()
	var ids []string
	for _, e := range entries(t, store, user) {
		for _, o := range e.Objects {
			switch {
			case o.Kind != ledger.KindDecision:
			case e.Operation == "forget":
				ids = slices.DeleteFunc(ids, func(id string) bool { return id == o.ID })
			default:
				ids = append(ids, o.ID)
			}
		}
	}
	list, err := store.Decisions(t.Context(), userPartition(user), ids)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(ids) {
		t.Errorf("the ledger of %s names %d decisions, %d are stored", user, len(ids), len(list))
	}
	return list
}

// Case A26: nanoseconds, unsorted keys, large floats and every kind of row
// survive storage, so the chain recomputes from what is read back.
func TestLedgerRecomputesFromWhatIsStored(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		at := time.Date(2026, 6, 1, 9, 41, 7, 246_813_579, time.FixedZone("", 2*3600))
		ml := newLayer(t, store, func(o *meminfra.Options) {
			o.Now = func() time.Time { at = at.Add(time.Second + time.Nanosecond); return at }
		})
		for i, text := range []string{"I use PostgreSQL.", "I use PostgreSQL.", "I switched to SQLite.", "I no longer use SQLite.",
			"I speak Dutch and German.", "I live in Zürich."} {
			msg := meminfra.Message{Content: text, SentAt: at, Metadata: memory.Metadata{"z": 1e300, "a": "é", "n": i}}
			mustAdd(t, ml, addTo("ada", "c", msg))
			checkLedger(t, store, "ada")
		}
		mustAdd(t, ml, addTo("ada", "c",
			meminfra.Message{Role: memory.RoleAssistant, Content: "You use MySQL.", SentAt: at.Add(-time.Hour)},
			meminfra.Message{Name: "Bo", Content: "I hate running.", SentAt: at.AddDate(-3, 0, 0)}))
		checkLedger(t, store, "ada")
		if got := len(decisions(t, store, "ada")); got < 8 {
			t.Errorf("%d decisions", got)
		}
	})
}

// The rows of a conflict are covered as well: two authorities that disagree.
func TestLedgerCoversConflicts(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Extractor = asLocation{} })
		res := mustAdd(t, ml, addTo("ada", "c",
			meminfra.Message{Content: "Lisbon", SentAt: monday},
			meminfra.Message{Role: memory.RoleTool, Content: "Porto", SentAt: monday.Add(time.Minute)}))
		conflicts := 0
		for _, r := range records(t, store, "ada") {
			conflicts += len(r.Conflicts)
		}
		if conflicts == 0 {
			t.Errorf("no conflict: %v", actionsOf(res))
		}
		checkLedger(t, store, "ada")
	})
}
