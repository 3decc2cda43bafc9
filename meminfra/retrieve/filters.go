package retrieve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// ErrFilter: a filter that does not say anything that can be checked. It is
// never taken for "no filter".
var ErrFilter = errors.New("invalid filter")

// History says which versions a read sees.
type History string

// The history modes. The zero value lets the question decide: current ones,
// unless the inferred intent is historical. Include adds versions that are no
// longer current; all adds those that their owner withdrew.
const (
	HistoryDefault History = ""
	HistoryInclude History = "include"
	HistoryExclude History = "exclude"
	HistoryAll     History = "all"
)

// Filters are the caller's hard constraints, all of them, in every branch.
// The zero value of a field constrains nothing.
type Filters struct {
	// Kind keeps one kind; "episode" keeps episodes.
	Kind memory.Kind `json:"kind,omitempty"`
	// MemoryType is the memory layer brief's alias: "semantic" keeps facts,
	// preferences and summaries, "episodic" events, experiences and episodes.
	MemoryType string `json:"memory_type,omitempty"`
	// Predicate keeps items with this predicate; aliases are resolved.
	Predicate string `json:"predicate,omitempty"`
	// SubjectType and SubjectName keep items about that subject.
	SubjectType string `json:"subject_type,omitempty"`
	SubjectName string `json:"subject_name,omitempty"`
	// Value keeps items whose value is the same once canonical. It needs Predicate.
	Value   string `json:"value,omitempty"`
	FactKey string `json:"fact_key,omitempty"`
	// ConversationID keeps episodes of that conversation and items first said in it.
	ConversationID string `json:"conversation_id,omitempty"`
	AgentID        string `json:"agent_id,omitempty"`
	// MinAuthority keeps this authority and stronger: authorized, attested, unendorsed.
	MinAuthority string `json:"min_authority,omitempty"`
	// From and To keep what was said (episodes) or began to hold (items) in [From, To).
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// ValidAt asks what held at that moment of the world, KnownAt what was
	// believed at that moment. With KnownAt alone, validity is judged at KnownAt.
	ValidAt time.Time `json:"valid_at,omitzero"`
	KnownAt time.Time `json:"known_at,omitzero"`
	// Metadata is a condition on metadata fields.
	Metadata *Where `json:"metadata,omitempty"`
	// History includes versions that are no longer current, or never does.
	History History `json:"history,omitempty"`
}

// Where is a condition on metadata: either a comparison (Field, Op, Value) or
// one of And, Or, Not. Ops: eq ne gt gte lt lte (numbers with numbers, strings
// with strings; eq and ne with booleans too), in (a list), exists (true or
// false). A row without the field matches only ne, not and exists false.
type Where struct {
	Field string  `json:"field,omitempty"`
	Op    string  `json:"op,omitempty"`
	Value any     `json:"value,omitempty"`
	And   []Where `json:"and,omitempty"`
	Or    []Where `json:"or,omitempty"`
	Not   *Where  `json:"not,omitempty"`
}

// ParseFilters reads filters from JSON. A field that is unknown, given twice, or
// given without a value ("", null, the year 1) is ErrFilter: it must not be taken
// for one that is not there.
func ParseFilters(data []byte) (Filters, error) {
	var f Filters
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return Filters{}, fmt.Errorf("%w: %w", ErrFilter, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Filters{}, fmt.Errorf("%w: more than one JSON value", ErrFilter)
	}
	kept, err := json.Marshal(f)
	if err != nil {
		return Filters{}, fmt.Errorf("%w: %w", ErrFilter, err)
	}
	if members(data) != members(kept) {
		return Filters{}, fmt.Errorf("%w: a field without a value, or given twice", ErrFilter)
	}
	return f, nil
}

// members counts the objects, names and texts of a JSON document: fewer are left
// where something was passed over in reading it.
func members(data []byte) (n int) {
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.Token()
		if err != nil {
			return n
		}
		if _, isWord := token.(string); isWord || token == json.Delim('{') {
			n++
		}
	}
}

// searchableKinds are the kinds that Filters.Kind knows.
var searchableKinds = []memory.Kind{memory.KindFact, memory.KindPreference, memory.KindEvent,
	memory.KindExperience, memory.KindSummary, memory.KindEpisode}

func knownKind(k memory.Kind) bool { return slices.Contains(searchableKinds, k) }
