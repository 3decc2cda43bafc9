package retrieve

import (
	"context"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Load returns the loader with which an index manager reads SQL: the rows of a
// partition written after a change number, with vectors of one model only.
// isPrivate is that of a Retriever.
func Load(store storage.Reader, model string, dim int, isPrivate func(*memory.Episode) bool) func(context.Context, string, int64) (index.Delta, error) {
	return func(ctx context.Context, partition string, since int64) (index.Delta, error) {
		c, err := store.Changes(ctx, storage.ChangesParams{Partition: partition, Since: since, Model: model})
		if err != nil {
			return index.Delta{}, err
		}
		return index.Delta{Change: c.Head.Change, Reset: c.Reset, Model: model, Dim: dim, Rows: rows(c, isPrivate)}, nil
	}
}

// rows makes index rows of episodes and items; the index puts them in order.
func rows(c storage.Changes, isPrivate func(*memory.Episode) bool) []index.Row {
	vectors := make(map[index.Key][]float32, len(c.Embeddings))
	for _, e := range c.Embeddings {
		if e.Part == 0 && len(e.Vector) > 0 {
			vectors[ownerKey(e.OwnerKind, e.OwnerID)] = e.Vector
		}
	}
	list := make([]index.Row, 0, len(c.Episodes)+len(c.Items))
	for i := range c.Episodes {
		a := episodeAttr(&c.Episodes[i], isPrivate(&c.Episodes[i]))
		a.Marks = uint8(readMarks(c.Episodes[i].Content))
		list = append(list, index.Row{Attr: a, Text: episodeText(&c.Episodes[i]), Vector: vectors[a.Key]})
	}
	for i := range c.Items {
		a := itemAttr(&c.Items[i].Item, c.Items[i].States)
		a.Utility = utility(c.Items[i].Counters) - 0.5
		a.Sources, a.ConversationID = c.Items[i].Sources, c.Items[i].Conversation
		a.Marks = uint8(readMarks(c.Items[i].Text))
		list = append(list, index.Row{Attr: a, Text: itemText(&c.Items[i].Item), Vector: vectors[a.Key]})
	}
	return list
}

func ownerKey(kind memory.OwnerKind, id string) index.Key {
	if kind == memory.OwnerItem {
		return index.Key{Owner: index.Item, ID: id}
	}
	return index.Key{Owner: index.Episode, ID: id}
}

// episodeText is what the word index sees of an episode. Source: design
// section 7 (speaker: text [caption]; captions are part of the content).
func episodeText(e *memory.Episode) string {
	if e.Speaker == "" {
		return e.Content
	}
	return e.Speaker + ": " + e.Content
}

// itemText is what the word index sees of an item: who it is about, what it
// says, and its relation in words, so that "database preference" finds it.
func itemText(i *memory.Item) string {
	if i.Subject.Name == "" {
		return i.Text
	}
	return i.Subject.Name + ": " + i.Text
}

func episodeAttr(e *memory.Episode, private bool) index.Attr {
	return index.Attr{
		Key:            index.Key{Owner: index.Episode, ID: e.ID},
		Seq:            e.Seq,
		Kind:           string(memory.KindEpisode),
		Authority:      int8(e.Role.Authority()),
		Polarity:       int8(memory.Positive),
		UserID:         e.UserID,
		AgentID:        e.AgentID,
		ResourceID:     e.Source,
		Private:        private,
		At:             e.SentAt,
		RecordedAt:     e.RecordedAt,
		ExpiresAt:      e.ExpiresAt,
		Role:           string(e.Role),
		Speaker:        e.Speaker,
		ConversationID: e.ConversationID,
		SessionID:      e.SessionID,
		MessageID:      e.MessageID,
		Metadata:       e.Metadata,
	}
}

func itemAttr(i *memory.Item, states []memory.State) index.Attr {
	at := i.Stated.From
	if at.IsZero() {
		at = i.RecordedAt
	}
	a := index.Attr{
		Key:         index.Key{Owner: index.Item, ID: i.ID},
		Seq:         i.Seq,
		Kind:        string(i.Kind),
		Authority:   int8(i.Authority),
		Polarity:    int8(i.Polarity),
		Shareable:   i.Shareable,
		Visibility:  string(i.Scope.Visibility),
		UserID:      i.Scope.UserID,
		TeamID:      i.Scope.TeamID,
		AgentID:     i.Scope.AgentID,
		Private:     i.Kind == memory.KindPreference,
		At:          at,
		RecordedAt:  i.RecordedAt,
		ExpiresAt:   i.ExpiresAt,
		States:      make([]index.State, len(states)),
		SubjectType: i.Subject.Type,
		SubjectName: i.Subject.Name,
		Predicate:   i.Predicate,
		Value:       i.Value,
		ValueID:     i.ValueID,
		FactKey:     i.FactKey,
		Importance:  i.Importance,
		Confidence:  i.Confidence,
		Metadata:    i.Metadata,
		DerivedFrom: i.DerivedFrom,
	}
	for _, o := range i.Origins {
		if o.Kind == memory.OriginAgent {
			a.Agents = append(a.Agents, o.Name)
		} else {
			a.Resources = append(a.Resources, o.Name)
		}
	}
	for n, s := range states {
		a.States[n] = index.State{Status: string(s.Status), From: s.Valid.From, To: s.Valid.To,
			SystemFrom: s.SystemFrom, SystemTo: s.SystemTo, HoldsSlot: s.HoldsSlot}
	}
	return a
}
