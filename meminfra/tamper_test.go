package meminfra_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/memtest/sqlitetest"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// onRaw runs a test on a fresh database of each store, with the database
// beneath it open as well, without constraints: what somebody has who can write
// to it. Every row of a table that the ledger covers has a rowid.
func onRaw(t *testing.T, run func(t *testing.T, store storage.Store, raw *rawDB)) {
	sideBySide(t, func(t *testing.T) {
		path := sqlitetest.Migrated(t)
		store := openSQLiteAt(t, path)
		raw := openRaw(t, "sqlite", "file:"+path+"?_pragma=ignore_check_constraints(1)&_pragma=foreign_keys(0)&_pragma=busy_timeout(5000)")
		raw.listTables = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%migrations'`
		raw.listColumns = `SELECT name, lower(type) FROM pragma_table_info(?1)`
		raw.reopen = func() storage.Store { return openSQLiteAt(t, path) }
		run(t, store, raw)
	}, func(t *testing.T) {
		url := migratedPostgres(t)
		store := openPostgresAt(t, url)
		raw := openRaw(t, "pgx", url)
		raw.listTables = `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT LIKE '%migrations'`
		raw.listColumns = `SELECT column_name, data_type FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = $1 AND column_name <> 'rowid' ORDER BY ordinal_position`
		raw.reopen = func() storage.Store { return openPostgresAt(t, url) }
		raw.unconstrain()
		run(t, store, raw)
	})
}

type rawDB struct {
	*testing.T
	db                      *sql.DB
	listTables, listColumns string
	reopen                  func() storage.Store
}

func openRaw(t *testing.T, driver, dsn string) *rawDB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &rawDB{T: t, db: db}
}

// unconstrain makes PostgreSQL as lenient as SQLite's pragmas do, and gives
// its rows ids.
func (r *rawDB) unconstrain() {
	rows := r.query(`SELECT conrelid::regclass::text, conname FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace
WHERE n.nspname = current_schema() AND contype IN ('c', 'f')`)
	for _, c := range rows {
		r.exec(fmt.Sprintf(`ALTER TABLE %s DROP CONSTRAINT %s`, c[0], c[1]))
	}
	for _, table := range r.tables() {
		r.exec(`ALTER TABLE ` + table + ` ADD COLUMN rowid bigserial`)
	}
}

func (r *rawDB) exec(query string, args ...any) {
	r.Helper()
	if _, err := r.db.ExecContext(context.Background(), query, args...); err != nil {
		r.Fatalf("%s: %v", query, err)
	}
}

func (r *rawDB) query(query string, args ...any) (list [][]any) {
	r.Helper()
	rows, err := r.db.QueryContext(context.Background(), query, args...)
	if err != nil {
		r.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		r.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			r.Fatal(err)
		}
		list = append(list, values)
	}
	if err := rows.Err(); err != nil {
		r.Fatal(err)
	}
	return list
}

func (r *rawDB) tables() (list []string) {
	for _, row := range r.query(r.listTables) {
		list = append(list, row[0].(string))
	}
	slices.Sort(list)
	return list
}

type rawColumn struct{ table, name, kind string }

func (r *rawDB) columns(table string) (list []rawColumn) {
	for _, row := range r.query(r.listColumns, table) {
		list = append(list, rawColumn{table, row[0].(string), row[1].(string)})
	}
	return list
}

// set writes a value into a column of one row.
func (r *rawDB) set(c rawColumn, rowid, value any) {
	r.Helper()
	r.exec(`UPDATE `+c.table+` SET `+c.name+` = $1 WHERE rowid = $2`, value, rowid)
}

// altered is another value of the same type. Numbers move far, so that none
// becomes that of another row.
func altered(c rawColumn, v any) any {
	isBytes := c.kind == "blob" || c.kind == "bytea"
	switch v := v.(type) {
	case nil:
		if isBytes {
			return []byte{1}
		}
		return int64(1_000_007)
	case bool:
		return !v
	case int64:
		if c.kind == "boolean" || slices.Contains([]string{"holds_slot", "full_witness", "estimated", "shareable", "revoked"}, c.name) {
			return 1 - v
		}
		return v + 1_000
	case float64:
		return v + 0.25
	case []byte:
		if len(v) == 0 {
			return []byte{1}
		}
		v = bytes.Clone(v)
		v[len(v)/2] ^= 0x20
		return v
	case string:
		if v == "" {
			return "x"
		}
		b := []byte(v)
		b[len(b)-1] ^= 0x01
		if isText := b[len(b)-1] < 0x80 && b[len(b)-1] != 0; !isText {
			return v + "x"
		}
		return string(b)
	}
	return fmt.Sprint(v) + "x"
}

// whose names a row of a covered table as findings do: the kind, and SQL for the id.
var whose = map[string]struct{ kind, id string }{
	"episode": {ledger.KindEpisode, "episode"}, "item": {ledger.KindItem, "item"},
	"item_derivation": {ledger.KindItem, "item"}, "item_origin": {ledger.KindItem, "item"},
	"item_state": {ledger.KindState, "item || '/' || n"}, "evidence": {ledger.KindEvidence, "item || '/' || n"},
	"conflict": {ledger.KindConflict, "item || '/' || other"}, "decision": {ledger.KindDecision, "decision"},
	"access_grant": {ledger.KindGrant, "access_grant"}, "feedback": {ledger.KindFeedback, "feedback"},
}

// eventful gives ada a history with every kind of row that the ledger covers.
func eventful(t *testing.T, store storage.Store, edit ...func(*meminfra.Options)) *meminfra.MemoryLayer {
	t.Helper()
	ids := randomIDs // each layer below makes its own
	ml := newLayer(t, store, append([]func(*meminfra.Options){ids}, edit...)...)
	meta := memory.Metadata{"z": 1e300, "a": "é", "n": 1}
	for i, text := range []string{"I use PostgreSQL.", "I use PostgreSQL.", "I switched to SQLite.", "I speak Dutch and German.",
		"I live in Zürich.", "I no longer use SQLite."} {
		mustAdd(t, ml, addTo("ada", "c", meminfra.Message{Content: text, SentAt: monday.Add(time.Duration(i) * time.Hour), Metadata: meta}))
	}
	places := newLayer(t, store, append([]func(*meminfra.Options){ids, func(o *meminfra.Options) { o.Extractor = asLocation{} }}, edit...)...)
	mustAdd(t, places, addTo("ada", "d", meminfra.Message{Content: "Lisbon", SentAt: monday},
		meminfra.Message{Role: memory.RoleTool, Content: "Porto", SentAt: monday.Add(time.Minute)}))
	items := mustList(t, ml, "ada", meminfra.Filters{})
	edited, err := ml.Curate().Edit(t.Context(), meminfra.EditRequest{UserID: "ada", ID: items[0].ID, Text: items[0].Text + " Really."})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ml.Curate().Retract(t.Context(), meminfra.RetractRequest{UserID: "ada", ID: edited.ItemID}); err != nil {
		t.Fatal(err)
	}
	if _, err := ml.Curate().Restore(t.Context(), meminfra.RestoreRequest{UserID: "ada", ID: edited.ItemID}); err != nil {
		t.Fatal(err)
	}
	addRest(t, store, edit...)
	items = mustList(t, ml, "ada", meminfra.Filters{})
	from := []string{items[0].ID, items[1].ID, "item-with-origins"}
	if _, err := ml.Curate().Derive(t.Context(), meminfra.DeriveRequest{UserID: "ada", From: from, Text: "All in all."}); err != nil {
		t.Fatal(err)
	}
	return ml
}

// addRest writes what the facade may have no verb for: an item with origins, a
// grant and feedback.
func addRest(t *testing.T, store storage.Store, edit ...func(*meminfra.Options)) {
	t.Helper()
	opts := &meminfra.Options{}
	for _, f := range edit {
		f(opts)
	}
	err := store.Update(t.Context(), partitionNamed("ada"), func(tx storage.Tx) error {
		h, at, salt := tx.Head(), testClock().Now(), []byte("salt")
		d := memory.Decision{ID: "decision-with-origins", Operation: "add", Action: memory.ActionAdd, ItemID: "item-with-origins", Reason: "new_fact", At: at, Salt: salt}
		i := memory.Item{ID: "item-with-origins", Seq: tx.NextSeq(1), Kind: memory.KindFact, Text: "The office is open.", TextKey: memory.NormalText("The office is open."),
			Polarity: memory.Positive, Authority: memory.Unendorsed, Scope: memory.Scope{UserID: "ada", Visibility: memory.VisibilityPrivate},
			Root: "item-with-origins", RecordedAt: at, Decision: d.ID, Salt: salt,
			Origins: []memory.Origin{{Kind: memory.OriginAgent, Name: "helper"}, {Kind: memory.OriginResource, Name: "calendar"}}}
		s := memory.State{ItemID: i.ID, N: 1, Status: memory.StatusActive, Reason: "new_fact", SystemFrom: at, Decision: d.ID, Salt: salt}
		g := memory.Grant{ID: "grant", Kind: memory.GrantUserAgent, Left: "ada", Right: "helper", At: at, By: "ada", Salt: salt}
		f := storage.Feedback{ID: "feedback", TraceID: "trace", Reward: 0.5, Key: "k", At: at, Salt: salt}
		entry := ledger.NewChain(opts.LedgerKey, h.LedgerSeq, h.LedgerHead).Append(h.Partition, "add", at, []memory.Object{
			ledger.Decision(d), ledger.Item(i), ledger.State(s), ledger.Grant(g), ledger.Feedback(f)})
		for _, err := range []error{
			tx.InsertDecisions(t.Context(), []memory.Decision{d}), tx.InsertItems(t.Context(), []memory.Item{i}),
			tx.InsertStates(t.Context(), []memory.State{s}), tx.InsertGrants(t.Context(), []memory.Grant{g}),
			tx.InsertFeedback(t.Context(), []storage.Feedback{f}),
		} {
			if err != nil {
				return err
			}
		}
		return tx.AppendEntries(t.Context(), []memory.Entry{entry})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func verify(t testing.TB, ml *meminfra.MemoryLayer, at *ledger.Checkpoint) ledger.Report {
	t.Helper()
	res, err := ml.Ledger().Verify(t.Context(), meminfra.VerifyRequest{UserID: "ada", Checkpoint: at})
	if err != nil {
		t.Fatal(err)
	}
	return res.Partitions[0]
}

func verifies(t testing.TB, when string, ml *meminfra.MemoryLayer, at *ledger.Checkpoint) {
	t.Helper()
	if r := verify(t, ml, at); !r.OK() {
		t.Errorf("%s: %v", when, r.Findings)
	}
}

// entryOf is the number of the entry that names a row.
func entryOf(t *testing.T, store storage.Store, kind, id string) int64 {
	t.Helper()
	for _, e := range entries(t, store, "ada") {
		for _, o := range e.Objects {
			if o.Kind == kind && o.ID == id {
				return e.Seq
			}
		}
	}
	t.Fatalf("no entry names %s %s", kind, id)
	return 0
}

// Every column of the schema is covered or said not to be, so that a new one
// fails here until somebody decides.
func TestEveryColumnIsCoveredOrListed(t *testing.T) {
	onRaw(t, func(t *testing.T, _ storage.Store, raw *rawDB) {
		listed := map[string]bool{}
		for _, list := range [][]ledger.Columns{ledger.Covered, ledger.NotCovered} {
			for _, c := range list {
				for _, name := range c.Columns {
					if listed[c.Table+"."+name] {
						t.Errorf("%s.%s is listed twice", c.Table, name)
					}
					listed[c.Table+"."+name] = true
				}
			}
		}
		for _, table := range raw.tables() {
			all := listed[table+".*"]
			delete(listed, table+".*")
			for _, c := range raw.columns(table) {
				if !all && !listed[table+"."+c.name] {
					t.Errorf("%s.%s is neither covered nor listed as not covered", table, c.name)
				}
				delete(listed, table+"."+c.name)
			}
		}
		for c := range listed {
			t.Errorf("%s is listed and not in the schema", c)
		}
	})
}

// The tamper suite: in every covered column a changed value is found, and what
// was changed is named, with the entry that covers it.
func TestEveryChangedColumnIsNamed(t *testing.T) {
	onRaw(t, func(t *testing.T, store storage.Store, raw *rawDB) {
		ml := eventful(t, store)
		verifies(t, "untouched", ml, nil)
		for _, c := range ledger.Covered {
			for _, name := range c.Columns {
				i := slices.IndexFunc(raw.columns(c.Table), func(r rawColumn) bool { return r.name == name })
				tamperWith(t, ml, store, raw, raw.columns(c.Table)[i])
			}
		}
		verifies(t, "all put back", ml, nil)
	})
}

// tamperWith changes a column of the first row, and of one where it is NULL,
// and puts it back.
func tamperWith(t *testing.T, ml *meminfra.MemoryLayer, store storage.Store, raw *rawDB, c rawColumn) {
	t.Helper()
	id := "partition"
	if w, ok := whose[c.table]; ok {
		id = w.id
	}
	mine := userPartition("ada")
	select1 := `SELECT rowid, ` + c.name + `, ` + id + ` FROM ` + c.table + ` WHERE partition = $1 AND ` + c.name
	rows := raw.query(select1+` IS NOT NULL ORDER BY rowid LIMIT 1`, mine)
	for i := range rows {
		if b, ok := rows[i][1].([]byte); ok && b == nil {
			rows[i][1] = []byte{} // a driver reads an empty one as nil
		}
	}
	rows = append(rows, raw.query(select1+` IS NULL ORDER BY rowid LIMIT 1`, mine)...)
	if len(rows) == 0 {
		t.Errorf("no row in %s to tamper with", c.table)
	}
	for _, row := range rows {
		want := wanted(t, store, raw, c, row)
		raw.set(c, row[0], altered(c, row[1]))
		r := verify(t, ml, nil)
		raw.set(c, row[0], row[1])
		if !slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool {
			return f.Kind == want.Kind && f.ID == want.ID && f.Seq == want.Seq
		}) {
			t.Errorf("%s.%s (was %T): found %v, want %v", c.table, c.name, row[1], r.Findings, want)
		}
		if len(r.Findings) > 0 && r.Findings[0].Seq != want.Seq && r.Findings[0].Seq != 0 {
			t.Errorf("%s.%s: the first finding is %v, want entry %d", c.table, c.name, r.Findings[0], want.Seq)
		}
	}
}

// wanted is the finding that a changed column must bring about.
func wanted(t *testing.T, store storage.Store, raw *rawDB, c rawColumn, row []any) ledger.Finding {
	switch {
	case c.table == "partition":
		return ledger.Finding{Kind: ledger.KindPartition, ID: userPartition("ada")}
	case c.table == "ledger":
		seq := raw.query(`SELECT seq FROM ledger WHERE rowid = $1`, row[0])[0][0].(int64)
		if c.name == "partition" || c.name == "seq" {
			seq++ // the entry is gone: the next one does not follow
		}
		return ledger.Finding{Seq: seq, Kind: ledger.KindEntry}
	case strings.HasSuffix(c.name, "_hash") && c.table != "decision":
		item := raw.query(`SELECT item FROM `+c.table+` WHERE rowid = $1`, row[0])[0][0].(string)
		return ledger.Finding{Kind: ledger.KindItem, ID: item}
	case c.name == "team_partition":
		return ledger.Finding{Kind: ledger.KindGrant, ID: row[2].(string)}
	}
	kind, id := whose[c.table].kind, row[2].(string)
	if c.name == "system_to" {
		kind = ledger.KindClose
		if row[1] == nil { // closed, and no entry says so
			return ledger.Finding{Kind: kind, ID: id}
		}
	}
	return ledger.Finding{Seq: entryOf(t, store, kind, id), Kind: kind, ID: id}
}

// A row that is deleted, or inserted, is named whatever its table.
func TestDeletedAndInsertedRowsAreNamed(t *testing.T) {
	onRaw(t, func(t *testing.T, store storage.Store, raw *rawDB) {
		ml := eventful(t, store)
		for table, w := range whose {
			row := raw.query(`SELECT rowid, `+w.id+` FROM `+table+` WHERE partition = $1 ORDER BY rowid LIMIT 1`, userPartition("ada"))[0]
			raw.exec(`CREATE TABLE kept AS SELECT * FROM ` + table + ` WHERE rowid = ` + fmt.Sprint(row[0]))
			raw.exec(`DELETE FROM `+table+` WHERE rowid = $1`, row[0])
			want := ledger.Finding{Seq: entryOf(t, store, w.kind, row[1].(string)), Kind: w.kind, ID: row[1].(string), Reason: ledger.ReasonMissing}
			if table == "item_derivation" || table == "item_origin" {
				want.Reason = ledger.ReasonChanged
			}
			if r := verify(t, ml, nil); !slices.Contains(r.Findings, want) {
				t.Errorf("deleted from %s: %v, want %v", table, r.Findings, want)
			}
			raw.exec(`INSERT INTO ` + table + ` SELECT * FROM kept`)
			insertForged(t, ml, store, raw, table)
			raw.exec(`DROP TABLE kept`)
			verifies(t, table+" put back", ml, nil)
		}
	})
}

// insertForged inserts a copy of a row under another key and takes it out again.
func insertForged(t *testing.T, ml *meminfra.MemoryLayer, store storage.Store, raw *rawDB, table string) {
	t.Helper()
	forged, w := "'forged'", whose[table]
	var columns, values []string
	for _, c := range raw.columns(table) {
		columns = append(columns, c.name)
		switch {
		case c.name == "n", c.name == "seq" || c.name == "start_byte":
			values = append(values, c.name+" + 100000")
		case c.name == table, c.name == "message_id", c.name == "other", c.name == "source" && table == "item_derivation",
			c.name == "name" && table == "item_origin", c.name == "key":
			values = append(values, forged)
		case c.name == "system_to":
			values = append(values, "1")
		default:
			values = append(values, c.name)
		}
	}
	raw.exec(`INSERT INTO ` + table + ` (` + strings.Join(columns, ", ") + `) SELECT ` + strings.Join(values, ", ") + ` FROM kept`)
	last := raw.query(`SELECT rowid, ` + w.id + ` FROM ` + table + ` ORDER BY rowid DESC LIMIT 1`)
	rows := raw.query(`SELECT rowid, `+w.id+` FROM `+table+` WHERE partition = $1`, userPartition("ada"))
	id := rows[len(rows)-1]
	if r := verify(t, ml, nil); !slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool {
		return f.Kind == w.kind && f.ID == last[0][1].(string) && (f.Reason == ledger.ReasonUncovered || f.Reason == ledger.ReasonChanged)
	}) {
		t.Errorf("inserted into %s: %v, want %s %v", table, r.Findings, w.kind, id[1])
	}
	raw.exec(`DELETE FROM `+table+` WHERE rowid = $1`, last[0][0])
}

// Papers T2: an entry that is deleted, reordered or inserted is named by its
// number; a tail that is cut is found with a checkpoint only.
func TestDeletedSwappedAndInsertedEntriesAreNamed(t *testing.T) {
	onRaw(t, func(t *testing.T, store storage.Store, raw *rawDB) {
		ml, mine := eventful(t, store), userPartition("ada")
		raw.exec(`CREATE TABLE kept AS SELECT * FROM ledger`)
		first := func(what string, seq int64, reason string) {
			t.Helper()
			r := verify(t, ml, nil)
			if len(r.Findings) == 0 || r.Findings[0].Seq != seq || r.Findings[0].Reason != reason || r.Findings[0].Kind != ledger.KindEntry {
				t.Errorf("%s: %v, want entry %d: %s first", what, r.Findings, seq, reason)
			}
			raw.exec(`DELETE FROM ledger`)
			raw.exec(`INSERT INTO ledger SELECT * FROM kept`)
			verifies(t, what+" undone", ml, nil)
		}
		raw.exec(`DELETE FROM ledger WHERE partition = $1 AND seq = 4`, mine)
		first("deleted", 5, ledger.ReasonGap)
		raw.exec(`UPDATE ledger SET seq = -3 WHERE partition = $1 AND seq = 3`, mine)
		raw.exec(`UPDATE ledger SET seq = 3 WHERE partition = $1 AND seq = 6`, mine)
		raw.exec(`UPDATE ledger SET seq = 6 WHERE partition = $1 AND seq = -3`, mine)
		first("swapped", 3, ledger.ReasonPrev)
		raw.exec(`UPDATE ledger SET seq = seq + 1000 WHERE partition = $1 AND seq >= 5`, mine)
		raw.exec(`UPDATE ledger SET seq = seq - 999 WHERE partition = $1 AND seq > 1000`, mine)
		raw.exec(`INSERT INTO ledger (partition, seq, operation, objects, at, alg, key_id, prev, hash)
SELECT partition, 5, operation, objects, at, alg, key_id, prev, hash FROM ledger WHERE partition = $1 AND seq = 4`, mine)
		first("inserted", 5, ledger.ReasonPrev)
	})
}

func TestCutAndReplacedChainsAreFoundWithACheckpoint(t *testing.T) {
	onRaw(t, func(t *testing.T, store storage.Store, raw *rawDB) {
		ml, mine := newLayer(t, store), userPartition("ada")
		mustAdd(t, ml, addTo("ada", "c", said("m1", "I use PostgreSQL.", 0)))
		early := checkpoint(t, ml)
		head := raw.query(`SELECT ledger_seq, ledger_head FROM partition WHERE partition = $1`, mine)[0]
		cut := time.Now().UnixMicro()
		mustAdd(t, ml, addTo("ada", "c", said("m2", "I live in Porto.", 1)))
		late := checkpoint(t, ml)
		verifies(t, "a checkpoint of before", ml, early)
		verifies(t, "a checkpoint of now", ml, late)
		_ = cut
		for table, column := range map[string]string{"evidence": "change", "item_state": "change", "item": "change", "decision": "change", "episode": "change"} {
			raw.exec(`DELETE FROM `+table+` WHERE partition = $1 AND `+column+` > 2`, mine)
		}
		raw.exec(`DELETE FROM ledger WHERE partition = $1 AND seq > $2`, mine, head[0])
		raw.exec(`UPDATE partition SET ledger_seq = $2, ledger_head = $3 WHERE partition = $1`, mine, head[0], head[1])
		verifies(t, "cut without a trace", ml, early)
		want := ledger.Finding{Seq: head[0].(int64) + 1, Kind: ledger.KindEntry, Reason: ledger.ReasonCut}
		if r := verify(t, ml, late); !slices.Equal(r.Findings, []ledger.Finding{want}) {
			t.Errorf("cut: %v, want %v", r.Findings, want)
		}
		mustAdd(t, ml, addTo("ada", "c", said("m3", "I live in Faro.", 1)))
		r := verify(t, ml, late)
		if len(r.Findings) != 1 || r.Findings[0].Reason != ledger.ReasonReplaced || r.Findings[0].Seq != late.Heads[0].Seq {
			t.Errorf("replaced: %v", r.Findings)
		}
	})
}

func checkpoint(t *testing.T, ml *meminfra.MemoryLayer) *ledger.Checkpoint {
	t.Helper()
	c, err := ml.Ledger().Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ledger.ParseCheckpoint(c.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(parsed.Marshal(), c.Marshal()) {
		t.Errorf("a checkpoint reads back as another")
	}
	return parsed
}

// The key of the ledger may change; verifying needs all of them, or says which
// one is missing; and what was written without one after one is refused.
func TestLedgerKeyMayChange(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		one, two := ledger.NewKey([]byte("one")), ledger.NewKey([]byte("two"))
		with := func(key ledger.Key, old ...ledger.Key) *meminfra.MemoryLayer {
			return newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.LedgerKey, o.OldLedgerKeys = key, old })
		}
		for i, ml := range []*meminfra.MemoryLayer{with(ledger.Key{}), with(one), with(two)} {
			mustAdd(t, ml, addTo("ada", "c", said(fmt.Sprint("m", i), fmt.Sprintf("I own %d boats.", i), i)))
		}
		verifies(t, "both keys", with(two, one), nil)
		if r := verify(t, with(two), nil); len(r.Findings) == 0 || r.Findings[0].Reason != ledger.ReasonKeyMissing || r.Findings[0].ID != one.ID {
			t.Errorf("one key missing: %v", r.Findings)
		}
		mustAdd(t, with(ledger.Key{}), addTo("ada", "c", said("m4", "I own 4 boats.", 4)))
		verifies(t, "the key was given up", with(ledger.Key{}, one, two), nil)
		if r := verify(t, with(two, one), nil); len(r.Findings) == 0 || r.Findings[0].Reason != ledger.ReasonKeyDropped {
			t.Errorf("without a key after one: %v", r.Findings)
		}
	})
}

// Case A26 as a whole: a clock with nanoseconds, metadata out of order with a
// large float and accents, add, supersede and forget; after a restart all
// verifies, and one byte altered is named.
func TestLedgerVerifiesAfterRestart(t *testing.T) {
	onRaw(t, func(t *testing.T, store storage.Store, raw *rawDB) {
		clock := memtest.NewClock(time.Date(2026, 6, 1, 9, 41, 7, 246_813_579, time.UTC), time.Second+time.Nanosecond)
		timed := func(o *meminfra.Options) { o.Now = clock.Now }
		ml := newLayer(t, store, randomIDs, timed)
		for i, text := range []string{"I live in Zürich.", "I use PostgreSQL.", "I switched to DuckDB, mañana más.", "I own a boat."} {
			mustAdd(t, ml, addTo("ada", "c", meminfra.Message{Content: text, SentAt: clock.Now().Add(time.Duration(i)),
				Metadata: memory.Metadata{"z": 1.7976931348623157e308, "ä": "é", "a": []any{2.5, nil, true}}}))
		}
		items := mustList(t, ml, "ada", meminfra.Filters{})
		if _, err := ml.Forget(t.Context(), meminfra.ForgetRequest{UserID: "ada", ID: items[0].ID}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(ml.Close(), store.Close()); err != nil {
			t.Fatal(err)
		}
		store = raw.reopen()
		again := newLayer(t, store, randomIDs, timed)
		verifies(t, "after the restart", again, nil)
		if r := verify(t, again, nil); r.Rows == 0 || r.Forgotten == 0 {
			t.Errorf("little to verify: %+v", r)
		}
		row := raw.query(`SELECT rowid, episode, content FROM episode ORDER BY seq`)[1]
		raw.set(rawColumn{"episode", "content", "text"}, row[0], strings.Replace(row[2].(string), "PostgreSQL", "PostgreSQl", 1))
		r := verify(t, again, nil)
		want := ledger.Finding{Seq: entryOf(t, store, ledger.KindEpisode, row[1].(string)), Kind: ledger.KindEpisode, ID: row[1].(string), Reason: ledger.ReasonChanged}
		if len(r.Findings) == 0 || r.Findings[0] != want {
			t.Errorf("found %v, want %v", r.Findings, want)
		}
	})
}
