package sqlite

import (
	"cmp"
	"context"
	"slices"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

const selectHead = `SELECT partition, change, seq, erased, ledger_seq, ledger_head FROM partition `

func scanHead(row scanner, h *storage.Head) error {
	return row.Scan(&h.Partition, &h.Change, &h.Seq, &h.Erased, &h.LedgerSeq, &h.LedgerHead)
}

func readHeads(ctx context.Context, c *conn, partitions ...string) (map[string]storage.Head, error) {
	list, err := collect(ctx, c, selectHead+`WHERE partition IN (SELECT value FROM json_each(?1))`,
		[]any{jsonList(partitions)}, scanHead)
	heads := make(map[string]storage.Head, len(list))
	for _, h := range list {
		heads[h.Partition] = h
	}
	return heads, err
}

// Heads implements storage.Reader.
func (s *Store) Heads(ctx context.Context, partitions ...string) (heads map[string]storage.Head, err error) {
	err = s.view(ctx, func(c *conn) error {
		heads, err = readHeads(ctx, c, partitions...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return heads, nil
}

// Changes implements storage.Reader.
func (s *Store) Changes(ctx context.Context, p storage.ChangesParams) (storage.Changes, error) {
	ch := storage.Changes{Head: storage.Head{Partition: p.Partition}}
	err := s.view(ctx, func(c *conn) error {
		heads, err := readHeads(ctx, c, p.Partition)
		if err != nil || len(heads) == 0 {
			return err
		}
		ch.Head = heads[p.Partition]
		since := p.Since
		if since < ch.Head.Erased {
			ch.Reset, since = since > 0, 0
		}
		return readChanges(ctx, c, p, since, &ch)
	})
	if err != nil {
		return storage.Changes{}, err
	}
	return ch, nil
}

// changed selects items that are new, have a new state, new evidence, or a new
// vector of the model ?3; said selects episodes that are new or have one.
const (
	changed = ` IN (
	SELECT i.item FROM item i WHERE i.partition = ?1 AND i.change > ?2
	UNION
	SELECT s.item FROM item_state s WHERE s.partition = ?1 AND s.change > ?2
	UNION
	SELECT c.item FROM credit c WHERE c.partition = ?1 AND c.change > ?2
	UNION
	SELECT w.item FROM evidence w WHERE w.partition = ?1 AND w.change > ?2
	UNION ` + embedded + ` AND v.owner_kind = 'item')`
	said = ` IN (
	SELECT e.episode FROM episode e WHERE e.partition = ?1 AND e.change > ?2
	UNION ` + embedded + ` AND v.owner_kind = 'episode')`
	embedded = `SELECT v.owner FROM embedding v WHERE v.partition = ?1 AND v.model = ?3 AND v.change > ?2`
)

// readChanges reads the rows after since; 0 leaves the condition out, so that
// rows come in the order of an index and need no sorting.
func readChanges(ctx context.Context, c *conn, p storage.ChangesParams, since int64, ch *storage.Changes) (err error) {
	items, episodes, vectors := `WHERE partition = ?1`, `WHERE partition = ?1 ORDER BY seq`, `change > ?2`
	args := []any{p.Partition}
	if since > 0 {
		items, episodes = items+` AND item`+changed, `WHERE partition = ?1 AND episode`+said+` ORDER BY +seq`
		vectors = `(change > ?2 OR owner_kind = 'item' AND owner` + changed + `)`
		args = append(args, since, p.Model)
	}
	if ch.Items, err = readStates(ctx, c, items, args...); err != nil {
		return err
	}
	if err := readSources(ctx, c, items, args, ch.Items); err != nil {
		return err
	}
	if err := readCounters(ctx, c, items, args, ch.Items); err != nil {
		return err
	}
	ch.Episodes, err = collect(ctx, c, selectEpisode+episodes, args, scanEpisode)
	if err != nil {
		return err
	}
	// Sorted here: SQLite's sorter would copy the vectors about.
	ch.Embeddings, err = collect(ctx, c, `
SELECT owner_kind, owner, part, vector, change FROM embedding
WHERE partition = ?1 AND model = ?3 AND `+vectors, []any{p.Partition, since, p.Model},
		func(row scanner, e *memory.Embedding) error {
			e.Partition, e.Model = p.Partition, p.Model
			return row.Scan(&e.OwnerKind, &e.OwnerID, &e.Part, scanVector(&e.Vector), &e.Change)
		})
	slices.SortFunc(ch.Embeddings, func(a, b memory.Embedding) int {
		return cmp.Or(cmp.Compare(a.OwnerKind, b.OwnerKind), cmp.Compare(a.OwnerID, b.OwnerID), cmp.Compare(a.Part, b.Part))
	})
	return err
}

// readSources says of items that match where which episodes support each.
func readSources(ctx context.Context, c *conn, where string, args []any, items []storage.ItemStates) error {
	at := make(map[string]*storage.ItemStates, len(items))
	for i := range items {
		at[items[i].ID] = &items[i]
	}
	if len(items) == 0 {
		return nil
	}
	const columns = `item, episode, (SELECT e.conversation FROM episode e
WHERE e.partition = evidence.partition AND e.episode = evidence.episode)`
	return c.each(ctx, `SELECT `+columns+` FROM evidence `+where+` ORDER BY item, n`, args, func(row scanner) error {
		var item, episode, conversation string
		err := row.Scan(&item, &episode, &conversation)
		if m := at[item]; err == nil && m != nil {
			m.Sources = append(m.Sources, episode)
			m.Conversation = cmp.Or(m.Conversation, conversation)
		}
		return err
	})
}
