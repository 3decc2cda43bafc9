package replay_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/replay"
	"github.com/meminfra/memory-layer/meminfra/memtest"
)

func TestRecordAndPlay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	ask := func(g llm.Generator, text string) (llm.Response, error) {
		return g.Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: text}}})
	}
	tape, err := replay.Record(path)
	if err != nil {
		t.Fatal(err)
	}
	g, e := tape.Generator(memtest.NewGenerator("one", "two", "again")), tape.Embedder(memtest.NewEmbedder("m", 4))
	var replies []llm.Response
	for _, q := range []string{"a", "b", "a"} {
		r, err := ask(g, q)
		if err != nil {
			t.Fatal(err)
		}
		replies = append(replies, r)
	}
	if _, err := ask(g, "c"); !errors.Is(err, memtest.ErrScriptEnded) {
		t.Error("an error of the model must come through")
	}
	vectors, err := e.Embed(t.Context(), []string{"x", "y"})
	if err != nil || tape.Close() != nil {
		t.Fatal(err)
	}

	tape, err = replay.Play(path)
	if err != nil {
		t.Fatal(err)
	}
	nobody := memtest.NewGenerator()
	g, e = tape.Generator(nobody), tape.Embedder(memtest.NewEmbedder("m", 4))
	for i, q := range []string{"a", "b", "a", "a"} {
		if r, err := ask(g, q); err != nil || r != replies[min(i, 2)] {
			t.Errorf("%s: %+v, error %v", q, r, err)
		}
	}
	if got, err := e.Embed(t.Context(), []string{"x", "y"}); err != nil || !reflect.DeepEqual(got, vectors) {
		t.Errorf("%v, error %v", got, err)
	}
	if _, err := ask(g, "c"); !errors.Is(err, replay.ErrNotRecorded) {
		t.Errorf("error %v", err)
	}
	if _, err := e.Embed(t.Context(), []string{"y"}); !errors.Is(err, replay.ErrNotRecorded) {
		t.Errorf("error %v", err)
	}
	if _, err := tape.Embedder(memtest.NewEmbedder("other", 4)).Embed(t.Context(), []string{"x", "y"}); !errors.Is(err, replay.ErrNotRecorded) {
		t.Errorf("another model's vectors: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Generate(ctx, llm.Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if len(nobody.Requests()) != 0 {
		t.Error("the model was asked while playing back")
	}
}

// A run that is broken off, even in the middle of a line, goes on where it was.
func TestResumeAsksOnlyWhatIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	ask := func(g llm.Generator, text string) string {
		r, err := g.Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: text}}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Text
	}
	run := func(script []string, questions ...string) (answers []string, played, asked int) {
		tape, err := replay.Resume(path)
		if err != nil {
			t.Fatal(err)
		}
		g := tape.Generator(memtest.NewGenerator(script...))
		for _, q := range questions {
			answers = append(answers, ask(g, q))
		}
		played, asked = tape.Counts()
		if err := tape.Close(); err != nil {
			t.Fatal(err)
		}
		return answers, played, asked
	}
	if got, played, asked := run([]string{"one", "two"}, "a", "b"); !reflect.DeepEqual(got, []string{"one", "two"}) || played != 0 || asked != 2 {
		t.Errorf("%v, played %d, asked %d", got, played, asked)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"key":"cut off in the mid`); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if got, played, asked := run([]string{"three", "four"}, "a", "b", "a", "c"); !reflect.DeepEqual(got, []string{"one", "two", "three", "four"}) || played != 2 || asked != 2 {
		t.Errorf("%v, played %d, asked %d", got, played, asked)
	}
	if got, played, asked := run(nil, "a", "a", "b", "c"); !reflect.DeepEqual(got, []string{"one", "three", "two", "four"}) || played != 4 || asked != 0 {
		t.Errorf("%v, played %d, asked %d", got, played, asked)
	}
}

func TestTapeIsPrivateAndChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	tape, err := replay.Record(path)
	if err != nil || tape.Close() != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("{}\nnot JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := replay.Play(path); err == nil {
		t.Error("a damaged tape was taken")
	}
}
