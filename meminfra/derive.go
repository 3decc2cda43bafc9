package meminfra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Errors of Derive.
var (
	// ErrNoSources: a derived item needs at least one source.
	ErrNoSources = errors.New("no sources")
	// ErrKind: an unknown kind of item.
	ErrKind = errors.New("unknown kind")
)

// DeriveRequest asks to remember what follows from other items: a summary of
// them, an experience, a conclusion.
type DeriveRequest struct {
	UserID string
	From   []string // ids of the items that it is made of, all of them needed
	Text   string
	// Kind is summary if "".
	Kind     memory.Kind
	Metadata memory.Metadata
}

// DeriveResult is what Derive did.
type DeriveResult struct {
	ActionTaken
	Usage []llm.Line `json:"usage"`
}

// Derive writes an item made of others. It needs all of its sources, so it has
// the weakest authority among them, their evidence (as partial witnesses), and
// the origins of all of them; when one of them is superseded, ended or
// withdrawn, it is flagged stale. Errors: ErrNoUser, ErrNoSources, ErrNotFound,
// ErrNotCurrent for a source that is not active, ErrBlankMessage, ErrKind,
// ErrTooLong, ErrClosed.
func (c Curator) Derive(ctx context.Context, req DeriveRequest) (*DeriveResult, error) {
	ctx, tally := tallied(ctx, "derive", c.m.userPartition(req.UserID).ID())
	taken, err := c.derive(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("derive: %w", err)
	}
	return &DeriveResult{ActionTaken: *taken, Usage: tally.Lines()}, nil
}

func (c Curator) derive(ctx context.Context, req DeriveRequest) (*ActionTaken, error) {
	if err := c.checkDerive(&req); err != nil {
		return nil, err
	}
	rd, err := c.m.begin(ctx, req.UserID)
	if err != nil {
		return nil, err
	}
	partition := rd.Own()
	var out ActionTaken
	var fresh []memory.Item
	err = c.m.store.Update(ctx, partition, func(tx storage.Tx) error {
		sources, err := tx.Items(ctx, req.From)
		if err != nil {
			return err
		}
		sources = slices.DeleteFunc(sources, func(r storage.ItemRecord) bool { return !rd.Admits(&r.Item) })
		if len(sources) != len(req.From) {
			return ErrNotFound
		}
		w := c.m.ownerBatch(tx.Head())
		item, err := w.derived(tx, req, sources)
		if err != nil {
			return err
		}
		if err := w.write(ctx, tx, c.m.chainAt(tx.Head())); err != nil {
			return err
		}
		out = ActionTaken{Action: memory.ActionAdd, ItemID: item.ID, Text: item.Text, Reason: "derived", Guards: []string{}}
		fresh = []memory.Item{item}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.m.embedItems(ctx, partition, fresh)
	return &out, nil
}

func (c Curator) checkDerive(req *DeriveRequest) error {
	if _, err := c.m.partitionOf(req.UserID); err != nil {
		return err
	}
	req.From = slices.Clone(req.From)
	slices.Sort(req.From)
	req.From = slices.Compact(req.From)
	if len(req.From) == 0 {
		return ErrNoSources
	}
	for _, id := range req.From {
		if err := memory.CheckID("source", id); err != nil {
			return err
		}
	}
	switch req.Kind {
	case "":
		req.Kind = memory.KindSummary
	case memory.KindFact, memory.KindPreference, memory.KindEvent, memory.KindExperience, memory.KindSummary:
	default:
		return ErrKind
	}
	if memory.IsBlank(req.Text) {
		return ErrBlankMessage
	}
	if len(req.Text) > memory.MaxMessageBytes {
		return fmt.Errorf("text: %d bytes: %w", len(req.Text), ErrTooLong)
	}
	req.Text = memory.CleanText(req.Text)
	_, err := req.Metadata.Canonical()
	return err
}

// derived puts the item, its state and its evidence into the batch.
func (w *batch) derived(tx storage.Tx, req DeriveRequest, sources []storage.ItemRecord) (memory.Item, error) {
	item := memory.Item{
		Partition: w.partition, ID: w.newID(), Kind: req.Kind, Text: req.Text,
		Subject: memory.UserSubject, Polarity: memory.Positive, Authority: memory.Authorized,
		Scope: memory.Scope{UserID: req.UserID, Visibility: memory.VisibilityPrivate}, DerivedFrom: req.From,
		Stated: memory.Validity{From: w.now}, Metadata: req.Metadata, RecordedAt: w.now, Decision: w.newID(),
		Seq: tx.NextSeq(1), Change: w.change, Salt: newSalt(), Origins: unitedOrigins(sources),
	}
	item.Root = item.ID
	for i := range sources {
		if sources[i].Present().Status != memory.StatusActive {
			return item, ErrNotCurrent
		}
		item.Authority = min(item.Authority, sources[i].Authority)
		item.ExpiresAt = earlier(item.ExpiresAt, sources[i].ExpiresAt)
	}
	item.Text = extract.Attributed(namedIn(itemsOf(sources), item.Authority), item.Text)
	item.TextKey = textKey(item)
	w.addDecision(memory.Decision{ID: item.Decision, Operation: "derive", Action: memory.ActionAdd, ItemID: item.ID,
		Reason: "derived", Inputs: req.From})
	w.items = append(w.items, item)
	w.addState(memory.State{ItemID: item.ID, Status: memory.StatusActive, Valid: item.Stated, Reason: "derived", Decision: item.Decision})
	for _, e := range unitedEvidence(sources).numbered(item.ID, 0) {
		w.addEvidence(e, item.Decision)
	}
	return item, nil
}

// unitedEvidence lists the words that the sources rest on, each once, as parts
// of one witness: all of them are needed.
func unitedEvidence(sources []storage.ItemRecord) testimony {
	var list testimony
	seen := map[string]bool{}
	for i := range sources {
		for _, e := range neededOf(&sources[i]) {
			if id := statementID(&e, ""); !seen[id] {
				seen[id], e.Full = true, false
				list = append(list, e)
			}
		}
	}
	return list
}

// neededOf lists the words that an item rests on. Weaker echoes are none of them.
func neededOf(r *storage.ItemRecord) []memory.Evidence {
	var list []memory.Evidence
	for _, w := range testimonies(r.Evidence) {
		if w.authority() >= r.Authority && w.first.Polarity == r.Polarity {
			list = append(list, w.testimony...)
		}
	}
	return list
}

// namedIn lists whom those items name that have the given authority; none if it
// is the user's.
func namedIn(items []memory.Item, authority memory.Authority) []string {
	var list []string
	for i := range items {
		if naming, _ := extract.SplitAttribution(items[i].Text); items[i].Authority == authority && authority < memory.Authorized {
			list = append(list, extract.Voices(naming)...)
		}
	}
	return list
}

func itemsOf(list []storage.ItemRecord) []memory.Item {
	items := make([]memory.Item, len(list))
	for i := range list {
		items[i] = list[i].Item
	}
	return items
}

// unitedOrigins gives the item every origin of its sources: whoever may not
// see one of them may not see what was made of it.
func unitedOrigins(sources []storage.ItemRecord) []memory.Origin {
	var list []memory.Origin
	for i := range sources {
		list = append(list, sources[i].Origins...)
	}
	return memory.SortOrigins(list)
}

// earlier is the first of two expiries; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
