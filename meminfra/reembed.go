package meminfra

import (
	"context"
	"errors"
	"fmt"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// ReembedRequest asks for the vectors that are missing.
type ReembedRequest struct {
	UserID string
	// TeamID and Public are the memory of a team, whose member the user is, or
	// everybody's, in place of the user's own: the vectors of all that is there,
	// whoever told it.
	TeamID string
	Public bool
	// Progress is told how many of how many texts have their vector; nil is not.
	Progress func(done, total int)
}

// ReembedResult is what it did.
type ReembedResult struct {
	Model    string     `json:"model"`
	Texts    int        `json:"texts"`    // that had no vector of the model
	Embedded int        `json:"embedded"` // that have one now
	Usage    []llm.Line `json:"usage"`
}

// reembedBatch is how many texts are embedded and committed at a time.
const reembedBatch = 128

// missing is a row without a vector of the present model.
type missing struct {
	owner memory.OwnerKind
	id    string
	text  string
}

// Reembed makes the vectors of the present embedder's model for everything of
// the user's that has none: after a change of model, or an embedder that was
// down. What is done stays done if it stops half-way, and the next call goes on.
// Vectors of other models stay where they are and are never compared with these.
// A text in which the model finds nothing gets none, and is not asked about again.
// Errors: ErrNoUser, ErrNotMember, ErrTwoScopes, ErrClosed, and those of the
// embedder and the store. Source: design section 7; wild fault A14.
func (c Curator) Reembed(ctx context.Context, req ReembedRequest) (*ReembedResult, error) {
	p, err := c.m.reembedded(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("reembed: %w", err)
	}
	out := &ReembedResult{Model: c.m.embedder.Model()}
	ctx, tally := tallied(ctx, "reembed", c.m.userPartition(req.UserID).ID())
	defer func() { out.Usage = tally.Lines() }()
	list, err := c.m.unembedded(ctx, p.ID())
	if err != nil {
		return nil, fmt.Errorf("reembed: %w", err)
	}
	out.Texts = len(list)
	for done := 0; done < len(list); done += reembedBatch {
		n, err := c.m.embedBatch(ctx, p, list[done:min(done+reembedBatch, len(list))])
		if err != nil {
			return out, fmt.Errorf("reembed: %w", err)
		}
		out.Embedded += n
		if req.Progress != nil {
			req.Progress(min(done+reembedBatch, len(list)), len(list))
		}
	}
	return out, nil
}

// reembedded is the partition that the request means.
func (m *MemoryLayer) reembedded(ctx context.Context, req ReembedRequest) (memory.Partition, error) {
	rd, err := m.begin(ctx, req.UserID)
	if err != nil {
		return memory.Partition{}, err
	}
	return m.scope(rd, req.TeamID, req.Public)
}

// unembedded lists the rows of a partition without a vector of the model.
func (m *MemoryLayer) unembedded(ctx context.Context, partition string) ([]missing, error) {
	c, err := m.store.Changes(ctx, storage.ChangesParams{Partition: partition, Model: m.embedder.Model()})
	if err != nil {
		return nil, err
	}
	has := make(map[missing]bool, len(c.Embeddings))
	for _, e := range c.Embeddings {
		if n := len(e.Vector); n == 0 || n == m.embedder.Dim() { // of another length: of another model
			has[missing{owner: e.OwnerKind, id: e.OwnerID}] = true
		}
	}
	var list []missing
	for i := range c.Episodes {
		if e := &c.Episodes[i]; !has[missing{owner: memory.OwnerEpisode, id: e.ID}] {
			list = append(list, missing{memory.OwnerEpisode, e.ID, e.Content})
		}
	}
	for i := range c.Items {
		if it := &c.Items[i]; !has[missing{owner: memory.OwnerItem, id: it.ID}] {
			list = append(list, missing{memory.OwnerItem, it.ID, it.Text})
		}
	}
	return list, nil
}

// embedBatch embeds texts outside of any transaction and commits their vectors.
func (m *MemoryLayer) embedBatch(ctx context.Context, p memory.Partition, list []missing) (int, error) {
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = x.text
	}
	vectors, err := m.embedder.Embed(ctx, texts)
	if err != nil {
		return 0, llm.Safe(err)
	}
	if len(vectors) != len(texts) {
		return 0, errors.New("the embedder returned another number of vectors than of texts")
	}
	n := 0
	err = m.store.Update(ctx, p, func(tx storage.Tx) error {
		w := &batch{partition: p.ID(), change: tx.Head().Change, found: proposal{model: m.embedder.Model()}}
		n = 0
		there, err := existing(ctx, tx, list)
		if err != nil {
			return err
		}
		for i, x := range list {
			if there[x.id] && w.embed(x.owner, x.id, vectors[i]) {
				n++
			}
		}
		if len(w.embeddings) == 0 {
			return errNothing
		}
		return tx.PutEmbeddings(ctx, w.embeddings)
	})
	if errors.Is(err, errNothing) {
		return 0, nil
	}
	return n, err
}

// existing tells which rows were not forgotten while they were being embedded.
func existing(ctx context.Context, tx storage.Tx, list []missing) (map[string]bool, error) {
	var items, episodes []string
	for _, x := range list {
		if x.owner == memory.OwnerItem {
			items = append(items, x.id)
		} else {
			episodes = append(episodes, x.id)
		}
	}
	records, err := tx.Items(ctx, items)
	if err != nil {
		return nil, err
	}
	said, err := tx.Episodes(ctx, episodes)
	there := make(map[string]bool, len(list))
	for i := range records {
		there[records[i].ID] = true
	}
	for i := range said {
		there[said[i].ID] = true
	}
	return there, err
}
