package memory

import (
	"crypto/sha256"
	"time"
)

// Episode is one message as it was said: the stored, hashed, immutable copy
// that every item's evidence points into.
type Episode struct {
	Partition      string
	ID             string
	ConversationID string
	SessionID      string // a run of episodes in the conversation
	MessageID      string // the caller's id, unique in the conversation
	Seq            int64  // order within the partition, gapless with items
	Change         int64  // the partition's change number that wrote it

	Role    Role
	Speaker string // the name given with the message, "" for the user himself
	Source  string // the tool or document, for those roles
	AgentID string
	UserID  string // who added it

	Content    string
	Hash       [sha256.Size]byte // SHA-256 of Content as stored
	SentAt     time.Time
	SentOffset int  // seconds east of UTC in which SentAt was said
	Estimated  bool // SentAt was missing and comes from the clock
	RecordedAt time.Time
	Metadata   Metadata
	ExpiresAt  time.Time // zero: never; items made of it expire with it
	Salt       []byte
}
