package meminfra

import (
	"context"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// commit is the second commit: what the messages say is decided under the
// partition's lock, against what is stored now, and written as one.
func (a *addition) commit(ctx context.Context, tx storage.Tx, found proposal) error {
	if err := a.replay(ctx, tx); err != nil {
		return err
	}
	rows, err := tx.Extractions(ctx, a.extractor.ID(), episodeIDs(a.target))
	if err != nil {
		return err
	}
	waiting := a.waiting(rows)
	unread := takeUnread(waiting, found.Unread)
	w := &batch{numbered: numberedBy(tx.Head()), partition: a.partition.ID(), change: tx.Head().Change, now: a.decisionTime(),
		extractor: a.extractor.ID(), found: found, newID: a.newID, reading: a.reading}
	a.result.Actions, a.result.Rejections = a.result.Actions[:0], a.result.Rejections[:0]
	claims := a.check(found.Output, waiting)
	a.passOn(found.Rejections)
	a.rejectPreferences(waiting, claims)
	if err := a.decide(ctx, tx, w, claims); err != nil {
		return err
	}
	w.embedEpisodes(waiting)
	w.embedEpisodes(unread)
	if err := w.write(ctx, tx, a.chain); err != nil {
		return err
	}
	if err := tx.PutExtractions(ctx, append(a.failed(rows, unread, found.Unread), a.settled(rows, waiting, claims)...)); err != nil {
		return err
	}
	a.unembedded = w.unembedded
	if len(a.again(found.Unread)) > 0 {
		return nil // the call is not finished
	}
	return a.remember(ctx, tx)
}

// passOn adds the extractor's own rejections to the result.
func (a *addition) passOn(list []extract.Rejection) {
	for _, r := range list {
		a.result.Rejections = append(a.result.Rejections, Rejection{EpisodeID: r.EpisodeID, MessageID: r.MessageID,
			Predicate: r.Predicate, Reason: r.Reason})
	}
}

// waiting returns the target episodes that no other call has settled meanwhile.
func (a *addition) waiting(rows []memory.Extraction) map[string]*memory.Episode {
	open := map[string]bool{}
	for _, x := range rows {
		open[x.EpisodeID] = x.Status == memory.ExtractionPending || x.Status == memory.ExtractionFailed
	}
	waiting := make(map[string]*memory.Episode, len(a.target))
	for i := range a.target {
		if e := &a.target[i]; open[e.ID] {
			waiting[e.ID] = e
		}
	}
	return waiting
}

// settled marks the extraction rows of the episodes now dealt with.
func (a *addition) settled(rows []memory.Extraction, waiting map[string]*memory.Episode, claims []claim) []memory.Extraction {
	kept := map[string]bool{}
	for i := range claims {
		kept[claims[i].episode.ID] = true
	}
	var done []memory.Extraction
	for _, x := range rows {
		if waiting[x.EpisodeID] == nil {
			continue
		}
		x.Status = memory.ExtractionEmpty
		if kept[x.EpisodeID] {
			x.Status = memory.ExtractionDone
		}
		x.Attempts++
		x.LeaseUntil, x.Error, x.UpdatedAt = time.Time{}, "", memory.Time(a.now())
		done = append(done, x)
	}
	return done
}

// decisionTime is the clock, but not before what was said without a time of
// its own: such a message counts microseconds ahead of it.
func (a *addition) decisionTime() time.Time {
	now := memory.Time(a.now())
	for i := range a.target {
		if e := &a.target[i]; e.Estimated && e.SentAt.After(now) {
			now = e.SentAt
		}
	}
	return now
}

// batch collects the rows of one commit. Each row belongs to a decision, whose
// ledger entry covers it.
type batch struct {
	partition string
	change    int64
	now       time.Time
	extractor string
	found     proposal
	newID     func() string
	numbered  int // evidence of stored items is numbered after it
	// reading is whose commit it is, and what he may read; nil for an erasure,
	// which goes by the whole partition, one teller's lines at a time.
	reading *retrieve.Reading
	teller  string

	episodes   []memory.Episode // of a decision of their own: the owner's edits
	decisions  []memory.Decision
	items      []memory.Item
	closed     []closing
	states     []memory.State
	evidence   []witness
	conflicts  []memory.Conflict
	embeddings []memory.Embedding
	unembedded []memory.Item // new items without a vector
}

// closing ends the system time of a stored state.
type closing struct {
	memory.State
	at       time.Time
	decision string
}

// witness is evidence and the decision that attached it.
type witness struct {
	memory.Evidence
	decision string
}

func (w *batch) addDecision(d memory.Decision) {
	d.Partition, d.Change, d.At, d.Salt = w.partition, w.change, w.now, newSalt()
	d.Extractor = w.extractor
	if d.PromptHash == "" {
		d.Model, d.PromptHash = w.found.Model, w.found.PromptHash
	}
	w.decisions = append(w.decisions, d)
}

// addState makes a state the first of an item.
func (w *batch) addState(s memory.State) memory.State {
	s.Partition, s.Change, s.Salt = w.partition, w.change, newSalt()
	s.N, s.SystemFrom = 1, w.now
	w.states = append(w.states, s)
	return s
}

// nextState closes an item's present state and opens s after it. A state of
// this very commit, which nobody has seen, is replaced instead. An item's
// system time moves on even if the clock does not.
func (w *batch) nextState(old, s memory.State) memory.State {
	s.Partition, s.ItemID, s.FactKey, s.Change, s.Salt = w.partition, old.ItemID, old.FactKey, w.change, newSalt()
	s.N, s.SystemFrom = old.N+1, w.now
	if !s.SystemFrom.After(old.SystemFrom) {
		s.SystemFrom = old.SystemFrom.Add(time.Microsecond)
	}
	for i := range w.states {
		if w.states[i].ItemID == old.ItemID && w.states[i].N == old.N {
			s.N, s.SystemFrom = old.N, old.SystemFrom
			w.states[i] = s
			return s
		}
	}
	w.closed = append(w.closed, closing{old, s.SystemFrom, s.Decision})
	w.states = append(w.states, s)
	return s
}

func (w *batch) addEvidence(e memory.Evidence, decision string) {
	e.Partition, e.Change, e.At, e.Salt = w.partition, w.change, w.now, newSalt()
	w.evidence = append(w.evidence, witness{e, decision})
}

func (w *batch) addConflict(c memory.Conflict) {
	c.Partition, c.Change, c.At, c.Salt = w.partition, w.change, w.now, newSalt()
	w.conflicts = append(w.conflicts, c)
}

// embed keeps a vector, and reports whether it says anything. One that does not
// is kept as an empty one: its text need not be embedded again. Nothing is kept
// where there is none, since the embedder failed: it can be made later.
func (w *batch) embed(owner memory.OwnerKind, id string, vector []float32) bool {
	if len(vector) == 0 || !llm.IsFinite(vector) {
		return false
	}
	says := llm.HasDirection(vector)
	if !says {
		vector = []float32{}
	}
	w.embeddings = append(w.embeddings, memory.Embedding{Partition: w.partition, OwnerKind: owner, OwnerID: id,
		Model: w.found.model, Vector: vector, Change: w.change})
	return says
}

func (w *batch) embedEpisodes(waiting map[string]*memory.Episode) {
	for id := range waiting {
		w.embed(memory.OwnerEpisode, id, w.found.episodes[id])
	}
}

// numberedBy is the number after which stored items number new evidence: no
// number is given twice, and an erased piece may have had the highest. What was
// given before is below the partition's sequence number. 0 without erasures.
func numberedBy(head storage.Head) int {
	if head.Erased == 0 {
		return 0
	}
	return int(head.Seq)
}

// ownerBatch begins a commit that its owner makes by hand.
func (m *MemoryLayer) ownerBatch(head storage.Head) *batch {
	return &batch{numbered: numberedBy(head), partition: head.Partition, change: head.Change, now: memory.Time(m.now()), extractor: "owner", newID: m.newID}
}

// chainAt continues the ledger at a partition's head.
func (m *MemoryLayer) chainAt(head storage.Head) *ledger.Chain {
	return ledger.NewChain(m.ledgerKey, head.LedgerSeq, head.LedgerHead)
}

// write puts the rows in the order in which they refer to each other, and one
// ledger entry for each decision.
func (w *batch) write(ctx context.Context, tx storage.Tx, chain *ledger.Chain) error {
	for _, step := range []func() error{
		func() error { return tx.InsertEpisodes(ctx, w.episodes) },
		func() error { return tx.InsertDecisions(ctx, w.decisions) },
		func() error { return tx.InsertItems(ctx, w.items) },
		func() error { return w.closeStates(ctx, tx) },
		func() error { return tx.InsertStates(ctx, w.states) },
		func() error { return tx.InsertEvidence(ctx, w.witnesses()) },
		func() error { return tx.InsertConflicts(ctx, w.conflicts) },
		func() error { return tx.PutEmbeddings(ctx, w.embeddings) },
		func() error { return tx.AppendEntries(ctx, w.entries(chain)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (w *batch) closeStates(ctx context.Context, tx storage.Tx) error {
	for _, c := range w.closed {
		if err := tx.CloseStates(ctx, []string{c.ItemID}, c.at); err != nil {
			return err
		}
	}
	return nil
}

func (w *batch) witnesses() []memory.Evidence {
	list := make([]memory.Evidence, len(w.evidence))
	for i, e := range w.evidence {
		list[i] = e.Evidence
	}
	return list
}

// entries makes the ledger entry of each decision, over all rows it wrote.
func (w *batch) entries(chain *ledger.Chain) []memory.Entry {
	rows := make(map[string][]memory.Object, len(w.decisions))
	cover := func(decision string, o memory.Object) { rows[decision] = append(rows[decision], o) }
	for _, d := range w.decisions {
		cover(d.ID, ledger.Decision(d))
	}
	for _, e := range w.episodes {
		cover(w.decisions[0].ID, ledger.Episode(e))
	}
	for _, i := range w.items {
		cover(i.Decision, ledger.Item(i))
	}
	for _, c := range w.closed {
		cover(c.decision, ledger.Close(c.State, c.at))
	}
	for _, s := range w.states {
		cover(s.Decision, ledger.State(s))
	}
	for _, e := range w.evidence {
		cover(e.decision, ledger.Evidence(e.Evidence))
	}
	for _, c := range w.conflicts {
		cover(c.Decision, ledger.Conflict(c))
	}
	list := make([]memory.Entry, len(w.decisions))
	for i, d := range w.decisions {
		op := d.Operation
		if op == "add" {
			op = strings.ToLower(string(d.Action))
		}
		list[i] = chain.Append(w.partition, op, w.now, rows[d.ID])
	}
	return list
}
