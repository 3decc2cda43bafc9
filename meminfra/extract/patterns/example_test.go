package patterns_test

import (
	"context"
	"fmt"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/extract/patterns"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

func ExampleExtractor_Extract() {
	e, err := patterns.New(predicates.Default())
	if err != nil {
		panic(err)
	}
	out, err := e.Extract(context.Background(), extract.Input{Target: []extract.Message{{
		Episode: memory.Episode{
			Role:    memory.RoleUser,
			Content: "Should I learn Rust? I switched from MySQL to Postgres, and I no longer use Vim.",
			SentAt:  time.Date(2026, 5, 13, 12, 0, 0, 0, time.UTC),
		},
		Speaks: memory.UserSubject,
	}}})
	if err != nil {
		panic(err)
	}
	for _, c := range out.Candidates {
		fmt.Println(c.Polarity, c.Predicate, c.Value, "|", c.Quote)
	}
	// Output:
	// 1 database_preference PostgreSQL | I switched from MySQL to Postgres
	// -1 editor_preference Vim | I no longer use Vim
}
