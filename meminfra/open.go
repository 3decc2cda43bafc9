package meminfra

import (
	"cmp"
	"context"
	"slices"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/reconcile"
	"github.com/meminfra/memory-layer/meminfra/reconcile/manager"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// openWorld is the reconciling of the open-world claims of one commit. Records
// show each item as this commit leaves it.
type openWorld struct {
	*batch
	ctx     context.Context
	tx      storage.Tx
	records map[string]*storage.ItemRecord // by id
	same    map[string][]string            // ids by text key
	used    map[string]bool                // ids of what this commit has closed
	// facts are controlled facts in the same words: what stands in the vocabulary is
	// not remembered beside it.
	facts []memory.Item
}

// openWorld reads what the open-world claims may meet, as it is now. Errors:
// errStale if what the manager read has a new state, and those of the store.
func (w *batch) openWorld(ctx context.Context, tx storage.Tx, claims []claim) (*openWorld, error) {
	o := &openWorld{batch: w, ctx: ctx, tx: tx, records: map[string]*storage.ItemRecord{}, same: map[string][]string{}, used: map[string]bool{}}
	var texts, ids []string
	for i := range claims {
		if item := &claims[i].item; item.FactKey == "" {
			texts = append(texts, item.TextKey)
			for _, n := range w.found.near[item.Text] {
				ids = append(ids, n.ID)
			}
		}
	}
	if len(texts) == 0 {
		return o, nil
	}
	stored, err := tx.ItemsByText(ctx, texts)
	if err != nil {
		return nil, err
	}
	for i := range stored {
		switch r := &stored[i]; {
		case r.FactKey == "":
			o.know(r)
		case r.Present().Status == memory.StatusActive && !o.hidden(&r.Item):
			r.TextKey = textKey(r.Item)
			o.facts = append(o.facts, r.Item)
		}
	}
	return o, o.readNear(ids)
}

// asFact finds the controlled fact that says the same in the same words with at
// least the claim's authority, nil for none. Another extractor, or another
// candidate for the same sentence, has named its predicate where this one did not.
func (o *openWorld) asFact(c *claim) *memory.Item {
	for _, list := range [][]memory.Item{o.facts, o.items} { // stored, and of this very commit
		for i := range list {
			f := &list[i]
			if f.TextKey == c.item.TextKey && f.FactKey != "" && f.Authority >= c.item.Authority && isAlike(c, f) && sameValue(c, f) {
				return f
			}
		}
	}
	return nil
}

// sameValue reports a claim that states no value of its own, or the fact's: one
// sentence may say two things.
func sameValue(c *claim, f *memory.Item) bool {
	return c.item.ValueID == "" || c.item.ValueID == f.ValueID || c.item.ValueID == memory.FoldName(f.Value)
}

// readNear reads the items near the claims, and checks that the manager knew them
// as they are.
func (o *openWorld) readNear(ids []string) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil
	}
	list, err := o.tx.Items(o.ctx, ids)
	if err != nil {
		return err
	}
	for i := range list {
		if r := &list[i]; r.FactKey == "" && o.records[r.ID] == nil {
			o.know(r)
		}
	}
	if o.found.managed == nil {
		return nil
	}
	for id, n := range o.found.managed.read {
		if r := o.records[id]; r == nil || r.Present().N != n {
			return errStale
		}
	}
	return nil
}

func (o *openWorld) know(r *storage.ItemRecord) {
	if o.hidden(&r.Item) {
		return
	}
	o.records[r.ID] = r
	key := textKey(r.Item)
	o.same[key] = append(o.same[key], r.ID)
}

// decide reconciles an open-world claim. It is a NOOP only for the same
// proposition: the same words, or a rewording with the same figures, about the
// same subject, of the same polarity and at least its authority; events must
// also be of the same time. What the manager was asked about is for it and its
// guards; the rest is new.
func (o *openWorld) decide(c *claim) (ActionTaken, error) {
	if known := o.known(c); known != nil {
		v := reconcile.Verdict{Action: memory.ActionNoop, Reason: reconcile.ReasonSameValue}
		if known.Authority > c.item.Authority {
			v.Reason = reconcile.ReasonEcho
		}
		return o.witness(c, v, known, []string{known.ID}), nil
	}
	if fact := o.asFact(c); fact != nil {
		// No evidence: what supports a fact of the vocabulary is a statement of it.
		return o.report(c, reconcile.Verdict{Action: memory.ActionNoop, Reason: reconcile.ReasonSameValue}, fact, "", []string{fact.ID}), nil
	}
	told := reconcile.Told{Item: c.item, Statement: c.statement()}
	if weaker := o.weaker(c); weaker != nil {
		return o.endorse(c, reconcile.AddOpen(told, o.now), weaker, []string{weaker.ID})
	}
	told.Item.Text = bareText(c.item) // whose word it is is no part of what it says
	if o.found.managed == nil {
		return o.create(c, reconcile.AddOpen(told, o.now), nil, nil)
	}
	proposals, asked := o.found.managed.proposals[c.candidate]
	if !asked {
		return o.create(c, reconcile.AddOpen(told, o.now), nil, nil)
	}
	c.managed = true
	near, inputs := o.near(c)
	v := reconcile.Manage(told, near, proposals, o.now)
	var target *storage.ItemRecord
	if v.Target >= 0 {
		target = o.records[near[v.Target].Item.ID]
	}
	switch {
	case v.Action == memory.ActionNoop:
		return o.witness(c, v, target, inputs), nil
	case v.Reason == reconcile.ReasonStronger:
		return o.endorse(c, v, target, inputs)
	}
	return o.create(c, v, target, inputs)
}

// known finds the item that says what the claim says with at least its
// authority, nil for none.
func (o *openWorld) known(c *claim) *storage.ItemRecord {
	return o.saying(c, func(a memory.Authority) bool { return a >= c.item.Authority })
}

// weaker finds the item that says what the claim says with less authority, the
// strongest first, nil for none.
func (o *openWorld) weaker(c *claim) *storage.ItemRecord {
	for a := c.item.Authority - 1; a >= memory.Unendorsed; a-- {
		if r := o.saying(c, func(b memory.Authority) bool { return a == b }); r != nil {
			return r
		}
	}
	return nil
}

// saying finds the item of a fitting authority that says what the claim says.
func (o *openWorld) saying(c *claim, fits func(memory.Authority) bool) *storage.ItemRecord {
	for _, id := range o.same[c.item.TextKey] {
		if r := o.records[id]; fits(r.Authority) && saysSame(c, r, 0) {
			return r
		}
	}
	for _, n := range o.found.near[c.item.Text] {
		if r := o.records[n.ID]; r != nil && fits(r.Authority) && saysSame(c, r, n.Cosine) {
			return r
		}
	}
	return nil
}

// endorse makes the claim a new version of what a weaker witness said, which is
// kept as an echo. Source: papers.md section 5, T3.
func (o *openWorld) endorse(c *claim, v reconcile.Verdict, weaker *storage.ItemRecord, inputs []string) (ActionTaken, error) {
	v.Action, v.Reason, v.InLine = memory.ActionSupersede, reconcile.ReasonStronger, true
	v.Closed = &memory.State{Status: memory.StatusSuperseded, Valid: weaker.Present().Valid.Emptied(), Reason: reconcile.ReasonStronger}
	taken, err := o.create(c, v, weaker, inputs)
	if err != nil {
		return taken, err
	}
	for _, w := range testimonies(weaker.Evidence) {
		o.attachOpen(o.records[taken.ItemID], w, c.decision)
	}
	return taken, nil
}

// isAlike reports an item of the claim's contributor, subject and polarity that
// lasts as long.
func isAlike(c *claim, item *memory.Item) bool {
	return item.Polarity == c.item.Polarity && item.Subject == c.item.Subject && item.Scope.UserID == c.item.Scope.UserID &&
		!outlives(c, item)
}

// saysSame reports an item that is believed and says what the claim says.
func saysSame(c *claim, r *storage.ItemRecord, cosine float64) bool {
	if !isAlike(c, &r.Item) || r.Present().Status != memory.StatusActive ||
		r.Predicate != c.item.Predicate || r.ValueID != c.item.ValueID {
		return false
	}
	isEvent := r.Kind == memory.KindEvent || r.Kind == memory.KindExperience
	if isEvent && !r.Stated.Equal(c.item.Stated) {
		return false
	}
	return textKey(r.Item) == c.item.TextKey || cosine > sameCosine && memory.SameFigures(bareText(r.Item), bareText(c.item))
}

// near returns the claim's neighbours as they are now, and their ids.
func (o *openWorld) near(c *claim) (near []reconcile.Neighbour, ids []string) {
	near = slices.Clone(o.found.managed.near[c.candidate])
	for i := range near {
		r := o.records[near[i].Item.ID]
		near[i].Item, near[i].State, near[i].Used = r.Item, r.Present(), o.used[r.ID]
		near[i].Item.Text = bareText(r.Item)
		if told := testimonies(r.Evidence); len(told) > 0 {
			near[i].Founder = told[0].statement(r.ValueID)
		}
		ids = append(ids, r.ID)
	}
	return near, ids
}

// report makes the claim's decision and its line in the result.
func (o *openWorld) report(c *claim, v reconcile.Verdict, item *memory.Item, closes string, inputs []string) ActionTaken {
	out := ActionTaken{Action: v.Action, ItemID: item.ID, Text: c.item.Text, Predicate: c.item.Predicate, Value: c.item.Value,
		SupersededID: closes, Reason: v.Reason, Guards: v.Guards}
	if v.Text != "" {
		out.Text, out.Value = item.Text, item.Value
	}
	d := memory.Decision{ID: c.decision, Operation: "add", Action: v.Action, ItemID: item.ID, SupersededID: closes,
		EpisodeID: c.episode.ID, Reason: v.Reason, Inputs: inputs, Guards: v.Guards}
	if c.managed {
		d.Model = both(o.found.Model, o.found.managed.model)
		d.PromptHash = both(o.found.PromptHash, manager.PromptHash)
	}
	o.addDecision(d)
	return out
}

// both names the extractor's model or prompt and the manager's, once if they are
// the same.
func both(a, b string) string {
	if a == "" || a == b {
		return b
	}
	return a + "+" + b
}

// witness makes the claim one more witness of an item that says the same.
func (o *openWorld) witness(c *claim, v reconcile.Verdict, known *storage.ItemRecord, inputs []string) ActionTaken {
	out := o.report(c, v, &known.Item, "", inputs)
	o.attachOpen(known, c.told(), c.decision)
	return out
}

// create makes the claim an item of its own, as the verdict says, and gives the
// item that it replaces or ends its next state.
func (o *openWorld) create(c *claim, v reconcile.Verdict, target *storage.ItemRecord, inputs []string) (ActionTaken, error) {
	c.item.ID = o.newID()
	closes := ""
	if v.InLine {
		c.item.Root = target.Root
	}
	if v.Closed != nil {
		closes = target.ID
		c.item.Supersedes = target.ID
	}
	if v.Action == memory.ActionSupersede {
		c.item.Metadata = inherit(target.Metadata, c.item.Metadata)
		c.item.Origins = memory.SortOrigins(append(slices.Clone(c.item.Origins), target.Origins...))
	}
	if v.Text != "" {
		mergeInto(c, v.Text, target)
	}
	if v.InLine && v.Closed == nil {
		if err := o.fit(c, &v, target); err != nil {
			return ActionTaken{}, err
		}
	}
	out := o.report(c, v, &c.item, closes, inputs)
	state := memory.State{Status: v.Status, Valid: v.Valid, Reason: v.Reason}
	if v.Target >= 0 && v.Closed == nil {
		state.Cause = target.ID
	}
	r := o.createOpen(o.tx, c, state)
	o.know(&r)
	if v.Text != "" {
		o.bringAlong(&r, target, c)
	}
	if v.Closed != nil {
		o.close(target, *v.Closed, c)
	}
	if v.Conflict != "" {
		o.addConflict(memory.Conflict{ItemID: r.ID, OtherID: target.ID, Reason: v.Conflict, Decision: c.decision})
	}
	return out, nil
}

// fit puts a version told late between those of the target's line.
func (o *openWorld) fit(c *claim, v *reconcile.Verdict, target *storage.ItemRecord) error {
	stored, err := o.tx.Line(o.ctx, target.ID)
	if err != nil {
		return err
	}
	for i := range stored {
		if o.records[stored[i].ID] == nil {
			o.know(&stored[i])
		}
	}
	var line []*storage.ItemRecord
	var versions []reconcile.Version
	for _, r := range o.records {
		if r.Root == target.Root && r.Polarity == c.item.Polarity {
			line = append(line, r)
		}
	}
	slices.SortFunc(line, func(x, y *storage.ItemRecord) int { return cmp.Compare(x.Seq, y.Seq) })
	for _, r := range line {
		versions = append(versions, reconcile.Version{Item: r.Item, State: r.Present()})
	}
	fitted, cut, left := reconcile.Between(v.Valid, versions)
	v.Valid = fitted
	if cut >= 0 {
		o.close(line[cut], memory.State{Status: memory.StatusSuperseded, Valid: left}, c)
	}
	return nil
}

// mergeInto makes the claim's item say what the target says too: it has the
// authority of the weaker part, and no value of its own.
func mergeInto(c *claim, text string, target *storage.ItemRecord) {
	item := &c.item
	item.Value, item.ValueID, item.Vague = "", "", memory.Vague{}
	item.Confidence = min(item.Confidence, target.Confidence)
	item.Importance = max(item.Importance, target.Importance)
	item.Origins = memory.SortOrigins(append(slices.Clone(item.Origins), target.Origins...))
	item.ExpiresAt = earlier(item.ExpiresAt, target.ExpiresAt)
	weak := []memory.Item{c.item, target.Item}
	if len(c.parts) > 0 || !reconcile.States(c.evidence.Quote, text) {
		c.parts = append(c.parts, neededOf(target)...)
		item.Authority = min(item.Authority, target.Authority)
	}
	item.Text = extract.Attributed(namedIn(weak, item.Authority), text)
	item.TextKey = textKey(*item)
}

// bringAlong gives a merged item those of the target's witnesses that state all
// of it; what else is needed of them is part of the claim's own.
func (o *openWorld) bringAlong(r, target *storage.ItemRecord, c *claim) {
	for _, w := range testimonies(target.Evidence) {
		if w.first.Full && reconcile.States(w.first.Quote, bareText(r.Item)) {
			o.attachOpen(r, w, c.decision)
		}
	}
}

// close gives an item its next state because of the claim's item.
func (o *openWorld) close(r *storage.ItemRecord, s memory.State, c *claim) {
	s.Cause, s.Decision = c.item.ID, c.decision
	switch {
	case s.Reason != "":
	case s.Status == memory.StatusEnded:
		s.Reason = reconcile.ReasonNegated
	default:
		s.Reason = reconcile.ReasonNewerValue
	}
	r.States = append(r.States, o.nextState(r.Present(), s))
	o.used[r.ID] = true
}

// createOpen makes the item of a new open-world claim with its first state and
// evidence.
func (w *batch) createOpen(tx storage.Tx, c *claim, state memory.State) storage.ItemRecord {
	item := c.item
	if item.Root == "" {
		item.Root = item.ID
	}
	item.Decision = c.decision
	item.Seq, item.Change, item.RecordedAt = tx.NextSeq(1), w.change, w.now
	w.items = append(w.items, item)
	state.ItemID, state.Decision = item.ID, c.decision
	state = w.addState(state)
	if !w.embed(memory.OwnerItem, item.ID, w.found.vectors[item.Text]) {
		w.unembedded = append(w.unembedded, item)
	}
	r := storage.ItemRecord{Item: item, States: []memory.State{state}}
	w.attachOpen(&r, c.told(), c.decision)
	return r
}
