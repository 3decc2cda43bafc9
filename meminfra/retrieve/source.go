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
	return func(ctx context.Context, partition string, since int64, early *index.Early) (index.Delta, error) {
		var d index.Delta
		take := func(c storage.Changes) {
			d = index.Delta{Change: c.Head.Change, Model: model, Dim: dim, Rows: rows(c, isPrivate)}
		}
		p := storage.ChangesParams{Partition: partition, Since: since, Model: model}
		if early != nil {
			p.Rows = func(c storage.Changes) { take(c); early.Rows(d) }
			if early.Vectors != nil {
				p.Vectors = func(change int64, n int) func(*memory.Embedding) error {
					to := early.Vectors(change, dim, n)
					return handing(func(k index.Key, vec []float32) error { to(k, vec); return nil })
				}
			}
		}
		c, err := store.Changes(ctx, p)
		if err == nil && c.Reset {
			err = index.ErrReset
		}
		if err != nil {
			return index.Delta{}, err
		}
		if d.Rows == nil || d.Change != c.Head.Change {
			take(c)
		}
		vectors := vectorsOf(c.Embeddings)
		for i := range d.Rows {
			d.Rows[i].Vector = vectors[d.Rows[i].Key]
		}
		return d, nil
	}
}

// handing hands on the vectors that index rows have.
func handing(to func(index.Key, []float32) error) func(*memory.Embedding) error {
	return func(e *memory.Embedding) error {
		if k, ok := vectorOf(e); ok {
			return to(k, e.Vector)
		}
		return nil
	}
}

// Vectors returns what reads vectors of one model again for an index manager.
func Vectors(store storage.Reader, model string) index.VectorsFunc {
	return func(ctx context.Context, partition string, keys []index.Key, take func(index.Key, []float32) error) error {
		p := storage.EmbeddingsParams{Partition: partition, Model: model, All: keys == nil}
		for _, k := range keys {
			if k.Owner == index.Item {
				p.Items = append(p.Items, k.ID)
			} else {
				p.Episodes = append(p.Episodes, k.ID)
			}
		}
		return store.Embeddings(ctx, p, handing(take))
	}
}

func vectorsOf(embeddings []memory.Embedding) map[index.Key][]float32 {
	vectors := make(map[index.Key][]float32, len(embeddings))
	for i := range embeddings {
		if k, ok := vectorOf(&embeddings[i]); ok {
			vectors[k] = embeddings[i].Vector
		}
	}
	return vectors
}

// vectorOf returns the row that an embedding is the vector of, if it is one's.
func vectorOf(e *memory.Embedding) (index.Key, bool) {
	return ownerKey(e.OwnerKind, e.OwnerID), e.Part == 0 && len(e.Vector) > 0
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
