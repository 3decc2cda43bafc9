package sqlite

import (
	"context"
	"errors"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

const selectPartition = `SELECT partition, change, seq, erased, ledger_seq, ledger_head, tenant, kind, name FROM partition `

func scanPartition(row scanner, p *storage.PartitionRow) error {
	return row.Scan(&p.Partition, &p.Change, &p.Seq, &p.Erased, &p.LedgerSeq, &p.LedgerHead, &p.Named.Tenant, &p.Named.Kind, &p.Named.Name)
}

// Partitions implements storage.Reader.
func (s *Store) Partitions(ctx context.Context, tenant string) (list []storage.PartitionRow, err error) {
	err = s.view(ctx, func(c *conn) error {
		list, err = collect(ctx, c, selectPartition+`WHERE tenant = ?1 ORDER BY partition`, []any{tenant}, scanPartition)
		return err
	})
	return list, err
}

// Snapshot implements storage.Reader.
func (s *Store) Snapshot(ctx context.Context, partition string, fn func(storage.Snapshot) error) error {
	return s.view(ctx, func(c *conn) error {
		snap := &snapshot{c: c, partition: partition, row: storage.PartitionRow{Head: storage.Head{Partition: partition}}}
		rows, err := collect(ctx, c, selectPartition+`WHERE partition = ?1`, []any{partition}, scanPartition)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			snap.row = rows[0]
		}
		return fn(snap)
	})
}

// snapshot reads in one read transaction.
type snapshot struct {
	c         *conn
	partition string
	row       storage.PartitionRow
}

var _ storage.Snapshot = (*snapshot)(nil)

// Row implements storage.Snapshot.
func (s *snapshot) Row() storage.PartitionRow { return s.row }

// stream calls fn with each row as scan reads it strictly. Of a row that it
// cannot read, only the key is set, from the columns after the partition.
func stream[T any](ctx context.Context, s *snapshot, query string, scan func(scanner, *T) error,
	key func(*T, columns), fn func(T, error) error) error {
	return s.c.each(ctx, query, []any{s.partition}, func(row scanner) error { return strictly(row, scan, key, fn) })
}

func strictly[T any](row scanner, scan func(scanner, *T) error, key func(*T, columns), fn func(T, error) error) error {
	var v T
	if scan(strictRow{row}, &v) == nil {
		return fn(v, nil)
	}
	v = *new(T)
	key(&v, row.(columns)[1:])
	return fn(v, storage.ErrUnreadable)
}

// strictRow scans only what this program stores: text as text, and JSON in its
// canonical form.
type strictRow struct{ scanner }

func (r strictRow) Scan(into ...any) error {
	for i, v := range into {
		switch v := v.(type) {
		case *string:
			into[i] = (*strictText)(v)
		case *metadataScanner:
			into[i] = (*strictMetadata)(v)
		case *listScanner:
			into[i] = (*strictList)(v)
		}
	}
	return r.scanner.Scan(into...)
}

type strictText string

func (t *strictText) Scan(v any) error {
	s, err := text(v)
	*t = strictText(s)
	return err
}

type strictMetadata metadataScanner

func (m *strictMetadata) Scan(v any) error {
	if err := (*metadataScanner)(m).Scan(v); err != nil {
		return err
	}
	return inForm(v, func() (string, error) { return memory.Metadata(*m).Canonical() })
}

type strictList listScanner

func (l *strictList) Scan(v any) error {
	if err := (*listScanner)(l).Scan(v); err != nil {
		return err
	}
	return inForm(v, func() (string, error) { return storeList(*l) })
}

func inForm(v any, canonical func() (string, error)) error {
	if want, err := canonical(); err != nil || v != want {
		return storage.ErrUnreadable
	}
	return nil
}

// word is a column of an unreadable row as text, "" if it is none.
func word(v any) string {
	s, _ := text(v)
	return s
}

func number(v any) int64 {
	n, _ := v.(int64)
	return n
}

// EachEntry implements storage.Snapshot. It reads page by page, so that fn may
// read as well.
func (s *snapshot) EachEntry(ctx context.Context, after int64, fn func(memory.Entry, error) error) error {
	type line struct {
		memory.Entry
		err error
	}
	for {
		var page []line
		err := s.c.each(ctx, `SELECT `+entryColumns+` FROM ledger WHERE partition = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3`,
			[]any{s.partition, after, entriesPage}, func(row scanner) error {
				return strictly(row, scanEntry, func(e *memory.Entry, v columns) { e.Seq = number(v[0]) },
					func(e memory.Entry, bad error) error { page = append(page, line{e, bad}); return nil })
			})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, l := range page {
			if err := errors.Join(ctx.Err(), fn(l.Entry, l.err)); err != nil {
				return err
			}
		}
		last := page[len(page)-1].Seq
		if last <= after { // an unreadable number: nothing to go on from
			return nil
		}
		after = last
	}
}

// EachEpisode implements storage.Snapshot.
func (s *snapshot) EachEpisode(ctx context.Context, fn func(memory.Episode, error) error) error {
	return stream(ctx, s, selectEpisode+`WHERE e.partition = ?1`, scanEpisode,
		func(e *memory.Episode, v columns) { e.ID = word(v[0]) }, fn)
}

// itemsPage is how many items are read before their sources and origins.
const itemsPage = 1000

// EachItem implements storage.Snapshot.
func (s *snapshot) EachItem(ctx context.Context, fn func(storage.ItemRow, error) error) error {
	type line struct {
		storage.ItemRow
		err error
	}
	for after := ""; ; {
		var page []line
		err := s.c.each(ctx, `SELECT `+itemColumns+`, text_hash, fact_key_hash FROM item
WHERE partition = ?1 AND item > ?2 ORDER BY item LIMIT ?3`, []any{s.partition, after, itemsPage}, func(row scanner) error {
			return strictly(row, scanItemRow, func(i *storage.ItemRow, v columns) { i.ID = word(v[0]) },
				func(i storage.ItemRow, bad error) error { page = append(page, line{i, bad}); return nil })
		})
		if err != nil || len(page) == 0 {
			return err
		}
		at := make(map[string]*memory.Item, len(page))
		for i := range page {
			at[page[i].ID] = &page[i].Item
		}
		span := []any{s.partition, after, page[len(page)-1].ID}
		const within = ` WHERE partition = ?1 AND item > ?2 AND item <= ?3 ORDER BY `
		if err := readSourcesAndOrigins(ctx, s.c, within, span, func(id string) *memory.Item { return at[id] }); err != nil {
			return err
		}
		for i := range page {
			if err := errors.Join(ctx.Err(), fn(page[i].ItemRow, page[i].err)); err != nil {
				return err
			}
		}
		last := page[len(page)-1].ID
		if last <= after { // an unreadable id: nothing to go on from
			return nil
		}
		after = last
	}
}

// readSourcesAndOrigins adds to items what they were derived from and came
// through. where ends in ORDER BY.
func readSourcesAndOrigins(ctx context.Context, c *conn, where string, args []any, at func(id string) *memory.Item) error {
	err := c.each(ctx, `SELECT item, source FROM item_derivation `+where+`item, source`, args, func(row scanner) error {
		var item, source string
		err := row.Scan(&item, &source)
		if m := at(item); err == nil && m != nil {
			m.DerivedFrom = append(m.DerivedFrom, source)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.each(ctx, `SELECT item, kind, name FROM item_origin `+where+`item, kind, name`, args, func(row scanner) error {
		var item string
		var o memory.Origin
		err := row.Scan(&item, &o.Kind, &o.Name)
		if m := at(item); err == nil && m != nil {
			m.Origins = append(m.Origins, o)
		}
		return err
	})
}

// scanItemRow scans an item's columns and the two hashes after them.
func scanItemRow(row scanner, i *storage.ItemRow) error {
	return scanItem(withMore{row, []any{&i.TextHash, &i.FactKeyHash}}, &i.Item)
}

// withMore scans more columns than a scan function knows.
type withMore struct {
	scanner
	more []any
}

func (r withMore) Scan(into ...any) error { return r.scanner.Scan(append(into, r.more...)...) }

// EachState implements storage.Snapshot.
func (s *snapshot) EachState(ctx context.Context, fn func(memory.State, error) error) error {
	return stream(ctx, s, `SELECT `+stateColumns+` FROM item_state WHERE partition = ?1`, scanState,
		func(x *memory.State, v columns) { x.ItemID, x.N = word(v[0]), int(number(v[1])) }, fn)
}

// EachEvidence implements storage.Snapshot.
func (s *snapshot) EachEvidence(ctx context.Context, fn func(memory.Evidence, error) error) error {
	return stream(ctx, s, `SELECT `+evidenceColumns+noEpisode+` FROM evidence x WHERE x.partition = ?1`, scanEvidence,
		func(e *storage.EvidenceRecord, v columns) { e.ItemID, e.N = word(v[0]), int(number(v[1])) },
		func(e storage.EvidenceRecord, bad error) error { return fn(e.Evidence, bad) })
}

// EachConflict implements storage.Snapshot.
func (s *snapshot) EachConflict(ctx context.Context, fn func(memory.Conflict, error) error) error {
	return stream(ctx, s, `SELECT `+conflictColumns+` FROM conflict WHERE partition = ?1`, scanConflict,
		func(x *memory.Conflict, v columns) { x.ItemID, x.OtherID = word(v[0]), word(v[1]) }, fn)
}

// EachDecision implements storage.Snapshot.
func (s *snapshot) EachDecision(ctx context.Context, fn func(memory.Decision, error) error) error {
	return stream(ctx, s, `SELECT `+decisionColumns+` FROM decision WHERE partition = ?1`, scanDecision,
		func(d *memory.Decision, v columns) { d.ID = word(v[0]) }, fn)
}

// EachGrant implements storage.Snapshot.
func (s *snapshot) EachGrant(ctx context.Context, fn func(storage.GrantRow, error) error) error {
	scan := func(row scanner, g *storage.GrantRow) error {
		return scanGrant(withMore{row, []any{&g.TeamPartition}}, &g.Grant)
	}
	return stream(ctx, s, `SELECT `+grantColumns+`, team_partition FROM access_grant WHERE partition = ?1`, scan,
		func(g *storage.GrantRow, v columns) { g.ID = word(v[0]) }, fn)
}

// EachFeedback implements storage.Snapshot.
func (s *snapshot) EachFeedback(ctx context.Context, fn func(storage.Feedback, error) error) error {
	return stream(ctx, s, `SELECT `+feedbackColumns+` FROM feedback WHERE partition = ?1`, scanFeedback,
		func(f *storage.Feedback, v columns) { f.ID = word(v[0]) }, fn)
}

// EachExtraction implements storage.Snapshot.
func (s *snapshot) EachExtraction(ctx context.Context, fn func(memory.Extraction, error) error) error {
	return stream(ctx, s, `SELECT `+extractionColumns+` FROM extraction WHERE partition = ?1 ORDER BY episode, extractor`, scanExtraction,
		func(x *memory.Extraction, v columns) { x.EpisodeID, x.Extractor = word(v[0]), word(v[1]) }, fn)
}

// Strays implements storage.Snapshot.
func (s *snapshot) Strays(ctx context.Context) ([]string, error) {
	var query strings.Builder
	for _, table := range []string{"item_derivation", "item_origin"} {
		query.WriteString(`
SELECT x.item FROM ` + table + ` x WHERE x.partition = ?1
	AND NOT EXISTS (SELECT 1 FROM item i WHERE i.partition = x.partition AND i.item = x.item) UNION`)
	}
	query.WriteString(`
SELECT x.item FROM item_state x JOIN item i ON i.partition = x.partition AND i.item = x.item
WHERE x.partition = ?1 AND x.fact_key_hash IS NOT i.fact_key_hash ORDER BY 1`)
	return collect(ctx, s.c, query.String(), []any{s.partition}, func(row scanner, id *string) error { return row.Scan(id) })
}

// Episodes implements storage.Snapshot.
func (s *snapshot) Episodes(ctx context.Context, ids []string) ([]memory.Episode, error) {
	return readEpisodes(ctx, s.c, s.partition, ids)
}

// Items implements storage.Snapshot.
func (s *snapshot) Items(ctx context.Context, ids []string) ([]storage.ItemRecord, error) {
	return readItems(ctx, s.c, s.partition, ids)
}

// Decisions implements storage.Snapshot.
func (s *snapshot) Decisions(ctx context.Context, ids []string) ([]memory.Decision, error) {
	return readDecisions(ctx, s.c, s.partition, ids)
}

// Feedback implements storage.Snapshot.
func (s *snapshot) Feedback(ctx context.Context, ids []string) ([]storage.Feedback, error) {
	list, err := collect(ctx, s.c, `SELECT `+feedbackColumns+` FROM feedback WHERE partition = ?1 AND feedback IN (`+byID+`)`,
		[]any{s.partition, jsonList(ids)}, scanFeedback)
	return asked(ids, list, func(f *storage.Feedback) string { return f.ID }), err
}
