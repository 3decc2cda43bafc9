package meminfra_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// What was known at a moment is what follows from the rows that ledger entries
// up to that moment name, over random histories. Rows erased since are gone from
// both.
func TestAsOfReadsAreAReplayOfTheLedger(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		done := map[string]int{}
		for seed := range uint64(2) {
			user := fmt.Sprint("user", seed)
			h := newHistory(t, store, user, seed)
			for range 30 {
				h.act()
			}
			for kind, n := range h.done {
				done[kind] += n
			}
			list := entries(t, store, user)
			rows := records(t, store, user)
			episodes := changesOf(t, store, user).Episodes
			for _, at := range h.moments(list) {
				r := replay(list, rows, episodes, at)
				r.compare(t, h.ml, user, fmt.Sprintf("seed %d at %s", seed, at.Format("15:04:05.000000")))
				if t.Failed() {
					return
				}
			}
		}
		for _, kind := range []string{"add", "noop", "supersede", "edit", "withdraw", "restore", "derive", "forget"} {
			if done[kind] == 0 {
				t.Errorf("the histories have no %s: %v", kind, done)
			}
		}
	})
}

// history makes a random one of a user.
type history struct {
	t     *testing.T
	ml    *meminfra.MemoryLayer
	clock *memtest.Clock
	rng   *rand.Rand
	user  string
	done  map[string]int
	store storage.Store
}

func newHistory(t *testing.T, store storage.Store, user string, seed uint64) *history {
	clock, ids := testClock(), &memtest.IDs{}
	ml := newLayer(t, store, func(o *meminfra.Options) { o.Now, o.NewID = clock.Now, ids.NewID })
	return &history{t: t, ml: ml, clock: clock, rng: rand.New(rand.NewPCG(seed, 19)), user: user, done: map[string]int{}, store: store}
}

var asOfTexts = []string{"I use PostgreSQL.", "I use SQLite.", "I switched to DuckDB.", "I no longer use SQLite.", "I live in Lisbon.",
	"I live in Porto.", "I moved to Faro.", "I speak Dutch.", "I speak German.", "I no longer speak German.", "I own a boat.", "I am allergic to nuts."}

// act does one thing, of which nothing may come: not all can be done to all.
func (h *history) act() {
	h.clock.Advance(time.Duration(1+h.rng.IntN(90)) * time.Minute)
	ctx, c := h.t.Context(), h.ml.Curate()
	current := h.someItem("exclude", memory.StatusActive)
	var err error
	switch p := h.rng.IntN(20); {
	case current == "" || p < 10:
		h.add()
	case p < 12:
		_, err = c.Edit(ctx, meminfra.EditRequest{UserID: h.user, ID: current, Text: "In the words of the user: SQLite.", Value: "SQLite"})
		h.count("edit", err)
	case p < 14:
		_, err = c.Retract(ctx, meminfra.RetractRequest{UserID: h.user, ID: current})
		h.count("withdraw", err)
	case p < 16:
		_, err = c.Restore(ctx, meminfra.RestoreRequest{UserID: h.user, ID: h.someItem("all", memory.StatusWithdrawn)})
		h.count("restore", err)
	case p < 19:
		_, err = c.Derive(ctx, meminfra.DeriveRequest{UserID: h.user, From: []string{current}, Text: "The user, all in all."})
		h.count("derive", err)
	default:
		_, err = h.ml.Forget(ctx, meminfra.ForgetRequest{UserID: h.user, ID: current})
		h.count("forget", err)
	}
}

func (h *history) count(what string, err error) {
	if err == nil {
		h.done[what]++
	}
}

func (h *history) text() string { return asOfTexts[h.rng.IntN(len(asOfTexts))] }

func (h *history) add() {
	list := make([]meminfra.Message, 1+h.rng.IntN(2))
	for i := range list {
		list[i] = meminfra.Message{Content: h.text(), SentAt: h.clock.Now().Add(-time.Duration(h.rng.IntN(48)) * time.Hour)}
		if h.rng.IntN(6) == 0 {
			list[i].Role = memory.RoleAssistant
		}
	}
	for _, a := range mustAdd(h.t, h.ml, addTo(h.user, fmt.Sprint("c", h.rng.IntN(2)), list...)).Actions {
		h.done[strings.ToLower(string(a.Action))]++
	}
}

// someItem is any item of that status: "" if there is none.
func (h *history) someItem(mode retrieve.History, status memory.Status) string {
	list := slices.DeleteFunc(mustList(h.t, h.ml, h.user, meminfra.Filters{History: mode}), func(r meminfra.Record) bool { return r.Status != status })
	if len(list) == 0 {
		return ""
	}
	return list[h.rng.IntN(len(list))].ID
}

// moments are those of all entries, just before them, and some in between.
func (h *history) moments(list []memory.Entry) (at []time.Time) {
	for _, e := range list {
		later := time.Duration(h.rng.IntN(60_000_000)) * time.Microsecond
		at = append(at, e.At.Add([]time.Duration{0, -time.Microsecond, later}[h.rng.IntN(3)]))
	}
	return append(at, list[0].At.AddDate(-1, 0, 0), h.clock.Now())
}

// replayed is what was known at a moment.
type replayed struct {
	at       time.Time
	items    []storage.ItemRecord // with the states known then
	episodes []string
}

// replay keeps of the rows what entries up to the moment name.
func replay(list []memory.Entry, rows []storage.ItemRecord, episodes []memory.Episode, at time.Time) replayed {
	named := map[string]bool{}
	for _, e := range list {
		for _, o := range e.Objects {
			if !e.At.After(at) && e.Operation != "forget" {
				named[o.Kind+" "+o.ID] = true
			}
		}
	}
	r := replayed{at: at}
	for _, row := range rows {
		if !named["item "+row.ID] {
			continue
		}
		var states []memory.State
		for _, s := range row.States {
			if !named["state "+ledger.State(s).ID] {
				continue
			}
			if !named["close "+ledger.State(s).ID] {
				s.SystemTo = time.Time{}
			}
			states = append(states, s)
		}
		row.States = states
		row.Evidence = slices.DeleteFunc(slices.Clone(row.Evidence), func(e storage.EvidenceRecord) bool {
			return !named["evidence "+ledger.Evidence(e.Evidence).ID]
		})
		r.items = append(r.items, row)
	}
	for _, e := range episodes {
		if named["episode "+e.ID] {
			r.episodes = append(r.episodes, e.ID)
		}
	}
	slices.SortFunc(r.items, func(x, y storage.ItemRecord) int { return cmp.Compare(y.Seq, x.Seq) })
	slices.Reverse(r.episodes)
	return r
}

// shown says what a read must show of an item.
func (r replayed) shown(row storage.ItemRecord) string {
	s := row.Present()
	var quotes []string
	for _, e := range row.Evidence {
		quotes = append(quotes, e.EpisodeID)
	}
	return fmt.Sprintf("%s %s %s %v", row.ID, s.Status, interval(optionalTime(s.Valid.From), optionalTime(s.Valid.To)), quotes)
}

func shownRecord(rec meminfra.Record) string {
	var quotes []string
	for _, e := range rec.Evidence {
		quotes = append(quotes, e.EpisodeID)
	}
	return fmt.Sprintf("%s %s %s %v", rec.ID, rec.Status, interval(rec.ValidFrom, rec.ValidTo), quotes)
}

func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func interval(from, to *time.Time) string {
	end := func(t *time.Time) string {
		if t == nil {
			return "-"
		}
		return fmt.Sprint(t.UnixMicro())
	}
	return "[" + end(from) + "," + end(to) + ")"
}

// counts reports whether an item counts under a history mode.
func (r replayed) counts(row storage.ItemRecord, mode meminfra.Filters) bool {
	s := row.Present()
	switch mode.History {
	case "all":
		return true
	case "include":
		return s.Status != memory.StatusWithdrawn
	}
	return s.Status == memory.StatusActive && !s.Valid.From.IsZero() && s.Valid.Contains(r.at)
}

func (r replayed) compare(t *testing.T, ml *meminfra.MemoryLayer, user, when string) {
	t.Helper()
	for _, f := range []meminfra.Filters{{History: "all"}, {History: "include"}, {History: "exclude"}} {
		f.KnownAt = r.at
		var want []string
		for _, row := range r.items {
			if r.counts(row, f) {
				want = append(want, r.shown(row))
			}
		}
		var got []string
		for _, rec := range mustList(t, ml, user, f) {
			got = append(got, shownRecord(rec))
		}
		same(t, when+" list "+string(f.History), got, want)
		if f.History == "include" {
			r.compareSearch(t, ml, user, when, f, want)
		}
	}
	var got []string
	for _, rec := range mustList(t, ml, user, meminfra.Filters{Kind: "episode", KnownAt: r.at}) {
		got = append(got, rec.ID)
	}
	same(t, when+" episodes", got, r.episodes)
	for i := 0; i < len(r.items); i += 4 { // each shows a whole line
		r.compareHistory(t, ml, user, when, r.items[i])
	}
}

// compareSearch asks for words of which every item has one.
func (r replayed) compareSearch(t *testing.T, ml *meminfra.MemoryLayer, user, when string, f meminfra.Filters, want []string) {
	t.Helper()
	var got []string
	for _, hit := range mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: strings.Join(append(asOfTexts, "user words"), " "), Limit: 100, Filters: f, SkipIntent: true}).Hits {
		if hit.Kind == memory.KindEpisode {
			if !slices.Contains(r.episodes, hit.ID) {
				t.Errorf("%s: search shows message %s, which was not known", when, hit.ID)
			}
			continue
		}
		got = append(got, shownRecord(hit.Record))
	}
	slices.Sort(got)
	same(t, when+" search "+string(f.History), got, slices.Sorted(slices.Values(want)))
}

// compareHistory asks for the line of an item.
func (r replayed) compareHistory(t *testing.T, ml *meminfra.MemoryLayer, user, when string, row storage.ItemRecord) {
	t.Helper()
	res, err := ml.History(t.Context(), meminfra.HistoryRequest{UserID: user, ID: row.ID, KnownAt: r.at})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range res.Versions {
		i := slices.IndexFunc(r.items, func(x storage.ItemRecord) bool { return x.ID == v.ID })
		if i < 0 {
			t.Errorf("%s: history shows item %s, which was not known", when, v.ID)
			continue
		}
		var got, want []string
		for _, s := range v.Stages {
			got = append(got, fmt.Sprint(s.Status, interval(s.ValidFrom, s.ValidTo), interval(&s.KnownFrom, s.KnownTo)))
		}
		for _, s := range r.items[i].States {
			want = append(want, fmt.Sprint(s.Status, interval(optionalTime(s.Valid.From), optionalTime(s.Valid.To)),
				interval(&s.SystemFrom, optionalTime(s.SystemTo))))
		}
		same(t, when+" history of "+v.ID, append(got, shownRecord(v.Record)), append(want, r.shown(r.items[i])))
	}
	if !slices.ContainsFunc(res.Versions, func(v meminfra.Version) bool { return v.ID == row.ID }) {
		t.Errorf("%s: history of %s leaves it out", when, row.ID)
	}
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n  got  %s\n  want %s", what, strings.Join(got, "\n       "), strings.Join(want, "\n       "))
	}
}
