package meminfra_test

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
)

// canaries are words that nothing else holds, each in one place of a memory.
var canaries = []string{"Zanzibarium", "quokkafish", "Wombatopolis", "narwhalette", "capybarista", "ocelotville",
	"tapirology", "axolotlian", "pangolinux", "dugongate"}

// furnishCanaries remembers canaries in every place that holds words.
func furnishCanaries(t *testing.T, ml *meminfra.MemoryLayer, user string) (id string) {
	t.Helper()
	m := said("m-dugongate", "I live in Zanzibarium. My notes on quokkafish say nothing else.", 0)
	m.Metadata = memory.Metadata{"about": "narwhalette"}
	m.Name = user
	req := addTo(user, "about-capybarista", m, said("m2", "I live in Zanzibarium.", 1))
	req.IdempotencyKey = "key-ocelotville"
	id = mustAdd(t, ml, req).Actions[0].ItemID
	mustAdd(t, ml, addTo(user, "about-capybarista", said("m3", "I moved to Wombatopolis.", 2),
		meminfra.Message{ID: "m4", Role: memory.RoleTool, Source: "pangolinux", Content: "The tool says Wombatopolis.", SentAt: monday}))
	mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: "Do I live in Wombatopolis, for tapirology?"})
	res := mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: "Where do I live?"})
	for _, h := range res.Hits {
		if h.Value == "Wombatopolis" {
			_, err := ml.Curate().Edit(t.Context(), meminfra.EditRequest{UserID: user, ID: h.ID, Text: "I live in Wombatopolis, axolotlian quarter.",
				Value: "Wombatopolis", Reason: "axolotlian is better"})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return id
}

// forms are how a canary may be written in a file.
func forms(canary string) [][]byte {
	var list [][]byte
	for _, s := range []string{canary, strings.ToLower(canary), memory.FoldName(canary), hex.EncodeToString([]byte(canary))} {
		list = append(list, []byte(s))
		var little, big []byte
		for _, u := range utf16.Encode([]rune(s)) {
			little, big = append(little, byte(u), byte(u>>8)), append(big, byte(u>>8), byte(u))
		}
		list = append(list, little, big)
	}
	// Plain hashes of short texts can be guessed, so they may not stay either.
	for _, s := range []string{"I live in Zanzibarium", "i live in zanzibarium", "I live in Zanzibarium.", "I moved to Wombatopolis."} {
		sum := sha256.Sum256([]byte(s))
		list = append(list, sum[:], []byte(hex.EncodeToString(sum[:])))
	}
	return list
}

// leaks lists the canaries that are found in a text.
func leaks(text []byte, canaries ...string) (found []string) {
	for _, c := range canaries {
		for _, form := range forms(c) {
			if bytes.Contains(text, form) {
				found = append(found, c)
				break
			}
		}
	}
	return found
}

// files reads everything in a folder: the database, its log, its index of the
// log, lock files, whatever there is.
func files(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[filepath.Base(path)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// After a user is forgotten no byte of his words is in the file, its side files
// or its folder; papers.md section 11, T1. The null control: before, all are.
func TestNoByteIsLeftInTheFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	store := openTarget(t, filepath.Join(folder, "memory.db"))
	ml := newLayer(t, store)
	const user = "xerusette"
	canaries := append([]string{user}, canaries...)
	furnishCanaries(t, ml, user)
	mustAdd(t, ml, addTo("bob", "c", told("I live in Porto.", "I use PostgreSQL.")...))
	var all []byte
	for _, b := range files(t, folder) {
		all = append(all, b...)
	}
	if got := leaks(all, canaries...); len(got) != len(canaries) {
		t.Fatalf("only %v are stored at all", got)
	}
	res := mustForget(t, ml, meminfra.ForgetRequest{UserID: user, Everything: true})
	if res.Residue != meminfra.ResidueNone {
		t.Errorf("residue %s", res.Residue)
	}
	for name, b := range files(t, folder) {
		if got := leaks(b, canaries...); len(got) > 0 {
			t.Errorf("%s holds %v", name, got)
		}
	}
	if hits := mustSearch(t, ml, meminfra.SearchRequest{UserID: "bob", Query: "Where do I live?"}).Hits; len(hits) == 0 || hits[0].Value != "Porto" {
		t.Errorf("bob: %q", texts(hits))
	}
	checkTombstones(t, store, user)
	checkTombstones(t, store, "bob")
	if covered := len(coveredRows(t, store, user)); covered != 0 || res.Tombstones == 0 {
		t.Errorf("%d covered rows are left, %d tombstones", covered, res.Tombstones)
	}
}

// The same for one memory and for one conversation, whose user stays.
func TestNoByteOfAConversationIsLeft(t *testing.T) {
	for name, forget := range map[string]func(t *testing.T, ml *meminfra.MemoryLayer, id string){
		"conversation": func(t *testing.T, ml *meminfra.MemoryLayer, _ string) {
			mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ConversationID: "about-capybarista"})
			mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ConversationID: "curate"})
		},
		"filter": func(t *testing.T, ml *meminfra.MemoryLayer, _ string) {
			mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", Filters: meminfra.Filters{From: monday.AddDate(0, 0, -1)}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "data")
			store := openTarget(t, filepath.Join(folder, "memory.db"))
			ml := newLayer(t, store)
			if name == "conversation" {
				mustAdd(t, ml, addTo("ada", "other", said("o1", "I live in Oslo.", -60), said("o2", "I use PostgreSQL.", 3)))
			}
			id := furnishCanaries(t, ml, "ada")
			forget(t, ml, id)
			for file, b := range files(t, folder) {
				if got := leaks(b, canaries...); len(got) > 0 {
					t.Errorf("%s holds %v", file, got)
				}
			}
			checkTombstones(t, store, "ada")
		})
	}
}

// With a reader open the certificate says pending, and the next one that tidies
// finishes it.
func TestAReaderKeepsErasurePending(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(folder, "memory.db")
	store, err := sqlite.OpenWith(t.Context(), path, &sqlite.Options{BusyTimeout: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ml := newLayer(t, store)
	furnishCanaries(t, ml, "ada")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	reader, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRow(`SELECT count(*) FROM episode`).Scan(&n); err != nil || n == 0 {
		t.Fatal(n, err)
	}
	res := mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", Everything: true})
	if pending, err := store.Pending(t.Context()); err != nil || pending != 1 || res.Residue != meminfra.ResiduePending {
		t.Errorf("residue %s, pending %d, %v", res.Residue, pending, err)
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	again, err := ml.Sweep(t.Context(), meminfra.SweepRequest{})
	if err != nil || again.Residue != meminfra.ResidueNone {
		t.Errorf("sweep: %+v, %v", again, err)
	}
	for name, b := range files(t, folder) {
		if got := leaks(b, canaries...); len(got) > 0 {
			t.Errorf("%s holds %v", name, got)
		}
	}
}

// A dump of all live tables of PostgreSQL holds none of it either.
func TestNoByteIsLeftInPostgres(t *testing.T) {
	target := migratedPostgres(t)
	store := openPostgresAt(t, target)
	ml := newLayer(t, store)
	furnishCanaries(t, ml, "ada")
	mustAdd(t, ml, addTo("bob", "c", told("I live in Porto.")...))
	if got := leaks(tables(t, target), canaries...); len(got) != len(canaries) {
		t.Fatalf("only %v are stored at all", got)
	}
	mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", Everything: true})
	text := tables(t, target)
	if got := leaks(text, canaries...); len(got) > 0 {
		t.Errorf("the tables hold %v", got)
	}
	if !bytes.Contains(text, []byte("Porto")) {
		t.Error("bob is gone, too")
	}
	checkTombstones(t, store, "ada")
}

// tables renders every row of every table of a PostgreSQL schema.
func tables(t *testing.T, target string) []byte {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) < 18 {
		t.Fatal(names, err)
	}
	var out bytes.Buffer
	for _, name := range names {
		rows, err := conn.Query(t.Context(), `SELECT * FROM `+pgx.Identifier{name}.Sanitize())
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				if b, ok := v.([]byte); ok {
					out.Write(b)
					continue
				}
				fmt.Fprintln(&out, v)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// What the owner gave as his reason for an act goes with what the act was about,
// whatever way that is forgotten, and with the user.
func TestNoByteOfAReasonIsLeft(t *testing.T) {
	ways := map[string]meminfra.ForgetRequest{
		"item": {}, "conversation": {ConversationID: "c"}, "user": {Everything: true},
		"filter": {Filters: meminfra.Filters{From: monday.AddDate(0, 0, -1)}},
	}
	onTargets(t, func(t *testing.T, store storage.Store, target string) {
		stored := func() (all []byte) {
			if strings.Contains(target, "://") {
				return tables(t, target)
			}
			for _, b := range files(t, filepath.Dir(target)) {
				all = append(all, b...)
			}
			return all
		}
		for way, req := range ways {
			ml := newLayer(t, store, randomIDs)
			req.UserID = way
			ids := giveReasons(t, ml, way)
			if got := leaks(stored(), reasonCanaries...); len(got) != len(reasonCanaries) {
				t.Fatalf("%s: only %v are stored at all", way, got)
			}
			if way == "item" {
				for _, id := range ids {
					req.ID = id
					mustForget(t, ml, req)
				}
			} else {
				mustForget(t, ml, req)
			}
			if got := leaks(stored(), reasonCanaries...); len(got) > 0 {
				t.Errorf("%s: %v are left", way, got)
			}
			verifies(t, way, ml, nil)
			checkTombstones(t, store, way)
			if open := mustSearch(t, ml, meminfra.SearchRequest{UserID: way, Query: "Which database do I use?"}).Hits; (len(open) > 0) != (way == "item" || way == "conversation") {
				t.Errorf("%s: of the rest: %q", way, texts(open))
			}
		}
	})
}

// reasonCanaries are words that are in the reasons of acts alone.
var reasonCanaries = []string{"wallabytale", "numbatology", "bandicootish", "potoroonian"}

// giveReasons edits, retracts and restores memories of the conversation c, for
// reasons of its own each, and returns the memories' first versions.
func giveReasons(t *testing.T, ml *meminfra.MemoryLayer, user string) []string {
	t.Helper()
	mustAdd(t, ml, addTo(user, "other", said("o1", "I use PostgreSQL.", 9)))
	var ids []string
	for _, a := range mustAdd(t, ml, addTo(user, "c", told("I live in Lisbon.", "I speak Dutch.", "I own a boat.")...)).Actions {
		ids = append(ids, a.ItemID)
	}
	if len(ids) != 3 {
		t.Fatalf("%d memories", len(ids))
	}
	act := func(_ *meminfra.CurateResult, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	act(ml.Curate().Edit(t.Context(), meminfra.EditRequest{UserID: user, ID: ids[0], Text: "I live in Lisbon, by the river.", Reason: "wallabytale"}))
	act(ml.Curate().Retract(t.Context(), meminfra.RetractRequest{UserID: user, ID: ids[1], Reason: "numbatology"}))
	act(ml.Curate().Restore(t.Context(), meminfra.RestoreRequest{UserID: user, ID: ids[1], Reason: "bandicootish"}))
	act(ml.Curate().Edit(t.Context(), meminfra.EditRequest{UserID: user, ID: ids[2], Text: "I own a sailing boat.", Reason: "potoroonian"}))
	return ids
}
