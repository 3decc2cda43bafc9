package meminfra_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// poisoned is a model that notes what users say, and answers garbage as long as
// it is shown the word poison.
func poisoned(t *testing.T) *watchedModel {
	w := &watchedModel{}
	w.Generator = memtest.NewResponder(func(req llm.Request) string {
		s := readRequest(t, req)
		w.seen = append(w.seen, s)
		if strings.Contains(lines(s.target), "poison") {
			return "I would rather not."
		}
		return noteAll(s.target)
	})
	return w
}

// attempts reads the extraction row of an episode under the model extractor.
func attempts(t *testing.T, store storage.Store, user, episode string) memory.Extraction {
	t.Helper()
	var rows []memory.Extraction
	undo := errors.New("only read")
	err := store.Update(t.Context(), partitionNamed(user), func(tx storage.Tx) (err error) {
		if rows, err = tx.Extractions(t.Context(), "model/1", []string{episode}); err != nil {
			return err
		}
		return undo
	})
	if !errors.Is(err, undo) || len(rows) != 1 {
		t.Fatalf("%d extraction rows, error %v", len(rows), err)
	}
	return rows[0]
}

func openTexts(t *testing.T, ml *meminfra.MemoryLayer, user string) string {
	t.Helper()
	var out []string
	for _, r := range mustList(t, ml, user, meminfra.Filters{}) {
		out = append(out, r.Text)
	}
	slices.Sort(out)
	return strings.Join(out, " | ")
}

// One message that can never be read costs itself alone: the others of its call
// and of later calls are remembered. After three attempts no Add tries it again,
// which is said; Reprocess does.
func TestOneUnreadableMessage(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		w := poisoned(t)
		ml := newLayer(t, store, withModel(t, w))
		first := addTo("ada", "c", said("1", "I keep bees.", 0), said("2", "This is poison.", 1), said("3", "I own a boat.", 2))
		res, err := ml.Add(t.Context(), first)
		var failed *meminfra.ExtractionError
		if !errors.As(err, &failed) || res == nil || len(res.Actions) != 2 || !slices.Equal(failed.EpisodeIDs, []string{res.Episodes[1].ID}) || failed.Abandoned != nil {
			t.Fatalf("result %+v, error %v", res, err)
		}
		poison := res.Episodes[1].ID
		if got := openTexts(t, ml, "ada"); got != "I keep bees. | I own a boat." {
			t.Errorf("remembered: %s", got)
		}
		for n, want := range []struct {
			abandoned, lines int
		}{{0, 0}, {1, 1}} {
			res, err := ml.Add(t.Context(), addTo("ada", "c", said(fmt.Sprint("more", n), fmt.Sprintf("I own car number %d.", n), 10+n)))
			if !errors.As(err, &failed) || len(res.Actions) != 1 || len(failed.EpisodeIDs) != 1 || len(failed.Abandoned) != want.abandoned || len(res.Degraded) != want.lines {
				t.Errorf("attempt %d: actions %v, degraded %q, error %+v", n+2, res.Actions, res.Degraded, err)
			}
		}
		if x := attempts(t, store, "ada", poison); x.Status != memory.ExtractionFailed || x.Attempts != 3 || x.Unread != 3 || x.Error != "unreadable" {
			t.Errorf("the row says %+v", x)
		}
		w.seen = nil
		mustAdd(t, ml, addTo("ada", "c", said("free", "I like tea.", 20)))
		if len(w.seen) != 1 || strings.Contains(lines(w.seen[0].target), "poison") {
			t.Errorf("asked %d times, about %s", len(w.seen), lines(w.seen[0].target))
		}
		again := mustAdd(t, ml, first) // said again it is not tried, either, which is said
		if len(w.seen) != 1 || len(again.Degraded) != 1 || !strings.Contains(again.Degraded[0], "only Reprocess") {
			t.Errorf("asked %d times, degraded %q", len(w.seen), again.Degraded)
		}
		re, err := ml.Curate().Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: "ada"})
		if !errors.As(err, &failed) || re.Episodes != 1 || !slices.Equal(failed.Abandoned, []string{poison}) {
			t.Errorf("reprocess: %+v, error %v", re, err)
		}
		w.Generator = newWatched(t, "").Generator // a better day
		ml = newLayer(t, store, withModel(t, w.Generator))
		re, err = ml.Curate().Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: "ada"})
		if err != nil || re.Episodes != 1 || len(re.Actions) != 1 || !strings.Contains(openTexts(t, ml, "ada"), "This is poison.") {
			t.Errorf("reprocess: %+v, error %v", re, err)
		}
	})
}

// Reprocess goes on past what cannot be read, in every conversation, and tries it
// once; a model that can read nothing stops it.
func TestReprocessPastTheUnreadable(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		plain := newLayer(t, store, randomIDs)
		for _, c := range []string{"c1", "c2", "c3"} {
			mustAdd(t, plain, addTo("ada", c, said("p", "poison in "+c, 0), said("b", "My bees in "+c+" swarm.", 1)))
		}
		w := poisoned(t)
		ml := newLayer(t, store, withModel(t, w))
		res, err := ml.Curate().Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: "ada", Upgrade: true})
		var failed *meminfra.ExtractionError
		if !errors.As(err, &failed) || len(failed.EpisodeIDs) != 3 || res.Episodes != 6 || len(res.Actions) != 3 {
			t.Errorf("%+v, error %v", res, err)
		}
		g := memtest.NewResponder(func(llm.Request) string { return "garbage" })
		var many []meminfra.Message
		for i := range 30 {
			many = append(many, said(fmt.Sprint(i), fmt.Sprintf("I own boat %d.", i), i))
		}
		mustAdd(t, plain, addTo("bo", "c", many...))
		broken := newLayer(t, store, withModel(t, g))
		if _, err := broken.Curate().Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: "bo", Upgrade: true}); !errors.As(err, &failed) || len(failed.EpisodeIDs) != 30 || len(g.Requests()) > 12 {
			t.Errorf("%d requests, error %v", len(g.Requests()), err)
		}
	})
}

// With an idempotency key the same call goes on where it was not finished.
func TestUnreadableUnderAKey(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		w := poisoned(t)
		ml := newLayer(t, store, withModel(t, w))
		req := addTo("ada", "c", meminfra.Message{Content: "I keep bees."}, meminfra.Message{Content: "This is poison."})
		req.IdempotencyKey = "k"
		for n, actions := range []int{1, 0, 0} {
			res, err := ml.Add(t.Context(), req)
			var failed *meminfra.ExtractionError
			if !errors.As(err, &failed) || len(res.Actions) != actions || len(res.Episodes) != 2 {
				t.Fatalf("call %d: %+v, error %v", n+1, res, err)
			}
		}
		asked := len(w.seen)
		if res, err := ml.Add(t.Context(), req); err != nil || len(w.seen) != asked || len(res.Episodes) != 2 {
			t.Errorf("a finished call: %+v, asked %d times more, error %v", res, len(w.seen)-asked, err)
		}
		if got := openTexts(t, ml, "ada"); got != "I keep bees." {
			t.Errorf("remembered: %s", got)
		}
	})
}

// Case A10: a time-out, garbage, then a proper reply: one set of memories and a
// record of two failures. "Nothing worth keeping" is another outcome.
func TestFailedExtractionDoesNotMoveTheMark(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		g := memtest.NewScript(memtest.Turn{Err: &llm.Error{Provider: "x", Reason: "timeout", Retryable: true}},
			memtest.Turn{Text: "garbage"}, memtest.Turn{Text: "garbage"}, memtest.Turn{Text: `{"memories":[`})
		ml := newLayer(t, store, withModel(t, g))
		req := addTo("ada", "c", said("1", "I keep bees.", 0))
		var ids []string
		for n := range 2 {
			res, err := ml.Add(t.Context(), req)
			var failed *meminfra.ExtractionError
			if !errors.As(err, &failed) || res == nil || len(res.Actions) != 0 || openTexts(t, ml, "ada") != "" {
				t.Fatalf("run %d: %+v, error %v", n+1, res, err)
			}
			ids = failed.EpisodeIDs
			if x := attempts(t, store, "ada", ids[0]); x.Status != memory.ExtractionFailed || x.Attempts != n+1 || x.Unread != n {
				t.Errorf("after run %d: %+v", n+1, x)
			}
		}
		g.Then(noteAll([]asked{{ID: "m1", Role: "user", Text: "I keep bees."}}))
		res := mustAdd(t, ml, req)
		if len(res.Actions) != 1 || openTexts(t, ml, "ada") != "I keep bees." {
			t.Errorf("run 3: %+v", res)
		}
		if x := attempts(t, store, "ada", ids[0]); x.Status != memory.ExtractionDone || x.Attempts != 3 {
			t.Errorf("after run 3: %+v", x)
		}
		g.Then(`{"memories":[]}`)
		thanks := mustAdd(t, ml, addTo("ada", "c", said("2", "Thanks.", 1)))
		if x := attempts(t, store, "ada", thanks.Episodes[0].ID); x.Status != memory.ExtractionEmpty || x.Attempts != 1 {
			t.Errorf("nothing worth keeping: %+v", x)
		}
	})
}

// A provider whose error repeats the prompt tells nobody: not the error, not what
// it wraps, not the result, not the log.
func TestErrorsRepeatNoPrompt(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		errModel := errors.New("no such model")
		echo := func(r llm.Request) error {
			return fmt.Errorf("bad request %q: %w", r.Messages[0].Content, errModel)
		}
		var log bytes.Buffer
		ml := newLayer(t, store, withModel(t, echoing{echo}), func(o *meminfra.Options) {
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		res, err := ml.Add(t.Context(), addTo("ada", "c", said("1", "My secret is quibblewock.", 0)))
		if !errors.Is(err, errModel) || res == nil {
			t.Fatalf("error %v", err)
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(e.Error(), "quibblewock") {
				t.Errorf("the error tells: %v", e)
			}
		}
		if all := fmt.Sprintf("%+v %s", res.Degraded, log.String()); strings.Contains(all, "quibblewock") {
			t.Errorf("told: %s", all)
		}
	})
}

// Nor does any other model that is asked: for vectors, an intent, an answer, or
// what a statement does to those before it.
func TestLogsRepeatNoPrompt(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		var log bytes.Buffer
		embedder := &echoingEmbedder{Embedder: memtest.NewEmbedder("e", 8)}
		ml := newLayer(t, store, func(o *meminfra.Options) {
			o.Extractor, o.NewID, o.Embedder, o.ModelIntent = &scripted{id: "s/1", word: "s"}, nil, embedder, true
			o.Generator = echoing{func(r llm.Request) error { return fmt.Errorf("bad request %q", r.Messages[0].Content) }}
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		mustAdd(t, ml, addTo("ada", "c", said("1", "My secret is quibblewock.", 0)))
		embedder.on = true
		if _, err := ml.Answer(t.Context(), meminfra.AnswerRequest{UserID: "ada", Query: "What is quibblewock?"}); err != nil {
			t.Fatal(err)
		}
		mustAdd(t, ml, addTo("ada", "c", said("2", "My secrets are quibblewocks.", 1)))
		if _, err := ml.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: "ada"}); err == nil || strings.Contains(err.Error(), "quibblewock") {
			t.Errorf("reembed: %v", err)
		}
		for _, want := range []string{"intent by model failed", "answer: the model failed", "embedding the query failed", "add: embedding failed"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %q", want)
			}
		}
		if strings.Contains(log.String(), "quibblewock") {
			t.Errorf("told: %s", log.String())
		}
	})
}

// echoingEmbedder is an embedder that, once on, fails with the texts.
type echoingEmbedder struct {
	llm.Embedder
	on bool
}

func (f *echoingEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if f.on {
		return nil, fmt.Errorf("cannot embed %q", texts)
	}
	return f.Embedder.Embed(ctx, texts)
}

// echoing is a model that fails with what it makes of the request.
type echoing struct{ fail func(llm.Request) error }

func (echoing) Model() string { return "echoing" }

func (f echoing) Generate(_ context.Context, r llm.Request) (llm.Response, error) {
	return llm.Response{}, f.fail(r)
}
