package meminfra

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/recall"
)

// reasonRecalled rejects what this memory handed out and got back: in a context
// block, whoever quotes it, or in the words of an assistant, a tool, a document or
// a system prompt. A user's own words always count.
const reasonRecalled = "recalled"

// recall finds out which sentences of the candidates, the users' own apart, had
// been handed out before they came in. Most calls have none and ask nothing.
// Errors: those of the store.
func (a *addition) recall(ctx context.Context, out extract.Output) error {
	wanted, since := a.comingBack(out)
	if len(wanted) == 0 {
		return nil
	}
	a.handed = map[recall.Key]time.Time{}
	note := func(k recall.Key, at time.Time) {
		if old, known := a.handed[k]; wanted[k] != "" && (!known || at.Before(old)) {
			a.handed[k] = at
		}
	}
	own := a.reading.Own().ID()
	answers, err := a.store.HandedOut(ctx, own, since)
	if err != nil {
		return err
	}
	for _, h := range answers {
		for _, k := range recall.Unpack(h.Keys) {
			note(k, h.At)
		}
	}
	texts := slices.Sorted(maps.Values(wanted))
	for _, p := range a.reading.Partitions() {
		alike, err := a.reading.Alike(ctx, p.ID(), texts)
		if err != nil {
			return err
		}
		if len(alike) == 0 {
			continue
		}
		shown, err := a.store.FirstShown(ctx, own, since, slices.Sorted(maps.Keys(alike)))
		if err != nil {
			return err
		}
		for id, at := range shown {
			for _, s := range recall.Sentences(own, alike[id]) {
				note(s.Key, at)
			}
		}
	}
	return nil
}

// comingBack are the sentences that candidates quote of messages that are no
// user's, by key, and the moment from which handing them out would matter.
func (a *addition) comingBack(out extract.Output) (wanted map[recall.Key]string, since time.Time) {
	wanted = map[recall.Key]string{}
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
		for _, s := range a.quoted(e, start, end) {
			wanted[s.Key] = e.Content[s.Start:s.End]
		}
		if from := e.RecordedAt.Add(-memory.TraceRetention); since.IsZero() || from.Before(since) {
			since = from
		}
	}
	return wanted, since
}

// quoted are the sentences of a message that [start, end) touches.
func (a *addition) quoted(e *memory.Episode, start, end int) []recall.Sentence {
	return slices.DeleteFunc(recall.Sentences(a.reading.Own().ID(), e.Content), func(s recall.Sentence) bool {
		return s.End <= start || s.Start >= end
	})
}

// isRecalled reports that all sentences of a quote had been handed out before the
// message came in. One that is new makes the quote count.
func (a *addition) isRecalled(e *memory.Episode, start, end int) bool {
	if e.Role == memory.RoleUser || len(a.handed) == 0 {
		return false
	}
	list := a.quoted(e, start, end)
	for _, s := range list {
		if at, known := a.handed[s.Key]; !known || at.After(e.RecordedAt) {
			return false
		}
	}
	return len(list) > 0
}

// isInBlock reports that a quote stands in a context block of the message.
func (a *addition) isInBlock(c *extract.Candidate, e *memory.Episode) bool {
	if recall.Mask(e.Content) == e.Content {
		return false
	}
	_, _, fault := extract.NewSource(e.Content).Find(c.Quote, c.Value, c.Start)
	return fault == ""
}
