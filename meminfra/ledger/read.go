package ledger

import (
	"context"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Content is what an export holds: its messages, its items, and what became of
// each.
type Content struct {
	Episodes []memory.Episode // in the order in which they were stored
	Items    []memory.Item
	Present  map[string]memory.State // by item: the last state
}

// Content reads the whole export and checks it as Import does, writing nothing.
// It holds all of it. Errors: *LineError.
func (x *Reader) Content(ctx context.Context, keys Keys) (*Content, error) {
	c := &collecting{content: &Content{Present: map[string]memory.State{}}}
	if _, err := Import(ctx, c, x, ImportOptions{Keys: keys}); err != nil {
		return nil, err
	}
	return c.content, nil
}

// collecting is a commit on an empty partition that keeps what is of interest
// and writes nothing. An import calls no other method.
type collecting struct {
	storage.Tx
	content *Content
}

func (c *collecting) Head() storage.Head { return storage.Head{} }
func (c *collecting) NextSeq(int) int64  { return 1 }

func (c *collecting) InsertEpisodes(_ context.Context, list []memory.Episode) error {
	c.content.Episodes = append(c.content.Episodes, list...)
	return nil
}

func (c *collecting) InsertItems(_ context.Context, list []memory.Item) error {
	c.content.Items = append(c.content.Items, list...)
	return nil
}

func (c *collecting) InsertStates(_ context.Context, list []memory.State) error {
	for _, s := range list {
		if c.content.Present[s.ItemID].N < s.N {
			c.content.Present[s.ItemID] = s
		}
	}
	return nil
}

func (c *collecting) InsertDecisions(context.Context, []memory.Decision) error    { return nil }
func (c *collecting) InsertEvidence(context.Context, []memory.Evidence) error     { return nil }
func (c *collecting) InsertConflicts(context.Context, []memory.Conflict) error    { return nil }
func (c *collecting) InsertFeedback(context.Context, []storage.Feedback) error    { return nil }
func (c *collecting) PutExtractions(context.Context, []memory.Extraction) error   { return nil }
func (c *collecting) AppendEntries(context.Context, []memory.Entry) error         { return nil }
func (c *collecting) PutConversation(context.Context, storage.Conversation) error { return nil }
func (c *collecting) CloseStates(context.Context, []string, time.Time) error      { return nil }
