package meminfra_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// forgery changes the lines of an export; nil is one that does not apply.
type forgery struct {
	name string
	make func(lines []string) []string
}

// lineOf is the index of the n-th line of a kind, from 0.
func lineOf(lines []string, kind string, n int) int {
	for i, line := range lines {
		if strings.HasPrefix(line, `{"`+kind+`":`) {
			if n--; n < 0 {
				return i
			}
		}
	}
	return -1
}

// at changes a copy of one line.
func at(kind string, n int, change func(string) string) func([]string) []string {
	return func(lines []string) []string {
		out := slices.Clone(lines)
		i := lineOf(lines, kind, n)
		out[i] = change(out[i])
		return out
	}
}

// swapped exchanges the words of the line, in all lines that hold them.
func swapped(old, with string) func([]string) []string {
	return func(lines []string) []string {
		out := slices.Clone(lines)
		for i := range out {
			out[i] = strings.ReplaceAll(out[i], old, with)
		}
		return out
	}
}

var digestOf = regexp.MustCompile(`"digest":"([0-9a-f]{64})"`)

// forgeries of an export of ada's: each is refused, and nothing of it is kept.
func forgeries(other []string) []forgery {
	anotherDigest := func(line string) string {
		m := digestOf.FindStringSubmatch(line)
		return strings.Replace(line, m[1], hex.EncodeToString(bytes.Repeat([]byte{7}, 32)), 1)
	}
	return []forgery{
		{"the text of a message", at("episode", 0, func(l string) string { return strings.Replace(l, "PostgreSQL", "MySQL", 1) })},
		{"a text with its digest, and not the chain", func(lines []string) []string {
			return at("entry", 1, anotherDigest)(at("item", 0, func(l string) string { return strings.Replace(l, "PostgreSQL", "MySQL", 1) })(lines))
		}},
		{"a digest alone", at("entry", 0, anotherDigest)},
		{"another user's header", swapped(`"name":"ada"`, `"name":"bob"`)},
		{"another kind's header", at("export", 0, func(l string) string { return strings.Replace(l, `"user"`, `"team"`, 1) })},
		{"another head", at("export", 0, func(l string) string { return strings.Replace(l, `"head":`, `"head":1`, 1) })},
		{"a header of fewer entries", at("export", 0, func(l string) string { return regexp.MustCompile(`"head":\d+`).ReplaceAllString(l, `"head":1`) })},
		{"two entries exchanged", func(lines []string) []string {
			out := slices.Clone(lines)
			i, j := lineOf(lines, "entry", 1), lineOf(lines, "entry", 2)
			out[i], out[j] = out[j], out[i]
			return out
		}},
		{"an entry twice", func(lines []string) []string {
			i := lineOf(lines, "entry", 1)
			return slices.Insert(slices.Clone(lines), i, lines[i])
		}},
		{"an entry less", func(lines []string) []string {
			i := lineOf(lines, "entry", 1)
			return slices.Delete(slices.Clone(lines), i, i+1)
		}},
		{"two rows of an entry exchanged", func(lines []string) []string {
			out := slices.Clone(lines)
			i := lineOf(lines, "item", 0)
			out[i], out[i+1] = out[i+1], out[i]
			return out
		}},
		{"a row twice, at the end", func(lines []string) []string {
			return slices.Insert(slices.Clone(lines), len(lines)-1, lines[lineOf(lines, "item", 0)])
		}},
		{"an item less", func(lines []string) []string {
			i := lineOf(lines, "item", 0)
			return slices.Delete(slices.Clone(lines), i, i+1)
		}},
		{"a row of another partition", func(lines []string) []string {
			return slices.Insert(slices.Clone(lines), lineOf(lines, "item", 0), other[lineOf(other, "item", 0)])
		}},
		{"the rest of another partition", func(lines []string) []string {
			i := lineOf(lines, "entry", 2)
			return append(slices.Clone(lines[:i]), other[lineOf(other, "entry", 1):]...)
		}},
		{"an unknown kind", func(lines []string) []string {
			return slices.Insert(slices.Clone(lines), 4, `{"grant":{"id":"g"}}`+"\n")
		}},
		{"two kinds on a line", at("entry", 1, func(l string) string { return `{"end":{},` + l[1:] })},
		{"an unknown field", at("episode", 0, func(l string) string { return strings.Replace(l, `"content":`, `"colour":"red","content":`, 1) })},
		{"a field twice", at("episode", 0, func(l string) string { return strings.Replace(l, `"content":`, `"content":"x","content":`, 1) })},
		{"a number for a text", at("episode", 0, func(l string) string {
			return regexp.MustCompile(`"content":"[^"]*"`).ReplaceAllString(l, `"content":7`)
		})},
		{"a number too large", at("episode", 0, func(l string) string {
			return regexp.MustCompile(`"seq":\d+`).ReplaceAllString(l, `"seq":99999999999999999999`)
		})},
		{"null", at("episode", 0, func(string) string { return `{"episode":null}` + "\n" })},
		{"broken JSON in the middle", at("item", 0, func(l string) string { return l[:len(l)/2] + "\n" })},
		{"bytes that are no text", at("item", 0, func(string) string { return "\xff\xfe\x00\n" })},
		{"an empty line", func(lines []string) []string { return slices.Insert(slices.Clone(lines), 5, "\n") }},
		{"deep nesting", at("item", 0, func(string) string { return strings.Repeat(`{"item":`, 20_000) + "\n" })},
		{"a line without end", at("item", 0, func(l string) string {
			return strings.Replace(l, `"text":"`, `"text":"`+strings.Repeat("x", 17<<20), 1)
		})},
		{"a second header", func(lines []string) []string { return slices.Insert(slices.Clone(lines), 3, lines[0]) }},
		{"an end in the middle", func(lines []string) []string {
			return append(slices.Clone(lines[:lineOf(lines, "entry", 2)]), lines[len(lines)-1])
		}},
		{"other counts at the end", at("end", 0, func(l string) string { return strings.Replace(l, `"entries":`, `"entries":1`, 1) })},
		{"something after the end", func(lines []string) []string { return append(slices.Clone(lines), lines[3]) }},
		{"cut in the middle of a line", func(lines []string) []string {
			out := slices.Clone(lines[:len(lines)/2])
			return append(out, lines[len(lines)/2][:20])
		}},
		{"an extraction of a message that is not there", at("extraction", 0, func(l string) string {
			return regexp.MustCompile(`"episode_id":"[^"]*"`).ReplaceAllString(l, `"episode_id":"nobody's"`)
		})},
		{"an extraction in no state that there is", at("extraction", 0, func(l string) string {
			return regexp.MustCompile(`"status":"[^"]*"`).ReplaceAllString(l, `"status":"odd"`)
		})},
		{"an extraction twice", func(lines []string) []string {
			i := lineOf(lines, "extraction", 0)
			return slices.Insert(slices.Clone(lines), i, lines[i])
		}},
		{"a lower count of numbers", at("export", 0, func(l string) string { return regexp.MustCompile(`"seq":\d+`).ReplaceAllString(l, `"seq":1`) })},
		{"the largest count of numbers", at("export", 0, func(l string) string {
			return regexp.MustCompile(`"seq":\d+`).ReplaceAllString(l, `"seq":9223372036854775807`)
		})},
		{"a count of numbers below none", at("export", 0, func(l string) string { return regexp.MustCompile(`"seq":\d+`).ReplaceAllString(l, `"seq":-5`) })},
	}
}

func linesOf(t *testing.T, ml *meminfra.MemoryLayer, user string) []string {
	t.Helper()
	var b bytes.Buffer
	if _, err := ml.Ledger().Export(t.Context(), meminfra.ExportRequest{UserID: user, To: &b}); err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(b.String()))
}

// A crafted export is refused as no export, whatever is wrong with it, and
// leaves no byte: into an empty memory, and into one that is its beginning.
func TestForgedExportsLeaveNothing(t *testing.T) {
	source := newLayer(t, openSQLite(t), randomIDs)
	add := func(user string, texts ...string) {
		for i, text := range texts {
			mustAdd(t, source, addTo(user, "c", said(fmt.Sprint(text, i), text, i)))
		}
	}
	add("ada", "I use PostgreSQL.")
	early := strings.Join(linesOf(t, source, "ada"), "")
	add("ada", "I live in Porto.", "I switched to SQLite.")
	add("bob", "I use PostgreSQL.", "I live in Faro.", "I speak Dutch.")
	lines, other := linesOf(t, source, "ada"), linesOf(t, source, "bob")
	onStores(t, func(t *testing.T, store storage.Store) {
		to := newLayer(t, store, randomIDs)
		heads := func() map[string]storage.Head {
			heads, err := store.Heads(t.Context(), userPartition("ada"), userPartition("bob"), userPartition(""))
			if err != nil {
				t.Fatal(err)
			}
			return heads
		}
		refused := func(when string, list []forgery) {
			t.Helper()
			before := heads()
			for _, f := range list {
				forged := f.make(lines)
				if slices.Equal(forged, lines) {
					t.Fatalf("%s changes nothing", f.name)
				}
				_, err := importInto(to, []byte(strings.Join(forged, "")))
				if !errors.Is(err, ledger.ErrExport) && !errors.Is(err, meminfra.ErrDiverged) && !errors.Is(err, meminfra.ErrOtherUser) {
					t.Errorf("%s, %s: %v", when, f.name, err)
				}
				if err != nil && strings.Contains(err.Error(), "Porto") {
					t.Errorf("%s, %s: the error holds content: %v", when, f.name, err)
				}
				if got := heads(); !reflect.DeepEqual(got, before) { // a commit raises its number
					t.Fatalf("%s, %s: something was written: %+v", when, f.name, got)
				}
			}
		}
		all := forgeries(other)
		if !strings.HasPrefix(store.Describe(), "sqlite") {
			// How a line is read does not depend on the store, whose round trips
			// take the time: some of each sort, and all that only a store refuses.
			n := -1
			all = slices.DeleteFunc(all, func(f forgery) bool {
				n++
				return n%5 != 0 && !strings.HasPrefix(f.name, "an extraction of") && !strings.HasPrefix(f.name, "an extraction in")
			})
		}
		refused("empty", all)
		if _, err := importInto(to, []byte(early)); err != nil {
			t.Fatal(err)
		}
		refused("a beginning", all[:3])
		verifies(t, "after all", to, nil)
		if _, err := importInto(to, []byte(strings.Join(lines, ""))); err != nil {
			t.Fatalf("untouched: %v", err)
		}
		before := dump(t, store, "ada")
		for range 2 { // a beginning twice, and then the whole twice
			if _, err := importInto(to, []byte(early)); !errors.Is(err, meminfra.ErrDiverged) {
				t.Errorf("a beginning over the whole: %v", err)
			}
			if res, err := importInto(to, []byte(strings.Join(lines, ""))); err != nil || res.Entries+res.Rows != 0 {
				t.Errorf("the whole again: %+v, %v", res, err)
			}
		}
		if dump(t, store, "ada") != before {
			t.Errorf("it changed something")
		}
		verifies(t, "the whole", to, nil)
	})
}

// Where a key is set, an export that was made without one is refused: anybody
// can make it. As new it is read like any other message.
func TestExportWithoutTheKeyIsRefused(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		plain := newLayer(t, openSQLite(t), randomIDs)
		key := ledger.NewKey([]byte("secret"))
		keyed := newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.LedgerKey = key })
		mustAdd(t, plain, addTo("ada", "c", said("m1", "I live in Porto.", 0)))
		file := export(t, plain)
		if _, err := importInto(keyed, file); !errors.Is(err, ledger.ErrExport) || exists(t, store, "ada") {
			t.Errorf("without the key: %v", err)
		}
		res, err := keyed.Ledger().Import(t.Context(), meminfra.ImportRequest{From: bytes.NewReader(file), AsNew: true})
		if err != nil || res.Messages != 1 {
			t.Errorf("as new: %+v, %v", res, err)
		}
		verifies(t, "as new", keyed, nil)
		late := export(t, keyed)
		other := newLayer(t, openSQLite(t), randomIDs, func(o *meminfra.Options) { o.LedgerKey = key })
		if _, err := importInto(other, late); err != nil {
			t.Errorf("with the key: %v", err)
		}
		verifies(t, "with the key", other, nil)
		without := newLayer(t, openSQLite(t), randomIDs)
		if _, err := importInto(without, late); !errors.Is(err, ledger.ErrExport) {
			t.Errorf("of a key that is not there: %v", err)
		}
	})
}
