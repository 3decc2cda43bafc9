package sqlite

import (
	"fmt"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// The second connection sees what was committed after the first began, or there is
// none: the vectors are those of the rows either way.
func TestVectorsOfTheRows(t *testing.T) {
	for _, readers := range []int{1, 2} {
		t.Run(fmt.Sprint(readers, " connections"), func(t *testing.T) {
			ctx := t.Context()
			s := openNew(t, &Options{Readers: readers})
			p := memory.Partition{Tenant: "t", Kind: memory.PartitionUser, Name: "ada"}
			put := func(id string) error {
				return s.Update(ctx, p, func(tx storage.Tx) error {
					return tx.PutEmbeddings(ctx, []memory.Embedding{{OwnerKind: memory.OwnerEpisode, OwnerID: id, Model: "m", Vector: []float32{1}}})
				})
			}
			if err := put("before"); err != nil {
				t.Fatal(err)
			}
			var at []int64
			var got []string
			q := storage.ChangesParams{Partition: p.ID(), Model: "m", Vectors: func(change int64, n int) func(*memory.Embedding) error {
				at, got = append(at, change), nil
				return func(e *memory.Embedding) error { got = append(got, e.OwnerID); return nil }
			}}
			err := s.view(ctx, func(c *conn) error {
				heads, err := readHeads(ctx, c, p.ID())
				if err != nil {
					return err
				}
				if err := put("after"); err != nil {
					return err
				}
				return s.whole(ctx, &changes{c: c, p: q, out: &storage.Changes{Head: heads[p.ID()]}})
			})
			if err != nil || fmt.Sprint(at, got) != "[1] [before]" {
				t.Errorf("vectors %v at %v (%v)", got, at, err)
			}
		})
	}
}
