package retrieve

import (
	"context"
	"time"

	"github.com/meminfra/memory-layer/index"
)

// Around returns the messages that the given items were made from and the given
// messages themselves; with neighbours also those before and after each in its
// session. Only what the filters admit is seen. Each comes once, in the order of
// the ids, a message before its neighbours.
func (rd *Reading) Around(ctx context.Context, f Filters, ids []string, neighbours bool) ([]Record, error) {
	own := rd.Own()
	adm, err := f.compile(rd.Registry, rd.Now(), rd.Rights)
	if err != nil {
		return nil, err
	}
	var keys []index.Key
	err = rd.view(ctx, own.ID(), func(v *index.View) error {
		keys = messagesAround(v, adm, ids, neighbours)
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows, err := rd.resolve(ctx, own, keys, time.Time{})
	if err != nil {
		return nil, err
	}
	out := make([]Record, 0, len(keys))
	for _, k := range keys {
		if row, ok := rows[k]; ok && adm.admits(&row.attr) {
			out = append(out, row.Record)
		}
	}
	return out, nil
}

func messagesAround(v *index.View, adm *admission, ids []string, neighbours bool) (keys []index.Key) {
	p := adm.census(v)
	seen := map[int]bool{}
	take := func(row int) {
		if row >= 0 && !seen[row] {
			seen[row] = true
			keys = append(keys, v.Attr(row).Key)
		}
	}
	for _, id := range ids {
		home := messageOf(v, p.admitted, id)
		take(home)
		if home < 0 || !neighbours {
			continue
		}
		near := p.messages.around(p.messages.number(home))
		take(int(near[prev]))
		take(int(near[next]))
	}
	return keys
}

// messageOf is the admitted message with that id, or that the item with that id
// was made from; -1 for none.
func messageOf(v *index.View, admitted *index.Bitmap, id string) int {
	if row, ok := v.Find(index.Key{Owner: index.Item, ID: id}); ok {
		id = v.Attr(row).Source()
	}
	row, ok := v.Find(index.Key{Owner: index.Episode, ID: id})
	if !ok || !admitted.Has(row) {
		return -1
	}
	return row
}
