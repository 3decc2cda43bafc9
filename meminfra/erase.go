package meminfra

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// erasing is one erasure of part of a partition, within its commit: first what
// has to go, then what is left of the lines it touches.
type erasing struct {
	*MemoryLayer
	ctx      context.Context
	tx       storage.Tx
	w        *batch
	items    map[string]bool // that go
	episodes map[string]bool
	expired  map[string]bool // items that go because their own time is over
	records  map[string]*storage.ItemRecord
	keys     map[string]bool // fact keys whose lines were read
	retold   []string        // items that go, and are said elsewhere as well
	bearing  storage.Bearing
	teller   string // in shared memory: whose items and messages may be marked; "" for all
	gone     string // in shared memory: who is forgotten
}

// erase runs one erasure; selected marks what it begins with. Nothing selected
// is no error and writes nothing.
func (m *MemoryLayer) erase(ctx context.Context, p memory.Partition, c *Certificate, selected func(*erasing) error) error {
	var fresh []memory.Item
	err := m.store.Update(ctx, p, func(tx storage.Tx) error {
		e := &erasing{MemoryLayer: m, ctx: ctx, tx: tx, w: m.ownerBatch(tx.Head()), items: map[string]bool{},
			episodes: map[string]bool{}, expired: map[string]bool{}, records: map[string]*storage.ItemRecord{}, keys: map[string]bool{}}
		e.w.now = c.At
		if err := selected(e); err != nil {
			return err
		}
		if len(e.items)+len(e.episodes) == 0 {
			return errNothing
		}
		if err := e.spread(); err != nil {
			return err
		}
		if err := e.commit(c); err != nil {
			return err
		}
		fresh = e.w.unembedded
		return unlessDry(c.DryRun)
	})
	if err != nil {
		return quiet(err)
	}
	m.embedItems(ctx, p, fresh)
	return nil
}

func (e *erasing) addEpisodes(ids []string) {
	for _, id := range ids {
		e.episodes[id] = true
	}
}

// addLines marks items with all versions of their lines and the messages that
// these quote. A derived item quotes nothing itself: its sources stay.
func (e *erasing) addLines(ids []string) error {
	if err := e.read(ids); err != nil {
		return err
	}
	for _, id := range ids {
		r := e.records[id]
		if r == nil || e.teller != "" && r.Scope.UserID != e.teller {
			continue
		}
		line, err := e.line(r)
		if err != nil {
			return err
		}
		for _, v := range line {
			e.items[v.ID] = true
			for _, w := range v.Evidence {
				if len(v.DerivedFrom) == 0 {
					e.episodes[w.EpisodeID] = true
				}
			}
		}
	}
	return nil
}

// read reads items that were not read yet, and the lines of controlled facts.
func (e *erasing) read(ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return e.records[id] != nil })
	list, err := e.tx.Items(e.ctx, ids)
	if err != nil {
		return err
	}
	var keys []string
	for i := range list {
		if r := &list[i]; r.FactKey == "" {
			e.records[r.ID] = r
		} else if !e.keys[r.FactKey] {
			e.keys[r.FactKey] = true
			keys = append(keys, r.FactKey)
		}
	}
	lines, err := e.tx.ItemsByFactKey(e.ctx, keys)
	for i := range lines {
		e.records[lines[i].ID] = &lines[i]
	}
	return err
}

// line is all versions of an item: those of its fact key, for open-world ones
// those of its root.
func (e *erasing) line(r *storage.ItemRecord) (line []*storage.ItemRecord, err error) {
	for changed := r.FactKey == ""; changed; {
		// Later versions name the one they supersede; earlier ones are named.
		before := len(e.records)
		var open []string
		for id, v := range e.records {
			if v.FactKey == "" && v.Root == r.Root {
				open = append(open, id)
				if v.Supersedes != "" {
					if err := e.read([]string{v.Supersedes}); err != nil {
						return nil, err
					}
				}
			}
		}
		b, err := e.tx.Bearing(e.ctx, open, nil)
		if err == nil {
			err = e.read(b.Items)
		}
		if err != nil {
			return nil, err
		}
		changed = len(e.records) > before
	}
	for _, id := range slices.Sorted(maps.Keys(e.records)) {
		v := e.records[id]
		if v.Scope.UserID != r.Scope.UserID {
			continue // beside it, in shared memory
		}
		if v.ID == r.ID || r.FactKey != "" && v.FactKey == r.FactKey || r.FactKey == "" && v.FactKey == "" && v.Root == r.Root {
			line = append(line, v)
		}
	}
	return line, nil
}

// spread marks what cannot stand without what is marked, until nothing is added.
func (e *erasing) spread() (err error) {
	for {
		if err := e.read(slices.Sorted(maps.Keys(e.items))); err != nil {
			return err
		}
		e.bearing, err = e.tx.Bearing(e.ctx, slices.Sorted(maps.Keys(e.items)), slices.Sorted(maps.Keys(e.episodes)))
		if err != nil {
			return err
		}
		if err := e.read(e.bearing.Items); err != nil {
			return err
		}
		changed := false
		for _, id := range slices.Sorted(maps.Keys(e.records)) {
			if e.items[id] {
				continue
			}
			goes, err := e.goes(e.records[id])
			if err != nil {
				return err
			}
			if goes {
				e.items[id], changed = true, true
			}
		}
		if !changed {
			e.findRetold()
			return nil
		}
	}
}

// goes decides about an item that is not marked: it goes if what it was made of
// goes, if nothing is left that says it, and if its own words come from what goes.
func (e *erasing) goes(r *storage.ItemRecord) (bool, error) {
	if len(r.DerivedFrom) > 0 {
		return slices.ContainsFunc(r.DerivedFrom, func(id string) bool { return e.items[id] }), nil
	}
	if len(r.Evidence) > 0 && len(e.left(r)) == 0 || e.breaksWitness(r) {
		return true, nil
	}
	if e.lostFounder(r) || e.wordsGo(r) || e.actGoes(r) {
		return true, nil
	}
	return e.metadataGoes(r)
}

// breaksWitness: of parts that are all needed, some go and some stay. What is
// left says less, perhaps with more authority, and is no witness.
func (e *erasing) breaksWitness(r *storage.ItemRecord) bool {
	return slices.ContainsFunc(testimonies(r.Evidence), func(w told) bool {
		gone := 0
		for i := range w.testimony {
			if e.episodes[w.testimony[i].EpisodeID] {
				gone++
			}
		}
		return gone > 0 && gone < len(w.testimony)
	})
}

// left is the evidence that stays, whatever its weight.
func (e *erasing) left(r *storage.ItemRecord) (list []storage.EvidenceRecord) {
	for _, w := range r.Evidence {
		if !e.episodes[w.EpisodeID] {
			list = append(list, w)
		}
	}
	return list
}

// lostFounder: an item reads as its first witness, or the edit that made it,
// said it, and a witness in several parts needs them all.
func (e *erasing) lostFounder(r *storage.ItemRecord) bool {
	if len(r.Evidence) > 0 && e.episodes[r.Evidence[0].EpisodeID] {
		return true
	}
	for _, w := range testimonies(r.Evidence) {
		if len(w.testimony) > 1 && slices.ContainsFunc(w.testimony, func(p memory.Evidence) bool { return e.episodes[p.EpisodeID] }) {
			return true
		}
	}
	return slices.ContainsFunc(e.bearing.Decisions, func(d memory.Decision) bool {
		return d.ID == r.Decision && d.ItemID == r.ID && e.episodes[d.EpisodeID]
	})
}

// wordsGo: a second version of an old statement reads like the first one. If
// that goes, the second must be able to show the words in what is left.
func (e *erasing) wordsGo(r *storage.ItemRecord) bool {
	text := textKey(r.Item)
	shared := false
	for id := range e.items {
		g := e.records[id]
		shared = shared || g != nil && g.Scope.UserID == r.Scope.UserID && (g.Root == r.Root || g.FactKey != "" && g.FactKey == r.FactKey) && textKey(g.Item) == text
	}
	return shared && !slices.ContainsFunc(e.left(r), func(w storage.EvidenceRecord) bool {
		return strings.Contains(memory.NormalText(w.Quote), text)
	})
}

// actGoes: a state was made by an act of the owner about something that goes,
// and the act's reason is in his words.
func (e *erasing) actGoes(r *storage.ItemRecord) bool {
	return slices.ContainsFunc(e.bearing.Decisions, func(d memory.Decision) bool {
		return d.Extractor == "owner" && d.Reason != d.Operation &&
			slices.ContainsFunc(r.States, func(s memory.State) bool { return s.Decision == d.ID })
	})
}

// metadataGoes: versions inherit metadata. What an item has from one that goes,
// and not from its own founder, takes it along.
func (e *erasing) metadataGoes(r *storage.ItemRecord) (bool, error) {
	inherited := memory.Metadata{}
	for before := e.records[r.Supersedes]; before != nil; before = e.records[before.Supersedes] {
		if e.items[before.ID] {
			maps.Copy(inherited, before.Metadata)
		}
	}
	if len(inherited) == 0 || len(r.Metadata) == 0 || len(r.Evidence) == 0 {
		return false, nil
	}
	founder, err := e.tx.Episodes(e.ctx, []string{r.Evidence[0].EpisodeID})
	if err != nil || len(founder) == 0 {
		return false, err
	}
	for key := range inherited {
		_, has := r.Metadata[key]
		if _, own := founder[0].Metadata[key]; has && !own {
			return true, nil
		}
	}
	return false, nil
}

// findRetold picks the items that go although someone else says the same:
// those that counted, and were neither withdrawn nor reworded by their owner.
func (e *erasing) findRetold() {
	for _, id := range slices.Sorted(maps.Keys(e.items)) {
		r := e.records[id]
		if r == nil || len(r.DerivedFrom) > 0 || r.Present().Reason == reasonEdited || e.gone != "" && r.Scope.UserID == e.gone || e.expired[id] && !e.lostFounder(r) {
			continue
		}
		switch r.Present().Status {
		case memory.StatusActive, memory.StatusSuperseded, memory.StatusEnded:
			if len(e.witnesses(r)) > 0 {
				e.retold = append(e.retold, id)
			}
		}
	}
}

// witnesses are the full witnesses of an item that are left.
func (e *erasing) witnesses(r *storage.ItemRecord) []storage.EvidenceRecord {
	return slices.DeleteFunc(e.left(r), func(w storage.EvidenceRecord) bool { return !w.Full || w.Polarity != r.Polarity })
}

// commit erases, settles what is left and writes the tombstone.
func (e *erasing) commit(c *Certificate) error {
	head := e.tx.Head()
	at, err := e.moments()
	if err != nil {
		return err
	}
	erased, err := e.tx.Erase(e.ctx, storage.Erasure{ID: e.newID(), At: c.At,
		Items: slices.Sorted(maps.Keys(e.items)), Episodes: slices.Sorted(maps.Keys(e.episodes)),
		Decisions: decisionIDs(e.bearing.Decisions), Traces: e.bearing.Traces, Keys: e.receipts()})
	if err != nil {
		return err
	}
	c.count(erased)
	chain := e.chainAt(head)
	if err := e.entomb(e.ctx, e.tx, chain, erased.Covered, at, c); err != nil {
		return err
	}
	if err := e.resettle(); err != nil {
		return err
	}
	for _, item := range e.w.items {
		c.Retold = append(c.Retold, item.ID)
	}
	if len(e.w.states)+len(e.w.evidence)+len(e.w.conflicts) == 0 {
		return nil
	}
	return e.w.write(e.ctx, e.tx, chain)
}

// moments are when what goes was written, and closed. Evidence came with a decision.
func (e *erasing) moments() ([]time.Time, error) {
	set := map[time.Time]bool{}
	said, err := e.tx.Episodes(e.ctx, slices.Sorted(maps.Keys(e.episodes)))
	for i := range said {
		set[said[i].RecordedAt] = true
	}
	for id := range e.items {
		r := e.records[id]
		if r == nil {
			continue
		}
		set[r.RecordedAt] = true
		for _, s := range r.States {
			set[s.SystemFrom], set[s.SystemTo] = true, true
		}
		for _, c := range r.Conflicts {
			set[c.At] = true
		}
	}
	for i := range e.bearing.Decisions {
		set[e.bearing.Decisions[i].At] = true
	}
	return slices.Collect(maps.Keys(set)), err
}

// receipts are the idempotency keys whose result names something that goes.
func (e *erasing) receipts() (keys []string) {
	for i := range e.bearing.Receipts {
		r := &e.bearing.Receipts[i]
		if e.isKeyOfGone(r) {
			keys = append(keys, r.Key)
			continue
		}
		for _, gone := range []map[string]bool{e.items, e.episodes} {
			for id := range gone {
				if strings.Contains(r.Result, id) {
					keys = append(keys, r.Key)
					break
				}
			}
		}
	}
	return keys
}

func decisionIDs(list []memory.Decision) []string {
	ids := make([]string, len(list))
	for i, d := range list {
		ids[i] = d.ID
	}
	return ids
}
