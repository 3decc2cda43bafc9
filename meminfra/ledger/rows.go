package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// The kinds of objects an entry names.
const (
	KindEpisode  = "episode"
	KindItem     = "item"
	KindState    = "state"
	KindClose    = "close" // setting a state's system_to
	KindEvidence = "evidence"
	KindConflict = "conflict"
	KindDecision = "decision"
	KindGrant    = "grant"
	KindFeedback = "feedback"
)

// row collects a row's covered columns in a fixed order, each with its length,
// so that no two rows share an encoding. What is hashed is what is stored and
// read back: times in microseconds, metadata in canonical JSON.
type row struct{ b []byte }

func newRow(salt []byte, kind string) *row {
	r := &row{b: make([]byte, 0, 512)}
	r.bytes(salt)
	r.text(kind)
	return r
}

func (r *row) bytes(v []byte) {
	r.b = binary.AppendUvarint(r.b, uint64(len(v)))
	r.b = append(r.b, v...)
}

func (r *row) text(list ...string) {
	for _, v := range list {
		r.b = binary.AppendUvarint(r.b, uint64(len(v)))
		r.b = append(r.b, v...)
	}
}

func (r *row) int(list ...int64) {
	for _, v := range list {
		r.b = binary.AppendVarint(r.b, v)
	}
}

func (r *row) float(v float64) {
	r.b = binary.LittleEndian.AppendUint64(r.b, math.Float64bits(v))
}

func (r *row) bool(v bool) {
	if v {
		r.int(1)
	} else {
		r.int(0)
	}
}

func (r *row) time(list ...time.Time) {
	for _, t := range list {
		r.bool(t.IsZero())
		if !t.IsZero() {
			r.int(memory.Micros(t))
		}
	}
}

func (r *row) metadata(m memory.Metadata) {
	s, err := m.Canonical()
	if err != nil {
		// Stored metadata was canonical once; what no longer is must not match.
		s = "\x00" + err.Error()
	}
	r.text(s)
}

func (r *row) object(kind, id string) memory.Object {
	sum := sha256.Sum256(r.b)
	return memory.Object{Kind: kind, ID: id, Digest: sum[:]}
}

// Episode covers every column of an episode but its change number.
func Episode(e memory.Episode) memory.Object {
	r := newRow(e.Salt, KindEpisode)
	r.text(e.ID, e.ConversationID, e.SessionID, e.MessageID, string(e.Role), e.Speaker, e.Source, e.AgentID, e.UserID, e.Content)
	r.bytes(e.Hash[:])
	r.int(e.Seq, int64(e.SentOffset))
	r.time(e.SentAt, e.RecordedAt, e.ExpiresAt)
	r.bool(e.Estimated)
	r.metadata(e.Metadata)
	return r.object(KindEpisode, e.ID)
}

// Item covers every column of an item but its change number, and its sources
// and origins.
func Item(i memory.Item) memory.Object {
	r := newRow(i.Salt, KindItem)
	r.text(i.ID, string(i.Kind), i.Text, i.Subject.Type, i.Subject.Name, i.Predicate, i.Value, i.ValueID,
		i.FactKey, i.Authority.String(), i.Scope.UserID, i.Scope.AgentID, i.Scope.TeamID,
		string(i.Scope.Visibility), i.Vague.Words, i.Supersedes, i.Root, i.Contributor, i.Decision)
	r.int(i.Seq, int64(i.Polarity), int64(len(i.DerivedFrom)))
	r.text(i.DerivedFrom...)
	r.int(int64(len(i.Origins)))
	for _, o := range memory.SortOrigins(i.Origins) {
		r.text(o.Kind, o.Name)
	}
	r.time(i.Stated.From, i.Stated.To, i.Vague.Earliest, i.Vague.Latest, i.ExpiresAt, i.RecordedAt)
	r.float(i.Importance)
	r.float(i.Confidence)
	r.bool(i.Shareable)
	r.metadata(i.Metadata)
	return r.object(KindItem, i.ID)
}

// State covers every column of a state but its change number, the hash of its
// fact key, which is its item's, and system_to, which is set later and covered
// by Close.
func State(s memory.State) memory.Object {
	r := newRow(s.Salt, KindState)
	r.text(s.ItemID, string(s.Status), s.Cause, s.Reason, s.Decision)
	r.int(int64(s.N))
	r.time(s.Valid.From, s.Valid.To, s.SystemFrom)
	r.bool(s.HoldsSlot)
	return r.object(KindState, numbered(s.ItemID, s.N))
}

// Close covers the closing of a state at a moment of system time.
func Close(s memory.State, at time.Time) memory.Object {
	r := newRow(s.Salt, KindClose)
	r.text(s.ItemID)
	r.int(int64(s.N))
	r.time(at)
	return r.object(KindClose, numbered(s.ItemID, s.N))
}

// Evidence covers every column of evidence but its change number.
func Evidence(e memory.Evidence) memory.Object {
	r := newRow(e.Salt, KindEvidence)
	r.text(e.ItemID, e.EpisodeID, e.Quote, e.Authority.String())
	r.int(int64(e.N), int64(e.Lead), int64(e.Start), int64(e.End), int64(e.Polarity))
	r.bool(e.Full)
	r.time(e.Stated.From, e.Stated.To, e.At)
	return r.object(KindEvidence, numbered(e.ItemID, e.N))
}

// Conflict covers every column of a conflict but its change number.
func Conflict(c memory.Conflict) memory.Object {
	r := newRow(c.Salt, KindConflict)
	r.text(c.ItemID, c.OtherID, c.Reason, c.Decision)
	r.time(c.At)
	return r.object(KindConflict, c.ItemID+"/"+c.OtherID)
}

// Decision covers every column of a decision but its change number.
func Decision(d memory.Decision) memory.Object {
	r := newRow(d.Salt, KindDecision)
	r.text(d.ID, d.Operation, string(d.Action), d.ItemID, d.SupersededID, d.EpisodeID, d.Reason,
		d.Extractor, d.Model, d.PromptHash)
	r.int(int64(len(d.Inputs)), int64(len(d.Guards)))
	r.text(d.Inputs...)
	r.text(d.Guards...)
	r.time(d.At)
	return r.object(KindDecision, d.ID)
}

// Grant covers every column of a grant event but its change number.
func Grant(g memory.Grant) memory.Object {
	r := newRow(g.Salt, KindGrant)
	r.text(g.ID, string(g.Kind), g.Left, g.Right, g.By)
	r.bool(g.Revoked)
	r.time(g.At)
	return r.object(KindGrant, g.ID)
}

// Feedback covers every column of feedback but its change number. Which items
// it credits is not covered: that is worked out from its trace.
func Feedback(f storage.Feedback) memory.Object {
	r := newRow(f.Salt, KindFeedback)
	r.text(f.ID, f.TraceID, f.Key)
	r.float(f.Reward)
	r.time(f.At)
	return r.object(KindFeedback, f.ID)
}

func numbered(id string, n int) string { return id + "/" + strconv.Itoa(n) }
