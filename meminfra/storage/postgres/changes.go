package postgres

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

const selectHead = `SELECT partition, change, seq, erased, ledger_seq, ledger_head FROM partition`

func scanHead(row pgx.CollectableRow) (h storage.Head, err error) {
	err = row.Scan(&h.Partition, &h.Change, &h.Seq, &h.Erased, &h.LedgerSeq, blob{&h.LedgerHead})
	return h, err
}

// Heads implements storage.Reader.
func (s *Store) Heads(ctx context.Context, partitions ...string) (map[string]storage.Head, error) {
	list, err := query(ctx, s, "heads", selectHead+` WHERE partition = ANY($1)`, scanHead, partitions)
	if err != nil {
		return nil, err
	}
	heads := make(map[string]storage.Head, len(list))
	for _, h := range list {
		heads[h.Partition] = h
	}
	return heads, nil
}

// start is the change number after which rows are read: $2, or 0 if an erasure
// came after it. It is NULL, and no row is read, if there is no partition.
const start = `(SELECT CASE WHEN $2::bigint < p.erased THEN 0 ELSE $2::bigint END FROM partition p WHERE p.partition = $1)`

// changed is the array of items that are new, have a new state, new evidence, or
// a vector of the model $3 that is new.
const changed = `(ARRAY(
	SELECT i.item FROM item i WHERE i.partition = $1 AND i.change > ` + start + `
	UNION
	SELECT s.item FROM item_state s WHERE s.partition = $1 AND s.change > ` + start + `
	UNION
	SELECT c.item FROM credit c WHERE c.partition = $1 AND c.change > ` + start + `
	UNION
	SELECT w.item FROM evidence w WHERE w.partition = $1 AND w.change > ` + start + `
	UNION ` + embedded + ` AND v.owner_kind = 'item'))`

// said is the array of episodes that are new or have a new vector of the model.
const said = `(ARRAY(
	SELECT e.episode FROM episode e WHERE e.partition = $1 AND e.change > ` + start + `
	UNION ` + embedded + ` AND v.owner_kind = 'episode'))`

const embedded = `SELECT v.owner FROM embedding v WHERE v.partition = $1 AND v.model = $3 AND v.change > ` + start

// fromChanged makes the FROM clause of the changed items' rows in a table; all
// of them are read faster in one go.
func fromChanged(since int64) func(table string) string {
	return func(table string) string {
		if since == 0 {
			return ` FROM ` + table + ` WHERE partition = $1 AND $2::bigint = 0 AND $3::text IS NOT NULL`
		}
		return lookup(table, table, "item", changed)
	}
}

// fromSaid is fromChanged for episodes.
func fromSaid(since int64) string {
	if since == 0 {
		return ` FROM episode e WHERE partition = $1 AND $2::bigint = 0 AND $3::text IS NOT NULL`
	}
	return lookup("episode", "e", "episode", said)
}

// vectors makes the query for the vectors of all rows returned: those that are
// new, and older ones of items with a new state.
func vectors(since int64) string {
	const columns = `SELECT partition, owner_kind, owner, part, model, vector, change`
	all := columns + ` FROM embedding WHERE partition = $1 AND model = $3 AND change > ` + start
	if since > 0 {
		all += ` UNION ` + columns + lookup("embedding", "v", "owner", changed) + ` WHERE v.model = $3 AND v.owner_kind = 'item'`
	}
	return all + ` ORDER BY owner_kind, owner, part`
}

// Changes implements storage.Reader.
func (s *Store) Changes(ctx context.Context, p storage.ChangesParams) (storage.Changes, error) {
	var c storage.Changes
	var heads []storage.Head
	var r records
	var sources []source
	var credits []credited
	err := s.snapshot(ctx, "changes", func(b *pgx.Batch) {
		b.Queue(selectHead+` WHERE partition = $1`, p.Partition).Query(into(&heads, scanHead))
		b.Queue(selectEpisode+fromSaid(p.Since)+` ORDER BY e.seq`, p.Partition, p.Since, p.Model).
			Query(into(&c.Episodes, scanEpisode))
		r.askStates(b, fromChanged(p.Since), p.Partition, p.Since, p.Model)
		b.Queue(selectSource+fromChanged(p.Since)("evidence")+` ORDER BY item, n`, p.Partition, p.Since, p.Model).
			Query(into(&sources, scanSource))
		b.Queue(`SELECT item, sum(greatest(reward, 0)), sum(greatest(-reward, 0)), count(*)`+fromChanged(p.Since)("credit")+` GROUP BY item`,
			p.Partition, p.Since, p.Model).Query(into(&credits, scanCounters))
		b.Queue(vectors(p.Since), p.Partition, p.Since, p.Model).Query(into(&c.Embeddings, scanEmbedding))
	})
	if err != nil {
		return storage.Changes{}, err
	}
	c.Head = storage.Head{Partition: p.Partition}
	if len(heads) == 1 {
		c.Head = heads[0]
	}
	c.Reset = 0 < p.Since && p.Since < c.Head.Erased
	c.Items = r.itemStates()
	setSources(c.Items, sources)
	setCounters(c.Items, credits)
	return c, nil
}

// source is an episode that supports an item.
type source struct{ item, episode, conversation string }

const selectSource = `SELECT item, episode, (SELECT e.conversation FROM episode e
WHERE e.partition = evidence.partition AND e.episode = evidence.episode)`

func scanSource(row pgx.CollectableRow) (s source, err error) {
	err = row.Scan(&s.item, &s.episode, &s.conversation)
	return s, err
}

// setSources says of items which episodes support each.
func setSources(items []storage.ItemStates, sources []source) {
	at := make(map[string]*storage.ItemStates, len(items))
	for i := range items {
		at[items[i].ID] = &items[i]
	}
	for _, s := range sources {
		if m := at[s.item]; m != nil {
			m.Sources = append(m.Sources, s.episode)
			m.Conversation = cmp.Or(m.Conversation, s.conversation)
		}
	}
}

func scanEmbedding(row pgx.CollectableRow) (e memory.Embedding, err error) {
	err = row.Scan(&e.Partition, (*string)(&e.OwnerKind), &e.OwnerID, &e.Part, &e.Model, vector{&e.Vector}, &e.Change)
	return e, err
}
