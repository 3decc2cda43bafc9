package memory

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Trace is one retrieval or answer: the unit of feedback. It carries no ledger
// entry and is kept for 30 days.
type Trace struct {
	Partition string
	ID        string
	Kind      string // search or answer
	Query     string
	Route     string
	Intent    string // canonical JSON of the intent used, "" for none
	Degraded  []string
	// Model and PromptHash name what made the answer, or the intent of a search:
	// the model and the wording of its prompts. Both "" if no model had a part.
	Model      string
	PromptHash string
	Rungs      []string // of the ladder that an answer tried, in order
	// Handed are the keys of the sentences that were handed out, 8 bytes each and
	// no text: what comes back is known by them. See package recall.
	Handed []byte
	At     time.Time
	Items  []TraceItem
}

// TraceItem is one result of a trace. Rank counts from 1.
type TraceItem struct {
	Rank      int       `json:"rank"`
	OwnerKind OwnerKind `json:"kind"`
	OwnerID   string    `json:"owner"`
	Shared    bool      `json:"shared,omitempty"`
	Opened    bool      `json:"opened,omitempty"`
	Cited     bool      `json:"cited,omitempty"`
	Authority Authority `json:"authority"`
	Score     float64   `json:"score"`
}

// FormatTraceItems is the stored form of a trace's items, a JSON list.
func FormatTraceItems(list []TraceItem) (string, error) {
	if len(list) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal(list)
	return string(b), err
}

// TracedOwner is what the stored form holds if and only if an item of it is the
// owner's: to look for it is faster than to parse the form.
func TracedOwner(id string) string {
	b, _ := json.Marshal(id) // a string always encodes
	return `"owner":` + string(b)
}

// TracedShared is what the stored form holds if an item of it is shared; nearly
// all traces hold no such and need not be parsed.
const TracedShared = `"shared":true`

// ParseTraceItems is the inverse of FormatTraceItems; those of his own come
// before the shared ones, by rank.
func ParseTraceItems(stored string) (list []TraceItem, err error) {
	if stored == "[]" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(stored), &list)
	slices.SortStableFunc(list, func(a, b TraceItem) int {
		switch {
		case a.Shared == b.Shared:
			return cmp.Compare(a.Rank, b.Rank)
		case b.Shared:
			return -1
		}
		return 1
	})
	return list, err
}

// TraceRetention is how long traces are kept. Source: design section 4.
const TraceRetention = 30 * 24 * time.Hour

// OwnerKind says what an embedding or a trace item belongs to.
type OwnerKind string

// The owner kinds.
const (
	OwnerEpisode OwnerKind = "episode"
	OwnerItem    OwnerKind = "item"
)

// Embedding is one vector, unit length, made by a named model, or an empty one
// for a text in which the model found nothing. Vectors of two models are never
// compared.
type Embedding struct {
	Partition string
	OwnerKind OwnerKind
	OwnerID   string
	Part      int // from 0, for owners embedded in parts
	Model     string
	Vector    []float32
	Change    int64
}

// ExtractionStatus is how far the extraction of one episode has come.
// "Nothing worth keeping" (empty) and "could not tell" (failed) differ.
type ExtractionStatus string

// The extraction statuses.
const (
	ExtractionPending ExtractionStatus = "pending"
	ExtractionDone    ExtractionStatus = "done"
	ExtractionEmpty   ExtractionStatus = "empty"
	ExtractionFailed  ExtractionStatus = "failed"
)

// Extraction is the state of one episode under one extractor.
type Extraction struct {
	Partition string
	EpisodeID string
	Extractor string
	Status    ExtractionStatus
	Attempts  int
	// Unread counts the attempts that could not read this very message; the others
	// failed for reasons that are not the message's, or were a success.
	Unread     int
	LeaseUntil time.Time // another writer may take it over after this
	Error      string    // a category, never text from the episode
	UpdatedAt  time.Time
}

// Grant is one event of a time-bound edge: granted or revoked. The edge's state
// at a moment is its latest event before it.
type Grant struct {
	Partition string
	ID        string
	Kind      GrantKind
	Left      string // user, agent, team
	Right     string // agent, resource, member
	Revoked   bool
	At        time.Time
	By        string
	Change    int64
	Salt      []byte
}

// Compare is the order of events: by (At, Change, ID).
func (g *Grant) Compare(other *Grant) int {
	return cmp.Or(g.At.Compare(other.At), cmp.Compare(g.Change, other.Change), cmp.Compare(g.ID, other.ID))
}

// GrantKind names an edge.
type GrantKind string

// The edges of design section 6.
const (
	GrantUserAgent     GrantKind = "user_agent"
	GrantAgentResource GrantKind = "agent_resource"
	GrantTeamMember    GrantKind = "team_member"
)

// TeamPartition is the id of the partition of a membership's team, "" for
// another kind of edge.
func (g *Grant) TeamPartition(tenant string) string {
	if g.Kind != GrantTeamMember {
		return ""
	}
	return Partition{Tenant: tenant, Kind: PartitionTeam, Name: g.Left}.ID()
}
