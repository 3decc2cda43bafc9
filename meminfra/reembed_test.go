package meminfra_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm/hashed"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// renamed is the built-in embedder under another model's name, which stops
// after some calls.
type renamed struct {
	*hashed.Embedder
	calls int
}

var errStopped = errors.New("stopped")

func (r *renamed) Model() string { return "another/1" }

func (r *renamed) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if r.calls--; r.calls < 0 {
		return nil, errStopped
	}
	return r.Embedder.Embed(ctx, texts)
}

// TestReembedGoesOn: after a change of model the vectors are made anew, batch by
// batch; stopped half-way it goes on where it stopped, and no vector of the old
// model is used for the new one.
func TestReembedGoesOn(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		var messages []meminfra.Message
		for i := range 300 {
			messages = append(messages, meminfra.Message{ID: fmt.Sprint(i), Content: fmt.Sprintf("The lighthouse number %d stands on a rock", i)})
		}
		first := newLayer(t, store)
		if _, err := first.Add(t.Context(), meminfra.AddRequest{UserID: "ada", ConversationID: "c", Messages: messages}); err != nil {
			t.Fatal(err)
		}
		e := &renamed{Embedder: hashed.New(), calls: 3}
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Embedder, o.NewID = e, nil })
		found, err := ml.Search(t.Context(), meminfra.SearchRequest{UserID: "ada", Query: "lighthouse"})
		if err != nil || !slices.ContainsFunc(found.Degraded, func(s string) bool { return strings.Contains(s, "vector") }) ||
			found.Hits[0].Ranks.Vector != 0 {
			t.Fatalf("the change of model goes unnoticed: %v, %+v", err, found.Degraded)
		}
		res, err := ml.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: "ada"})
		if !errors.Is(err, errStopped) || res.Texts != 300 || res.Embedded != 256 {
			t.Fatalf("stopped: %v, %+v", err, res)
		}
		e.calls = 10
		var last [2]int
		res, err = ml.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: "ada",
			Progress: func(done, total int) { last = [2]int{done, total} }})
		if err != nil || res.Texts != 44 || res.Embedded != 44 || last != [2]int{44, 44} {
			t.Fatalf("gone on: %v, %+v, %v", err, res, last)
		}
		found, err = ml.Search(t.Context(), meminfra.SearchRequest{UserID: "ada", Query: "lighthouse number 7"})
		if err != nil || slices.ContainsFunc(found.Degraded, func(s string) bool { return strings.Contains(s, "vector") }) ||
			found.Hits[0].Ranks.Vector == 0 {
			t.Errorf("after it: %v, %+v, %+v", err, found.Degraded, found.Hits[0].Ranks)
		}
	})
}

// A stored vector that is cut short is an error on either store, and never read
// as a shorter one.
func TestVectorThatIsCutShort(t *testing.T) {
	onTargets(t, func(t *testing.T, store storage.Store, target string) {
		mustAdd(t, newLayer(t, store), addTo("ada", "c", said("m1", "I live in Lisbon.", 0)))
		execute(t, target, `UPDATE embedding SET vector = substr(vector, 1, 7)`)
		ml := newLayer(t, store)
		if _, err := ml.Search(t.Context(), meminfra.SearchRequest{UserID: "ada", Query: "Lisbon"}); err == nil {
			t.Error("a search reads it")
		}
		if _, err := ml.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: "ada"}); err == nil {
			t.Error("reembed reads it")
		}
	})
}
