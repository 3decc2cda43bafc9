package retrieve

import (
	"context"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/internal/pages"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Load returns the loader with which an index manager reads SQL: the rows of a
// partition written after a change number, with vectors of one model only.
// isPrivate is that of a Retriever.
func Load(store storage.Reader, model string, dim int, isPrivate func(*memory.Episode) bool) index.LoadFunc {
	return func(ctx context.Context, partition string, since int64, early func(index.Delta)) (index.Delta, error) {
		var d index.Delta
		take := func(c storage.Changes) {
			d = index.Delta{Change: c.Head.Change, Reset: c.Reset, Model: model, Dim: dim, Rows: rows(c, isPrivate)}
		}
		p := storage.ChangesParams{Partition: partition, Since: since, Model: model}
		if early != nil {
			p.Rows = func(c storage.Changes) { take(c); early(d) }
		}
		c, err := store.Changes(ctx, p)
		if err != nil {
			return index.Delta{}, err
		}
		if d.Rows == nil || d.Change != c.Head.Change {
			take(c)
		}
		setVectors(d.Rows, c.Embeddings)
		return d, nil
	}
}

// setVectors gives the rows their vectors.
func setVectors(list []index.Row, embeddings []memory.Embedding) {
	vectors := make(map[index.Key][]float32, len(embeddings))
	for i := range embeddings {
		if e := &embeddings[i]; e.Part == 0 && len(e.Vector) > 0 {
			vectors[ownerKey(e.OwnerKind, e.OwnerID)] = e.Vector
		}
	}
	for i := range list {
		list[i].Vector = vectors[list[i].Key]
	}
}

// rows makes index rows of episodes and items, in the order of both, without
// their vectors.
func rows(c storage.Changes, isPrivate func(*memory.Episode) bool) []index.Row {
	list := pages.Make[index.Row](len(c.Episodes) + len(c.Items))
	episodes, items := c.Episodes, c.Items
	for len(episodes)+len(items) > 0 {
		list = append(list, index.Row{})
		row := &list[len(list)-1]
		if len(items) == 0 || len(episodes) > 0 && episodes[0].Seq < items[0].Seq {
			episodeRow(row, &episodes[0], isPrivate(&episodes[0]))
			episodes = episodes[1:]
		} else {
			itemRow(row, &items[0])
			items = items[1:]
		}
	}
	return list
}

func episodeRow(row *index.Row, e *memory.Episode, private bool) {
	row.Attr = episodeAttr(e, private)
	row.Marks = uint8(readMarks(e.Content))
	row.Text = episodeText(e)
}

func itemRow(row *index.Row, i *storage.ItemStates) {
	row.Attr = itemAttr(&i.Item, i.States)
	row.Utility = utility(i.Counters) - 0.5
	row.Sources, row.ConversationID = i.Sources, i.Conversation
	row.Marks = uint8(readMarks(i.Text))
	row.Text = itemText(&i.Item)
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
		UserID:      i.Scope.UserID,
		AgentID:     i.Scope.AgentID,
		Private:     i.Kind == memory.KindPreference,
		At:          at,
		RecordedAt:  i.RecordedAt,
		ExpiresAt:   i.ExpiresAt,
		States:      make([]index.State, len(states)),
		SubjectType: i.Subject.Type,
		SubjectName: i.Subject.Name,
		Predicate:   i.Predicate,
		ValueID:     i.ValueID,
		FactKey:     i.FactKey,
		Importance:  i.Importance,
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
			SystemFrom: s.SystemFrom, SystemTo: s.SystemTo}
	}
	return a
}
