package meminfra_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

// maxMissed is the share of pairs that mean the same and may stay apart.
const maxMissed = 0.02

// mergeRow is a labelled pair of testdata/merges.tsv.
type mergeRow struct {
	line            int
	predicate, a, b string
	same            bool
}

func (r mergeRow) String() string {
	return fmt.Sprintf("merges.tsv:%d: %s: %q, %q", r.line, r.predicate, r.a, r.b)
}

// TestMergeErrors adds the pairs of testdata/merges.tsv through the whole write
// path and reports which were merged that must not be, and the other way about.
func TestMergeErrors(t *testing.T) {
	rows := mergeRows(t)
	ml := newLayer(t, openSQLite(t))
	var same, different, wrong, missed, unread int
	for _, r := range rows {
		merged, read := mergeOf(t, ml, r)
		switch {
		case r.same:
			same++
			if !merged {
				missed++
				t.Logf("missed: %v", r)
			}
			continue
		case !read:
			unread++
			t.Errorf("not understood, so it shows nothing: %v", r)
		case merged:
			wrong++
			t.Errorf("wrong merge: %v", r)
		}
		different++
	}
	t.Logf("%d pairs: %d of %d that differ were merged, %d of %d that are the same were missed (%.1f %%), %d not understood",
		len(rows), wrong, different, missed, same, 100*float64(missed)/float64(same), unread)
	if float64(missed) > maxMissed*float64(same) {
		t.Errorf("missed %d of %d merges; at most %.0f %%", missed, same, 100*maxMissed)
	}
}

// mergeOf tells both statements of a pair to a fresh user. The pair is merged if
// the second only adds evidence or has the value of the first; it is read if
// both were taken for statements of the predicate.
func mergeOf(t *testing.T, ml *meminfra.MemoryLayer, r mergeRow) (merged, read bool) {
	t.Helper()
	user := fmt.Sprintf("row-%d", r.line)
	first, second := tell(t, ml, user, r.predicate, r.a), tell(t, ml, user, r.predicate, r.b)
	if first == nil || second == nil {
		return false, false
	}
	return second.Action == memory.ActionNoop || factOf(t, ml, user, first) == factOf(t, ml, user, second), true
}

// tell returns what was done about the predicate, nil for nothing.
func tell(t *testing.T, ml *meminfra.MemoryLayer, user, predicate, text string) *meminfra.ActionTaken {
	t.Helper()
	res, err := ml.Add(t.Context(), meminfra.AddRequest{UserID: user, ConversationID: "c",
		Messages: []meminfra.Message{{Content: text}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range res.Actions {
		if res.Actions[i].Predicate == predicate {
			return &res.Actions[i]
		}
	}
	return nil
}

// factOf is whom an action's value is about, and its identity.
func factOf(t *testing.T, ml *meminfra.MemoryLayer, user string, a *meminfra.ActionTaken) string {
	t.Helper()
	item, err := ml.Get(t.Context(), meminfra.GetRequest{UserID: user, ID: a.ItemID})
	if err != nil {
		t.Fatal(err)
	}
	_, id, ok := predicates.Default().Value(a.Predicate, a.Value)
	if !ok {
		t.Fatalf("the stored value of %s is none", a.Predicate)
	}
	return item.Subject.Type + ":" + item.Subject.Name + "=" + id
}

func mergeRows(t *testing.T) []mergeRow {
	t.Helper()
	data, err := os.ReadFile("../testdata/merges.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var rows []mergeRow
	n := 0
	for text := range strings.Lines(string(data)) {
		n++
		text = strings.TrimSuffix(text, "\n")
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		cells := strings.Split(text, "\t")
		if len(cells) != 4 || cells[3] != "same" && cells[3] != "different" {
			t.Fatalf("merges.tsv:%d: want predicate, A, B and same or different", n)
		}
		if _, ok := predicates.Default().Lookup(cells[0]); !ok {
			t.Fatalf("merges.tsv:%d: unknown predicate %q", n, cells[0])
		}
		rows = append(rows, mergeRow{n, cells[0], cells[1], cells[2], cells[3] == "same"})
	}
	return rows
}
