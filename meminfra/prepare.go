package meminfra

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// prepare checks a request and turns its messages into episodes, all but what
// only the commit can give (sequence, session, change number). Nothing is
// stored or asked of a model before the whole request is sound.
func (m *MemoryLayer) prepare(req AddRequest) ([]memory.Episode, error) {
	if err := checkAdd(req); err != nil {
		return nil, err
	}
	now := memory.Time(m.now())
	episodes := make([]memory.Episode, len(req.Messages))
	seen := make(map[string]bool, len(req.Messages))
	for i, msg := range req.Messages {
		e, err := m.episode(req, msg, now, i)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		if seen[e.MessageID] {
			return nil, fmt.Errorf("message %d: %w: twice in one call", i+1, ErrMessageConflict)
		}
		seen[e.MessageID] = true
		episodes[i] = e
	}
	return episodes, nil
}

func checkAdd(req AddRequest) error {
	if memory.IsBlank(req.UserID) {
		return ErrNoUser
	}
	switch n := len(req.Messages); {
	case n == 0:
		return ErrNoMessages
	case n > memory.MaxMessages:
		return fmt.Errorf("%d messages, at most %d: %w", n, memory.MaxMessages, ErrTooMany)
	}
	if err := memory.CheckID("conversation id", req.ConversationID); err != nil {
		return err
	}
	if req.TeamID != "" && req.Public {
		return ErrTwoScopes
	}
	for what, id := range map[string]string{"user id": req.UserID, "session id": req.SessionID,
		"agent id": req.AgentID, "team id": req.TeamID, "user name": req.UserName, "idempotency key": req.IdempotencyKey} {
		if id == "" {
			continue
		}
		if err := memory.CheckID(what, id); err != nil {
			return err
		}
	}
	return nil
}

// episode makes the episode of one message. A missing SentAt is the clock plus
// the position in microseconds, so that order within a call is strict.
func (m *MemoryLayer) episode(req AddRequest, msg Message, now time.Time, position int) (memory.Episode, error) {
	if len(msg.Content) > memory.MaxMessageBytes {
		return memory.Episode{}, fmt.Errorf("content: %d bytes, at most %d: %w", len(msg.Content), memory.MaxMessageBytes, ErrTooLong)
	}
	content := memory.CleanText(msg.Content) // may be longer: U+FFFD has three bytes
	if len(content) > memory.MaxMessageBytes {
		return memory.Episode{}, fmt.Errorf("content: %d bytes once cleaned, at most %d: %w", len(content), memory.MaxMessageBytes, ErrTooLong)
	}
	if memory.IsBlank(content) {
		return memory.Episode{}, ErrBlankMessage
	}
	role, err := memory.ParseRole(string(msg.Role))
	if err != nil {
		return memory.Episode{}, err
	}
	for what, id := range map[string]string{"message id": msg.ID, "name": msg.Name, "source": msg.Source} {
		if id == "" {
			continue
		}
		if err := memory.CheckID(what, id); err != nil {
			return memory.Episode{}, err
		}
	}
	if _, err := msg.Metadata.Canonical(); err != nil {
		return memory.Episode{}, err
	}
	e := memory.Episode{
		Partition:      m.scopePartition(req.UserID, req.TeamID, req.Public).ID(),
		ID:             m.newID(),
		ConversationID: req.ConversationID,
		SessionID:      req.SessionID,
		MessageID:      msg.ID,
		Role:           role,
		Speaker:        msg.Name,
		Source:         msg.Source,
		AgentID:        req.AgentID,
		UserID:         req.UserID,
		Content:        content,
		Hash:           sha256.Sum256([]byte(content)),
		RecordedAt:     now,
		Metadata:       msg.Metadata,
		Salt:           newSalt(),
	}
	if e.MessageID == "" {
		e.MessageID = madeID(idempotencyKey(req), position, e.ID)
	}
	setSent(&e, msg.SentAt, now, position)
	if err := checkTime(msg.SentAt); err != nil {
		return e, fmt.Errorf("sent at: %w", err)
	}
	return e, setExpiry(&e, msg.ExpiresAt, req.ExpiresAt)
}

// setExpiry takes the message's own expiry, else the request's.
func setExpiry(e *memory.Episode, own, shared time.Time) error {
	if own.IsZero() {
		own = shared
	}
	if own.IsZero() {
		return nil
	}
	e.ExpiresAt = memory.Time(own)
	if err := checkTime(own); err != nil {
		return fmt.Errorf("%w: %w", ErrExpiry, err)
	}
	return nil
}

// madeID is the id of a message that came without one: its episode's, or under
// an idempotency key one made from it, so that a repeated call is recognised
// even if the first one was stored and did not get as far as its key.
func madeID(key string, position int, episodeID string) string {
	if key == "" {
		return episodeID
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(position) + "/" + key))
	return hex.EncodeToString(sum[:16])
}

func setSent(e *memory.Episode, sentAt, now time.Time, position int) {
	if sentAt.IsZero() {
		e.SentAt = now.Add(time.Duration(position) * time.Microsecond)
		e.Estimated = true
		return
	}
	_, e.SentOffset = sentAt.Zone()
	e.SentAt = memory.Time(sentAt)
}

// checkTime keeps times to those that RFC 3339 can write, in UTC and in their
// own zone: years 1 to 9999 and an offset under a day.
func checkTime(sentAt time.Time) error {
	for _, t := range []time.Time{sentAt, sentAt.UTC()} {
		if _, err := t.MarshalText(); err != nil || t.Year() < 1 {
			return errors.New("not a time that RFC 3339 can write: year 1 to 9999, offset under a day")
		}
	}
	return nil
}

// newSalt makes the salt of one row; it dies with the row.
func newSalt() []byte {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails: see crypto/rand.Read
	return salt
}

// speaks returns for whom a message's "I" stands: the user for a user message
// without a name or with the user's, a person for any other name, nobody for
// other roles. Source: design section 5.
func speaks(e *memory.Episode, userID, userName string) memory.Subject {
	if e.Role != memory.RoleUser {
		return memory.Subject{}
	}
	if e.UserID != "" && e.UserID != userID { // another member, in shared memory
		return memory.Subject{Type: "person", Name: memory.FoldName(cmp.Or(e.Speaker, e.UserID))}
	}
	name := memory.FoldName(e.Speaker)
	if name == "" || name == memory.FoldName(userID) || (userName != "" && name == memory.FoldName(userName)) {
		return memory.UserSubject
	}
	return memory.Subject{Type: "person", Name: name}
}

// sessionGap ends a session that the caller did not name. Source: design section 3.
const sessionGap = 30 * time.Minute
