package meminfra_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 9, 0, 0, 0, time.UTC) }

func saidAt(text string, at time.Time) meminfra.Message {
	return meminfra.Message{Content: text, SentAt: at}
}

// Case A06: an older statement that arrives later is history and changes
// nothing current.
func TestLateOlderStatement(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		mustAdd(t, ml, addTo("ada", "c1", saidAt("I work at the harbour office.", date(2025, 6, 1))))
		late := mustAdd(t, ml, addTo("ada", "c2", saidAt("I work at the library.", date(2023, 2, 1))))
		if got := actionsOf(late); !slices.Equal(got, []string{"ADD older_value"}) {
			t.Errorf("the late one: %v", got)
		}
		for when, c := range map[string]struct {
			filters meminfra.Filters
			want    string
		}{
			"now":     {meminfra.Filters{}, "harbour office"},
			"in 2024": {meminfra.Filters{ValidAt: date(2024, 1, 1)}, "library"},
			"in 2026": {meminfra.Filters{ValidAt: date(2026, 1, 1)}, "harbour office"},
		} {
			if got := values(mustList(t, ml, "ada", c.filters)); !slices.Equal(got, []string{c.want}) {
				t.Errorf("%s: list has %v", when, got)
			}
			found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "Where do I work?", Filters: c.filters})
			if len(found.Hits) == 0 || found.Hits[0].Value != c.want {
				t.Errorf("%s: search finds %q", when, texts(found.Hits))
			}
		}
		history, err := ml.History(t.Context(), meminfra.HistoryRequest{UserID: "ada", ID: late.Actions[0].ItemID})
		if err != nil || len(history.Versions) != 2 {
			t.Fatalf("history %+v, %v", history, err)
		}
		library := history.Versions[0]
		if library.Value != "library" || library.ValidTo == nil || library.ValidTo.After(date(2025, 6, 1)) || !library.ValidFrom.Equal(date(2023, 2, 1)) {
			t.Errorf("the library holds %v..%v", library.ValidFrom, library.ValidTo)
		}
	})
}

// beliefs are questions about what was known when: Lisbon was told in January,
// Porto in February, Faro (of the year before) in March, the end of Porto in April.
var beliefs = []struct {
	name    string
	filters meminfra.Filters
	want    []string
}{
	{"before anything", meminfra.Filters{KnownAt: date(2025, 12, 1)}, nil},
	{"after the first", meminfra.Filters{KnownAt: date(2026, 1, 15)}, []string{"Lisbon"}},
	{"after the second", meminfra.Filters{KnownAt: date(2026, 2, 15)}, []string{"Porto"}},
	{"after the third", meminfra.Filters{KnownAt: date(2026, 3, 15)}, []string{"Porto"}},
	{"the past, not told yet", meminfra.Filters{KnownAt: date(2026, 2, 15), ValidAt: date(2025, 7, 1)}, nil},
	{"the past, told", meminfra.Filters{KnownAt: date(2026, 3, 15), ValidAt: date(2025, 7, 1)}, []string{"Faro"}},
	{"the future, not told yet", meminfra.Filters{KnownAt: date(2026, 1, 15), ValidAt: date(2026, 4, 15)}, []string{"Lisbon"}},
	{"now", meminfra.Filters{}, nil},
}

// KnownAt shows what was believed then, before later messages came, whatever
// world time they were about.
func TestKnownAtShowsTheOldBelief(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		clock := memtest.NewClock(date(2026, 1, 1), time.Millisecond)
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Now = clock.Now })
		for _, c := range []struct {
			known, at time.Time
			text      string
		}{
			{date(2026, 1, 1), date(2026, 1, 1), "I live in Lisbon."},
			{date(2026, 2, 1), date(2026, 2, 1), "I moved to Porto."},
			{date(2026, 3, 1), date(2025, 6, 1), "I live in Faro."},
			{date(2026, 4, 1), date(2026, 4, 1), "I no longer live in Porto."},
		} {
			clock.Set(c.known)
			mustAdd(t, ml, addTo("ada", "c", saidAt(c.text, c.at)))
		}
		clock.Set(date(2026, 5, 1))
		for _, c := range beliefs {
			if got := affirmed(mustList(t, ml, "ada", c.filters)); !slices.Equal(got, c.want) {
				t.Errorf("%s: list has %v, want %v", c.name, got, c.want)
			}
			req := meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?", Filters: c.filters}
			req.Filters.Predicate = "location"
			if got := affirmed(recordsOf(mustSearch(t, ml, req).Hits)); !slices.Equal(got, c.want) {
				t.Errorf("%s: search finds %v, want %v", c.name, got, c.want)
			}
		}
		then := mustList(t, ml, "ada", meminfra.Filters{KnownAt: date(2026, 1, 15)})
		if len(then) != 1 || then[0].Status != memory.StatusActive || then[0].ValidTo != nil {
			t.Errorf("as it was shown then: %+v", then)
		}
	})
}

// affirmed lists the values of what is not a negation.
func affirmed(list []meminfra.Record) []string {
	return values(slices.DeleteFunc(list, func(r meminfra.Record) bool { return r.Polarity == memory.Negative }))
}

// Messages without a time of their own are strictly ordered, within a call and
// across calls, and say that their time is estimated.
func TestMissingTimesAreOrdered(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		var ids []string
		for range 2 {
			messages := manyMessages(300)
			for i := range messages {
				messages[i].ID, messages[i].SentAt = "", time.Time{}
			}
			for _, e := range mustAdd(t, ml, addTo("ada", "c", messages...)).Episodes {
				ids = append(ids, e.ID)
			}
		}
		episodes, err := store.Episodes(t.Context(), userPartition("ada"), ids)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range episodes {
			if !e.Estimated || i > 0 && !e.SentAt.After(episodes[i-1].SentAt) {
				t.Fatalf("message %d: estimated %v, said %v", i+1, e.Estimated, e.SentAt)
			}
		}
		given := mustAdd(t, ml, addTo("ada", "c", said("m", "Hello.", 0))).Episodes[0].ID
		if episodes, err = store.Episodes(t.Context(), userPartition("ada"), []string{given}); err != nil || episodes[0].Estimated {
			t.Errorf("a time that was given is estimated, %v", err)
		}
	})
}

// Without times, the last of contradicting messages in one call holds at once.
func TestLastMessageWithoutTimeHolds(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store)
		res := mustAdd(t, ml, addTo("ada", "c", meminfra.Message{Content: "I live in Lisbon."},
			meminfra.Message{Content: "I moved to Porto."}, meminfra.Message{Content: "I moved to Faro."}))
		if got := actionsOf(res); len(got) != 3 || got[2] != "SUPERSEDE newer_value" {
			t.Errorf("actions %v", got)
		}
		if got := values(mustList(t, ml, "ada", meminfra.Filters{})); !slices.Equal(got, []string{"Faro"}) {
			t.Errorf("current: %v", got)
		}
	})
}

// The offset in which something was said is kept.
func TestOffsetIsKept(t *testing.T) {
	at := time.Date(2026, 3, 2, 23, 30, 0, 123_456_789, time.FixedZone("", 5*3600+45*60))
	onStores(t, func(t *testing.T, store storage.Store) {
		res := mustAdd(t, newLayer(t, store), addTo("ada", "c", saidAt("I live in Kathmandu.", at)))
		episodes, err := store.Episodes(t.Context(), userPartition("ada"), []string{res.Episodes[0].ID})
		if err != nil {
			t.Fatal(err)
		}
		if e := episodes[0]; e.SentOffset != 5*3600+45*60 || !e.SentAt.Equal(at.Truncate(time.Microsecond)) {
			t.Errorf("said %v, offset %d", e.SentAt, e.SentOffset)
		}
	})
}

// TestHistoryAsOf: a line can be read as it was believed at a moment, and cut to
// what held at one.
func TestHistoryAsOf(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		clock := testClock()
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Now = clock.Now })
		first := say(t, ml, "I live in Paris.", nil)
		before := clock.Now()
		clock.Advance(24 * time.Hour)
		say(t, ml, "I moved to Rome.", nil)
		texts := func(req meminfra.HistoryRequest) string {
			req.UserID, req.ID = "ada", first.ItemID
			res, err := ml.History(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			out := ""
			for _, v := range res.Versions {
				out += fmt.Sprintf("%s %s %d;", v.Value, v.Status, len(v.Stages))
			}
			return out
		}
		for want, req := range map[string]meminfra.HistoryRequest{
			"Paris superseded 2;Rome active 1;": {},
			"Paris active 1;":                   {KnownAt: before},
			"Paris superseded 2;":               {ValidAt: before},
			"Rome active 1;":                    {ValidAt: clock.Now()},
			"":                                  {KnownAt: before.AddDate(-1, 0, 0)},
		} {
			if got := texts(req); got != want {
				t.Errorf("%+v: %q, want %q", req, got, want)
			}
		}
	})
}
