package postgres

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/internal/pages"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/internal/keep"
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

// start is the change number after which rows are read, $2. It is NULL, and no row
// is read, if an erasure came after it or there is no partition.
const start = `(SELECT $2::bigint FROM partition p WHERE p.partition = $1 AND ($2::bigint = 0 OR $2::bigint >= p.erased))`

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

// from is the FROM clause of a table's rows of the items, or episodes, that
// changed; all of them are read faster in one go.
func from(since int64, table string) string {
	switch {
	case since == 0:
		return ` FROM ` + table + ` WHERE partition = $1 AND $2::bigint = 0 AND $3::text IS NOT NULL`
	case table == "episode":
		return lookup(table, table, "episode", said)
	}
	return lookup(table, table, "item", changed)
}

// fromVectors is from for the vectors of all rows returned: those that are new,
// and older ones of items with a new state.
func fromVectors(since int64, columns string) string {
	all := `SELECT ` + columns + ` FROM embedding WHERE partition = $1 AND model = $3 AND change > ` + start
	if since > 0 {
		all += ` UNION SELECT ` + columns + lookup("embedding", "v", "owner_kind = 'item' AND t.owner", changed) + ` WHERE v.model = $3`
	}
	return all
}

// Changes implements storage.Reader. Of a partition that is read whole, the
// vectors come over a connection of their own meanwhile. The two see the same if
// both see the same change number, for nothing that is read here changes without
// it; if they do not, all is read again over one.
func (s *Store) Changes(ctx context.Context, p storage.ChangesParams) (storage.Changes, error) {
	if p.Since > 0 {
		p.Vectors = nil
		return s.changes(ctx, p, (*changes).rows, (*changes).vectors)
	}
	var vectors storage.Changes
	var err error
	var other sync.WaitGroup
	other.Go(func() { vectors, err = s.changes(ctx, p, (*changes).vectors) })
	c, errRows := s.changes(ctx, p, (*changes).rows)
	if errRows == nil && p.Rows != nil {
		p.Rows(c)
	}
	other.Wait()
	switch {
	case errRows != nil || err != nil:
		return storage.Changes{}, cmp.Or(errRows, err)
	case c.Head.Change != vectors.Head.Change:
		return s.changes(ctx, p, (*changes).rows, (*changes).vectors)
	}
	c.Embeddings = vectors.Embeddings
	return c, nil
}

// changes reads parts of what changed as one snapshot.
func (s *Store) changes(ctx context.Context, p storage.ChangesParams, parts ...func(*changes, *pgx.Batch)) (storage.Changes, error) {
	r := &changes{p: p}
	err := s.snapshot(ctx, "changes", func(b *pgx.Batch) {
		b.Queue(selectHead+` WHERE partition = $1`, p.Partition).Query(into(&r.heads, scanHead))
		for _, queue := range parts {
			queue(r, b)
		}
	})
	if err != nil {
		return storage.Changes{}, err
	}
	r.out.Head = r.head()
	r.out.Reset = 0 < p.Since && p.Since < r.out.Head.Erased
	r.finish()
	return r.out, nil
}

// changes reads what an index needs of the rows that changed, and no more of them.
type changes struct {
	p   storage.ChangesParams
	out storage.Changes

	heads   []storage.Head
	kept    keep.Keeper // of what an index keeps
	texts   keep.Keeper // of what it drops once it has read it
	at      map[string]*storage.ItemStates
	sources []source
	credits []credited
}

// head is the partition's head, once it has come.
func (r *changes) head() storage.Head {
	if len(r.heads) == 0 {
		return storage.Head{Partition: r.p.Partition}
	}
	return r.heads[0]
}

// source is an episode that supports an item.
type source struct {
	item, episode, conversation string
	n                           int
}

// each queues a query; what it selects is scanned into the same places for every
// row, and fn takes it from there.
func (r *changes) each(b *pgx.Batch, sql string, fn func(), places ...any) {
	b.Queue(sql, r.p.Partition, r.p.Since, r.p.Model).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := rows.Scan(places...); err != nil {
				return err
			}
			fn()
		}
		return rows.Err()
	})
}

// rows queues all but the vectors.
func (r *changes) rows(b *pgx.Batch) {
	for _, queue := range []func(*pgx.Batch){r.episodes, r.items, r.states, r.derivations, r.origins, r.evidence} {
		queue(b)
	}
	b.Queue(`SELECT item, sum(greatest(reward, 0)), sum(greatest(-reward, 0)), count(*)`+from(r.p.Since, "credit")+` GROUP BY item`,
		r.p.Partition, r.p.Since, r.p.Model).Query(into(&r.credits, scanCounters))
}

// own and share are places for texts that are kept by the row, or as one.
func (r *changes) own(s *string) any   { return &keptText{s, r.kept.Keep} }
func (r *changes) share(s *string) any { return &keptText{s, r.kept.Share} }

// room queues the counting of a table's rows, which sizes the list for them. A few
// rows need none.
func room[T any](r *changes, b *pgx.Batch, table string, list *[]T) {
	var n int
	if r.p.Since == 0 {
		r.each(b, `SELECT count(*)`+from(0, table), func() { *list = pages.Make[T](n) }, &n)
	}
}

func (r *changes) episodes(b *pgx.Batch) {
	room(r, b, "episode", &r.out.Episodes)
	var e memory.Episode
	r.each(b, `SELECT episode, conversation, session, seq, change, role, speaker, source, agent, user_id, content,
	sent_at, recorded_at, metadata, expires_at`+from(r.p.Since, "episode")+` ORDER BY seq`, func() {
		e.Partition = r.p.Partition
		r.out.Episodes = append(r.out.Episodes, e)
	}, r.own(&e.ID), r.share(&e.ConversationID), r.share(&e.SessionID), &e.Seq, &e.Change,
		r.share((*string)(&e.Role)), r.share(&e.Speaker), r.share(&e.Source), r.share(&e.AgentID), r.share(&e.UserID),
		&keptText{&e.Content, r.texts.Keep}, &when{&e.SentAt}, &when{&e.RecordedAt}, &metadata{&e.Metadata}, &when{&e.ExpiresAt})
}

func (r *changes) items(b *pgx.Batch) {
	room(r, b, "item", &r.out.Items)
	var m memory.Item
	r.each(b, `SELECT item, seq, change, kind, text, subject_type, subject_name, predicate, value_id, fact_key, polarity,
	authority, user_id, agent, stated_from, stated_to, expires_at, importance, metadata,
	recorded_at`+from(r.p.Since, "item")+` ORDER BY seq`, func() {
		m.Partition = r.p.Partition
		r.out.Items = append(r.out.Items, storage.ItemStates{Item: m})
	}, r.own(&m.ID), &m.Seq, &m.Change, r.share((*string)(&m.Kind)), &keptText{&m.Text, r.texts.Keep}, r.share(&m.Subject.Type),
		r.share(&m.Subject.Name), r.share(&m.Predicate), r.own(&m.ValueID), r.own(&m.FactKey),
		(*int8)(&m.Polarity), &authority{&m.Authority}, r.share(&m.Scope.UserID), r.share(&m.Scope.AgentID), &when{&m.Stated.From},
		&when{&m.Stated.To}, &when{&m.ExpiresAt}, &m.Importance, &metadata{&m.Metadata}, &when{&m.RecordedAt})
}

// ofItems queues a table with rows that belong to the items, which are there by
// the time they come.
func (r *changes) ofItems(b *pgx.Batch, table, columns string, fn func(*storage.ItemStates), places ...any) {
	var m *storage.ItemStates
	find := func(item string) string {
		if r.at == nil {
			r.index()
		}
		m = r.at[item]
		return ""
	}
	var none string
	r.each(b, `SELECT item, `+columns+from(r.p.Since, table), func() {
		if m != nil {
			fn(m)
		}
	}, append([]any{&keptText{&none, find}}, places...)...)
}

func (r *changes) index() {
	r.at = make(map[string]*storage.ItemStates, len(r.out.Items))
	for i := range r.out.Items {
		r.at[r.out.Items[i].ID] = &r.out.Items[i]
	}
}

func (r *changes) states(b *pgx.Batch) {
	var s memory.State
	r.ofItems(b, "item_state", `n, change, status, valid_from, valid_to, system_from, system_to`,
		func(m *storage.ItemStates) {
			s.Partition, s.ItemID, s.FactKey = r.p.Partition, m.ID, m.FactKey
			m.States = append(m.States, s)
		}, &s.N, &s.Change, r.share((*string)(&s.Status)), &when{&s.Valid.From}, &when{&s.Valid.To},
		&when{&s.SystemFrom}, &when{&s.SystemTo})
}

func (r *changes) derivations(b *pgx.Batch) {
	var source string
	r.ofItems(b, "item_derivation", `source`, func(m *storage.ItemStates) {
		m.DerivedFrom = append(m.DerivedFrom, source)
	}, r.own(&source))
}

func (r *changes) origins(b *pgx.Batch) {
	var o memory.Origin
	r.ofItems(b, "item_origin", `kind, name`, func(m *storage.ItemStates) {
		m.Origins = append(m.Origins, o)
	}, r.share(&o.Kind), r.share(&o.Name))
}

// evidence queues which episodes support each item. Where all episodes are read,
// they say themselves of which conversation they are.
func (r *changes) evidence(b *pgx.Batch) {
	conversation := `''`
	if r.p.Since > 0 {
		conversation = `(SELECT e.conversation FROM episode e WHERE e.partition = evidence.partition AND e.episode = evidence.episode)`
	}
	var s source
	r.ofItems(b, "evidence", `n, episode, `+conversation, func(m *storage.ItemStates) {
		s.item = m.ID
		r.sources = append(r.sources, s)
	}, &s.n, r.own(&s.episode), r.share(&s.conversation))
}

// vectors queues the embeddings of the rows, to be listed or taken one by one.
func (r *changes) vectors(b *pgx.Batch) {
	var n int
	count := `SELECT count(*) FROM (` + fromVectors(r.p.Since, `owner_kind, owner, part`) + `) v`
	var read func(pgx.Rows) error
	if r.p.Vectors == nil {
		vectors := &keep.Vectors{}
		r.each(b, count, func() { vectors.Room, r.out.Embeddings = n, make([]memory.Embedding, 0, n) }, &n)
		read = into(&r.out.Embeddings, scanEmbedding(r.p.Partition, r.p.Model, vectors))
	} else {
		var take func(*memory.Embedding) error
		r.each(b, count, func() { take = r.p.Vectors(r.head().Change, n) }, &n)
		read = into(new([]struct{}), handEmbedding(r.p.Partition, r.p.Model, func(e *memory.Embedding) error { return take(e) }))
	}
	b.Queue(fromVectors(r.p.Since, embeddingColumns), r.p.Partition, r.p.Since, r.p.Model).Query(read)
}

// finish puts what has come in order, and together.
func (r *changes) finish() {
	if len(r.out.Episodes) == 0 {
		r.out.Episodes = nil
	}
	if len(r.out.Items) == 0 {
		r.out.Items = nil
	}
	if len(r.out.Embeddings) == 0 {
		r.out.Embeddings = nil
	}
	slices.SortStableFunc(r.sources, func(a, b source) int { return cmp.Compare(a.n, b.n) })
	for _, s := range r.sources {
		m := r.at[s.item]
		m.Sources = append(m.Sources, s.episode)
		m.Conversation = cmp.Or(m.Conversation, s.conversation)
	}
	if r.p.Since == 0 {
		r.conversations()
	}
	setCounters(r.out.Items, r.credits)
	for i := range r.out.Items {
		m := &r.out.Items[i]
		slices.SortFunc(m.States, func(a, b memory.State) int { return cmp.Compare(a.N, b.N) })
		slices.Sort(m.DerivedFrom)
		if len(m.Origins) > 1 {
			m.Origins = memory.SortOrigins(m.Origins)
		}
	}
}

// conversations notes of which conversation the first source of each item is.
func (r *changes) conversations() {
	of := make(map[string]string, len(r.out.Episodes))
	for i := range r.out.Episodes {
		of[r.out.Episodes[i].ID] = r.out.Episodes[i].ConversationID
	}
	for i := range r.out.Items {
		if m := &r.out.Items[i]; len(m.Sources) > 0 {
			m.Conversation = of[m.Sources[0]]
		}
	}
}
