package memtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

func TestClock(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	c := memtest.NewClock(start, time.Second)
	for i := range 3 {
		if got, want := c.Now(), start.Add(time.Duration(i)*time.Second); !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("now %v, want %v in UTC", got, want)
		}
	}
	c.Set(start)
	c.Advance(-time.Hour)
	if got := c.Now(); !got.Equal(start.Add(-time.Hour)) {
		t.Errorf("now %v after Set and Advance", got)
	}
}

func TestIDs(t *testing.T) {
	var ids memtest.IDs
	first, second := ids.NewID(), ids.NewID()
	if first != "00000000-0000-7000-8000-000000000001" || second <= first {
		t.Errorf("ids %s, %s", first, second)
	}
}

// nothing is a store that accepts all writes and keeps none.
type nothing struct{ storage.Store }

type nothingTx struct{ storage.Tx }

func (nothing) Update(_ context.Context, _ memory.Partition, fn func(storage.Tx) error) error {
	return fn(nothingTx{})
}
func (nothing) PutTrace(context.Context, memory.Trace) error { return nil }
func (nothing) Resolve(context.Context, storage.ResolveParams) (storage.Resolved, error) {
	return storage.Resolved{}, nil
}
func (nothingTx) InsertEpisodes(context.Context, []memory.Episode) error          { return nil }
func (nothingTx) CloseStates(context.Context, []string, time.Time) error          { return nil }
func (nothingTx) AppendEntries(context.Context, []memory.Entry) error             { return nil }
func (nothingTx) PutConversation(context.Context, storage.Conversation) error     { return nil }
func (nothingTx) PutIdempotency(context.Context, storage.IdempotencyRecord) error { return nil }

func TestFailingStoreBreaksEachWriteOnce(t *testing.T) {
	ctx := t.Context()
	work := func(s storage.Store) (reached int, err error) {
		steps := []func(storage.Tx) error{
			func(tx storage.Tx) error { return tx.PutConversation(ctx, storage.Conversation{}) },
			func(tx storage.Tx) error { return tx.InsertEpisodes(ctx, nil) },
			func(tx storage.Tx) error { return tx.CloseStates(ctx, nil, time.Time{}) },
			func(tx storage.Tx) error { return tx.AppendEntries(ctx, nil) },
		}
		err = s.Update(ctx, memory.Partition{}, func(tx storage.Tx) error {
			for _, step := range steps {
				if err := step(tx); err != nil {
					return err
				}
				reached++
			}
			return nil
		})
		if err == nil {
			reached++
			err = s.PutTrace(ctx, memory.Trace{})
		}
		return reached, err
	}
	boom := errors.New("boom")
	n := 1
	for ; ; n++ {
		s := memtest.NewFailingStore(nothing{}, n, boom)
		reached, err := work(s)
		if !s.Failed() {
			if err != nil {
				t.Errorf("nothing was broken and the error is %v", err)
			}
			break
		}
		if !errors.Is(err, boom) || reached != n-1 || s.Writes() != n {
			t.Errorf("write %d: error %v after %d writes of %d", n, err, reached, s.Writes())
		}
	}
	if n != 7 { // four writes, the commit, the trace
		t.Errorf("broke %d writes, want 6", n-1)
	}
}
