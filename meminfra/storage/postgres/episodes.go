package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

var episodeColumns = []string{
	"partition", "episode", "conversation", "session", "message_id", "seq", "change", "role", "speaker", "source",
	"agent", "user_id", "content", "sha256", "sent_at", "sent_offset", "estimated", "recorded_at", "metadata", "expires_at", "salt",
}

// selectEpisode reads the columns that scanEpisode expects.
const selectEpisode = `
SELECT e.partition, e.episode, e.conversation, e.session, e.message_id, e.seq, e.change, e.role, e.speaker, e.source,
	e.agent, e.user_id, e.content, e.sha256, e.sent_at, e.sent_offset, e.estimated, e.recorded_at, e.metadata, e.expires_at, e.salt`

func scanEpisode(row pgx.CollectableRow) (e memory.Episode, err error) {
	err = row.Scan(&e.Partition, &e.ID, &e.ConversationID, &e.SessionID, &e.MessageID, &e.Seq, &e.Change,
		(*string)(&e.Role), &e.Speaker, &e.Source, &e.AgentID, &e.UserID, &e.Content, digest{&e.Hash}, when{&e.SentAt}, &e.SentOffset,
		&e.Estimated, when{&e.RecordedAt}, metadata{&e.Metadata}, when{&e.ExpiresAt}, blob{&e.Salt})
	return e, err
}

// InsertEpisodes implements storage.Tx.
func (t *tx) InsertEpisodes(ctx context.Context, list []memory.Episode) error {
	return t.insert(ctx, "episode", episodeColumns, len(list), func(i int) ([]any, error) {
		e := &list[i]
		meta, err := e.Metadata.Canonical()
		return []any{
			t.head.Partition, e.ID, e.ConversationID, e.SessionID, e.MessageID, e.Seq, t.head.Change, string(e.Role),
			e.Speaker, e.Source, e.AgentID, e.UserID, e.Content, e.Hash[:], memory.Micros(e.SentAt), e.SentOffset,
			e.Estimated, memory.Micros(e.RecordedAt), meta, orNull(e.ExpiresAt), notNull(e.Salt),
		}, err
	})
}

// Episodes implements storage.Reader.
func (s *Store) Episodes(ctx context.Context, partition string, ids []string) ([]memory.Episode, error) {
	rows, err := query(ctx, s, "episodes", selectEpisode+lookup("episode", "e", "episode", byID), scanEpisode, partition, distinct(ids))
	return asked(ids, rows, episodeID), err
}

func episodeID(e *memory.Episode) string { return e.ID }

// EpisodesByMessage implements storage.Tx. Rows are sorted here: asked for in
// order of seq, the planner may walk the conversation in that order instead.
func (t *tx) EpisodesByMessage(ctx context.Context, conversation string, messageIDs []string) ([]memory.Episode, error) {
	list, err := read(ctx, t, "episodes by message",
		selectEpisode+` FROM episode e WHERE e.partition = $1 AND e.conversation = $2 AND e.message_id = ANY($3)`,
		scanEpisode, t.head.Partition, conversation, distinct(messageIDs))
	slices.SortFunc(list, func(a, b memory.Episode) int { return cmp.Compare(a.Seq, b.Seq) })
	return list, err
}

// Sessions implements storage.Tx.
func (t *tx) Sessions(ctx context.Context, conversation string, from, to time.Time) ([]storage.SessionSpan, error) {
	const sql = `
SELECT session, min(sent_at), max(sent_at) FROM episode
WHERE partition = $1 AND conversation = $2 AND sent_at BETWEEN $3 AND $4
GROUP BY session ORDER BY min(sent_at), session`
	return read(ctx, t, "sessions", sql, func(row pgx.CollectableRow) (s storage.SessionSpan, err error) {
		err = row.Scan(&s.SessionID, when{&s.First}, when{&s.Last})
		return s, err
	}, t.head.Partition, conversation, memory.Micros(from), memory.Micros(to))
}

// PutConversation implements storage.Tx.
func (t *tx) PutConversation(ctx context.Context, c storage.Conversation) error {
	const sql = `
INSERT INTO conversation (partition, conversation, created_at, updated_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (partition, conversation) DO UPDATE SET updated_at = excluded.updated_at`
	return t.exec(ctx, "put conversation", sql, t.head.Partition, c.ID, memory.Micros(c.CreatedAt), memory.Micros(c.UpdatedAt))
}

// PutSummary implements storage.Tx.
func (t *tx) PutSummary(ctx context.Context, conversation, summary string, seq int64) error {
	const sql = `UPDATE conversation SET summary = $3, summary_seq = $4 WHERE partition = $1 AND conversation = $2`
	return t.exec(ctx, "put summary", sql, t.head.Partition, conversation, summary, seq)
}

// Conversation implements storage.Reader.
func (s *Store) Conversation(ctx context.Context, partition, id string) (storage.Conversation, error) {
	const sql = `
SELECT partition, conversation, created_at, updated_at, summary, summary_seq FROM conversation
WHERE partition = $1 AND conversation = $2`
	list, err := query(ctx, s, "conversation", sql, func(row pgx.CollectableRow) (c storage.Conversation, err error) {
		err = row.Scan(&c.Partition, &c.ID, when{&c.CreatedAt}, when{&c.UpdatedAt}, &c.Summary, &c.SummarySeq)
		return c, err
	}, partition, id)
	if err == nil && len(list) == 0 {
		err = storage.ErrNotFound
	}
	if err != nil {
		return storage.Conversation{}, err
	}
	return list[0], nil
}

// Turns implements storage.Reader.
func (s *Store) Turns(ctx context.Context, partition string, p storage.TurnsParams) ([]memory.Episode, error) {
	return query(ctx, s, "turns", selectEpisode+` FROM episode e
WHERE e.partition = $1 AND e.conversation = $2 AND e.seq > $3 AND e.seq < $4 ORDER BY e.seq LIMIT $5`, scanEpisode,
		partition, p.Conversation, p.After, cmp.Or(p.Below, math.MaxInt64), p.Limit)
}

// Recent implements storage.Tx.
func (t *tx) Recent(ctx context.Context, conversation string, below int64, n int) ([]memory.Episode, error) {
	list, err := read(ctx, t, "recent", selectEpisode+` FROM episode e
WHERE e.partition = $1 AND e.conversation = $2 AND e.seq < $3 ORDER BY e.seq DESC LIMIT $4`, scanEpisode,
		t.head.Partition, conversation, cmp.Or(below, math.MaxInt64), n)
	slices.Reverse(list)
	return list, err
}

// Unextracted implements storage.Tx. Without Unseen it starts from the few open
// rows, which OFFSET 0 makes sure of; with it, from the episodes.
func (t *tx) Unextracted(ctx context.Context, p storage.UnextractedParams) ([]memory.Episode, error) {
	const open = `x.status IN ('pending', 'failed') AND (x.lease_until IS NULL OR x.lease_until <= $3) AND x.unread < $4`
	sql := `
FROM (SELECT x.episode FROM extraction x WHERE x.partition = $1 AND x.extractor = $2 AND ` + open + ` OFFSET 0) w
CROSS JOIN LATERAL (SELECT * FROM episode t WHERE t.partition = $1 AND t.episode = w.episode OFFSET 0) e
WHERE TRUE`
	if p.Unseen {
		sql = `
FROM episode e LEFT JOIN extraction x ON x.partition = e.partition AND x.episode = e.episode AND x.extractor = $2
WHERE e.partition = $1 AND (x.episode IS NULL OR ` + open + `)`
	}
	args := []any{t.head.Partition, p.Extractor, memory.Micros(p.Now), cmp.Or(p.MaxUnread, math.MaxInt32)}
	if p.Conversation != "" {
		args = append(args, p.Conversation)
		sql += fmt.Sprintf(` AND e.conversation = $%d`, len(args))
	}
	if len(p.Skip) > 0 {
		args = append(args, p.Skip)
		sql += fmt.Sprintf(` AND e.episode <> ALL($%d)`, len(args))
	}
	sql += ` ORDER BY e.seq`
	if p.Limit > 0 {
		args = append(args, p.Limit)
		sql += fmt.Sprintf(` LIMIT $%d`, len(args))
	}
	return read(ctx, t, "unextracted", selectEpisode+sql, scanEpisode, args...)
}

// Extractions implements storage.Tx.
func (t *tx) Extractions(ctx context.Context, extractor string, episodeIDs []string) ([]memory.Extraction, error) {
	rows, err := read(ctx, t, "extractions", selectExtraction+lookup("extraction", "x", "extractor = $3 AND t.episode", byID),
		scanExtraction, t.head.Partition, distinct(episodeIDs), extractor)
	return asked(episodeIDs, rows, func(x *memory.Extraction) string { return x.EpisodeID }), err
}

const selectExtraction = `
SELECT partition, episode, extractor, status, attempts, unread, lease_until, error, updated_at`

func scanExtraction(row pgx.CollectableRow) (x memory.Extraction, err error) {
	err = row.Scan(&x.Partition, &x.EpisodeID, &x.Extractor, (*string)(&x.Status), &x.Attempts, &x.Unread,
		when{&x.LeaseUntil}, &x.Error, when{&x.UpdatedAt})
	return x, err
}

// PutExtractions implements storage.Tx.
func (t *tx) PutExtractions(ctx context.Context, list []memory.Extraction) error {
	const sql = `
INSERT INTO extraction (partition, episode, extractor, status, attempts, lease_until, error, updated_at, unread)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (partition, episode, extractor) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
	lease_until = excluded.lease_until, error = excluded.error, updated_at = excluded.updated_at,
	unread = excluded.unread`
	var b pgx.Batch
	for i := range list {
		x := &list[i]
		b.Queue(sql, t.head.Partition, x.EpisodeID, x.Extractor, string(x.Status), x.Attempts, orNull(x.LeaseUntil),
			x.Error, memory.Micros(x.UpdatedAt), x.Unread)
	}
	return t.send(ctx, "put extractions", &b)
}

// PutEmbeddings implements storage.Tx.
func (t *tx) PutEmbeddings(ctx context.Context, list []memory.Embedding) error {
	const sql = `
INSERT INTO embedding (partition, owner_kind, owner, part, model, dim, vector, change)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (partition, owner_kind, owner, part, model) DO UPDATE SET dim = excluded.dim, vector = excluded.vector,
	change = excluded.change`
	var b pgx.Batch
	for i := range list {
		e := &list[i]
		b.Queue(sql, t.head.Partition, string(e.OwnerKind), e.OwnerID, e.Part, e.Model, len(e.Vector),
			vectorBytes(e.Vector), t.head.Change)
	}
	return t.send(ctx, "put embeddings", &b)
}

// Idempotency implements storage.Tx.
func (t *tx) Idempotency(ctx context.Context, key string) (storage.IdempotencyRecord, error) {
	r := storage.IdempotencyRecord{Partition: t.head.Partition, Key: key}
	err := t.sql.QueryRow(ctx, `SELECT body, result, at FROM idempotency WHERE partition = $1 AND key = $2`,
		t.head.Partition, key).Scan(blob{&r.Body}, &r.Result, when{&r.At})
	if err != nil {
		return storage.IdempotencyRecord{}, t.failed(ctx, "idempotency", err)
	}
	return r, nil
}

// PutIdempotency implements storage.Tx.
func (t *tx) PutIdempotency(ctx context.Context, r storage.IdempotencyRecord) error {
	const sql = `INSERT INTO idempotency (partition, key, body, result, at) VALUES ($1, $2, $3, $4, $5)`
	return t.exec(ctx, "put idempotency", sql, t.head.Partition, r.Key, notNull(r.Body), r.Result, memory.Micros(r.At))
}
