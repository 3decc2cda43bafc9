package meminfra

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/reconcile"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// decide reconciles the claims with what is stored: controlled ones by the
// fold over all statements of their fact key, open ones by their words. It
// fills the batch and the result's actions, one for each claim, in order.
func (a *addition) decide(ctx context.Context, tx storage.Tx, w *batch, claims []claim) error {
	keys := []string{}
	byKey := map[string][]*claim{}
	for i := range claims {
		c := &claims[i]
		c.decision = a.newID()
		if c.item.FactKey == "" {
			continue
		}
		if byKey[c.item.FactKey] == nil {
			keys = append(keys, c.item.FactKey)
		}
		byKey[c.item.FactKey] = append(byKey[c.item.FactKey], c)
	}
	lines, err := factLines(ctx, tx, keys)
	if err != nil {
		return err
	}
	open, err := w.openWorld(ctx, tx, claims)
	if err != nil {
		return err
	}
	taken := make(map[string]ActionTaken, len(claims)) // by decision
	for _, key := range keys {
		cs := byKey[key]
		left, short := outlived(lines[key], cs)
		l := newLine(w, tx, left, cs[len(cs)-1].decision)
		l.hear(cs)
		l.takeOver(short, cs)
		l.reconcile(taken)
	}
	for i := range claims {
		if claims[i].item.FactKey == "" {
			if taken[claims[i].decision], err = open.decide(&claims[i]); err != nil {
				return err
			}
		}
	}
	for i := range claims {
		act := taken[claims[i].decision]
		act.Guards = append([]string{}, act.Guards...)
		a.result.Actions = append(a.result.Actions, act)
	}
	return nil
}

func factLines(ctx context.Context, tx storage.Tx, keys []string) (map[string][]storage.ItemRecord, error) {
	lines := make(map[string][]storage.ItemRecord, len(keys))
	if len(keys) == 0 {
		return lines, nil
	}
	stored, err := tx.ItemsByFactKey(ctx, keys)
	for _, r := range stored {
		lines[r.FactKey] = append(lines[r.FactKey], r)
	}
	return lines, err
}

// line is the reconciling of one fact key.
type line struct {
	*batch
	tx       storage.Tx
	stored   map[string]*storage.ItemRecord // by item
	versions []reconcile.Version
	beside   []*storage.ItemRecord // of the same fact, and not this line's to touch
	claims   []*claim
	trigger  string       // the decision that brought about what no claim founds
	edited   *memory.Item // the version that its owner gives another wording
	told     []memory.Statement
	witness  map[string]testimony   // by statement: the evidence to attach
	teller   map[string]memory.Item // by statement: the item that tells it
	newIDs   []string               // of the plan's new versions
	newBy    []string               // their decisions
	nextN    map[string]int         // by item: the next number of evidence
	acted    map[string]bool        // statements that a claim was reported to have made
}

func newLine(w *batch, tx storage.Tx, stored []storage.ItemRecord, trigger string) *line {
	l := &line{batch: w, tx: tx, trigger: trigger, stored: map[string]*storage.ItemRecord{},
		witness: map[string]testimony{}, teller: map[string]memory.Item{}, nextN: map[string]int{}, acted: map[string]bool{}}
	seals := map[string]time.Time{}
	for i := range stored {
		r := &stored[i]
		if w.foreign(&r.Item) {
			l.beside = append(l.beside, r)
			continue
		}
		if r.Present().Reason != reasonEdited {
			l.addStored(r)
			if end, ok := sealOf(r); ok {
				seals[r.ID] = end
			}
		}
	}
	l.told = reconcile.Capped(l.versions, seals, l.told)
	return l
}

// sealOf is the end that an erasure has put to an item, whatever became of it since.
func sealOf(r *storage.ItemRecord) (end time.Time, ok bool) {
	for _, s := range r.States {
		if s.Reason == reconcile.ReasonSealed {
			end, ok = s.Valid.To, true
		}
	}
	return end, ok
}

// hear adds new claims to what is told of the fact.
func (l *line) hear(claims []*claim) {
	l.claims = claims
	for _, c := range claims {
		l.tell(c.statement(), c.testimony(), c.item)
	}
}

// tell adds a statement, the evidence for it and the item that would tell it;
// the first teller of a statement stays.
func (l *line) tell(s memory.Statement, w testimony, item memory.Item) {
	l.told = append(l.told, s)
	if _, known := l.witness[s.ID]; !known {
		l.witness[s.ID], l.teller[s.ID] = w, item
	}
}

func (l *line) addStored(r *storage.ItemRecord) {
	l.stored[r.ID] = r
	l.nextN[r.ID] = l.lastNumber(r)
	for _, w := range testimonies(r.Evidence) {
		teller := r.Item
		teller.Origins = originsOf(r, w.testimony)
		l.tell(w.statement(r.ValueID), w.testimony, teller)
	}
	l.versions = append(l.versions, version(r))
}

// lastNumber is the number after which an item numbers further evidence.
func (w *batch) lastNumber(r *storage.ItemRecord) int {
	last := 0
	if r.Change != w.change { // not of this commit
		last = w.numbered
	}
	for _, e := range r.Evidence {
		last = max(last, e.N)
	}
	return last
}

// version is how an item stands in the contest of its line.
func version(r *storage.ItemRecord) reconcile.Version {
	v := reconcile.Version{Item: r.Item, State: r.Present()}
	for _, w := range testimonies(r.Evidence) {
		v.Statements = append(v.Statements, w.id(r.ValueID))
	}
	for _, c := range r.Conflicts {
		other := c.OtherID
		if other == r.ID {
			other = c.ItemID
		}
		v.Conflicts = append(v.Conflicts, other)
	}
	return v
}

// reconcile plans and puts the plan's rows into the batch.
func (l *line) reconcile(taken map[string]ActionTaken) {
	l.apply(reconcile.Reconcile(l.versions, l.told, l.now), taken)
}

func (l *line) apply(plan reconcile.Plan, taken map[string]ActionTaken) {
	l.yield(&plan)
	l.name(plan)
	for _, c := range l.claims {
		act := l.act(plan, c)
		taken[c.decision] = act // taken may be nil only without claims
		l.addDecision(memory.Decision{ID: c.decision, Operation: c.operation, Action: act.Action, ItemID: act.ItemID,
			SupersededID: act.SupersededID, EpisodeID: c.episode.ID, Reason: act.Reason, Inputs: l.inputs()})
	}
	for _, ch := range plan.Changes {
		l.change(ch)
	}
	for i, n := range plan.New {
		l.create(i, n)
	}
	for _, wit := range plan.Witnesses {
		l.attach(wit)
	}
	for _, c := range plan.Clashes {
		l.addConflict(memory.Conflict{ItemID: l.id(c.A), OtherID: l.id(c.B), Reason: c.Reason, Decision: l.decisionOf(c.A, c.B)})
	}
}

// name gives the plan's new versions ids, and the decisions that make them: of
// the claim that founds one, else of the one that brought it about.
func (l *line) name(plan reconcile.Plan) {
	l.newIDs, l.newBy = make([]string, len(plan.New)), make([]string, len(plan.New))
	for i, n := range plan.New {
		l.newIDs[i], l.newBy[i] = l.newID(), l.trigger
		for _, c := range l.claims {
			if s := c.statement(); s.ID == n.Founder {
				l.newBy[i] = c.decision
				break
			}
		}
	}
}

func (l *line) inputs() []string {
	ids := make([]string, len(l.versions))
	for i, v := range l.versions {
		ids[i] = v.Item.ID
	}
	return ids
}

// id is the item that a reference names; "" for none.
func (l *line) id(r reconcile.Ref) string {
	if r.New > 0 {
		return l.newIDs[r.New-1]
	}
	return r.Item
}

// decisionOf is the decision behind the first new version among refs, else the
// trigger.
func (l *line) decisionOf(refs ...reconcile.Ref) string {
	for _, r := range refs {
		if r.New > 0 {
			return l.newBy[r.New-1]
		}
	}
	return l.trigger
}

// act reports what the plan did about a claim. A statement that is stored
// already, or came twice in one call, did nothing.
func (l *line) act(plan reconcile.Plan, c *claim) ActionTaken {
	s := c.statement()
	out := ActionTaken{Action: memory.ActionNoop, Text: c.item.Text, Predicate: c.item.Predicate,
		Value: c.item.Value, Reason: "already_known"}
	for _, v := range l.versions {
		for _, id := range v.Statements {
			if id == s.ID {
				out.ItemID = v.Item.ID
				return out
			}
		}
	}
	for _, act := range plan.Acts {
		if act.Statement == s.ID {
			out.ItemID = l.id(act.Target)
			if !l.acted[s.ID] {
				out.Action, out.Reason, out.SupersededID = act.Action, act.Reason, l.id(act.Superseded)
				l.acted[s.ID] = true
			}
			break
		}
	}
	return out
}

// change gives a stored item its next state.
func (l *line) change(ch reconcile.Change) {
	l.nextState(l.stored[ch.Item].Present(), memory.State{Status: ch.Status, Valid: ch.Valid, HoldsSlot: ch.HoldsSlot,
		Cause: l.id(ch.Cause), Reason: ch.Reason, Decision: l.decisionOf(ch.Cause)})
}

// create makes the item of a new version. It reads as its founder tells it and
// carries on the metadata of the version that it takes over from.
func (l *line) create(i int, n reconcile.NewVersion) {
	item := weakened(l.teller[n.Founder], l.witness[n.Founder].authority())
	item.ID, item.Decision = l.newIDs[i], l.newBy[i]
	item.Seq, item.Change, item.RecordedAt, item.Salt = l.tx.NextSeq(1), l.batch.change, l.now, newSalt()
	item.TextKey = textKey(item) // a teller that was stored comes without it
	item.Supersedes, item.Root = "", item.ID
	if before := l.before(n.Supersedes); before != nil {
		item.Supersedes, item.Root = before.ID, before.Root
		item.Metadata = inherit(before.Metadata, item.Metadata)
		item.Origins = memory.SortOrigins(append(slices.Clone(before.Origins), item.Origins...))
	}
	l.items = append(l.items, item)
	l.addState(memory.State{ItemID: item.ID, FactKey: item.FactKey, Status: n.Status, Valid: n.Interval.Valid,
		HoldsSlot: n.HoldsSlot, Reason: n.Reason, Cause: l.id(n.Cause), Decision: item.Decision})
	if !l.embed(memory.OwnerItem, item.ID, l.found.vectors[item.Text]) {
		l.unembedded = append(l.unembedded, item)
	}
}

// before finds the item that a new version supersedes, stored or new: in an
// edit, if nothing else, the version edited.
func (l *line) before(r reconcile.Ref) *memory.Item {
	if r.IsZero() {
		return l.edited
	}
	if r.New == 0 {
		return &l.stored[r.Item].Item
	}
	for i := range l.items {
		if l.items[i].ID == l.newIDs[r.New-1] {
			return &l.items[i]
		}
	}
	return nil
}

// inherit lays newer metadata over older.
func inherit(older, newer memory.Metadata) memory.Metadata {
	if len(older) == 0 {
		return newer
	}
	out := maps.Clone(older)
	maps.Copy(out, newer)
	return out
}

// attach adds a statement's evidence to an item.
func (l *line) attach(wit reconcile.Witness) {
	id := l.id(wit.Target)
	w := l.witness[wit.Statement].numbered(id, l.nextN[id])
	l.nextN[id] += len(w)
	decision := l.decisionOf(wit.Target)
	for _, c := range l.claims {
		if s := c.statement(); s.ID == wit.Statement {
			decision = c.decision
		}
	}
	for _, e := range w {
		l.addEvidence(e, decision)
	}
}

// outlives reports whether a claim is to be remembered longer than an item.
func outlives(c *claim, item *memory.Item) bool {
	return !item.ExpiresAt.IsZero() && (c.item.ExpiresAt.IsZero() || c.item.ExpiresAt.After(item.ExpiresAt))
}

// outlived splits off the versions that a claim of the same value outlives:
// what was said again, to be kept longer, must not expire with them.
func outlived(stored []storage.ItemRecord, claims []*claim) (left, short []storage.ItemRecord) {
	for _, r := range stored {
		old := r.Present()
		counts := old.Status != memory.StatusWithdrawn && old.Status != memory.StatusArchived && old.Reason != reasonEdited
		if counts && slices.ContainsFunc(claims, func(c *claim) bool {
			return outlives(c, &r.Item) && c.item.ValueID == r.ValueID && c.item.Polarity == r.Polarity && c.item.Authority >= r.Authority
		}) {
			short = append(short, r)
		} else {
			left = append(left, r)
		}
	}
	return left, short
}

// takeOver hands the witnesses of outlived versions to the claim that outlives
// them: like an edit, it takes their place in the line.
func (l *line) takeOver(short []storage.ItemRecord, claims []*claim) {
	for i := range short {
		r := &short[i]
		c := claims[slices.IndexFunc(claims, func(c *claim) bool { return outlives(c, &r.Item) && c.item.ValueID == r.ValueID })]
		for _, w := range testimonies(r.Evidence) {
			l.tell(w.statement(r.ValueID), w.testimony, c.item)
		}
		old := r.Present()
		l.nextState(old, memory.State{Status: memory.StatusSuperseded, Valid: old.Valid.Emptied(), Reason: reasonEdited, Decision: c.decision})
	}
}
