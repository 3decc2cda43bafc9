package meminfra

import (
	"context"
	"slices"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/reconcile"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// openItems reads the items with one of those texts, by text.
func openItems(ctx context.Context, tx storage.Tx, texts []string) (map[string][]storage.ItemRecord, error) {
	same := make(map[string][]storage.ItemRecord, len(texts))
	if len(texts) == 0 {
		return same, nil
	}
	stored, err := tx.ItemsByText(ctx, texts)
	for _, r := range stored {
		if r.FactKey == "" {
			key := memory.NormalText(r.Text)
			same[key] = append(same[key], r)
		}
	}
	return same, err
}

// sameCosine is the cosine above which two texts with the same figures are one
// proposition. Source: design section 5.
const sameCosine = 0.95

// lookAlikes asks the index for stored items that read like the open-world
// candidates; nothing is decided by it.
func (a *addition) lookAlikes(ctx context.Context, p *proposal) {
	p.alike = map[string][]string{}
	for i := range p.Candidates {
		c := &p.Candidates[i]
		if _, controlled := a.registry.Lookup(c.Predicate); controlled {
			continue
		}
		text := itemText(c)
		if v := p.vectors[text]; llm.HasDirection(v) && p.alike[text] == nil {
			p.alike[text] = a.retriever.Nearest(ctx, a.partition.ID(), v, 10, sameCosine)
		}
	}
}

// alikeItems reads the look-alikes of the open claims as they are now, by text.
func (w *batch) alikeItems(ctx context.Context, tx storage.Tx, claims []claim) (map[string][]storage.ItemRecord, error) {
	byText := map[string][]storage.ItemRecord{}
	for i := range claims {
		text := claims[i].item.Text
		if ids := w.found.alike[text]; len(ids) > 0 && claims[i].item.FactKey == "" && byText[text] == nil {
			list, err := tx.Items(ctx, ids)
			if err != nil {
				return nil, err
			}
			byText[text] = slices.DeleteFunc(list, func(r storage.ItemRecord) bool {
				return r.FactKey != "" || !reconcile.SameFigures(r.Text, text)
			})
		}
	}
	return byText, nil
}

// decideOpen reconciles an open-world claim. It is a NOOP only for the same
// proposition: the same words, or a rewording with the same figures, about the
// same subject, of the same polarity and at least its authority; events must
// also be of the same time.
func (w *batch) decideOpen(tx storage.Tx, c *claim, same, alike map[string][]storage.ItemRecord) ActionTaken {
	out := ActionTaken{Action: memory.ActionAdd, Text: c.item.Text, Predicate: c.item.Predicate,
		Value: c.item.Value, Reason: reconcile.ReasonNewFact}
	known := w.sameProposition(c, same[c.item.TextKey])
	if known == nil {
		known = w.sameProposition(c, alike[c.item.Text])
	}
	if known == nil {
		c.item.ID = w.newID()
		out.ItemID = c.item.ID
		w.decided(c, out, nil)
		same[c.item.TextKey] = append(same[c.item.TextKey], w.createOpen(tx, c))
		return out
	}
	out.Action, out.ItemID, out.Reason = memory.ActionNoop, known.ID, reconcile.ReasonSameValue
	if known.Authority > c.item.Authority {
		out.Reason = reconcile.ReasonEcho
	}
	w.decided(c, out, []string{known.ID})
	if !witnessed(known, &c.evidence) {
		e := c.evidence
		e.ItemID, e.N = known.ID, len(known.Evidence)+1
		w.addEvidence(e, c.decision)
		known.Evidence = append(known.Evidence, storage.EvidenceRecord{Evidence: e})
	}
	return out
}

func (w *batch) decided(c *claim, act ActionTaken, inputs []string) {
	w.addDecision(memory.Decision{ID: c.decision, Operation: "add", Action: act.Action, ItemID: act.ItemID,
		EpisodeID: c.episode.ID, Reason: act.Reason, Inputs: inputs})
}

// sameProposition finds the current item that says what the claim says.
func (w *batch) sameProposition(c *claim, stored []storage.ItemRecord) *storage.ItemRecord {
	for i := range stored {
		r := &stored[i]
		state := r.Present()
		if state.Status != memory.StatusActive || r.Polarity != c.item.Polarity || r.Subject != c.item.Subject ||
			r.Predicate != c.item.Predicate || r.ValueID != c.item.ValueID || r.Authority < c.item.Authority {
			continue
		}
		isEvent := r.Kind == memory.KindEvent || r.Kind == memory.KindExperience
		if isEvent && !r.Stated.Equal(c.item.Stated) {
			continue
		}
		return r
	}
	return nil
}

func witnessed(r *storage.ItemRecord, e *memory.Evidence) bool {
	for _, old := range r.Evidence {
		if old.EpisodeID == e.EpisodeID && old.Start == e.Start && old.End == e.End && old.Polarity == e.Polarity {
			return true
		}
	}
	return false
}

// createOpen makes the item of a new open-world claim with its first state.
func (w *batch) createOpen(tx storage.Tx, c *claim) storage.ItemRecord {
	item := c.item
	item.Root, item.Decision = item.ID, c.decision
	item.Seq, item.Change, item.RecordedAt = tx.NextSeq(1), w.change, w.now
	w.items = append(w.items, item)
	state := memory.State{ItemID: item.ID, Status: memory.StatusActive, Valid: item.Stated,
		Reason: reconcile.ReasonNewFact, Decision: c.decision}
	if !item.Stated.To.IsZero() && !item.Stated.To.After(w.now) {
		state.Status = memory.StatusEnded
	}
	w.addState(state)
	e := c.evidence
	e.ItemID, e.N = item.ID, 1
	w.addEvidence(e, c.decision)
	if !w.embed(memory.OwnerItem, item.ID, w.found.vectors[item.Text]) {
		w.unembedded = append(w.unembedded, item)
	}
	return storage.ItemRecord{Item: item, States: []memory.State{state}, Evidence: []storage.EvidenceRecord{{Evidence: e}}}
}
