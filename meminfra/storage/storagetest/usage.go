package storagetest

import (
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var usageTests = []test{
	{name: "adds up by day, operation and model", run: usageSums},
	{name: "no lock and no change number", run: usageApart},
	{name: "from two sides at once", run: usageAtOnce},
}

func used(p memory.Partition, day int, operation, model string, calls int64) memory.Usage {
	return memory.Usage{Partition: p.ID(), Day: memory.Day(at(0)).AddDate(0, 0, day), Operation: operation, Model: model,
		Calls: calls, InputTokens: 10 * calls, OutputTokens: 100 * calls}
}

func usageSums(t *testing.T, s storage.Store) {
	check(t, s.AddUsage(t.Context(), nil))
	check(t, s.AddUsage(t.Context(), []memory.Usage{used(ada, 1, "embed", "v", 1), used(ada, 0, "extract", "m", 1), used(bob, 0, "extract", "m", 1)}))
	check(t, s.AddUsage(t.Context(), []memory.Usage{used(ada, 0, "extract", "m", 2), used(ada, 0, "extract", "", 1), used(ada, 0, "answer", "m", 1)}))
	got, err := s.Usage(t.Context(), ada.ID(), time.Time{})
	check(t, err)
	same(t, "all", got, []memory.Usage{used(ada, 0, "answer", "m", 1), used(ada, 0, "extract", "", 1), used(ada, 0, "extract", "m", 3), used(ada, 1, "embed", "v", 1)})
	got, err = s.Usage(t.Context(), ada.ID(), memory.Day(at(0)).AddDate(0, 0, 1))
	check(t, err)
	same(t, "since", got, []memory.Usage{used(ada, 1, "embed", "v", 1)})
	got, err = s.Usage(t.Context(), bob.ID(), memory.Day(at(0)))
	check(t, err)
	same(t, "another partition's", got, []memory.Usage{used(bob, 0, "extract", "m", 1)})
}

func usageApart(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 1)
	before := head(t, s, ada)
	check(t, s.AddUsage(t.Context(), []memory.Usage{used(ada, 0, "extract", "m", 1)}))
	same(t, "head", head(t, s, ada), before)
}

func usageAtOnce(t *testing.T, s storage.Store) {
	const sides, each = 4, 25
	done := make(chan error, sides)
	for range sides {
		go func() {
			for range each {
				if err := s.AddUsage(t.Context(), []memory.Usage{used(ada, 0, "extract", "m", 1)}); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range sides {
		check(t, <-done)
	}
	got, err := s.Usage(t.Context(), ada.ID(), time.Time{})
	check(t, err)
	same(t, "sum", got, []memory.Usage{used(ada, 0, "extract", "m", sides*each)})
}
