package retrieve

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/meminfra/memory-layer/intent"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Record is one memory as it is shown: an item or an episode. An episode has
// kind "episode", the authority of its role, and itself as evidence.
type Record struct {
	ID        string           `json:"id"`
	Kind      memory.Kind      `json:"kind"`
	Text      string           `json:"text"`
	Authority memory.Authority `json:"authority"`
	Status    memory.Status    `json:"status"`
	Predicate string           `json:"predicate"`
	Value     string           `json:"value"`
	ValidFrom *time.Time       `json:"valid_from"` // nil: unknown
	ValidTo   *time.Time       `json:"valid_to"`   // nil: open
	Evidence  []EvidenceRef    `json:"evidence"`
	Conflicts []string         `json:"conflicts"` // ids of the items that it contradicts now
	// Stale says which of the items it was made of no longer count; only
	// there for items derived from others.
	Stale []StaleCause `json:"stale,omitempty"`
	Sharing

	// What a program may want besides; not part of the search document.
	Subject        memory.Subject  `json:"-"`
	Polarity       memory.Polarity `json:"-"`
	ConversationID string          `json:"-"`
	Speaker        string          `json:"-"` // of an episode
	EventAt        time.Time       `json:"-"` // when it was said, or began to hold
	RecordedAt     time.Time       `json:"-"`
	Seq            int64           `json:"-"`
	Supersedes     string          `json:"-"`
	Metadata       memory.Metadata `json:"-"`
	DerivedFrom    []string        `json:"-"` // ids of the items that it was made of
}

// EvidenceRef points at the words that support a record.
type EvidenceRef struct {
	EpisodeID string `json:"episode_id"`
	MessageID string `json:"message_id"`
	Quote     string `json:"quote"`
}

// StaleCause is a source that no longer counts, and what became of it: its
// status, or "stale" if it is itself made of something that no longer counts.
type StaleCause struct {
	ItemID string `json:"item_id"`
	Status string `json:"status"`
}

// Rank is a place from 1; 0 means not in that branch and is null in JSON.
type Rank int

// MarshalJSON writes null for 0.
func (r Rank) MarshalJSON() ([]byte, error) {
	if r == 0 {
		return []byte("null"), nil
	}
	return []byte(strconv.Itoa(int(r))), nil
}

// Ranks are the places a hit took in each branch.
type Ranks struct {
	Structured Rank `json:"structured"`
	Lexical    Rank `json:"lexical"`
	Vector     Rank `json:"vector"`
}

// Hit is a ranked record. Score lies in [0,1]: 1 would be the first place in all
// three branches and everything else in its favour as well. Why tells its parts;
// it is not part of the search document.
type Hit struct {
	Record
	Score float64
	Ranks Ranks
	Why   Explanation
}

// MarshalJSON writes the documented hit, in its documented order of fields.
func (h Hit) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        string           `json:"id"`
		Kind      memory.Kind      `json:"kind"`
		Text      string           `json:"text"`
		Score     float64          `json:"score"`
		Ranks     Ranks            `json:"ranks"`
		Authority memory.Authority `json:"authority"`
		Status    memory.Status    `json:"status"`
		Predicate string           `json:"predicate"`
		Value     string           `json:"value"`
		ValidFrom *time.Time       `json:"valid_from"`
		ValidTo   *time.Time       `json:"valid_to"`
		Evidence  []EvidenceRef    `json:"evidence"`
		Conflicts []string         `json:"conflicts"`
		Stale     []StaleCause     `json:"stale,omitempty"`
		Sharing
	}{h.ID, h.Kind, h.Text, h.Score, h.Ranks, h.Authority, h.Status, h.Predicate,
		h.Value, h.ValidFrom, h.ValidTo, h.Evidence, append([]string{}, h.Conflicts...), h.Stale, h.Sharing})
}

// Result is the outcome of a search.
type Result struct {
	Hits    []Hit  `json:"hits"`
	Shared  []Hit  `json:"shared"` // from team and public partitions, apart
	TraceID string `json:"trace_id"`
	// Intent is the hint that fed the structured branch, nil for none.
	Intent *intent.QueryIntent `json:"intent"`
	// ByModel tells that a model was asked for the intent and answered;
	// Structured is how many rows the hint brought.
	ByModel    bool   `json:"-"`
	Structured int    `json:"-"`
	Route      string `json:"route"`
	// Trace is what was, or with Query.SkipTrace is to be, recorded.
	Trace memory.Trace `json:"-"`
	// Degraded says in words what did not work as it should, empty if all did.
	Degraded []string `json:"degraded"`
	// Usage is what the search used of models: its query's vector, its intent.
	Usage []llm.Line `json:"usage"`
}
