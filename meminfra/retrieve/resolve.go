package retrieve

import (
	"context"
	"time"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// resolved is a row as SQL has it now.
type resolved struct {
	Record
	attr index.Attr
}

// resolve reads rows from SQL. A key that SQL no longer has is left out.
func (rd *Reading) resolve(ctx context.Context, p memory.Partition, keys []index.Key, at time.Time) (map[index.Key]*resolved, error) {
	out := make(map[index.Key]*resolved, len(keys))
	_, err := rd.resolveInto(ctx, out, p, keys, at, nil)
	return out, err
}

// resolveInto is resolve into a map, and appends a trace in the same round trip.
func (rd *Reading) resolveInto(ctx context.Context, out map[index.Key]*resolved, of memory.Partition, keys []index.Key, at time.Time, trace *memory.Trace) (traceErr, err error) {
	p := storage.ResolveParams{Partition: of.ID(), Trace: trace}
	for _, k := range keys {
		if k.Owner == index.Item {
			p.Items = append(p.Items, k.ID)
		} else {
			p.Episodes = append(p.Episodes, k.ID)
		}
	}
	got, err := rd.Store.Resolve(ctx, p)
	if err != nil {
		return nil, err
	}
	shown, err := rd.Show(ctx, of.ID(), got.Items, at)
	if err != nil {
		return nil, err
	}
	for i := range got.Items {
		a := itemAttr(&got.Items[i].Item, got.Items[i].States)
		a.ConversationID, a.Sources = shown[i].ConversationID, evidenceEpisodes(got.Items[i].Evidence)
		out[a.Key] = &resolved{shown[i], a}
	}
	for i := range got.Episodes {
		e := &got.Episodes[i]
		a := episodeAttr(e, !rd.Rights.Owns(e.UserID) && rd.IsPrivate(e)) // his own he may see in any case
		rec := EpisodeRecord(e)
		rec.label(of, e.UserID)
		out[a.Key] = &resolved{rec, a}
	}
	return got.TraceErr, nil
}

func evidenceEpisodes(list []storage.EvidenceRecord) []string {
	ids := make([]string, len(list))
	for i, e := range list {
		ids[i] = e.EpisodeID
	}
	return ids
}

// itemRecord shows an item by its last state. Words that came through what he
// may not see are left out, though they support it.
func (rd *Reading) itemRecord(r *storage.ItemRecord) Record {
	state := r.Present()
	out := Record{
		ID:          r.ID,
		Kind:        r.Kind,
		Text:        r.Text,
		Authority:   r.Authority,
		Status:      state.Status,
		Predicate:   r.Predicate,
		Value:       r.Value,
		ValidFrom:   optional(state.Valid.From),
		ValidTo:     optional(state.Valid.To),
		Evidence:    make([]EvidenceRef, 0, len(r.Evidence)),
		Subject:     r.Subject,
		Polarity:    r.Polarity,
		EventAt:     r.Stated.From,
		RecordedAt:  r.RecordedAt,
		Seq:         r.Seq,
		Supersedes:  r.Supersedes,
		Metadata:    r.Metadata,
		DerivedFrom: r.DerivedFrom,
	}
	for i, e := range r.Evidence {
		if i == 0 {
			out.ConversationID = e.ConversationID
		}
		if rd.through(e.AgentID, e.ResourceID) && !memory.Expired(e.ExpiresAt, rd.at) {
			out.Evidence = append(out.Evidence, EvidenceRef{EpisodeID: e.EpisodeID, MessageID: e.MessageID, Quote: e.Quote})
		}
	}
	out.share(r.Scope.Visibility, r.Scope.TeamID, r.Scope.UserID)
	return out
}

// EpisodeRecord shows an episode: it is its own evidence.
func EpisodeRecord(e *memory.Episode) Record {
	return Record{
		ID:             e.ID,
		Kind:           memory.KindEpisode,
		Text:           e.Content,
		Authority:      e.Role.Authority(),
		Status:         memory.StatusActive,
		ValidFrom:      optional(e.SentAt),
		Evidence:       []EvidenceRef{{EpisodeID: e.ID, MessageID: e.MessageID, Quote: e.Content}},
		Polarity:       memory.Positive,
		ConversationID: e.ConversationID,
		Speaker:        e.Speaker,
		EventAt:        e.SentAt,
		RecordedAt:     e.RecordedAt,
		Seq:            e.Seq,
		Metadata:       e.Metadata,
	}
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
