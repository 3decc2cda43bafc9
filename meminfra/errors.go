package meminfra

import (
	"errors"
	"fmt"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Errors a caller can act on, for errors.Is. Every error names the verb that
// failed; none holds memory text.
var (
	// ErrNoUser: the request names no user. It never means everybody.
	ErrNoUser = errors.New("no user id")
	// ErrBlankQuery: the query says nothing.
	ErrBlankQuery = retrieve.ErrBlankQuery
	// ErrLimit: a negative limit.
	ErrLimit = retrieve.ErrLimit
	// ErrFilter: an unknown field or operator, or a value of the wrong type.
	ErrFilter = retrieve.ErrFilter
	// ErrCursor: a cursor that no page returned.
	ErrCursor = errors.New("invalid cursor")
	// ErrNoMessages: an Add without messages.
	ErrNoMessages = errors.New("no messages")
	// ErrBlankMessage: a message that says nothing; nothing of the call was stored.
	ErrBlankMessage = errors.New("blank message")
	// ErrTooLong: a text is over its documented limit.
	ErrTooLong = memory.ErrTooLong
	// ErrTooMany: more messages than one call may hold.
	ErrTooMany = errors.New("too many messages")
	// ErrMessageConflict: a message id was used before with other content.
	ErrMessageConflict = errors.New("message id reused with other content")
	// ErrKeyReused: an idempotency key was used before with another body.
	ErrKeyReused = errors.New("idempotency key reused with another request")
	// ErrExpiry: an expiry that is no moment.
	ErrExpiry = errors.New("malformed expiry")
	// ErrNotFound: the user has no such memory.
	ErrNotFound = storage.ErrNotFound
	// ErrClosed: the memory layer was closed.
	ErrClosed = storage.ErrClosed
)

// ExtractionError says that messages are stored but what they say could not be
// worked out; nothing was remembered of them yet, and of the call's others all.
// The next Add on the conversation takes them up again. It comes with a non-nil
// AddResult. Its text, and that of Err, repeats nothing of a message or a prompt.
type ExtractionError struct {
	EpisodeIDs []string // those that wait
	// Abandoned are those of them that could not be read in three attempts, so
	// that no Add tries again, but Reprocess does.
	Abandoned []string
	// Err is the cause for errors.Is and errors.As.
	Err     error
	untried bool // some of them were not tried: the fault is not theirs
}

func (e *ExtractionError) Error() string {
	return fmt.Sprintf("extraction of %d stored messages failed: %v", len(e.EpisodeIDs), e.Err)
}

func (e *ExtractionError) Unwrap() error { return e.Err }
