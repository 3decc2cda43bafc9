package retrieve

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/meminfra/access"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// List returns a page of admitted rows of a partition, newest first: items, or episodes if
// the filters ask for that kind. before is the sequence number to continue
// below; 0 begins. next is 0 on the last page.
func (rd *Reading) List(ctx context.Context, p memory.Partition, f Filters, limit int, before int64) (page []Record, next int64, err error) {
	adm, err := f.compile(rd.Registry, rd.Now(), rd.Rights)
	if err != nil {
		return nil, 0, err
	}
	if limit, err = clip(limit, 50, 1000); err != nil {
		return nil, 0, err
	}
	if before == 0 {
		before = math.MaxInt64
	}
	var keys []index.Key
	err = rd.view(ctx, p.ID(), func(v *index.View) error {
		keys, next = lastRows(v, adm, limit, before)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	rows, err := rd.resolve(ctx, p, keys, f.KnownAt)
	if err != nil {
		return nil, 0, err
	}
	page = make([]Record, 0, len(keys))
	for _, k := range keys {
		if row, ok := rows[k]; ok && adm.admits(&row.attr) {
			page = append(page, row.Record)
		}
	}
	return page, next, nil
}

// lastRows picks the newest admitted rows below a sequence number. Rows are
// numbered in the order of their sequence numbers.
func lastRows(v *index.View, adm *admission, limit int, before int64) (keys []index.Key, next int64) {
	owner := index.Item
	if adm.Kind == "episode" {
		owner = index.Episode
	}
	admitted := v.Admit(func(a *index.Attr) bool {
		return a.Owner == owner && a.Seq < before && adm.admits(a)
	})
	rows := slices.Collect(admitted.All())
	for i := len(rows) - 1; i >= 0; i-- {
		if len(keys) == limit {
			return keys, v.Attr(rows[i+1]).Seq
		}
		keys = append(keys, v.Attr(rows[i]).Key)
	}
	return keys, 0
}

// Matching returns the ids of all items and episodes that the filters select,
// expired ones included, for an erasure: unlike List it looks at one moment of
// the index only, and resolves nothing.
func (r *Retriever) Matching(ctx context.Context, partition string, f Filters) (items, episodes []string, err error) {
	adm, err := f.compile(r.Registry, time.Time{}, access.Everything()) // before anything expires
	if err != nil {
		return nil, nil, err
	}
	return r.keys(ctx, partition, adm.admits)
}

// Expired returns the ids of all items and episodes that have expired at a moment.
func (r *Retriever) Expired(ctx context.Context, partition string, at time.Time) (items, episodes []string, err error) {
	return r.keys(ctx, partition, func(a *index.Attr) bool { return memory.Expired(a.ExpiresAt, at) })
}

func (r *Retriever) keys(ctx context.Context, partition string, wanted func(*index.Attr) bool) (items, episodes []string, err error) {
	err = r.viewNow(ctx, partition, func(v *index.View) error {
		for row := range v.Admit(wanted).All() {
			if k := v.Attr(row).Key; k.Owner == index.Item {
				items = append(items, k.ID)
			} else {
				episodes = append(episodes, k.ID)
			}
		}
		return nil
	})
	return items, episodes, err
}
