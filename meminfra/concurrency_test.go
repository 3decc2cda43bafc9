package meminfra_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// race is what several writers of one user do at once, and what must be left.
type race struct {
	name string
	// add is the n-th writer's Add, n from 0.
	add func(n int) meminfra.AddRequest
	// check looks at what is left of all writers' work.
	check func(left leftover)
}

// leftover is what is left of a race, and what the writers were told.
type leftover struct {
	*testing.T
	store   storage.Store
	ml      *meminfra.MemoryLayer
	user    string
	writers int
	done    []string // actions
}

var races = []race{
	{"distinct facts", func(n int) meminfra.AddRequest {
		return addTo("", "c", said(fmt.Sprint("m", n), "I am allergic to "+allergens[n]+".", n))
	}, leftover.distinctFacts},
	{"the same sentence", func(n int) meminfra.AddRequest {
		return addTo("", "c", said(fmt.Sprint("m", n), "I speak Dutch.", n))
	}, leftover.sameSentence},
	{"one message", func(int) meminfra.AddRequest {
		return addTo("", "c", said("m", "I speak Dutch.", 0))
	}, leftover.oneMessage},
	{"one key with many values", moving, leftover.oneKey},
}

func moving(n int) meminfra.AddRequest {
	return addTo("", "c", said(fmt.Sprint("m", n), "I live in "+cities[n]+".", n))
}

var (
	allergens = strings.Fields(`apples apricots barley carrots celery cherries eggs fish garlic honey kiwi
		lupin milk mustard nuts oats peaches peanuts rye sesame shrimp soy squid wheat`)
	cities = strings.Fields(`Aarhus Bergen Cork Dresden Essen Faro Ghent Hanover Innsbruck Jena Kassel
		Lisbon Malaga Nantes Oslo Porto Quimper Rennes Siena Turin Utrecht Vigo Wroclaw Zurich`)
)

func (l leftover) distinctFacts() {
	if !slices.Equal(l.done, slices.Repeat([]string{"ADD new_fact"}, l.writers)) {
		l.Errorf("done %v", l.done)
	}
	if got := values(mustList(l, l.ml, l.user, meminfra.Filters{})); !sameSet(got, slices.Sorted(slices.Values(allergens[:l.writers]))) {
		l.Errorf("left: %v", got)
	}
}

func (l leftover) sameSentence() {
	noops := 0
	for _, a := range l.done {
		if strings.HasPrefix(a, "NOOP ") {
			noops++
		}
	}
	listed := mustList(l, l.ml, l.user, meminfra.Filters{History: "include"})
	if noops != l.writers-1 || len(l.done) != l.writers || len(listed) != 1 || len(listed[0].Evidence) != l.writers {
		l.Errorf("%d items, done %v", len(listed), l.done)
	}
}

func (l leftover) oneMessage() {
	listed := mustList(l, l.ml, l.user, meminfra.Filters{History: "include"})
	if !slices.Equal(l.done, []string{"ADD new_fact"}) || len(listed) != 1 || len(listed[0].Evidence) != 1 {
		l.Errorf("done %v, left: %+v", l.done, listed)
	}
}

func (l leftover) oneKey() {
	if got := values(mustList(l, l.ml, l.user, meminfra.Filters{})); !slices.Equal(got, []string{cities[l.writers-1]}) {
		l.Errorf("holder: %v", got)
	}
	for n := range l.writers {
		req := moving(n)
		req.UserID = l.user + " serial"
		mustAdd(l, l.ml, req)
	}
	if got, want := versions(l.T, l.store, l.user), versions(l.T, l.store, l.user+" serial"); got != want {
		l.Errorf("history\n%s\nof the serial run\n%s", got, want)
	}
}

// versions renders a user's versions by world time, without what depends on the
// order of writing: ids, sequence numbers, system times, reasons.
func versions(t *testing.T, store storage.Store, user string) string {
	t.Helper()
	var rows []string
	for _, r := range records(t, store, user) {
		s := r.Present()
		rows = append(rows, fmt.Sprintf("%s %s %s slot %v, %d witnesses", bounds(s.Valid), r.Value, s.Status, s.HoldsSlot, len(r.Evidence)))
	}
	slices.Sort(rows)
	return strings.Join(rows, "\n")
}

// verify looks at what every race must leave: messages once each, a whole
// ledger, one holder of each fact, gapless sequence numbers.
func (r race) verify(t *testing.T, store storage.Store, user string, writers int, done []string) {
	t.Helper()
	checkLedger(t, store, user)
	holders := map[string]int{}
	items := records(t, store, user)
	for _, it := range items {
		if s := it.Present(); s.HoldsSlot && s.Valid.To.IsZero() {
			holders[it.FactKey]++
		}
	}
	for key, n := range holders {
		if n != 1 {
			t.Errorf("%d holders of %s", n, key)
		}
	}
	changes := changesOf(t, store, user)
	messages := map[string]bool{}
	for _, e := range changes.Episodes {
		messages[e.MessageID] = true
	}
	if len(messages) != len(changes.Episodes) || changes.Head.Seq != int64(len(items)+len(changes.Episodes)) {
		t.Errorf("%d messages in %d episodes, %d items, last sequence number %d", len(messages), len(changes.Episodes), len(items), changes.Head.Seq)
	}
	r.check(leftover{t, store, newLayer(t, store, randomIDs), user, writers, done})
}

// barrier lets nobody pass before n have come.
func barrier(n int) func() error {
	var all sync.WaitGroup
	all.Add(n)
	return func() error { all.Done(); all.Wait(); return nil }
}

// Case A09: writers that all have looked before anyone has written lose
// nothing and duplicate nothing; each has a layer of its own, as every server
// has, and they meet between extraction and commit.
func TestWritersOfOneUser(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		for _, r := range races {
			for _, writers := range []int{8, 16} {
				t.Run(fmt.Sprint(r.name, " ", writers), func(t *testing.T) {
					met := barrier(writers)
					r.verify(t, store, t.Name(), writers, together(t, writers, func(n int) (*meminfra.AddResult, error) {
						req := r.add(n)
						req.UserID = t.Name()
						return newLayer(t, store, randomIDs, withHook(t, met)).Add(t.Context(), req)
					}))
				})
			}
		}
	})
}

// together runs n calls at once and returns what they did.
func together(t *testing.T, n int, call func(int) (*meminfra.AddResult, error)) (done []string) {
	t.Helper()
	results, errs := make([]*meminfra.AddResult, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { results[i], errs[i] = call(i) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("writer %d: %v", i, err)
		}
		done = append(done, actionsOf(results[i])...)
	}
	return done
}

// One layer shared by all, searched while it is written to: every answer is
// whole, and the last one has everything.
func TestReadersBesideWriters(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store, randomIDs)
		ctx, stop := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for ctx.Err() == nil {
					res, err := ml.Search(t.Context(), meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"})
					if err != nil {
						t.Errorf("search: %v", err)
						return
					}
					if n := holdersIn(res.Hits); n > 1 {
						t.Errorf("%d current locations in one answer", n)
					}
				}
			})
		}
		together(t, 8, func(n int) (*meminfra.AddResult, error) {
			req := moving(n)
			req.UserID = "ada"
			return ml.Add(t.Context(), req)
		})
		stop()
		readers.Wait()
		if got := mustList(t, ml, "ada", episodesOnly); len(got) != 8 {
			t.Errorf("%d episodes", len(got))
		}
		if got := values(mustList(t, ml, "ada", meminfra.Filters{})); !slices.Equal(got, cities[7:8]) {
			t.Errorf("holder %v", got)
		}
	})
}

func holdersIn(hits []meminfra.SearchHit) (n int) {
	for _, h := range hits {
		if h.Predicate == "location" && h.Status == memory.StatusActive && h.ValidTo == nil {
			n++
		}
	}
	return n
}

// While the model is asked about one user's messages, others and he himself
// are served: no lock is held.
func TestNobodyWaitsForAModel(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		asked, answer := make(chan struct{}), make(chan struct{})
		slow := newLayer(t, store, randomIDs, withHook(t, func() error { close(asked); <-answer; return nil }))
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := slow.Add(t.Context(), addTo("ada", "slow", told("I live in Lisbon.")...)); err != nil {
				t.Errorf("slow: %v", err)
			}
		})
		<-asked
		for _, user := range []string{"bo", "ada"} {
			ml := newLayer(t, store, randomIDs)
			if res := mustAdd(t, ml, addTo(user, "quick", told("I speak Dutch.")...)); len(res.Actions) != 1 {
				t.Errorf("%s: %v", user, actionsOf(res))
			}
			mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: "Dutch"})
		}
		close(answer)
		all.Wait()
	})
}

// On PostgreSQL a commit that holds one user's partition keeps no other user
// waiting. SQLite has one writer, by its nature.
func TestUsersDoNotWaitForEachOther(t *testing.T) {
	store := openPostgres(t)
	held, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		err := store.Update(t.Context(), partitionNamed("ada"), func(storage.Tx) error { close(held); <-release; return nil })
		if err != nil {
			t.Errorf("holder: %v", err)
		}
	})
	<-held
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a wait would be for ever
	defer cancel()
	if _, err := newLayer(t, store, randomIDs).Add(ctx, addTo("bo", "c", told("I live in Lisbon.")...)); err != nil {
		t.Errorf("another user: %v", err)
	}
	close(release)
	all.Wait()
}
