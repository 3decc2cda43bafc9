package storage

import (
	"context"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Eraser is the part of a commit that does away with rows for good. What to
// erase is decided by its caller; the store sees to it that nothing hangs in
// the air: what belongs to an erased row alone goes with it.
type Eraser interface {
	// Episodes is Reader.Episodes within the commit.
	Episodes(ctx context.Context, ids []string) ([]memory.Episode, error)
	// Entries streams the partition's ledger as it was when the commit began:
	// the entries made at one of those moments, all of them if at is nil. fn must
	// not use the commit.
	Entries(ctx context.Context, at []time.Time, fn func(memory.Entry) error) error
	// Bearing returns what names one of those items or episodes.
	Bearing(ctx context.Context, items, episodes []string) (Bearing, error)
	// Contributed returns the ids of the partition's items and episodes that a user
	// told, each in order.
	Contributed(ctx context.Context, userID string) (items, episodes []string, err error)
	// Erase deletes rows, sets the partition's Erased to this commit's change
	// number, and notes the erasure as pending until Scrub has been done.
	Erase(ctx context.Context, e Erasure) (Erased, error)
}

// Micros are moments as the stores keep them, nil for nil.
func Micros(at []time.Time) []int64 {
	if at == nil {
		return nil
	}
	list := make([]int64, len(at))
	for i, t := range at {
		list[i] = memory.Micros(t)
	}
	return list
}

// Erasure names the rows to erase. An item takes along its states, evidence,
// conflicts, derivations, origins and vectors; an episode the evidence that
// cites it, its extraction rows and its vectors, and its conversation if it
// was the last one; a trace its items and feedback. A decision that a row left
// behind refers to stays.
type Erasure struct {
	ID string // of the note that it is pending
	At time.Time
	// All erases everything in the partition and empties its name. What stays
	// is the row with its counters, and its ledger.
	All bool

	Items, Episodes, Decisions, Traces, Keys, Grants []string
}

// Summaries counts, among the rows of an erasure, the summaries of
// conversations that lost a message and stay.
const Summaries = "summary"

// Erased is what an erasure deleted.
type Erased struct {
	Rows map[string]int // by table, and Summaries; those without any are left out
	// Covered names the rows among them that the ledger covers, by kind and id,
	// without digests.
	Covered []memory.Object
}

// Bearing is what names certain items and episodes.
type Bearing struct {
	// Items with evidence in one of the episodes, made of one of the items, or
	// a later version of one.
	Items []string
	// Decisions about one of them.
	Decisions []memory.Decision
	Traces    []string // that show one of them
	// Receipts are all idempotency records of the partition: ids are somewhere
	// in their results.
	Receipts []IdempotencyRecord
}

// Cleaner is the part of a store that tidies whole databases.
type Cleaner interface {
	// Scrub makes what erased rows left behind in the database's files
	// unreadable, as far as the store can, and returns how many erasures are
	// still pending: those of which a reader or a lack of rights keeps something
	// alive. It does nothing if none is. It may take as long as copying the
	// database.
	Scrub(ctx context.Context) (pending int, err error)
	// Pending returns how many erasures wait for Scrub.
	Pending(ctx context.Context) (int, error)
	// Due returns the partitions that hold a row which has expired at now.
	Due(ctx context.Context, now time.Time) ([]memory.Partition, error)
	// Prune drops traces written before a moment, and those that name a row
	// which is gone, in all partitions, and returns how many.
	Prune(ctx context.Context, before time.Time) (int, error)
	// PruneShown drops the traces, in all partitions, that showed one of those
	// items or episodes of a shared partition, and returns how many.
	PruneShown(ctx context.Context, owners []string) (int, error)
	// Audit counts what is wrong in the whole database, findings of nothing left
	// out. It reads every table.
	Audit(ctx context.Context, p AuditParams) ([]Finding, error)
	// Residue says in a sentence what of an erased row may outlive Scrub.
	Residue() string
}

// Topic is what an audit's finding is about.
type Topic string

// The topics of an audit.
const (
	TopicOrphans     Topic = "orphans"     // rows without their partners
	TopicVectors     Topic = "vectors"     // missing, or of another model
	TopicExtractions Topic = "extractions" // unfinished
	TopicErasures    Topic = "erasures"    // unfinished
	TopicExpired     Topic = "expired"     // not swept yet
)

// Finding is a count of rows that should not be there, or not be so.
type Finding struct {
	Topic Topic
	What  string
	Count int
}

// AuditParams says what is right: the embedding model, and the time.
type AuditParams struct {
	Model string
	Now   time.Time
}
