package meminfra_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm/hashed"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Case A16: a NUL inside a word costs nothing but itself, and the hash, the
// quote and the search all see the stored form.
func TestTextIsCleanedBeforeAnythingElse(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		res := mustAdd(t, ml, addTo("ada", "c", told(
			"I live in Lisbon.",
			"I prefer Postgre\x00SQL for backend projects.",
			"I work at Caf\xe9 Rouge.",
		)...))
		if len(res.Episodes) != 3 || len(res.Actions) != 3 || len(res.Rejections) != 0 {
			t.Fatalf("%d episodes, actions %v, rejections %v", len(res.Episodes), actionsOf(res), res.Rejections)
		}
		want := []string{"I live in Lisbon.", "I prefer PostgreSQL for backend projects.", "I work at Caf\ufffd Rouge."}
		episodes, err := store.Episodes(t.Context(), userPartition("ada"), []string{
			res.Episodes[0].ID, res.Episodes[1].ID, res.Episodes[2].ID})
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range episodes {
			if e.Content != want[i] || e.Hash != sha256.Sum256([]byte(want[i])) {
				t.Errorf("message %d is stored as %q, its hash of it: %v", i+1, e.Content, e.Hash == sha256.Sum256([]byte(e.Content)))
			}
		}
		items, err := store.Items(t.Context(), userPartition("ada"), []string{res.Actions[1].ItemID})
		if err != nil {
			t.Fatal(err)
		}
		if e := items[0].Evidence[0]; e.Quote != want[1][e.Start:e.End] || items[0].Value != "PostgreSQL" {
			t.Errorf("quote %q at [%d,%d), value %q", e.Quote, e.Start, e.End, items[0].Value)
		}
		found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Postgre\x00SQL"})
		if len(found.Hits) == 0 || found.Hits[0].Value != "PostgreSQL" {
			t.Errorf("search finds %q", texts(found.Hits))
		}
		again := mustAdd(t, ml, addTo("ada", "c", said("m2", "I prefer PostgreSQL\x00 for backend projects.", 1)))
		if !again.Episodes[0].Known {
			t.Error("the same message, another NUL: stored a second time")
		}
		verifies(t, "cleaned text", ml, nil)
	})
}

// Case A17 and its siblings: a word of any script finds its message, by words
// alone and with vectors beside them.
func TestWordsOfEveryScriptAreFound(t *testing.T) {
	messages := []string{
		"周末我常去爬山",
		"昨天用scan9检查了仓库",
		"週末は友達と登山に行きます",
		"カメラを買いました",
		"주말에 등산을 갑니다",
		"أحب القهوة في الصباح",
		"הבית שלי ליד הים",
		"Le café à Orléans est fermé",
		"Straßenbahn fährt über Łódź",
		"The picnic was great 🎉🥐",
		"Nothing of interest was said here",
	}
	queries := []struct{ query, want string }{
		{"爬山", messages[0]}, {"仓库", messages[1]}, {"scan9", messages[1]},
		{"登山", messages[2]}, {"カメラ", messages[3]}, {"등산", messages[4]},
		{"القهوة", messages[5]}, {"הים", messages[6]},
		{"Orléans", messages[7]}, {"Orle\u0301ans", messages[7]}, {"CAFÉ", messages[7]},
		{"strassenbahn", messages[8]}, {"łódź", messages[8]}, {"picnic", messages[9]}, {"🥐", messages[9]},
	}
	onStores(t, func(t *testing.T, store storage.Store) {
		embedder := &counted{Embedder: hashed.New()}
		ml := newLayer(t, store, withEmbedder(embedder))
		mustAdd(t, ml, addTo("ada", "c", told(messages...)...))
		for _, mode := range []string{"words alone", "with vectors"} {
			embedder.broken.Store(mode == "words alone")
			for _, q := range queries {
				res := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: q.query})
				if len(res.Hits) == 0 || res.Hits[0].Text != q.want {
					t.Errorf("%s: %q finds %q, want %q first", mode, q.query, texts(res.Hits), q.want)
				}
			}
		}
	})
}

// A message of exactly the limit is kept byte by byte; one byte more is refused
// and nothing is stored.
func TestLongestMessage(t *testing.T) {
	longest := "needle " + strings.Repeat("hay ", memory.MaxMessageBytes)[:memory.MaxMessageBytes-len("needle ")]
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		_, err := ml.Add(t.Context(), addTo("ada", "c", told("I live in Lisbon.", longest+"x")...))
		if !errors.Is(err, meminfra.ErrTooLong) || exists(t, store, "ada") {
			t.Fatalf("one byte too long: %v, something stored: %v", err, exists(t, store, "ada"))
		}
		res := mustAdd(t, ml, addTo("ada", "c", told(longest)...))
		got, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: "ada", ID: res.Episodes[0].ID})
		if err != nil || got.Text != longest {
			t.Fatalf("read back: %v, equal: %v", err, got != nil && got.Text == longest)
		}
		found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "needle"})
		if len(found.Hits) != 1 || found.Hits[0].ID != got.ID {
			t.Errorf("%d hits", len(found.Hits))
		}
	})
}

// longID is an id of n bytes that would trip an unquoted path, URL, pattern or SQL.
func longID(n int) string {
	return strings.Repeat(`a/b%2F'"\;--_é`, n)[:n-1] + "z"
}

// Ids of 256 bytes come back as they were given, whatever is in them.
func TestLongestIDs(t *testing.T) {
	id := longID(memory.MaxIDBytes)
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		req := meminfra.AddRequest{UserID: id, ConversationID: id, SessionID: id, AgentID: id, UserName: id, IdempotencyKey: id,
			Messages: []meminfra.Message{{ID: id, Name: id, Source: id, Content: "I live in Lisbon.", SentAt: monday}}}
		res := mustAdd(t, ml, req)
		if res.Episodes[0].MessageID != id || len(res.Actions) != 1 {
			t.Fatalf("message id %q, actions %v", res.Episodes[0].MessageID, actionsOf(res))
		}
		if again := mustAdd(t, ml, req); !reflect.DeepEqual(again.Actions, res.Actions) {
			t.Errorf("again: %v", actionsOf(again))
		}
		for _, f := range []meminfra.Filters{{}, {AgentID: id}, {ConversationID: id, Kind: memory.KindEpisode}} {
			if found := mustSearch(t, ml, meminfra.SearchRequest{UserID: id, Query: "Lisbon", Filters: f}); len(found.Hits) != 1 {
				t.Errorf("%+v: %d hits", f, len(found.Hits))
			}
		}
		episodes, err := store.Episodes(t.Context(), userPartition(id), []string{res.Episodes[0].ID})
		if err != nil {
			t.Fatal(err)
		}
		e := episodes[0]
		for what, got := range map[string]string{"conversation": e.ConversationID, "session": e.SessionID, "message": e.MessageID,
			"speaker": e.Speaker, "source": e.Source, "agent": e.AgentID} {
			if got != id {
				t.Errorf("%s id came back as %q", what, got)
			}
		}
	})
}

// What is stored of metadata is its canonical form: what was hashed is read back.
func TestMetadataComesBackAsItWas(t *testing.T) {
	const written = `{"zeta":1,"alpha":{"y":[3,1,2],"b":null,"é":"ü"},"big":1e300,"tiny":5e-324,"edge":1e21,
		"third":0.1,"max":9007199254740992,"on":true,"nul":"a\u0000b","":"empty key","emoji 🎉":"🥐","quote":"'\"\\"}`
	var given, want memory.Metadata
	for _, m := range []*memory.Metadata{&given, &want} {
		if err := json.Unmarshal([]byte(written), m); err != nil {
			t.Fatal(err)
		}
	}
	want["nul"] = "ab"
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		msg := said("m1", "I live in Lisbon.", 0)
		msg.Metadata = given
		res := mustAdd(t, ml, addTo("ada", "c", msg))
		for _, id := range []string{res.Episodes[0].ID, res.Actions[0].ItemID} {
			got, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: "ada", ID: id})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Metadata, want) {
				t.Errorf("%s has\n%v, want\n%v", got.Kind, got.Metadata, want)
			}
		}
		checkLedger(t, store, "ada")
	})
}
