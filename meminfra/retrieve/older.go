package retrieve

import (
	"context"
	"slices"

	"github.com/meminfra/memory-layer/fusion"
	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// olderPerBranch is how many older messages each branch names, olderMost how many
// of them are shown. Source: python-meminfra §2.
const (
	olderPerBranch = 3
	olderMost      = 6
)

// OlderQuery asks for messages of one conversation that bear on a text.
type OlderQuery struct {
	Partition    string
	Conversation string
	Below        int64  // only messages with a smaller Seq
	Text         string // in any language; "" finds nothing
}

// Older returns the messages of a conversation that bear on a text: the best
// three by words and the best three by meaning, fused, at most six, in the order
// in which they were said; only what the caller may read. notes say what did not
// work; then the other branch decides alone. Errors: those of the store.
func (rd *Reading) Older(ctx context.Context, q OlderQuery) (list []memory.Episode, notes []string, err error) {
	vector, err := rd.meaning(ctx, q.Text)
	if err != nil {
		notes = append(notes, "older messages found by words alone: the embedder failed")
		if rd.Logger != nil {
			rd.Logger.WarnContext(ctx, "context: embedding failed", "model", rd.Embedder.Model())
		}
	}
	var ids []string
	now := admission{now: rd.Now(), rights: rd.Rights}
	err = rd.viewNow(ctx, q.Partition, func(v *index.View) error {
		older := v.Admit(func(a *index.Attr) bool {
			return a.Owner == index.Episode && a.ConversationID == q.Conversation && a.Seq < q.Below && now.admits(a)
		})
		ids = olderIDs(v, q.Text, vector, older)
		return nil
	})
	if err != nil || len(ids) == 0 {
		return nil, notes, err
	}
	list, err = rd.Store.Episodes(ctx, q.Partition, ids)
	slices.SortFunc(list, func(a, b memory.Episode) int { return int(a.Seq - b.Seq) })
	return list, notes, err
}

// meaning returns the vector of a text, nil for one without direction.
func (r *Retriever) meaning(ctx context.Context, text string) ([]float32, error) {
	if text == "" {
		return nil, nil
	}
	list, err := r.Embedder.Embed(ctx, []string{text})
	if err != nil || len(list) != 1 || !llm.HasDirection(list[0]) {
		return nil, err
	}
	return list[0], nil
}

// olderIDs fuses what the branches name. A cosine of nothing, like a vector that
// the index cannot compare, says nothing.
func olderIDs(v *index.View, text string, vector []float32, older *index.Bitmap) []string {
	lists := []fusion.List{{Branch: fusion.Lexical, Keys: rowsOf(v.SearchWords(text, older, olderPerBranch))}}
	if vector != nil {
		hits, err := v.SearchVector(vector, older, olderPerBranch)
		hits = slices.DeleteFunc(hits, func(h index.Hit) bool { return h.Score <= 0 })
		if err == nil {
			lists = append(lists, fusion.List{Branch: fusion.Vector, Keys: rowsOf(hits)})
		}
	}
	fused := fusion.Fuse(fusion.Default, lists, nil)
	ids := make([]string, 0, olderMost)
	for _, f := range fused[:min(len(fused), olderMost)] {
		ids = append(ids, v.Attr(f.Key).ID)
	}
	return ids
}
