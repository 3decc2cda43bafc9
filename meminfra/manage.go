package meminfra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/reconcile"
	"github.com/meminfra/memory-layer/meminfra/reconcile/manager"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// sameCosine is the cosine above which two texts with the same figures are one
// proposition. Source: design section 5.
const sameCosine = 0.95

// nearby is how many items near a statement are looked at. Source: design section 5.
const nearby = 10

// managed is what the manager was shown and proposed, before the commit.
type managed struct {
	near      map[int][]reconcile.Neighbour // by place of the candidate: handles, ids and cosines
	proposals map[int][]reconcile.Proposal  // of the candidates that it was asked about
	read      map[string]int                // by id of a memory shown: the number of its state
	model     string
}

func (m *MemoryLayer) isManaged() bool { return m.generator != nil && !m.skipManager }

// lookAround asks the index for stored items near the open-world candidates;
// nothing is decided by it. Without a manager only what may be the same counts.
func (a *addition) lookAround(ctx context.Context, p *proposal) {
	least := sameCosine
	if a.isManaged() {
		least = 0
	}
	p.near = map[string][]retrieve.Neighbour{}
	for i := range p.Candidates {
		c := &p.Candidates[i]
		if _, controlled := a.registry.Lookup(c.Predicate); controlled {
			continue
		}
		text := a.itemText(c)
		if v := p.vectors[text]; llm.HasDirection(v) && p.near[text] == nil {
			p.near[text] = a.reading.Nearest(ctx, a.partition.ID(), v, nearby, least)
		}
	}
}

// manage asks the manager about the open-world candidates that have neighbours,
// outside of any transaction. If it fails they are decided without it, which is
// said.
func (a *addition) manage(ctx context.Context, p *proposal) {
	p.managed = nil
	if !a.isManaged() {
		return
	}
	asked, err := a.neighbourhood(ctx, p)
	if err != nil {
		a.unmanaged(ctx, err)
		return
	}
	if len(asked.statements) == 0 {
		return
	}
	reply, err := manager.New(a.generator).Propose(ctx, a.partition.ID(), asked.memories, asked.statements)
	if err != nil {
		a.unmanaged(ctx, err)
		return
	}
	if reply.Stray > 0 {
		a.degraded(fmt.Sprintf("ignored %d operations of the manager on statements it was not asked about", reply.Stray))
	}
	for i, candidate := range asked.candidates {
		asked.proposals[candidate] = reply.Proposals[i]
	}
	p.managed = &asked.managed
}

func (a *addition) unmanaged(ctx context.Context, err error) {
	a.degraded("decided without the manager: it failed")
	a.logger.WarnContext(ctx, "add: the manager failed", "model", a.generator.Model(), "error", llm.Safe(err))
}

// degraded adds a line to the result, once.
func (a *addition) degraded(line string) {
	if !slices.Contains(a.result.Degraded, line) {
		a.result.Degraded = append(a.result.Degraded, line)
	}
}

// question is what the manager is asked.
type question struct {
	managed
	memories   []manager.Memory
	statements []manager.Statement
	candidates []int // of the statements, by their place
}

// neighbourhood reads the items near the open-world candidates. A candidate
// whose proposition is there already is not asked about.
func (a *addition) neighbourhood(ctx context.Context, p *proposal) (*question, error) {
	q := &question{managed: managed{near: map[int][]reconcile.Neighbour{}, proposals: map[int][]reconcile.Proposal{},
		read: map[string]int{}, model: a.generator.Model()}}
	records, err := a.nearRecords(ctx, p)
	if err != nil {
		return nil, err
	}
	target := make(map[string]*memory.Episode, len(a.target))
	for i := range a.target {
		target[a.target[i].ID] = &a.target[i]
	}
	claims := a.check(p.Output, target)
	for i := range claims {
		if claims[i].item.FactKey == "" {
			q.put(&claims[i], p.near[claims[i].item.Text], records)
		}
	}
	return q, nil
}

// put adds a statement to the question, and the memories near it.
func (q *question) put(c *claim, near []retrieve.Neighbour, records map[string]*storage.ItemRecord) {
	s := manager.Statement{Item: c.item, SaidAt: c.episode.SentAt}
	var shown []reconcile.Neighbour
	for _, n := range near {
		r := records[n.ID]
		if r == nil || r.FactKey != "" {
			continue
		}
		if saysSame(c, r, n.Cosine) {
			return
		}
		place := q.show(r)
		s.Near = append(s.Near, place)
		shown = append(shown, reconcile.Neighbour{Handle: manager.Handle(place), Item: memory.Item{ID: r.ID}, Cosine: n.Cosine})
	}
	if len(shown) > 0 {
		q.near[c.candidate] = shown
		q.statements, q.candidates = append(q.statements, s), append(q.candidates, c.candidate)
	}
}

// show adds a memory to the question and returns its place.
func (q *question) show(r *storage.ItemRecord) int {
	place := slices.IndexFunc(q.memories, func(m manager.Memory) bool { return m.Item.ID == r.ID })
	if place < 0 {
		place = len(q.memories)
		q.memories = append(q.memories, manager.Memory{Item: r.Item, Valid: r.Present().Valid, SaidAt: saidAt(r)})
		q.read[r.ID] = r.Present().N
	}
	return place
}

// nearRecords reads all items near any candidate, by id.
func (a *addition) nearRecords(ctx context.Context, p *proposal) (map[string]*storage.ItemRecord, error) {
	var ids []string
	for i := range p.Candidates {
		for _, n := range p.near[a.itemText(&p.Candidates[i])] {
			ids = append(ids, n.ID)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	records := make(map[string]*storage.ItemRecord, len(ids))
	if len(ids) == 0 {
		return records, nil
	}
	list, err := a.store.Items(ctx, a.partition.ID(), ids)
	for i := range list {
		records[list[i].ID] = &list[i]
	}
	return records, err
}

// saidAt is when an item's first witness said it.
func saidAt(r *storage.ItemRecord) time.Time {
	if len(r.Evidence) == 0 {
		return r.RecordedAt
	}
	return r.Evidence[0].SentAt
}

// errStale ends a commit whose decision was made on what has changed since.
var errStale = errors.New("the memories that the manager read have changed")

// managerRepeats is how often the manager is asked again because of that. Source:
// design section 5.
const managerRepeats = 2

// settle runs a commit. While memories that the manager read have a new state by
// then, it is asked again; at last it is decided without it.
func (a *addition) settle(ctx context.Context, found proposal, commit func(proposal) error) error {
	for repeats := 0; ; repeats++ {
		err := commit(found)
		if !errors.Is(err, errStale) {
			return err
		}
		if repeats == managerRepeats {
			found.managed = nil
			a.degraded("decided without the manager: the memories it read kept changing")
			continue
		}
		a.lookAround(ctx, &found)
		a.manage(ctx, &found)
	}
}
