package meminfra_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// scripted is an extractor that proposes an open fact for each message that has
// a word, and fails while broken.
type scripted struct {
	id, word string
	broken   bool
}

var errNoModel = errors.New("no model today")

func (s *scripted) ID() string { return s.id }

func (s *scripted) Extract(_ context.Context, in extract.Input) (extract.Output, error) {
	if s.broken {
		return extract.Output{}, errNoModel
	}
	var out extract.Output
	for _, m := range in.Target {
		if strings.Contains(m.Content, s.word) {
			out.Candidates = append(out.Candidates, extract.Candidate{Text: m.Content, Subject: m.Speaks, Polarity: memory.Positive,
				EpisodeID: m.ID, Quote: m.Content, Start: -1})
		}
	}
	return out, nil
}

// TestReprocessTakesUpWhatFailed: a failed extraction is not an empty one; what
// was said waits, in every conversation, until an extractor could read it.
func TestReprocessTakesUpWhatFailed(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		x := &scripted{id: "x/1", word: "bees", broken: true}
		ml := newLayer(t, store, func(o *meminfra.Options) { o.Extractor = x })
		for _, conversation := range []string{"c1", "c2"} {
			res, err := ml.Add(t.Context(), meminfra.AddRequest{UserID: "ada", ConversationID: conversation,
				Messages: []meminfra.Message{{Content: "I keep bees in " + conversation}, {Content: "Thanks"}}})
			var failed *meminfra.ExtractionError
			if !errors.As(err, &failed) || len(failed.EpisodeIDs) != 2 || res == nil || len(res.Episodes) != 2 {
				t.Fatalf("%v, %+v", err, res)
			}
		}
		reprocess := func() (*meminfra.ReprocessResult, error) {
			return ml.Curate().Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: "ada"})
		}
		if _, err := reprocess(); !errors.Is(err, errNoModel) {
			t.Fatalf("still broken: %v", err)
		}
		x.broken = false
		res, err := reprocess()
		if err != nil || res.Episodes != 4 || len(res.Actions) != 2 {
			t.Fatalf("%v, %+v", err, res)
		}
		if res, err = reprocess(); err != nil || res.Episodes != 0 {
			t.Errorf("again: %v, %+v", err, res)
		}
	})
}

// TestReprocessUpgrade: a store filled by one extractor is read again by a
// better one; nothing is doubled, old decisions stay, new items come.
func TestReprocessUpgrade(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		add := func(ml *meminfra.MemoryLayer) {
			_, err := ml.Add(t.Context(), meminfra.AddRequest{UserID: "ada", ConversationID: "c", Messages: []meminfra.Message{
				{ID: "1", Content: "I live in Paris."}, {ID: "2", Content: "My bees swarmed on Sunday."}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		add(newLayer(t, store, func(o *meminfra.Options) { o.NewID = nil }))
		better := newLayer(t, store, func(o *meminfra.Options) {
			o.Extractor, o.NewID = &scripted{id: "better/1", word: "s"}, nil
		})
		plain, err := better.Curate().Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: "ada"})
		if err != nil || plain.Episodes != 0 {
			t.Fatalf("nothing waits: %v, %+v", err, plain)
		}
		res, err := better.Curate().Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: "ada", Upgrade: true})
		if err != nil || res.Episodes != 2 || len(res.Actions) != 2 {
			t.Fatalf("%v, %+v", err, res)
		}
		list, err := better.List(t.Context(), meminfra.ListRequest{UserID: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{}
		for _, r := range list.Records {
			texts = append(texts, r.Predicate+"|"+r.Text)
		}
		if got := strings.Join(texts, "; "); got != "|My bees swarmed on Sunday.; location|I live in Paris" {
			t.Errorf("items: %s", got)
		}
	})
}

// TestUpgradeToAModel: a store filled without a model is read again with one: old
// decisions stay, what they found is witnessed and not doubled, what is new is
// added, and a second run finds nothing to do.
func TestUpgradeToAModel(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		plain := newLayer(t, store, randomIDs)
		first := mustAdd(t, plain, addTo("ada", "c", said("1", "I live in Paris.", 0), said("2", "My bees swarmed on Sunday.", 1)))
		before, err := plain.History(t.Context(), meminfra.HistoryRequest{UserID: "ada", ID: first.Actions[0].ItemID})
		if err != nil || len(first.Actions) != 1 {
			t.Fatalf("%v, error %v", actionsOf(first), err)
		}
		ml := newLayer(t, store, withModel(t, memtest.NewResponder(func(llm.Request) string {
			return `{"memories":[{"kind":"fact","text":"The user lives in Paris.","subject_type":"speaker","predicate":"location","value":"Paris","polarity":"positive","message":"m1","quote":"I live in Paris."},` +
				`{"kind":"event","text":"The user's bees swarmed.","subject_type":"speaker","polarity":"positive","message":"m2","quote":"My bees swarmed on Sunday."}]}`
		})), anHourLater)
		for n, want := range []string{"NOOP same_value ADD new_fact", ""} {
			res, err := ml.Curate().Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: "ada", Upgrade: true})
			if err != nil {
				t.Fatal(err)
			}
			got := actionsOf(&meminfra.AddResult{Actions: res.Actions})
			if strings.Join(got, " ") != want {
				t.Errorf("run %d: %v", n+1, got)
			}
		}
		after, err := ml.History(t.Context(), meminfra.HistoryRequest{UserID: "ada", ID: first.Actions[0].ItemID})
		if err != nil || len(after.Versions) != 1 || !reflect.DeepEqual(after.Versions[0].Stages, before.Versions[0].Stages) {
			t.Errorf("the old decision: %+v, error %v", after, err)
		}
		if got := openTexts(t, ml, "ada"); got != "I live in Paris | The user's bees swarmed." {
			t.Errorf("remembered: %s", got)
		}
	})
}

// What the vocabulary holds is not remembered beside it in the same words, by
// another extractor or by another candidate for the same sentence, and a fact that
// comes twice is one. A memory does not outgrow what was said.
func TestSameSentenceTwiceIsOneMemory(t *testing.T) {
	candidate := func(predicate, text string) string {
		return `{"kind":"fact","text":"` + text + `","subject_type":"speaker","predicate":` + predicate +
			`,"value":"Paris","polarity":"positive","message":"m1","quote":"I live in Paris."}`
	}
	fact, open := candidate(`"location"`, "I live in Paris."), candidate("null", "I live in Paris.")
	onStores(t, func(t *testing.T, store storage.Store) {
		for user, c := range map[string]struct{ reply, want string }{
			"twice":         {fact + "," + candidate(`"location"`, "The user lives in Paris."), "ADD new_fact NOOP already_known"},
			"also unnamed":  {fact + "," + open, "ADD new_fact NOOP same_value"},
			"unnamed first": {open + "," + fact, "NOOP same_value ADD new_fact"},
		} {
			ml := newLayer(t, store, withModel(t, memtest.NewResponder(func(llm.Request) string { return `{"memories":[` + c.reply + `]}` })))
			res := mustAdd(t, ml, addTo(user, "c", said("1", "I live in Paris.", 0)))
			if got := strings.Join(actionsOf(res), " "); got != c.want {
				t.Errorf("%s: %s, want %s", user, got, c.want)
			}
			if list, err := ml.List(t.Context(), meminfra.ListRequest{UserID: user}); err != nil || len(list.Records) != 1 {
				t.Errorf("%s: %d memories, error %v", user, len(list.Records), err)
			}
		}
		long := candidate("null", strings.Repeat("I live in Paris. ", 600))
		ml := newLayer(t, store, withModel(t, memtest.NewResponder(func(llm.Request) string { return `{"memories":[` + long + `]}` })))
		res := mustAdd(t, ml, addTo("long", "c", said("1", "I live in Paris.", 0)))
		if len(res.Actions) != 0 || len(res.Rejections) != 1 || res.Rejections[0].Reason != "too_long" {
			t.Errorf("ten thousand bytes made of sixteen: %+v", res)
		}
	})
}
