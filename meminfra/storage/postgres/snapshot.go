package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

const selectPartition = `SELECT partition, change, seq, erased, ledger_seq, ledger_head, tenant, kind, name FROM partition`

func scanPartition(row pgx.CollectableRow) (p storage.PartitionRow, err error) {
	err = row.Scan(&p.Partition, &p.Change, &p.Seq, &p.Erased, &p.LedgerSeq, blob{&p.LedgerHead}, &p.Named.Tenant,
		(*string)(&p.Named.Kind), &p.Named.Name)
	return p, err
}

// Partitions implements storage.Reader.
func (s *Store) Partitions(ctx context.Context, tenant string) ([]storage.PartitionRow, error) {
	return query(ctx, s, "partitions", selectPartition+` WHERE tenant = $1 ORDER BY partition`, scanPartition, tenant)
}

// Snapshot implements storage.Reader. It holds one connection.
func (s *Store) Snapshot(ctx context.Context, partition string, fn func(storage.Snapshot) error) error {
	if s.closed.Load() {
		return storage.ErrClosed
	}
	sql, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return s.failure(ctx, "snapshot", err)
	}
	defer (&tx{store: s, sql: sql}).rollback(ctx)
	snap := &snapshot{store: s, sql: sql, partition: partition, row: storage.PartitionRow{Head: storage.Head{Partition: partition}}}
	rows, err := ask(ctx, snap, selectPartition+` WHERE partition = $1`, scanPartition, partition)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		snap.row = rows[0]
	}
	return fn(snap)
}

// snapshot reads in one read-only transaction.
type snapshot struct {
	store     *Store
	sql       pgx.Tx
	partition string
	row       storage.PartitionRow
}

var _ storage.Snapshot = (*snapshot)(nil)

// Row implements storage.Snapshot.
func (s *snapshot) Row() storage.PartitionRow { return s.row }

// ask runs one query and scans its rows.
func ask[T any](ctx context.Context, s *snapshot, sql string, scan pgx.RowToFunc[T], args ...any) ([]T, error) {
	rows, err := s.sql.Query(ctx, sql, args...)
	if err != nil {
		return nil, s.store.failure(ctx, "snapshot", err)
	}
	list, err := pgx.AppendRows([]T(nil), rows, scan)
	return list, s.store.failure(ctx, "snapshot", err)
}

// stream calls fn with each row as scan reads it strictly. Of a row that it
// cannot read, only the key is set, from the columns after the partition.
func stream[T any](ctx context.Context, s *snapshot, sql string, scan pgx.RowToFunc[T], key func(*T, []any),
	fn func(T, error) error, args ...any) error {
	rows, err := s.sql.Query(ctx, sql, append([]any{s.partition}, args...)...)
	if err != nil {
		return s.store.failure(ctx, "snapshot", err)
	}
	defer rows.Close()
	for rows.Next() {
		unread := false
		v, bad := scan(strictRow{rows, &unread})
		if bad != nil || unread {
			values, err := rows.Values()
			if err != nil {
				return s.store.failure(ctx, "snapshot", storage.ErrUnreadable)
			}
			v, bad = *new(T), storage.ErrUnreadable
			key(&v, values[1:])
		}
		if err := fn(v, bad); err != nil {
			return err
		}
	}
	return s.store.failure(ctx, "snapshot", rows.Err())
}

// strictRow scans JSON in its canonical form only. What it cannot read it notes
// and passes over: an error would end the stream.
type strictRow struct {
	pgx.Rows
	unread *bool
}

func (r strictRow) Scan(into ...any) error {
	for i, v := range into {
		switch v := v.(type) {
		case metadata:
			into[i] = strictText{r.unread, v, func() (string, error) { return v.m.Canonical() }}
		case names:
			into[i] = strictText{r.unread, v, func() (string, error) { return formatList(*v.l) }}
		case authority:
			into[i] = strictText{r.unread, v, func() (string, error) { return v.a.String(), nil }}
		case digest:
			into[i] = strictDigest{r.unread, v}
		case *int8:
			into[i] = strictInt8{r.unread, v}
		}
	}
	return r.Rows.Scan(into...)
}

// strictText scans a text whose canonical form must be the text.
type strictText struct {
	unread    *bool
	into      pgtype.TextScanner
	canonical func() (string, error)
}

// ScanText implements pgtype.TextScanner.
func (s strictText) ScanText(v pgtype.Text) error {
	err := s.into.ScanText(v)
	if err == nil {
		var want string
		if want, err = s.canonical(); want != v.String {
			*s.unread = true
		}
	}
	*s.unread = *s.unread || err != nil
	return nil
}

type strictDigest struct {
	unread *bool
	into   digest
}

// ScanBytes implements pgtype.BytesScanner.
func (s strictDigest) ScanBytes(v []byte) error {
	*s.unread = *s.unread || s.into.ScanBytes(v) != nil
	return nil
}

type strictInt8 struct {
	unread *bool
	into   *int8
}

// ScanInt64 implements pgtype.Int64Scanner.
func (s strictInt8) ScanInt64(v pgtype.Int8) error {
	*s.into = int8(v.Int64)
	*s.unread = *s.unread || int64(*s.into) != v.Int64
	return nil
}

func word(v any) string {
	s, _ := v.(string)
	return s
}

func number(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case int32:
		return int64(v)
	}
	return 0
}

// page is how many rows of what fn may read beside are read before it sees them.
const page = 1000

type line[T any] struct {
	value T
	bad   error
}

// EachEntry implements storage.Snapshot. It reads page by page, so that fn may
// read as well.
func (s *snapshot) EachEntry(ctx context.Context, after int64, fn func(memory.Entry, error) error) error {
	for {
		var lines []line[memory.Entry]
		err := stream(ctx, s, selectEntry+` WHERE partition = $1 AND seq > $2 ORDER BY seq LIMIT $3`, scanEntry,
			func(e *memory.Entry, v []any) { e.Seq = number(v[0]) },
			func(e memory.Entry, bad error) error { lines = append(lines, line[memory.Entry]{e, bad}); return nil }, after, page)
		if err != nil || len(lines) == 0 {
			return err
		}
		for _, l := range lines {
			if err := errors.Join(ctx.Err(), fn(l.value, l.bad)); err != nil {
				return err
			}
		}
		after = lines[len(lines)-1].value.Seq
	}
}

// EachEpisode implements storage.Snapshot.
func (s *snapshot) EachEpisode(ctx context.Context, fn func(memory.Episode, error) error) error {
	return stream(ctx, s, selectEpisode+` FROM episode e WHERE e.partition = $1`, scanEpisode,
		func(e *memory.Episode, v []any) { e.ID = word(v[0]) }, fn)
}

// EachItem implements storage.Snapshot.
func (s *snapshot) EachItem(ctx context.Context, fn func(storage.ItemRow, error) error) error {
	for after := ""; ; {
		var lines []line[storage.ItemRow]
		err := stream(ctx, s, selectItem+`, text_hash, fact_key_hash FROM item WHERE partition = $1 AND item > $2 ORDER BY item LIMIT $3`,
			scanItemRow, func(i *storage.ItemRow, v []any) { i.ID = word(v[0]) },
			func(i storage.ItemRow, bad error) error {
				lines = append(lines, line[storage.ItemRow]{i, bad})
				return nil
			}, after, page)
		if err != nil || len(lines) == 0 {
			return err
		}
		last := lines[len(lines)-1].value.ID
		if err := s.addSources(ctx, lines, after, last); err != nil {
			return err
		}
		for _, l := range lines {
			if err := errors.Join(ctx.Err(), fn(l.value, l.bad)); err != nil {
				return err
			}
		}
		after = last
	}
}

// addSources gives a page of items what they were derived from and came through.
func (s *snapshot) addSources(ctx context.Context, lines []line[storage.ItemRow], after, last string) error {
	var derivations []derivation
	var origins []origin
	var b pgx.Batch
	const within = ` WHERE partition = $1 AND item > $2 AND item <= $3 ORDER BY `
	b.Queue(`SELECT item, source FROM item_derivation`+within+`item, source`, s.partition, after, last).
		Query(into(&derivations, scanDerivation))
	b.Queue(`SELECT item, kind, name FROM item_origin`+within+`item, kind, name`, s.partition, after, last).
		Query(into(&origins, scanOrigin))
	if err := s.sql.SendBatch(ctx, &b).Close(); err != nil {
		return s.store.failure(ctx, "snapshot", err)
	}
	at := make(map[string]*memory.Item, len(lines))
	for i := range lines {
		at[lines[i].value.ID] = &lines[i].value.Item
	}
	for _, d := range derivations {
		if i := at[d.item]; i != nil {
			i.DerivedFrom = append(i.DerivedFrom, d.source)
		}
	}
	for _, o := range origins {
		if i := at[o.item]; i != nil {
			i.Origins = append(i.Origins, o.Origin)
		}
	}
	return nil
}

// scanItemRow scans an item's columns and the two hashes after them.
func scanItemRow(row pgx.CollectableRow) (i storage.ItemRow, err error) {
	i.Item, err = scanItem(withMore{row, []any{blob{&i.TextHash}, blob{&i.FactKeyHash}}})
	return i, err
}

// withMore scans more columns than a scan function knows.
type withMore struct {
	pgx.CollectableRow
	more []any
}

func (r withMore) Scan(into ...any) error { return r.CollectableRow.Scan(append(into, r.more...)...) }

// EachState implements storage.Snapshot.
func (s *snapshot) EachState(ctx context.Context, fn func(memory.State, error) error) error {
	return stream(ctx, s, selectState+` FROM item_state WHERE partition = $1`, scanState,
		func(x *memory.State, v []any) { x.ItemID, x.N = word(v[0]), int(number(v[1])) }, fn)
}

// EachEvidence implements storage.Snapshot.
func (s *snapshot) EachEvidence(ctx context.Context, fn func(memory.Evidence, error) error) error {
	return stream(ctx, s, evidenceColumns+noEpisode+` FROM evidence v WHERE v.partition = $1`, scanEvidence,
		func(e *storage.EvidenceRecord, v []any) { e.ItemID, e.N = word(v[0]), int(number(v[1])) },
		func(e storage.EvidenceRecord, bad error) error { return fn(e.Evidence, bad) })
}

// EachConflict implements storage.Snapshot.
func (s *snapshot) EachConflict(ctx context.Context, fn func(memory.Conflict, error) error) error {
	return stream(ctx, s, `SELECT `+conflictColumns+` FROM conflict WHERE partition = $1`, scanConflict,
		func(c *memory.Conflict, v []any) { c.ItemID, c.OtherID = word(v[0]), word(v[1]) }, fn)
}

// EachDecision implements storage.Snapshot.
func (s *snapshot) EachDecision(ctx context.Context, fn func(memory.Decision, error) error) error {
	return stream(ctx, s, selectDecision+` FROM decision WHERE partition = $1`, scanDecision,
		func(d *memory.Decision, v []any) { d.ID = word(v[0]) }, fn)
}

// EachGrant implements storage.Snapshot.
func (s *snapshot) EachGrant(ctx context.Context, fn func(storage.GrantRow, error) error) error {
	const sql = `
SELECT partition, access_grant, kind, left_id, right_id, revoked, at, by_id, change, salt, team_partition FROM access_grant
WHERE partition = $1`
	scan := func(row pgx.CollectableRow) (g storage.GrantRow, err error) {
		g.Grant, err = scanGrant(withMore{row, []any{&g.TeamPartition}})
		return g, err
	}
	return stream(ctx, s, sql, scan, func(g *storage.GrantRow, v []any) { g.ID = word(v[0]) }, fn)
}

// EachFeedback implements storage.Snapshot.
func (s *snapshot) EachFeedback(ctx context.Context, fn func(storage.Feedback, error) error) error {
	return stream(ctx, s, selectFeedback+` FROM feedback WHERE partition = $1`, scanFeedback,
		func(f *storage.Feedback, v []any) { f.ID = word(v[0]) }, fn)
}

// EachExtraction implements storage.Snapshot.
func (s *snapshot) EachExtraction(ctx context.Context, fn func(memory.Extraction, error) error) error {
	return stream(ctx, s, selectExtraction+` FROM extraction WHERE partition = $1 ORDER BY episode, extractor`, scanExtraction,
		func(x *memory.Extraction, v []any) { x.EpisodeID, x.Extractor = word(v[0]), word(v[1]) }, fn)
}

// Strays implements storage.Snapshot.
func (s *snapshot) Strays(ctx context.Context) ([]string, error) {
	const orphans = ` x WHERE x.partition = $1
	AND NOT EXISTS (SELECT 1 FROM item i WHERE i.partition = x.partition AND i.item = x.item) UNION`
	const sql = `
SELECT x.item FROM item_derivation` + orphans + `
SELECT x.item FROM item_origin` + orphans + `
SELECT x.item FROM item_state x JOIN item i ON i.partition = x.partition AND i.item = x.item
WHERE x.partition = $1 AND x.fact_key_hash IS DISTINCT FROM i.fact_key_hash ORDER BY 1`
	return ask(ctx, s, sql, pgx.RowTo[string], s.partition)
}

// Episodes implements storage.Snapshot.
func (s *snapshot) Episodes(ctx context.Context, ids []string) ([]memory.Episode, error) {
	rows, err := ask(ctx, s, selectEpisode+lookup("episode", "e", "episode", byID), scanEpisode, s.partition, distinct(ids))
	return asked(ids, rows, func(e *memory.Episode) string { return e.ID }), err
}

// Items implements storage.Snapshot.
func (s *snapshot) Items(ctx context.Context, ids []string) ([]storage.ItemRecord, error) {
	var r records
	var b pgx.Batch
	r.ask(&b, byID, s.partition, distinct(ids))
	if err := s.sql.SendBatch(ctx, &b).Close(); err != nil {
		return nil, s.store.failure(ctx, "snapshot", err)
	}
	return asked(ids, r.join(), recordID), nil
}

// Decisions implements storage.Snapshot.
func (s *snapshot) Decisions(ctx context.Context, ids []string) ([]memory.Decision, error) {
	rows, err := ask(ctx, s, selectDecision+lookup("decision", "d", "decision", byID), scanDecision, s.partition, distinct(ids))
	return asked(ids, rows, func(d *memory.Decision) string { return d.ID }), err
}

// Feedback implements storage.Snapshot.
func (s *snapshot) Feedback(ctx context.Context, ids []string) ([]storage.Feedback, error) {
	rows, err := ask(ctx, s, selectFeedback+lookup("feedback", "f", "feedback", byID), scanFeedback, s.partition, distinct(ids))
	return asked(ids, rows, func(f *storage.Feedback) string { return f.ID }), err
}
