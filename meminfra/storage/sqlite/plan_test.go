package sqlite

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// TestNoQueryWalksThePartition calls what takes ids or keys, and asks SQLite how
// it would run each statement that was prepared by it. None may read all rows
// of a partition, or of a table, to find a few.
func TestNoQueryWalksThePartition(t *testing.T) {
	ctx := t.Context()
	s := openNew(t, &Options{Readers: 1})
	p := memory.Partition{Tenant: "t", Kind: memory.PartitionUser, Name: "ada"}
	id, ids := p.ID(), []string{"a", "b"}
	check := func(errs ...error) {
		for _, err := range errs {
			if err != nil && err != storage.ErrNotFound {
				t.Fatal(err)
			}
		}
	}
	err := s.Update(ctx, p, func(tx storage.Tx) error {
		_, e1 := tx.EpisodesByMessage(ctx, "c", ids)
		_, e2 := tx.Sessions(ctx, "c", time.Now(), time.Now())
		_, e3 := tx.Unextracted(ctx, storage.UnextractedParams{Conversation: "c", Extractor: "x", Now: time.Now()})
		_, e4 := tx.Extractions(ctx, "x", ids)
		_, e5 := tx.ItemsByFactKey(ctx, ids)
		_, e6 := tx.ItemsByText(ctx, ids)
		_, e7 := tx.Items(ctx, ids)
		_, e8 := tx.Idempotency(ctx, "k")
		check(e1, e2, e3, e4, e5, e6, e7, e8)
		return tx.CloseStates(ctx, ids, time.Now())
	})
	check(err, s.PutTrace(ctx, memory.Trace{Partition: id, ID: "t", At: time.Now()}))
	check(s.Update(ctx, p, func(storage.Tx) error { return nil }))

	_, e1 := s.Changes(ctx, storage.ChangesParams{Partition: id, Since: 1, Model: "m"})
	_, e2 := s.Items(ctx, id, ids)
	_, e3 := s.Line(ctx, id, "a")
	_, e4 := s.Episodes(ctx, id, ids)
	_, e5 := s.Decisions(ctx, id, ids)
	_, e6 := s.Trace(ctx, id, "t")
	_, e7 := s.entries(ctx, id, 1, 2)
	_, e8 := s.Grants(ctx, id, storage.GrantParams{Kind: memory.GrantUserAgent, Left: "a"})
	_, e9 := s.Grants(ctx, id, storage.GrantParams{Kind: memory.GrantUserAgent, Right: "a"})
	e10 := s.Embeddings(ctx, storage.EmbeddingsParams{Partition: id, Model: "m", Items: ids, Episodes: ids}, func(*memory.Embedding) error { return nil })
	check(e1, e2, e3, e4, e5, e6, e7, e8, e9, e10)

	for _, pool := range []chan *conn{s.writer, s.readers} {
		check(s.with(ctx, pool, func(c *conn) error {
			for _, query := range slices.Collect(maps.Keys(c.statements)) { // explain adds its own
				if strings.HasPrefix(query, "BEGIN") || query == "COMMIT" || query == "ROLLBACK" {
					continue
				}
				for _, line := range explain(t, c, query) {
					walks := strings.HasSuffix(line, "(partition=?)") || strings.HasSuffix(line, "(partition=? AND model=?)") || strings.HasPrefix(line, "SCAN ") && !strings.Contains(line, " VIRTUAL TABLE ") && line != "SCAN selected"
					if walks && !strings.Contains(line, "INDEX sqlite_autoindex_partition_1") {
						t.Errorf("%s\n  in: %s", line, query)
					}
				}
			}
			return nil
		}))
	}
}

var parameter = regexp.MustCompile(`\?\d*`)

func explain(t *testing.T, c *conn, query string) (lines []string) {
	t.Helper()
	query = "EXPLAIN QUERY PLAN " + parameter.ReplaceAllString(query, "'x'")
	err := c.each(t.Context(), query, nil, func(row scanner) error {
		var id, parent, unused int
		var line string
		err := row.Scan(&id, &parent, &unused, &line)
		lines = append(lines, line)
		return err
	})
	if err != nil {
		t.Fatal(err, query)
	}
	return lines
}
