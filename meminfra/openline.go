package meminfra

import (
	"slices"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/reconcile"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// reopen lets what a withdrawn open-world item had closed hold again, as far as
// the rest of its line leaves room.
func (k *curation) reopen() error {
	line, err := k.tx.Line(k.ctx, k.item.ID)
	if err != nil {
		return err
	}
	names := k.wordings(line)
	for i := range line {
		r, s := &line[i], line[i].Present()
		if !slices.Contains(names, s.Cause) || s.Reason != reconcile.ReasonNewerValue && s.Reason != reconcile.ReasonNegated {
			continue
		}
		next := k.fitted(r, line)
		if next.Cause == "" {
			next.Cause, next.Reason = k.item.ID, reconcile.ReasonReopened
		}
		k.w.nextState(s, next)
	}
	return nil
}

// wordings lists the ids of the item and of those that its owner's edits made it of.
func (k *curation) wordings(line []storage.ItemRecord) []string {
	names := []string{k.item.ID}
	for before := k.item.Supersedes; before != ""; {
		i := slices.IndexFunc(line, func(r storage.ItemRecord) bool { return r.ID == before })
		if i < 0 || line[i].Present().Reason != reasonEdited {
			break
		}
		names = append(names, before)
		before = line[i].Supersedes
	}
	return names
}

// fitted is the state of an item that holds as it was stated until the next
// believed version of its line begins, the item under curation aside; that one
// is its cause.
func (k *curation) fitted(r *storage.ItemRecord, line []storage.ItemRecord) memory.State {
	s := memory.State{Status: memory.StatusActive, Valid: r.Stated, Decision: k.decision.ID}
	if !s.Valid.To.IsZero() && !s.Valid.To.After(k.w.now) {
		s.Status = memory.StatusEnded
	}
	for i := range line {
		o, v := &line[i], line[i].Present().Valid
		if o.ID == r.ID || o.ID == k.item.ID || o.Present().Reason == reasonEdited || o.Present().Status == memory.StatusWithdrawn ||
			v.Empty() || !v.From.After(s.Valid.From) || !s.Valid.Contains(v.From) {
			continue
		}
		s.Valid.To, s.Cause, s.Reason = v.From, o.ID, reconcile.ReasonNewerValue
		if o.Polarity != r.Polarity {
			s.Reason = reconcile.ReasonNegated
		}
		if !v.From.After(k.w.now) {
			s.Status = closedStatus[s.Reason]
		}
	}
	return s
}

// closedStatus is what becomes of an item that another one closed, by reason.
var closedStatus = map[string]memory.Status{reconcile.ReasonNewerValue: memory.StatusSuperseded, reconcile.ReasonNegated: memory.StatusEnded}

// restoreOpen lets a withdrawn open-world item count again until its line goes on,
// and takes back what reopen did.
func (k *curation) restoreOpen() error {
	line, err := k.tx.Line(k.ctx, k.item.ID)
	if err != nil {
		return err
	}
	own := k.fitted(&k.item, line)
	if own.Cause == "" {
		own.Reason = "restored"
	}
	k.w.nextState(k.item.Present(), own)
	for i := range line {
		r, s := &line[i], line[i].Present()
		if !closedBy(r, k.item.ID) || s.Status == memory.StatusWithdrawn || s.Reason == reasonEdited || !s.Valid.Contains(k.item.Stated.From) {
			continue
		}
		next := memory.State{Status: memory.StatusActive, Valid: reconcile.Ending(s.Valid, k.item.Stated.From), Cause: k.item.ID,
			Reason: reconcile.ReasonNewerValue, Decision: k.decision.ID}
		if r.Polarity != k.item.Polarity {
			next.Reason = reconcile.ReasonNegated
		}
		if !k.item.Stated.From.After(k.w.now) {
			next.Status = closedStatus[next.Reason]
		}
		k.w.nextState(s, next)
	}
	return nil
}

// closedBy reports an item that another one has closed at some time.
func closedBy(r *storage.ItemRecord, id string) bool {
	return slices.ContainsFunc(r.States, func(s memory.State) bool {
		return s.Cause == id && (s.Reason == reconcile.ReasonNewerValue || s.Reason == reconcile.ReasonNegated)
	})
}
