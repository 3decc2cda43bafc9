package meminfra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// ReprocessRequest asks to extract what waits.
type ReprocessRequest struct {
	UserID string
	// ConversationID narrows it to one conversation; "" is all of the user's.
	ConversationID string
	// TeamID and Public take up what the user added there, instead of his own.
	TeamID string
	Public bool
	// UserName is what the user is called, if messages carry names.
	UserName string
	// Upgrade also takes up what another extractor dealt with and the present
	// one has not seen: built in first, a model later. Nothing is undone;
	// what is said again is a NOOP, what is new is added.
	Upgrade bool
	// TakeOver also takes up what another call has begun and not finished: after a
	// crash, instead of waiting until its lease is over. A call that is still at it
	// finds its messages done and doubles nothing.
	TakeOver bool
}

// ReprocessResult is what it did.
type ReprocessResult struct {
	Episodes   int           `json:"episodes"` // taken up
	Actions    []ActionTaken `json:"actions"`
	Rejections []Rejection   `json:"rejections"`
	Degraded   []string      `json:"degraded"`
	Usage      []llm.Line    `json:"usage"`
}

// reprocessBatch is how many messages are taken up in one commit.
const reprocessBatch = 200

// Reprocess extracts the messages whose extraction failed or was interrupted,
// in order, batch by batch, as far as the user may read them; what is done stays
// done if it stops half-way, and the next call goes on. A message that cannot be
// read is tried once and stops nothing; an extractor that cannot tell about any
// does. What another call has begun is left to it, unless TakeOver, and is a line
// in Degraded. Errors: ErrNoUser, ErrNotMember, ErrClosed, *ExtractionError with a
// non-nil result, and those of the store. Source: design section 5.
func (c Curator) Reprocess(ctx context.Context, req ReprocessRequest) (*ReprocessResult, error) {
	if _, err := c.m.partitionOf(req.UserID); err != nil {
		return nil, fmt.Errorf("reprocess: %w", err)
	}
	out := &ReprocessResult{Actions: []ActionTaken{}, Rejections: []Rejection{}, Degraded: []string{}}
	ctx, tally := tallied(ctx, "reprocess", c.m.userPartition(req.UserID).ID())
	defer func() { out.Usage = tally.Lines() }()
	var unread *ExtractionError
	for {
		a := c.m.newAddition(AddRequest{UserID: req.UserID, UserName: req.UserName, ConversationID: req.ConversationID,
			TeamID: req.TeamID, Public: req.Public})
		a.upgrade, a.takeOver = req.Upgrade, req.TakeOver
		if unread != nil {
			a.skip = unread.EpisodeIDs
		}
		err := a.takeUp(ctx)
		out.Episodes += len(a.target)
		out.Actions = append(out.Actions, a.result.Actions...)
		out.Rejections = append(out.Rejections, a.result.Rejections...)
		out.Degraded = append(out.Degraded, a.result.Degraded...)
		var failed *ExtractionError
		switch {
		case errors.As(err, &failed):
			if unread = unread.and(failed); failed.untried {
				return out, fmt.Errorf("reprocess: %w", unread)
			}
		case err != nil:
			return out, fmt.Errorf("reprocess: %w", err)
		case len(a.target) > 0:
		case unread != nil:
			return out, fmt.Errorf("reprocess: %w", unread)
		default:
			return out, nil
		}
	}
}

// takeLimit is how many waiting messages are read for a batch: all of them, where
// some may not be the caller's to take up.
func (a *addition) takeLimit() int {
	if a.shared() || !a.reading.Rights.Open() {
		return 0
	}
	return reprocessBatch
}

// everyLease is after how long every lease is over, though the clock of who took
// it be ahead.
const everyLease = leaseTime + 24*time.Hour

// takeUp leases the next batch of waiting messages, of one conversation, and
// finishes them.
func (a *addition) takeUp(ctx context.Context) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	err := a.update(ctx, func(ctx context.Context, tx storage.Tx) error {
		now := a.now()
		if a.takeOver {
			now = now.Add(everyLease)
		}
		waiting, err := a.unextracted(ctx, tx, storage.UnextractedParams{Now: now, Unseen: a.upgrade, Limit: a.takeLimit()})
		if err != nil {
			return err
		}
		waiting = waiting[:min(len(waiting), reprocessBatch)]
		if len(waiting) == 0 {
			return a.noteBegun(ctx, tx)
		}
		a.target = slices.DeleteFunc(waiting, func(e memory.Episode) bool {
			return e.ConversationID != waiting[0].ConversationID
		})
		return a.lease(ctx, tx, a.target)
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	if err != nil {
		return err
	}
	return a.work(ctx)
}

// unextracted reads what waits and is the caller's.
func (a *addition) unextracted(ctx context.Context, tx storage.Tx, p storage.UnextractedParams) ([]memory.Episode, error) {
	p.Conversation, p.Extractor, p.Skip = a.req.ConversationID, a.extractor.ID(), a.skip
	list, err := tx.Unextracted(ctx, p)
	return slices.DeleteFunc(list, func(e memory.Episode) bool { return !a.mine(&e) }), err
}

// noteBegun says in the result what another call has under way; there is nothing
// else to do.
func (a *addition) noteBegun(ctx context.Context, tx storage.Tx) error {
	begun, err := a.unextracted(ctx, tx, storage.UnextractedParams{Now: a.now().Add(everyLease)})
	if err != nil {
		return err
	}
	if len(begun) > 0 {
		a.degraded(fmt.Sprintf("%d messages are left to the call that began with them, for at most %d minutes, unless they are taken over",
			len(begun), int(leaseTime.Minutes())))
	}
	return errNothing
}
