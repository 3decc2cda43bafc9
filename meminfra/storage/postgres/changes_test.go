package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// A commit comes after the vectors and before the rows, which wait for a table that
// it holds: all is read again, and the vectors are those of the rows.
func TestVectorsOfTheRows(t *testing.T) {
	url := migrated(t)
	s := open(t, url)
	err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
		return tx.PutEmbeddings(t.Context(), []memory.Embedding{{OwnerKind: memory.OwnerEpisode, OwnerID: "before", Model: "m", Vector: []float32{1}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = conn.Exec(ctx, `BEGIN; LOCK TABLE episode IN ACCESS EXCLUSIVE MODE; UPDATE partition SET change = 2;
INSERT INTO embedding SELECT partition, owner_kind, 'after', part, model, dim, vector, 2 FROM embedding`)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	var got []string
	c, err := s.Changes(ctx, storage.ChangesParams{Partition: ada.ID(), Model: "m", Vectors: func(change int64, n int) func(*memory.Embedding) error {
		if change == 1 {
			if _, err := conn.Exec(ctx, `COMMIT`); err != nil {
				t.Error(err)
			}
		}
		seen, got = append(seen, fmt.Sprint(change, " ", n)), nil
		return func(e *memory.Embedding) error { got = append(got, e.OwnerID); return nil }
	}})
	slices.Sort(got)
	if err != nil || c.Head.Change != 2 || fmt.Sprint(seen) != "[1 1 2 2]" || fmt.Sprint(got) != "[after before]" {
		t.Errorf("vectors %v of %v under %+v (%v)", got, seen, c.Head, err)
	}
}
