package storagetest

import (
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var changeTests = []test{
	{name: "of nothing", run: changesNone},
	{name: "since a change number", run: changesSince},
	{name: "rows before their vectors", run: changesEarly},
	{name: "an old item with a new state", run: changesState},
	{name: "an old item with a new state and an old vector", run: changesVector},
	{name: "an old item with new evidence", run: changesEvidence},
	{name: "partitions are apart", run: changesApart},
	{name: "heads of those that exist", run: heads},
}

func changesNone(t *testing.T, s storage.Store) {
	c := changes(t, s, ada, 0)
	same(t, "changes", c, storage.Changes{Head: storage.Head{Partition: ada.ID()}})
	putEpisodes(t, s, ada, 1)
	for _, since := range []int64{1, 99} {
		c = changes(t, s, ada, since)
		same(t, "nothing since", c, storage.Changes{Head: storage.Head{Partition: ada.ID(), Change: 1, Seq: 1}})
	}
}

func changesSince(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 2)
	putItem(t, s, ada, "i1", nil)
	commit(t, s, ada, func(tx storage.Tx) error {
		check(t, tx.InsertEpisodes(t.Context(), []memory.Episode{newEpisode(tx, "e3", "c1", "m3")}))
		return tx.PutEmbeddings(t.Context(), []memory.Embedding{ // of an older row and of a new one
			{Partition: ada.ID(), OwnerKind: memory.OwnerEpisode, OwnerID: "e1", Model: "m", Vector: []float32{1}, Change: 3},
			{Partition: ada.ID(), OwnerKind: memory.OwnerEpisode, OwnerID: "e3", Model: "m", Vector: []float32{3}, Change: 3},
			{Partition: ada.ID(), OwnerKind: memory.OwnerEpisode, OwnerID: "e3", Model: "other", Vector: []float32{4}, Change: 3},
		})
	})
	putItem(t, s, ada, "i2", nil)
	for since, want := range map[int64][3]string{
		0: {"e1 e2 e3", "i1 i2", "e1 e3"}, 1: {"e1 e3", "i1 i2", "e1 e3"},
		2: {"e1 e3", "i2", "e1 e3"}, 3: {"", "i2", ""}, 4: {"", "", ""},
	} {
		c := changes(t, s, ada, since)
		same(t, "head", c.Head, storage.Head{Partition: ada.ID(), Change: 4, Seq: 5})
		same(t, "reset", c.Reset, false)
		same(t, "episodes", ids(c.Episodes, episodeID), strings.Fields(want[0]))
		same(t, "items", ids(c.Items, statesID), strings.Fields(want[1]))
		same(t, "vectors", ids(c.Embeddings, func(e memory.Embedding) string { return e.OwnerID }), strings.Fields(want[2]))
	}
}

func changesEarly(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 2)
	putItem(t, s, ada, "i1", nil)
	commit(t, s, ada, func(tx storage.Tx) error {
		return tx.PutEmbeddings(t.Context(), []memory.Embedding{
			{Partition: ada.ID(), OwnerKind: memory.OwnerEpisode, OwnerID: "e1", Model: "m", Vector: []float32{1}, Change: 3}})
	})
	want := changes(t, s, ada, 0)
	var early []storage.Changes
	got, err := s.Changes(t.Context(), storage.ChangesParams{Partition: ada.ID(), Model: "m",
		Rows: func(c storage.Changes) { early = append(early, c) }})
	check(t, err)
	same(t, "changes", got, want)
	want.Embeddings = nil
	same(t, "rows", early, []storage.Changes{want})
}

func changesState(t *testing.T, s storage.Store) {
	item, first := putItem(t, s, ada, "i1", nil)
	putItem(t, s, ada, "i2", nil)
	var second memory.State
	commit(t, s, ada, func(tx storage.Tx) error {
		check(t, tx.CloseStates(t.Context(), []string{"i1"}, at(20)))
		second = newState(tx, item, 2)
		return tx.InsertStates(t.Context(), []memory.State{second})
	})
	first.SystemTo = at(20)
	same(t, "items", changes(t, s, ada, 2).Items, []storage.ItemStates{{Item: leanItem(stored(item)), States: leanStates(first, second)}})
}

// changesVector: a row that comes again must bring its vector again, or the
// index would lose it.
func changesVector(t *testing.T, s storage.Store) {
	item, _ := putItem(t, s, ada, "i1", nil)
	commit(t, s, ada, func(tx storage.Tx) error {
		return tx.PutEmbeddings(t.Context(), []memory.Embedding{
			{Partition: ada.ID(), OwnerKind: memory.OwnerItem, OwnerID: "i1", Model: "m", Vector: []float32{1}},
			{Partition: ada.ID(), OwnerKind: memory.OwnerItem, OwnerID: "i1", Model: "other", Vector: []float32{2}},
			{Partition: ada.ID(), OwnerKind: memory.OwnerEpisode, OwnerID: "i1", Model: "m", Vector: []float32{3}},
		})
	})
	commit(t, s, ada, func(tx storage.Tx) error {
		check(t, tx.CloseStates(t.Context(), []string{"i1"}, at(20)))
		return tx.InsertStates(t.Context(), []memory.State{newState(tx, item, 2)})
	})
	c := changes(t, s, ada, 2)
	same(t, "items", ids(c.Items, statesID), []string{"i1"})
	same(t, "vectors", ids(c.Embeddings, vectorOwner), []string{"item i1 0"})
	same(t, "the item whose vector came", ids(changes(t, s, ada, 1).Items, statesID), []string{"i1"})
}

// changesEvidence: an index that knows what supports an item must hear of more.
func changesEvidence(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 3)
	putItem(t, s, ada, "i1", nil)
	putItem(t, s, ada, "i2", nil)
	witness := func(n int, episode string) {
		commit(t, s, ada, func(tx storage.Tx) error {
			return tx.InsertEvidence(t.Context(), []memory.Evidence{{Partition: ada.ID(), ItemID: "i1", N: n, Change: tx.Head().Change,
				EpisodeID: episode, Quote: "q", End: 1, Polarity: memory.Positive, Authority: memory.Attested, Salt: []byte{1}}})
		})
	}
	witness(1, "e3")
	witness(2, "e1")
	for _, since := range []int64{4, 0} {
		items := changes(t, s, ada, since).Items
		same(t, "item", items[0].ID, "i1")
		same(t, "sources", items[0].Sources, []string{"e3", "e1"})
		same(t, "conversation", items[0].Conversation, "c1")
	}
	same(t, "those that changed", ids(changes(t, s, ada, 4).Items, statesID), []string{"i1"})
}

func changesApart(t *testing.T, s storage.Store) {
	a, b := putEpisodes(t, s, ada, 2), putEpisodes(t, s, bob, 1) // the same ids in both
	ia, _ := putItem(t, s, ada, "i1", nil)
	ib, _ := putItem(t, s, bob, "i1", func(m *memory.Item, _ *memory.State) { m.Text = "bob's own" })
	for _, own := range []struct {
		p        memory.Partition
		episodes []memory.Episode
		item     memory.Item
	}{{ada, a, ia}, {bob, b, ib}} {
		c := changes(t, s, own.p, 0)
		same(t, "episodes", c.Episodes, leanEpisodes(own.episodes))
		same(t, "item", c.Items[0].Item, leanItem(stored(own.item)))
		records, err := s.Items(t.Context(), own.p.ID(), []string{"i1"})
		check(t, err)
		same(t, "record", records[0].Item, stored(own.item))
		episodes, err := s.Episodes(t.Context(), own.p.ID(), []string{"e1", "e2"})
		check(t, err)
		same(t, "episodes by id", episodes, own.episodes)
	}
}

func heads(t *testing.T, s storage.Store) {
	none, err := s.Heads(t.Context())
	check(t, err)
	same(t, "none asked", len(none), 0)
	putEpisodes(t, s, ada, 3)
	putItem(t, s, bob, "i", nil)
	commit(t, s, bob, func(storage.Tx) error { return nil })
	got, err := s.Heads(t.Context(), ada.ID(), bob.ID(), memory.Partition{Name: "nobody"}.ID())
	check(t, err)
	same(t, "heads", len(got), 2)
	same(t, "ada", got[ada.ID()], storage.Head{Partition: ada.ID(), Change: 1, Seq: 3})
	same(t, "bob", got[bob.ID()], storage.Head{Partition: bob.ID(), Change: 2, Seq: 1})
}
