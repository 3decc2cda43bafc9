package meminfra_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Siblings of case A01: odd replies make the one memory or leave the message
// waiting, and never pass for nothing to remember.
func TestOddReplies(t *testing.T) {
	quoted, err := json.Marshal(bees)
	if err != nil {
		t.Fatal(err)
	}
	onStores(t, func(t *testing.T, store storage.Store) {
		for name, reply := range map[string]string{
			"in an envelope":             `{"result":` + bees + `}`,
			"a text of JSON":             string(quoted),
			"null for the list":          `{"memories":null}`,
			"an object for the list":     `{"memories":{}}`,
			"an empty list alone":        "[]",
			"no member":                  "{}",
			"an apology":                 "I am sorry, I cannot help with that.",
			"a list of texts":            `{"memories":["The user keeps bees."]}`,
			"a list of nothing":          `{"memories":[null]}`,
			"a list of empty":            `{"memories":[{}]}`,
			"a form of its own":          `{"memories":[{"fact":"The user keeps bees."}]}`,
			"NUL bytes":                  "\x00\x00\x00",
			"another capital":            `{"Memories":[]}`,
			"the schema itself":          `{"type":"object","properties":{"memories":{"type":"array"}}}`,
			"an error of the gateway":    `{"error":{"message":"I keep bees."},"memories":[]}`,
			"two lists, the first empty": `{"memories":[]}` + "\n" + bees,
		} {
			ml := newLayer(t, store, randomIDs, extracting(t, memtest.NewGenerator(reply, reply, reply, bees)))
			_, err := ml.Add(t.Context(), addTo(name, "c", said("m1", "I keep bees.", 0)))
			var unreadable *llm.FormatError
			if !errors.As(err, &unreadable) || len(mustList(t, ml, name, meminfra.Filters{})) != 0 {
				t.Errorf("%s: error %v", name, err)
			}
			if _, err := ml.Curate().Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: name}); err != nil || len(mustList(t, ml, name, meminfra.Filters{})) != 1 {
				t.Errorf("%s: afterwards error %v", name, err)
			}
		}
	})
}

// Siblings of case A04: courtesy, assent and a question state nothing, whatever a
// model makes of them; with the guess that they answer they are the guess's word.
func TestQuoteThatSaysNothing(t *testing.T) {
	likes := func(quote, message string, more ...any) map[string]any {
		p := map[string]any{"quote": quote, "message": message, "kind": "preference", "predicate": "likes", "value": "spicy food", "text": "The user likes spicy food."}
		for i := 0; i+1 < len(more); i += 2 {
			p[more[i].(string)] = more[i+1]
		}
		return p
	}
	guess := []any{map[string]any{"message": "m2", "quote": "You seem to like spicy food"}}
	onStores(t, func(t *testing.T, store storage.Store) {
		for name, c := range map[string]struct {
			proposed map[string]any
			want     memory.Authority // 0: rejected
		}{
			"thanks":                {likes("Yes, thanks a lot!", "m3"), 0},
			"thanks, open":          {likes("Yes, thanks a lot!", "m3", "predicate", nil, "value", nil), 0},
			"a question":            {likes("What should I cook?", "m1"), 0},
			"another fact":          {likes("What should I cook?", "m1", "predicate", "database_preference", "value", "MySQL", "text", "The user prefers MySQL."), 0},
			"two that say nothing":  {likes("Yes, thanks a lot!", "m3", "needs", []any{map[string]any{"message": "m1", "quote": "What should I cook?"}}), 0},
			"assent and the guess":  {likes("Yes, thanks a lot!", "m3", "needs", guess), memory.Attested},
			"a question that tells": {likes("Can I use up my goat?", "m4", "predicate", nil, "value", nil, "text", "The user has goat to use up."), memory.Authorized},
		} {
			ml := newLayer(t, store, randomIDs, extracting(t, memtest.NewGenerator(proposes(t, c.proposed))))
			res := mustAdd(t, ml, addTo(name, "c", said("m1", "What should I cook?", 10),
				meminfra.Message{ID: "m2", Role: memory.RoleAssistant, Content: "You seem to like spicy food; try a hot curry.", SentAt: monday},
				said("m3", "Yes, thanks a lot!", 12), said("m4", "Can I use up my goat?", 13)))
			list := mustList(t, ml, name, meminfra.Filters{})
			if c.want == 0 && (len(list) != 0 || reasons(res) != "quote_says_nothing") || c.want != 0 && (len(list) != 1 || list[0].Authority != c.want) {
				t.Errorf("%s: %+v, rejected %s", name, list, reasons(res))
			}
		}
	})
}

// Siblings of case A03: who is called as the user is, in whatever writing, is the
// user; anybody else is somebody else.
func TestNamesOfSpeakers(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ada, bo := memory.UserSubject, memory.Subject{Type: "person", Name: "bo"}
		for name, want := range map[string]memory.Subject{"": ada, "Ada": ada, " ADA ": ada, "A\u200bda": ada, "\uff21\uff44\uff41": ada, "u1": ada, "U1": ada,
			"Bo": bo, "B\u00ado\ufeff": bo, "Adam": {Type: "person", Name: "adam"}, "assistant": {Type: "person", Name: "assistant"}} {
			g := memtest.NewGenerator(proposes(t, map[string]any{"quote": "I hate running.", "subject_type": "speaker", "text": "Hates running."}))
			ml := newLayer(t, store, randomIDs, extracting(t, g), func(o *meminfra.Options) { o.Tenant = "of " + name })
			mustAdd(t, ml, meminfra.AddRequest{UserID: "u1", UserName: "Ada", ConversationID: "c", Messages: []meminfra.Message{{ID: "1", Name: name, Content: "I hate running.", SentAt: monday}}})
			if list := mustList(t, ml, "u1", meminfra.Filters{}); len(list) != 1 || list[0].Subject != want {
				t.Errorf("%q: %+v", name, list)
			}
		}
	})
}

// A sibling of case A14: a model of the same name whose vectors have another
// length is another model. Nothing is compared, it is said, and reembed mends it.
func TestSameNameOtherLength(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		before := newLayer(t, store, randomIDs, withEmbedder(memtest.NewEmbedder("v", 8)))
		mustAdd(t, before, addTo("ada", "c", told("I live in Lisbon.", "The cat sleeps all day.")...))
		after := newLayer(t, store, randomIDs, withEmbedder(memtest.NewEmbedder("v", 16)))
		byVector(t, after, "ada", false)
		mustAdd(t, after, addTo("ada", "c", said("new", "The dog barks at night.", 9)))
		if _, err := after.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: "ada"}); err != nil {
			t.Fatal(err)
		}
		byVector(t, after, "ada", true)
		mustSearch(t, before, meminfra.SearchRequest{UserID: "ada", Query: "The cat sleeps all day."})
	})
}
