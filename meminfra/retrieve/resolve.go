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
	attr     index.Attr
	episodes []string // of its evidence
}

// resolve reads rows from SQL. A key that SQL no longer has is left out.
func (r *Retriever) resolve(ctx context.Context, partition string, keys []index.Key, at time.Time) (map[index.Key]resolved, error) {
	var items, episodes []string
	for _, k := range keys {
		if k.Owner == index.Item {
			items = append(items, k.ID)
		} else {
			episodes = append(episodes, k.ID)
		}
	}
	out := make(map[index.Key]resolved, len(keys))
	if len(items) > 0 {
		list, err := r.Store.Items(ctx, partition, items)
		if err != nil {
			return nil, err
		}
		shown, err := r.Show(ctx, partition, list, at)
		if err != nil {
			return nil, err
		}
		for i := range list {
			a := itemAttr(&list[i].Item, list[i].States)
			a.ConversationID = shown[i].ConversationID
			out[a.Key] = resolved{shown[i], a, evidenceEpisodes(list[i].Evidence)}
		}
	}
	if len(episodes) > 0 {
		list, err := r.Store.Episodes(ctx, partition, episodes)
		if err != nil {
			return nil, err
		}
		for i := range list {
			a := episodeAttr(&list[i])
			out[a.Key] = resolved{EpisodeRecord(&list[i]), a, nil}
		}
	}
	return out, nil
}

func evidenceEpisodes(list []storage.EvidenceRecord) []string {
	ids := make([]string, len(list))
	for i, e := range list {
		ids[i] = e.EpisodeID
	}
	return ids
}

// itemRecord shows an item as it was believed at a moment of system time; the
// zero time asks for the present belief.
func itemRecord(r *storage.ItemRecord, knownAt time.Time) Record {
	state := r.Present()
	for _, s := range r.States {
		if !knownAt.IsZero() && s.KnownAt(knownAt) {
			state = s
		}
	}
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
		Evidence:    make([]EvidenceRef, len(r.Evidence)),
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
		out.Evidence[i] = EvidenceRef{EpisodeID: e.EpisodeID, MessageID: e.MessageID, Quote: e.Quote}
		if i == 0 {
			out.ConversationID = e.ConversationID
		}
	}
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
