package model_test

import (
	"context"
	"fmt"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/extract/model"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/predicates"
)

func Example() {
	scripted := memtest.NewGenerator(`{"memories":[{"kind":"fact","text":"The user lives in Oslo.","subject_type":"speaker",
		"predicate":"location","value":"Oslo","message":"m1","quote":"I live in Oslo"}]}`)
	meter := llm.NewMeter(nil)
	gen := llm.Policy{}.Generator(meter.Generator(scripted))
	e, err := model.New(gen, predicates.Default(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := e.Extract(context.Background(), extract.Input{Target: []extract.Message{{
		Episode: memory.Episode{ID: "e1", Role: memory.RoleUser, Content: "Hello! I live in Oslo."}, Speaks: memory.UserSubject}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := out.Candidates[0]
	fmt.Println(c.Predicate, c.Value, c.EpisodeID, c.Start, meter.Lines()[0].Calls)
	// Output: location Oslo e1 7 1
}
