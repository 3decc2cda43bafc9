package meminfra_test

import (
	"crypto/sha256"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest/sqlitetest"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// move gives all rows of one partition to another, with its chain and head; the
// row that names the other stays. Whatever was there goes.
func (r *rawDB) move(from, to string) {
	r.Helper()
	for _, table := range r.tables() {
		if table != "partition" && slices.ContainsFunc(r.columns(table), func(c rawColumn) bool { return c.name == "partition" }) {
			r.exec(`DELETE FROM `+table+` WHERE partition = $1`, to)
			r.exec(`UPDATE `+table+` SET partition = $1 WHERE partition = $2`, to, from)
		}
	}
	r.exec(`UPDATE partition SET (change, seq, erased, ledger_seq, ledger_head) =
(SELECT change + 100, seq, erased, ledger_seq, ledger_head FROM partition WHERE partition = $1) WHERE partition = $2`, from, to)
}

// exchange swaps the rows of two partitions, with their chains and heads.
func (r *rawDB) exchange(a, b string) {
	r.Helper()
	r.exec(`INSERT INTO partition (partition, tenant, kind, name, change, created_at) VALUES ('between', 'x', 'user', 'x', 0, 0)`)
	r.move(a, "between")
	r.move(b, a)
	r.move("between", b)
	r.exec(`DELETE FROM partition WHERE partition = 'between'`)
}

// verifyAll returns the findings of all partitions, by partition.
func verifyAll(t *testing.T, ml *meminfra.MemoryLayer) map[string][]ledger.Finding {
	t.Helper()
	res, err := ml.Ledger().Verify(t.Context(), meminfra.VerifyRequest{All: true})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]ledger.Finding{}
	for _, p := range res.Partitions {
		if len(p.Findings) > 0 {
			out[p.Partition] = p.Findings
		}
	}
	return out
}

// wantForeign compares findings with one of each item and message of a list.
func wantForeign(t *testing.T, when string, got []ledger.Finding, rows map[string]string) {
	t.Helper()
	for _, f := range got {
		if f.Reason != ledger.ReasonForeign || rows[f.ID] != f.Kind {
			t.Errorf("%s: %v", when, f)
		}
	}
	if len(got) != len(rows) {
		t.Errorf("%s: %d findings, want %d", when, len(got), len(rows))
	}
}

// rowsOf are the ids of a partition's items and messages, with their kinds.
func rowsOf(raw *rawDB, partition string) map[string]string {
	list := map[string]string{}
	for _, kind := range []string{ledger.KindItem, ledger.KindEpisode} {
		for _, row := range raw.query(`SELECT `+kind+` FROM `+kind+` WHERE partition = $1`, partition) {
			list[row[0].(string)] = kind
		}
	}
	return list
}

// Whole partitions that were exchanged, rows, chains and heads, hold together in
// every hash. Each message and item is named all the same, with a key and
// without: it is not of the partition's user, team or scope.
func TestExchangedPartitionsAreNamed(t *testing.T) {
	onRaw(t, func(t *testing.T, store storage.Store, raw *rawDB) {
		ml := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.LedgerKey = ledger.NewKey([]byte("secret")) })
		mustAdd(t, ml, addTo("ada", "c", said("m1", "I live in Lisbon.", 0)))
		mustAdd(t, ml, addTo("bob", "c", said("m1", "I live in Porto.", 0)))
		public := meminfra.AddRequest{UserID: "ada", ConversationID: "p", Public: true, Messages: told("The capital of Portugal is Lisbon.", "I live in Faro.")}
		mustAdd(t, ml, public)
		teams := map[string]string{"public": memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionTenantPublic}.ID()}
		for _, team := range []string{"red", "blue"} {
			mustGrant(t, ml, meminfra.GrantRequest{TeamID: team, UserID: "ada"})
			mustAdd(t, ml, meminfra.AddRequest{UserID: "ada", ConversationID: team, TeamID: team, Messages: told("I live in Porto.")})
			teams[team] = memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionTeam, Name: team}.ID()
		}
		if got := verifyAll(t, ml); len(got) > 0 {
			t.Fatalf("untouched: %v", got)
		}
		only := func(rows map[string]string, kind string) map[string]string {
			out := map[string]string{}
			for id, k := range rows {
				if k == kind {
					out[id] = k
				}
			}
			return out
		}
		for _, c := range []struct {
			a, b string
			kind string // of what is named; "" for all
		}{
			{userPartition("ada"), userPartition("bob"), ""},
			{teams["red"], teams["blue"], ledger.KindItem}, // a message does not say to which team
			{teams["red"], teams["public"], ledger.KindItem},
		} {
			rows := map[string]map[string]string{c.a: rowsOf(raw, c.b), c.b: rowsOf(raw, c.a)}
			raw.exchange(c.a, c.b)
			got := verifyAll(t, ml)
			for p, want := range rows {
				if c.kind != "" {
					want = only(want, c.kind)
				}
				if len(want) == 0 {
					t.Errorf("nothing to find in %s", p)
				}
				wantForeign(t, "exchanged", got[p], want)
			}
			if len(got) != 2 {
				t.Errorf("%d partitions are named", len(got))
			}
			raw.exchange(c.a, c.b)
			if got := verifyAll(t, ml); len(got) > 0 {
				t.Fatalf("exchanged back: %v", got)
			}
		}
	})
}

// The partition of a user who was forgotten has no name, and verifies; what is
// moved into it is named, whatever its row says that it is.
func TestNamelessPartitionTakesNobodysRows(t *testing.T) {
	onRaw(t, func(t *testing.T, store storage.Store, raw *rawDB) {
		ml := newLayer(t, store, randomIDs)
		for _, user := range []string{"ada", "bob"} {
			mustAdd(t, ml, addTo(user, "c", said("m1", "I live in Lisbon.", 0)))
		}
		if _, err := ml.Forget(t.Context(), meminfra.ForgetRequest{UserID: "ada", Everything: true}); err != nil {
			t.Fatal(err)
		}
		if got := verifyAll(t, ml); len(got) > 0 {
			t.Fatalf("forgotten: %v", got)
		}
		mine := userPartition("ada")
		rows := rowsOf(raw, userPartition("bob"))
		raw.move(userPartition("bob"), mine)
		raw.exec(`UPDATE partition SET erased = 1 WHERE partition = $1`, mine)
		wantForeign(t, "moved", verifyAll(t, ml)[mine], rows)
		raw.exec(`UPDATE partition SET kind = 'tenant-public' WHERE partition = $1`, mine)
		if got := verifyAll(t, ml)[mine]; len(got) == 0 {
			t.Errorf("moved, and called public: all is well")
		}
		mustAdd(t, ml, addTo("ada", "c", said("m2", "I live in Porto.", 0)))
		if got := verifyAll(t, ml)[mine]; len(got) == 0 {
			t.Errorf("named again: all is well")
		}
	})
}

// A chain that no entry with a key holds anybody could have made: where a key is
// set it is named, unless a checkpoint has its end or it is continued with the
// key. What is cut back to before the key is such a chain.
func TestChainWithoutKeyIsNamed(t *testing.T) {
	onRaw(t, func(t *testing.T, store storage.Store, raw *rawDB) {
		key := ledger.NewKey([]byte("secret"))
		plain := newLayer(t, store, randomIDs)
		keyed := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.LedgerKey = key })
		given := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.OldLedgerKeys = []ledger.Key{key} })
		mustAdd(t, plain, addTo("ada", "c", said("m1", "I live in Lisbon.", 0)))
		verifies(t, "no key at all", plain, nil)
		verifies(t, "no key is written with", given, nil)
		at := checkpoint(t, plain)
		verifies(t, "a checkpoint has its end", keyed, at)
		last := at.Heads[0].Seq
		want := []ledger.Finding{{Seq: last, Kind: ledger.KindEntry, Reason: ledger.ReasonUnkeyed}}
		if r := verify(t, keyed, nil); !slices.Equal(r.Findings, want) {
			t.Errorf("wholly without a key: %v, want %v", r.Findings, want)
		}
		raw.exec(`CREATE TABLE early AS SELECT * FROM partition`)
		change := raw.query(`SELECT change FROM partition`)[0][0]
		mustAdd(t, keyed, addTo("ada", "c", said("m2", "I live in Porto.", 1)))
		verifies(t, "continued with the key", keyed, nil)
		cutBack(raw, change, last)
		if r := verify(t, keyed, nil); !slices.Equal(r.Findings, want) {
			t.Errorf("cut back to before the key: %v, want %v", r.Findings, want)
		}
		if _, err := plain.Ledger().Seal(t.Context()); !errors.Is(err, meminfra.ErrNoLedgerKey) {
			t.Errorf("sealed without a key: %v", err)
		}
		for _, want := range []int{1, 0} {
			if res, err := keyed.Ledger().Seal(t.Context()); err != nil || res.Partitions != 1 || res.Sealed != want {
				t.Errorf("seal: %+v, %v, want %d", res, err, want)
			}
			verifies(t, "sealed", keyed, at)
		}
		raw.exec(`DELETE FROM ledger WHERE seq > $1`, last)
		raw.exec(`UPDATE partition SET ledger_seq = (SELECT ledger_seq FROM early), ledger_head = (SELECT ledger_head FROM early)`)
		raw.exec(`UPDATE episode SET speaker = 'Eve'`)
		var bad *ledger.TamperError
		if _, err := keyed.Ledger().Seal(t.Context()); !errors.As(err, &bad) || bad.Reason != ledger.ReasonChanged {
			t.Errorf("sealed what was changed: %v", err)
		}
		raw.exec(`UPDATE episode SET speaker = ''`)
		mustAdd(t, plain, addTo("ada", "c", said("m3", "I live in Faro.", 2)))
		if r := verify(t, keyed, at); len(r.Findings) != 1 || r.Findings[0].Reason != ledger.ReasonUnkeyed {
			t.Errorf("continued without one after the checkpoint: %v", r.Findings)
		}
	})
}

// cutBack takes away all that came after a change and an entry, the head too;
// table early holds the partition's row of then.
func cutBack(raw *rawDB, change any, entry int64) {
	raw.Helper()
	for _, table := range []string{"evidence", "item_state", "item", "decision", "episode"} {
		raw.exec(`DELETE FROM `+table+` WHERE change > $1`, change)
	}
	raw.exec(`UPDATE item_state SET system_to = NULL`)
	raw.exec(`DELETE FROM ledger WHERE seq > $1`, entry)
	raw.exec(`UPDATE partition SET ledger_seq = (SELECT ledger_seq FROM early), ledger_head = (SELECT ledger_head FROM early)`)
}

// An older copy of the whole database, put in place of the present one, is as it
// was written then; so is one that somebody wrote on. A newer checkpoint tells,
// and a partition that is gone with all its rows, too.
func TestOlderDatabaseIsFoundWithACheckpoint(t *testing.T) {
	path := sqlitetest.Migrated(t)
	store := openSQLiteAt(t, path)
	ml := newLayer(t, store, randomIDs)
	mustAdd(t, ml, addTo("ada", "c", said("m1", "I live in Lisbon.", 0)))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	store = openSQLiteAt(t, path)
	ml = newLayer(t, store, randomIDs)
	mustAdd(t, ml, addTo("ada", "c", said("m2", "I live in Porto.", 1)))
	mustAdd(t, ml, addTo("bob", "c", said("m1", "I live in Faro.", 1)))
	late := checkpoint(t, ml)

	elsewhere := filepath.Join(t.TempDir(), "memory.db")
	if err := os.WriteFile(elsewhere, old, 0o600); err != nil {
		t.Fatal(err)
	}
	replayed := newLayer(t, openSQLiteAt(t, elsewhere), randomIDs)
	verifies(t, "without a checkpoint", replayed, nil)
	reasons := func(when string, want map[string]string) {
		t.Helper()
		res, err := replayed.Ledger().Verify(t.Context(), meminfra.VerifyRequest{All: true, Checkpoint: late})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range res.Partitions {
			if len(p.Findings) != 1 || p.Findings[0].Reason != want[p.Partition] {
				t.Errorf("%s: %s: %v, want %s", when, p.Partition, p.Findings, want[p.Partition])
			}
		}
		if len(res.Partitions) != len(want) {
			t.Errorf("%s: %d partitions", when, len(res.Partitions))
		}
	}
	want := map[string]string{userPartition("ada"): ledger.ReasonCut, userPartition("bob"): ledger.ReasonCut}
	reasons("an older copy", want)
	mustAdd(t, replayed, addTo("ada", "c", said("m3", "I live in Paris.", 1), said("m4", "I speak Dutch.", 2)))
	want[userPartition("ada")] = ledger.ReasonReplaced
	reasons("written on", want)
}

// Tampering that agrees in several tables: each fits the others, and none the
// entries that were made of them. The entries cannot be made anew with a key.
func TestTamperingInSeveralTablesIsNamed(t *testing.T) {
	onRaw(t, func(t *testing.T, store storage.Store, raw *rawDB) {
		ml := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.LedgerKey = ledger.NewKey([]byte("secret")) })
		mustAdd(t, ml, addTo("ada", "c", said("m1", "I live in Porto.", 0)))
		mustAdd(t, ml, addTo("ada", "c", said("m2", "I live in Lagos.", 1)))
		named := func(what string, tables []string, want map[string]bool) {
			t.Helper()
			got := map[string]bool{}
			for _, f := range verify(t, ml, nil).Findings {
				got[f.Kind+" "+f.Reason] = true
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
			for _, table := range tables {
				raw.exec(`DELETE FROM ` + table)
				raw.exec(`INSERT INTO ` + table + ` SELECT * FROM kept_` + table)
			}
			verifies(t, what+" undone", ml, nil)
		}
		tables := []string{"episode", "item", "evidence", "item_state", "decision", "ledger", "partition"}
		for _, table := range tables {
			raw.exec(`CREATE TABLE kept_` + table + ` AS SELECT * FROM ` + table)
		}
		for _, c := range []string{"episode.content", "item.text", "item.value", "item.fact_key", "evidence.quote"} {
			table, column, _ := strings.Cut(c, ".")
			raw.exec(`UPDATE ` + table + ` SET ` + column + ` = replace(` + column + `, 'Porto', 'Paris')`)
		}
		sum := sha256.Sum256([]byte("I live in Paris."))
		raw.exec(`UPDATE episode SET sha256 = $1 WHERE content LIKE '%Paris%'`, sum[:])
		key := sha256.Sum256([]byte(memory.NormalText("I live in Paris")))
		raw.exec(`UPDATE item SET text_hash = $1 WHERE text LIKE '%Paris%'`, key[:])
		named("another city everywhere", tables[:3], map[string]bool{"episode changed": true, "item changed": true, "evidence changed": true})

		// The first item and all that belongs to it, as if it had never been said.
		first := `(SELECT item FROM item WHERE text LIKE '%Porto%')`
		raw.exec(`DELETE FROM episode WHERE content LIKE '%Porto%'`)
		raw.exec(`DELETE FROM evidence WHERE item IN ` + first)
		raw.exec(`DELETE FROM item_state WHERE item IN ` + first)
		raw.exec(`DELETE FROM decision WHERE item IN ` + first)
		raw.exec(`DELETE FROM item WHERE text LIKE '%Porto%'`)
		named("never said", tables[:5], map[string]bool{"episode missing": true, "evidence missing": true, "state missing": true,
			"close missing": true, "decision missing": true, "item missing": true})

		// The last commit, with its entries and the head, but for one row.
		seq := raw.query(`SELECT max(seq) FROM ledger`)[0][0]
		raw.exec(`DELETE FROM ledger WHERE seq = $1`, seq)
		raw.exec(`UPDATE partition SET ledger_seq = ledger_seq - 1, ledger_head = (SELECT hash FROM ledger ORDER BY seq DESC LIMIT 1)`)
		raw.exec(`DELETE FROM item WHERE text LIKE '%Lagos%'`)
		raw.exec(`DELETE FROM evidence WHERE quote LIKE '%Lagos%'`)
		last := verify(t, ml, nil).Findings
		if !slices.ContainsFunc(last, func(f ledger.Finding) bool { return f.Reason == ledger.ReasonUncovered && f.Kind == ledger.KindState }) {
			t.Errorf("half of a commit is cut off: %v", last)
		}
	})
}
