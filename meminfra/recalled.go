package meminfra

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/recall"
)

// reasonRecalled rejects what this memory handed out and got back: in a context
// block, whoever quotes it, or in the words of an assistant, a tool, a document or
// a system prompt. A user's own words always count.
const reasonRecalled = "recalled"

// comingBack is what candidates make of messages that are no user's, and when it
// had been handed out first, if it was.
type comingBack struct {
	since  time.Time // from when handing it out would matter
	texts  map[string]bool
	keys   map[recall.Key]time.Time // of sentences; zero: not handed out
	values map[string]bool          // of facts, by identity
	facts  map[fact]time.Time       // those that were handed out
}

// fact is what a candidate claims of a controlled predicate.
type fact struct {
	key, value string
	polarity   memory.Polarity
}

// recall finds out what of the candidates, the users' own apart, had been handed
// out before it came in. Most calls have none and ask nothing. Errors: those of
// the store.
func (a *addition) recall(ctx context.Context, out extract.Output) error {
	back := a.comingBack(out)
	if a.back = back; len(back.keys) == 0 && len(back.values) == 0 {
		return nil
	}
	own := a.reading.Own().ID()
	answers, err := a.store.HandedOut(ctx, own, back.since)
	if err != nil {
		return err
	}
	for _, h := range answers {
		for _, k := range recall.Unpack(h.Keys) {
			back.noteKey(k, h.At)
		}
	}
	for _, p := range a.reading.Partitions() {
		if err := a.recallSentences(ctx, p.ID()); err != nil {
			return err
		}
		if err := a.recallFacts(ctx, p.ID()); err != nil {
			return err
		}
	}
	return nil
}

func (a *addition) recallSentences(ctx context.Context, partition string) error {
	if len(a.back.texts) == 0 {
		return nil
	}
	alike, err := a.reading.Alike(ctx, partition, slices.Sorted(maps.Keys(a.back.texts)))
	if err != nil || len(alike) == 0 {
		return err
	}
	own := a.reading.Own().ID()
	shown, err := a.store.FirstShown(ctx, own, a.back.since, slices.Sorted(maps.Keys(alike)))
	for id, at := range shown {
		for _, s := range recall.Sentences(own, alike[id], a.self(nil)) {
			a.back.noteKey(s.Key, at)
		}
	}
	return err
}

func (a *addition) recallFacts(ctx context.Context, partition string) error {
	if len(a.back.values) == 0 {
		return nil
	}
	items, err := a.store.ItemsByValue(ctx, partition, slices.Sorted(maps.Keys(a.back.values)))
	if err != nil || len(items) == 0 {
		return err
	}
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	shown, err := a.store.FirstShown(ctx, a.reading.Own().ID(), a.back.since, ids)
	for i := range items {
		if at, known := shown[items[i].ID]; known {
			a.back.noteFact(factOf(&items[i].Item), at)
		}
	}
	return err
}

func factOf(item *memory.Item) fact { return fact{item.FactKey, item.ValueID, item.Polarity} }

func (b *comingBack) noteKey(k recall.Key, at time.Time) {
	if old, wanted := b.keys[k]; wanted && (old.IsZero() || at.Before(old)) {
		b.keys[k] = at
	}
}

func (b *comingBack) noteFact(f fact, at time.Time) {
	if old, known := b.facts[f]; !known || at.Before(old) {
		b.facts[f] = at
	}
}

// comingBack collects what has to be looked up.
func (a *addition) comingBack(out extract.Output) *comingBack {
	b := &comingBack{texts: map[string]bool{}, keys: map[recall.Key]time.Time{}, values: map[string]bool{}, facts: map[fact]time.Time{}}
	for i := range out.Candidates {
		c := &out.Candidates[i]
		e := a.heard(c.EpisodeID)
		if e == nil || e.Role == memory.RoleUser {
			continue
		}
		start, end, reason := a.quote(c, e)
		if reason != "" {
			continue
		}
		if from := e.RecordedAt.Add(-memory.TraceRetention); b.since.IsZero() || from.Before(b.since) {
			b.since = from
		}
		for _, h := range a.touching(c, e, start, end) {
			b.texts[h.Text] = true
			for _, k := range h.Keys {
				b.keys[k] = time.Time{}
			}
		}
		if item, reason := a.item(c, e); reason == "" && item.FactKey != "" && repeats(e.Role) {
			b.values[item.ValueID] = true
		}
	}
	return b
}

// repeats reports the roles that know of the user what they were told: what they
// claim and memory handed out is an echo in whatever words. A tool or a document
// may know better, and is an echo in the same words only.
func repeats(role memory.Role) bool {
	return role == memory.RoleAssistant || role == memory.RoleSystem
}

// touching are the clauses of a message that [start, end) touches.
func (a *addition) touching(c *extract.Candidate, e *memory.Episode, start, end int) []recall.Heard {
	return recall.Touching(a.reading.Own().ID(), e.Content, start, end, a.self(c))
}

// self is what stands for the user in what a candidate quotes, or in general.
func (a *addition) self(c *extract.Candidate) recall.Self {
	names := append(strings.Fields(memory.FoldName(a.req.UserName)), memory.FoldName(a.req.UserID))
	return recall.Self{Names: names, Third: c != nil && c.Subject == memory.UserSubject}
}

// isRecalled reports that all clauses of a quote, those apart that say too little,
// or the very fact it is taken to claim, had been handed out before the message
// came in. A clause that is new makes the quote count.
func (a *addition) isRecalled(c *extract.Candidate, e *memory.Episode, start, end int) bool {
	if e.Role == memory.RoleUser || a.back == nil {
		return false
	}
	before := func(at time.Time, known bool) bool { return known && !at.IsZero() && !at.After(e.RecordedAt) }
	if item, reason := a.item(c, e); reason == "" && item.FactKey != "" && repeats(e.Role) {
		if at, known := a.back.facts[factOf(&item)]; before(at, known) {
			return true
		}
	}
	some := false
	for _, h := range a.touching(c, e, start, end) {
		known := slices.ContainsFunc(h.Keys, func(k recall.Key) bool { at, known := a.back.keys[k]; return before(at, known) })
		if !known && !h.Short {
			return false
		}
		some = some || known
	}
	return some
}

// isInBlock reports that a quote stands in a context block of the message.
func (a *addition) isInBlock(c *extract.Candidate, e *memory.Episode) bool {
	if recall.Mask(e.Content) == e.Content {
		return false
	}
	_, _, fault := extract.NewSource(e.Content).Find(c.Quote, c.Value, c.Start)
	return fault == ""
}
