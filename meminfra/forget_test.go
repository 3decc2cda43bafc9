package meminfra_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

func mustForget(t testing.TB, ml *meminfra.MemoryLayer, req meminfra.ForgetRequest) *meminfra.ForgetResult {
	t.Helper()
	res, err := ml.Forget(t.Context(), req)
	if err != nil {
		t.Fatalf("forget: %v", err)
	}
	return res
}

// checkTombstones recomputes a user's chain and compares what it says is there
// with what is stored: rows named as forgotten are gone, all others are there.
func checkTombstones(t *testing.T, store storage.Store, user string) {
	t.Helper()
	verified, err := newLayer(t, store).Ledger().Verify(t.Context(), meminfra.VerifyRequest{UserID: user})
	if err != nil || verified.Err() != nil {
		t.Errorf("verify: %v, %v", err, verified.Err())
	}
	stored, named, forgotten := coveredRows(t, store, user), map[string][]byte{}, map[string][]byte{}
	prev, seq := []byte{}, int64(0)
	for _, e := range entries(t, store, user) {
		seq++
		if e.Seq != seq || !bytes.Equal(e.Prev, prev) || !bytes.Equal(e.Hash, ledger.Hash(ledger.Key{}, e)) {
			t.Errorf("entry %d of %s does not continue the chain", e.Seq, user)
		}
		prev = e.Hash
		for _, o := range e.Objects {
			key := o.Kind + " " + o.ID
			switch {
			case e.Operation == "forget" && !bytes.Equal(named[key], o.Digest):
				t.Errorf("the tombstone of %s holds another digest than its entry", key)
			case e.Operation == "forget":
				forgotten[key] = o.Digest
				delete(named, key)
			case named[key] != nil || forgotten[key] != nil:
				t.Errorf("%s is named twice", key)
			default:
				named[key] = o.Digest
			}
		}
	}
	for key, digest := range named {
		if !bytes.Equal(stored[key], digest) {
			t.Errorf("%s: the ledger names %s, which is not stored as named", user, key)
		}
	}
	for key := range stored {
		if named[key] == nil {
			t.Errorf("%s: %s is stored and not in the ledger, or forgotten and still there", user, key)
		}
	}
}

// An empty selector never means everything, two are one too many, and a filter
// that only widens is none.
func TestForgetWantsOneSelector(t *testing.T) {
	ml := newLayer(t, openSQLite(t))
	mustAdd(t, ml, addTo("ada", "c", told("I live in Lisbon.")...))
	for want, list := range map[error][]meminfra.ForgetRequest{
		meminfra.ErrNoUser:     {{}, {Everything: true}, {ID: "x"}, {UserID: " ", Everything: true}},
		meminfra.ErrNoSelector: {{UserID: "ada"}, {UserID: "ada", DryRun: true}, {UserID: "ada", Filters: meminfra.Filters{History: "all"}}},
		meminfra.ErrSelectors: {{UserID: "ada", Everything: true, ID: "x"}, {UserID: "ada", ID: "x", ConversationID: "c"},
			{UserID: "ada", ConversationID: "c", Filters: meminfra.Filters{Kind: "fact"}}},
		meminfra.ErrNotFound: {{UserID: "ada", ID: "nothing"}, {UserID: "nobody", ID: "nothing"}},
		meminfra.ErrFilter:   {{UserID: "ada", Filters: meminfra.Filters{Kind: "colour"}}},
	} {
		for _, req := range list {
			if _, err := ml.Forget(t.Context(), req); !errors.Is(err, want) {
				t.Errorf("%+v: %v, want %v", req, err, want)
			}
		}
	}
	if got := len(mustList(t, ml, "ada", episodesOnly)); got != 1 {
		t.Errorf("%d messages are left", got)
	}
}

// An item goes with all versions of its line and the messages they quote; what
// stood on these messages too goes as well; the rest stays.
func TestForgetItem(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		mustAdd(t, ml, addTo("ada", "a", told("I live in Oslo and I speak Norwegian.", "I moved to Lisbon.", "I use PostgreSQL.")...))
		mustAdd(t, ml, addTo("ada", "b", said("x1", "I speak Dutch.", 100)))
		before := mustList(t, ml, "ada", meminfra.Filters{History: "all"})
		var id string
		for _, r := range before {
			if r.Value == "Lisbon" {
				id = r.ID
			}
		}
		req := meminfra.ForgetRequest{UserID: "ada", ID: id, DryRun: true}
		head := headOf(t, store, "ada")
		planned := mustForget(t, ml, req)
		if got := headOf(t, store, "ada"); got.Change != head.Change || got.LedgerSeq != head.LedgerSeq {
			t.Errorf("the dry run wrote: %+v, then %+v", head, got)
		}
		req.DryRun = false
		done := mustForget(t, ml, req)
		if !slices.Equal(planned.Items, done.Items) || !slices.Equal(planned.Episodes, done.Episodes) || fmt.Sprint(planned.Rows) != fmt.Sprint(done.Rows) {
			t.Errorf("planned %+v, done %+v", planned, done)
		}
		if len(done.Items) != 3 || len(done.Episodes) != 2 || len(done.Retold) != 0 {
			t.Errorf("certificate %+v", done)
		}
		left := values(mustList(t, ml, "ada", meminfra.Filters{History: "all"}))
		slices.Sort(left)
		if !slices.Equal(left, []string{"Dutch", "PostgreSQL"}) {
			t.Errorf("left: %v", left)
		}
		for _, q := range []string{"Where do I live?", "Oslo", "Lisbon", "Norwegian"} {
			for _, h := range mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: q}).Hits {
				if strings.Contains(h.Text, "Oslo") || strings.Contains(h.Text, "Lisbon") {
					t.Errorf("%s finds %q", q, h.Text)
				}
			}
		}
		checkTombstones(t, store, "ada")
	})
}

func headOf(t testing.TB, store storage.Store, user string) storage.Head {
	t.Helper()
	heads, err := store.Heads(t.Context(), userPartition(user))
	if err != nil {
		t.Fatal(err)
	}
	return heads[userPartition(user)]
}

// standing is how a user's items stand: "value status from..to", by value and
// start.
func standing(t *testing.T, ml *meminfra.MemoryLayer, user string) []string {
	t.Helper()
	var list []string
	for _, r := range mustList(t, ml, user, meminfra.Filters{History: "all"}) {
		from, to := "", ""
		if r.ValidFrom != nil {
			from = r.ValidFrom.Format("15:04")
		}
		if r.ValidTo != nil {
			to = r.ValidTo.Format("15:04")
		}
		list = append(list, fmt.Sprintf("%s %s %s..%s", r.Value, r.Status, from, to))
	}
	slices.Sort(list)
	return list
}

// No predecessor comes back by an erasure, neither at once nor with the next
// thing said; what is said anew holds as ever.
func TestForgetReopensNothing(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		for name, c := range map[string]struct {
			forget, kept []meminfra.Message
			want         []string
		}{
			"the successor": {[]meminfra.Message{said("f1", "I moved to Lisbon.", 60)}, []meminfra.Message{said("k1", "I live in Oslo.", 0)},
				[]string{"Oslo ended 09:00..10:00"}},
			"a negation": {[]meminfra.Message{said("f1", "I no longer live in Oslo.", 60)}, []meminfra.Message{said("k1", "I live in Oslo.", 0)},
				[]string{"Oslo ended 09:00..10:00"}},
			"one in between": {[]meminfra.Message{said("f1", "I moved to Lisbon.", 60)},
				[]meminfra.Message{said("k1", "I live in Oslo.", 0), said("k2", "I moved to Porto.", 120)},
				[]string{"Oslo ended 09:00..10:00", "Porto active 11:00.."}},
			"an interruption": {[]meminfra.Message{said("f1", "I moved to Lisbon.", 60)},
				[]meminfra.Message{said("k1", "I live in Oslo.", 0), said("k2", "I moved to Oslo.", 120)},
				[]string{"Oslo active 11:00..", "Oslo ended 09:00..10:00"}},
			"the first": {[]meminfra.Message{said("f1", "I live in Lisbon.", 0)}, []meminfra.Message{said("k1", "I moved to Oslo.", 60)},
				[]string{"Oslo active 10:00.."}},
		} {
			t.Run(name, func(t *testing.T) {
				user := "ada " + name
				ml := newLayer(t, store, randomIDs)
				all := append(slices.Clone(c.kept), c.forget...)
				slices.SortFunc(all, func(a, b meminfra.Message) int { return a.SentAt.Compare(b.SentAt) })
				for _, m := range all {
					conversation := "kept"
					if strings.HasPrefix(m.ID, "f") {
						conversation = "forget"
					}
					mustAdd(t, ml, addTo(user, conversation, m))
				}
				mustForget(t, ml, meminfra.ForgetRequest{UserID: user, ConversationID: "forget"})
				if got := standing(t, ml, user); !slices.Equal(got, c.want) {
					t.Errorf("after: %v, want %v", got, c.want)
				}
				// Another witness of what is left, and a late one, wake nothing.
				mustAdd(t, ml, addTo(user, "late", said("l1", "I lived in Bergen.", -60), said("l2", "I live in Malmo.", -120)))
				late := standing(t, ml, user)
				for _, want := range c.want {
					if !slices.Contains(late, want) {
						t.Errorf("after a late message: %v, want %q in it", late, want)
					}
				}
				mustAdd(t, ml, addTo(user, "new", said("n1", "I moved to Oslo.", 600)))
				if got := standing(t, ml, user); !slices.Contains(got, "Oslo active 19:00..") && !slices.Contains(got, "Oslo active 11:00..") && !slices.Contains(got, "Oslo active 10:00..") {
					t.Errorf("said anew: %v", got)
				}
				checkTombstones(t, store, user)
			})
		}
	})
}

// What an erased message said is told by the next witness, in that one's words.
func TestForgetRetells(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		first := said("f1", "I use Postgres.", 0)
		first.Metadata = memory.Metadata{"source": "zanzibar"}
		mustAdd(t, ml, addTo("ada", "forget", first))
		mustAdd(t, ml, addTo("ada", "kept", said("k1", "I use PostgreSQL.", 30)))
		res := mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ConversationID: "forget"})
		list := mustList(t, ml, "ada", meminfra.Filters{History: "all"})
		if len(res.Retold) != 1 || len(list) != 1 || list[0].ID != res.Retold[0] || list[0].Text != "I use PostgreSQL" || len(list[0].Metadata) != 0 {
			t.Errorf("certificate %+v, left %+v", res, list)
		}
		if got := standing(t, ml, "ada"); !slices.Equal(got, []string{"PostgreSQL active 09:30.."}) {
			t.Errorf("left: %v", got)
		}
		checkTombstones(t, store, "ada")
	})
}

// An open-world item is retold likewise, with the witnesses that are left.
func TestForgetRetellsOpenItems(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Extractor = verbatim{} })
		mustAdd(t, ml, addTo("ada", "forget", said("f1", "the  boiler is serviced in May", 0), said("f2", "Only here.", 1)))
		mustAdd(t, ml, addTo("ada", "kept", said("k1", "The boiler is serviced in May", 30), said("k2", "The boiler is serviced in May", 31)))
		res := mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ConversationID: "forget"})
		list := mustList(t, ml, "ada", meminfra.Filters{History: "all"})
		if len(res.Items) != 2 || len(list) != 1 || list[0].Text != "The boiler is serviced in May" || len(list[0].Evidence) != 2 {
			t.Errorf("certificate %+v, left %+v", res, list)
		}
		checkTombstones(t, store, "ada")
	})
}

// What was made of an erased memory goes, also what was made of that.
// Papers.md section 11, T3.
func TestForgetRemovesWhatWasDerived(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		a := mustAdd(t, ml, addTo("ada", "a", said("1", "I live in Lisbon.", 0))).Actions[0].ItemID
		b := mustAdd(t, ml, addTo("ada", "b", said("1", "I use PostgreSQL.", 1))).Actions[0].ItemID
		derive := func(text string, from ...string) string {
			taken, err := ml.Curate().Derive(t.Context(), meminfra.DeriveRequest{UserID: "ada", From: from, Text: text})
			if err != nil {
				t.Fatal(err)
			}
			return taken.ItemID
		}
		mixed := derive("Works on databases in Lisbon.", a, b)
		derive("Moves in circles.", mixed)
		derive("Likes elephants.", b)
		mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ID: a})
		var left []string
		for _, r := range mustList(t, ml, "ada", meminfra.Filters{History: "all"}) {
			left = append(left, r.Text)
		}
		slices.Sort(left)
		if !slices.Equal(left, []string{"I use PostgreSQL", "Likes elephants."}) {
			t.Errorf("left: %q", left)
		}
		checkTombstones(t, store, "ada")
		// Forgetting what was derived leaves its sources.
		for _, r := range mustList(t, ml, "ada", meminfra.Filters{Kind: "summary"}) {
			mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ID: r.ID})
		}
		if got := standing(t, ml, "ada"); len(got) != 1 {
			t.Errorf("left: %v", got)
		}
		checkTombstones(t, store, "ada")
	})
}

// The owner's edits: metadata and words of an erased wording go with it.
func TestForgetEdited(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		m := said("1", "I live in Lisbon.", 0)
		m.Metadata = memory.Metadata{"canary": "zanzibar"}
		id := mustAdd(t, ml, addTo("ada", "a", m)).Actions[0].ItemID
		mustAdd(t, ml, addTo("ada", "b", said("1", "I live in Lisbon.", 5)))
		edited, err := ml.Curate().Edit(t.Context(), meminfra.EditRequest{UserID: "ada", ID: id, Text: "I live in Lisbon, near the zanzibar bar.", Reason: "zanzibar matters"})
		if err != nil {
			t.Fatal(err)
		}
		mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ConversationID: "a"})
		for _, r := range mustList(t, ml, "ada", meminfra.Filters{History: "all"}) {
			if r.Metadata["canary"] != nil {
				t.Errorf("metadata of an erased version: %+v", r)
			}
		}
		checkTombstones(t, store, "ada")
		if _, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: "ada", ID: edited.ItemID}); err != nil && !errors.Is(err, meminfra.ErrNotFound) {
			t.Fatal(err)
		}
		mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ConversationID: "curate"})
		for _, r := range mustList(t, ml, "ada", meminfra.Filters{History: "all"}) {
			if strings.Contains(r.Text, "zanzibar") {
				t.Errorf("left: %+v", r)
			}
		}
		for _, d := range decisions(t, store, "ada") {
			if strings.Contains(d.Reason, "zanzibar") {
				t.Errorf("decision %+v", d)
			}
		}
		checkTombstones(t, store, "ada")
	})
}

// A user who is forgotten leaves a nameless partition and a chain that ends in
// the tombstone; what he says later is remembered as ever, and other layers see
// both at once.
func TestForgetUser(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml, other := newLayer(t, store), newLayer(t, store, randomIDs)
		req := addTo("ada", "c", told("I live in Lisbon.", "I use PostgreSQL.", "Hello!")...)
		req.IdempotencyKey = "key"
		mustAdd(t, ml, req)
		mustAdd(t, ml, addTo("bob", "c", told("I live in Porto.")...))
		grant(t, store, "ada")
		search := meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"}
		trace := mustSearch(t, ml, search).TraceID
		mustSearch(t, other, search)
		head := headOf(t, store, "ada")

		res := mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", Everything: true})
		if res.Rows["episode"] != 3 || res.Rows["item"] != 2 || res.Rows["idempotency"] != 1 ||
			res.Rows["trace"] != 2 || res.Rows["access_grant"] != 2 || len(res.Outside) != 2 {
			t.Errorf("certificate %+v", res)
		}
		text, err := res.Canonical()
		sum := sha256.Sum256([]byte(text))
		if err != nil || res.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("SHA-256 %s of %s: %v", res.SHA256, text, err)
		}
		after := headOf(t, store, "ada")
		if after.LedgerSeq != head.LedgerSeq+1 || res.LedgerSeq != after.LedgerSeq || res.LedgerHash != hex.EncodeToString(after.LedgerHead) || after.Erased != after.Change {
			t.Errorf("head %+v, then %+v; certificate %d %s", head, after, res.LedgerSeq, res.LedgerHash)
		}
		checkTombstones(t, store, "ada")
		if _, err := store.Trace(t.Context(), userPartition("ada"), trace); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("trace: %v", err)
		}
		for _, l := range []*meminfra.MemoryLayer{ml, other} {
			if hits := mustSearch(t, l, search).Hits; len(hits) != 0 {
				t.Errorf("hits: %q", texts(hits))
			}
			if hits := mustSearch(t, l, meminfra.SearchRequest{UserID: "bob", Query: "Where do I live?"}).Hits; len(hits) == 0 {
				t.Error("bob is forgotten, too")
			}
		}
		again := mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", Everything: true})
		if again.Rows["trace"] != 2 || again.Rows["episode"] != 0 { // of the searches above
			t.Errorf("again: %+v", again)
		}
		third := mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", Everything: true})
		if len(third.Rows) != 0 || third.LedgerSeq != again.LedgerSeq || third.LedgerHash != again.LedgerHash {
			t.Errorf("a third time: %+v", third)
		}
		if got := actionsOf(mustAdd(t, ml, req)); len(got) != 2 { // the key is free again
			t.Errorf("said again: %v", got)
		}
		for _, l := range []*meminfra.MemoryLayer{ml, other} {
			if hits := mustSearch(t, l, search).Hits; len(hits) == 0 || hits[0].Value != "Lisbon" {
				t.Errorf("said again: %q", texts(hits))
			}
		}
		checkTombstones(t, store, "ada")
	})
}

// grant writes two grants that name a user and one that does not.
func grant(t *testing.T, store storage.Store, user string) {
	t.Helper()
	directory := memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionTenantDirectory}
	err := store.Update(t.Context(), directory, func(tx storage.Tx) error {
		list := []memory.Grant{
			{ID: "g1", Kind: memory.GrantUserAgent, Left: user, Right: "agent", At: monday},
			{ID: "g2", Kind: memory.GrantTeamMember, Left: "team", Right: user, At: monday},
			{ID: "g3", Kind: memory.GrantUserAgent, Left: "someone else", Right: user, At: monday},
		}
		chain := ledger.NewChain(ledger.Key{}, tx.Head().LedgerSeq, tx.Head().LedgerHead)
		objects := []memory.Object{ledger.Grant(list[0]), ledger.Grant(list[1]), ledger.Grant(list[2])}
		if err := tx.InsertGrants(t.Context(), list); err != nil {
			return err
		}
		return tx.AppendEntries(t.Context(), []memory.Entry{chain.Append(directory.ID(), "grant", monday, objects)})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Case A13: of three alike memories the best match is forgotten; the best of
// those left comes at once, and again after a restart, and the count is full.
func TestForgottenTakesNoSeat(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Extractor = verbatim{} })
		for i, text := range []string{"The red boat is in the harbour", "A red boat left the harbour early", "Boats in the harbour"} {
			mustAdd(t, ml, addTo("ada", fmt.Sprint("c", i), said("m", text, i)))
		}
		req := meminfra.SearchRequest{UserID: "ada", Query: "the red boat is in the harbour", Limit: 1}
		best := mustSearch(t, ml, req).Hits[0]
		if best.Text != "The red boat is in the harbour" {
			t.Fatalf("best: %q", best.Text)
		}
		mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ID: best.ID})
		for _, l := range []*meminfra.MemoryLayer{ml, newLayer(t, store, randomIDs)} {
			if hits := mustSearch(t, l, req).Hits; len(hits) != 1 || hits[0].Text != "A red boat left the harbour early" {
				t.Errorf("then: %q", texts(hits))
			}
		}
	})
}

// Case A15: an emptied index is used again, in every order.
func TestForgottenIndexIsUsedAgain(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		search := meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"}
		mustSearch(t, ml, search)
		for range 3 {
			id := mustAdd(t, ml, addTo("ada", "c", said("m", "I live in Lisbon.", 0))).Actions[0].ItemID
			if len(mustSearch(t, ml, search).Hits) == 0 {
				t.Error("not found")
			}
			mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ID: id})
			if hits := mustSearch(t, ml, search).Hits; len(hits) != 0 {
				t.Errorf("found %q", texts(hits))
			}
		}
		checkTombstones(t, store, "ada")
	})
}

// Filters select as List does, superseded versions included.
func TestForgetByFilter(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		mustAdd(t, ml, addTo("ada", "c", told("I live in Oslo.", "I moved to Lisbon.", "I use PostgreSQL.", "The cat sleeps.")...))
		res := mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", Filters: meminfra.Filters{Predicate: "location"}})
		if len(res.Items) != 2 || len(res.Episodes) != 2 || res.Selector != "filter" {
			t.Errorf("certificate %+v", res)
		}
		res = mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", Filters: meminfra.Filters{Kind: "episode"}})
		if len(res.Items) != 1 || len(res.Episodes) != 2 {
			t.Errorf("certificate %+v", res)
		}
		checkTombstones(t, store, "ada")
	})
}

// A vector that was under way when its text was forgotten is not stored.
func TestNoVectorOfWhatIsForgotten(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		hook := &forgetting{Embedder: bagOfWords{"bag", 8}}
		ml := newLayer(t, store, withEmbedder(hook))
		mustAdd(t, ml, addTo("ada", "c", told("I live in Lisbon.")...))
		renamed := newLayer(t, store, randomIDs, withEmbedder(hook))
		hook.name, hook.hook = "bag2", func() { mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", Everything: true}) }
		if _, err := renamed.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: "ada"}); err != nil {
			t.Fatal(err)
		}
		res := mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", Everything: true})
		if len(res.Rows) != 0 {
			t.Errorf("left behind: %v", res.Rows)
		}
	})
}

// forgetting is an embedder that is called under a name and runs a hook once.
type forgetting struct {
	llm.Embedder
	name string
	hook func()
}

func (f *forgetting) Model() string {
	if f.name != "" {
		return f.name
	}
	return f.Embedder.Model()
}

func (f *forgetting) Embed(ctx context.Context, list []string) ([][]float32, error) {
	if hook := f.hook; hook != nil {
		f.hook = nil
		hook()
	}
	return f.Embedder.Embed(ctx, list)
}

// A piece of evidence never gets the number that an erased one had: the ledger
// names each once.
func TestEvidenceIsNumberedOnce(t *testing.T) {
	for name, extractor := range map[string]func(*meminfra.Options){"controlled": func(*meminfra.Options) {},
		"open": func(o *meminfra.Options) { o.Extractor = verbatim{} }} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t *testing.T, store storage.Store) {
				ml := newLayer(t, store, extractor)
				for i, conversation := range []string{"a", "b", "c", "b", "c"} {
					mustAdd(t, ml, addTo("ada", conversation, said(fmt.Sprint("m", i), "I use PostgreSQL", i)))
				}
				for range 2 {
					mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ConversationID: "b"})
					checkTombstones(t, store, "ada")
					mustAdd(t, ml, addTo("ada", "b", said("x", "I use PostgreSQL", 20), said("y", "I use PostgreSQL", 21)))
				}
				checkTombstones(t, store, "ada")
				if got := mustList(t, ml, "ada", meminfra.Filters{}); len(got) != 1 || len(got[0].Evidence) != 5 {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// A call that ends after its messages were forgotten keeps no key: a digest of
// what was said would be left, and the same call again would find nothing.
func TestNoKeyOfWhatIsForgottenMeanwhile(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		var ml *meminfra.MemoryLayer
		forget := meminfra.ForgetRequest{UserID: "ada", Everything: true}
		ml = newLayer(t, store, func(o *meminfra.Options) {
			o.Extractor = hooked{builtIn(t), func() error {
				if forget.UserID != "" {
					mustForget(t, ml, forget)
					forget.UserID = ""
				}
				return nil
			}}
		})
		req := addTo("ada", "c", told("I live in Oslo.")...)
		req.IdempotencyKey = "k"
		mustAdd(t, ml, req)
		if err := store.Update(t.Context(), memory.Partition{Tenant: "default", Kind: memory.PartitionUser, Name: "ada"}, func(tx storage.Tx) error {
			_, err := tx.Idempotency(t.Context(), "k")
			return err
		}); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("a key: %v", err)
		}
		if res := mustAdd(t, ml, req); len(res.Actions) != 1 || res.Actions[0].Value != "Oslo" {
			t.Errorf("%+v", res.Actions)
		}
	})
}

// A selector of blanks is malformed: taken for none it would select everything.
func TestForgetByBlanksForgetsNothing(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		mustAdd(t, ml, addTo("ada", "c", told("I live in Oslo.")...))
		for _, req := range []meminfra.ForgetRequest{{ConversationID: " "}, {ID: " "}, {Filters: meminfra.Filters{SubjectName: " "}},
			{Filters: meminfra.Filters{Predicate: "nickname", Value: " "}}, {Filters: meminfra.Filters{Metadata: &meminfra.Where{}}},
			{Filters: meminfra.Filters{AgentID: " "}}, {Filters: meminfra.Filters{FactKey: " "}}} {
			req.UserID = "ada"
			if res, err := ml.Forget(t.Context(), req); err == nil && len(res.Rows) > 0 {
				t.Errorf("%+v erased %v", req, res.Rows)
			}
		}
		if got := mustList(t, ml, "ada", meminfra.Filters{}); len(got) != 1 {
			t.Errorf("left: %v", values(got))
		}
	})
}
