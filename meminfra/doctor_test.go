package meminfra_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memtest/pgtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
)

// unwell are the checks of a doctor that found something.
func unwell(t *testing.T, store storage.Store, fix bool) (names []string) {
	t.Helper()
	res, err := newLayer(t, store, randomIDs).Doctor(t.Context(), meminfra.DoctorRequest{Fix: fix})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Checks {
		if c.OK != (c.Remedy == "") || c.OK != (len(c.Found) == 0) {
			t.Errorf("check %+v", c)
		}
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}

// An empty store is in order, one that was used is, and one whose user's memory
// was forgotten.
func TestDoctorOfAHealthyStore(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		if got := unwell(t, store, false); len(got) > 0 {
			t.Errorf("empty: %v", got)
		}
		furnishCanaries(t, newLayer(t, store, randomIDs), "ada")
		if got := unwell(t, store, false); len(got) > 0 {
			t.Errorf("used: %v", got)
		}
		if err := outcome(newLayer(t, store, randomIDs).Forget(t.Context(), meminfra.ForgetRequest{UserID: "ada", Everything: true})); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(unwell(t, store, true), " ")
		// Another session of a shared server may hold back its vacuum.
		if got != "" && (got != string(storage.TopicErasures) || strings.HasPrefix(store.Describe(), "sqlite")) {
			t.Errorf("forgotten: %s", got)
		}
	})
}

// What the built-in embedder finds nothing in has no vector, and nothing is
// wrong with that; whatever the script, and for what was stored before as well.
func TestDoctorMindsNoTextWithoutFeatures(t *testing.T) {
	onTargets(t, func(t *testing.T, store storage.Store, target string) {
		ml := newLayer(t, store, randomIDs)
		var list []meminfra.Message
		for i, text := range []string{"👍", "👩‍👩‍👧 🎉🎉", "?!", "...", "。。", "—", "\u200b.", "it is", "I live in Lisbon.",
			"我住在里斯本。", "Я живу в Лиссабоне.", "أعيش في لشبونة", "ฉันอยู่ที่ลิสบอน"} {
			list = append(list, said("m"+strconv.Itoa(i), text, i))
		}
		mustAdd(t, ml, addTo("ada", "c", list...))
		_, err := ml.Add(t.Context(), addTo("ada", "c", said("blank", " \t\n\u3000", 20)))
		if !errors.Is(err, meminfra.ErrBlankMessage) {
			t.Errorf("white space alone: %v", err)
		}
		if got := unwell(t, store, false); len(got) > 0 {
			t.Errorf("wrong: %v", got)
		}
		if got := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "👍"}); len(got.Degraded) > 0 {
			t.Errorf("degraded: %v", got.Degraded)
		}
		execute(t, target, `DELETE FROM embedding`)
		if got := unwell(t, store, false); len(got) != 1 || got[0] != string(storage.TopicVectors) {
			t.Errorf("without vectors: %v", got)
		}
		for _, want := range []int{len(list) + 1, 0} { // messages and an item, then nothing
			res, err := ml.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: "ada"})
			if err != nil || res.Texts != want || res.Embedded > want || want > 0 && res.Embedded < 5 {
				t.Errorf("reembed: %+v, %v, want %d texts", res, err, want)
			}
		}
		if got := unwell(t, store, false); len(got) > 0 {
			t.Errorf("embedded again: %v", got)
		}
	})
}

// A byte of the ledger that was changed is found, and nothing else is.
func TestDoctorFindsABadByte(t *testing.T) {
	onTargets(t, func(t *testing.T, store storage.Store, target string) {
		mustAdd(t, newLayer(t, store), addTo("ada", "c", told("I live in Lisbon.")...))
		execute(t, target, `UPDATE ledger SET objects = replace(objects, '"kind":"item"', '"kind":"itex"')`)
		if got := unwell(t, store, true); len(got) != 1 || got[0] != "ledger" {
			t.Errorf("wrong: %v", got)
		}
	})
}

// execute runs a statement on the database itself.
func execute(t *testing.T, target, statement string) {
	t.Helper()
	if !strings.Contains(target, "://") {
		db, err := sql.Open("sqlite", target)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
		return
	}
	conn, err := pgx.Connect(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// With a reader open, what was forgotten leaves something in the files: doctor
// says so, --fix cannot help while the reader is there, and does once it is gone.
func TestDoctorFinishesAnErasure(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "data")
		path := filepath.Join(folder, "memory.db")
		store, err := sqlite.OpenWith(t.Context(), path, &sqlite.Options{BusyTimeout: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		finishesAnErasure(t, store, func() (end func() error) {
			reader, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var n int
			if err := reader.QueryRow(`SELECT count(*) FROM episode`).Scan(&n); err != nil || n == 0 {
				t.Fatal(n, err)
			}
			return reader.Rollback
		})
		for name, b := range files(t, folder) {
			if got := leaks(b, canaries...); len(got) > 0 {
				t.Errorf("%s holds %v", name, got)
			}
		}
	})
	t.Run("postgres", func(t *testing.T) {
		target := migrated(t, pgtest.Database(t))
		store := openPostgresAt(t, target)
		finishesAnErasure(t, store, func() (end func() error) {
			conn, err := pgx.Connect(t.Context(), target)
			if err != nil {
				t.Fatal(err)
			}
			reader, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
			if err != nil {
				t.Fatal(err)
			}
			var n int
			if err := reader.QueryRow(t.Context(), `SELECT count(*) FROM episode`).Scan(&n); err != nil || n == 0 {
				t.Fatal(n, err)
			}
			return func() error { // the server notices later that a connection is closed
				return errors.Join(reader.Rollback(t.Context()), conn.Close(t.Context()))
			}
		})
	})
}

func finishesAnErasure(t *testing.T, store storage.Store, read func() (end func() error)) {
	t.Helper()
	ml := newLayer(t, store, randomIDs)
	furnishCanaries(t, ml, "ada")
	end := read()
	res, err := ml.Forget(t.Context(), meminfra.ForgetRequest{UserID: "ada", Everything: true})
	if err != nil || res.Residue != meminfra.ResiduePending {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, fix := range []bool{false, true} {
		if got := unwell(t, store, fix); len(got) != 1 || got[0] != string(storage.TopicErasures) {
			t.Errorf("with the reader, fix %v: %v", fix, got)
		}
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if got := unwell(t, store, true); len(got) > 0 {
		t.Errorf("without the reader: %v", got)
	}
}
