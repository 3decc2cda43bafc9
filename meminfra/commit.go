package meminfra

import (
	"context"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
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
	w := &batch{partition: a.partition.ID(), change: tx.Head().Change, now: a.decisionTime(),
		extractor: a.extractor.ID(), found: found, newID: a.newID, objects: map[string][]memory.Object{}}
	a.result.Actions, a.result.Rejections = a.result.Actions[:0], a.result.Rejections[:0]
	claims := a.check(found.Output, waiting)
	if err := a.decide(ctx, tx, w, claims); err != nil {
		return err
	}
	w.embedEpisodes(waiting)
	if err := w.write(ctx, tx, a.chain); err != nil {
		return err
	}
	if err := tx.PutExtractions(ctx, a.settled(rows, waiting, claims)); err != nil {
		return err
	}
	a.unembedded = w.unembedded
	return a.remember(ctx, tx)
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
	done := rows[:0]
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

// batch collects the rows of one commit, and for each decision the objects
// that its ledger entry covers.
type batch struct {
	partition string
	change    int64
	now       time.Time
	extractor string
	found     proposal
	newID     func() string

	decisions  []memory.Decision
	items      []memory.Item
	closed     []memory.State // whose system time ends
	closedAt   []time.Time
	states     []memory.State
	evidence   []memory.Evidence
	conflicts  []memory.Conflict
	embeddings []memory.Embedding
	unembedded []memory.Item // new items without a vector

	objects map[string][]memory.Object // by decision
}

func (w *batch) cover(decision string, o memory.Object) {
	w.objects[decision] = append(w.objects[decision], o)
}

func (w *batch) addDecision(d memory.Decision) {
	d.Partition, d.Change, d.At, d.Salt = w.partition, w.change, w.now, newSalt()
	d.Extractor, d.Model, d.PromptHash = w.extractor, w.found.Model, w.found.PromptHash
	w.decisions = append(w.decisions, d)
	w.cover(d.ID, ledger.Decision(d))
}

func (w *batch) addItem(i memory.Item) {
	w.items = append(w.items, i)
	w.cover(i.Decision, ledger.Item(i))
}

func (w *batch) addState(s memory.State) {
	s.Partition, s.Change, s.Salt = w.partition, w.change, newSalt()
	w.states = append(w.states, s)
	w.cover(s.Decision, ledger.State(s))
}

func (w *batch) closeState(s memory.State, at time.Time, decision string) {
	w.closed, w.closedAt = append(w.closed, s), append(w.closedAt, at)
	w.cover(decision, ledger.Close(s, at))
}

func (w *batch) addEvidence(e memory.Evidence, decision string) {
	e.Partition, e.Change, e.Salt = w.partition, w.change, newSalt()
	w.evidence = append(w.evidence, e)
	w.cover(decision, ledger.Evidence(e))
}

func (w *batch) addConflict(c memory.Conflict) {
	c.Partition, c.Change, c.At, c.Salt = w.partition, w.change, w.now, newSalt()
	w.conflicts = append(w.conflicts, c)
	w.cover(c.Decision, ledger.Conflict(c))
}

func (w *batch) embed(owner memory.OwnerKind, id string, vector []float32) bool {
	if !hasDirection(vector) {
		return false
	}
	w.embeddings = append(w.embeddings, memory.Embedding{Partition: w.partition, OwnerKind: owner, OwnerID: id,
		Model: w.found.model, Vector: vector, Change: w.change})
	return true
}

// hasDirection reports whether a vector says anything: the zero vector, of a
// text without features, is not stored.
func hasDirection(v []float32) bool {
	for _, x := range v {
		if x != 0 {
			return true
		}
	}
	return false
}

func (w *batch) embedEpisodes(waiting map[string]*memory.Episode) {
	for id := range waiting {
		w.embed(memory.OwnerEpisode, id, w.found.episodes[id])
	}
}

// write puts the rows in the order in which they refer to each other, and one
// ledger entry for each decision.
func (w *batch) write(ctx context.Context, tx storage.Tx, chain *ledger.Chain) error {
	for _, step := range []func() error{
		func() error { return tx.InsertDecisions(ctx, w.decisions) },
		func() error { return tx.InsertItems(ctx, w.items) },
		func() error { return w.closeStates(ctx, tx) },
		func() error { return tx.InsertStates(ctx, w.states) },
		func() error { return tx.InsertEvidence(ctx, w.evidence) },
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
	for i, s := range w.closed {
		if err := tx.CloseStates(ctx, []string{s.ItemID}, w.closedAt[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *batch) entries(chain *ledger.Chain) []memory.Entry {
	list := make([]memory.Entry, len(w.decisions))
	for i, d := range w.decisions {
		list[i] = chain.Append(w.partition, strings.ToLower(string(d.Action)), w.now, w.objects[d.ID])
	}
	return list
}
