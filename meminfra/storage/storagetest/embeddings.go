package storagetest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var embeddingTests = []test{
	{name: "streamed are those that are listed", run: streamed},
	{name: "streamed of nothing", run: streamedNone},
	{name: "not streamed since a change number", run: streamedSince},
	{name: "an error of who takes them", run: streamedError},
	{name: "by key", run: embeddingsByKey},
}

// taken are the embeddings that Changes streamed, each as often as it was begun.
type taken struct {
	change []int64
	most   int
	list   []memory.Embedding
}

// take copies each vector and then writes over it, which is the taker's right.
func (k *taken) take(change int64, n int) func(*memory.Embedding) error {
	k.change, k.most, k.list = append(k.change, change), n, nil
	return func(e *memory.Embedding) error {
		own := *e
		own.Vector = slices.Clone(e.Vector)
		k.list = append(k.list, own)
		for i := range e.Vector {
			e.Vector[i] = -1
		}
		*e = memory.Embedding{Vector: e.Vector}
		return nil
	}
}

// sameVectors compares in any order and bit by bit.
func sameVectors(t *testing.T, what string, got, want []memory.Embedding) {
	t.Helper()
	lines := func(list []memory.Embedding) (lines []any) {
		slices.SortFunc(list, func(a, b memory.Embedding) int { return strings.Compare(vectorOwner(a), vectorOwner(b)) })
		for _, e := range list {
			var bits []uint32
			for _, f := range e.Vector {
				bits = append(bits, math.Float32bits(f))
			}
			e.Vector = nil
			lines = append(lines, e, bits)
		}
		return lines
	}
	same(t, what, lines(slices.Clone(got)), lines(slices.Clone(want)))
}

// putVectors commits an item and an episode with the same id, with vectors of two
// models, and returns those of model "m" as they are read.
func putVectors(t *testing.T, s storage.Store) []memory.Embedding {
	t.Helper()
	putEpisodes(t, s, ada, 2)
	putItem(t, s, ada, "e1", nil)
	nan := math.Float32frombits(0x7fc00abc)
	list := []memory.Embedding{
		{OwnerKind: memory.OwnerEpisode, OwnerID: "e1", Model: "m", Vector: []float32{1, nan}},
		{OwnerKind: memory.OwnerEpisode, OwnerID: "e1", Model: "m", Part: 1, Vector: []float32{2, float32(math.Copysign(0, -1)), 3}},
		{OwnerKind: memory.OwnerItem, OwnerID: "e1", Model: "m", Vector: []float32{4, 5}},
		{OwnerKind: memory.OwnerEpisode, OwnerID: "e2", Model: "m"}, // of a text in which the model found nothing
		{OwnerKind: memory.OwnerEpisode, OwnerID: "e2", Model: "other", Vector: []float32{6, 7}},
	}
	for i := range list {
		list[i].Partition, list[i].Change = ada.ID(), 3
	}
	commit(t, s, ada, func(tx storage.Tx) error { return tx.PutEmbeddings(t.Context(), list) })
	commit(t, s, bob, func(tx storage.Tx) error {
		return tx.PutEmbeddings(t.Context(), []memory.Embedding{
			{OwnerKind: memory.OwnerEpisode, OwnerID: "e1", Model: "m", Vector: []float32{8, 9}}})
	})
	return list[:4]
}

func streamed(t *testing.T, s storage.Store) {
	list := putVectors(t, s)
	want := changes(t, s, ada, 0)
	sameVectors(t, "listed", want.Embeddings, list)
	var k taken
	rows := 0
	got, err := s.Changes(t.Context(), storage.ChangesParams{Partition: ada.ID(), Model: "m",
		Rows: func(storage.Changes) { rows++ }, Vectors: k.take})
	check(t, err)
	sameVectors(t, "streamed", k.list, list)
	same(t, "begun at", k.change, []int64{got.Head.Change})
	if k.most < len(list) || rows != 1 {
		t.Errorf("at most %d of %d; rows came %d times", k.most, len(list), rows)
	}
	want.Embeddings = nil
	same(t, "changes", got, want)
}

func streamedNone(t *testing.T, s storage.Store) {
	for change := range int64(2) { // no partition, and one without vectors
		if change == 1 {
			putEpisodes(t, s, ada, 1)
		}
		k := taken{most: -1}
		c, err := s.Changes(t.Context(), storage.ChangesParams{Partition: ada.ID(), Model: "m", Vectors: k.take})
		check(t, err)
		same(t, "change", c.Head.Change, change)
		same(t, "begun at", k.change, []int64{change})
		same(t, "at most", k.most, 0)
		same(t, "streamed", len(k.list), 0)
	}
}

func streamedSince(t *testing.T, s storage.Store) {
	list := putVectors(t, s)
	var k taken
	c, err := s.Changes(t.Context(), storage.ChangesParams{Partition: ada.ID(), Since: 2, Model: "m", Vectors: k.take})
	check(t, err)
	same(t, "begun", len(k.change), 0)
	sameVectors(t, "listed", c.Embeddings, list)
}

func streamedError(t *testing.T, s storage.Store) {
	putVectors(t, s)
	full := errors.New("full")
	calls := 0
	c, err := s.Changes(t.Context(), storage.ChangesParams{Partition: ada.ID(), Model: "m",
		Vectors: func(int64, int) func(*memory.Embedding) error {
			return func(*memory.Embedding) error { calls++; return full }
		}})
	wantErr(t, "changes", err, full)
	same(t, "changes", c, storage.Changes{})
	same(t, "calls", calls, 1)
	same(t, "episodes afterwards", len(changes(t, s, ada, 0).Episodes), 2)
}

func embeddingsByKey(t *testing.T, s storage.Store) {
	list := putVectors(t, s)
	ask := func(p storage.EmbeddingsParams) []memory.Embedding {
		t.Helper()
		var k taken
		check(t, s.Embeddings(t.Context(), p, k.take(0, 0)))
		return k.list
	}
	get := func(p memory.Partition, model string, items, episodes []string) []memory.Embedding {
		t.Helper()
		return ask(storage.EmbeddingsParams{Partition: p.ID(), Model: model, Items: items, Episodes: episodes})
	}
	e1, e2, no := []string{"e1"}, []string{"e2"}, []string{"e9", ""}
	sameVectors(t, "the episode", get(ada, "m", nil, e1), list[:2])
	sameVectors(t, "the item of that name", get(ada, "m", e1, e2), list[2:])
	sameVectors(t, "all, some asked twice", get(ada, "m", []string{"e1", "e9", "e1"}, []string{"e2", "e1", "e2"}), list)
	same(t, "of no such rows", get(ada, "m", append(no, "e2"), no), []memory.Embedding(nil))
	same(t, "of none", get(ada, "m", nil, nil), []memory.Embedding(nil))
	same(t, "of no such model", get(ada, "x", e1, e1), []memory.Embedding(nil))
	same(t, "of no such partition", get(memory.Partition{Name: "nobody"}, "m", e1, e1), []memory.Embedding(nil))
	same(t, "of another model", get(ada, "other", e1, []string{"e1", "e2"})[0].Vector, []float32{6, 7})
	same(t, "of another partition", get(bob, "m", e1, e1)[0].Vector, []float32{8, 9})
	sameVectors(t, "all", ask(storage.EmbeddingsParams{Partition: ada.ID(), Model: "m", All: true}), list)
	sameVectors(t, "all of no such model", ask(storage.EmbeddingsParams{Partition: ada.ID(), Model: "x", All: true}), nil)
	full, calls := errors.New("full"), 0
	err := s.Embeddings(t.Context(), storage.EmbeddingsParams{Partition: ada.ID(), Model: "m", All: true},
		func(*memory.Embedding) error { calls++; return full })
	wantErr(t, "embeddings", err, full)
	same(t, "calls", calls, 1)
}
