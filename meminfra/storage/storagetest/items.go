package storagetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var itemTests = []test{
	{name: "every field comes back", run: itemFields},
	{name: "zero fields come back as zero", run: itemZero},
	{name: "decisions", run: decisions},
	{name: "read in the order asked", run: itemOrder},
	{name: "states close and follow each other", run: itemStates},
	{name: "one open state", run: itemOneOpenState},
	{name: "one open holder of a fact key", run: itemHolder},
	{name: "evidence once, of stored episodes", run: itemEvidence},
	{name: "conflicts show on both sides", run: itemConflicts},
	{name: "found by fact key", run: itemByFactKey},
	{name: "found by text", run: itemByText},
	{name: "a line is its fact key's items", run: lineByFactKey},
	{name: "an open-world line is its root's items", run: lineByRoot},
}

func itemFields(t *testing.T, s storage.Store) {
	episode := putEpisodes(t, s, ada, 1)[0]
	first, _ := putItem(t, s, ada, "i1", nil)
	var item memory.Item
	var want storage.ItemRecord
	commit(t, s, ada, func(tx storage.Tx) error {
		var state memory.State
		var err error
		item, state, err = insertItem(t.Context(), tx, "i2", func(m *memory.Item, st *memory.State) {
			m.FactKey, m.DerivedFrom = "user|prefers|drink", []string{"i1"}
			m.Origins = []memory.Origin{{Kind: "resource", Name: "Ä"}, {Kind: "agent", Name: "a/1"}, {Kind: "resource", Name: "Ä"}}
			st.Valid.To, st.HoldsSlot = at(12), true
		})
		check(t, err)
		item.Origins = []memory.Origin{{Kind: "agent", Name: "a/1"}, {Kind: "resource", Name: "Ä"}}
		partition, change := tx.Head().Partition, tx.Head().Change
		want = storage.ItemRecord{Item: stored(item), States: []memory.State{state}}
		for n, end := range []int{4, 9} {
			e := memory.Evidence{Partition: partition, ItemID: "i2", N: n + 1, Change: change, EpisodeID: "e1", Quote: "“öf”\n", Start: 2,
				End: end, Full: true, Polarity: memory.Positive, Authority: memory.Unendorsed, Stated: memory.Validity{From: at(1), To: at(2)}, At: at(7), Salt: []byte{4}}
			check(t, tx.InsertEvidence(t.Context(), []memory.Evidence{e}))
			want.Evidence = append(want.Evidence, storage.EvidenceRecord{Evidence: e, MessageID: episode.MessageID, AgentID: episode.AgentID, ResourceID: episode.Source,
				ConversationID: episode.ConversationID, SentAt: episode.SentAt, EpisodeSeq: episode.Seq, ExpiresAt: episode.ExpiresAt})
		}
		want.Conflicts = []memory.Conflict{{Partition: partition, ItemID: "i2", OtherID: "i1", Reason: "weaker", Decision: "d-i2",
			At: at(3), Change: change, Salt: []byte{5}}}
		check(t, tx.InsertConflicts(t.Context(), want.Conflicts))
		own, err := tx.Items(t.Context(), []string{"i2"})
		check(t, err)
		same(t, "within the commit", own, []storage.ItemRecord{want})
		return nil
	})
	got, err := s.Items(t.Context(), ada.ID(), []string{"i2"})
	check(t, err)
	same(t, "record", got, []storage.ItemRecord{want})
	same(t, "present state", got[0].Present(), want.States[0])
	rows := changes(t, s, ada, 0).Items
	same(t, "as changes", rows[1], storage.ItemStates{Item: leanItem(want.Item), States: leanStates(want.States...), Sources: []string{"e1", "e1"}, Conversation: want.Evidence[0].ConversationID})
	same(t, "the other item", rows[0].Item, leanItem(stored(first)))
}

func itemZero(t *testing.T, s storage.Store) {
	want, state := putItem(t, s, ada, "i", func(m *memory.Item, st *memory.State) {
		*m = memory.Item{Partition: m.Partition, ID: "i", Seq: m.Seq, Change: m.Change, Kind: memory.KindFact, Text: "t", TextKey: "t",
			Polarity: memory.Positive, Authority: memory.Authorized, Scope: memory.Scope{Visibility: memory.VisibilityPrivate},
			Root: "i", RecordedAt: at(1), Decision: m.Decision}
		*st = memory.State{Partition: m.Partition, ItemID: "i", N: 1, Change: m.Change, Status: memory.StatusArchived, SystemFrom: at(1), Decision: m.Decision}
	})
	got, err := s.Items(t.Context(), ada.ID(), []string{"i"})
	check(t, err)
	same(t, "record", got, []storage.ItemRecord{{Item: stored(want), States: []memory.State{state}}})
}

func decisions(t *testing.T, s storage.Store) {
	var want []memory.Decision
	commit(t, s, ada, func(tx storage.Tx) error {
		bare := memory.Decision{Partition: ada.ID(), ID: "bare", Change: tx.Head().Change, Operation: "add", Action: memory.ActionNoop, Reason: "known", At: at(1)}
		want = []memory.Decision{newDecision(tx, "d2"), bare, newDecision(tx, "d1")}
		return tx.InsertDecisions(t.Context(), want)
	})
	got, err := s.Decisions(t.Context(), ada.ID(), []string{"d2", "none", "bare", "d1"})
	check(t, err)
	same(t, "decisions", got, want)
	got, err = s.Decisions(t.Context(), bob.ID(), []string{"d2"})
	check(t, err)
	same(t, "another partition", got, []memory.Decision(nil))
}

func itemOrder(t *testing.T, s storage.Store) {
	for _, id := range []string{"i1", "i2", "i3"} {
		putItem(t, s, ada, id, nil)
	}
	for _, want := range [][]string{{"i3", "i1"}, {"i2"}, nil} {
		got, err := s.Items(t.Context(), ada.ID(), append(slices.Clone(want), "none"))
		check(t, err)
		same(t, "ids", ids(got, recordID), want)
	}
}

func itemStates(t *testing.T, s storage.Store) {
	item, first := putItem(t, s, ada, "i", nil)
	other, otherState := putItem(t, s, ada, "other", nil)
	var second memory.State
	commit(t, s, ada, func(tx storage.Tx) error {
		check(t, tx.CloseStates(t.Context(), []string{"i"}, at(20)))
		second = newState(tx, item, 2)
		second.Status, second.Valid, second.SystemFrom = memory.StatusEnded, memory.Validity{From: at(1), To: at(2)}, at(20)
		check(t, tx.InsertStates(t.Context(), []memory.State{second}))
		own, err := tx.Items(t.Context(), []string{"i"})
		check(t, err)
		same(t, "within the commit", own[0].Present(), second)
		return nil
	})
	first.SystemTo = at(20)
	got, err := s.Items(t.Context(), ada.ID(), []string{"i", "other"})
	check(t, err)
	same(t, "states", got[0].States, []memory.State{first, second})
	same(t, "the other's", got[1].States, []memory.State{otherState})
	same(t, "the other", got[1].Item, stored(other))

	commit(t, s, ada, func(tx storage.Tx) error { // a closed state keeps its end
		check(t, tx.CloseStates(t.Context(), []string{"i", "none"}, at(30)))
		return tx.CloseStates(t.Context(), nil, at(30))
	})
	second.SystemTo = at(30)
	got, err = s.Items(t.Context(), ada.ID(), []string{"i"})
	check(t, err)
	same(t, "states closed again", got[0].States, []memory.State{first, second})
}

func itemOneOpenState(t *testing.T, s storage.Store) {
	item, first := putItem(t, s, ada, "i", nil)
	err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
		return tx.InsertStates(t.Context(), []memory.State{newState(tx, item, 2)})
	})
	wantErr(t, "a second open state", err, storage.ErrConflict)
	got, err := s.Items(t.Context(), ada.ID(), []string{"i"})
	check(t, err)
	same(t, "states", got[0].States, []memory.State{first})
}

func itemHolder(t *testing.T, s storage.Store) {
	holds := func(m *memory.Item, st *memory.State) { m.FactKey, st.HoldsSlot = "user|editor", true }
	first, _ := putItem(t, s, ada, "i1", holds)
	before := head(t, s, ada)
	err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
		_, _, err := insertItem(t.Context(), tx, "i2", holds)
		return err
	})
	wantErr(t, "a second holder", err, storage.ErrConflict)
	same(t, "head", head(t, s, ada), before)
	same(t, "items", ids(changes(t, s, ada, 0).Items, statesID), []string{"i1"})

	putItem(t, s, bob, "i1", holds) // another partition has its own
	putItem(t, s, ada, "i3", func(m *memory.Item, st *memory.State) { m.FactKey, st.HoldsSlot = "User|editor", true })
	putItem(t, s, ada, "i4", func(m *memory.Item, st *memory.State) { m.FactKey = "user|editor" })
	putItem(t, s, ada, "i5", func(m *memory.Item, st *memory.State) {
		m.FactKey, st.HoldsSlot, st.Valid.To = "user|editor", true, at(12)
	})
	commit(t, s, ada, func(tx storage.Tx) error { // the slot passes on in one commit
		check(t, tx.CloseStates(t.Context(), []string{"i1"}, at(20)))
		after := newState(tx, first, 2)
		after.Status, after.SystemFrom = memory.StatusSuperseded, at(20)
		check(t, tx.InsertStates(t.Context(), []memory.State{after}))
		_, _, err := insertItem(t.Context(), tx, "i2", holds)
		return err
	})
}

func itemEvidence(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 1)
	putItem(t, s, ada, "i", nil)
	insert := func(n int, episode string, start int) error {
		return s.Update(t.Context(), ada, func(tx storage.Tx) error {
			return tx.InsertEvidence(t.Context(), []memory.Evidence{{Partition: ada.ID(), ItemID: "i", N: n, Change: tx.Head().Change,
				EpisodeID: episode, Quote: "secret quote", Start: start, End: start + 12, Polarity: memory.Positive, Authority: memory.Authorized}})
		})
	}
	check(t, insert(1, "e1", 0))
	check(t, insert(2, "e1", 5))
	wantErr(t, "the same words twice", insert(3, "e1", 0), storage.ErrConflict)
	wantErr(t, "an episode that is not there", insert(3, "none", 0), storage.ErrConflict)
	got, err := s.Items(t.Context(), ada.ID(), []string{"i"})
	check(t, err)
	same(t, "how many", len(got[0].Evidence), 2)
}

func itemConflicts(t *testing.T, s storage.Store) {
	for _, id := range []string{"i1", "i2", "i3"} {
		putItem(t, s, ada, id, nil)
	}
	conflict := memory.Conflict{Partition: ada.ID(), ItemID: "i2", OtherID: "i1", Reason: "says otherwise", Decision: "d-i2", At: at(1), Change: 4}
	commit(t, s, ada, func(tx storage.Tx) error { return tx.InsertConflicts(t.Context(), []memory.Conflict{conflict}) })
	got, err := s.Items(t.Context(), ada.ID(), []string{"i1", "i2", "i3"})
	check(t, err)
	same(t, "i1", got[0].Conflicts, []memory.Conflict{conflict})
	same(t, "i2", got[1].Conflicts, []memory.Conflict{conflict})
	same(t, "i3", got[2].Conflicts, []memory.Conflict(nil))
	err = s.Update(t.Context(), ada, func(tx storage.Tx) error { return tx.InsertConflicts(t.Context(), []memory.Conflict{conflict}) })
	wantErr(t, "twice", err, storage.ErrConflict)
}

func itemByFactKey(t *testing.T, s storage.Store) {
	key := func(k string) func(*memory.Item, *memory.State) {
		return func(m *memory.Item, _ *memory.State) { m.FactKey = k }
	}
	putItem(t, s, ada, "i3", key("a"))
	putItem(t, s, ada, "i2", key("b"))
	putItem(t, s, ada, "i1", key("a"))
	putItem(t, s, ada, "open", nil)
	putItem(t, s, bob, "bobs", key("a"))
	commit(t, s, ada, func(tx storage.Tx) error {
		if _, _, err := insertItem(t.Context(), tx, "own", key("a")); err != nil {
			return err
		}
		for want, keys := range map[string][]string{"i3 i1 own": {"a"}, "i3 i2 i1 own": {"b", "a", "c"}, "": {"A"}} {
			got, err := tx.ItemsByFactKey(t.Context(), keys)
			check(t, err)
			same(t, want, ids(got, recordID), strings.Fields(want))
		}
		none, err := tx.ItemsByFactKey(t.Context(), nil)
		check(t, err)
		same(t, "no keys", ids(none, recordID), []string(nil))
		return nil
	})
}

func itemByText(t *testing.T, s storage.Store) {
	text := func(k string) func(*memory.Item, *memory.State) {
		return func(m *memory.Item, _ *memory.State) { m.TextKey = k }
	}
	putItem(t, s, ada, "i2", text("ada likes tea"))
	putItem(t, s, ada, "i1", text("ada likes tea"))
	putItem(t, s, ada, "i3", text("ada likes te\u0301a"))
	putItem(t, s, bob, "bobs", text("ada likes tea"))
	commit(t, s, ada, func(tx storage.Tx) error {
		for want, keys := range map[string][]string{"i2 i1": {"ada likes tea", "none"}, "i3": {"ada likes te\u0301a"}, "": {"Ada likes tea"}} {
			got, err := tx.ItemsByText(t.Context(), keys)
			check(t, err)
			same(t, want, ids(got, recordID), strings.Fields(want))
		}
		return nil
	})
}

func lineByFactKey(t *testing.T, s storage.Store) {
	shape := func(key, root string) func(*memory.Item, *memory.State) {
		return func(m *memory.Item, _ *memory.State) { m.FactKey, m.Root = key, root }
	}
	putItem(t, s, ada, "i9", shape("k", "i9"))
	putItem(t, s, ada, "i5", shape("k", "i5")) // another root, the same key
	putItem(t, s, ada, "other", shape("k2", "i9"))
	putItem(t, s, bob, "i1", shape("k", "i1"))
	for _, id := range []string{"i9", "i5"} {
		got, err := s.Line(t.Context(), ada.ID(), id)
		check(t, err)
		same(t, "line of "+id, ids(got, recordID), []string{"i9", "i5"})
		same(t, "with states", len(got[1].States), 1)
	}
	_, err := s.Line(t.Context(), ada.ID(), "i1")
	wantErr(t, "another partition's item", err, storage.ErrNotFound)
	_, err = s.Line(t.Context(), memory.Partition{Name: "nobody"}.ID(), "i9")
	wantErr(t, "no partition", err, storage.ErrNotFound)
}

func lineByRoot(t *testing.T, s storage.Store) {
	root := func(root string) func(*memory.Item, *memory.State) {
		return func(m *memory.Item, _ *memory.State) { m.Root = root }
	}
	putItem(t, s, ada, "i2", root("i2"))
	putItem(t, s, ada, "i1", root("i2"))
	putItem(t, s, ada, "i3", root("i3"))
	got, err := s.Line(t.Context(), ada.ID(), "i1")
	check(t, err)
	same(t, "line", ids(got, recordID), []string{"i2", "i1"})
	got, err = s.Line(t.Context(), ada.ID(), "i3")
	check(t, err)
	same(t, "a line of one", ids(got, recordID), []string{"i3"})
}
