package meminfra

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/reconcile"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// resettle brings the lines that an erasure touched to what is still said, in
// rows of a decision of their own.
func (e *erasing) resettle() error {
	decision := memory.Decision{ID: e.newID(), Operation: "resettle", Action: memory.ActionRetract, Reason: "forgotten"}
	e.w.addDecision(decision)
	said, err := e.founders()
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(e.keys)) {
		for _, e.w.teller = range e.tellers(key) {
			if err := e.resettleLine(key, decision.ID, said); err != nil {
				return err
			}
		}
	}
	for _, id := range e.retold {
		if r := e.records[id]; r.FactKey == "" {
			e.retellOpen(r, decision.ID, said)
		}
	}
	return nil
}

// founders reads the messages that retold items will be told by.
func (e *erasing) founders() (map[string]*memory.Episode, error) {
	var ids []string
	for _, id := range e.retold {
		for _, w := range e.witnesses(e.records[id]) {
			ids = append(ids, w.EpisodeID)
		}
	}
	list, err := e.tx.Episodes(e.ctx, ids)
	said := make(map[string]*memory.Episode, len(list))
	for i := range list {
		said[list[i].ID] = &list[i]
	}
	return said, err
}

// resettleLine settles one teller's line of one fact key: the versions that are
// left, and the statements that are left of those which went.
func (e *erasing) resettleLine(key, decision string, said map[string]*memory.Episode) error {
	stored, err := e.tx.ItemsByFactKey(e.ctx, []string{key})
	if err != nil {
		return err
	}
	l := newLine(e.w, e.tx, e.w.withBatch(key, stored), decision)
	var before []reconcile.Version
	for _, id := range slices.Sorted(maps.Keys(e.records)) {
		r := e.records[id]
		if r.FactKey != key || r.Scope.UserID != e.w.teller || r.Present().Reason == reasonEdited {
			continue
		}
		before = append(before, version(r))
		for i := range r.Evidence {
			l.nextN[id] = max(l.nextN[id], r.Evidence[i].N) // numbers are not used twice
		}
		if !slices.Contains(e.retold, id) {
			continue
		}
		for _, w := range e.witnesses(r) {
			heard := told{testimony{w.Evidence}, &w}
			l.tell(heard.statement(r.ValueID), heard.testimony, retell(r, &w, said[w.EpisodeID]))
		}
	}
	told, sealed := reconcile.Seal(before, l.versions, l.told)
	l.told = told
	plan := reconcile.Reconcile(l.versions, l.told, l.now)
	plan.MarkSealed(l.versions, sealed)
	l.apply(plan, nil)
	return nil
}

// retell is an item in the words of another witness, with nothing in it that
// the erased one alone had said.
func retell(r *storage.ItemRecord, w *storage.EvidenceRecord, said *memory.Episode) memory.Item {
	item := r.Item
	item.Text = w.Quote
	if voice := extract.Voice(said.Role, said.Source); voice != "" {
		item.Text = extract.Attributed([]string{voice}, w.Quote)
	}
	item.Authority, item.Stated = w.Authority, w.Stated
	item.TextKey = textKey(item)
	item.Metadata, item.ExpiresAt, item.Scope.AgentID = said.Metadata, said.ExpiresAt, said.AgentID
	if !strings.Contains(w.Quote, item.Vague.Words) {
		item.Vague = memory.Vague{}
	}
	if item.FactKey == "" && !saysValue(w.Quote, item.Value) {
		item.Value, item.ValueID = "", ""
	}
	item.Salt = newSalt()
	return item
}

// retellOpen makes a new open-world item of the witnesses that are left, in the
// standing that the old one had.
func (e *erasing) retellOpen(r *storage.ItemRecord, decision string, said map[string]*memory.Episode) {
	left := e.witnesses(r)
	slices.SortStableFunc(left, func(a, b storage.EvidenceRecord) int { return cmp.Compare(b.Authority, a.Authority) })
	item := retell(r, &left[0], said[left[0].EpisodeID])
	item.ID, item.Decision = e.newID(), decision
	item.Root, item.Supersedes = item.ID, ""
	item.Seq, item.Change, item.RecordedAt = e.tx.NextSeq(1), e.w.change, e.w.now
	old := r.Present()
	state := memory.State{ItemID: item.ID, Status: old.Status, Valid: item.Stated, Reason: "forgotten", Decision: decision}
	if old.Status != memory.StatusActive {
		state.Valid.To = old.Valid.To
	}
	e.w.items = append(e.w.items, item)
	e.w.addState(state)
	for i, w := range left {
		w.ItemID, w.N = item.ID, i+1
		e.w.addEvidence(w.Evidence, decision)
	}
	e.w.unembedded = append(e.w.unembedded, item)
}
