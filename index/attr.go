package index

import (
	"time"
	"unsafe"
)

// Owner is what a row stands for.
type Owner uint8

// The owners.
const (
	Episode Owner = 1
	Item    Owner = 2
)

// String returns "episode" or "item", the words used in SQL, and "" otherwise.
func (o Owner) String() string {
	switch o {
	case Episode:
		return "episode"
	case Item:
		return "item"
	}
	return ""
}

// Key names a row within its partition.
type Key struct {
	Owner Owner
	ID    string
}

// State is an item's status and world interval over a stretch of system time,
// as in SQL. Zero times are open ends.
type State struct {
	Status     string
	From, To   time.Time // of the world, half-open
	SystemFrom time.Time
	SystemTo   time.Time // zero for the present belief
}

// Attr is all of a row that can be filtered or ranked by without SQL. Fields
// that do not apply to the owner are zero. Times are UTC.
type Attr struct {
	// What ranking asks of hundreds of rows, which lie anywhere in memory, stands
	// together at the start.

	Key
	Seq       int64     // order within the partition; the last tie-break
	At        time.Time // said at (episode), event time (item)
	Authority int8
	Polarity  int8
	// Marks tell what the text looks like, in bits that whoever fills the index
	// gives a meaning.
	Marks uint8
	// Private rows are for UserID alone, wherever they are.
	Private bool
	Kind    string
	// Utility is what feedback says for an item, from -0.5 to 0.5; 0 without any.
	Utility    float64
	Importance float64

	UserID     string
	AgentID    string
	ResourceID string // of episodes: the tool or document it came from
	// Agents and Resources are what an item came through, all of them.
	Agents, Resources []string

	RecordedAt time.Time
	ExpiresAt  time.Time
	States     []State // of items, oldest first; none for episodes
	// DerivedFrom names the items that this one was made of.
	DerivedFrom []string

	SubjectType string
	SubjectName string
	Predicate   string
	ValueID     string
	FactKey     string

	Role           string
	Speaker        string
	ConversationID string
	SessionID      string

	// Sources are the episodes that support an item, none for episodes. It was made
	// from the first.
	Sources []string

	Metadata map[string]any // JSON values; read only
}

// bytes estimates what the row costs in memory, the key in the look-up table
// included.
func (a *Attr) bytes() int64 {
	const keyEntry = 48
	n := int(unsafe.Sizeof(*a)) + keyEntry + len(a.States)*int(unsafe.Sizeof(State{}))
	for _, s := range []string{
		a.ID, a.Kind, a.UserID, a.AgentID, a.ResourceID, a.SubjectType, a.SubjectName,
		a.Predicate, a.ValueID, a.FactKey, a.Role, a.Speaker, a.ConversationID, a.SessionID,
	} {
		n += len(s)
	}
	for _, list := range [][]string{a.DerivedFrom, a.Sources, a.Agents, a.Resources} {
		for _, s := range list {
			n += int(unsafe.Sizeof(s)) + len(s)
		}
	}
	for k, v := range a.Metadata {
		n += len(k) + valueBytes(v)
	}
	return int64(n)
}

// Source is the episode that an item was made from, "" for none.
func (a *Attr) Source() string {
	if len(a.Sources) == 0 {
		return ""
	}
	return a.Sources[0]
}

// valueBytes estimates the memory of one decoded JSON value in a map.
func valueBytes(v any) int {
	const cell = 40 // key header, interface and map slot
	n := cell
	switch v := v.(type) {
	case string:
		n += len(v)
	case []any:
		for _, e := range v {
			n += valueBytes(e)
		}
	case map[string]any:
		for k, e := range v {
			n += len(k) + valueBytes(e)
		}
	}
	return n
}

// Row is a row as it comes from SQL. Text is what the word engine sees
// ("speaker: text [caption]"), "" for none. Vector is nil for none.
type Row struct {
	Attr
	Text   string
	Vector []float32
}

// Delta is what has changed since a watermark.
type Delta struct {
	// Change is the watermark once the delta is applied.
	Change int64
	// Model and Dim name the embedding model of the vectors and their length.
	// Dim 0 takes the length of the first vector.
	Model string
	Dim   int
	// Rows are put in by key: new, or in place of what was there.
	Rows []Row
	// Deleted rows go before Rows come. Unknown keys are fine.
	Deleted []Key
	// Reset says that Rows are all rows there are.
	Reset bool

	own bool // the index may keep Rows as they are, and empties their texts and vectors
}
