package meminfra_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm/hashed"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

type where = meminfra.Where

func is(field, op string, value any) *where { return &where{Field: field, Op: op, Value: value} }

// metadataCases are conditions over languages said with a rank and a topic:
// Dutch 2 x, Danish 4 y, German 9 x, Welsh "4" (a string), Irish without any.
var metadataCases = []struct {
	name string
	cond *where
	want []string
}{
	{"at least 4", is("rank", "gte", 4), []string{"Danish", "German"}},
	{"at least 4.0", is("rank", "gte", 4.0), []string{"Danish", "German"}},
	{"over 4", is("rank", "gt", int64(4)), []string{"German"}},
	{"at most 4", is("rank", "lte", uint8(4)), []string{"Danish", "Dutch"}},
	{"under 4", is("rank", "lt", 4), []string{"Dutch"}},
	{"in 2, 9", is("rank", "in", []any{2, 9}), []string{"Dutch", "German"}},
	{"in ints", is("rank", "in", []int{2, 9}), []string{"Dutch", "German"}},
	{"in nothing", is("rank", "in", []string{}), nil},
	{"4", is("rank", "eq", 4), []string{"Danish"}},
	{"the string 4", is("rank", "eq", "4"), []string{"Welsh"}},
	{"strings from 3", is("rank", "gt", "3"), []string{"Welsh"}},
	{"not 4", is("rank", "ne", 4), []string{"Dutch", "German", "Irish", "Welsh"}},
	{"not (4)", &where{Not: is("rank", "eq", 4)}, []string{"Dutch", "German", "Irish", "Welsh"}},
	{"(2 or 9) and topic x", &where{And: []where{{Or: []where{*is("rank", "eq", 2), *is("rank", "eq", 9)}}, *is("topic", "eq", "x")}},
		[]string{"Dutch", "German"}},
	{"(2 or 4) and not topic x", &where{And: []where{{Or: []where{*is("rank", "eq", 2), *is("rank", "eq", 4)}}, {Not: is("topic", "eq", "x")}}},
		[]string{"Danish"}},
	{"has a rank", is("rank", "exists", true), []string{"Danish", "Dutch", "German", "Welsh"}},
	{"has no rank", is("rank", "exists", false), []string{"Irish"}},
	{"a field nobody has", is("tier", "eq", 1), nil},
	{"null is no absence", is("rank", "eq", nil), nil},
	{"true is not 1", is("rank", "eq", true), nil},
}

func addLanguages(t *testing.T, ml *meminfra.MemoryLayer) {
	t.Helper()
	messages := told("I speak Dutch.", "I speak Danish.", "I speak German.", "I speak Welsh.", "I speak Irish.")
	for i, m := range []memory.Metadata{{"rank": 2, "topic": "x"}, {"rank": 4.0, "topic": "y"}, {"rank": 9, "topic": "x"}, {"rank": "4"}, nil} {
		messages[i].Metadata = m
	}
	mustAdd(t, ml, addTo("ada", "c", messages...))
}

// Case A11: exact result sets, for every operator, on List and on each branch
// of Search.
func TestMetadataFilters(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		embedder := &counted{Embedder: hashed.New()}
		ml := newLayer(t, store, withEmbedder(embedder))
		addLanguages(t, ml)
		for _, c := range metadataCases {
			filters := meminfra.Filters{Metadata: c.cond}
			if got := values(mustList(t, ml, "ada", filters)); !sameSet(got, c.want) {
				t.Errorf("%s: list has %v, want %v", c.name, got, c.want)
			}
			for branch, req := range map[string]meminfra.SearchRequest{
				"all":     {Query: "Which languages do I speak?"},
				"lexical": {Query: "speak", SkipIntent: true},
				"vector":  {Query: "speaker", SkipIntent: true}, // no word of it is said, but its letters are
			} {
				embedder.broken.Store(branch == "lexical")
				req.UserID, req.Filters = "ada", filters
				if got := values(recordsOf(mustSearch(t, ml, req).Hits)); !sameSet(got, c.want) {
					t.Errorf("%s: search by %s finds %v, want %v", c.name, branch, got, c.want)
				}
				req.Filters.Kind = memory.KindEpisode
				if got := mustSearch(t, ml, req).Hits; len(got) != len(c.want) {
					t.Errorf("%s: search by %s finds the episodes %q, want %d", c.name, branch, texts(got), len(c.want))
				}
			}
		}
	})
}

func recordsOf(hits []meminfra.SearchHit) []meminfra.Record {
	list := make([]meminfra.Record, len(hits))
	for i, h := range hits {
		list[i] = h.Record
	}
	return list
}

func sameSet(got, want []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(got)), want)
}

// badFilters say nothing that can be checked.
func badFilters() map[string]meminfra.Filters {
	list := map[string]meminfra.Filters{
		"unknown kind":        {Kind: "gossip"},
		"unknown memory type": {MemoryType: "procedural"},
		"unknown history":     {History: "maybe"},
		"unknown authority":   {MinAuthority: "king"},
		"value alone":         {Value: "Dutch"},
		"from after to":       {From: monday, To: monday.Add(-1)},
		"blank subject":       {SubjectName: " "},
		"blank value":         {Predicate: "nickname", Value: " "},
	}
	nested := is("rank", "eq", 1)
	for range 40 {
		nested = &where{Not: nested}
	}
	for what, cond := range map[string]*where{
		"unknown operator":      is("rank", "matches", 4),
		"SQL as operator":       is("rank", "eq 1 OR 1=1 --", 4),
		"operator in capitals":  is("rank", "EQ", 4),
		"no operator":           is("rank", "", 4),
		"no field":              is("", "eq", 4),
		"nothing":               {},
		"empty and":             {And: []where{}},
		"empty or inside":       {Not: &where{Or: []where{}}},
		"two forms":             {Field: "rank", Op: "eq", Value: 4, Not: is("rank", "eq", 4)},
		"in without a list":     is("rank", "in", 4),
		"in with a list inside": is("rank", "in", []any{[]any{1}}),
		"in with nothing":       is("rank", "in", nil),
		"order of booleans":     is("rank", "gt", true),
		"order of null":         is("rank", "lt", nil),
		"a list as value":       is("rank", "eq", []int{4}),
		"an object as value":    is("rank", "ne", map[string]any{"a": 1}),
		"exists with a word":    is("rank", "exists", "yes"),
		"not a number":          is("rank", "eq", math.NaN()),
		"infinity":              is("rank", "lt", math.Inf(1)),
		"a channel":             is("rank", "eq", make(chan int)),
		"too deep":              nested,
		"wrong deep inside":     {Or: []where{*is("rank", "eq", 4), {And: []where{*is("rank", "like", "4")}}}},
	} {
		list[what] = meminfra.Filters{Metadata: cond}
	}
	return list
}

// What cannot be checked is an error, never no filter at all: also for a user
// of whom nothing is known.
func TestUnknownFiltersAreErrors(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		addLanguages(t, ml)
		for what, f := range badFilters() {
			for _, user := range []string{"ada", "nobody"} {
				if _, err := ml.List(t.Context(), meminfra.ListRequest{UserID: user, Filters: f}); !errors.Is(err, meminfra.ErrFilter) {
					t.Errorf("list with %s: %v", what, err)
				}
				_, err := ml.Search(t.Context(), meminfra.SearchRequest{UserID: user, Query: "speak", Filters: f})
				if !errors.Is(err, meminfra.ErrFilter) {
					t.Errorf("search with %s: %v", what, err)
				}
			}
		}
	})
	for _, text := range []string{`{"rnak": 4}`, `{"metadata": {"feild": "rank"}}`, `{"kind": 4}`, `{"valid_at": "soon"}`, `{"metadata": {"and": {}}}`,
		`[]`, ``, `{} {}`, `{"kind": "fact"`, `{"limit": 4}`, `null`, `{"kind": ""}`, `{"conversation_id": null, "kind": "fact"}`, `{"metadata": null}`, `{"kind": "fact", "kind": "event"}`,
		`{"Kind": "fact", "kind": "fact"}`, `{"to": "0001-01-01T00:00:00Z"}`, `{"metadata": {"field": "a", "field": "b", "op": "eq", "value": 1}}`,
		`{"metadata": {"or": [], "field": "a", "op": "eq", "value": 1}}`} {
		if f, err := retrieve.ParseFilters([]byte(text)); !errors.Is(err, meminfra.ErrFilter) {
			t.Errorf("%s: %+v, %v", text, f, err)
		}
	}
}

// typedCases are the other fields of the filters, on a small history of two
// speakers; want holds values.
func typedCases() map[string]struct {
	filters meminfra.Filters
	want    []string
} {
	type c = struct {
		filters meminfra.Filters
		want    []string
	}
	all := []string{"Acme", "Danish", "Dutch", "Globex", "Porto"}
	return map[string]c{
		"nothing":          {meminfra.Filters{}, all},
		"facts":            {meminfra.Filters{Kind: memory.KindFact}, all},
		"preferences":      {meminfra.Filters{Kind: memory.KindPreference}, nil},
		"semantic":         {meminfra.Filters{MemoryType: "semantic"}, all},
		"episodic":         {meminfra.Filters{MemoryType: "episodic"}, nil},
		"predicate":        {meminfra.Filters{Predicate: "employer"}, []string{"Acme", "Globex"}},
		"alias":            {meminfra.Filters{Predicate: "Works For"}, []string{"Acme", "Globex"}},
		"unused predicate": {meminfra.Filters{Predicate: "birthday"}, nil},
		"value":            {meminfra.Filters{Predicate: "spoken_language", Value: " dutch "}, []string{"Dutch"}},
		"subject type":     {meminfra.Filters{SubjectType: "person"}, []string{"Danish", "Globex"}},
		"subject name":     {meminfra.Filters{SubjectName: "BO"}, []string{"Danish", "Globex"}},
		"the user":         {meminfra.Filters{SubjectType: "user"}, []string{"Acme", "Dutch", "Porto"}},
		"history":          {meminfra.Filters{History: "include"}, []string{"Acme", "Danish", "Dutch", "Globex", "Lisbon", "Porto"}},
		"no history":       {meminfra.Filters{History: "exclude"}, all},
		"all of one line":  {meminfra.Filters{History: "include", Predicate: "location"}, []string{"Lisbon", "Porto"}},
		"authorized":       {meminfra.Filters{MinAuthority: "authorized"}, all},
		"agent":            {meminfra.Filters{AgentID: "robot"}, []string{"Porto"}},
		"other agent":      {meminfra.Filters{AgentID: "other"}, nil},
		"from":             {meminfra.Filters{From: monday.Add(4 * time.Minute)}, []string{"Globex", "Porto"}},
		"to is open":       {meminfra.Filters{To: monday.Add(3 * time.Minute)}, []string{"Acme", "Dutch"}},
		"from and to":      {meminfra.Filters{From: monday.Add(2 * time.Minute), To: monday.Add(4 * time.Minute)}, []string{"Acme", "Danish"}},
		"valid then":       {meminfra.Filters{ValidAt: monday.Add(90 * time.Second)}, []string{"Dutch", "Lisbon"}},
		"valid before all": {meminfra.Filters{ValidAt: monday.Add(-time.Second)}, nil},
		"several":          {meminfra.Filters{SubjectName: "bo", Predicate: "employer", Kind: memory.KindFact}, []string{"Globex"}},
	}
}

func TestTypedFilters(t *testing.T) {
	bo := func(id, text string, n int) meminfra.Message {
		m := said(id, text, n)
		m.Name = "Bo"
		return m
	}
	later := addTo("ada", "c3", said("m1", "I moved to Porto.", 6))
	later.AgentID = "robot"
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		mustAdd(t, ml, addTo("ada", "c1", said("m1", "I live in Lisbon.", 0), said("m2", "I speak Dutch.", 1), said("m3", "I work at Acme.", 2)))
		mustAdd(t, ml, addTo("ada", "c2", bo("m1", "I speak Danish.", 3), bo("m2", "I work at Globex.", 4)))
		mustAdd(t, ml, later)
		for name, c := range typedCases() {
			if got := values(mustList(t, ml, "ada", c.filters)); !sameSet(got, c.want) {
				t.Errorf("%s: list has %v, want %v", name, got, c.want)
			}
			found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "live speak work moved", Limit: 100, Filters: c.filters, SkipIntent: true})
			got := values(slices.DeleteFunc(recordsOf(found.Hits), func(r meminfra.Record) bool { return r.Kind == memory.KindEpisode }))
			if !sameSet(got, c.want) {
				t.Errorf("%s: search finds %v, want %v", name, got, c.want)
			}
		}
		inC2 := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "speak", Filters: meminfra.Filters{ConversationID: "c2"}})
		for _, h := range inC2.Hits {
			if h.ConversationID != "c2" {
				t.Errorf("c2 has a hit of %q", h.ConversationID)
			}
		}
	})
}

// A sentence said often takes one place, not all of them: what supports a
// better hit is folded into it, and the number of hits asked for still comes.
func TestRepeatsLeaveRoom(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		var messages []meminfra.Message
		for i := range 60 {
			messages = append(messages, said(fmt.Sprint("r", i), "I speak Dutch.", i))
		}
		for i := range 20 {
			messages = append(messages, said(fmt.Sprint("o", i), fmt.Sprintf("They speak of item %d at length, as always on such days.", i), 100+i))
		}
		mustAdd(t, ml, addTo("ada", "c", messages...))
		found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Which languages do I speak?"})
		if len(found.Hits) != 10 || len(found.Hits[0].Evidence) != 60 {
			t.Errorf("%d hits, the first with %d witnesses: %q", len(found.Hits), len(found.Hits[0].Evidence), texts(found.Hits))
		}
	})
}
