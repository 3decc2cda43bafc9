package storage

import (
	"context"
	"errors"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// ErrUnreadable: a stored row is not what this program writes, in type or in
// form. It goes to the function that streams the row, whose key alone is set.
var ErrUnreadable = errors.New("unreadable row")

// PartitionRow is a partition's row with its readable names, of which Name is
// empty once its owner was erased.
type PartitionRow struct {
	Head
	Named memory.Partition
}

// Snapshot is one consistent reading of a whole partition, to verify or export
// it. The Each methods stream all rows of one kind, in no order that is
// promised but for entries, which come by Seq; fn must not use the Snapshot
// then, except in EachEntry. They stop at fn's first error and return it. What
// is read is strict: a row that reads the same but is stored in another form
// comes with ErrUnreadable.
type Snapshot interface {
	// Row is the partition's row; only its id is set if there is none.
	Row() PartitionRow

	EachEntry(ctx context.Context, after int64, fn func(memory.Entry, error) error) error
	EachEpisode(ctx context.Context, fn func(memory.Episode, error) error) error
	EachItem(ctx context.Context, fn func(ItemRow, error) error) error
	EachState(ctx context.Context, fn func(memory.State, error) error) error // FactKey is empty
	EachEvidence(ctx context.Context, fn func(memory.Evidence, error) error) error
	EachConflict(ctx context.Context, fn func(memory.Conflict, error) error) error
	EachDecision(ctx context.Context, fn func(memory.Decision, error) error) error
	EachGrant(ctx context.Context, fn func(GrantRow, error) error) error
	EachFeedback(ctx context.Context, fn func(Feedback, error) error) error
	// EachExtraction streams extraction rows by episode and extractor.
	EachExtraction(ctx context.Context, fn func(memory.Extraction, error) error) error
	// Strays returns the ids of items that sources or origins are recorded of
	// but that do not exist, and of those with a state under another fact key
	// hash than their own.
	Strays(ctx context.Context) ([]string, error)

	// Episodes, Items, Decisions and Feedback are those of Reader, in the snapshot.
	Episodes(ctx context.Context, ids []string) ([]memory.Episode, error)
	Items(ctx context.Context, ids []string) ([]ItemRecord, error)
	Decisions(ctx context.Context, ids []string) ([]memory.Decision, error)
	Feedback(ctx context.Context, ids []string) ([]Feedback, error)
}

// GrantRow is a grant event with the team's partition under which it is found,
// as stored.
type GrantRow struct {
	memory.Grant
	TeamPartition string
}

// ItemRow is an item with its sources and origins, and the two hashes under
// which it is found, as stored.
type ItemRow struct {
	memory.Item
	TextHash    []byte
	FactKeyHash []byte // nil for open-world items
}
