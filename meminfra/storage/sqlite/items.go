package sqlite

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Selectors of items: each gives their ids, every one once, from partition ?1 and a
// second argument ?2.
const (
	byID      = `SELECT DISTINCT value FROM json_each(?2)`
	byFactKey = `SELECT i.item FROM item i WHERE i.partition = ?1 AND i.fact_key_hash IN (SELECT unhex(value) FROM json_each(?2))`
	byText    = `SELECT i.item FROM item i WHERE i.partition = ?1 AND i.text_hash IN (SELECT unhex(value) FROM json_each(?2))`
	byValue   = `SELECT i.item FROM item i WHERE i.partition = ?1 AND i.value_id <> '' AND i.value_id IN (SELECT value FROM json_each(?2))`
	byLine    = `
	SELECT l.item FROM item i JOIN item l ON l.partition = i.partition AND l.fact_key_hash = i.fact_key_hash
	WHERE i.partition = ?1 AND i.item = ?2
	UNION ALL
	SELECT l.item FROM item i JOIN item l ON l.partition = i.partition AND l.root = i.root
	WHERE i.partition = ?1 AND i.item = ?2 AND i.fact_key_hash IS NULL`
)

// readItems reads the items of those ids that exist, in the order asked, with
// everything said about them.
func readItems(ctx context.Context, c *conn, partition string, ids []string) ([]storage.ItemRecord, error) {
	list, err := takeRecords(ctx, c, byID, partition, jsonList(ids))
	return asked(ids, list, func(r *storage.ItemRecord) string { return r.ID }), err
}

// readRecords is readItems for those selected, by Seq.
func readRecords(ctx context.Context, c *conn, selector, partition, arg string) ([]storage.ItemRecord, error) {
	list, err := takeRecords(ctx, c, selector, partition, arg)
	slices.SortFunc(list, func(a, b storage.ItemRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	return list, err
}

// takeRecords is both, in no order.
func takeRecords(ctx context.Context, c *conn, selector, partition, arg string) ([]storage.ItemRecord, error) {
	r := &records{at: map[string]int{}}
	selected := func(table string) string {
		return `selected CROSS JOIN ` + table + ` ON x.partition = ?1 AND x.item = id`
	}
	err := c.takeAll(ctx, `WITH selected (id) AS MATERIALIZED (`+selector+`)`, []any{partition, arg},
		taking{itemColumns, selected(`item x`), r.item}, // first: what follows is added to it
		taking{stateColumns, selected(`item_state x`), r.state},
		taking{evidenceColumns + `, ` + episodeOfEvidence, selected(`evidence x`) + joinEpisode, r.evidence},
		taking{`item, source`, selected(`item_derivation x`), r.derivation},
		taking{`item, kind, name`, selected(`item_origin x`), r.origin},
		taking{`item, ` + conflictColumns, selected(`conflict x`), r.conflict},
		taking{`other, ` + conflictColumns, `selected CROSS JOIN conflict x ON x.partition = ?1 AND x.other = id`, r.conflict})
	if err != nil {
		return nil, err
	}
	for i := range r.list {
		r.list[i].Sort()
	}
	return r.list, nil
}

// records are items as they come, with what comes of them after.
type records struct {
	list []storage.ItemRecord
	at   map[string]int
}

// of is where what names an item belongs, or nowhere that shows.
func (r *records) of(item string) *storage.ItemRecord {
	if i, ok := r.at[item]; ok {
		return &r.list[i]
	}
	return new(storage.ItemRecord)
}

// ofSecond is of for a row whose second column names an item.
func (r *records) ofSecond(row *taken) *storage.ItemRecord {
	id, _ := row.values[1].(string)
	return r.of(id)
}

func (r *records) item(row *taken) error {
	r.list = append(r.list, storage.ItemRecord{})
	m := &r.list[len(r.list)-1]
	err := scanItem(row, &m.Item)
	r.at[m.ID] = len(r.list) - 1
	return err
}

func (r *records) state(row *taken) error {
	m := r.ofSecond(row)
	m.States = append(m.States, memory.State{})
	s := &m.States[len(m.States)-1]
	err := scanState(row, s)
	s.FactKey = m.FactKey
	return err
}

func (r *records) evidence(row *taken) error {
	m := r.ofSecond(row)
	m.Evidence = append(m.Evidence, storage.EvidenceRecord{})
	return scanEvidence(row, &m.Evidence[len(m.Evidence)-1])
}

func (r *records) derivation(row *taken) error {
	m := r.of(row.text())
	m.DerivedFrom = append(m.DerivedFrom, strings.Clone(row.text()))
	return nil
}

func (r *records) origin(row *taken) error {
	m, o := r.of(row.text()), memory.Origin{}
	err := row.Scan(&o.Kind, &o.Name)
	m.Origins = append(m.Origins, o)
	return err
}

func (r *records) conflict(row *taken) error {
	m, x := r.of(row.text()), memory.Conflict{}
	err := scanConflict(row, &x)
	m.Conflicts = append(m.Conflicts, x)
	return err
}

// Items implements storage.Reader.
func (s *Store) Items(ctx context.Context, partition string, ids []string) (list []storage.ItemRecord, err error) {
	err = s.view(ctx, func(c *conn) error {
		list, err = readItems(ctx, c, partition, ids)
		return err
	})
	return list, err
}

// ItemsByValue implements storage.Reader.
func (s *Store) ItemsByValue(ctx context.Context, partition string, valueIDs []string) (list []storage.ItemRecord, err error) {
	err = s.view(ctx, func(c *conn) error {
		list, err = readRecords(ctx, c, byValue, partition, jsonList(valueIDs))
		return err
	})
	return list, err
}

// Line implements storage.Reader.
func (s *Store) Line(ctx context.Context, partition, itemID string) (list []storage.ItemRecord, err error) {
	err = s.view(ctx, func(c *conn) error {
		list, err = readRecords(ctx, c, byLine, partition, itemID)
		return err
	})
	if err == nil && len(list) == 0 {
		err = storage.ErrNotFound
	}
	return list, err
}

// Items implements storage.Tx.
func (t *tx) Items(ctx context.Context, ids []string) ([]storage.ItemRecord, error) {
	return readItems(ctx, t.c, t.head.Partition, ids)
}

// ItemsByValue implements storage.Tx.
func (t *tx) ItemsByValue(ctx context.Context, valueIDs []string) ([]storage.ItemRecord, error) {
	return readRecords(ctx, t.c, byValue, t.head.Partition, jsonList(valueIDs))
}

// Line implements storage.Tx.
func (t *tx) Line(ctx context.Context, itemID string) ([]storage.ItemRecord, error) {
	list, err := readRecords(ctx, t.c, byLine, t.head.Partition, itemID)
	if err == nil && len(list) == 0 {
		err = storage.ErrNotFound
	}
	return list, err
}

// ItemsByFactKey implements storage.Tx.
func (t *tx) ItemsByFactKey(ctx context.Context, keys []string) ([]storage.ItemRecord, error) {
	return readRecords(ctx, t.c, byFactKey, t.head.Partition, jsonHashes(keys))
}

// ItemsByText implements storage.Tx.
func (t *tx) ItemsByText(ctx context.Context, textKeys []string) ([]storage.ItemRecord, error) {
	return readRecords(ctx, t.c, byText, t.head.Partition, jsonHashes(textKeys))
}

const decisionColumns = `partition, decision, change, operation, action, item, superseded, episode, reason, inputs,
	guards, extractor, model, prompt_hash, at, salt`

// Decisions implements storage.Reader.
func (s *Store) Decisions(ctx context.Context, partition string, ids []string) (list []memory.Decision, err error) {
	err = s.view(ctx, func(c *conn) error {
		list, err = readDecisions(ctx, c, partition, ids)
		return err
	})
	return list, err
}

func readDecisions(ctx context.Context, c *conn, partition string, ids []string) ([]memory.Decision, error) {
	list, err := collect(ctx, c, `SELECT `+decisionColumns+` FROM decision WHERE partition = ?1 AND decision IN (`+byID+`)`,
		[]any{partition, jsonList(ids)}, scanDecision)
	return asked(ids, list, func(d *memory.Decision) string { return d.ID }), err
}

func scanDecision(row scanner, d *memory.Decision) error {
	return row.Scan(&d.Partition, &d.ID, &d.Change, &d.Operation, &d.Action, &d.ItemID, &d.SupersededID, &d.EpisodeID,
		&d.Reason, scanList(&d.Inputs), scanList(&d.Guards), &d.Extractor, &d.Model, &d.PromptHash, scanTime(&d.At), &d.Salt)
}

var insertDecision = insertInto("decision", decisionColumns)

// InsertDecisions implements storage.Tx.
func (t *tx) InsertDecisions(ctx context.Context, list []memory.Decision) error {
	return put(ctx, t, insertDecision, list, func(d *memory.Decision) ([]any, error) {
		inputs, err := storeList(d.Inputs)
		guards, err2 := storeList(d.Guards)
		return []any{
			t.head.Partition, d.ID, t.head.Change, d.Operation, string(d.Action), d.ItemID, d.SupersededID, d.EpisodeID,
			d.Reason, inputs, guards, d.Extractor, d.Model, d.PromptHash, memory.Micros(d.At), blob(d.Salt),
		}, errors.Join(err, err2)
	})
}

const itemColumns = `partition, item, seq, change, kind, text, subject_type, subject_name, predicate, value, value_id,
	fact_key, polarity, authority, user_id, agent, team, visibility, stated_from, stated_to, vague_earliest,
	vague_latest, vague_words, expires_at, supersedes, root, importance, confidence, shareable, contributor, metadata,
	recorded_at, decision, salt`

func scanItem(row scanner, m *memory.Item) error {
	return row.Scan(&m.Partition, &m.ID, &m.Seq, &m.Change, &m.Kind, &m.Text, &m.Subject.Type, &m.Subject.Name,
		&m.Predicate, &m.Value, &m.ValueID, &m.FactKey, &m.Polarity, scanAuthority(&m.Authority), &m.Scope.UserID,
		&m.Scope.AgentID, &m.Scope.TeamID, &m.Scope.Visibility, scanTime(&m.Stated.From), scanTime(&m.Stated.To),
		scanTime(&m.Vague.Earliest), scanTime(&m.Vague.Latest), &m.Vague.Words, scanTime(&m.ExpiresAt), &m.Supersedes,
		&m.Root, &m.Importance, &m.Confidence, &m.Shareable, &m.Contributor, scanMetadata(&m.Metadata),
		scanTime(&m.RecordedAt), &m.Decision, &m.Salt)
}

// The two hashes serve only to find items: they are never read back.
var insertItem = insertInto("item", itemColumns+`, text_hash, fact_key_hash`)

// InsertItems implements storage.Tx.
func (t *tx) InsertItems(ctx context.Context, list []memory.Item) error {
	err := put(ctx, t, insertItem, list, func(m *memory.Item) ([]any, error) {
		meta, err := m.Metadata.Canonical()
		return []any{
			t.head.Partition, m.ID, m.Seq, t.head.Change, string(m.Kind), m.Text, m.Subject.Type, m.Subject.Name,
			m.Predicate, m.Value, m.ValueID, m.FactKey, m.Polarity, m.Authority.String(), m.Scope.UserID,
			m.Scope.AgentID, m.Scope.TeamID, string(m.Scope.Visibility), nullTime(m.Stated.From), nullTime(m.Stated.To),
			nullTime(m.Vague.Earliest), nullTime(m.Vague.Latest), m.Vague.Words, nullTime(m.ExpiresAt), m.Supersedes,
			m.Root, m.Importance, m.Confidence, m.Shareable, m.Contributor, meta,
			memory.Micros(m.RecordedAt), m.Decision, blob(m.Salt), hash(m.TextKey), hashKey(m.FactKey),
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

func (t *tx) insertDerivations(ctx context.Context, list []memory.Item) error {
	type derivation struct{ item, source string }
	var rows []derivation
	for i := range list {
		sources := slices.Clone(list[i].DerivedFrom)
		slices.Sort(sources)
		for _, source := range slices.Compact(sources) {
			rows = append(rows, derivation{list[i].ID, source})
		}
	}
	return put(ctx, t, `INSERT INTO item_derivation (partition, item, source) VALUES (?1, ?2, ?3)`, rows,
		func(d *derivation) ([]any, error) { return []any{t.head.Partition, d.item, d.source}, nil })
}

const stateColumns = `partition, item, n, change, status, valid_from, valid_to, holds_slot, cause, reason, system_from,
	system_to, decision, salt`

func scanState(row scanner, s *memory.State) error {
	return row.Scan(&s.Partition, &s.ItemID, &s.N, &s.Change, &s.Status, scanTime(&s.Valid.From), scanTime(&s.Valid.To),
		&s.HoldsSlot, &s.Cause, &s.Reason, scanTime(&s.SystemFrom), scanTime(&s.SystemTo), &s.Decision, &s.Salt)
}

// CloseStates implements storage.Tx.
func (t *tx) CloseStates(ctx context.Context, itemIDs []string, at time.Time) error {
	return t.run(ctx, `
UPDATE item_state SET system_to = ?3
WHERE partition = ?1 AND item IN (SELECT value FROM json_each(?2)) AND system_to IS NULL`,
		t.head.Partition, jsonList(itemIDs), memory.Micros(at))
}

var insertState = insertInto("item_state", stateColumns+`, fact_key_hash`)

// InsertStates implements storage.Tx.
func (t *tx) InsertStates(ctx context.Context, list []memory.State) error {
	return put(ctx, t, insertState, list, func(s *memory.State) ([]any, error) {
		return []any{
			t.head.Partition, s.ItemID, s.N, t.head.Change, string(s.Status), nullTime(s.Valid.From), nullTime(s.Valid.To),
			s.HoldsSlot, s.Cause, s.Reason, memory.Micros(s.SystemFrom), nullTime(s.SystemTo), s.Decision, blob(s.Salt),
			hashKey(s.FactKey),
		}, nil
	})
}

const evidenceColumns = `x.partition, x.item, x.n, x.change, x.episode, x.quote, x.start_byte, x.end_byte, x.full_witness, x.lead,
	x.polarity, x.authority, x.stated_from, x.stated_to, x.at, x.salt`

// The episode of each evidence.
const (
	episodeOfEvidence = `e.message_id, e.conversation, e.agent, e.source, e.sent_at, e.seq, e.expires_at`
	joinEpisode       = ` JOIN episode e ON e.partition = x.partition AND e.episode = x.episode`
)

// noEpisode takes the place of the episode's columns.
const noEpisode = `, '', '', '', '', 0, 0, NULL`

func scanEvidence(row scanner, e *storage.EvidenceRecord) error {
	return row.Scan(&e.Partition, &e.ItemID, &e.N, &e.Change, &e.EpisodeID, &e.Quote, &e.Start, &e.End, &e.Full, &e.Lead,
		&e.Polarity, scanAuthority(&e.Authority), scanTime(&e.Stated.From), scanTime(&e.Stated.To), scanTime(&e.At), &e.Salt,
		&e.MessageID, &e.ConversationID, &e.AgentID, &e.ResourceID, scanTime(&e.SentAt), &e.EpisodeSeq, scanTime(&e.ExpiresAt))
}

var insertEvidence = insertInto("evidence", strings.ReplaceAll(evidenceColumns, "x.", ""))

// InsertEvidence implements storage.Tx.
func (t *tx) InsertEvidence(ctx context.Context, list []memory.Evidence) error {
	return put(ctx, t, insertEvidence, list, func(e *memory.Evidence) ([]any, error) {
		return []any{
			t.head.Partition, e.ItemID, e.N, t.head.Change, e.EpisodeID, e.Quote, e.Start, e.End, e.Full, e.Lead, e.Polarity,
			e.Authority.String(), nullTime(e.Stated.From), nullTime(e.Stated.To), memory.Micros(e.At), blob(e.Salt),
		}, nil
	})
}

const conflictColumns = `partition, item, other, reason, decision, at, change, salt`

func scanConflict(row scanner, x *memory.Conflict) error {
	return row.Scan(&x.Partition, &x.ItemID, &x.OtherID, &x.Reason, &x.Decision, scanTime(&x.At), &x.Change, &x.Salt)
}

var insertConflict = insertInto("conflict", conflictColumns)

// InsertConflicts implements storage.Tx.
func (t *tx) InsertConflicts(ctx context.Context, list []memory.Conflict) error {
	return put(ctx, t, insertConflict, list, func(x *memory.Conflict) ([]any, error) {
		return []any{
			t.head.Partition, x.ItemID, x.OtherID, x.Reason, x.Decision, memory.Micros(x.At), t.head.Change, blob(x.Salt),
		}, nil
	})
}

func (t *tx) insertOrigins(ctx context.Context, list []memory.Item) error {
	for i := range list {
		err := put(ctx, t, `INSERT INTO item_origin (partition, item, kind, name) VALUES (?1, ?2, ?3, ?4)`,
			memory.SortOrigins(list[i].Origins), func(o *memory.Origin) ([]any, error) {
				return []any{t.head.Partition, list[i].ID, o.Kind, o.Name}, nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}
