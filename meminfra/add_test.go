package meminfra_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// A message that is known is not stored or extracted again, alone or among new ones.
func TestSameMessagesTwice(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		texts := []string{"I live in Lisbon.", "I speak Dutch.", "I work at Acme.", "I speak German."}
		first := mustAdd(t, ml, addTo("ada", "c", told(texts[:3]...)...))
		before := dump(t, store, "ada")
		again := mustAdd(t, ml, addTo("ada", "c", told(texts[:3]...)...))
		if len(again.Actions) != 0 || dump(t, store, "ada") != before {
			t.Errorf("again: %v, changed: %v", actionsOf(again), dump(t, store, "ada") != before)
		}
		for i, e := range again.Episodes {
			if !e.Known || e.ID != first.Episodes[i].ID {
				t.Errorf("message %d: %+v, first %+v", i+1, e, first.Episodes[i])
			}
		}
		overlap := mustAdd(t, ml, addTo("ada", "c", told(texts...)[1:]...))
		if got := actionsOf(overlap); !slices.Equal(got, []string{"ADD new_fact"}) || overlap.Episodes[2].Known {
			t.Errorf("two known and a new one: %v", got)
		}
	})
}

// The same id with other content is refused and takes nothing with it.
func TestMessageIDReused(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		mustAdd(t, ml, addTo("ada", "c", told("I live in Lisbon.", "I speak Dutch.")...))
		before := dump(t, store, "ada")
		other := said("m2", "I speak Danish.", 1)
		asTool := said("m2", "I speak Dutch.", 1)
		asTool.Role = memory.RoleTool
		for what, msg := range map[string]meminfra.Message{"content": other, "role": asTool} {
			for _, dry := range []bool{true, false} {
				req := addTo("ada", "c", said("m3", "I work at Acme.", 2), msg)
				req.DryRun = dry
				res, err := ml.Add(t.Context(), req)
				if !errors.Is(err, meminfra.ErrMessageConflict) || res != nil {
					t.Errorf("other %s, dry run %v: %v", what, dry, err)
				}
			}
		}
		if got := dump(t, store, "ada"); got != before {
			t.Errorf("something was written:\n%s", got)
		}
		if res := mustAdd(t, ml, addTo("ada", "elsewhere", other)); res.Episodes[0].Known {
			t.Error("ids of two conversations meet")
		}
	})
}

// An idempotency key answers the same call with the first result, from any
// layer, and refuses any other call.
func TestIdempotencyKey(t *testing.T) {
	edits := map[string]func(*meminfra.AddRequest){
		"content":      func(r *meminfra.AddRequest) { r.Messages[1].Content = "I use MySQL." },
		"fewer":        func(r *meminfra.AddRequest) { r.Messages = r.Messages[:1] },
		"time":         func(r *meminfra.AddRequest) { r.Messages[0].SentAt = monday.Add(-time.Hour) },
		"role":         func(r *meminfra.AddRequest) { r.Messages[0].Role = memory.RoleTool },
		"metadata":     func(r *meminfra.AddRequest) { r.Messages[0].Metadata = memory.Metadata{"a": 1} },
		"conversation": func(r *meminfra.AddRequest) { r.ConversationID = "other" },
		"agent":        func(r *meminfra.AddRequest) { r.AgentID = "agent" },
	}
	onStores(t, func(t *testing.T, store storage.Store) {
		keyed := func() meminfra.AddRequest {
			req := addTo("ada", "c",
				meminfra.Message{Content: "I use PostgreSQL.", SentAt: monday}, // no ids: only the key can tell
				meminfra.Message{Content: "I switched to SQLite.", SentAt: monday.Add(time.Hour)})
			req.IdempotencyKey = "k"
			return req
		}
		first := mustAdd(t, newLayer(t, store), keyed())
		if got := actionsOf(first); !slices.Equal(got, []string{"ADD new_fact", "SUPERSEDE newer_value"}) {
			t.Fatalf("actions %v", got)
		}
		before := dump(t, store, "ada")
		ml := newLayer(t, store, randomIDs)
		for range 2 {
			if again := mustAdd(t, ml, keyed()); !reflect.DeepEqual(again, first) {
				t.Errorf("again:\n%+v, first\n%+v", again, first)
			}
		}
		for what, edit := range edits {
			req := keyed()
			edit(&req)
			if res, err := ml.Add(t.Context(), req); !errors.Is(err, meminfra.ErrKeyReused) || res != nil {
				t.Errorf("other %s: %v", what, err)
			}
		}
		if got := dump(t, store, "ada"); got != before {
			t.Errorf("something was written:\n%s", got)
		}
		req := keyed()
		req.UserID = "bo"
		if res := mustAdd(t, ml, req); len(res.Actions) != 2 || res.Actions[0].ItemID == first.Actions[0].ItemID {
			t.Errorf("another user with the same key: %v", actionsOf(res))
		}
	})
}

// retryCases are the ways in which a call can be known again.
var retryCases = map[string]struct {
	ids bool
	key string
}{"message ids": {true, ""}, "idempotency key": {false, "k"}, "both": {true, "k"}}

// An Add that failed after its messages were stored is completed by the same
// call, however it names itself: no loss, no duplicate.
func TestRetryAfterFailedExtraction(t *testing.T) {
	conversation := func(user string, ids bool, key string) meminfra.AddRequest {
		req := addTo(user, "c", told("I use PostgreSQL.", "I switched to SQLite.", "Hello!", "I speak Dutch.")...)
		req.IdempotencyKey = key
		for i := range req.Messages {
			if !ids {
				req.Messages[i].ID = ""
			}
		}
		return req
	}
	onStores(t, func(t *testing.T, store storage.Store) {
		good := newLayer(t, store, randomIDs, frozen)
		bad := newLayer(t, store, randomIDs, frozen, withHook(t, failing))
		for name, c := range retryCases {
			mustAdd(t, good, conversation("undisturbed "+name, c.ids, c.key))
			user := "disturbed " + name
			for range 2 {
				failedAdd(t, bad, conversation(user, c.ids, c.key), 4)
			}
			res := mustAdd(t, good, conversation(user, c.ids, c.key))
			if got := actionsOf(res); !slices.Equal(got, []string{"ADD new_fact", "SUPERSEDE newer_value", "ADD new_fact"}) {
				t.Errorf("%s: %v", name, got)
			}
			if got, want := dump(t, store, user), dump(t, store, "undisturbed "+name); got != want {
				t.Errorf("%s: disturbed\n%s\nundisturbed\n%s", name, got, want)
			}
			checkLedger(t, store, user)
			if again := mustAdd(t, good, conversation(user, c.ids, c.key)); c.key != "" && !reflect.DeepEqual(again.Actions, res.Actions) {
				t.Errorf("%s: replayed as %v", name, actionsOf(again))
			}
		}
	})
}

// failedAdd makes an Add whose extraction fails: its result says what is stored.
func failedAdd(t *testing.T, ml *meminfra.MemoryLayer, req meminfra.AddRequest, waiting int) *meminfra.AddResult {
	t.Helper()
	res, err := ml.Add(t.Context(), req)
	var failed *meminfra.ExtractionError
	if !errors.As(err, &failed) || !errors.Is(err, errExtractor) || res == nil {
		t.Fatalf("result %v, error %v", res, err)
	}
	if len(failed.EpisodeIDs) != waiting || len(res.Episodes) != len(req.Messages) || len(res.Actions) != 0 {
		t.Errorf("%d wait, %d stored, actions %v", len(failed.EpisodeIDs), len(res.Episodes), res.Actions)
	}
	return res
}

// A key whose first call failed half-way is still bound to that call's body.
func TestKeyReusedAfterFailedExtraction(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		req := addTo("ada", "c", meminfra.Message{Content: "I use PostgreSQL.", SentAt: monday})
		req.IdempotencyKey = "k"
		failedAdd(t, newLayer(t, store, randomIDs, withHook(t, failing)), req, 1)
		before := dump(t, store, "ada")
		req.Messages[0].Content = "I use MySQL."
		_, err := newLayer(t, store, randomIDs).Add(t.Context(), req)
		if !errors.Is(err, meminfra.ErrKeyReused) || dump(t, store, "ada") != before {
			t.Errorf("error %v, changed: %v", err, dump(t, store, "ada") != before)
		}
	})
}

// Case A10: what waits is taken up by the next Add on the conversation, and the
// rows tell how often it was tried and what came of it.
func TestNextAddCompletesTheConversation(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		bad := newLayer(t, store, randomIDs, withHook(t, failing))
		good := newLayer(t, store, randomIDs)
		var ids []string
		for i, text := range []string{"I use PostgreSQL.", "Good morning!"} {
			res := failedAdd(t, bad, addTo("ada", "c", said("m"+strconv.Itoa(i), text, i)), i+1)
			ids = append(ids, res.Episodes[0].ID)
		}
		elsewhere := mustAdd(t, good, addTo("ada", "another", said("m1", "I speak Dutch.", 5)))
		if len(elsewhere.Actions) != 1 {
			t.Errorf("another conversation: %v", actionsOf(elsewhere))
		}
		res := mustAdd(t, good, addTo("ada", "c", said("m3", "I switched to SQLite.", 2)))
		if got := actionsOf(res); !slices.Equal(got, []string{"ADD new_fact", "SUPERSEDE newer_value"}) {
			t.Errorf("the next call: %v", got)
		}
		ids = append(ids, res.Episodes[0].ID)
		type row struct {
			status   memory.ExtractionStatus
			attempts int
		}
		got := map[string]row{}
		for _, x := range extractions(t, store, "ada", ids) {
			got[x.EpisodeID] = row{x.Status, x.Attempts}
		}
		want := map[string]row{ids[0]: {memory.ExtractionDone, 3}, ids[1]: {memory.ExtractionEmpty, 2}, ids[2]: {memory.ExtractionDone, 1}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("rows %v, want %v", got, want)
		}
	})
}

// extractions reads rows of the built-in extractor, in a commit that is rolled back.
func extractions(t *testing.T, store storage.Store, user string, ids []string) (rows []memory.Extraction) {
	t.Helper()
	rollback := errors.New("roll back")
	err := store.Update(t.Context(), partitionNamed(user), func(tx storage.Tx) (err error) {
		if rows, err = tx.Extractions(t.Context(), builtIn(t).ID(), ids); err != nil {
			return err
		}
		return rollback
	})
	if !errors.Is(err, rollback) {
		t.Fatal(err)
	}
	return rows
}

// A dry run decides what the call would and leaves no trace of it.
func TestDryRun(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		dry := func(req meminfra.AddRequest) *meminfra.AddResult {
			req.DryRun = true
			return mustAdd(t, ml, req)
		}
		req := addTo("ada", "c", told("I use PostgreSQL.", "I switched to SQLite.")...)
		planned := dry(req)
		if exists(t, store, "ada") {
			t.Fatal("something was written")
		}
		if done := mustAdd(t, ml, req); !slices.Equal(actionsOf(done), actionsOf(planned)) {
			t.Errorf("planned %v, done %v", actionsOf(planned), actionsOf(done))
		}
		before := dump(t, store, "ada")
		late := addTo("ada", "c", said("m3", "I no longer use SQLite.", 5))
		late.IdempotencyKey = "k"
		if got := actionsOf(dry(late)); !slices.Equal(got, []string{"RETRACT negated"}) {
			t.Errorf("planned %v", got)
		}
		if got := dump(t, store, "ada"); got != before {
			t.Errorf("something was written:\n%s", got)
		}
		if got := actionsOf(mustAdd(t, ml, late)); !slices.Equal(got, []string{"RETRACT negated"}) {
			t.Errorf("done %v", got)
		}
	})
}

// A cancelled call stores nothing, or leaves what the next one completes.
func TestCancelledAdd(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		before, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := newLayer(t, store, randomIDs).Add(before, addTo("ada", "c", told("I use SQLite.")...)); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v", err)
		}
		if exists(t, store, "ada") {
			t.Error("something was written")
		}
		during, cancel := context.WithCancel(t.Context())
		ml := newLayer(t, store, randomIDs, withHook(t, func() error { cancel(); return nil }))
		if _, err := ml.Add(during, addTo("ada", "c", told("I use SQLite.")...)); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled in the middle: %v", err)
		}
		res := mustAdd(t, newLayer(t, store, randomIDs), addTo("ada", "c", told("I use SQLite.")...))
		if got := actionsOf(res); !slices.Equal(got, []string{"ADD new_fact"}) || !res.Episodes[0].Known {
			t.Errorf("completed as %v", got)
		}
	})
}
