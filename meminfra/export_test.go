package meminfra_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

func export(t *testing.T, ml *meminfra.MemoryLayer) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := ml.Ledger().Export(t.Context(), meminfra.ExportRequest{UserID: "ada", To: &b}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func importInto(ml *meminfra.MemoryLayer, b []byte) (*meminfra.ImportResult, error) {
	return ml.Ledger().Import(context.Background(), meminfra.ImportRequest{From: bytes.NewReader(b)})
}

// rows of grants are of the directory, and no export has them.
func withoutGrant(t *testing.T, store storage.Store) *meminfra.MemoryLayer {
	t.Helper()
	ml := newLayer(t, store, randomIDs)
	for i, text := range []string{"I use PostgreSQL.", "I use PostgreSQL.", "I switched to SQLite.", "I speak Dutch and German.", "I live in Zürich."} {
		mustAdd(t, ml, addTo("ada", "c", meminfra.Message{Content: text, SentAt: monday.AddDate(0, 0, i), Metadata: memory.Metadata{"z": 1e300, "a": "é", "n": i}}))
	}
	places := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.Extractor = asLocation{} })
	mustAdd(t, places, addTo("ada", "d", meminfra.Message{Content: "Lisbon", SentAt: monday},
		meminfra.Message{Role: memory.RoleTool, Content: "Porto", SentAt: monday}))
	items := mustList(t, ml, "ada", meminfra.Filters{})
	_, err := ml.Curate().Retract(t.Context(), meminfra.RetractRequest{UserID: "ada", ID: items[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ml.Curate().Derive(t.Context(), meminfra.DeriveRequest{UserID: "ada", From: []string{items[1].ID, items[2].ID}, Text: "All in all."})
	if err != nil {
		t.Fatal(err)
	}
	return ml
}

// From one store to the other and back the export is the same bytes, and it
// verifies at each stop.
func TestExportGoesRoundTheStores(t *testing.T) {
	first, second, third := openSQLite(t), openPostgres(t), openSQLite(t)
	want := export(t, withoutGrant(t, first))
	for i, store := range []storage.Store{second, third} {
		ml := newLayer(t, store, randomIDs)
		res, err := importInto(ml, want)
		if err != nil {
			t.Fatal(err)
		}
		if res.Known != 0 || res.Entries == 0 || res.Rows == 0 || res.UserID != "ada" {
			t.Errorf("stop %d: %+v", i+1, res)
		}
		verifies(t, "imported", ml, nil)
		if got := export(t, ml); !bytes.Equal(got, want) {
			t.Errorf("stop %d: the export differs:\n%s\nwant\n%s", i+1, got, want)
		}
		if res, err = importInto(ml, want); err != nil || res.Entries != 0 || res.Rows != 0 {
			t.Errorf("stop %d, once more: %+v, %v", i+1, res, err)
		}
	}
	if a, b := withoutVectors(dump(t, first, "ada")), withoutVectors(dump(t, third, "ada")); a != b {
		t.Errorf("what is stored differs:\n%s\nwant\n%s", b, a)
	}
	hits := mustSearch(t, newLayer(t, third, randomIDs), meminfra.SearchRequest{UserID: "ada", Query: "Which languages do I speak?"}).Hits
	if len(hits) == 0 {
		t.Errorf("nothing is found of what was imported")
	}
}

// What was added since an export comes after it, into what the export made.
func TestImportAddsTheRest(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		from := openSQLite(t)
		ml := withoutGrant(t, from)
		early := export(t, ml)
		mustAdd(t, ml, addTo("ada", "c", meminfra.Message{Content: "I switched to DuckDB.", SentAt: monday.AddDate(0, 1, 0)}))
		late := export(t, ml)
		to := newLayer(t, store, randomIDs)
		if _, err := importInto(to, early); err != nil {
			t.Fatal(err)
		}
		res, err := importInto(to, late)
		if err != nil || res.Known == 0 || res.Entries == 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		verifies(t, "with the rest", to, nil)
		if !bytes.Equal(export(t, to), late) {
			t.Errorf("the export differs")
		}
		if _, err := importInto(to, early); !errors.Is(err, meminfra.ErrDiverged) {
			t.Errorf("an older export: %v", err)
		}
		mustAdd(t, to, addTo("ada", "c", said("other", "I own a boat.", 1)))
		mustAdd(t, ml, addTo("ada", "c", said("another", "I own a car.", 1), said("more", "I own a house.", 2)))
		if _, err := importInto(to, export(t, ml)); !errors.Is(err, meminfra.ErrDiverged) {
			t.Errorf("both went on: %v", err)
		}
		verifies(t, "refused", to, nil)
	})
}

// What was forgotten is not in an export, and an import forgets it too.
func TestImportForgets(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		from := openSQLite(t)
		ml := withoutGrant(t, from)
		to := newLayer(t, store, randomIDs)
		if _, err := importInto(to, export(t, ml)); err != nil {
			t.Fatal(err)
		}
		if _, err := ml.Forget(t.Context(), meminfra.ForgetRequest{UserID: "ada", ConversationID: "d"}); err != nil {
			t.Fatal(err)
		}
		verifies(t, "forgotten at the source", ml, nil)
		late := export(t, ml)
		if bytes.Contains(late, []byte("Lisbon")) || !bytes.Contains(late, []byte(`"forget"`)) {
			t.Fatalf("the export has what was forgotten, or does not say so")
		}
		if _, err := importInto(to, late); err != nil {
			t.Fatal(err)
		}
		verifies(t, "forgotten", to, nil)
		if !bytes.Equal(export(t, to), late) {
			t.Errorf("the export differs")
		}
		fresh := newLayer(t, openSQLite(t), randomIDs)
		if _, err := importInto(fresh, late); err != nil {
			t.Fatal(err)
		}
		verifies(t, "into an empty one", fresh, nil)
	})
}

// An export in which anything was changed is refused, by the line, and leaves
// nothing.
func TestTamperedExportIsRefusedByLine(t *testing.T) { onStores(t, refusesTamperedExport) }

func refusesTamperedExport(t *testing.T, store storage.Store) {
	ml := withoutGrant(t, openSQLite(t))
	lines := strings.SplitAfter(strings.TrimSuffix(string(export(t, ml)), "\n"), "\n")
	to := newLayer(t, store, randomIDs)
	refused := func(what string, line int, tampered []string) {
		t.Helper()
		_, err := importInto(to, []byte(strings.Join(tampered, "")))
		var bad *ledger.LineError
		if !errors.As(err, &bad) || !errors.Is(err, ledger.ErrExport) || line > 0 && bad.Line != int64(line) {
			t.Errorf("%s: %v, want line %d", what, err, line)
		}
		if exists(t, store, "ada") {
			t.Fatalf("%s: something was written", what)
		}
	}
	change := func(i int, old, with string) []string {
		out := append([]string(nil), lines...)
		if out[i] = strings.Replace(lines[i], old, with, 1); out[i] == lines[i] {
			t.Fatalf("line %d has no %s", i+1, old)
		}
		return out
	}
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, `{"entry"`):
			refused("an entry's time", i+1, change(i, `"at":1`, `"at":2`))
			refused("white space", i+1, change(i, `:`, `: `))
		case strings.HasPrefix(line, `{"export"`), strings.HasPrefix(line, `{"end"`):
		case strings.HasPrefix(line, `{"extraction"`):
			refused("an extraction less", 0, append(append([]string(nil), lines[:i]...), lines[i+1:]...))
		default:
			refused("a salt", i+1, change(i, `"salt":"`, `"salt":"00`))
			refused("a row less", 0, append(append([]string(nil), lines[:i]...), lines[i+1:]...))
			refused("a row twice", i+2, append(append(append([]string(nil), lines[:i+1]...), line), lines[i+1:]...))
		}
	}
	refused("a tail that is cut", 0, lines[:len(lines)-1])
	refused("no header", 1, lines[1:])
	if _, err := importInto(to, []byte(strings.Join(lines, ""))); err != nil {
		t.Errorf("untouched: %v", err)
	}
}

// Added as new, the messages of an export come to what is there, read anew and
// under the chain that is there; what was withdrawn is withdrawn, and adding
// them again adds nothing.
func TestImportAsNew(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		from := newLayer(t, openSQLite(t), randomIDs)
		mustAdd(t, from, addTo("ada", "c", told("I use PostgreSQL.", "I switched to SQLite.", "I live in Porto.", "I speak Dutch.")...))
		mustAdd(t, from, meminfra.AddRequest{UserID: "ada", ConversationID: "d", UserName: "Ada", Messages: []meminfra.Message{
			{ID: "n1", Name: "Ada", Content: "I own a boat.", SentAt: monday.In(time.FixedZone("", 7200)), Metadata: memory.Metadata{"é": 1e300}},
			{ID: "n2", Content: "I speak Frisian.", SentAt: monday, ExpiresAt: testClock().Now().Add(time.Second)}}})
		items := mustList(t, from, "ada", meminfra.Filters{})
		for _, i := range items {
			if i.Value == "SQLite" || i.Value == "Dutch" {
				if _, err := from.Curate().Retract(t.Context(), meminfra.RetractRequest{UserID: "ada", ID: i.ID}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := from.Curate().Derive(t.Context(), meminfra.DeriveRequest{UserID: "ada", From: []string{items[0].ID}, Text: "All in all."}); err != nil {
			t.Fatal(err)
		}
		file := export(t, from)

		clock := testClock()
		clock.Advance(time.Hour)
		to := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.Now = clock.Now })
		mustAdd(t, to, addTo("bea", "mine", said("own", "I am allergic to nuts.", 0)))
		asNew := func(b []byte) (*meminfra.ImportResult, error) {
			return to.Ledger().Import(t.Context(), meminfra.ImportRequest{From: bytes.NewReader(b), AsNew: true, UserID: "bea", UserName: "Ada"})
		}
		if _, err := asNew(bytes.Replace(file, []byte("Porto"), []byte("Faro"), 1)); !errors.Is(err, ledger.ErrExport) {
			t.Errorf("a changed export: %v", err)
		}
		before := dump(t, store, "bea")
		res, err := asNew(file)
		if err != nil || *res != (meminfra.ImportResult{UserID: "bea", Messages: 5, LeftOut: 2}) {
			t.Fatalf("%+v, %v", res, err)
		}
		verifies(t, "as new", to, nil)
		if dump(t, store, "bea") == before {
			t.Errorf("nothing was added")
		}
		var got []string
		for _, r := range mustList(t, to, "bea", meminfra.Filters{}) {
			got = append(got, r.Text)
		}
		slices.Sort(got)
		want := []string{"I am allergic to nuts", "I live in Porto", "I own a boat", "I use PostgreSQL"}
		if !slices.Equal(got, want) {
			t.Errorf("remembered: %q, want %q", got, want)
		}
		for _, e := range changesOf(t, store, "bea").Episodes {
			if e.MessageID == "n1" && (e.SentOffset != 7200 || !e.SentAt.Equal(monday) || e.Metadata["é"] != 1e300 || e.UserID != "bea") {
				t.Errorf("the message is not as it was: %+v", e)
			}
		}
		after := dump(t, store, "bea")
		if res, err = asNew(file); err != nil || *res != (meminfra.ImportResult{UserID: "bea", Known: 5, LeftOut: 2}) {
			t.Errorf("once more: %+v, %v", res, err)
		}
		if dump(t, store, "bea") != after {
			t.Errorf("adding it again changed something")
		}
	})
}

// An export is a read in its user's name: one that would hold what came through
// an agent or a resource that is not his, or has expired, is refused before its
// first byte, as a message and as an item alike. Design section 6.
func TestExportHasNothingHidden(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		clock := testClock()
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Now = clock.Now })
		mustAdd(t, ml, addTo("ada", "c", said("m1", "I live in Lisbon.", 0)))
		through(t, ml, "ada", "p", "crm", "I work at Acme.")
		try := func(when string, whole bool, want error) string {
			t.Helper()
			var b bytes.Buffer
			_, err := ml.Ledger().Export(t.Context(), meminfra.ExportRequest{UserID: "ada", To: &b, Whole: whole})
			if !errors.Is(err, want) || want == nil && err != nil || want != nil && b.Len() > 0 {
				t.Errorf("%s: %v, want %v, and %d bytes", when, err, want, b.Len())
			}
			return b.String()
		}
		all := try("open mode", false, nil)
		agent, resource := meminfra.GrantRequest{UserID: "ada", AgentID: "p"}, meminfra.GrantRequest{AgentID: "p", ResourceID: "crm"}
		mustGrant(t, ml, agent)
		try("without the resource", false, meminfra.ErrHidden)
		mustGrant(t, ml, resource)
		if got := try("both granted", false, nil); got != all {
			t.Errorf("grants changed the export")
		}
		for _, edge := range []meminfra.GrantRequest{resource, agent} {
			mustRevoke(t, ml, meminfra.RevokeRequest(edge))
			try("revoked", false, meminfra.ErrHidden)
			if got := try("as who keeps the store", true, nil); got != all {
				t.Errorf("revoked: the whole export is another one")
			}
			mustGrant(t, ml, edge)
			try("granted again", false, nil)
		}
		mustRevoke(t, ml, meminfra.RevokeRequest(agent))
		if _, err := ml.Forget(t.Context(), meminfra.ForgetRequest{UserID: "ada", ConversationID: "via p"}); err != nil {
			t.Fatal(err)
		}
		if got := try("the rest alone", false, nil); strings.Contains(got, "Acme") {
			t.Errorf("what was forgotten is in the export")
		}
		short := said("m2", "I speak Dutch.", 1)
		short.ExpiresAt = clock.Now().Add(time.Hour)
		mustAdd(t, ml, addTo("ada", "d", short))
		try("not expired yet", false, nil)
		clock.Advance(2 * time.Hour)
		try("expired", false, meminfra.ErrHidden)
		if _, err := ml.Sweep(t.Context(), meminfra.SweepRequest{}); err != nil {
			t.Fatal(err)
		}
		try("swept", false, nil)
	})
}

// A message of its own is hidden without an item that shows it.
func TestExportHidesAMessageAlone(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		if res := through(t, ml, "ada", "p", "", "Hello there."); len(res.Actions) > 0 {
			t.Fatalf("it says something: %+v", res.Actions)
		}
		mustGrant(t, ml, meminfra.GrantRequest{UserID: "ada", AgentID: "q"})
		var b bytes.Buffer
		if _, err := ml.Ledger().Export(t.Context(), meminfra.ExportRequest{UserID: "ada", To: &b}); !errors.Is(err, meminfra.ErrHidden) || b.Len() > 0 {
			t.Errorf("%v, %d bytes", err, b.Len())
		}
	})
}
