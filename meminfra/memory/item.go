package memory

import (
	"cmp"
	"slices"
	"time"
)

// Kind is the kind of an item. The memory layer brief's types map onto it:
// event and experience are episodic, the rest semantic.
type Kind string

// The kinds of items, and the kind under which an episode is returned as a hit.
const (
	KindFact       Kind = "fact"
	KindPreference Kind = "preference"
	KindEvent      Kind = "event"
	KindExperience Kind = "experience"
	KindSummary    Kind = "summary"
	KindEpisode    Kind = "episode"
)

// Status is where an item stands at a moment of system time.
type Status string

// The statuses. Ended means that it was true and no longer is; withdrawn that
// its owner says it never was.
const (
	StatusActive     Status = "active"
	StatusSuperseded Status = "superseded"
	StatusEnded      Status = "ended"
	StatusWithdrawn  Status = "withdrawn"
	StatusArchived   Status = "archived"
)

// Polarity tells an assertion from a negation.
type Polarity int8

// The polarities.
const (
	Negative Polarity = -1
	Positive Polarity = 1
)

// Action is what a decision does. UPDATE and DELETE of the papers are
// SUPERSEDE and RETRACT here.
type Action string

// The actions.
const (
	ActionAdd       Action = "ADD"
	ActionNoop      Action = "NOOP"
	ActionSupersede Action = "SUPERSEDE"
	ActionRetract   Action = "RETRACT"
)

// Subject is whom or what an item is about. Name is folded (see FoldName) and
// empty for the user, whose partition says who that is.
type Subject struct {
	Type string // user, person, project, organisation, pet
	Name string
}

// UserSubject is the user whose partition it is.
var UserSubject = Subject{Type: "user"}

// Visibility says who may read an item besides its owner.
type Visibility string

// The visibilities.
const (
	VisibilityPrivate Visibility = "private"
	VisibilityTeam    Visibility = "team"
	VisibilityPublic  Visibility = "public"
)

// Scope is the owner of an item and who may read it.
type Scope struct {
	UserID     string
	AgentID    string
	TeamID     string
	Visibility Visibility
}

// Item is one immutable memory version. What changes over time (status, the
// interval in which it holds) is in its states.
type Item struct {
	Partition string
	ID        string
	Seq       int64
	Change    int64

	Kind      Kind
	Text      string
	Subject   Subject
	Predicate string // canonical, or the label given for open memory
	Value     string // as shown
	ValueID   string // canonical identity; "" without a value
	FactKey   string // "" for open-world items
	TextKey   string // NormalText(Text), kept as a hash only: empty when read back
	Polarity  Polarity

	Authority   Authority
	Scope       Scope
	Stated      Validity // as stated by its founding evidence
	Vague       Vague
	ExpiresAt   time.Time
	Supersedes  string // the version before it in its line
	Root        string // the first version of its line; its own id for the first
	DerivedFrom []string
	Origins     []Origin // agents and resources that it came through, by kind and name

	Importance  float64
	Confidence  float64
	Shareable   bool
	Contributor string
	Metadata    Metadata
	RecordedAt  time.Time
	Decision    string
	Salt        []byte
}

// Origin is an agent or a resource that an item came through; a derived item
// has those of all its sources. Whoever may not see one may not see the item.
type Origin struct {
	Kind string // OriginAgent or OriginResource
	Name string
}

// The kinds of origins.
const (
	OriginAgent    = "agent"
	OriginResource = "resource"
)

// SortOrigins returns them by kind and name, each once: as they are stored.
func SortOrigins(list []Origin) []Origin {
	list = slices.Clone(list)
	slices.SortFunc(list, func(x, y Origin) int { return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name)) })
	return slices.Compact(list)
}

// State is an item's status and world interval over a stretch of system time
// [SystemFrom, SystemTo). The one with a zero SystemTo is the present belief.
type State struct {
	Partition  string
	ItemID     string
	N          int    // from 1
	FactKey    string // of the item: at most one open holder for each
	Change     int64
	Status     Status
	Valid      Validity
	HoldsSlot  bool   // holds its fact key in Valid
	Cause      string // the item whose arrival made this state, "" for the first
	Reason     string
	SystemFrom time.Time
	SystemTo   time.Time
	Decision   string
	Salt       []byte
}

// Current reports whether the state makes its item current at t: active, valid
// at t and not expired.
func (s State) Current(expiresAt, t time.Time) bool {
	return s.Status == StatusActive && s.Valid.Contains(t) && !Expired(expiresAt, t)
}

// KnownAt reports whether the state was believed at t.
func (s State) KnownAt(t time.Time) bool {
	return !t.Before(s.SystemFrom) && (s.SystemTo.IsZero() || t.Before(s.SystemTo))
}

// Evidence ties an item to the words that support it (or, with a polarity
// other than the item's, that ended it).
type Evidence struct {
	Partition string
	ItemID    string
	N         int // from 1
	Change    int64
	EpisodeID string
	Quote     string
	Start     int // half-open byte offsets into the stored content
	End       int
	Full      bool // a full witness: states the whole proposition by itself
	Lead      int  // of a needed part: N of the first part of its witness; 0 for a full one
	Polarity  Polarity
	Authority Authority // of the quoted message's role
	Stated    Validity  // the interval this witness states
	At        time.Time // when it was tied to the item, in system time
	Salt      []byte
}

// Conflict records that two items say different things and neither replaced the
// other. It is shown on both.
type Conflict struct {
	Partition string
	ItemID    string
	OtherID   string
	Reason    string
	Decision  string
	At        time.Time
	Change    int64
	Salt      []byte
}

// Decision is what was done about one candidate, and why. Inputs hold ids only.
type Decision struct {
	Partition    string
	ID           string
	Change       int64
	Operation    string // add, edit, withdraw, ...
	Action       Action
	ItemID       string
	SupersededID string
	EpisodeID    string
	Reason       string
	Inputs       []string // ids of the items that were weighed
	Guards       []string // guards that fired
	Extractor    string
	Model        string
	PromptHash   string
	At           time.Time
	Salt         []byte
}
