package sqlite

import (
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// A commit finds the traces that were left before it, though whoever had the
// writer connection gave it back without them, as release does when more are left
// while it writes.
func TestCommitFindsTraceLeftBeforeIt(t *testing.T) {
	s := openNew(t, nil)
	p := memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionUser, Name: "ada"}
	c := <-s.writer
	if err := s.PutTrace(t.Context(), memory.Trace{Partition: p.ID(), ID: "t", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	s.writer <- c
	err := s.Update(t.Context(), p, func(tx storage.Tx) error {
		_, err := tx.Trace(t.Context(), "t")
		return err
	})
	if err != nil {
		t.Errorf("the trace in a commit: %v", err)
	}
}
