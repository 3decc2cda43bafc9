package eval

import (
	"github.com/meminfra/memory-layer/eval/locomo"
	"github.com/meminfra/memory-layer/index/bm25"
)

// reference is the plain BM25 that every run is set beside, so that two reports
// can be told to use one protocol: k1 1.2, b 0.75, over "speaker: text" without
// captions, stemmed, stop words out, nothing tuned. Source: locomo-baselines.md.
type reference struct {
	words *bm25.Index
	ids   []string // by row
}

func newReference(c *locomo.Conversation) *reference {
	r := &reference{words: bm25.New(&bm25.Options{K1: 1.2, B: 0.75, PlainStems: true}, c.Turns())}
	for _, s := range c.Sessions {
		for _, t := range s.Turns {
			r.words.Set(len(r.ids), t.Speaker+": "+t.Text)
			r.ids = append(r.ids, t.ID)
		}
	}
	return r
}

// search returns the best k turns. Ties go to the earlier turn.
func (r *reference) search(query string, k int) [][]string {
	hits := r.words.Search(query, nil, k)
	ranked := make([][]string, len(hits))
	for i, h := range hits {
		ranked[i] = []string{r.ids[h.Row]}
	}
	return ranked
}
