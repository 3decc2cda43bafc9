package memtest_test

import (
	"errors"
	"math"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memtest"
)

func TestScriptedGenerator(t *testing.T) {
	boom := errors.New("boom")
	g := memtest.NewScript(memtest.Turn{Text: "a", Truncated: true}, memtest.Turn{Err: boom},
		memtest.Turn{Do: func(r llm.Request) string { return r.System }})
	g.Then("last")
	ask := func() (llm.Response, error) { return g.Generate(t.Context(), llm.Request{System: "sys"}) }
	if r, err := ask(); err != nil || r.Text != "a" || !r.Truncated || r.Usage != (llm.Usage{InputTokens: 3, OutputTokens: 1, Calls: 1}) {
		t.Errorf("%+v, error %v", r, err)
	}
	if r, err := ask(); !errors.Is(err, boom) || r.Usage.Calls != 1 {
		t.Errorf("%+v, error %v", r, err)
	}
	for _, want := range []string{"sys", "last"} {
		if r, err := ask(); err != nil || r.Text != want {
			t.Errorf("%+v, error %v", r, err)
		}
	}
	if _, err := ask(); !errors.Is(err, memtest.ErrScriptEnded) || len(g.Requests()) != 5 {
		t.Errorf("%d requests, error %v", len(g.Requests()), err)
	}
}

func TestScriptedEmbedder(t *testing.T) {
	e := memtest.NewEmbedder("m", 3)
	e.Set("up", 0, 2)
	v, err := e.Embed(t.Context(), []string{"up", "other", "other", "more"})
	if err != nil || v[0][1] != 1 || v[1][0] != v[2][0] || v[1][0] == v[3][0] || len(e.Texts()) != 4 {
		t.Errorf("%v, error %v", v, err)
	}
	for _, x := range v {
		if n := float64(x[0]*x[0] + x[1]*x[1] + x[2]*x[2]); math.Abs(n-1) > 1e-5 {
			t.Errorf("length %v", n)
		}
	}
	boom := errors.New("boom")
	e.Fail(boom)
	if _, err := e.Embed(t.Context(), []string{"x"}); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
}
