package meminfra_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// fault is an Add to be broken at each of its writes, after what came before.
type fault struct {
	name   string
	before []meminfra.AddRequest
	add    meminfra.AddRequest
	want   []string // actions
	open   bool     // by the extractor that keeps sentences as they are
}

func faultCases() []fault {
	at := func(n int, text string) meminfra.AddRequest { return addTo("", "c", said(fmt.Sprint("m", n), text, n)) }
	after := func(list ...meminfra.AddRequest) []meminfra.AddRequest { return list }
	keyed := at(2, "I use PostgreSQL.")
	keyed.IdempotencyKey = "k"
	several := addTo("", "c", told("I switched to SQLite.", "I live in Lisbon.", "Hello!", "I speak Dutch.")...)
	return []fault{
		{name: "new fact", add: at(2, "I use PostgreSQL."), want: []string{"ADD new_fact"}},
		{name: "supersede", before: after(at(1, "I use PostgreSQL.")), add: at(2, "I switched to SQLite."),
			want: []string{"SUPERSEDE newer_value"}},
		{name: "late", before: after(at(5, "I use PostgreSQL.")), add: at(2, "I use SQLite."), want: []string{"ADD older_value"}},
		{name: "late in between", before: after(at(1, "I use PostgreSQL."), at(9, "I use PostgreSQL.")),
			add: at(5, "I use SQLite."), want: []string{"ADD older_value"}},
		{name: "retract", before: after(at(1, "I use PostgreSQL.")), add: at(2, "I no longer use PostgreSQL."),
			want: []string{"RETRACT negated"}},
		{name: "one more witness", before: after(at(1, "I use PostgreSQL.")), add: at(2, "I use PostgreSQL."),
			want: []string{"NOOP same_value"}},
		{name: "open fact", add: at(2, "The boiler is serviced in May."), want: []string{"ADD new_fact"}, open: true},
		{name: "open fact again", before: after(at(1, "The boiler is serviced in May.")),
			add: at(2, "The boiler is serviced in May."), want: []string{"NOOP same_value"}, open: true},
		{name: "nothing worth keeping", add: at(2, "Hello!"), want: []string{}},
		{name: "under a key", add: keyed, want: []string{"ADD new_fact"}},
		{name: "several at once", before: after(at(-3, "I use PostgreSQL.")), add: several,
			want: []string{"SUPERSEDE newer_value", "ADD new_fact", "ADD new_fact"}},
	}
}

// faultBench runs a case's steps as one user on one store.
type faultBench struct {
	*testing.T
	fault
	store storage.Store
	user  string
}

// layer returns a fresh layer, as after a restart.
func (b *faultBench) layer(store storage.Store, edit ...func(*meminfra.Options)) *meminfra.MemoryLayer {
	edit = append([]func(*meminfra.Options){randomIDs, frozen, func(o *meminfra.Options) {
		if o.Extractor = builtIn(b); b.open {
			o.Extractor = verbatim{}
		}
	}}, edit...)
	return newLayer(b, store, edit...)
}

func (b *faultBench) as(req meminfra.AddRequest) meminfra.AddRequest {
	req.UserID = b.user
	return req
}

func (b *faultBench) prepare() {
	for _, req := range b.before {
		mustAdd(b, b.layer(b.store), b.as(req))
	}
}

func (b *faultBench) dump() string { return dump(b.T, b.store, b.user) }

// stages returns what the store holds before the Add, between its two commits
// and after it, when nothing breaks.
func (b *faultBench) stages() []string {
	b.user = b.name + " undisturbed"
	b.prepare()
	before := b.dump()
	res := mustAdd(b, b.layer(b.store), b.as(b.add))
	if got := actionsOf(res); !slices.Equal(got, b.want) {
		b.Fatalf("undisturbed: %v, want %v", got, b.want)
	}
	after := b.dump()
	checkLedger(b.T, b.store, b.user)

	b.user = b.name + " in between"
	b.prepare()
	stopped := func(o *meminfra.Options) { o.Extractor = hooked{o.Extractor, failing} }
	if _, err := b.layer(b.store, stopped).Add(b.Context(), b.as(b.add)); !errors.Is(err, errExtractor) {
		b.Fatal(err)
	}
	return []string{before, b.dump(), after}
}

// Whichever write of an Add breaks, the store holds all or nothing of each of
// its two commits, a fresh layer reads it, and the same call completes it to
// what an undisturbed run would have left.
func TestEveryWriteOfAddBreaks(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		for _, c := range faultCases() {
			t.Run(c.name, func(t *testing.T) {
				b := &faultBench{T: t, fault: c, store: store}
				stages := b.stages()
				reached := make([]int, len(stages))
				for n := 1; ; n++ {
					b.user = fmt.Sprintf("%s %d", c.name, n)
					b.prepare()
					broken := memtest.NewFailingStore(store, n, nil)
					_, err := b.layer(broken).Add(t.Context(), b.as(c.add))
					if !broken.Failed() {
						if err != nil {
							t.Fatal(err)
						}
						break
					}
					reached[b.broken(n, err, stages)]++
				}
				if reached[0] < 4 || reached[1] < 4 {
					t.Errorf("writes broken in each commit: %v", reached)
				}
			})
		}
	})
}

// broken checks what a broken write left and that the same call completes it;
// it returns the stage that was reached.
func (b *faultBench) broken(n int, err error, stages []string) int {
	b.Helper()
	left, end := b.dump(), stages[2]
	stage := slices.Index(stages, left)
	if stage < 0 && withoutVectors(left) == withoutVectors(end) {
		stage, end = 2, left // vectors are derived: what lacks its own is found by its words
	}
	if stage < 0 {
		b.Fatalf("write %d left halves:\n%s", n, left)
	}
	if errors.Is(err, memtest.ErrBroken) != (stage < 2) {
		b.Errorf("write %d: error %v, and this is stored:\n%s", n, err, left)
	}
	checkLedger(b.T, b.store, b.user)
	reader := b.layer(b.store)
	mustList(b, reader, b.user, meminfra.Filters{History: "include"})
	mustSearch(b, reader, meminfra.SearchRequest{UserID: b.user, Query: "PostgreSQL or the boiler"})

	res := mustAdd(b, b.layer(b.store), b.as(b.add))
	if got := actionsOf(res); stage < 2 && !slices.Equal(got, b.want) {
		b.Errorf("write %d: completed with %v, want %v", n, got, b.want)
	}
	for _, call := range []string{"the second call", "a third call"} {
		if got := b.dump(); got != end {
			b.Fatalf("write %d: after %s\n%s\nundisturbed:\n%s", n, call, got, end)
		}
		mustAdd(b, b.layer(b.store), b.as(b.add))
	}
	checkLedger(b.T, b.store, b.user)
	return stage
}

// A store that breaks while a failed extraction is noted changes nothing about
// what the caller is told or can do next.
func TestNotingAFailedExtractionBreaks(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		for n := 1; ; n++ {
			req := addTo(fmt.Sprint("ada", n), "c", told("I use PostgreSQL.")...)
			broken := memtest.NewFailingStore(store, n, nil)
			_, err := newLayer(t, broken, randomIDs, frozen, withHook(t, failing)).Add(t.Context(), req)
			if !errors.Is(err, memtest.ErrBroken) && !errors.Is(err, errExtractor) {
				t.Fatalf("write %d: %v", n, err)
			}
			if got := actionsOf(mustAdd(t, newLayer(t, store, randomIDs, frozen), req)); !slices.Equal(got, []string{"ADD new_fact"}) {
				t.Errorf("write %d: completed as %v", n, got)
			}
			if !broken.Failed() {
				break
			}
		}
	})
}

// A trace that cannot be written is said, and costs neither hits nor order.
func TestTraceBreaks(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		mustAdd(t, newLayer(t, store, randomIDs), addTo("ada", "c", told("I use PostgreSQL.", "I live in Lisbon.")...))
		req := meminfra.SearchRequest{UserID: "ada", Query: "Which database do I use?"}
		whole := mustSearch(t, newLayer(t, store, randomIDs, frozen), req)
		broken := mustSearch(t, newLayer(t, memtest.NewFailingStore(store, 1, nil), randomIDs, frozen), req)
		if broken.TraceID != "" || len(broken.Degraded) != 1 || whole.TraceID == "" || len(whole.Degraded) != 0 {
			t.Errorf("broken: trace %q, degraded %v; whole: trace %q, degraded %v", broken.TraceID, broken.Degraded, whole.TraceID, whole.Degraded)
		}
		sameHits(t, "with a broken trace", broken.Hits, whole.Hits)
		got, err := store.Trace(t.Context(), userPartition("ada"), whole.TraceID)
		if err != nil || len(got.Items) != len(whole.Hits) || got.Query != req.Query {
			t.Errorf("trace %+v, %v", got, err)
		}
	})
}
