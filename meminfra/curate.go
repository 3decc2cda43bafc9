package meminfra

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/access"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/reconcile"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Errors of Curate.
var (
	// ErrNotCurrent: only an item that still counts can be edited or retracted.
	ErrNotCurrent = errors.New("the item is not the present version")
	// ErrNotRestorable: only a withdrawn or archived item can be restored.
	ErrNotRestorable = errors.New("the item is neither withdrawn nor archived")
	// ErrNoValue: an edited text of a controlled fact does not say its value.
	ErrNoValue = errors.New("the text does not say the value of the fact: give it")
)

// Curator is what the owner of a memory may do to it by hand. Every act is
// versioned and in the ledger like any other change; nothing is overwritten.
type Curator struct {
	m *MemoryLayer
}

// Curate returns the handle for editing by hand.
func (m *MemoryLayer) Curate() Curator { return Curator{m} }

// EditRequest asks for another wording, or value, of an item.
type EditRequest struct {
	UserID string
	ID     string
	Text   string // required: the new text
	// Value is the new value of a controlled fact; "" reads it off the text,
	// and keeps the old one if the text still says it.
	Value string
	// Metadata is laid over the item's metadata.
	Metadata memory.Metadata
	Reason   string
}

// RetractRequest asks to withdraw an item: its owner says that it never was so.
type RetractRequest struct {
	UserID string
	ID     string
	Reason string
}

// RestoreRequest asks to take back a withdrawal or an archiving.
type RestoreRequest struct {
	UserID string
	ID     string
	Reason string
}

// CurateResult is what an act did: its action, and every item whose standing
// changed with it.
type CurateResult struct {
	ActionTaken
	Changed []string   `json:"changed"`
	Usage   []llm.Line `json:"usage"`
}

// editConversation holds the owner's edits, which are episodes like anything
// else he says.
const editConversation = "curate"

// Edit writes a new version of an item in its owner's words. It holds from
// when the old one held, keeps its evidence if the value is the same, its
// metadata and its place in the line; the old version is superseded. Errors:
// ErrNotFound, ErrNotContributor, ErrPreference, ErrNotCurrent, ErrNoValue,
// ErrBlankMessage, ErrTooLong, ErrNoUser.
func (c Curator) Edit(ctx context.Context, req EditRequest) (*CurateResult, error) {
	if memory.IsBlank(req.Text) {
		return nil, fmt.Errorf("edit: %w", ErrBlankMessage)
	}
	if _, err := req.Metadata.Canonical(); err != nil {
		return nil, fmt.Errorf("edit: %w", err)
	}
	if len(req.Text) > memory.MaxMessageBytes {
		return nil, fmt.Errorf("edit: text: %d bytes: %w", len(req.Text), ErrTooLong)
	}
	ctx, tally := tallied(ctx, "edit", c.m.userPartition(req.UserID).ID())
	found, err := c.readValue(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("edit: %w", err)
	}
	res, err := c.act(ctx, opEdit, req.UserID, req.ID, req.Reason, func(k *curation) error { return k.edit(req, found) })
	if err != nil {
		return nil, err
	}
	res.Usage = tally.Lines()
	return res, nil
}

// readValue asks the extractor what the new text says, outside of any
// transaction; only a value given by hand makes that needless.
func (c Curator) readValue(ctx context.Context, req EditRequest) (extract.Output, error) {
	if req.Value != "" {
		return extract.Output{}, nil
	}
	e := memory.Episode{ID: c.m.newID(), ConversationID: editConversation, Role: memory.RoleUser,
		Content: memory.CleanText(req.Text), SentAt: memory.Time(c.m.now())}
	return c.m.extractor.Extract(ctx, extract.Input{UserID: req.UserID,
		Target: []extract.Message{{Episode: e, Speaks: memory.UserSubject}}})
}

// Retract withdraws an item: it never was so. It stays in History and under
// KnownAt only; what it had replaced holds again. Errors: ErrNotFound,
// ErrNotCurrent if it is withdrawn already, ErrNoUser.
func (c Curator) Retract(ctx context.Context, req RetractRequest) (*CurateResult, error) {
	return c.act(ctx, opWithdraw, req.UserID, req.ID, req.Reason, (*curation).withdraw)
}

// Restore takes back a withdrawal or an archiving: the item counts again, as
// one statement among those of its line. Errors: ErrNotFound,
// ErrNotRestorable, ErrNoUser.
func (c Curator) Restore(ctx context.Context, req RestoreRequest) (*CurateResult, error) {
	return c.act(ctx, "restore", req.UserID, req.ID, req.Reason, (*curation).restore)
}

// curation is one act on one item, within its commit.
type curation struct {
	*MemoryLayer
	reading  *retrieve.Reading
	ctx      context.Context
	tx       storage.Tx
	w        *batch
	userID   string
	item     storage.ItemRecord
	line     []storage.ItemRecord // of a controlled fact, item included
	decision memory.Decision
	episode  *memory.Episode // of an edit
	result   *CurateResult
}

func (c Curator) act(ctx context.Context, op, userID, id, reason string, do func(*curation) error) (*CurateResult, error) {
	verb := op
	if op == opWithdraw {
		verb = "retract"
	}
	rd, err := c.m.begin(ctx, userID)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	if err := memory.CheckID("id", id); err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	if len(reason) > memory.MaxFieldBytes {
		return nil, fmt.Errorf("%s: reason: %d bytes: %w", verb, len(reason), ErrTooLong)
	}
	result := &CurateResult{Changed: []string{}}
	partition, err := own(ctx, rd, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	var (
		fresh []memory.Item
		said  []memory.Episode
	)
	err = c.m.store.Update(ctx, partition, func(tx storage.Tx) error {
		k := &curation{MemoryLayer: c.m, reading: rd, ctx: ctx, tx: tx, userID: userID, result: result}
		if err := k.load(op, id, reason); err != nil {
			return err
		}
		if err := do(k); err != nil {
			return err
		}
		err := k.commit()
		fresh, said = k.w.unembedded, k.w.episodes
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	ctx, tally := tallied(ctx, op, partition.ID())
	c.m.embedItems(ctx, partition, fresh, said...)
	result.Usage = tally.Lines()
	return result, nil
}

// own finds the partition of an item that the user may change: one that he
// contributed. Errors: ErrNotFound, ErrNotContributor.
func own(ctx context.Context, rd *retrieve.Reading, id string) (memory.Partition, error) {
	p, rec, err := rd.Find(ctx, id)
	switch {
	case err != nil:
		return p, err
	case rec == nil || rec.Kind == memory.KindEpisode:
		return p, ErrNotFound
	case rec.Scope != "" && rec.By != rd.Rights.User():
		return p, ErrNotContributor
	}
	return p, nil
}

// load reads the item and its line under the partition's lock.
func (k *curation) load(op, id, reason string) error {
	found, err := k.tx.Items(k.ctx, []string{id})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return ErrNotFound
	}
	k.item = found[0]
	if k.item.FactKey != "" {
		if k.line, err = k.tx.ItemsByFactKey(k.ctx, []string{k.item.FactKey}); err != nil {
			return err
		}
	}
	k.w = k.ownerBatch(k.tx.Head())
	k.w.reading = k.reading
	if k.w.foreign(&k.item.Item) {
		return ErrNotFound
	}
	if reason == "" {
		reason = op
	}
	k.decision = memory.Decision{ID: k.newID(), Operation: op, ItemID: id, Reason: memory.CleanText(reason)}
	return nil
}

// withdraw empties the item's interval and lets the line settle without it.
func (k *curation) withdraw() error {
	old := k.item.Present()
	if old.Status == memory.StatusWithdrawn || old.Reason == reasonEdited {
		return ErrNotCurrent
	}
	k.decision.Action, k.decision.SupersededID = memory.ActionRetract, k.item.ID
	k.w.addDecision(k.decision)
	k.setState(memory.StatusWithdrawn, old.Valid.Emptied(), "withdrawn")
	if k.item.FactKey == "" {
		return k.reopen()
	}
	k.settle()
	return nil
}

// restore makes the item count again; what becomes of it is for the line to say.
func (k *curation) restore() error {
	old := k.item.Present()
	if old.Status != memory.StatusWithdrawn && old.Status != memory.StatusArchived {
		return ErrNotRestorable
	}
	k.decision.Action = memory.ActionAdd
	k.w.addDecision(k.decision)
	if k.item.FactKey == "" {
		return k.restoreOpen()
	}
	k.setState(memory.StatusSuperseded, old.Valid.Emptied(), "restored")
	k.settle()
	return nil
}

// reasonEdited marks a version that its owner replaced by another wording: it
// is out of the line, its statements too, unless the new one took them along.
const reasonEdited = "edited"

// The operations of an owner's decisions that are named elsewhere too. That of an
// edit is also the reason why the new wording is there.
const (
	opEdit     = "edit"
	opWithdraw = "withdraw"
)

func (k *curation) edit(req EditRequest, found extract.Output) error {
	old := k.item.Present()
	if old.Status == memory.StatusWithdrawn || old.Status == memory.StatusArchived || old.Reason == reasonEdited {
		return ErrNotCurrent
	}
	next, err := k.reworded(req, found)
	if err != nil {
		return err
	}
	c := k.claim(next)
	act := k.editOpen
	if k.item.FactKey != "" {
		act = k.editFact
	}
	id, err := act(c)
	if err != nil {
		return err
	}
	k.w.nextState(old, memory.State{Status: memory.StatusSuperseded, Valid: old.Valid.Emptied(), Cause: id,
		Reason: reasonEdited, Decision: k.decision.ID})
	return nil
}

// editFact lets the line settle with the new wording in place of the old one,
// which takes the old one's witnesses along if the value is the same.
func (k *curation) editFact(c *claim) (string, error) {
	rest := slices.DeleteFunc(slices.Clone(k.line), func(r storage.ItemRecord) bool { return r.ID == k.item.ID })
	if c.item.FactKey != k.item.FactKey {
		// Another value of many, or another category: the old line settles
		// without the item, and the new wording joins the line of its own key.
		newLine(k.w, k.tx, rest, k.decision.ID).reconcile(nil)
		other, err := k.tx.ItemsByFactKey(k.ctx, []string{c.item.FactKey})
		if err != nil {
			return "", err
		}
		rest = other
	}
	l := newLine(k.w, k.tx, rest, k.decision.ID)
	l.edited = &k.item.Item
	l.hear([]*claim{c})
	if c.item.ValueID == k.item.ValueID {
		for _, w := range testimonies(k.item.Evidence) {
			l.tell(w.statement(c.item.ValueID), w.testimony, c.item)
		}
	}
	taken := map[string]ActionTaken{}
	l.reconcile(taken)
	k.supersede(taken[c.decision].ItemID)
	return taken[c.decision].ItemID, nil
}

// editOpen makes the new version of an open-world item, witnesses included.
func (k *curation) editOpen(c *claim) (string, error) {
	c.item.ID = k.newID()
	c.item.Supersedes, c.item.Root = k.item.ID, k.item.Root
	k.decision.ItemID = c.item.ID
	k.w.addDecision(k.decision)
	v := reconcile.AddOpen(reconcile.Told{Item: c.item}, k.w.now)
	state := memory.State{Status: v.Status, Valid: v.Valid, Reason: v.Reason}
	if old := k.item.Present(); old.Status == memory.StatusSuperseded || old.Status == memory.StatusEnded {
		state.Status, state.Valid = old.Status, old.Valid // in other words, but over as it was
	}
	rec := k.w.createOpen(k.tx, c, state)
	for _, w := range testimonies(k.item.Evidence) {
		k.w.attachOpen(&rec, w, k.decision.ID)
	}
	return rec.ID, nil
}

// supersede makes the decision of the edit say so: the line may have found a
// new fact in it, but to the owner it replaced the old wording.
func (k *curation) supersede(itemID string) {
	d := &k.w.decisions[len(k.w.decisions)-1]
	d.Action, d.ItemID, d.SupersededID, d.Reason = memory.ActionSupersede, itemID, k.item.ID, k.decision.Reason
}

// setState gives the item its next state, to be seen by settle.
func (k *curation) setState(status memory.Status, valid memory.Validity, reason string) {
	next := k.w.nextState(k.item.Present(), memory.State{Status: status, Valid: valid, Reason: reason, Decision: k.decision.ID})
	k.item.States = append(k.item.States, next)
}

// settle lets the line of a controlled fact settle around the item's new state.
func (k *curation) settle() {
	for i := range k.line {
		if k.line[i].ID == k.item.ID {
			k.line[i] = k.item
		}
	}
	newLine(k.w, k.tx, k.line, k.decision.ID).reconcile(map[string]ActionTaken{})
}

// keepsSource reports that a new wording names whose word it is, as the old one
// does: then the owner answers for the wording and not for what it says.
func (k *curation) keepsSource(item memory.Item) bool {
	old, _ := extract.SplitAttribution(k.item.Text)
	now, _ := extract.SplitAttribution(item.Text)
	return k.item.Authority < memory.Authorized && old != "" && old == now
}

// claim is the owner's word for the new version. One that keeps its source
// needs the words of that source as well.
func (k *curation) claim(item memory.Item) *claim {
	c := k.ownWord(item)
	if item.Authority == memory.Authorized {
		return c
	}
	for _, w := range testimonies(k.item.Evidence) {
		if w.authority() == item.Authority && w.first.Polarity == item.Polarity {
			c.parts = w.testimony
			break
		}
	}
	return c
}

func (k *curation) ownWord(item memory.Item) *claim {
	return &claim{item: item, episode: k.episode, decision: k.decision.ID, operation: "edit", evidence: memory.Evidence{
		Partition: item.Partition, EpisodeID: k.episode.ID, Quote: k.episode.Content, End: len(k.episode.Content),
		Full: true, Polarity: item.Polarity, Authority: memory.RoleUser.Authority(), Stated: item.Stated, Salt: newSalt(),
	}}
}

// reworded makes the item of the new version and the episode that says it.
func (k *curation) reworded(req EditRequest, found extract.Output) (memory.Item, error) {
	item := k.item.Item
	item.Text = memory.CleanText(req.Text)
	if !k.keepsSource(item) {
		item.Authority = memory.RoleUser.Authority()
	}
	item.TextKey = textKey(item)
	item.Metadata = inherit(item.Metadata, req.Metadata)
	if err := k.revalue(&item, req, found); err != nil {
		return memory.Item{}, err
	}
	if item.Stated.From.IsZero() && item.Stated.To.IsZero() {
		item.Stated.From = k.w.now
	}
	if item.Scope.Visibility != memory.VisibilityPrivate && item.FactKey == "" && (access.AscribesPreference(item.Text) || k.prefers(item.Text)) {
		return memory.Item{}, ErrPreference
	}
	id := k.newID()
	k.episode = &memory.Episode{Partition: item.Partition, ID: id, ConversationID: editConversation,
		SessionID: id, MessageID: id, Seq: k.tx.NextSeq(1), Change: k.w.change, Role: memory.RoleUser, UserID: k.userID,
		Content: item.Text, Hash: sha256.Sum256([]byte(item.Text)), SentAt: k.w.now, RecordedAt: k.w.now,
		ExpiresAt: item.ExpiresAt, Salt: newSalt()}
	return item, nil
}

// revalue finds the value that the new text says, and with it the fact key and
// the times: what the text says itself goes before what was known.
func (k *curation) revalue(item *memory.Item, req EditRequest, found extract.Output) error {
	if !strings.Contains(item.Text, item.Vague.Words) {
		item.Vague = memory.Vague{}
	}
	raw := req.Value
	if c := k.saying(item, found); c != nil {
		if raw == "" {
			raw = c.Value
		}
		retime(item, c)
	}
	switch {
	case item.Predicate == "":
		return nil
	case raw == "" && !saysValue(item.Text, item.Value):
		return ErrNoValue
	case raw == "":
		return nil
	case item.FactKey == "":
		item.Value, item.ValueID = memory.CleanText(raw), memory.FoldName(raw)
		return nil
	}
	shown, id, ok := k.registry.Value(item.Predicate, raw)
	if !ok {
		return ErrNoValue
	}
	item.Value, item.ValueID = shown, id
	item.FactKey, _ = k.registry.Key(item.Subject.Type, subjectName(item.Subject, k.userID), item.Predicate, id)
	return nil
}

// saying finds the candidate that says the item's fact; nil for none.
func (k *curation) saying(item *memory.Item, found extract.Output) *extract.Candidate {
	for i := range found.Candidates {
		c := &found.Candidates[i]
		if name, ok := k.registry.Canonical(c.Predicate); ok && name == item.Predicate && c.Polarity == item.Polarity {
			return c
		}
	}
	return nil
}

// retime takes over the times that a candidate names.
func retime(item *memory.Item, c *extract.Candidate) {
	if c.Stated.From.IsZero() && c.Stated.To.IsZero() && c.Vague.IsZero() {
		return
	}
	item.Vague = c.Vague
	if !c.Stated.From.IsZero() {
		item.Stated.From = memory.Time(c.Stated.From)
	}
	if !c.Stated.To.IsZero() {
		item.Stated.To = memory.Time(c.Stated.To)
	}
}

// commit writes the batch and reports.
func (k *curation) commit() error {
	if k.episode != nil {
		if err := k.storeEpisode(); err != nil {
			return err
		}
	}
	if err := k.w.write(k.ctx, k.tx, k.chainAt(k.tx.Head())); err != nil {
		return err
	}
	d := k.w.decisions[len(k.w.decisions)-1]
	shown := k.item.Item
	if len(k.w.items) > 0 {
		shown = k.w.items[0]
	}
	k.result.ActionTaken = ActionTaken{Action: d.Action, ItemID: d.ItemID, Text: shown.Text, Predicate: shown.Predicate,
		Value: shown.Value, SupersededID: d.SupersededID, Reason: d.Reason, Guards: []string{}}
	for _, s := range k.w.states {
		k.result.Changed = append(k.result.Changed, s.ItemID)
	}
	return nil
}

func (k *curation) storeEpisode() error {
	now := k.w.now
	err := k.tx.PutConversation(k.ctx, storage.Conversation{Partition: k.w.partition, ID: editConversation, CreatedAt: now, UpdatedAt: now})
	if err != nil {
		return err
	}
	k.w.episodes = []memory.Episode{*k.episode}
	return nil
}

// saysValue reports whether a text still says a value, whatever its case.
func saysValue(text, value string) bool {
	return value != "" && strings.Contains(memory.FoldName(text), memory.FoldName(value))
}
