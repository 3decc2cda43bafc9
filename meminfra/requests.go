package meminfra

import (
	"time"

	"github.com/meminfra/memory-layer/fusion"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
)

// Message is one turn of a conversation as the caller has it.
type Message struct {
	// ID is the caller's id of the message, unique in its conversation; ""
	// makes a fresh one, and then adding the message again adds it twice, unless
	// the call has an idempotency key.
	ID string
	// Role is who speaks; "" means user.
	Role memory.Role
	// Name is the speaker's name. A user message without a name, or whose
	// name is the user's name or id, speaks as the user; any other name is a
	// person of that name.
	Name string
	// Source names the tool or document, for those roles: a resource. A reply of
	// an assistant that rests on one names it too. Once agents are granted to the
	// user, what came from a resource is seen by whom an agent reaches it for.
	Source  string
	Content string
	// SentAt is when it was said; its time zone is kept. Zero takes the clock
	// plus the position in microseconds and marks the episode as estimated.
	SentAt time.Time
	// Metadata is kept with the episode and inherited by items made from it.
	Metadata memory.Metadata
	// ExpiresAt is when the message and what is made of it alone are to be
	// forgotten: from then on no read shows them, and the next Sweep erases
	// them. Zero takes that of the request.
	ExpiresAt time.Time
}

// AddRequest asks to remember messages of one conversation. Limits: 1,000
// messages, 1 MiB each, ids of 256 bytes.
type AddRequest struct {
	UserID         string // required
	ConversationID string // required
	Messages       []Message
	// UserName is what the user is called, if messages carry names.
	UserName string
	// SessionID groups messages into a session; "" continues the session of
	// the nearest message within 30 minutes, else begins a new one.
	SessionID string
	// AgentID is the agent through which it came: once agents are granted to the
	// user, what came through one is seen by whom it is granted to.
	AgentID string
	// TeamID remembers it for a team, of which the user must be a member; Public
	// for everybody of the tenant. Neither is for the user alone. A preference is
	// never shared: it is rejected, and so is what only sounds like one.
	TeamID string
	Public bool
	// IdempotencyKey makes a repeated call return the first one's result.
	IdempotencyKey string
	// ExpiresAt is for messages without one of their own; zero is never.
	ExpiresAt time.Time
	// DryRun decides everything and writes nothing.
	DryRun bool
}

// AddResult is what an Add did. In JSON it is the documented add document.
type AddResult struct {
	Episodes   []StoredEpisode `json:"episodes"`
	Actions    []ActionTaken   `json:"actions"`
	Rejections []Rejection     `json:"rejections"`
	Usage      []llm.Line      `json:"usage"` // of models, by operation and model
	// Degraded says in words what did not work as it should.
	Degraded []string `json:"-"`
}

// StoredEpisode names an episode of the call, in message order. Known is true
// for one that had been stored before.
type StoredEpisode struct {
	ID        string `json:"id"`
	MessageID string `json:"message_id"`
	Known     bool   `json:"-"`
}

// ActionTaken is one decision. ItemID is the item that carries what was said,
// new or found; SupersededID the item that it closed: replaced by SUPERSEDE,
// ended by RETRACT, "" otherwise.
type ActionTaken struct {
	Action       memory.Action `json:"action"`
	ItemID       string        `json:"item_id"`
	Text         string        `json:"text"`
	Predicate    string        `json:"predicate"`
	Value        string        `json:"value"`
	SupersededID string        `json:"superseded_id"`
	Reason       string        `json:"reason"`
	// Guards names what was rewritten or refused of a model's proposal about it;
	// see package reconcile. Empty for a decision made without a model.
	Guards []string `json:"guards"`
}

// Rejection is a candidate that was not stored, and why.
type Rejection struct {
	EpisodeID string `json:"episode_id"`
	MessageID string `json:"message_id"`
	Predicate string `json:"predicate"`
	Reason    string `json:"reason"`
}

// SearchRequest asks for what is remembered about a query.
type SearchRequest struct {
	UserID string // required
	Query  string // required, not blank, at most 8 KiB
	// Limit is the number of hits wanted: 0 means 10, over 100 means 100,
	// negative is ErrLimit.
	Limit   int
	Filters Filters
	// SkipIntent leaves out the inferred hint for the structured branch.
	SkipIntent bool
	// Fusion merges the branches by rank; nil is fusion.Default, discounted
	// agreement.
	Fusion fusion.Strategy
	// SkipContext leaves the order to fusion alone: no neighbours, no session, no
	// speaker, no date. SkipPriors gives nothing to what is recent.
	SkipContext bool
	SkipPriors  bool
	// SharedLimit is the most hits from team and public memory, apart from
	// the caller's own: 0 means 3, negative none.
	SharedLimit int
}

// GetRequest names one item or episode.
type GetRequest struct {
	UserID string
	ID     string
}

// ListRequest asks for a page of items, newest first. Set Filters.Kind to
// "episode" to list episodes.
type ListRequest struct {
	UserID string
	// TeamID lists the memory of a team of his, Public that of everybody,
	// instead of his own.
	TeamID  string
	Public  bool
	Filters Filters
	Limit   int    // 0 means 50, over 1000 means 1000, negative is ErrLimit
	Cursor  string // Next of the page before; "" begins
}

// ListResult is a page. Next is "" on the last one.
type ListResult struct {
	Records []Record `json:"items"`
	Next    string   `json:"next"`
}

// HistoryRequest names an item; its whole line of versions is returned.
type HistoryRequest struct {
	UserID string
	ID     string
	// KnownAt shows the line as it was believed at that moment of system time:
	// versions and stages that came later are left out. ValidAt keeps the
	// versions that held at that moment of the world, as believed at KnownAt.
	KnownAt time.Time
	ValidAt time.Time
}

// HistoryResult is a line of versions, by world time and then by order of
// writing.
type HistoryResult struct {
	Versions []Version `json:"versions"`
}

// Version is one item of a line with all its states over system time.
type Version struct {
	Record
	Stages []Stage
}

// Stage is what was believed of a version in [KnownFrom, KnownTo).
type Stage struct {
	Status    memory.Status `json:"status"`
	ValidFrom *time.Time    `json:"valid_from"`
	ValidTo   *time.Time    `json:"valid_to"`
	KnownFrom time.Time     `json:"known_from"`
	KnownTo   *time.Time    `json:"known_to"` // nil: still believed
	Action    memory.Action `json:"action"`   // of the decision that made it
	Reason    string        `json:"reason"`
	ClosedBy  string        `json:"closed_by"` // the item that closed it, "" for none
}

// The types of the read path, as its package defines them.
type (
	SearchFilters = retrieve.Filters
	Filters       = retrieve.Filters
	Where         = retrieve.Where
	SearchResult  = retrieve.Result
	SearchHit     = retrieve.Hit
	Record        = retrieve.Record
	EvidenceRef   = retrieve.EvidenceRef
)
