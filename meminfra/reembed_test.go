package meminfra_test

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// A vector that is none leaves its text without one, until it is made again by an
// embedder that is well.
func TestReembedMendsBadVectors(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		for name, vector := range map[string][]float32{"short": {1}, "missing": nil, "NaN": {float32(math.NaN()), 1, 0, 0, 0, 0, 0, 0}, "infinite": {0, float32(math.Inf(-1)), 0, 0, 0, 0, 0, 0}} {
			ill, well := newLayer(t, store, randomIDs, withEmbedder(wrong{bagOfWords{"w", 8}, vector})), newLayer(t, store, randomIDs, withEmbedder(bagOfWords{"w", 8}))
			mustAdd(t, ill, addTo(name, "c", told("We saw a quail.", "The cat sleeps all day.")...))
			res, err := well.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: name})
			if err != nil || res.Texts != 1 || res.Embedded != 1 {
				t.Errorf("%s: %+v, %v", name, res, err)
			}
			hits := mustSearch(t, well, meminfra.SearchRequest{UserID: name, Query: "We saw a quail."}).Hits
			if len(hits) == 0 || hits[0].Text != "We saw a quail." || hits[0].Ranks.Vector != 1 {
				t.Errorf("%s: %+v", name, hits)
			}
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

// What doctor finds without a vector in a team's memory and in everybody's, it
// names the way to mend; a member of another team cannot, and two scopes are none.
func TestReembedOfSharedMemory(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		first := newLayer(t, store, randomIDs)
		mustGrant(t, first, meminfra.GrantRequest{TeamID: "red", UserID: "ada"})
		mustGrant(t, first, meminfra.GrantRequest{TeamID: "red", UserID: "bob"})
		mustAdd(t, first, meminfra.AddRequest{UserID: "bob", ConversationID: "r", TeamID: "red", Messages: told("I live in Porto.")})
		mustAdd(t, first, meminfra.AddRequest{UserID: "ada", ConversationID: "p", Public: true, Messages: told("I live in Faro.")})
		ml := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.Embedder = bagOfWords{"other", 8} })
		missing := func(want bool) {
			t.Helper()
			res, err := ml.Doctor(t.Context(), meminfra.DoctorRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range res.Checks {
				if c.Name == string(storage.TopicVectors) && (c.OK == want || want && (!strings.Contains(c.Remedy, "--team") || !strings.Contains(c.Remedy, "--public"))) {
					t.Errorf("vectors are missing: %v, check %+v", want, c)
				}
			}
		}
		for name, c := range map[string]struct {
			req  meminfra.ReembedRequest
			want error
		}{
			"no member":  {meminfra.ReembedRequest{UserID: "eve", TeamID: "red"}, meminfra.ErrNotMember},
			"two scopes": {meminfra.ReembedRequest{UserID: "ada", TeamID: "red", Public: true}, meminfra.ErrTwoScopes},
			"no user":    {meminfra.ReembedRequest{TeamID: "red"}, meminfra.ErrNoUser},
		} {
			if _, err := ml.Curate().Reembed(t.Context(), c.req); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		missing(true)
		for _, req := range []meminfra.ReembedRequest{{UserID: "ada", TeamID: "red"}, {UserID: "bob", Public: true}} {
			res, err := ml.Curate().Reembed(t.Context(), req)
			if err != nil || res.Texts != 2 || res.Embedded != 2 {
				t.Errorf("%+v: %+v, %v, want a message and an item", req, res, err)
			}
		}
		missing(false)
	})
}
