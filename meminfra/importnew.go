package meminfra

import (
	"context"
	"errors"
	"time"

	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// importNew adds the messages of an export as an Add does: see
// ImportRequest.AsNew.
type importNew struct {
	*MemoryLayer
	req       ImportRequest
	withdrawn map[claimed]bool // what the owner says never was so
	res       *ImportResult
}

// claimed is what two items say that say the same: a value, or else a text.
type claimed struct{ predicate, says string }

func claimOf(predicate, value, text string) claimed {
	if predicate != "" && value != "" {
		return claimed{predicate, memory.FoldName(value)}
	}
	return claimed{"", memory.NormalText(text)}
}

// asNew adds an export to whatever is there.
func (l Ledger) asNew(ctx context.Context, r *ledger.Reader, req ImportRequest) (*ImportResult, error) {
	content, err := r.Content(ctx, l.m.keys)
	if err != nil {
		return nil, err
	}
	n := &importNew{MemoryLayer: l.m, req: req, res: &ImportResult{UserID: req.UserID}}
	messages := n.sift(content)
	for done := 0; done < len(messages); {
		run := together(messages[done:])
		if err := n.add(ctx, run); err != nil {
			return n.res, err
		}
		done += len(run)
		if req.Progress != nil {
			req.Progress(int64(done), int64(len(messages)))
		}
	}
	return n.res, nil
}

// sift notes what was withdrawn and is said by no other item, and picks the
// messages that have not expired.
func (n *importNew) sift(c *ledger.Content) (messages []memory.Episode) {
	n.withdrawn = map[claimed]bool{}
	for _, i := range c.Items {
		if len(i.DerivedFrom) > 0 {
			n.res.LeftOut++
		} else if c.Present[i.ID].Status == memory.StatusWithdrawn {
			n.withdrawn[claimOf(i.Predicate, i.Value, i.Text)] = true
		}
	}
	for _, i := range c.Items {
		if c.Present[i.ID].Status != memory.StatusWithdrawn {
			delete(n.withdrawn, claimOf(i.Predicate, i.Value, i.Text))
		}
	}
	now := n.now()
	for _, e := range c.Episodes {
		if memory.Expired(e.ExpiresAt, now) {
			n.res.LeftOut++
		} else {
			messages = append(messages, e)
		}
	}
	return messages
}

// together are the first messages, as many as one Add takes.
func together(list []memory.Episode) []memory.Episode {
	type call struct{ conversation, session, agent string }
	of := func(e *memory.Episode) call { return call{e.ConversationID, e.SessionID, e.AgentID} }
	for i := range list {
		if i == memory.MaxMessages || of(&list[i]) != of(&list[0]) {
			return list[:i]
		}
	}
	return list
}

func (n *importNew) add(ctx context.Context, list []memory.Episode) error {
	first := &list[0]
	req := AddRequest{UserID: n.req.UserID, UserName: n.req.UserName, ConversationID: first.ConversationID,
		SessionID: first.SessionID, AgentID: first.AgentID, Messages: make([]Message, len(list))}
	for i, e := range list {
		req.Messages[i] = Message{ID: e.MessageID, Role: e.Role, Name: e.Speaker, Source: e.Source, Content: e.Content,
			SentAt: e.SentAt.In(time.FixedZone("", e.SentOffset)), Metadata: e.Metadata, ExpiresAt: e.ExpiresAt}
	}
	added, err := n.Add(ctx, req)
	if added == nil {
		return err
	}
	for _, e := range added.Episodes {
		if e.Known {
			n.res.Known++
		} else {
			n.res.Messages++
		}
	}
	return errors.Join(err, n.withdraw(ctx, added))
}

// withdraw takes back what was just learned anew and its owner had withdrawn.
func (n *importNew) withdraw(ctx context.Context, added *AddResult) error {
	for _, a := range added.Actions {
		fresh := a.Action == memory.ActionAdd || a.Action == memory.ActionSupersede
		if !fresh || !n.withdrawn[claimOf(a.Predicate, a.Value, a.Text)] {
			continue
		}
		_, err := n.Curate().Retract(ctx, RetractRequest{UserID: n.req.UserID, ID: a.ItemID})
		if err != nil && !errors.Is(err, ErrNotCurrent) {
			return err
		}
	}
	return nil
}
