package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/eval"
	"github.com/meminfra/memory-layer/eval/locomo"
	"github.com/meminfra/memory-layer/meminfra/extract/model"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/replay"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/predicates"
)

// obedient is a model that remembers the first target message as it stands, relies
// on the first memory it is shown, and finds every answer right.
func obedient(answer string) *memtest.Generator {
	return memtest.NewResponder(func(req llm.Request) string {
		switch req.Schema.Name {
		case "memories":
			return `{"memories":[]}`
		case "relied_on":
			return `{"rely_on":["M1"]}`
		case "answer":
			return `{"answer":"` + answer + `","citations":["M1"]}`
		case "verdict":
			return `{"verdict":"sufficient"}`
		case "grade":
			return `{"grade":"correct"}`
		}
		return `{}`
	})
}

func TestAnswersWithoutAModelAreScored(t *testing.T) {
	r := runMini(t, func(c *eval.Config) { c.Answers, c.SkipBaselines = true, true })
	a := r.Answers
	if a == nil || a.Reader != "quotes" || a.Judge != "" || a.Overall.N != 8 || a.Answerable.N != 7 || a.ByCategory["adversarial"].N != 1 {
		t.Fatalf("answers: %+v", a)
	}
	for _, o := range r.Questions {
		switch {
		case o.Answer == nil || o.Answer.Grade != nil:
			t.Errorf("question %d: %+v", o.Question, o.Answer)
		case o.Answer.Abstained != (o.Answer.Text == ""):
			t.Errorf("question %d: abstained %v with text", o.Question, o.Answer.Abstained)
		case o.Category == locomo.Adversarial.String() && (o.Answer.Score == 1) != o.Answer.Abstained:
			t.Errorf("adversarial: score %v, abstained %v", o.Answer.Score, o.Answer.Abstained)
		}
	}
	if a.Answerable.Values["score"] == 0 || a.Answerable.Values["cited"] == 0 {
		t.Errorf("nothing was answered: %+v", a.Answerable)
	}
}

// A judge grades what was answered; abstaining is graded by rule.
func TestAnswersAreGraded(t *testing.T) {
	g := obedient("on 4 March")
	r := runMini(t, func(c *eval.Config) {
		c.Answers, c.SkipBaselines, c.Judge, c.Options.Generator, c.Options.JudgeAnswers = true, true, g, g, true
	})
	a := r.Answers
	if a.Reader != "scripted" || a.Judge != "scripted" || a.Answerable.Values["graded"] != 1 {
		t.Errorf("answers: %+v", a)
	}
	if s := a.ByCategory["adversarial"]; s.Values["graded"] != 0 || s.Values["score"] != 0 {
		t.Errorf("an answer to an adversarial question passes: %+v", s)
	}
	wrong := memtest.NewResponder(func(llm.Request) string { return `{"grade":"wrong"}` })
	r = runMini(t, func(c *eval.Config) { c.Answers, c.SkipBaselines, c.Judge, c.Options.Generator = true, true, wrong, g })
	if s := r.Answers.Answerable; s.Values["graded"] != 0 {
		t.Errorf("the judge is not heard: %+v", s)
	}
	var b strings.Builder
	if err := r.WriteMarkdown(&b); err != nil || !strings.Contains(b.String(), "## Answers") || !strings.Contains(b.String(), "graded by scripted") {
		t.Errorf("%v:\n%s", err, b.String())
	}
	mute := memtest.NewResponder(func(llm.Request) string { return "I cannot say." })
	cfg := miniConfig(t)
	cfg.Answers, cfg.SkipBaselines, cfg.Judge, cfg.Options.Generator = true, true, mute, g
	var format *llm.FormatError
	if _, err := eval.Run(t.Context(), openStore(t), cfg); !errors.As(err, &format) {
		t.Errorf("a judge that says nothing: %v", err)
	}
}

// Mode model is repeatable from its tape: broken off, it goes on where it was,
// and played back it asks nobody and finds the same.
func TestModeModelResumesAndReplays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	errStop := errors.New("broken off")
	run := func(tape *replay.Tape, g llm.Generator) (*eval.Report, error) {
		t.Helper()
		meter := llm.NewMeter(nil)
		taped := meter.Generator(tape.Generator(g))
		extractor, err := model.New(taped, predicates.Default(), nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg := miniConfig(t)
		cfg.Mode, cfg.Answers, cfg.SkipBaselines, cfg.Judge, cfg.Usage = eval.Model, true, true, taped, meter.Lines
		cfg.Options.Extractor, cfg.Options.Generator = extractor, taped
		return eval.Run(t.Context(), openStore(t), cfg)
	}
	open := func(f func(string) (*replay.Tape, error)) *replay.Tape {
		t.Helper()
		tape, err := f(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tape.Close() })
		return tape
	}
	n := 0
	whole := obedient("on 4 March")
	limited := limit{whole, &n, 9, errStop}
	if _, err := run(open(replay.Resume), limited); !errors.Is(err, errStop) {
		t.Fatalf("error %v, want the broken-off one", err)
	}
	resumed := open(replay.Resume)
	first, err := run(resumed, whole)
	if err != nil {
		t.Fatal(err)
	}
	if played, asked := resumed.Counts(); played != 9 || asked == 0 {
		t.Errorf("resumed: %d played, %d asked", played, asked)
	}
	played := open(replay.Play)
	second, err := run(played, memtest.NewGenerator())
	if err != nil {
		t.Fatal(err)
	}
	if _, asked := played.Counts(); asked != 0 {
		t.Errorf("played back: %d asked", asked)
	}
	for _, r := range []*eval.Report{first, second} {
		if r.Protocol.Extractor != model.ID || r.Protocol.Mode != eval.Model || len(r.Usage) == 0 {
			t.Errorf("protocol %+v, usage %+v", r.Protocol, r.Usage)
		}
		for i := range r.Questions {
			r.Questions[i].Milliseconds = 0
		}
	}
	a, errA := json.Marshal([]any{first.Overall, first.Answers, first.Usage, first.Questions})
	b, errB := json.Marshal([]any{second.Overall, second.Answers, second.Usage, second.Questions})
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("a run and its replay differ:\n%s\n%s", a, b)
	}
	if _, err := eval.Run(t.Context(), openStore(t), eval.Config{Conversations: miniConfig(t).Conversations, Mode: eval.Model}); !errors.Is(err, eval.ErrNoModel) {
		t.Errorf("without a model: %v", err)
	}
}

// limit fails from the n-th question on, as a process that is stopped would.
type limit struct {
	llm.Generator
	n   *int
	max int
	err error
}

func (l limit) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	if *l.n++; *l.n > l.max {
		return llm.Response{}, l.err
	}
	return l.Generator.Generate(ctx, req)
}

// Intents by a model are counted by what they came to.
func TestIntentsByModelAreCounted(t *testing.T) {
	replies := []string{`{"predicate":"hobby","value":null,"scope":"any"}`, `{"predicate":null,"scope":"current"}`, `{"predicate":"drop_table","scope":"current"}`,
		`{"predicate":"location","value":"Atlantis","scope":"current"}`}
	n := -1
	g := memtest.NewResponder(func(llm.Request) string {
		n++ // each question is searched for twice: to the depth asked, and whole
		return replies[n/2%len(replies)]
	})
	r := runMini(t, func(c *eval.Config) {
		c.SkipBaselines, c.Options.Generator, c.Options.ModelIntent = true, g, true
	})
	m := r.Intents.Model
	if m == nil || m.Asked != len(r.Questions) || m.Validated != m.Asked-m.Asked/4 || m.Predicate != m.Asked/2 || m.Value != m.Asked/4 || m.Activated > m.Predicate {
		t.Errorf("%d questions: %+v", len(r.Questions), m)
	}
	if r := runMini(t, func(c *eval.Config) { c.SkipBaselines, c.Options.ModelIntent = true, true }); r.Intents.Model != nil {
		t.Errorf("no model was asked: %+v", r.Intents.Model)
	}
}
