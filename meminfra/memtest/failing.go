package memtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// ErrBroken is the error of a FailingStore.
var ErrBroken = errors.New("broken on purpose")

// FailingStore is a store whose n-th write fails before it reaches the store
// beneath. Writes are the writing methods of storage.Tx, each end of an Update
// whose function succeeded (the commit), each trace, AddUsage, Scrub,
// Prune and PruneShown, counted over all calls.
// A test that loops over n until Failed is false has broken every write once:
//
//	for n := 1; ; n++ {
//		store := memtest.NewFailingStore(inner, n, nil)
//		err := work(store)
//		if !store.Failed() {
//			break // err must be nil
//		}
//		// err must be the fault; nothing half-written is left
//	}
type FailingStore struct {
	storage.Store

	mu     sync.Mutex
	at     int
	err    error
	writes int
}

// NewFailingStore wraps a store. n counts from 1; 0 never fails, so that
// Writes can count. A nil err means ErrBroken.
func NewFailingStore(store storage.Store, n int, err error) *FailingStore {
	if err == nil {
		err = ErrBroken
	}
	return &FailingStore{Store: store, at: n, err: err}
}

// Writes returns how many writes there were, the failed one included.
func (s *FailingStore) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Failed reports whether the n-th write was reached.
func (s *FailingStore) Failed() bool { return s.at > 0 && s.Writes() >= s.at }

// write counts a write and returns the error if it is the one to fail.
func (s *FailingStore) write() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.writes == s.at {
		return s.err
	}
	return nil
}

// Update implements storage.Store.
func (s *FailingStore) Update(ctx context.Context, p memory.Partition, fn func(storage.Tx) error) error {
	return s.Store.Update(ctx, p, func(t storage.Tx) error {
		if err := fn(&failingTx{t, s}); err != nil {
			return err
		}
		return s.write()
	})
}

// PutTrace implements storage.Store.
func (s *FailingStore) PutTrace(ctx context.Context, t memory.Trace) error {
	if err := s.write(); err != nil {
		return err
	}
	return s.Store.PutTrace(ctx, t)
}

// AddUsage implements storage.Store.
func (s *FailingStore) AddUsage(ctx context.Context, list []memory.Usage) error {
	if err := s.write(); err != nil {
		return err
	}
	return s.Store.AddUsage(ctx, list)
}

// Scrub implements storage.Cleaner.
func (s *FailingStore) Scrub(ctx context.Context) (int, error) {
	if err := s.write(); err != nil {
		return 0, err
	}
	return s.Store.Scrub(ctx)
}

// Prune implements storage.Cleaner.
func (s *FailingStore) Prune(ctx context.Context, before time.Time) (int, error) {
	if err := s.write(); err != nil {
		return 0, err
	}
	return s.Store.Prune(ctx, before)
}

// PruneShown implements storage.Cleaner.
func (s *FailingStore) PruneShown(ctx context.Context, owners []string) (int, error) {
	if err := s.write(); err != nil {
		return 0, err
	}
	return s.Store.PruneShown(ctx, owners)
}

// Resolve implements storage.Store; its trace is a write.
func (s *FailingStore) Resolve(ctx context.Context, p storage.ResolveParams) (storage.Resolved, error) {
	var broken error
	if p.Trace != nil {
		if broken = s.write(); broken != nil {
			p.Trace = nil
		}
	}
	out, err := s.Store.Resolve(ctx, p)
	if broken != nil {
		out.TraceErr = broken
	}
	return out, err
}

type failingTx struct {
	storage.Tx
	store *FailingStore
}

// try makes one write of a list or value.
func try[T any](ctx context.Context, t *failingTx, write func(context.Context, T) error, v T) error {
	if err := t.store.write(); err != nil {
		return err
	}
	return write(ctx, v)
}

func (t *failingTx) PutConversation(ctx context.Context, c storage.Conversation) error {
	return try(ctx, t, t.Tx.PutConversation, c)
}

func (t *failingTx) PutSummary(ctx context.Context, conversation, summary string, seq int64) error {
	if err := t.store.write(); err != nil {
		return err
	}
	return t.Tx.PutSummary(ctx, conversation, summary, seq)
}

func (t *failingTx) InsertEpisodes(ctx context.Context, list []memory.Episode) error {
	return try(ctx, t, t.Tx.InsertEpisodes, list)
}

func (t *failingTx) PutExtractions(ctx context.Context, list []memory.Extraction) error {
	return try(ctx, t, t.Tx.PutExtractions, list)
}

func (t *failingTx) InsertDecisions(ctx context.Context, list []memory.Decision) error {
	return try(ctx, t, t.Tx.InsertDecisions, list)
}

func (t *failingTx) InsertItems(ctx context.Context, list []memory.Item) error {
	return try(ctx, t, t.Tx.InsertItems, list)
}

func (t *failingTx) CloseStates(ctx context.Context, itemIDs []string, at time.Time) error {
	if err := t.store.write(); err != nil {
		return err
	}
	return t.Tx.CloseStates(ctx, itemIDs, at)
}

func (t *failingTx) InsertStates(ctx context.Context, list []memory.State) error {
	return try(ctx, t, t.Tx.InsertStates, list)
}

func (t *failingTx) InsertEvidence(ctx context.Context, list []memory.Evidence) error {
	return try(ctx, t, t.Tx.InsertEvidence, list)
}

func (t *failingTx) InsertConflicts(ctx context.Context, list []memory.Conflict) error {
	return try(ctx, t, t.Tx.InsertConflicts, list)
}

func (t *failingTx) PutEmbeddings(ctx context.Context, list []memory.Embedding) error {
	return try(ctx, t, t.Tx.PutEmbeddings, list)
}

func (t *failingTx) InsertGrants(ctx context.Context, list []memory.Grant) error {
	return try(ctx, t, t.Tx.InsertGrants, list)
}

func (t *failingTx) InsertFeedback(ctx context.Context, list []storage.Feedback) error {
	return try(ctx, t, t.Tx.InsertFeedback, list)
}

func (t *failingTx) InsertCredits(ctx context.Context, list []storage.Credit) error {
	return try(ctx, t, t.Tx.InsertCredits, list)
}

func (t *failingTx) PutConfirmation(ctx context.Context, c storage.Confirmation, expired time.Time) error {
	if err := t.store.write(); err != nil {
		return err
	}
	return t.Tx.PutConfirmation(ctx, c, expired)
}

func (t *failingTx) UseConfirmation(ctx context.Context, id string, at time.Time) (bool, error) {
	if err := t.store.write(); err != nil {
		return false, err
	}
	return t.Tx.UseConfirmation(ctx, id, at)
}

func (t *failingTx) PutIdempotency(ctx context.Context, r storage.IdempotencyRecord) error {
	return try(ctx, t, t.Tx.PutIdempotency, r)
}

func (t *failingTx) AppendEntries(ctx context.Context, list []memory.Entry) error {
	return try(ctx, t, t.Tx.AppendEntries, list)
}

func (t *failingTx) Erase(ctx context.Context, e storage.Erasure) (storage.Erased, error) {
	if err := t.store.write(); err != nil {
		return storage.Erased{}, err
	}
	return t.Tx.Erase(ctx, e)
}
