package meminfra

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// WhyRequest asks why something was answered, or is remembered.
type WhyRequest struct {
	UserID string
	ID     string // of a trace, as Search and Answer return it, or of an item
}

// WhyResult leads from an answer to the words it rests on.
type WhyResult struct {
	TraceID string     `json:"trace_id"` // "" if the id was an item's
	Kind    string     `json:"kind"`     // search or answer
	Query   string     `json:"query"`
	At      *time.Time `json:"at"`
	Items   []WhyItem  `json:"items"`  // by rank
	Quoted  []WhyQuote `json:"quoted"` // messages that were hits themselves
	Shared  int        `json:"shared"` // hits from others' memory, which are theirs to explain
	Gone    []string   `json:"gone"`   // hits that were forgotten since, or may be seen no more
}

// WhyItem is one item, the decisions behind it and what was said.
type WhyItem struct {
	ID        string        `json:"id"`
	Rank      int           `json:"rank"` // in the trace, 0 without one
	Cited     bool          `json:"cited"`
	Kind      memory.Kind   `json:"kind"`
	Text      string        `json:"text"`
	Authority string        `json:"authority"`
	Status    memory.Status `json:"status"`
	Decisions []WhyDecision `json:"decisions"` // the one that made it first, then those that changed it
	Evidence  []WhyQuote    `json:"evidence"`
	Conflicts []string      `json:"conflicts"` // ids of the items that it contradicts now
}

// WhyDecision is a decision and the ledger entry that records it.
type WhyDecision struct {
	ID        string        `json:"id"`
	Operation string        `json:"operation"`
	Action    memory.Action `json:"action"`
	Reason    string        `json:"reason"`
	Extractor string        `json:"extractor"`
	Model     string        `json:"model"`
	Guards    []string      `json:"guards"`
	At        time.Time     `json:"at"`
	Entry     int64         `json:"entry"` // number in the ledger, 0 if none names it
	Hash      string        `json:"hash"`  // of the entry, in hexadecimal
}

// WhyQuote is a quote within its message: Before, Quote and After are the
// message, whole.
type WhyQuote struct {
	EpisodeID string      `json:"episode_id"`
	MessageID string      `json:"message_id"`
	Role      memory.Role `json:"role"`
	Speaker   string      `json:"speaker"`
	SaidAt    time.Time   `json:"said_at"`
	Before    string      `json:"before"`
	Quote     string      `json:"quote"`
	After     string      `json:"after"`
	Full      bool        `json:"full"` // says all of it by itself
}

// Why leads from a trace, or an item, to the items it showed, the decisions that
// made each, the words in the messages that say it, and the ledger entries, as far
// as the user may read them now: what is hidden or expired is like what is gone. It
// walks the ledger once. Errors: ErrNoUser, ErrNotFound, ErrClosed.
func (l Ledger) Why(ctx context.Context, req WhyRequest) (*WhyResult, error) {
	res, err := l.why(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("why: %w", err)
	}
	return res, nil
}

func (l Ledger) why(ctx context.Context, req WhyRequest) (*WhyResult, error) {
	rd, err := l.m.begin(ctx, req.UserID)
	if err != nil {
		return nil, err
	}
	partition := rd.Own().ID()
	trace, err := l.m.store.Trace(ctx, partition, req.ID)
	asItem := errors.Is(err, storage.ErrNotFound)
	if asItem {
		trace = memory.Trace{Items: []memory.TraceItem{{OwnerKind: memory.OwnerItem, OwnerID: req.ID}}}
	} else if err != nil {
		return nil, err
	}
	w := &reasoning{Ledger: l, reading: rd, ctx: ctx, partition: partition, trace: trace,
		res: &WhyResult{TraceID: trace.ID, Kind: trace.Kind, Query: trace.Query, Items: []WhyItem{}, Quoted: []WhyQuote{}, Gone: []string{}}}
	if !trace.At.IsZero() {
		w.res.At = &trace.At
	}
	if err := w.run(); err != nil {
		return nil, err
	}
	if asItem && len(w.res.Items) == 0 {
		return nil, ErrNotFound
	}
	return w.res, nil
}

type reasoning struct {
	Ledger
	reading   *retrieve.Reading
	ctx       context.Context
	partition string
	trace     memory.Trace
	res       *WhyResult
	items     map[string]storage.ItemRecord
	episodes  map[string]memory.Episode
	decisions map[string]WhyDecision
	conflicts map[string][]string
}

func (w *reasoning) run() error {
	var items, episodes []string
	for _, t := range w.trace.Items {
		switch {
		case t.Shared:
			w.res.Shared++
		case t.OwnerKind == memory.OwnerItem:
			items = append(items, t.OwnerID)
		default:
			episodes = append(episodes, t.OwnerID)
		}
	}
	if err := w.read(items, episodes); err != nil {
		return err
	}
	for _, t := range w.trace.Items {
		if t.Shared {
			continue
		}
		record, isItem := w.items[t.OwnerID]
		episode, isEpisode := w.episodes[t.OwnerID]
		switch {
		case t.OwnerKind == memory.OwnerItem && isItem:
			w.res.Items = append(w.res.Items, w.item(t, record))
		case t.OwnerKind == memory.OwnerEpisode && isEpisode:
			w.res.Quoted = append(w.res.Quoted, quoteIn(episode, 0, len(episode.Content), true))
		default:
			w.res.Gone = append(w.res.Gone, t.OwnerID)
		}
	}
	return nil
}

// read looks up the items, what they rest on, and the entries that name it.
func (w *reasoning) read(items, episodes []string) error {
	store := w.m.store
	records, err := store.Items(w.ctx, w.partition, items)
	if err != nil {
		return err
	}
	shown, err := w.reading.Show(w.ctx, w.partition, records, time.Time{})
	if err != nil {
		return err
	}
	w.conflicts = map[string][]string{}
	for _, r := range shown {
		w.conflicts[r.ID] = r.Conflicts
	}
	w.items, w.episodes, w.decisions = map[string]storage.ItemRecord{}, map[string]memory.Episode{}, map[string]WhyDecision{}
	var decisions []string
	now := w.m.now()
	for _, r := range records {
		if !w.reading.Admits(&r.Item) || memory.Expired(r.ExpiresAt, now) {
			continue // like what is gone
		}
		w.items[r.ID] = r
		decisions = append(decisions, r.Decision)
		for _, s := range r.States {
			decisions = append(decisions, s.Decision)
		}
		for _, e := range r.Evidence {
			episodes = append(episodes, e.EpisodeID)
		}
	}
	said, err := store.Episodes(w.ctx, w.partition, unique(episodes))
	if err != nil {
		return err
	}
	for _, e := range said {
		if !w.reading.AdmitsEpisode(&e) || memory.Expired(e.ExpiresAt, now) {
			continue
		}
		w.episodes[e.ID] = e
	}
	made, err := store.Decisions(w.ctx, w.partition, unique(decisions))
	if err != nil {
		return err
	}
	for _, d := range made {
		w.decisions[d.ID] = WhyDecision{ID: d.ID, Operation: d.Operation, Action: d.Action, Reason: d.Reason, Extractor: d.Extractor,
			Model: d.Model, Guards: append([]string{}, d.Guards...), At: d.At}
	}
	return w.enter()
}

// enter finds the ledger entry of each decision.
func (w *reasoning) enter() error {
	if len(w.decisions) == 0 {
		return nil
	}
	return w.m.store.Entries(w.ctx, w.partition, 0, func(e memory.Entry) error {
		for _, o := range e.Objects {
			if d, wanted := w.decisions[o.ID]; wanted && o.Kind == ledger.KindDecision && e.Operation != ledger.OpForget {
				d.Entry, d.Hash = e.Seq, hex.EncodeToString(e.Hash)
				w.decisions[o.ID] = d
			}
		}
		return nil
	})
}

func (w *reasoning) item(t memory.TraceItem, r storage.ItemRecord) WhyItem {
	item := WhyItem{ID: r.ID, Rank: t.Rank, Cited: t.Cited, Kind: r.Kind, Text: r.Text, Authority: r.Authority.String(),
		Status: r.Present().Status, Decisions: []WhyDecision{}, Evidence: []WhyQuote{}, Conflicts: append([]string{}, w.conflicts[r.ID]...)}
	ids := []string{r.Decision}
	for _, s := range r.States {
		ids = append(ids, s.Decision)
	}
	for _, id := range unique(ids) {
		if d, ok := w.decisions[id]; ok {
			item.Decisions = append(item.Decisions, d)
		}
	}
	for _, e := range r.Evidence {
		if said, ok := w.episodes[e.EpisodeID]; ok {
			item.Evidence = append(item.Evidence, quoteIn(said, e.Start, e.End, e.Full))
		}
	}
	return item
}

// quoteIn marks a quote in its message.
func quoteIn(e memory.Episode, start, end int, full bool) WhyQuote {
	if start < 0 || end > len(e.Content) || start > end {
		start, end = 0, len(e.Content)
	}
	return WhyQuote{EpisodeID: e.ID, MessageID: e.MessageID, Role: e.Role, Speaker: cmp.Or(e.Speaker, e.Source), SaidAt: e.SentAt,
		Before: e.Content[:start], Quote: e.Content[start:end], After: e.Content[end:], Full: full}
}

// unique keeps the first of equal ids.
func unique(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	var list []string
	for _, id := range ids {
		if id != "" && !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	return list
}
