package sqlite

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync"

	"github.com/meminfra/memory-layer/internal/pages"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/internal/keep"
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

// Changes implements storage.Reader. Of a partition that is read whole, the
// vectors come over a connection of their own meanwhile, if one is free.
func (s *Store) Changes(ctx context.Context, p storage.ChangesParams) (storage.Changes, error) {
	ch := storage.Changes{Head: storage.Head{Partition: p.Partition}}
	if p.Since > 0 {
		p.Vectors = nil
	}
	err := s.view(ctx, func(c *conn) error {
		heads, err := readHeads(ctx, c, p.Partition)
		if err != nil {
			return err
		}
		if len(heads) == 0 {
			if p.Vectors != nil {
				p.Vectors(0, 0)
			}
			return nil
		}
		ch.Head = heads[p.Partition]
		r := &changes{c: c, p: p, since: p.Since, out: &ch}
		if ch.Reset = 0 < p.Since && p.Since < ch.Head.Erased; ch.Reset {
			return nil
		}
		if p.Since > 0 {
			if err := r.rows(ctx); err != nil {
				return err
			}
			ch.Embeddings, err = r.vectors(ctx, c)
			return err
		}
		return s.whole(ctx, r)
	})
	if err != nil {
		return storage.Changes{}, err
	}
	return ch, nil
}

// whole reads all rows of a partition. The two connections see the same if both
// see the same change number, for nothing that is read here changes without it.
func (s *Store) whole(ctx context.Context, r *changes) error {
	var other sync.WaitGroup
	var vectors []memory.Embedding
	var seen bool
	var err error
	early := r.p.Rows
	select {
	case c := <-s.readers:
		other.Go(func() {
			defer func() { s.readers <- c }()
			err = c.transaction(ctx, beginRead, func(c *conn) error {
				heads, err := readHeads(ctx, c, r.p.Partition)
				if seen = err == nil && heads[r.p.Partition].Change == r.out.Head.Change; !seen {
					return err
				}
				vectors, err = r.vectors(ctx, c)
				return err
			})
		})
	default:
		early = nil
	}
	rows := r.rows(ctx)
	if rows == nil && early != nil {
		early(*r.out)
	}
	other.Wait()
	if rows == nil && err == nil && !seen {
		vectors, err = r.vectors(ctx, r.c)
	}
	r.out.Embeddings = vectors
	return cmp.Or(rows, err)
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

// changes reads what an index needs of the rows after since, and no more of them.
type changes struct {
	c     *conn
	p     storage.ChangesParams
	since int64
	out   *storage.Changes

	kept  keep.Keeper // of what an index keeps
	texts keep.Keeper // of what it drops once it has read it
	at    map[string]*storage.ItemStates
}

// from is a table's rows of the items, or episodes, that changed. All rows are
// read by the table's index on change, if it has one: in the order in which they
// lie there.
func (r *changes) from(table string) (from string, args []any) {
	args = []any{r.p.Partition, r.since, r.p.Model}
	switch {
	case r.since == 0 && (table == "item_derivation" || table == "item_origin"):
		return table + ` WHERE partition = ?1`, args
	case r.since == 0:
		return table + ` INDEXED BY ` + table + `_change WHERE partition = ?1`, args
	case table == "episode":
		return table + ` WHERE partition = ?1 AND episode` + said, args
	}
	return table + ` WHERE partition = ?1 AND item` + changed, args
}

func (r *changes) each(ctx context.Context, table, columns string, fn func(*taken) error) error {
	from, args := r.from(table)
	return r.c.take(ctx, columns, from, args, fn)
}

// rows reads all but the vectors.
func (r *changes) rows(ctx context.Context) error {
	for _, read := range []func(context.Context) error{r.episodes, r.items, r.states, r.derivations, r.origins, r.sources} {
		if err := read(ctx); err != nil {
			return err
		}
	}
	if len(r.out.Items) == 0 {
		return nil
	}
	where := `WHERE partition = ?1`
	args := []any{r.p.Partition}
	if r.since > 0 {
		where, args = where+` AND item`+changed, append(args, r.since, r.p.Model)
	}
	return readCounters(ctx, r.c, where, args, r.out.Items)
}

// room makes a list for the rows of a table, which are counted where all are read.
func room[T any](ctx context.Context, r *changes, table string) ([]T, error) {
	var n int
	if r.since == 0 {
		err := r.c.row(ctx, `SELECT count(*) FROM `+table+` WHERE partition = ?1`, []any{r.p.Partition}, &n)
		if err != nil || n == 0 {
			return nil, err
		}
	}
	return pages.Make[T](n), nil
}

func (r *changes) episodes(ctx context.Context) (err error) {
	if r.out.Episodes, err = room[memory.Episode](ctx, r, "episode"); err != nil {
		return err
	}
	err = r.each(ctx, "episode", `episode, conversation, session, seq, change, role, speaker, source,
	agent, user_id, content, sent_at, recorded_at, metadata, expires_at`, func(row *taken) error {
		r.out.Episodes = append(r.out.Episodes, memory.Episode{
			Partition: r.p.Partition, ID: r.kept.Keep(row.text()), ConversationID: r.kept.Share(row.text()), SessionID: r.kept.Share(row.text()),
			Seq: row.number(), Change: row.number(), Role: memory.Role(r.kept.Share(row.text())),
			Speaker: r.kept.Share(row.text()), Source: r.kept.Share(row.text()), AgentID: r.kept.Share(row.text()), UserID: r.kept.Share(row.text()),
			Content: r.texts.Keep(row.text()), SentAt: row.time(), RecordedAt: row.time(), Metadata: row.metadata(), ExpiresAt: row.time(),
		})
		return nil
	})
	sortRows(r.out.Episodes, func(i, j int) bool { return r.out.Episodes[i].Seq < r.out.Episodes[j].Seq })
	return err
}

// sortRows sorts by Seq; rows mostly come so, and are too large to move for nothing.
func sortRows[T any](list []T, less func(i, j int) bool) {
	if !sort.SliceIsSorted(list, less) {
		sort.Slice(list, less)
	}
}

func (r *changes) items(ctx context.Context) (err error) {
	if r.out.Items, err = room[storage.ItemStates](ctx, r, "item"); err != nil {
		return err
	}
	err = r.each(ctx, "item", `item, seq, change, kind, text, subject_type, subject_name, predicate, value_id,
	fact_key, polarity, authority, user_id, agent, stated_from, stated_to, expires_at, importance, metadata, recorded_at`, func(row *taken) error {
		r.out.Items = append(r.out.Items, storage.ItemStates{Item: memory.Item{
			Partition: r.p.Partition, ID: r.kept.Keep(row.text()), Seq: row.number(), Change: row.number(), Kind: memory.Kind(r.kept.Share(row.text())),
			Text: r.texts.Keep(row.text()), Subject: memory.Subject{Type: r.kept.Share(row.text()), Name: r.kept.Share(row.text())},
			Predicate: r.kept.Share(row.text()), ValueID: r.kept.Keep(row.text()), FactKey: r.kept.Keep(row.text()),
			Polarity: memory.Polarity(row.number()), Authority: row.authority(),
			Scope:  memory.Scope{UserID: r.kept.Share(row.text()), AgentID: r.kept.Share(row.text())},
			Stated: memory.Validity{From: row.time(), To: row.time()}, ExpiresAt: row.time(), Importance: row.fraction(),
			Metadata: row.metadata(), RecordedAt: row.time(),
		}})
		return nil
	})
	sortRows(r.out.Items, func(i, j int) bool { return r.out.Items[i].Seq < r.out.Items[j].Seq })
	if len(r.out.Items) == 0 {
		r.out.Items = nil
	}
	r.at = make(map[string]*storage.ItemStates, len(r.out.Items))
	for i := range r.out.Items {
		r.at[r.out.Items[i].ID] = &r.out.Items[i]
	}
	return err
}

// ofItems reads a table with rows that belong to the items.
func (r *changes) ofItems(ctx context.Context, table, columns string, fn func(m *storage.ItemStates, row *taken)) error {
	if len(r.out.Items) == 0 {
		return nil
	}
	return r.each(ctx, table, `item, `+columns, func(row *taken) error {
		if m := r.at[row.text()]; m != nil {
			fn(m, row)
		}
		return nil
	})
}

func (r *changes) states(ctx context.Context) error {
	err := r.ofItems(ctx, "item_state", `n, change, status, valid_from, valid_to, system_from, system_to`,
		func(m *storage.ItemStates, row *taken) {
			m.States = append(m.States, memory.State{
				Partition: m.Partition, ItemID: m.ID, FactKey: m.FactKey, N: int(row.number()), Change: row.number(),
				Status: memory.Status(r.kept.Share(row.text())), Valid: memory.Validity{From: row.time(), To: row.time()},
				SystemFrom: row.time(), SystemTo: row.time(),
			})
		})
	for i := range r.out.Items {
		slices.SortFunc(r.out.Items[i].States, func(a, b memory.State) int { return cmp.Compare(a.N, b.N) })
	}
	return err
}

func (r *changes) derivations(ctx context.Context) error {
	err := r.ofItems(ctx, "item_derivation", `source`, func(m *storage.ItemStates, row *taken) {
		m.DerivedFrom = append(m.DerivedFrom, r.kept.Keep(row.text()))
	})
	for i := range r.out.Items {
		slices.Sort(r.out.Items[i].DerivedFrom)
	}
	return err
}

func (r *changes) origins(ctx context.Context) error {
	err := r.ofItems(ctx, "item_origin", `kind, name`, func(m *storage.ItemStates, row *taken) {
		m.Origins = append(m.Origins, memory.Origin{Kind: r.kept.Share(row.text()), Name: r.kept.Share(row.text())})
	})
	for i := range r.out.Items {
		if m := &r.out.Items[i]; len(m.Origins) > 1 {
			m.Origins = memory.SortOrigins(m.Origins)
		}
	}
	return err
}

// sources says which episodes support each item, in the order in which they came.
func (r *changes) sources(ctx context.Context) error {
	type source struct {
		n       int64
		m       *storage.ItemStates
		episode string
	}
	var list []source
	err := r.ofItems(ctx, "evidence", `n, episode`, func(m *storage.ItemStates, row *taken) {
		list = append(list, source{row.number(), m, r.kept.Keep(row.text())})
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b source) int { return cmp.Compare(a.n, b.n) })
	for _, s := range list {
		s.m.Sources = append(s.m.Sources, s.episode)
	}
	return r.conversations(ctx)
}

// conversations notes of which conversation the first source of each item is.
func (r *changes) conversations(ctx context.Context) error {
	of := make(map[string]string)
	for i := range r.out.Items {
		if m := &r.out.Items[i]; len(m.Sources) > 0 {
			of[m.Sources[0]] = ""
		}
	}
	for i := range r.out.Episodes {
		e := &r.out.Episodes[i]
		if _, asked := of[e.ID]; asked {
			of[e.ID] = e.ConversationID
		}
	}
	var missing []string
	for id, conversation := range of {
		if conversation == "" {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		err := r.c.take(ctx, `e.episode, e.conversation`, `episode e `+episodesByID, []any{r.p.Partition, jsonList(missing)},
			func(row *taken) error {
				of[r.kept.Keep(row.text())] = r.kept.Share(row.text())
				return nil
			})
		if err != nil {
			return err
		}
	}
	for i := range r.out.Items {
		if m := &r.out.Items[i]; len(m.Sources) > 0 {
			m.Conversation = of[m.Sources[0]]
		}
	}
	return nil
}

// vectors reads the embeddings of the rows, or has them taken one by one.
func (r *changes) vectors(ctx context.Context, c *conn) ([]memory.Embedding, error) {
	q := embeddings{
		partition: r.p.Partition, model: r.p.Model,
		from: `embedding WHERE partition = ?1 AND model = ?3 AND change > ?2`,
		args: []any{r.p.Partition, r.since, r.p.Model},
	}
	if r.since > 0 {
		q.from = `embedding WHERE rowid IN (SELECT rowid FROM ` + q.from + `
	UNION SELECT rowid FROM embedding WHERE partition = ?1 AND owner_kind = 'item' AND owner` + changed + ` AND +model = ?3)`
		return q.list(ctx, c)
	}
	if err := c.row(ctx, `SELECT count(*) FROM `+q.from, q.args, &q.n); err != nil {
		return nil, err
	}
	if r.p.Vectors != nil {
		return nil, q.each(ctx, c, &keep.Vectors{Reuse: true}, r.p.Vectors(r.out.Head.Change, q.n))
	}
	return q.list(ctx, c)
}
