package meminfra_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/reconcile/manager"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// sayings is an extractor that proposes each message, whoever says it, as an open
// fact about the user; one with "no longer" in it denies.
type sayings struct{}

func (sayings) ID() string { return "sayings/1" }

func (sayings) Extract(_ context.Context, in extract.Input) (out extract.Output, err error) {
	for _, m := range in.Target {
		c := extract.Candidate{Subject: memory.UserSubject, Polarity: memory.Positive, EpisodeID: m.ID, Quote: m.Content, Start: -1}
		if strings.Contains(m.Content, "no longer") {
			c.Polarity = memory.Negative
		}
		out.Candidates = append(out.Candidates, c)
	}
	return out, nil
}

// managedLayer is a layer over sayings and axes whose manager gives the replies
// in order.
type managedLayer struct {
	*testing.T
	*meminfra.MemoryLayer
	store storage.Store
	model *memtest.Generator
}

func newManaged(t *testing.T, store storage.Store, replies ...string) *managedLayer {
	l := &managedLayer{T: t, store: store, model: memtest.NewGenerator(replies...)}
	l.MemoryLayer = newLayer(t, store, randomIDs, l.options)
	return l
}

func (l *managedLayer) options(o *meminfra.Options) {
	o.Extractor, o.Generator, o.Embedder = sayings{}, l.model, axes{}
}

// axes is an embedder that gives each text a direction of its own, 0.8 from every
// other; what is about Elm Street is at less than half of that.
type axes struct{}

func (axes) Model() string { return "axes/1" }
func (axes) Dim() int      { return 512 }

func (axes) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		h := fnv.New32a()
		h.Write([]byte(text))
		common := float32(0.8944)
		if strings.Contains(text, "Elm Street") {
			common = 0.4
		}
		out[i] = make([]float32, 512)
		out[i][0] = common
		out[i][1+h.Sum32()%511] = float32(math.Sqrt(float64(1 - common*common)))
	}
	return out, nil
}

// add says one text on the n-th of June 2025, and returns what was done about it.
func (l *managedLayer) add(n int, text string, edit ...func(*meminfra.Message)) meminfra.ActionTaken {
	l.Helper()
	res := l.addAll(n, []string{text}, edit...)
	if len(res.Actions) != 1 {
		l.Fatalf("%q: %+v", text, res)
	}
	return res.Actions[0]
}

func (l *managedLayer) addAll(n int, texts []string, edit ...func(*meminfra.Message)) *meminfra.AddResult {
	l.Helper()
	var list []meminfra.Message
	for i, text := range texts {
		m := meminfra.Message{Content: text, SentAt: june(n).Add(time.Duration(i) * time.Minute)}
		for _, f := range edit {
			f(&m)
		}
		list = append(list, m)
	}
	res := mustAdd(l, l.MemoryLayer, addTo("ada", "c", list...))
	checkLedger(l.T, l.store, "ada")
	return res
}

func june(n int) time.Time { return time.Date(2025, 6, n, 9, 0, 0, 0, time.UTC) }

func as(role memory.Role) func(*meminfra.Message) {
	return func(m *meminfra.Message) { m.Role = role }
}

// current lists the texts of what is current, oldest first.
func (l *managedLayer) current() []string {
	l.Helper()
	list := []string{}
	for _, r := range mustList(l, l.MemoryLayer, "ada", meminfra.Filters{}) {
		list = append(list, r.Text)
	}
	slices.Reverse(list)
	return list
}

// line renders the history of an item: text, status and days, a version a line.
func (l *managedLayer) line(id string) string {
	l.Helper()
	h, err := l.History(l.Context(), meminfra.HistoryRequest{UserID: "ada", ID: id})
	if err != nil {
		l.Fatal(err)
	}
	var out []string
	for _, v := range h.Versions {
		to := ""
		if v.ValidTo != nil {
			to = fmt.Sprint(v.ValidTo.Day())
		}
		out = append(out, fmt.Sprintf("%s %s %d-%s", v.Text, v.Status, v.ValidFrom.Day(), to))
	}
	return strings.Join(out, "; ")
}

func (l *managedLayer) wants(what string, got, want any) {
	l.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		l.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// op is one operation as the model replies it, managing a whole reply.
func op(statement, operation, handle, text string) string {
	q := func(s string) string {
		if s == "" {
			return "null"
		}
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf(`{"statement":%q,"operation":%q,"memory":%s,"text":%s}`, statement, operation, q(handle), q(text))
}

func managing(list ...string) string { return `{"operations":[` + strings.Join(list, ",") + `]}` }

func onManaged(t *testing.T, run func(l *managedLayer)) {
	onStores(t, func(t *testing.T, store storage.Store) { run(newManaged(t, store)) })
}

const hasBuddy, hasScout = "I have a dog named Buddy.", "I adopted a dog named Scout."

// TestTwoDogs is T1 of papers.md section 2: the model deletes one dog because of
// the other; what comes of it is one memory that names both.
func TestTwoDogs(t *testing.T) {
	onManaged(t, func(l *managedLayer) {
		l.model.Then(managing(op("c1", "DELETE", "0", ""), op("c1", "ADD", "", "")))
		first := l.add(1, hasBuddy)
		got := l.add(10, hasScout)
		if got.Action != memory.ActionSupersede || got.SupersededID != first.ItemID || !slices.Equal(got.Guards, []string{"delete_add"}) {
			l.Errorf("%+v", got)
		}
		l.wants("current", l.current(), []string{hasBuddy + " " + hasScout})
		l.wants("line", l.line(got.ItemID), hasBuddy+" superseded 1-10; "+hasBuddy+" "+hasScout+" active 10-")
		l.wants("line, from the old one", l.line(first.ItemID), l.line(got.ItemID))
		for _, r := range records(l.T, l.store, "ada") {
			for _, e := range r.Evidence {
				if e.Full != (len(r.Evidence) == 1) {
					l.Errorf("full witness %v of %d: %q", e.Full, len(r.Evidence), e.Quote)
				}
			}
		}
		for _, d := range decisions(l.T, l.store, "ada")[1:] {
			if d.PromptHash != manager.PromptHash || d.Model != "scripted" || !slices.Equal(d.Guards, got.Guards) || !slices.Equal(d.Inputs, []string{first.ItemID}) {
				l.Errorf("decision %+v", d)
			}
		}
		found := mustSearch(l, l.MemoryLayer, meminfra.SearchRequest{UserID: "ada", Query: "Buddy Scout", Filters: meminfra.Filters{Kind: memory.KindFact}})
		if len(found.Hits) != 1 || found.Hits[0].Ranks.Vector == 0 {
			l.Errorf("found %d: the merged text has no vector", len(found.Hits))
		}
	})
}

// TestMergedByTheModel: a text of the model's that made nothing up is taken, with
// all witnesses; one that did is not.
func TestMergedByTheModel(t *testing.T) {
	onManaged(t, func(l *managedLayer) {
		l.model.Then(managing(op("c1", "UPDATE", "0", "The user has dogs named Buddy and Scout.")),
			managing(op("c1", "UPDATE", "0", "I have dogs named Buddy, Scout and Rex, and 3 cats.")))
		l.add(1, hasBuddy)
		l.add(10, hasScout)
		l.wants("current", l.current(), []string{"The user has dogs named Buddy and Scout."})
		got := l.add(12, "I adopted Rex.")
		l.wants("guards", got.Guards, []string{"merge_adds"})
		l.wants("current", l.current(), []string{"I adopted Rex."})
	})
}

// TestIndependentOperations is T2: what is not alike is not one operation.
func TestIndependentOperations(t *testing.T) {
	onManaged(t, func(l *managedLayer) {
		l.model.Then(managing(op("c1", "DELETE", "0", ""), op("c2", "ADD", "", "")))
		old := l.add(1, "I live at 5 Elm Street.")
		res := l.addAll(10, []string{"I no longer live at 5 Elm Street.", hasScout})
		l.wants("actions", actionsOf(res), []string{"RETRACT negated", "ADD new_fact"})
		l.wants("ends", res.Actions[0].SupersededID, old.ItemID)
		l.wants("line", l.line(old.ItemID), "I live at 5 Elm Street. ended 1-10; I no longer live at 5 Elm Street. active 10-")
	})
	onManaged(t, func(l *managedLayer) {
		l.model.Then(managing(op("c1", "DELETE", "0", ""), op("c1", "ADD", "", "")))
		l.add(1, "I live at 5 Elm Street.")
		got := l.add(10, hasScout)
		l.wants("a dog does not end an address", fmt.Sprint(got.Action, " ", got.Guards), "ADD [no_negation]")
		l.wants("current", l.current(), []string{"I live at 5 Elm Street.", hasScout})
	})
}

// TestInventedHandles is wild fault A02 and T3.
func TestInventedHandles(t *testing.T) {
	onManaged(t, func(l *managedLayer) {
		other := mustAdd(l, l.MemoryLayer, addTo("bo", "c", said("m", "My secret is out.", 0))).Actions[0].ItemID
		lyon := l.add(1, "Office is in Lyon.")
		foreign := dump(l.T, l.store, "bo")
		for i, run := range []struct{ reply, guard string }{
			{managing(op("c1", "UPDATE", "7", "")), "unknown_handle"},
			{managing(op("c1", "DELETE", other, "")), "id_for_handle"},
			{managing(op("c1", "DELETE", lyon.ItemID, "")), "id_for_handle"},
			{managing(op("c1", "UPDATE", "", "")), "missing_handle"},
			{managing(op("c1", "UPDATE", "c1", "")), "unknown_handle"},
			{managing(op("c2", "DELETE", "0", "")), "no_operation"},
		} {
			l.model.Then(run.reply)
			got := l.add(10+i, fmt.Sprintf("My office moved to Porto, hall %d.", i))
			if got.Action != memory.ActionAdd || !slices.Equal(got.Guards, []string{run.guard}) {
				l.Errorf("run %d: %+v", i+1, got)
			}
		}
		l.wants("Lyon", l.line(lyon.ItemID), "Office is in Lyon. active 1-")
		if dump(l.T, l.store, "bo") != foreign {
			l.Error("another user's rows changed")
		}
		if prompt := l.model.Requests()[0].Messages[0].Content; strings.Contains(prompt, other) || strings.Contains(prompt, lyon.ItemID) || strings.Contains(prompt, "secret") {
			l.Errorf("the prompt shows what it must not: %s", prompt)
		}
	})
}

// TestOlderStatementArrivesLater is wild fault A06.
func TestOlderStatementArrivesLater(t *testing.T) {
	at := func(y int, m time.Month) func(*meminfra.Message) {
		return func(msg *meminfra.Message) { msg.SentAt = time.Date(y, m, 1, 0, 0, 0, 0, time.UTC) }
	}
	onManaged(t, func(l *managedLayer) {
		l.model.Then(managing(op("c1", "UPDATE", "0", "")), managing(op("c1", "UPDATE", "0", "")), managing(op("c1", "DELETE", "0", "")))
		harbour := l.add(0, "My job is at the harbour office.", at(2025, 6))
		library := l.add(0, "My job is at the library.", at(2023, 2))
		if library.Action != memory.ActionAdd || library.Reason != "older_value" || !slices.Equal(library.Guards, []string{"event_time"}) {
			l.Errorf("%+v", library)
		}
		prompt := l.model.Requests()[0].Messages[0].Content
		if !strings.Contains(prompt, "2025-06-01") || !strings.Contains(prompt, "2023-02-01") {
			l.Errorf("the prompt does not show both times: %s", prompt)
		}
		asOf := func(y int, m time.Month) string {
			var got []string
			for _, r := range mustList(l, l.MemoryLayer, "ada", meminfra.Filters{ValidAt: time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)}) {
				got = append(got, r.Text)
			}
			return strings.Join(got, " ")
		}
		l.wants("now", l.current(), []string{"My job is at the harbour office."})
		l.wants("2024", asOf(2024, 1), "My job is at the library.")
		l.wants("2025", asOf(2025, 7), "My job is at the harbour office.")
		// Between the two, and before both: whatever the order of arrival.
		l.add(0, "My job is at the town hall.", at(2024, 6))
		l.add(0, "My job is at the mill.", at(2022, 6))
		for when, want := range map[[2]int]string{{2022, 7}: "mill", {2023, 3}: "library", {2024, 7}: "town hall", {2025, 7}: "harbour office"} {
			l.wants(fmt.Sprint(when), asOf(when[0], time.Month(when[1])), "My job is at the "+want+".")
		}
		l.wants("versions", strings.Count(l.line(harbour.ItemID), ";"), 3)
	})
}

// TestWeakerCannotReplace: what an assistant says stays beside what the user
// says, and both show the conflict.
func TestWeakerCannotReplace(t *testing.T) {
	onManaged(t, func(l *managedLayer) {
		l.model.Then(managing(op("c1", "UPDATE", "0", "")), managing(op("c1", "DELETE", "0", "")))
		l.add(1, "Office is in Lyon.")
		for i, role := range []memory.Role{memory.RoleAssistant, memory.RoleTool} {
			got := l.add(10+i, fmt.Sprintf("The office moved to Porto, %s says.", role), as(role))
			if got.Action != memory.ActionAdd || got.Reason != "weaker_conflict" || !slices.Contains(got.Guards, "weaker_authority") {
				l.Errorf("%+v", got)
			}
		}
		for _, r := range mustList(l, l.MemoryLayer, "ada", meminfra.Filters{}) {
			if want := map[memory.Authority]int{memory.Authorized: 2}[r.Authority]; len(r.Conflicts) != max(want, 1) {
				l.Errorf("%q shows %d conflicts", r.Text, len(r.Conflicts))
			}
		}
		l.wants("current", len(l.current()), 3)
	})
}

// TestManagerFails: whatever goes wrong with the model, what was said is kept.
func TestManagerFails(t *testing.T) {
	onManaged(t, func(l *managedLayer) {
		l.add(1, hasBuddy)
		for i, turns := range [][]string{{"no", "", `{"operations":{}}`}, nil} {
			l.model.Then(turns...)
			res := l.addAll(10+i, []string{fmt.Sprintf("I adopted a dog named Scout, %d of May.", i+2)})
			l.wants("actions", actionsOf(res), []string{"ADD new_fact"})
			l.wants("degraded", res.Degraded, []string{"decided without the manager: it failed"})
			l.wants("guards", len(res.Actions[0].Guards), 0)
		}
		l.wants("current", len(l.current()), 3)
	})
}

// TestManagerIsLeftOut: with SkipManager, without neighbours, and for what is the
// same already, no model is asked.
func TestManagerIsLeftOut(t *testing.T) {
	onManaged(t, func(l *managedLayer) {
		l.add(1, hasBuddy)
		l.wants("again", l.add(2, hasBuddy).Action, memory.ActionNoop)
		skipping := newLayer(t, l.store, randomIDs, l.options, func(o *meminfra.Options) { o.SkipManager = true })
		mustAdd(t, skipping, addTo("ada", "d", said("m", hasScout, 0)))
		l.wants("asked", len(l.model.Requests()), 0)
	})
}

// TestManagedVersions is wild fault A08 with a manager: metadata goes along, a
// filter finds the present version, and withdrawing it reopens the one before.
func TestManagedVersions(t *testing.T) {
	onManaged(t, func(l *managedLayer) {
		l.model.Then(managing(op("c1", "UPDATE", "0", "")), managing(op("c1", "UPDATE", "0", "")))
		first := l.add(1, "Office is in Lyon.", func(m *meminfra.Message) { m.Metadata = memory.Metadata{"project": "kiln", "tier": 3} })
		second := l.add(5, "Office moved to Porto.", func(m *meminfra.Message) { m.Metadata = memory.Metadata{"tier": 4} })
		third := l.add(9, "Office is in Turin now.")
		where := meminfra.Filters{Metadata: &meminfra.Where{Field: "project", Op: "eq", Value: "kiln"}}
		got := mustList(l, l.MemoryLayer, "ada", where)
		if len(got) != 1 || got[0].ID != third.ItemID || got[0].Supersedes != second.ItemID || fmt.Sprint(got[0].Metadata["tier"]) != "4" {
			l.Errorf("%+v", got)
		}
		const lyon, porto, turin = "Office is in Lyon. superseded 1-5; ", "Office moved to Porto. superseded 5-9; ", "Office is in Turin now. active 9-"
		l.wants("line", l.line(first.ItemID), lyon+porto+turin)
		withdraw := func(id string) {
			if _, err := l.Curate().Retract(l.Context(), meminfra.RetractRequest{UserID: "ada", ID: id}); err != nil {
				l.Fatal(err)
			}
		}
		restore := func(id string) {
			if _, err := l.Curate().Restore(l.Context(), meminfra.RestoreRequest{UserID: "ada", ID: id}); err != nil {
				l.Fatal(err)
			}
		}
		withdraw(second.ItemID)
		l.wants("without the second", l.current(), []string{"Office is in Turin now."})
		l.wants("line", l.line(first.ItemID), "Office is in Lyon. superseded 1-9; Office moved to Porto. withdrawn 5-5; "+turin)
		restore(second.ItemID)
		l.wants("line restored", l.line(first.ItemID), lyon+porto+turin)
		withdraw(third.ItemID)
		l.wants("without the third", l.current(), []string{"Office moved to Porto."})
		restore(third.ItemID)
		l.wants("line restored", l.line(first.ItemID), lyon+porto+turin)
		checkLedger(l.T, l.store, "ada")
	})
}

// TestManagedNoop: the model finds a rewording that similarity alone does not;
// it is one more witness. One with another number is not.
func TestManagedNoop(t *testing.T) {
	onManaged(t, func(l *managedLayer) {
		l.model.Then(managing(op("c1", "none", "0", "")), managing(op("c1", "NOOP", "0", "")))
		first := l.add(1, "The rehearsal is on 3 March in hall 4.")
		got := l.add(2, "On 3 March the rehearsal takes place in hall 4.")
		l.wants("noop", fmt.Sprint(got.Action, " ", got.ItemID == first.ItemID), "NOOP true")
		got = l.add(3, "On 8 March the rehearsal takes place in hall 4.")
		l.wants("guards", fmt.Sprint(got.Action, " ", got.Guards), "ADD [figures_differ]")
		if rec, err := l.Get(l.Context(), meminfra.GetRequest{UserID: "ada", ID: first.ItemID}); err != nil || len(rec.Evidence) != 2 {
			l.Errorf("%+v, %v", rec, err)
		}
	})
}

// TestHandleOnce: two statements of one Add cannot both replace one memory.
func TestHandleOnce(t *testing.T) {
	onManaged(t, func(l *managedLayer) {
		l.model.Then(managing(op("c1", "UPDATE", "0", ""), op("c2", "UPDATE", "0", "")))
		l.add(1, "Office is in Lyon.")
		res := l.addAll(5, []string{"Office moved to Porto.", "Office moved to Turin, at last."})
		l.wants("actions", actionsOf(res), []string{"SUPERSEDE newer_value", "ADD new_fact"})
		l.wants("guards", res.Actions[1].Guards, []string{"handle_used"})
		l.wants("asked", len(l.model.Requests()), 1)
	})
}

// TestManagedReplay: a repeated call and a dry run tell the same, guards included.
func TestManagedReplay(t *testing.T) {
	onManaged(t, func(l *managedLayer) {
		l.add(1, "Office is in Lyon.")
		reply := managing(op("c1", "DELETE", "0", ""))
		l.model.Then(reply, reply)
		req := addTo("ada", "c", meminfra.Message{Content: "Office moved to Porto.", SentAt: june(5)})
		req.DryRun = true
		before := dump(l.T, l.store, "ada")
		dry := mustAdd(l, l.MemoryLayer, req)
		if dump(l.T, l.store, "ada") != before {
			l.Error("a dry run wrote")
		}
		req.DryRun, req.IdempotencyKey = false, "k"
		first, again := mustAdd(l, l.MemoryLayer, req), mustAdd(l, l.MemoryLayer, req)
		l.wants("replayed", fmt.Sprint(again.Actions), fmt.Sprint(first.Actions))
		l.wants("dry", fmt.Sprint(dry.Actions[0].Action, dry.Actions[0].Guards), fmt.Sprint(first.Actions[0].Action, first.Actions[0].Guards))
		l.wants("guards", first.Actions[0].Guards, []string{"bare_delete"})
	})
}

// TestReadRowChanges: a row that the manager read has a new state at the commit.
// It is asked again, twice, and then it is decided without it.
func TestReadRowChanges(t *testing.T) {
	for changes, want := range map[int]struct {
		asked    int
		action   string
		degraded int
	}{1: {2, "SUPERSEDE newer_value", 0}, 2: {3, "SUPERSEDE newer_value", 0}, 9: {3, "ADD new_fact", 1}} {
		onManaged(t, func(l *managedLayer) {
			lyon := l.add(1, "Office is in Lyon.")
			asked := 0
			model := memtest.NewResponder(func(llm.Request) string {
				if asked++; asked <= changes {
					// The owner withdraws it and takes that back: the same to see, another state.
					if _, err := l.Curate().Retract(l.Context(), meminfra.RetractRequest{UserID: "ada", ID: lyon.ItemID}); err != nil {
						t.Error(err)
					}
					if _, err := l.Curate().Restore(l.Context(), meminfra.RestoreRequest{UserID: "ada", ID: lyon.ItemID}); err != nil {
						t.Error(err)
					}
				}
				return managing(op("c1", "UPDATE", "0", ""))
			})
			l.MemoryLayer = newLayer(l, l.store, randomIDs, l.options, func(o *meminfra.Options) { o.Generator = model })
			res := l.addAll(5, []string{"Office moved to Porto."})
			l.wants("actions", actionsOf(res), []string{want.action})
			l.wants("asked, degraded", fmt.Sprint(asked, len(res.Degraded)), fmt.Sprint(want.asked, want.degraded))
		})
	}
}

// TestTwoManagersOneMemory: two Adds whose managers both read one memory and both
// replace it. One is first; the other decides again on what it finds.
func TestTwoManagersOneMemory(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		for round := range 4 {
			user := fmt.Sprint("ada", round)
			l := newManaged(t, store)
			mustAdd(t, l.MemoryLayer, addTo(user, "c", meminfra.Message{Content: "Office is in Lyon.", SentAt: june(1)}))
			met := barrier(2)
			var group sync.WaitGroup
			results := make([]*meminfra.AddResult, 2)
			for n, city := range []string{"Porto", "Turin in May"} {
				group.Go(func() {
					var once sync.Once
					model := memtest.NewResponder(func(llm.Request) string {
						once.Do(func() { _ = met() })
						return managing(op("c1", "UPDATE", "0", ""))
					})
					ml := newLayer(t, store, randomIDs, l.options, func(o *meminfra.Options) { o.Generator = model })
					res, err := ml.Add(t.Context(), addTo(user, "c", meminfra.Message{Content: "Office moved to " + city + ".", SentAt: june(5 + n)}))
					if err != nil {
						t.Error(err)
					}
					results[n] = res
				})
			}
			group.Wait()
			checkLedger(t, store, user)
			got := mustList(t, l.MemoryLayer, user, meminfra.Filters{})
			if len(got) != 1 || got[0].Text != "Office moved to Turin in May." {
				t.Errorf("round %d: %d current, %v %v", round, len(got), actionsOf(results[0]), actionsOf(results[1]))
			}
			var spans []string
			for _, r := range records(t, store, user) {
				v := r.Present().Valid
				spans = append(spans, fmt.Sprintf("%d-%d", v.From.Day(), v.To.Day()))
			}
			slices.Sort(spans)
			if want := []string{"1-5", "5-6", "6-1"}; !slices.Equal(spans, want) {
				t.Errorf("round %d: versions hold %v, want %v", round, spans, want)
			}
		}
	})
}

// TestManagerSeesCurrentOpenItems: nothing controlled, derived, ended or of
// another user is offered.
func TestManagerSeesCurrentOpenItems(t *testing.T) {
	onManaged(t, func(l *managedLayer) {
		l.MemoryLayer = newLayer(l, l.store, randomIDs, l.options, func(o *meminfra.Options) { o.SkipManager = true })
		gone := l.add(1, "Office is in Lyon.")
		kept := l.add(1, "The office has a garden.")
		if _, err := l.Curate().Retract(l.Context(), meminfra.RetractRequest{UserID: "ada", ID: gone.ItemID}); err != nil {
			l.Fatal(err)
		}
		if _, err := l.Curate().Derive(l.Context(), meminfra.DeriveRequest{UserID: "ada", Text: "The office is green.", From: []string{kept.ItemID}}); err != nil {
			l.Fatal(err)
		}
		controlled := newLayer(l, l.store, randomIDs, l.options, func(o *meminfra.Options) { o.Extractor, o.SkipManager = asLocation{}, true })
		mustAdd(l, controlled, addTo("ada", "c", said("x", "Lisbon", 0)))
		mustAdd(l, l.MemoryLayer, addTo("bo", "c", said("x", "Office is in Bonn.", 0)))
		l.model.Then(managing(op("c1", "ADD", "", "")))
		l.MemoryLayer = newLayer(l, l.store, randomIDs, l.options)
		l.add(5, "Office moved to Porto.")
		prompt := l.model.Requests()[0].Messages[0].Content
		for text, want := range map[string]bool{"garden": true, "Lyon": false, "green": false, "Lisbon": false, "Bonn": false} {
			if strings.Contains(prompt, text) != want {
				l.Errorf("offered %s: %v", text, !want)
			}
		}
	})
}
