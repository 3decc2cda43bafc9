package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Selectors of items: arrays of item ids, reading partition $1 and argument $2.
// The planner cannot see into a SELECT, and so cannot take a plan for ten ids for
// dearer than one for the nine at hand: it keeps one plan, where it would make a
// new one each time, which takes it three times as long as running it.
const (
	byID      = `((SELECT $2::text[]))`
	byFactKey = `(ARRAY(SELECT i.item FROM unnest($2::bytea[]) AS k(hash) CROSS JOIN LATERAL (` + sameFactKey + `) i))`
	byText    = `(ARRAY(SELECT i.item FROM unnest($2::bytea[]) AS k(hash) CROSS JOIN LATERAL (
	SELECT t.item FROM item t WHERE t.partition = $1 AND t.text_hash = k.hash OFFSET 0) i))`
	byValue = `(ARRAY(SELECT i.item FROM unnest($2::text[]) AS k(id) CROSS JOIN LATERAL (
	SELECT t.item FROM item t WHERE t.partition = $1 AND t.value_id = k.id AND t.value_id <> '' OFFSET 0) i))`
	byLine = `(ARRAY(
	SELECT i.item FROM ` + oneItem + ` CROSS JOIN LATERAL (` + sameFactKey + `) i
	UNION ALL
	SELECT i.item FROM ` + oneItem + ` CROSS JOIN LATERAL (
	SELECT t.item FROM item t WHERE t.partition = $1 AND t.root = k.root AND k.hash IS NULL OFFSET 0) i))`

	oneItem     = `(SELECT fact_key_hash AS hash, root FROM item WHERE partition = $1 AND item = $2 OFFSET 0) k`
	sameFactKey = `SELECT t.item FROM item t WHERE t.partition = $1 AND t.fact_key_hash = k.hash OFFSET 0`
)

// records gathers items with everything said about them, in whatever order the
// rows come: sorting on the server takes longer than sorting so few here.
type records struct {
	items    []memory.Item
	states   []memory.State
	evidence []storage.EvidenceRecord
	ties     []tie
}

// ask queues the queries; they are independent of each other, so they travel
// together.
func (r *records) ask(b *pgx.Batch, selector string, partition string, arg any) {
	b.Queue(selectItem+lookup("item", "i", "item", selector), partition, arg).Query(into(&r.items, scanItem))
	b.Queue(selectState+lookup("item_state", "s", "item", selector), partition, arg).Query(into(&r.states, scanState))
	b.Queue(selectEvidence+lookup("evidence", "v", "item", selector)+joinEpisode, partition, arg).Query(into(&r.evidence, scanEvidence))
	b.Queue(`SELECT w.id, x.* FROM unnest`+selector+` AS w(id) CROSS JOIN LATERAL (`+selectTies+`) x`, partition, arg).
		Query(into(&r.ties, scanTie))
}

// join joins everything, by Seq.
func (r *records) join() []storage.ItemRecord {
	if len(r.items) == 0 {
		return nil
	}
	slices.SortFunc(r.items, func(a, b memory.Item) int { return cmp.Compare(a.Seq, b.Seq) })
	list := make([]storage.ItemRecord, len(r.items))
	at := make(map[string]*storage.ItemRecord, len(r.items))
	for i, item := range r.items {
		list[i].Item = item
		at[item.ID] = &list[i]
	}
	for _, s := range r.states {
		if i := at[s.ItemID]; i != nil {
			s.FactKey = i.FactKey
			i.States = append(i.States, s)
		}
	}
	for _, e := range r.evidence {
		if i := at[e.ItemID]; i != nil {
			i.Evidence = append(i.Evidence, e)
		}
	}
	for _, t := range r.ties {
		if i := at[t.of]; i != nil {
			t.add(i)
		}
	}
	for i := range list {
		list[i].Sort()
	}
	return list
}

// tie is a row of one of the small tables that tie an item to others. Most items
// have none, so one query looks into all of them. A source has the place of a
// conflict's OtherID, and an origin those of OtherID and Reason.
type tie struct {
	of    string
	table string
	memory.Conflict
}

// selectTies selects the ties of an item w.
const selectTies = `
	SELECT 'derivation', partition, item, source, '', '', 0::bigint, 0::bigint, ''::bytea FROM item_derivation WHERE partition = $1 AND item = w.id
	UNION ALL
	SELECT 'origin', partition, item, kind, name, '', 0, 0, '' FROM item_origin WHERE partition = $1 AND item = w.id
	UNION ALL
	SELECT 'conflict', ` + conflictColumns + ` FROM conflict WHERE partition = $1 AND item = w.id
	UNION ALL
	SELECT 'conflict', ` + conflictColumns + ` FROM conflict WHERE partition = $1 AND other = w.id
	OFFSET 0`

func scanTie(row pgx.CollectableRow) (t tie, err error) {
	c := &t.Conflict
	err = row.Scan(&t.of, &t.table, &c.Partition, &c.ItemID, &c.OtherID, &c.Reason, &c.Decision, when{&c.At}, &c.Change, blob{&c.Salt})
	return t, err
}

func (t *tie) add(r *storage.ItemRecord) {
	switch t.table {
	case "derivation":
		r.DerivedFrom = append(r.DerivedFrom, t.OtherID)
	case "origin":
		r.Origins = append(r.Origins, memory.Origin{Kind: t.OtherID, Name: t.Reason})
	default:
		r.Conflicts = append(r.Conflicts, t.Conflict)
	}
}

func recordID(r *storage.ItemRecord) string { return r.ID }

// Items implements storage.Reader.
func (s *Store) Items(ctx context.Context, partition string, ids []string) ([]storage.ItemRecord, error) {
	var r records
	err := s.snapshot(ctx, "items", func(b *pgx.Batch) { r.ask(b, byID, partition, distinct(ids)) })
	if err != nil {
		return nil, err
	}
	return asked(ids, r.join(), recordID), nil
}

// ItemsByValue implements storage.Reader.
func (s *Store) ItemsByValue(ctx context.Context, partition string, valueIDs []string) ([]storage.ItemRecord, error) {
	var r records
	err := s.snapshot(ctx, "items by value", func(b *pgx.Batch) { r.ask(b, byValue, partition, distinct(valueIDs)) })
	if err != nil {
		return nil, err
	}
	return r.join(), nil
}

// Line implements storage.Reader.
func (s *Store) Line(ctx context.Context, partition, itemID string) ([]storage.ItemRecord, error) {
	var r records
	err := s.snapshot(ctx, "line", func(b *pgx.Batch) { r.ask(b, byLine, partition, itemID) })
	if err == nil && len(r.items) == 0 {
		err = storage.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return r.join(), nil
}

// Decisions implements storage.Reader.
func (s *Store) Decisions(ctx context.Context, partition string, ids []string) ([]memory.Decision, error) {
	rows, err := query(ctx, s, "decisions", selectDecision+lookup("decision", "d", "decision", byID), scanDecision, partition, distinct(ids))
	return asked(ids, rows, func(d *memory.Decision) string { return d.ID }), err
}

// Items implements storage.Tx.
func (t *tx) Items(ctx context.Context, ids []string) ([]storage.ItemRecord, error) {
	list, err := t.records(ctx, "items", byID, distinct(ids))
	return asked(ids, list, recordID), err
}

// ItemsByValue implements storage.Tx.
func (t *tx) ItemsByValue(ctx context.Context, valueIDs []string) ([]storage.ItemRecord, error) {
	return t.records(ctx, "items by value", byValue, distinct(valueIDs))
}

// Line implements storage.Tx.
func (t *tx) Line(ctx context.Context, itemID string) ([]storage.ItemRecord, error) {
	list, err := t.records(ctx, "line", byLine, itemID)
	if err == nil && len(list) == 0 {
		err = storage.ErrNotFound
	}
	return list, err
}

// ItemsByFactKey implements storage.Tx.
func (t *tx) ItemsByFactKey(ctx context.Context, keys []string) ([]storage.ItemRecord, error) {
	return t.records(ctx, "items by fact key", byFactKey, hashes(distinct(keys)))
}

// ItemsByText implements storage.Tx.
func (t *tx) ItemsByText(ctx context.Context, textKeys []string) ([]storage.ItemRecord, error) {
	return t.records(ctx, "items by text", byText, hashes(distinct(textKeys)))
}

// records reads within the commit. The partition's lock keeps other writers
// out, so its statements see one state.
func (t *tx) records(ctx context.Context, op, selector string, arg any) ([]storage.ItemRecord, error) {
	var r records
	var b pgx.Batch
	r.ask(&b, selector, t.head.Partition, arg)
	if err := t.send(ctx, op, &b); err != nil {
		return nil, err
	}
	return r.join(), nil
}

// InsertDecisions implements storage.Tx.
func (t *tx) InsertDecisions(ctx context.Context, list []memory.Decision) error {
	columns := []string{
		"partition", "decision", "change", "operation", "action", "item", "superseded", "episode", "reason", "inputs",
		"guards", "extractor", "model", "prompt_hash", "at", "salt",
	}
	return t.insert(ctx, "decision", columns, len(list), func(i int) ([]any, error) {
		d := &list[i]
		inputs, err := formatList(d.Inputs)
		if err != nil {
			return nil, err
		}
		guards, err := formatList(d.Guards)
		return []any{
			t.head.Partition, d.ID, t.head.Change, d.Operation, string(d.Action), d.ItemID, d.SupersededID, d.EpisodeID,
			d.Reason, inputs, guards, d.Extractor, d.Model, d.PromptHash, memory.Micros(d.At), notNull(d.Salt),
		}, err
	})
}

const selectDecision = `
SELECT partition, decision, change, operation, action, item, superseded, episode, reason, inputs, guards,
	extractor, model, prompt_hash, at, salt`

func scanDecision(row pgx.CollectableRow) (d memory.Decision, err error) {
	err = row.Scan(&d.Partition, &d.ID, &d.Change, &d.Operation, (*string)(&d.Action), &d.ItemID, &d.SupersededID,
		&d.EpisodeID, &d.Reason, names{&d.Inputs}, names{&d.Guards}, &d.Extractor, &d.Model, &d.PromptHash,
		when{&d.At}, blob{&d.Salt})
	return d, err
}

// InsertItems implements storage.Tx.
func (t *tx) InsertItems(ctx context.Context, list []memory.Item) error {
	columns := []string{
		"partition", "item", "seq", "change", "kind", "text", "text_hash", "subject_type", "subject_name", "predicate",
		"value", "value_id", "fact_key", "fact_key_hash", "polarity", "authority", "user_id", "agent", "team",
		"visibility", "stated_from", "stated_to", "vague_earliest", "vague_latest", "vague_words", "expires_at",
		"supersedes", "root", "importance", "confidence", "shareable", "contributor", "metadata", "recorded_at",
		"decision", "salt",
	}
	err := t.insert(ctx, "item", columns, len(list), func(i int) ([]any, error) {
		m := &list[i]
		meta, err := m.Metadata.Canonical()
		return []any{
			t.head.Partition, m.ID, m.Seq, t.head.Change, string(m.Kind), m.Text, hash(m.TextKey), m.Subject.Type,
			m.Subject.Name, m.Predicate, m.Value, m.ValueID, m.FactKey, factHash(m.FactKey), int32(m.Polarity),
			m.Authority.String(), m.Scope.UserID, m.Scope.AgentID, m.Scope.TeamID, string(m.Scope.Visibility),
			orNull(m.Stated.From), orNull(m.Stated.To), orNull(m.Vague.Earliest), orNull(m.Vague.Latest),
			m.Vague.Words, orNull(m.ExpiresAt), m.Supersedes, m.Root, m.Importance, m.Confidence, m.Shareable,
			m.Contributor, meta, memory.Micros(m.RecordedAt), m.Decision, notNull(m.Salt),
		}, err
	})
	if err != nil {
		return err
	}
	if err := t.insertDerivations(ctx, list); err != nil {
		return err
	}
	return t.insertOrigins(ctx, list)
}

type derivation struct{ item, source string }

func (t *tx) insertDerivations(ctx context.Context, list []memory.Item) error {
	var rows []derivation
	for i := range list {
		sources := slices.Clone(list[i].DerivedFrom)
		slices.Sort(sources)
		for _, source := range slices.Compact(sources) {
			rows = append(rows, derivation{list[i].ID, source})
		}
	}
	return t.insert(ctx, "item_derivation", []string{"partition", "item", "source"}, len(rows), func(i int) ([]any, error) {
		return []any{t.head.Partition, rows[i].item, rows[i].source}, nil
	})
}

const selectItem = `
SELECT partition, item, seq, change, kind, text, subject_type, subject_name, predicate, value, value_id, fact_key,
	polarity, authority, user_id, agent, team, visibility, stated_from, stated_to, vague_earliest, vague_latest,
	vague_words, expires_at, supersedes, root, importance, confidence, shareable, contributor, metadata, recorded_at,
	decision, salt`

func scanItem(row pgx.CollectableRow) (m memory.Item, err error) {
	err = row.Scan(&m.Partition, &m.ID, &m.Seq, &m.Change, (*string)(&m.Kind), &m.Text, &m.Subject.Type,
		&m.Subject.Name, &m.Predicate, &m.Value, &m.ValueID, &m.FactKey, (*int8)(&m.Polarity),
		authority{&m.Authority}, &m.Scope.UserID, &m.Scope.AgentID, &m.Scope.TeamID, (*string)(&m.Scope.Visibility),
		when{&m.Stated.From}, when{&m.Stated.To}, when{&m.Vague.Earliest}, when{&m.Vague.Latest}, &m.Vague.Words,
		when{&m.ExpiresAt}, &m.Supersedes, &m.Root, &m.Importance, &m.Confidence, &m.Shareable, &m.Contributor,
		metadata{&m.Metadata}, when{&m.RecordedAt}, &m.Decision, blob{&m.Salt})
	return m, err
}

func scanDerivation(row pgx.CollectableRow) (d derivation, err error) {
	err = row.Scan(&d.item, &d.source)
	return d, err
}

// CloseStates implements storage.Tx.
func (t *tx) CloseStates(ctx context.Context, itemIDs []string, at time.Time) error {
	const sql = `UPDATE item_state SET system_to = $3 WHERE partition = $1 AND item = ANY($2) AND system_to IS NULL`
	return t.exec(ctx, "close states", sql, t.head.Partition, itemIDs, memory.Micros(at))
}

// InsertStates implements storage.Tx.
func (t *tx) InsertStates(ctx context.Context, list []memory.State) error {
	columns := []string{
		"partition", "item", "n", "fact_key_hash", "change", "status", "valid_from", "valid_to", "holds_slot", "cause",
		"reason", "system_from", "system_to", "decision", "salt",
	}
	return t.insert(ctx, "item_state", columns, len(list), func(i int) ([]any, error) {
		s := &list[i]
		return []any{
			t.head.Partition, s.ItemID, s.N, factHash(s.FactKey), t.head.Change, string(s.Status), orNull(s.Valid.From),
			orNull(s.Valid.To), s.HoldsSlot, s.Cause, s.Reason, memory.Micros(s.SystemFrom), orNull(s.SystemTo),
			s.Decision, notNull(s.Salt),
		}, nil
	})
}

const selectState = `
SELECT partition, item, n, change, status, valid_from, valid_to, holds_slot, cause, reason, system_from, system_to,
	decision, salt`

func scanState(row pgx.CollectableRow) (s memory.State, err error) {
	err = row.Scan(&s.Partition, &s.ItemID, &s.N, &s.Change, (*string)(&s.Status), when{&s.Valid.From},
		when{&s.Valid.To}, &s.HoldsSlot, &s.Cause, &s.Reason, when{&s.SystemFrom}, when{&s.SystemTo}, &s.Decision,
		blob{&s.Salt})
	return s, err
}

// InsertEvidence implements storage.Tx.
func (t *tx) InsertEvidence(ctx context.Context, list []memory.Evidence) error {
	columns := []string{
		"partition", "item", "n", "change", "episode", "quote", "start_byte", "end_byte", "full_witness", "lead", "polarity",
		"authority", "stated_from", "stated_to", "at", "salt",
	}
	return t.insert(ctx, "evidence", columns, len(list), func(i int) ([]any, error) {
		e := &list[i]
		return []any{
			t.head.Partition, e.ItemID, e.N, t.head.Change, e.EpisodeID, e.Quote, e.Start, e.End, e.Full, int32(e.Lead),
			int32(e.Polarity), e.Authority.String(), orNull(e.Stated.From), orNull(e.Stated.To),
			memory.Micros(e.At), notNull(e.Salt),
		}, nil
	})
}

const evidenceColumns = `
SELECT v.partition, v.item, v.n, v.change, v.episode, v.quote, v.start_byte, v.end_byte, v.full_witness, v.lead, v.polarity,
	v.authority, v.stated_from, v.stated_to, v.at, v.salt`

const selectEvidence = evidenceColumns + `, e.message_id, e.conversation, e.agent, e.source, e.sent_at, e.seq, e.expires_at`

// noEpisode takes the place of the episode's columns.
const noEpisode = `, '', '', '', '', 0::bigint, 0::bigint, NULL::bigint`

// joinEpisode finds the episode of each piece of evidence v.
const joinEpisode = `
CROSS JOIN LATERAL (SELECT * FROM episode t WHERE t.partition = $1 AND t.episode = v.episode OFFSET 0) e`

func scanEvidence(row pgx.CollectableRow) (e storage.EvidenceRecord, err error) {
	err = row.Scan(&e.Partition, &e.ItemID, &e.N, &e.Change, &e.EpisodeID, &e.Quote, &e.Start, &e.End, &e.Full, &e.Lead,
		(*int8)(&e.Polarity), authority{&e.Authority}, when{&e.Stated.From}, when{&e.Stated.To}, when{&e.At}, blob{&e.Salt},
		&e.MessageID, &e.ConversationID, &e.AgentID, &e.ResourceID, when{&e.SentAt}, &e.EpisodeSeq, when{&e.ExpiresAt})
	return e, err
}

// InsertConflicts implements storage.Tx.
func (t *tx) InsertConflicts(ctx context.Context, list []memory.Conflict) error {
	columns := []string{"partition", "item", "other", "reason", "decision", "at", "change", "salt"}
	return t.insert(ctx, "conflict", columns, len(list), func(i int) ([]any, error) {
		c := &list[i]
		return []any{
			t.head.Partition, c.ItemID, c.OtherID, c.Reason, c.Decision, memory.Micros(c.At), t.head.Change, notNull(c.Salt),
		}, nil
	})
}

const conflictColumns = `partition, item, other, reason, decision, at, change, salt`

func scanConflict(row pgx.CollectableRow) (c memory.Conflict, err error) {
	err = row.Scan(&c.Partition, &c.ItemID, &c.OtherID, &c.Reason, &c.Decision, when{&c.At}, &c.Change, blob{&c.Salt})
	return c, err
}

type origin struct {
	item string
	memory.Origin
}

func (t *tx) insertOrigins(ctx context.Context, list []memory.Item) error {
	var rows []origin
	for i := range list {
		for _, o := range memory.SortOrigins(list[i].Origins) {
			rows = append(rows, origin{list[i].ID, o})
		}
	}
	return t.insert(ctx, "item_origin", []string{"partition", "item", "kind", "name"}, len(rows), func(i int) ([]any, error) {
		o := &rows[i]
		return []any{t.head.Partition, o.item, o.Kind, o.Name}, nil
	})
}

func scanOrigin(row pgx.CollectableRow) (o origin, err error) {
	err = row.Scan(&o.item, &o.Kind, &o.Name)
	return o, err
}
