package storagetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var commitTests = []test{
	{name: "numbers are gapless over rollbacks", run: commitNumbers},
	{name: "an error undoes all and comes back as it is", run: commitError},
	{name: "a panic undoes all and goes on", run: commitPanic},
	{name: "a failed write cannot be committed", run: commitPoisoned},
	{name: "a cancelled context writes nothing", run: commitCancelled},
	{name: "eight writers of one partition", run: commitWriters},
	{name: "partitions do not wait for each other", run: commitApart, not: OneWriter},
	{name: "readers see whole commits", run: commitSnapshot},
	{name: "waiting ends with the context", run: commitWait},
	{name: "a closed store says so", run: closed},
	{name: "a description without credentials", run: description},
}

func commitNumbers(t *testing.T, s storage.Store) {
	boom := errors.New("boom")
	for round := int64(1); round <= 3; round++ {
		commit(t, s, ada, func(tx storage.Tx) error {
			same(t, "head", tx.Head(), storage.Head{Partition: ada.ID(), Change: round, Seq: 3 * (round - 1)})
			same(t, "first of two", tx.NextSeq(2), 3*round-2)
			same(t, "next", tx.NextSeq(1), 3*round)
			same(t, "of none", tx.NextSeq(0), 3*round+1)
			same(t, "head stays as of the start", tx.Head().Seq, 3*(round-1))
			return nil
		})
		err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
			same(t, "change", tx.Head().Change, round+1)
			same(t, "seq", tx.NextSeq(5), 3*round+1)
			return boom
		})
		wantErr(t, "rolled back", err, boom)
	}
	same(t, "head", head(t, s, ada), storage.Head{Partition: ada.ID(), Change: 3, Seq: 9})
}

// writeSome writes into several tables.
func writeSome(ctx context.Context, tx storage.Tx) error {
	if err := tx.InsertEpisodes(ctx, []memory.Episode{newEpisode(tx, "e1", "c1", "m1")}); err != nil {
		return err
	}
	if err := tx.AppendEntries(ctx, []memory.Entry{newEntry(ada, 1)}); err != nil {
		return err
	}
	_, _, err := insertItem(ctx, tx, "i1", nil)
	return err
}

// wantNothing checks that ada's partition is as if it never was.
func wantNothing(t *testing.T, s storage.Store) {
	t.Helper()
	all, err := s.Heads(t.Context(), ada.ID())
	check(t, err)
	same(t, "heads", len(all), 0)
	same(t, "changes", changes(t, s, ada, 0), storage.Changes{Head: storage.Head{Partition: ada.ID()}})
	commit(t, s, ada, func(tx storage.Tx) error { return writeSome(t.Context(), tx) }) // nothing is locked or in the way
}

func commitError(t *testing.T, s storage.Store) {
	boom := fmt.Errorf("boom: %w", errors.New("inner"))
	err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
		check(t, writeSome(t.Context(), tx))
		return boom
	})
	if err != boom {
		t.Errorf("error %v, want the function's own", err)
	}
	wantNothing(t, s)
}

func commitPanic(t *testing.T, s storage.Store) {
	func() {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("recovered %v, want boom", r)
			}
		}()
		_ = s.Update(t.Context(), ada, func(tx storage.Tx) error {
			check(t, writeSome(t.Context(), tx))
			panic("boom")
		})
	}()
	wantNothing(t, s)
}

func commitPoisoned(t *testing.T, s storage.Store) {
	err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
		check(t, writeSome(t.Context(), tx))
		e := newEpisode(tx, "e1", "c1", "m1")
		wantErr(t, "twice", tx.InsertEpisodes(t.Context(), []memory.Episode{e}), storage.ErrConflict)
		return nil // forgets the error
	})
	wantErr(t, "commit", err, storage.ErrConflict)
	wantNothing(t, s)
}

func commitCancelled(t *testing.T, s storage.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Update(ctx, ada, func(tx storage.Tx) error {
		check(t, writeSome(ctx, tx))
		cancel()
		return nil
	})
	wantErr(t, "cancelled at the end", err, context.Canceled)
	called := false
	err = s.Update(ctx, ada, func(tx storage.Tx) error { called = true; return nil })
	wantErr(t, "cancelled before", err, context.Canceled)
	if called {
		t.Error("the function ran under a cancelled context")
	}
	ctx, cancel = context.WithCancel(t.Context())
	err = s.Update(ctx, ada, func(tx storage.Tx) error {
		cancel()
		return writeSome(ctx, tx)
	})
	wantErr(t, "cancelled within", err, context.Canceled)
	_, err = s.Heads(ctx, ada.ID())
	wantErr(t, "a read", err, context.Canceled)
	wantNothing(t, s)
}

func commitWriters(t *testing.T, s storage.Store) {
	const writers, each = 8, 15
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
					id := fmt.Sprintf("e%d-%d", w, i)
					if err := tx.InsertEpisodes(t.Context(), []memory.Episode{newEpisode(tx, id, "c", id)}); err != nil {
						return err
					}
					entry := newEntry(ada, tx.Head().LedgerSeq+1)
					return tx.AppendEntries(t.Context(), []memory.Entry{entry})
				})
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	wg.Wait()
	const total = writers * each
	same(t, "head", head(t, s, ada), storage.Head{Partition: ada.ID(), Change: total, Seq: total, LedgerSeq: total, LedgerHead: newEntry(ada, total).Hash})
	rows := changes(t, s, ada, 0).Episodes
	same(t, "episodes", len(rows), total)
	for i, e := range rows {
		same(t, "seq and change", [2]int64{e.Seq, e.Change}, [2]int64{int64(i + 1), int64(i + 1)})
	}
}

func commitApart(t *testing.T, s storage.Store) {
	commit(t, s, ada, func(storage.Tx) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- s.Update(ctx, bob, func(storage.Tx) error { return nil }) }()
		if err := <-done; err != nil {
			t.Errorf("another partition's writer: %v", err)
		}
		return nil
	})
}

func commitSnapshot(t *testing.T, s storage.Store) {
	putItem(t, s, ada, "i0", nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 1; i <= 40; i++ {
			err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
				id := fmt.Sprint("e", i)
				if err := tx.InsertEpisodes(t.Context(), []memory.Episode{newEpisode(tx, id, "c", id)}); err != nil {
					return err
				}
				_, _, err := insertItem(t.Context(), tx, fmt.Sprint("i", i), nil)
				return err
			})
			if err != nil {
				t.Errorf("writer: %v", err)
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		c := changes(t, s, ada, 0)
		same(t, "episodes and items of one moment", [2]int{len(c.Episodes), len(c.Items)}, [2]int{int(c.Head.Change) - 1, int(c.Head.Change)})
		for _, item := range c.Items {
			same(t, "states", len(item.States), 1)
		}
	}
}

func commitWait(t *testing.T, s storage.Store) {
	commit(t, s, ada, func(storage.Tx) error {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- s.Update(ctx, ada, func(storage.Tx) error { return errors.New("it ran") }) }()
		select {
		case err := <-done:
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, storage.ErrBusy) {
				t.Errorf("error %v, want the deadline's or busy", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("still waiting long after the deadline")
		}
		return nil
	})
	same(t, "change", head(t, s, ada).Change, int64(1))
}

func closed(t *testing.T, s storage.Store) {
	putEpisodes(t, s, ada, 1)
	check(t, s.Close())
	check(t, s.Close())
	ctx, p := t.Context(), ada.ID()
	calls := map[string]func() error{
		"Update":   func() error { return s.Update(ctx, ada, func(storage.Tx) error { return nil }) },
		"PutTrace": func() error { return s.PutTrace(ctx, memory.Trace{Partition: p, ID: "t", Kind: "search", At: at(1)}) },
		"Heads":    func() error { _, err := s.Heads(ctx, p); return err },
		"Changes":  func() error { _, err := s.Changes(ctx, storage.ChangesParams{Partition: p}); return err },
		"Embeddings": func() error {
			return s.Embeddings(ctx, storage.EmbeddingsParams{Partition: p, Episodes: []string{"e1"}}, nil)
		},
		"Items":     func() error { _, err := s.Items(ctx, p, []string{"i"}); return err },
		"Line":      func() error { _, err := s.Line(ctx, p, "i"); return err },
		"Episodes":  func() error { _, err := s.Episodes(ctx, p, []string{"e1"}); return err },
		"Decisions": func() error { _, err := s.Decisions(ctx, p, []string{"d"}); return err },
		"Trace":     func() error { _, err := s.Trace(ctx, p, "t"); return err },
		"Grants":    func() error { _, err := s.Grants(ctx, p, storage.GrantParams{}); return err },
		"Entries":   func() error { return s.Entries(ctx, p, 0, func(memory.Entry) error { return nil }) },
	}
	for name, call := range calls {
		wantErr(t, name, call(), storage.ErrClosed)
	}
}

func description(t *testing.T, s storage.Store) {
	d := s.Describe()
	if d == "" || strings.Contains(d, "@") {
		t.Errorf("description %q: want one without credentials", d)
	}
}
