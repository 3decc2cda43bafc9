// Package storage is the contract between the services and a SQL store: small
// role interfaces, their parameters and sentinels. Two adapters implement it,
// postgres and sqlite; storagetest proves both with one suite.
//
// SQL is the truth. A commit begins by taking its partition's row (the lock is
// a row), which hands out the next change number; everything written in it
// carries that number, and a derived index that has seen the number has seen
// the commit. Nothing here decides anything: services decide, stores keep.
package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Sentinels of the stores.
var (
	// ErrNotFound: no such row in that partition.
	ErrNotFound = errors.New("not found")
	// ErrBusy: another process holds the database; nothing was written.
	ErrBusy = errors.New("the database is locked by another process")
	// ErrUnreachable: the server does not answer. Nothing was written, unless the
	// error says that it happened at the commit, whose outcome is then unknown.
	ErrUnreachable = errors.New("the database server is unreachable")
	// ErrSchema: the database's schema is not the one this program needs.
	// Wrapped in a *SchemaError.
	ErrSchema = errors.New("schema mismatch")
	// ErrConflict: a constraint refused the commit; nothing was written.
	ErrConflict = errors.New("conflicting write")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
)

// SchemaError names both schema versions: what the database has and what this
// program needs. Have 0 is an empty database.
type SchemaError struct {
	Have, Want uint
	Dirty      bool // a migration to Have stopped half-way
}

func (e *SchemaError) Error() string {
	switch {
	case e.Dirty:
		return fmt.Sprintf("schema version %d was left half-applied: restore a backup or repair it by hand, then run migrate", e.Have)
	case e.Have > e.Want:
		return fmt.Sprintf("the database has schema %d and this program knows up to %d: use a newer program", e.Have, e.Want)
	}
	return fmt.Sprintf("the database has schema %d and this program needs %d: run migrate", e.Have, e.Want)
}

func (e *SchemaError) Unwrap() error { return ErrSchema }

// Store is one database.
type Store interface {
	Reader
	// Update runs fn in one transaction that holds the partition's row: it
	// makes the row if there is none, raises its change number by one and
	// commits what fn wrote, or nothing if fn returns an error (which Update
	// returns as it is). fn must not use the Store itself and may be run only
	// once. Errors: ErrBusy, ErrUnreachable, ErrConflict, ErrClosed.
	Update(ctx context.Context, p memory.Partition, fn func(Tx) error) error
	// PutTrace appends a trace; it takes no partition lock and changes no
	// change number. It also drops traces older than memory.TraceRetention
	// now and then. Trace finds it from then on. A trace may be lost in a crash
	// that comes within a second of it; a commit is not.
	PutTrace(ctx context.Context, t memory.Trace) error
	// Resolve reads the rows of a partition that a search is about to hand out,
	// as one snapshot, and appends the trace of it, if there is one, as PutTrace
	// does: in the same round trip where there are round trips. A trace that
	// cannot be written is no error of reading, but Resolved.TraceErr.
	Resolve(ctx context.Context, p ResolveParams) (Resolved, error)
	// AddUsage adds to what operations used of models on their days; like a
	// trace it takes no partition lock and changes no change number.
	AddUsage(ctx context.Context, list []memory.Usage) error
	// Describe names the store for people, without credentials, for example
	// "sqlite:/home/ada/memory.db" or "postgres://db.example:5432/app".
	Describe() string
	Close() error
	Cleaner
}

// Reader is what can be read outside a commit. Each call sees one snapshot.
type Reader interface {
	// Heads returns the heads of those partitions that exist, by id.
	Heads(ctx context.Context, partitions ...string) (map[string]Head, error)
	// Opening returns, as one snapshot in one round trip, what a read begins with:
	// the heads of the partitions that exist, and the grants that say whom the
	// user may read.
	Opening(ctx context.Context, p OpeningParams) (Opening, error)
	// Partitions returns the rows of a tenant's partitions, by id, those whose
	// owners were erased included.
	Partitions(ctx context.Context, tenant string) ([]PartitionRow, error)
	// Snapshot runs fn on one consistent reading of a partition, which ends
	// with it. Writers go on meanwhile.
	Snapshot(ctx context.Context, partition string, fn func(Snapshot) error) error
	// Changes returns every index row of the partition that was written after
	// the change number since, or got a new state, new evidence, credit or an embedding of
	// the given model after it, with the head they were read at, as one snapshot. since 0
	// means all. Embeddings are those of the given model for every row
	// returned, whenever they were written. If rows were erased after since, Reset is
	// all it returns beside the head: what an index has to forget is not known.
	Changes(ctx context.Context, p ChangesParams) (Changes, error)
	// Embeddings calls fn with each embedding of the model, all parts, that those
	// items and episodes have, once each, in no order. They are looked up one by one:
	// ask for some hundred, or for all. The embedding and its Vector are fn's until
	// it returns; the texts stay. It stops at fn's first error and returns it.
	Embeddings(ctx context.Context, p EmbeddingsParams, fn func(*memory.Embedding) error) error
	// Items returns the records of those ids that exist, in the order asked.
	Items(ctx context.Context, partition string, ids []string) ([]ItemRecord, error)
	// ItemsByValue returns the items with one of those value identities, by Seq.
	ItemsByValue(ctx context.Context, partition string, valueIDs []string) ([]ItemRecord, error)
	// Line returns the whole version line (all items with the same fact key;
	// for open-world items the same root) of an item, oldest Seq first.
	// Errors: ErrNotFound.
	Line(ctx context.Context, partition, itemID string) ([]ItemRecord, error)
	// Episodes returns the episodes of those ids that exist, in the order asked.
	Episodes(ctx context.Context, partition string, ids []string) ([]memory.Episode, error)
	// Turns returns episodes of one conversation by Seq.
	Turns(ctx context.Context, partition string, p TurnsParams) ([]memory.Episode, error)
	// Conversation returns a conversation's row. Errors: ErrNotFound.
	Conversation(ctx context.Context, partition, id string) (Conversation, error)
	// Decisions returns the decisions of those ids that exist, in the order asked.
	Decisions(ctx context.Context, partition string, ids []string) ([]memory.Decision, error)
	// Trace returns a trace with its items by rank. Errors: ErrNotFound.
	Trace(ctx context.Context, partition, id string) (memory.Trace, error)
	// Usage returns what the partition used on that day (midnight UTC) and
	// after it, by day, operation and model.
	Usage(ctx context.Context, partition string, since time.Time) ([]memory.Usage, error)
	// FirstShown returns when each of those items and episodes was first shown, by
	// the partition's traces since a moment; those that were not are left out.
	FirstShown(ctx context.Context, partition string, since time.Time, owners []string) (map[string]time.Time, error)
	// HandedOut returns what the partition's traces since a moment handed out,
	// those that handed out nothing left out, oldest first.
	HandedOut(ctx context.Context, partition string, since time.Time) ([]Handed, error)
	// Grants returns all grant events of the tenant-directory partition that
	// touch the given left id, or right id, by (At, Change, ID).
	Grants(ctx context.Context, partition string, p GrantParams) ([]memory.Grant, error)
	// Entries streams ledger entries with sequence numbers after the given
	// one, in order; it stops at fn's first error and returns it.
	Entries(ctx context.Context, partition string, after int64, fn func(memory.Entry) error) error
}

// Tx is a commit under the partition's lock. Reads see the commit's own writes.
type Tx interface {
	Eraser
	// Head is the partition's head with this commit's change number; Seq and
	// ledger fields are as of its start.
	Head() Head
	// NextSeq reserves n consecutive sequence numbers and returns the first.
	NextSeq(n int) int64

	// Idempotency returns what was recorded under a key. Errors: ErrNotFound.
	Idempotency(ctx context.Context, key string) (IdempotencyRecord, error)
	// EpisodesByMessage returns the conversation's episodes with those message ids.
	EpisodesByMessage(ctx context.Context, conversation string, messageIDs []string) ([]memory.Episode, error)
	// Sessions returns what each session of the conversation covers of [from,
	// to], by its first SentAt in it.
	Sessions(ctx context.Context, conversation string, from, to time.Time) ([]SessionSpan, error)
	// Recent returns the last n episodes of the conversation below a sequence
	// number, by Seq; 0 is no bound.
	Recent(ctx context.Context, conversation string, below int64, n int) ([]memory.Episode, error)
	// Unextracted returns episodes that wait for an extractor, by Seq.
	Unextracted(ctx context.Context, p UnextractedParams) ([]memory.Episode, error)
	// Extractions returns the extraction rows of those episodes.
	Extractions(ctx context.Context, extractor string, episodeIDs []string) ([]memory.Extraction, error)
	// ItemsByFactKey returns all items with one of those fact keys, by Seq.
	ItemsByFactKey(ctx context.Context, keys []string) ([]ItemRecord, error)
	// ItemsByText returns all items with one of those text keys, by Seq.
	ItemsByText(ctx context.Context, textKeys []string) ([]ItemRecord, error)
	// Grants is Reader.Grants within the commit.
	Grants(ctx context.Context, p GrantParams) ([]memory.Grant, error)
	// Items is Reader.Items within the commit, and Line is Reader.Line.
	Items(ctx context.Context, ids []string) ([]ItemRecord, error)
	Line(ctx context.Context, itemID string) ([]ItemRecord, error)
	// ItemsByValue is Reader.ItemsByValue within the commit.
	ItemsByValue(ctx context.Context, valueIDs []string) ([]ItemRecord, error)
	// Trace is Reader.Trace within the commit: no erasure takes it meanwhile.
	Trace(ctx context.Context, id string) (memory.Trace, error)
	// Feedback returns what was given to a trace under a key. Errors: ErrNotFound.
	Feedback(ctx context.Context, traceID, key string) (Feedback, error)
	// Confirmation returns a confirmation that was asked for. Errors: ErrNotFound.
	Confirmation(ctx context.Context, id string) (Confirmation, error)

	// PutConversation makes a conversation's row or moves its UpdatedAt; its
	// summary stays as it is.
	PutConversation(ctx context.Context, c Conversation) error
	// PutSummary replaces the rolling summary of a conversation, which covers its
	// episodes up to the sequence number; "" and 0 take it away. A conversation
	// without a row has none.
	PutSummary(ctx context.Context, conversation, summary string, seq int64) error
	InsertEpisodes(ctx context.Context, list []memory.Episode) error
	PutExtractions(ctx context.Context, list []memory.Extraction) error // insert or replace
	InsertDecisions(ctx context.Context, list []memory.Decision) error
	InsertItems(ctx context.Context, list []memory.Item) error // with sources and origins
	// CloseStates sets SystemTo of the open state of each item; do it before
	// inserting the state that follows.
	CloseStates(ctx context.Context, itemIDs []string, at time.Time) error
	InsertStates(ctx context.Context, list []memory.State) error
	InsertEvidence(ctx context.Context, list []memory.Evidence) error
	InsertConflicts(ctx context.Context, list []memory.Conflict) error
	PutEmbeddings(ctx context.Context, list []memory.Embedding) error // insert or replace
	InsertGrants(ctx context.Context, list []memory.Grant) error
	InsertFeedback(ctx context.Context, list []Feedback) error
	// InsertCredits says for which items feedback was given.
	InsertCredits(ctx context.Context, list []Credit) error
	// PutConfirmation adds a confirmation, and drops those that expired before a
	// moment.
	PutConfirmation(ctx context.Context, c Confirmation, expired time.Time) error
	// UseConfirmation marks a confirmation as used; false if it was already.
	UseConfirmation(ctx context.Context, id string, at time.Time) (bool, error)
	PutIdempotency(ctx context.Context, r IdempotencyRecord) error
	// AppendEntries appends ledger entries and moves the partition's ledger
	// head to the last one.
	AppendEntries(ctx context.Context, list []memory.Entry) error
}

// Head is a partition's row: its counters.
type Head struct {
	Partition  string
	Change     int64  // number of the last commit
	Seq        int64  // last sequence number handed out
	Erased     int64  // change number of the last erasure: an index older than it is rebuilt
	LedgerSeq  int64  // last ledger entry, 0 for none
	LedgerHead []byte // its hash
}

// OpeningParams names who reads, and where.
type OpeningParams struct {
	Partitions []string
	Directory  string // the tenant-directory partition
	UserID     string
}

// Opening is what a read begins with. Heads are those of the partitions asked
// for and of the teams in Grants, which are the events of the user's agents, of
// those agents' resources, and of the user's teams, by (At, Change, ID).
type Opening struct {
	Heads  map[string]Head
	Grants []memory.Grant
}

// ChangesParams asks for index rows.
type ChangesParams struct {
	Partition string
	Since     int64
	Model     string // embedding model

	// Rows, if set, is given all but the embeddings where these are still being
	// read, for what can be done without them. What Changes returns counts: under
	// another Head it is all anew.
	Rows func(Changes)

	// Vectors, if set, begins to take the embeddings one by one, in place of
	// Changes.Embeddings; it is ignored unless Since is 0. It is told the change
	// number at which they stand and how many come at most, 0 included. What it
	// returns is called with one at a time: before Rows, beside it or after it. The
	// embedding and its Vector are the callee's until it returns; the texts stay. An
	// error of the callee ends Changes, which returns it. Vectors may be called again
	// to begin anew; the last call is at the Head that Changes returns.
	Vectors func(change int64, n int) func(*memory.Embedding) error
}

// EmbeddingsParams names the owners of embeddings of one model.
type EmbeddingsParams struct {
	Partition string
	Model     string
	All       bool // whatever Items and Episodes say
	Items     []string
	Episodes  []string
}

// UnextractedParams asks for episodes that wait for an extractor: those whose
// row is pending or failed, with no lease running at Now.
type UnextractedParams struct {
	Conversation string // "" is all of them
	Extractor    string
	Now          time.Time
	Unseen       bool // also those without a row for the extractor
	// MaxUnread leaves out those that could not be read that often; 0 is no bound.
	MaxUnread int
	Skip      []string // episodes to leave out
	Limit     int      // 0 is no limit
}

// Changes is what an index needs to catch up. What no index needs is left out:
// salts, hashes, reasons and decisions, of episodes MessageID, SentOffset and
// Estimated, of items Value, Vague, Supersedes, Root, Confidence, Shareable,
// Contributor, and of Scope all but UserID and AgentID, of states HoldsSlot and Cause.
type Changes struct {
	Head       Head
	Reset      bool               // since is older than the last erasure: ask for all
	Episodes   []memory.Episode   // by Seq
	Items      []ItemStates       // by Seq
	Embeddings []memory.Embedding // of the rows above, all parts, in no order
}

// ItemStates is an item with all its states by N.
type ItemStates struct {
	memory.Item
	States []memory.State
	// Sources are the episodes of the item's evidence, in the order in which it
	// came, and Conversation is that of the first.
	Sources      []string
	Conversation string
	Counters
}

// ResolveParams names rows, and the trace to append, nil for none.
type ResolveParams struct {
	Partition string
	Items     []string
	Episodes  []string
	Trace     *memory.Trace
}

// Resolved are the rows of those ids that exist, in the order asked.
type Resolved struct {
	Items    []ItemRecord
	Episodes []memory.Episode
	TraceErr error // of writing the trace
}

// ItemRecord is an item with everything said about it.
type ItemRecord struct {
	memory.Item
	States    []memory.State // by N; the last one is the present belief
	Evidence  []EvidenceRecord
	Conflicts []memory.Conflict // those that name it on either side
}

// Sort puts what is said about the item in the order in which it is returned.
func (r *ItemRecord) Sort() {
	slices.SortFunc(r.States, func(a, b memory.State) int { return cmp.Compare(a.N, b.N) })
	slices.SortFunc(r.Evidence, func(a, b EvidenceRecord) int { return cmp.Compare(a.N, b.N) })
	slices.SortFunc(r.Conflicts, func(a, b memory.Conflict) int {
		return cmp.Or(cmp.Compare(a.ItemID, b.ItemID), cmp.Compare(a.OtherID, b.OtherID))
	})
	slices.Sort(r.DerivedFrom)
	if len(r.Origins) > 1 {
		r.Origins = memory.SortOrigins(r.Origins)
	}
}

// Present is the state believed now.
func (r ItemRecord) Present() memory.State {
	if len(r.States) == 0 {
		return memory.State{}
	}
	return r.States[len(r.States)-1]
}

// EvidenceRecord is evidence with what the fold needs of its episode.
type EvidenceRecord struct {
	memory.Evidence
	MessageID      string
	ConversationID string
	AgentID        string
	ResourceID     string // the episode's Source
	SentAt         time.Time
	EpisodeSeq     int64
	ExpiresAt      time.Time // of the episode
}

// Conversation is a conversation's row.
type Conversation struct {
	Partition string
	ID        string
	CreatedAt time.Time
	UpdatedAt time.Time
	// Summary is of its episodes up to SummarySeq; "" for none. It is derived
	// from them, no evidence and never searched.
	Summary    string
	SummarySeq int64
}

// TurnsParams asks for the episodes of a conversation with After < Seq < Below,
// the first Limit of them.
type TurnsParams struct {
	Conversation string
	After        int64
	Below        int64 // 0 is no bound
	Limit        int
}

// SessionSpan is the stretch of time that a session covers.
type SessionSpan struct {
	SessionID   string
	First, Last time.Time
}

// IdempotencyRecord remembers a finished call by ids only.
type IdempotencyRecord struct {
	Partition string
	Key       string
	Body      []byte // SHA-256 of the request
	Result    string // canonical JSON of ids
	At        time.Time
}

// Handed are the keys of the sentences that one trace handed out: Trace.Handed.
type Handed struct {
	At   time.Time
	Keys []byte
}

// Feedback is one reward given to a trace, in [-1,1].
type Feedback struct {
	Partition string
	ID        string
	TraceID   string
	Reward    float64
	Key       string // idempotency key, "" for none
	At        time.Time
	Change    int64
	Salt      []byte
}

// Credit is the reward that an item got with one feedback.
type Credit struct {
	FeedbackID string
	ItemID     string
	Reward     float64
}

// Counters sum an item's credits: what was given for it, what against it, as
// positive numbers, and how often.
type Counters struct {
	Successes, Failures float64
	Uses                int
}

// Confirmation lets one call pass once. It holds hashes only.
type Confirmation struct {
	Partition string
	ID        string
	TokenHash []byte
	CallHash  []byte
	At        time.Time
	ExpiresAt time.Time
	UsedAt    time.Time // zero for not yet
}

// GrantParams selects grant events; empty fields match all.
type GrantParams struct {
	Kind        memory.GrantKind
	Left, Right string
}
