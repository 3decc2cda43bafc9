package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

const episodeColumns = `e.partition, e.episode, e.conversation, e.session, e.message_id, e.seq, e.change, e.role,
	e.speaker, e.source, e.agent, e.user_id, e.content, e.sha256, e.sent_at, e.sent_offset, e.estimated, e.recorded_at, e.metadata, e.expires_at, e.salt`

const selectEpisode = `SELECT ` + episodeColumns + ` FROM episode e `

func scanEpisode(row scanner, e *memory.Episode) error {
	return row.Scan(&e.Partition, &e.ID, &e.ConversationID, &e.SessionID, &e.MessageID, &e.Seq, &e.Change, &e.Role,
		&e.Speaker, &e.Source, &e.AgentID, &e.UserID, &e.Content, scanHash(&e.Hash), scanTime(&e.SentAt), &e.SentOffset,
		&e.Estimated, scanTime(&e.RecordedAt), scanMetadata(&e.Metadata), scanTime(&e.ExpiresAt), &e.Salt)
}

var insertEpisode = insertInto("episode", strings.ReplaceAll(episodeColumns, "e.", ""))

// InsertEpisodes implements storage.Tx.
func (t *tx) InsertEpisodes(ctx context.Context, list []memory.Episode) error {
	return put(ctx, t, insertEpisode, list, func(e *memory.Episode) ([]any, error) {
		meta, err := e.Metadata.Canonical()
		return []any{
			t.head.Partition, e.ID, e.ConversationID, e.SessionID, e.MessageID, e.Seq, t.head.Change, string(e.Role),
			e.Speaker, e.Source, e.AgentID, e.UserID, e.Content, e.Hash[:], memory.Micros(e.SentAt), e.SentOffset,
			e.Estimated, memory.Micros(e.RecordedAt), meta, nullTime(e.ExpiresAt), blob(e.Salt),
		}, err
	})
}

const episodesByID = `WHERE e.partition = ?1 AND e.episode IN (SELECT value FROM json_each(?2))`

// Episodes implements storage.Reader.
func (s *Store) Episodes(ctx context.Context, partition string, ids []string) (list []memory.Episode, err error) {
	err = s.view(ctx, func(c *conn) error {
		list, err = readEpisodes(ctx, c, partition, ids)
		return err
	})
	return list, err
}

func readEpisodes(ctx context.Context, c *conn, partition string, ids []string) ([]memory.Episode, error) {
	list := make([]memory.Episode, 0, len(ids))
	err := c.take(ctx, episodeColumns, `json_each(?2) x CROSS JOIN episode e ON e.partition = ?1 AND e.episode = x.value`,
		[]any{partition, jsonList(ids)}, func(row *taken) error {
			list = append(list, memory.Episode{})
			return scanEpisode(row, &list[len(list)-1])
		})
	return asked(ids, list, func(e *memory.Episode) string { return e.ID }), err
}

// EpisodesByMessage implements storage.Tx. The plus keeps the planner from walking
// the whole partition in the order of seq rather than looking up the few rows
// asked for; so it does in other queries.
func (t *tx) EpisodesByMessage(ctx context.Context, conversation string, messageIDs []string) ([]memory.Episode, error) {
	return collect(ctx, t.c, selectEpisode+`
WHERE e.partition = ?1 AND e.conversation = ?2 AND e.message_id IN (SELECT value FROM json_each(?3)) ORDER BY +e.seq`,
		[]any{t.head.Partition, conversation, jsonList(messageIDs)}, scanEpisode)
}

// Sessions implements storage.Tx.
func (t *tx) Sessions(ctx context.Context, conversation string, from, to time.Time) ([]storage.SessionSpan, error) {
	return collect(ctx, t.c, `
SELECT session, min(sent_at), max(sent_at) FROM episode
WHERE partition = ?1 AND conversation = ?2 AND sent_at BETWEEN ?3 AND ?4
GROUP BY session ORDER BY min(sent_at), session`,
		[]any{t.head.Partition, conversation, memory.Micros(from), memory.Micros(to)}, func(row scanner, s *storage.SessionSpan) error {
			return row.Scan(&s.SessionID, scanTime(&s.First), scanTime(&s.Last))
		})
}

// PutConversation implements storage.Tx.
func (t *tx) PutConversation(ctx context.Context, c storage.Conversation) error {
	return t.run(ctx, `
INSERT INTO conversation (partition, conversation, created_at, updated_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (partition, conversation) DO UPDATE SET updated_at = excluded.updated_at`,
		t.head.Partition, c.ID, memory.Micros(c.CreatedAt), memory.Micros(c.UpdatedAt))
}

// PutSummary implements storage.Tx.
func (t *tx) PutSummary(ctx context.Context, conversation, summary string, seq int64) error {
	return t.run(ctx, `UPDATE conversation SET summary = ?3, summary_seq = ?4 WHERE partition = ?1 AND conversation = ?2`,
		t.head.Partition, conversation, summary, seq)
}

// Conversation implements storage.Reader.
func (s *Store) Conversation(ctx context.Context, partition, id string) (c storage.Conversation, err error) {
	err = s.view(ctx, func(db *conn) error {
		return db.row(ctx, `SELECT partition, conversation, created_at, updated_at, summary, summary_seq FROM conversation
WHERE partition = ?1 AND conversation = ?2`, []any{partition, id},
			&c.Partition, &c.ID, scanTime(&c.CreatedAt), scanTime(&c.UpdatedAt), &c.Summary, &c.SummarySeq)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return storage.Conversation{}, storage.ErrNotFound
	}
	return c, err
}

// Turns implements storage.Reader.
func (s *Store) Turns(ctx context.Context, partition string, p storage.TurnsParams) (list []memory.Episode, err error) {
	err = s.view(ctx, func(c *conn) error {
		list, err = collect(ctx, c, selectEpisode+`
WHERE e.partition = ?1 AND e.conversation = ?2 AND e.seq > ?3 AND e.seq < ?4 ORDER BY e.seq LIMIT ?5`,
			[]any{partition, p.Conversation, p.After, cmp.Or(p.Below, math.MaxInt64), p.Limit}, scanEpisode)
		return err
	})
	return list, err
}

// Recent implements storage.Tx.
func (t *tx) Recent(ctx context.Context, conversation string, below int64, n int) ([]memory.Episode, error) {
	list, err := collect(ctx, t.c, selectEpisode+`WHERE partition = ?1 AND conversation = ?2 AND seq < ?3 ORDER BY seq DESC LIMIT ?4`,
		[]any{t.head.Partition, conversation, cmp.Or(below, math.MaxInt64), n}, scanEpisode)
	slices.Reverse(list)
	return list, err
}

// Unextracted implements storage.Tx. Without Unseen it starts from the few open
// rows; with it, from the episodes.
func (t *tx) Unextracted(ctx context.Context, p storage.UnextractedParams) ([]memory.Episode, error) {
	const open = `x.status IN ('pending', 'failed') AND (x.lease_until IS NULL OR x.lease_until <= ?3) AND x.unread < ?5`
	sql := `
JOIN extraction x ON x.partition = e.partition AND x.episode = e.episode AND x.extractor = ?2
WHERE e.partition = ?1 AND ` + open
	if p.Unseen {
		sql = `
LEFT JOIN extraction x ON x.partition = e.partition AND x.episode = e.episode AND x.extractor = ?2
WHERE e.partition = ?1 AND (x.episode IS NULL OR ` + open + `)`
	}
	args := []any{t.head.Partition, p.Extractor, memory.Micros(p.Now), cmp.Or(p.Limit, -1), cmp.Or(p.MaxUnread, math.MaxInt32),
		p.Conversation, jsonList(p.Skip)}
	if p.Conversation != "" {
		sql += ` AND e.conversation = ?6`
	}
	if len(p.Skip) > 0 {
		sql += ` AND e.episode NOT IN (SELECT value FROM json_each(?7))`
	}
	return collect(ctx, t.c, selectEpisode+sql+` ORDER BY +e.seq LIMIT ?4`, args, scanEpisode)
}

const extractionColumns = `partition, episode, extractor, status, attempts, unread, lease_until, error, updated_at`

// Extractions implements storage.Tx.
func (t *tx) Extractions(ctx context.Context, extractor string, episodeIDs []string) ([]memory.Extraction, error) {
	list, err := collect(ctx, t.c, `SELECT `+extractionColumns+` FROM extraction
WHERE partition = ?1 AND extractor = ?2 AND episode IN (SELECT value FROM json_each(?3))`,
		[]any{t.head.Partition, extractor, jsonList(episodeIDs)}, scanExtraction)
	return asked(episodeIDs, list, func(x *memory.Extraction) string { return x.EpisodeID }), err
}

func scanExtraction(row scanner, x *memory.Extraction) error {
	return row.Scan(&x.Partition, &x.EpisodeID, &x.Extractor, &x.Status, &x.Attempts, &x.Unread, scanTime(&x.LeaseUntil),
		&x.Error, scanTime(&x.UpdatedAt))
}

var putExtraction = insertInto("extraction", extractionColumns) + `
ON CONFLICT (partition, episode, extractor) DO UPDATE SET status = excluded.status, attempts = excluded.attempts,
	unread = excluded.unread, lease_until = excluded.lease_until, error = excluded.error, updated_at = excluded.updated_at`

// PutExtractions implements storage.Tx.
func (t *tx) PutExtractions(ctx context.Context, list []memory.Extraction) error {
	return put(ctx, t, putExtraction, list, func(x *memory.Extraction) ([]any, error) {
		return []any{
			t.head.Partition, x.EpisodeID, x.Extractor, string(x.Status), x.Attempts, x.Unread, nullTime(x.LeaseUntil), x.Error,
			memory.Micros(x.UpdatedAt),
		}, nil
	})
}

var putEmbedding = insertInto("embedding", `partition, owner_kind, owner, part, model, dim, vector, change`) + `
ON CONFLICT (partition, owner_kind, owner, part, model) DO UPDATE SET dim = excluded.dim, vector = excluded.vector,
	change = excluded.change`

// PutEmbeddings implements storage.Tx.
func (t *tx) PutEmbeddings(ctx context.Context, list []memory.Embedding) error {
	return put(ctx, t, putEmbedding, list, func(e *memory.Embedding) ([]any, error) {
		return []any{
			t.head.Partition, string(e.OwnerKind), e.OwnerID, e.Part, e.Model, len(e.Vector), storeVector(e.Vector),
			t.head.Change,
		}, nil
	})
}

// Idempotency implements storage.Tx.
func (t *tx) Idempotency(ctx context.Context, key string) (storage.IdempotencyRecord, error) {
	r := storage.IdempotencyRecord{Partition: t.head.Partition, Key: key}
	err := t.c.row(ctx, `SELECT body, result, at FROM idempotency WHERE partition = ?1 AND key = ?2`,
		[]any{t.head.Partition, key}, &r.Body, &r.Result, scanTime(&r.At))
	if errors.Is(err, sql.ErrNoRows) {
		return storage.IdempotencyRecord{}, storage.ErrNotFound
	}
	return r, err
}

// PutIdempotency implements storage.Tx.
func (t *tx) PutIdempotency(ctx context.Context, r storage.IdempotencyRecord) error {
	return t.run(ctx, `INSERT INTO idempotency (partition, key, body, result, at) VALUES (?1, ?2, ?3, ?4, ?5)`,
		t.head.Partition, r.Key, blob(r.Body), r.Result, memory.Micros(r.At))
}

// asked puts rows into the order in which their ids were asked for.
func asked[T any](ids []string, rows []T, id func(*T) string) []T {
	at := make(map[string]int, len(rows))
	for i := range rows {
		at[id(&rows[i])] = i
	}
	if len(rows) == 0 {
		return nil
	}
	list := make([]T, 0, len(rows))
	for _, want := range ids {
		if i, ok := at[want]; ok {
			list = append(list, rows[i])
		}
	}
	return list
}
