package meminfra

import (
	"context"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
)

// proposal is what an extractor proposed, with the vectors of its texts and of
// the messages. They are missing if the embedder failed: vectors are derived
// and can be made later, what was said cannot.
type proposal struct {
	extract.Output
	model    string
	vectors  map[string][]float32            // by text of a candidate
	episodes map[string][]float32            // by id of an episode
	near     map[string][]retrieve.Neighbour // by text of a candidate
	managed  *managed                        // what the manager proposed; nil for none
}

// embed makes the vectors of the candidates' texts and of the target messages
// in one call.
func (a *addition) embed(ctx context.Context, out extract.Output) proposal {
	p := proposal{Output: out, model: a.embedder.Model()}
	texts := make([]string, 0, len(a.target)+len(out.Candidates))
	for i := range a.target {
		texts = append(texts, a.target[i].Content)
	}
	for i := range out.Candidates {
		texts = append(texts, a.itemText(&out.Candidates[i]))
	}
	vectors, err := a.embedder.Embed(ctx, texts)
	if err != nil || len(vectors) != len(texts) {
		a.result.Degraded = append(a.result.Degraded, "stored without vectors: "+llm.Fault("the embedder", err))
		a.logger.WarnContext(ctx, "add: embedding failed", "model", p.model, "texts", len(texts), "error", llm.Safe(err))
		return p
	}
	p.episodes = make(map[string][]float32, len(a.target))
	for i := range a.target {
		p.episodes[a.target[i].ID] = vectors[i]
	}
	p.vectors = make(map[string][]float32, len(out.Candidates))
	for i := range out.Candidates {
		p.vectors[texts[len(a.target)+i]] = vectors[len(a.target)+i]
	}
	return p
}

// embedItems makes the vectors of new items whose text no candidate of their
// call proposed: second versions of an old statement, edits with their messages.
// It runs after the commit, since a model is never asked within one; a failure,
// which it logs and reports, leaves them to the word branch.
func (m *MemoryLayer) embedItems(ctx context.Context, p memory.Partition, items []memory.Item, said ...memory.Episode) (ok bool) {
	var list []missing
	for i := range items {
		list = append(list, missing{memory.OwnerItem, items[i].ID, items[i].Text})
	}
	for i := range said {
		list = append(list, missing{memory.OwnerEpisode, said[i].ID, said[i].Content})
	}
	if len(list) == 0 {
		return true
	}
	if _, err := m.embedBatch(ctx, p, list); err != nil {
		m.logger.WarnContext(ctx, "embedding failed", "model", m.embedder.Model(), "texts", len(list), "error", err)
		return false
	}
	return true
}
