package retrieve

import (
	"context"

	"github.com/meminfra/memory-layer/index"
)

// alikePerText is how many rows are looked at for each text.
const alikePerText = 30

// Alike returns the items and messages of a partition that share most words with
// one of the texts, as they read, by id; an item's quotes follow it. It is a hint: what is the same is for
// the caller to say. Errors: those of the store.
func (rd *Reading) Alike(ctx context.Context, partition string, texts []string) (map[string]string, error) {
	var items, episodes []string
	seen := map[int]bool{}
	err := rd.viewNow(ctx, partition, func(v *index.View) error {
		for _, text := range texts {
			for _, h := range v.SearchWords(text, v.All(), alikePerText) {
				if a := v.Attr(h.Row); seen[h.Row] {
					continue
				} else if a.Owner == index.Item {
					items = append(items, a.ID)
				} else {
					episodes = append(episodes, a.ID)
				}
				seen[h.Row] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(seen))
	records, err := rd.Store.Items(ctx, partition, items)
	if err != nil {
		return nil, err
	}
	for i := range records {
		text := records[i].Text
		for _, e := range records[i].Evidence {
			text += "\n" + e.Quote
		}
		out[records[i].ID] = text
	}
	said, err := rd.Store.Episodes(ctx, partition, episodes)
	for i := range said {
		out[said[i].ID] = said[i].Content
	}
	return out, err
}
