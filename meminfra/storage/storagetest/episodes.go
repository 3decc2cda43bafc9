package storagetest

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var episodeTests = []test{
	{name: "every field comes back", run: episodeFields},
	{name: "text comes back byte for byte", run: episodeTexts},
	{name: "a message of 1 MiB", run: episodeLarge},
	{name: "ids are kept as they are and never folded", run: episodeIDs},
	{name: "metadata is canonical", run: episodeMetadata},
	{name: "times from year 1 to 9999 in microseconds", run: episodeTimes},
	{name: "read in the order asked", run: episodeOrder},
	{name: "one for each message of a conversation", run: episodeUnique},
	{name: "found by message", run: episodeByMessage},
	{name: "sessions span their episodes", run: sessions},
	{name: "the last of a conversation", run: recent},
	{name: "a stretch of a conversation", run: turns},
	{name: "a conversation and its summary", run: conversations},
	{name: "extraction rows and leases", run: extractions},
	{name: "vectors keep every bit", run: embeddings},
	{name: "one outcome for each idempotency key", run: idempotency},
}

func episodeFields(t *testing.T, s storage.Store) {
	want := putEpisodes(t, s, ada, 2)
	commit(t, s, ada, func(tx storage.Tx) error {
		bare := memory.Episode{Partition: ada.ID(), ID: "bare", ConversationID: "c2", SessionID: "s", MessageID: "m1",
			Seq: tx.NextSeq(1), Change: tx.Head().Change, Role: memory.RoleUser, SentAt: at(1), RecordedAt: at(1)}
		want = append(want, bare)
		return tx.InsertEpisodes(t.Context(), []memory.Episode{bare})
	})
	got, err := s.Episodes(t.Context(), ada.ID(), []string{"e1", "e2", "bare"})
	check(t, err)
	same(t, "episodes", got, want)
	same(t, "as changes", changes(t, s, ada, 0).Episodes, leanEpisodes(want))
}

func episodeTexts(t *testing.T, s storage.Store) {
	texts := []string{
		"plain", "a b", "周末我常去爬山", "シャキッとした朝", "한국어", "שלום עולם", "مرحبا بالعالم", "e\u0301 and \u00e9 differ",
		"👩‍👩‍👧‍👦 🏳️‍🌈 🇳🇿", "zero\u200bwidth \ufeff", "line\r\nbreak\ttab \x01\x1f\x7f", `back\slash 'quote' "double" $1 %s ?`,
		"bro\xffken \xc3( \xed\xa0\x80 \xf8", "N\x00U\x00L", "�", "\U0010ffff", "", strings.Repeat("a\u0300", 500),
	}
	want := make([]memory.Episode, len(texts))
	commit(t, s, ada, func(tx storage.Tx) error {
		for i, text := range texts {
			e := newEpisode(tx, fmt.Sprintf("e%02d", i), "c", fmt.Sprint(i))
			e.Content = memory.CleanText(text)
			e.Hash = sha256.Sum256([]byte(e.Content))
			e.Speaker, e.Source = e.Content, e.Content
			e.Metadata = memory.Metadata{"text": e.Content}
			want[i] = e
		}
		return tx.InsertEpisodes(t.Context(), want)
	})
	got, err := s.Episodes(t.Context(), ada.ID(), ids(want, episodeID))
	check(t, err)
	same(t, "episodes", got, want)
	for _, e := range got {
		if sha256.Sum256([]byte(e.Content)) != e.Hash {
			t.Errorf("episode %s: the content read back has another hash", e.ID)
		}
	}
}

func episodeLarge(t *testing.T, s storage.Store) {
	var want memory.Episode
	commit(t, s, ada, func(tx storage.Tx) error {
		want = newEpisode(tx, "big", "c", "m")
		want.Content = strings.Repeat("0123456789abcdé", memory.MaxMessageBytes/16)
		return tx.InsertEpisodes(t.Context(), []memory.Episode{want})
	})
	if len(want.Content) != memory.MaxMessageBytes {
		t.Fatalf("content has %d bytes", len(want.Content))
	}
	got, err := s.Episodes(t.Context(), ada.ID(), []string{"big"})
	check(t, err)
	same(t, "episode", got, []memory.Episode{want})
}

func episodeIDs(t *testing.T, s storage.Store) {
	pad := func(id string) string { return id + strings.Repeat("x", memory.MaxIDBytes-len(id)) }
	list := []string{
		pad("a/b/../c"), pad("100%_%s%00"), pad(`'; DROP TABLE episode; --`), pad(`"double" \ back\\slash`),
		pad("two  spaces "), pad("MiXeD"), pad("mixed"), "case", "Case", "CASE", "straße", "strasse", "é", "e\u0301", "1", "01", "1.0",
	}
	commit(t, s, ada, func(tx storage.Tx) error {
		var episodes []memory.Episode
		for _, id := range list {
			e := newEpisode(tx, id, id, id)
			e.SessionID, e.AgentID = id, id
			episodes = append(episodes, e)
		}
		return tx.InsertEpisodes(t.Context(), episodes)
	})
	got, err := s.Episodes(t.Context(), ada.ID(), list)
	check(t, err)
	same(t, "ids", ids(got, episodeID), list)
	commit(t, s, ada, func(tx storage.Tx) error {
		for _, id := range list {
			found, err := tx.EpisodesByMessage(t.Context(), id, []string{id})
			check(t, err)
			same(t, "by message", ids(found, episodeID), []string{id})
			spans, err := tx.Sessions(t.Context(), id, at(0), at(1000))
			check(t, err)
			same(t, "sessions", ids(spans, sessionID), []string{id})
		}
		return nil
	})
}

func episodeMetadata(t *testing.T, s storage.Store) {
	given := memory.Metadata{
		"z": 1.0, "a": map[string]any{"y": "é", "b": []any{1.0, "2", nil, false}}, "é": 1e21, "B": -0.5, "": "empty",
		"big": 9007199254740992.0, "😀": "after \ufb01 by code units", "\ufb01": "q\"\\\n\u2028",
	}
	canonical, err := given.Canonical()
	check(t, err)
	commit(t, s, ada, func(tx storage.Tx) error {
		e := newEpisode(tx, "e", "c", "m")
		e.Metadata = given
		return tx.InsertEpisodes(t.Context(), []memory.Episode{e})
	})
	got, err := s.Episodes(t.Context(), ada.ID(), []string{"e"})
	check(t, err)
	again, err := got[0].Metadata.Canonical()
	check(t, err)
	same(t, "canonical form", again, canonical)
	same(t, "metadata", got[0].Metadata, given)

	err = s.Update(t.Context(), ada, func(tx storage.Tx) error {
		e := newEpisode(tx, "long", "c", "long")
		e.Metadata = memory.Metadata{"k": strings.Repeat("x", memory.MaxMetadataBytes)}
		return tx.InsertEpisodes(t.Context(), []memory.Episode{e})
	})
	wantErr(t, "too much metadata", err, memory.ErrTooLong)
}

func episodeTimes(t *testing.T, s storage.Store) {
	moments := []time.Time{
		time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), time.Date(1582, 10, 10, 0, 0, 0, 0, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC), time.Unix(0, 0).UTC(),
		time.Date(2026, 7, 1, 9, 41, 7, 246_813_000, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	}
	var want []memory.Episode
	commit(t, s, ada, func(tx storage.Tx) error {
		want = nil
		for i, m := range moments {
			e := newEpisode(tx, fmt.Sprint("e", i), "c", fmt.Sprint(i))
			e.SentAt, e.RecordedAt = m, m
			want = append(want, e)
		}
		return tx.InsertEpisodes(t.Context(), want)
	})
	got, err := s.Episodes(t.Context(), ada.ID(), ids(want, episodeID))
	check(t, err)
	same(t, "episodes", got, want)
	if len(got) > 0 && got[0].SentAt.Location() != time.UTC {
		t.Errorf("times come back in %v, want UTC", got[0].SentAt.Location())
	}
	for i, m := range moments {
		item, state := putItem(t, s, ada, fmt.Sprint("i", i), func(item *memory.Item, state *memory.State) {
			item.Stated, item.Vague, item.ExpiresAt = memory.Validity{From: m}, memory.Vague{Latest: m}, m
			state.Valid = memory.Validity{To: m}
		})
		records, err := s.Items(t.Context(), ada.ID(), []string{item.ID})
		check(t, err)
		same(t, "item", records[0].Item, stored(item))
		same(t, "state", records[0].States, []memory.State{state})
		if !records[0].Stated.To.IsZero() || !records[0].Vague.Earliest.IsZero() || !records[0].States[0].SystemTo.IsZero() {
			t.Error("a zero time does not come back as zero")
		}
	}
}

func episodeOrder(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 4)
	got, err := s.Episodes(t.Context(), ada.ID(), []string{"e3", "none", "e1", "e4"})
	check(t, err)
	same(t, "ids", ids(got, episodeID), []string{"e3", "e1", "e4"})
	for _, none := range [][]string{nil, {}, {"none"}} {
		got, err = s.Episodes(t.Context(), ada.ID(), none)
		check(t, err)
		same(t, "no ids", ids(got, episodeID), []string(nil))
	}
}

func episodeUnique(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 2)
	before := head(t, s, ada)
	for name, shape := range map[string]func(*memory.Episode){
		"the same message": func(e *memory.Episode) { e.ID = "other" },
		"the same id":      func(e *memory.Episode) { e.MessageID = "other" },
		"the same seq":     func(e *memory.Episode) { e.ID, e.MessageID, e.Seq = "other", "other", 1 },
	} {
		err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
			fresh, twin := newEpisode(tx, "fresh", "c1", "fresh"), newEpisode(tx, "e1", "c1", "m1")
			shape(&twin)
			if err := tx.InsertEpisodes(t.Context(), []memory.Episode{fresh}); err != nil {
				return err
			}
			return tx.InsertEpisodes(t.Context(), []memory.Episode{twin})
		})
		wantErr(t, name, err, storage.ErrConflict)
		for _, secret := range []string{"content of", "fresh", "m1"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error shows row content: %v", name, err)
			}
		}
	}
	same(t, "head", head(t, s, ada), before)
	same(t, "episodes", ids(changes(t, s, ada, 0).Episodes, episodeID), []string{"e1", "e2"})

	commit(t, s, ada, func(tx storage.Tx) error { // the same message id in another conversation is another message
		return tx.InsertEpisodes(t.Context(), []memory.Episode{newEpisode(tx, "e3", "c2", "m1")})
	})
}

func episodeByMessage(t *testing.T, s storage.Store) {
	want := putEpisodes(t, s, ada, 3)
	commit(t, s, ada, func(tx storage.Tx) error {
		own := newEpisode(tx, "own", "c1", "own")
		if err := tx.InsertEpisodes(t.Context(), []memory.Episode{own, newEpisode(tx, "o2", "c2", "m1")}); err != nil {
			return err
		}
		got, err := tx.EpisodesByMessage(t.Context(), "c1", []string{"m3", "m1", "none", "own"})
		check(t, err)
		slices.SortFunc(got, func(a, b memory.Episode) int { return int(a.Seq - b.Seq) })
		same(t, "episodes", got, []memory.Episode{want[0], want[2], own})
		got, err = tx.EpisodesByMessage(t.Context(), "none", []string{"m1"})
		check(t, err)
		same(t, "none", ids(got, episodeID), []string(nil))
		return nil
	})
}

func sessions(t *testing.T, s storage.Store) {
	commit(t, s, ada, func(tx storage.Tx) error {
		check(t, tx.PutConversation(t.Context(), storage.Conversation{Partition: ada.ID(), ID: "c", CreatedAt: at(1), UpdatedAt: at(1)}))
		check(t, tx.PutConversation(t.Context(), storage.Conversation{Partition: ada.ID(), ID: "c", CreatedAt: at(2), UpdatedAt: at(2)}))
		var list []memory.Episode
		for i, row := range []struct {
			session string
			sent    int
		}{{"s2", 50}, {"s1", 20}, {"s1", 10}, {"s2", 40}, {"s1", 30}} {
			e := newEpisode(tx, fmt.Sprint("e", i), "c", fmt.Sprint(i))
			e.SessionID, e.SentAt = row.session, at(row.sent)
			list = append(list, e)
		}
		return tx.InsertEpisodes(t.Context(), list)
	})
	commit(t, s, ada, func(tx storage.Tx) error {
		got, err := tx.Sessions(t.Context(), "c", at(0), at(100))
		check(t, err)
		same(t, "sessions", got, []storage.SessionSpan{{SessionID: "s1", First: at(10), Last: at(30)}, {SessionID: "s2", First: at(40), Last: at(50)}})
		got, err = tx.Sessions(t.Context(), "c", at(20), at(40))
		check(t, err)
		same(t, "what they cover of a stretch", got, []storage.SessionSpan{{SessionID: "s1", First: at(20), Last: at(30)}, {SessionID: "s2", First: at(40), Last: at(40)}})
		got, err = tx.Sessions(t.Context(), "none", at(0), at(100))
		check(t, err)
		same(t, "no sessions", got, []storage.SessionSpan(nil))
		return nil
	})
}

func recent(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 4)
	commit(t, s, ada, func(tx storage.Tx) error {
		check(t, tx.InsertEpisodes(t.Context(), []memory.Episode{newEpisode(tx, "e5", "c2", "m5")}))
		for _, c := range []struct {
			conversation string
			below        int64
			n            int
			want         []string
		}{
			{"c1", 0, 2, []string{"e3", "e4"}}, {"c1", 4, 2, []string{"e2", "e3"}}, {"c1", 1, 9, nil},
			{"c2", 0, 9, []string{"e5"}}, {"c3", 0, 9, nil},
		} {
			got, err := tx.Recent(t.Context(), c.conversation, c.below, c.n)
			check(t, err)
			same(t, fmt.Sprintf("%+v", c), ids(got, episodeID), c.want)
		}
		return nil
	})
}

func turns(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 4)
	commit(t, s, ada, func(tx storage.Tx) error {
		return tx.InsertEpisodes(t.Context(), []memory.Episode{newEpisode(tx, "e5", "c2", "m5")})
	})
	for _, c := range []struct {
		p    storage.TurnsParams
		want []string
	}{
		{storage.TurnsParams{Conversation: "c1", Limit: 9}, []string{"e1", "e2", "e3", "e4"}},
		{storage.TurnsParams{Conversation: "c1", After: 1, Below: 4, Limit: 9}, []string{"e2", "e3"}},
		{storage.TurnsParams{Conversation: "c1", After: 1, Limit: 1}, []string{"e2"}},
		{storage.TurnsParams{Conversation: "c2", Limit: 9}, []string{"e5"}},
		{storage.TurnsParams{Conversation: "c3", Limit: 9}, nil},
	} {
		got, err := s.Turns(t.Context(), ada.ID(), c.p)
		check(t, err)
		same(t, fmt.Sprintf("%+v", c.p), ids(got, episodeID), c.want)
	}
	got, err := s.Turns(t.Context(), bob.ID(), storage.TurnsParams{Conversation: "c1", Limit: 9})
	check(t, err)
	same(t, "another partition's", ids(got, episodeID), []string(nil))
}

func conversations(t *testing.T, s storage.Store) {
	put := func(p memory.Partition, updated int) {
		commit(t, s, p, func(tx storage.Tx) error {
			return tx.PutConversation(t.Context(), storage.Conversation{Partition: p.ID(), ID: "c", CreatedAt: at(updated), UpdatedAt: at(updated)})
		})
	}
	summarise := func(conversation, text string, seq int64) {
		commit(t, s, ada, func(tx storage.Tx) error { return tx.PutSummary(t.Context(), conversation, text, seq) })
	}
	stored := func(p memory.Partition) storage.Conversation {
		c, err := s.Conversation(t.Context(), p.ID(), "c")
		check(t, err)
		return c
	}
	_, err := s.Conversation(t.Context(), ada.ID(), "c")
	wantErr(t, "none yet", err, storage.ErrNotFound)
	put(ada, 1)
	put(bob, 1)
	want := storage.Conversation{Partition: ada.ID(), ID: "c", CreatedAt: at(1), UpdatedAt: at(1)}
	same(t, "without a summary", stored(ada), want)
	summarise("c", "They talk. \u5728\u54ea\u91cc 'x'", 7)
	summarise("none", "of nothing", 1)
	put(ada, 2) // leaves the summary
	want.UpdatedAt, want.Summary, want.SummarySeq = at(2), "They talk. \u5728\u54ea\u91cc 'x'", 7
	same(t, "with one", stored(ada), want)
	summarise("c", "", 0)
	want.Summary, want.SummarySeq = "", 0
	same(t, "taken away", stored(ada), want)
	same(t, "another partition's", stored(bob), storage.Conversation{Partition: bob.ID(), ID: "c", CreatedAt: at(1), UpdatedAt: at(1)})
}

func extractions(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 6)
	row := func(n int, extractor string, status memory.ExtractionStatus, lease time.Time) memory.Extraction {
		return memory.Extraction{Partition: ada.ID(), EpisodeID: fmt.Sprint("e", n), Extractor: extractor, Status: status,
			Attempts: n, Unread: n / 2, LeaseUntil: lease, Error: "timeout", UpdatedAt: at(n)}
	}
	rows := []memory.Extraction{
		row(1, "x", memory.ExtractionPending, time.Time{}), row(2, "x", memory.ExtractionPending, at(30)),
		row(3, "x", memory.ExtractionFailed, at(20)), row(4, "x", memory.ExtractionDone, time.Time{}),
		row(5, "x", memory.ExtractionEmpty, time.Time{}), row(6, "y", memory.ExtractionPending, time.Time{}),
	}
	commit(t, s, ada, func(tx storage.Tx) error {
		check(t, tx.PutExtractions(t.Context(), rows))
		for now, want := range map[int][]string{19: {"e1"}, 20: {"e1", "e3"}, 31: {"e1", "e2", "e3"}} {
			got, err := tx.Unextracted(t.Context(), storage.UnextractedParams{Conversation: "c1", Extractor: "x", Now: at(now)})
			check(t, err)
			same(t, fmt.Sprint("unextracted at ", now), ids(got, episodeID), want)
		}
		for _, c := range []struct {
			what string
			p    storage.UnextractedParams
			want []string
		}{
			{"another conversation", storage.UnextractedParams{Conversation: "c2", Extractor: "x", Now: at(40)}, nil},
			{"without those that could not be read", storage.UnextractedParams{Extractor: "x", Now: at(40), MaxUnread: 1}, []string{"e1"}},
			{"unseen and without", storage.UnextractedParams{Extractor: "x", Now: at(40), MaxUnread: 1, Unseen: true}, []string{"e1", "e6"}},
			{"skipping", storage.UnextractedParams{Conversation: "c1", Extractor: "x", Now: at(40), Skip: []string{"e1", "e3", "none"}}, []string{"e2"}},
			{"all conversations", storage.UnextractedParams{Extractor: "x", Now: at(40)}, []string{"e1", "e2", "e3"}},
			{"unseen too", storage.UnextractedParams{Extractor: "x", Now: at(40), Unseen: true}, []string{"e1", "e2", "e3", "e6"}},
			{"of another extractor", storage.UnextractedParams{Conversation: "c1", Extractor: "y", Now: at(40), Unseen: true, Limit: 2}, []string{"e1", "e2"}},
		} {
			got, err := tx.Unextracted(t.Context(), c.p)
			check(t, err)
			same(t, c.what, ids(got, episodeID), c.want)
		}
		return nil
	})
	rows[0].Status, rows[0].Attempts, rows[0].Error, rows[0].LeaseUntil = memory.ExtractionDone, 9, "", at(50)
	rows[1].LeaseUntil = time.Time{}
	commit(t, s, ada, func(tx storage.Tx) error {
		check(t, tx.PutExtractions(t.Context(), rows[:2]))
		got, err := tx.Extractions(t.Context(), "x", []string{"e3", "e1", "e2", "e6"})
		check(t, err)
		byID := map[string]memory.Extraction{}
		for _, x := range got {
			byID[x.EpisodeID] = x
		}
		same(t, "rows", []memory.Extraction{byID["e1"], byID["e2"], byID["e3"]}, rows[:3])
		same(t, "how many", len(got), 3)
		return nil
	})
}

func embeddings(t *testing.T, s storage.Store) {
	vector := []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.SmallestNonzeroFloat32, 1e-40, math.MaxFloat32,
		float32(math.Inf(-1)), math.Float32frombits(0x7fc00001), 1.0 / 3}
	embedding := func(tx storage.Tx, kind memory.OwnerKind, owner string, part int, model string, v []float32) memory.Embedding {
		return memory.Embedding{Partition: ada.ID(), OwnerKind: kind, OwnerID: owner, Part: part, Model: model, Vector: v, Change: tx.Head().Change}
	}
	commit(t, s, ada, func(tx storage.Tx) error {
		return tx.PutEmbeddings(t.Context(), []memory.Embedding{
			embedding(tx, memory.OwnerEpisode, "e1", 0, "m", vector), embedding(tx, memory.OwnerEpisode, "e1", 1, "m", vector[:1]),
			embedding(tx, memory.OwnerItem, "e1", 0, "m", vector[1:2]), embedding(tx, memory.OwnerEpisode, "e1", 0, "other", vector[:2]),
			embedding(tx, memory.OwnerEpisode, "e2", 0, "m", []float32{5}), embedding(tx, memory.OwnerEpisode, "e3", 0, "m", nil),
		})
	})
	commit(t, s, ada, func(tx storage.Tx) error { // replaces
		return tx.PutEmbeddings(t.Context(), []memory.Embedding{embedding(tx, memory.OwnerEpisode, "e2", 0, "m", []float32{6, 7})})
	})
	got := map[string]memory.Embedding{}
	for _, e := range changes(t, s, ada, 0).Embeddings {
		got[vectorOwner(e)] = e
	}
	for owner, want := range map[string][]float32{
		"episode e1 0": vector, "episode e1 1": vector[:1], "item e1 0": vector[1:2], "episode e2 0": {6, 7}, "episode e3 0": nil,
	} {
		same(t, owner, bits(got[owner].Vector), bits(want))
	}
	same(t, "how many of the model", len(got), 5)
	same(t, "what was replaced", got["episode e2 0"], memory.Embedding{Partition: ada.ID(), OwnerKind: memory.OwnerEpisode,
		OwnerID: "e2", Model: "m", Vector: []float32{6, 7}, Change: 2})
	same(t, "since", ids(changes(t, s, ada, 1).Embeddings, vectorOwner), []string{"episode e2 0"})
}

func bits(v []float32) []uint32 {
	var out []uint32
	for _, f := range v {
		out = append(out, math.Float32bits(f))
	}
	return out
}

func idempotency(t *testing.T, s storage.Store) {
	want := storage.IdempotencyRecord{Partition: ada.ID(), Key: "k/1", Body: []byte{0, 1}, Result: `["a"]`, At: at(1)}
	commit(t, s, ada, func(tx storage.Tx) error {
		_, err := tx.Idempotency(t.Context(), "k/1")
		wantErr(t, "before", err, storage.ErrNotFound)
		return tx.PutIdempotency(t.Context(), want)
	})
	commit(t, s, ada, func(tx storage.Tx) error {
		got, err := tx.Idempotency(t.Context(), "k/1")
		check(t, err)
		same(t, "record", got, want)
		_, err = tx.Idempotency(t.Context(), "K/1")
		wantErr(t, "another case", err, storage.ErrNotFound)
		return nil
	})
	err := s.Update(t.Context(), ada, func(tx storage.Tx) error { return tx.PutIdempotency(t.Context(), want) })
	wantErr(t, "twice", err, storage.ErrConflict)
	commit(t, s, bob, func(tx storage.Tx) error {
		_, err := tx.Idempotency(t.Context(), "k/1")
		wantErr(t, "another partition", err, storage.ErrNotFound)
		return nil
	})
}
