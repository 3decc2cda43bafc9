package meminfra_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm/hashed"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// talk is a conversation with something for each branch.
func talk() []meminfra.Message {
	texts := []string{"I live in Lisbon.", "I use PostgreSQL.", "I speak Dutch and German.", "The cat sleeps all day.",
		"I switched to SQLite.", "I moved to Porto.", "I speak Dutch.", "My favourite colour is green.", "We cooked soup with leeks."}
	for i := range 40 {
		texts = append(texts, fmt.Sprintf("On day %d we spoke of %s and %s.", i, cities[i%len(cities)], allergens[i*7%len(allergens)]))
	}
	return told(texts...)
}

var talkQueries = []string{"Where do I live?", "Which database do I use?", "Which languages do I speak?", "sleeping cats",
	"What did we cook with leeks?", "favourite colour", "Porto", "spoke of eggs", "nothing alike"}

// The index is derived: one that was built at once, one that was kept up with
// every message, one that watched another layer write and one whose memory was
// too small to keep it give the same hits, scores and order.
func TestIndexIsTheSameHoweverItCameToBe(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		writing, watching := newLayer(t, store, frozen), newLayer(t, store, frozen, randomIDs)
		small := newLayer(t, store, frozen, randomIDs, func(o *meminfra.Options) { o.IndexBudget = 1 })
		for _, m := range talk() {
			mustAdd(t, writing, addTo("ada", "c", m))
			for _, ml := range []*meminfra.MemoryLayer{writing, watching} {
				mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Lisbon"})
			}
		}
		fresh := newLayer(t, store, frozen, randomIDs)
		for _, q := range talkQueries {
			req := meminfra.SearchRequest{UserID: "ada", Query: q, Limit: 100}
			want := mustSearch(t, fresh, req).Hits
			if len(want) == 0 {
				continue
			}
			sameHits(t, "kept current: "+q, mustSearch(t, writing, req).Hits, want)
			sameHits(t, "watched: "+q, mustSearch(t, watching, req).Hits, want)
			sameHits(t, "evicted: "+q, mustSearch(t, small, req).Hits, want)
			mustSearch(t, small, meminfra.SearchRequest{UserID: "nobody", Query: q}) // pushes ada out
			req.Limit = 3
			sameHits(t, "a lower limit: "+q, mustSearch(t, fresh, req).Hits, want[:min(3, len(want))])
		}
	})
}

// Hundreds of users share a memory that holds the indexes of a few: whoever was
// pushed out comes back with the same hits, and no search fails. Source: issue 5.
func TestManyUsersUnderASmallBudget(t *testing.T) {
	const users = 200
	onStores(t, func(t *testing.T, store storage.Store) {
		budget := int64(64 << 10)
		wide := newLayer(t, store, frozen)
		small := newLayer(t, store, frozen, randomIDs, func(o *meminfra.Options) { o.IndexBudget = budget })
		name := func(i int) string { return fmt.Sprint("user ", i) }
		for i := range users {
			mustAdd(t, wide, addTo(name(i), "c", told("I live in "+cities[i%len(cities)]+".", fmt.Sprintf("We cooked soup number %d.", i))...))
		}
		for round := range 2 {
			for i := range users {
				i = (i + round*users/2) % users
				for _, q := range []string{"Where do I live?", fmt.Sprint("soup number ", i)} {
					req := meminfra.SearchRequest{UserID: name(i), Query: q}
					want := mustSearch(t, wide, req).Hits
					if len(want) == 0 {
						t.Fatalf("%s: nothing found for %q", name(i), q)
					}
					sameHits(t, name(i)+": "+q, mustSearch(t, small, req).Hits, want)
				}
			}
		}
		kept := func(ml *meminfra.MemoryLayer) (n int, bytes int64) {
			for i := range users {
				st, err := ml.IndexStatus(t.Context(), meminfra.IndexRequest{UserID: name(i)})
				if err != nil {
					t.Fatal(err)
				}
				if st.Loaded {
					n, bytes = n+1, bytes+st.Bytes
				}
			}
			return n, bytes
		}
		if n, bytes := kept(small); n == 0 || n > users/2 || bytes > budget {
			t.Errorf("%d of %d indexes kept, %d bytes of %d", n, users, bytes, budget)
		}
		if n, _ := kept(wide); n != users {
			t.Errorf("%d of %d indexes kept under the default budget", n, users)
		}
	})
}

// What one layer writes the other sees at its next call: a new fact, its end,
// a message.
func TestWritesOfAnotherLayerAreSeen(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		writing, reading := newLayer(t, store), newLayer(t, store, randomIDs)
		for i, c := range []struct{ text, value string }{
			{"I live in Lisbon.", "Lisbon"}, {"I moved to Porto.", "Porto"}, {"I no longer live in Porto.", ""},
		} {
			mustAdd(t, writing, addTo("ada", "c", said(fmt.Sprint("m", i), c.text, i)))
			res := mustSearch(t, reading, meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"})
			current := ""
			for _, h := range res.Hits {
				if h.Predicate == "location" && h.Polarity == memory.Positive && h.ValidTo == nil {
					current = h.Value
				}
			}
			if current != c.value {
				t.Errorf("after %q the reader finds %q", c.text, current)
			}
			if got := len(mustList(t, reading, "ada", episodesOnly)); got != i+1 {
				t.Errorf("after %q the reader lists %d messages", c.text, got)
			}
		}
	})
}

// An embedder that is down costs the vectors and says so; words and structure
// answer, and what was written meanwhile is found.
func TestEmbedderDown(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		embedder := &counted{Embedder: hashed.New()}
		ml := newLayer(t, store, withEmbedder(embedder))
		mustAdd(t, ml, addTo("ada", "c", said("m1", "I live in Lisbon.", 0)))
		embedder.broken.Store(true)
		res := mustAdd(t, ml, addTo("ada", "c", said("m2", "I moved to Porto.", 1)))
		if len(res.Degraded) != 1 || len(res.Actions) != 1 {
			t.Errorf("add: degraded %q, %v", res.Degraded, actionsOf(res))
		}
		found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"})
		if len(found.Degraded) != 1 || len(found.Hits) == 0 || found.Hits[0].Value != "Porto" {
			t.Fatalf("search: degraded %q, hits %q", found.Degraded, texts(found.Hits))
		}
		if r := found.Hits[0].Ranks; r.Structured != 1 || r.Vector != 0 {
			t.Errorf("ranks %+v", r)
		}
		embedder.broken.Store(false)
		found = mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Porto"})
		if len(found.Hits) == 0 || found.Hits[0].Value != "Porto" {
			t.Errorf("up again: %q", texts(found.Hits))
		}
	})
}

// Case A14: after a change of the embedding model, of the same width or
// another, under another name or the same, nothing panics, old vectors are not
// compared with new ones, words still find what was there and new things are
// found by vector.
func TestEmbeddingModelChanged(t *testing.T) {
	old := bagOfWords{"old", 8}
	onStores(t, func(t *testing.T, store storage.Store) {
		for name, next := range map[string]bagOfWords{"wider": {"new", 16}, "same width": {"new", 8}, "same name": {"old", 16}, "narrower": {"new", 3}} {
			before := newLayer(t, store, randomIDs, withEmbedder(old))
			mustAdd(t, before, addTo(name, "c", told("I live in Lisbon.", "The cat sleeps all day.")...))
			after := newLayer(t, store, randomIDs, withEmbedder(next))
			found := mustSearch(t, after, meminfra.SearchRequest{UserID: name, Query: "the cat sleeps"})
			if len(found.Hits) == 0 || found.Hits[0].Text != "The cat sleeps all day." || found.Hits[0].Ranks.Vector != 0 {
				t.Errorf("%s: found %+v", name, found.Hits)
			}
			if len(found.Degraded) == 0 {
				t.Errorf("%s: the answer is word-based and does not say so", name)
			}
			mustAdd(t, after, addTo(name, "c", said("m9", "Quails breed in spring.", 9)))
			found = mustSearch(t, after, meminfra.SearchRequest{UserID: name, Query: "quails breed in spring."})
			if len(found.Hits) == 0 || found.Hits[0].Text != "Quails breed in spring." || found.Hits[0].Ranks.Vector != 1 {
				t.Errorf("%s: the new one: %+v", name, found.Hits)
			}
			for _, h := range found.Hits[1:] {
				if h.Ranks.Vector != 0 {
					t.Errorf("%s: an old vector was compared: %+v", name, h)
				}
			}
		}
	})
}

// wrong is an embedder whose vectors are not what it says: for texts about
// quails they are as given.
type wrong struct {
	bagOfWords
	vector []float32
}

func (e wrong) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out, err := e.bagOfWords.Embed(ctx, texts)
	for i, text := range texts {
		if strings.Contains(text, "quail") {
			out[i] = e.vector
		}
	}
	return out, err
}

// A vector that is none (too short, too long, missing, not finite, zero) harms
// nothing else: neither the Add that brings it nor any search after it.
func TestBadVectors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	onStores(t, func(t *testing.T, store storage.Store) {
		for name, vector := range map[string][]float32{"short": {1}, "long": make16(1), "missing": nil, "empty": {}, "zero": make([]float32, 8),
			"NaN": {nan, 0, 0, 0, 0, 0, 0, 1}, "infinite": {inf, 0, 0, 0, 0, 0, 0, 1}, "huge": {3e38, 3e38, 0, 0, 0, 0, 0, 1}} {
			ml := newLayer(t, store, randomIDs, withEmbedder(wrong{bagOfWords{"w", 8}, vector}))
			mustAdd(t, ml, addTo(name, "c", told("I breed quail here.", "The cat sleeps all day.")...))
			for _, ml := range []*meminfra.MemoryLayer{ml, newLayer(t, store, randomIDs, withEmbedder(wrong{bagOfWords{"w", 8}, vector}))} {
				found := mustSearch(t, ml, meminfra.SearchRequest{UserID: name, Query: "the cat sleeps all day."})
				if len(found.Hits) == 0 || found.Hits[0].Text != "The cat sleeps all day." || found.Hits[0].Ranks.Vector != 1 {
					t.Errorf("%s: %+v", name, found.Hits)
				}
				found = mustSearch(t, ml, meminfra.SearchRequest{UserID: name, Query: "quail"}) // the query's vector is bad as well
				if len(found.Hits) == 0 || found.Hits[0].Text != "I breed quail here." {
					t.Errorf("%s: by word: %+v", name, found.Hits)
				}
			}
		}
	})
}

func make16(x float32) []float32 {
	v := make([]float32, 16)
	v[0] = x
	return v
}

// A large memory is searched before its vectors are all in memory. What is found
// meanwhile is what is found ever after, whoever writes beside it.
func TestFirstSearchesOfALargeMemory(t *testing.T) {
	const dim, n = 1536, 2750 // whose vectors a load does not keep
	embedder := withEmbedder(newShelf(dim, questions()))
	onStores(t, func(t *testing.T, store storage.Store) {
		open := func() *meminfra.MemoryLayer { return newLayer(t, store, frozen, randomIDs, embedder) }
		find := func(ml *meminfra.MemoryLayer, question string) []meminfra.SearchHit {
			res := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: question, Limit: 100})
			if len(res.Hits) != 100 || len(res.Degraded) > 0 {
				t.Errorf("%q: %d hits, degraded %v", question, len(res.Hits), res.Degraded)
			}
			return res.Hits
		}
		all := open()
		for some := range slices.Chunk(chatter(n), 500) {
			mustAdd(t, all, addTo("ada", "c", some...))
		}
		whole, err := all.Reindex(t.Context(), meminfra.IndexRequest{UserID: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range questions()[:5] {
			first := open()
			lean, err := first.IndexStatus(t.Context(), meminfra.IndexRequest{UserID: "ada", Load: true})
			if err != nil || lean.Vectors < n || runtime.GOARCH == "amd64" && lean.Bytes > whole.Bytes-4*dim*n {
				t.Errorf("%+v, %v; whole it is %+v", lean, err, whole)
			}
			sameHits(t, "at first: "+q, find(first, q), find(all, q))
		}
		beside := open()
		var both sync.WaitGroup
		both.Go(func() {
			for ten := range slices.Chunk(statements(300), 10) {
				if _, err := all.Add(t.Context(), addTo("ada", "d", ten...)); err != nil {
					t.Error(err)
				}
			}
		})
		for _, q := range questions() {
			find(beside, q)
		}
		both.Wait()
		for _, q := range questions() {
			sameHits(t, "beside a writer: "+q, find(beside, q), find(all, q))
		}
	})
}
