package index

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// DefaultBudget is the memory that a Manager keeps indexes in by default.
const DefaultBudget = 512 << 20

// Options of a Manager. Nil and the zero value are the defaults.
type Options struct {
	// Budget is how many bytes of indexes are kept, approximately; the least
	// recently used go first. The last one used stays even if it alone is over.
	// Zero is DefaultBudget; negative keeps that last one only.
	Budget int64
	// Vectors reads vectors again, so that a load need not keep them. Nil keeps all.
	Vectors VectorsFunc
}

// LoadFunc reads a partition's rows with a change number above since, and what
// was deleted since. Since 0 asks for all rows. A LoadFunc that cannot tell what
// changed returns ErrReset, or everything with Reset. Rows and Change are of one snapshot: a
// row that comes twice does no harm, one that is missed is never asked for
// again. The delta is the manager's to keep. Early, nil unless all rows are asked
// for, need not be used.
type LoadFunc func(ctx context.Context, partition string, since int64, early *Early) (Delta, error)

// BehindError reports that loading did not reach the change number asked for:
// the source lags behind the one that gave the number.
type BehindError struct {
	Want, Got int64
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("index is at change %d, want %d", e.Got, e.Want)
}

// Manager keeps the indexes of many partitions under one byte budget and loads
// what is missing or stale. All methods are safe for concurrent use. It runs no
// goroutine but one for each rebuild that is due and for each index whose vectors
// are being brought, until that is done, for which Close waits, and one beside
// whoever loads many rows.
//
// Whoever asks for a newer change number than there is loads it, on their own
// time; others who need it wait for that one load. Those who ask for what is
// there get it at once, and go on reading the old rows until the new ones are
// in: a load reads SQL without any lock on the index, all rows are built beside
// the old ones, and a delta holds readers up only while its rows are put in. An
// index that has become mostly holes is rebuilt in the background, for which
// nobody waits.
//
// A load of many rows keeps no vectors, which are most of what there is to keep,
// if the vector engine is a VectorEncoder: View brings the few that a search
// lacks, which are read again, and has all others brought in the background.
type Manager struct {
	load    LoadFunc
	vectors VectorsFunc // nil for none
	engines Engines
	budget  int64

	mu      sync.Mutex // never held while loading
	entries map[string]*list.Element
	used    *list.List // of *entry, latest first
	bytes   int64
	closed  bool

	background sync.WaitGroup
	bringing   chan struct{}   // holds one while all vectors of an index are brought
	ctx        context.Context // of what runs in the background, ended by Close
	stop       context.CancelFunc
}

type entry struct {
	name   string
	p      *Partition
	bytes  int64
	loaded bool
	flight *flight            // the load in progress, nil for none
	renews bool               // a rebuild is under way
	brings context.CancelFunc // ends the bringing of its vectors, nil if there is none
}

// flight is one load that several callers wait for.
type flight struct {
	done  chan struct{}
	err   error
	retry bool // the error is the leader's alone
}

// New returns a manager that loads with load and makes indexes from engines.
func New(load LoadFunc, engines Engines, opts *Options) *Manager {
	if opts == nil {
		opts = &Options{}
	}
	m := &Manager{
		load:     load,
		engines:  engines,
		budget:   cmp.Or(opts.Budget, DefaultBudget),
		entries:  make(map[string]*list.Element),
		used:     list.New(),
		bringing: make(chan struct{}, 1),
	}
	if engines.canEncode() {
		m.vectors = opts.Vectors
	}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m
}

// Close ends what is under way in the background and waits for it. What is loaded
// stays usable; nothing is begun there any more.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.stop()
	m.background.Wait()
}

// Get returns the index of a partition at change or later, loading all or the
// delta if need be; callers that need the same load share it. Change 0 is a
// partition that nothing was written to: its index is empty and nothing is
// loaded. The index stays usable after it is evicted. A partition's change
// number must not go back, unless Drop is called.
//
// Errors: the LoadFunc's, after which the old rows are still there; the
// context's; *BehindError.
func (m *Manager) Get(ctx context.Context, partition string, change int64) (*Partition, error) {
	if change <= 0 {
		return NewPartition(m.engines), nil
	}
	for {
		p, f, mine := m.join(partition, change)
		if p != nil {
			return p, nil
		}
		if mine != nil {
			return m.fly(ctx, mine, f, change)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if f.err != nil && !f.retry {
			return nil, f.err
		}
	}
}

// View runs f on the index of a partition at change or later: see Partition.View.
// If f asks for vectors that are not in memory they are read and f is run again,
// so it has to bear being run several times. Errors: those of Get, the
// VectorsFunc's and f's.
func (m *Manager) View(ctx context.Context, partition string, change int64, f func(*View) error) error {
	p, err := m.Get(ctx, partition, change)
	if err != nil {
		return err
	}
	for {
		err := p.View(f)
		var lack *LackError
		if !errors.As(err, &lack) {
			return err
		}
		if err := p.bring(ctx, m.loader(ctx, partition), lack.Keys); err != nil {
			return err
		}
		m.bringLater(partition, p)
	}
}

// join returns the index if it is current; else the flight to wait for, and the
// entry if the caller is the one to fly it.
func (m *Manager) join(partition string, change int64) (*Partition, *flight, *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	el, ok := m.entries[partition]
	if !ok {
		el = m.used.PushFront(&entry{name: partition, p: NewPartition(m.engines)})
		m.entries[partition] = el
	}
	m.used.MoveToFront(el)
	e := el.Value.(*entry)
	switch {
	case e.loaded && e.p.Watermark() >= change:
		return e.p, nil, nil
	case e.flight != nil:
		return nil, e.flight, nil
	}
	e.flight = &flight{done: make(chan struct{})}
	return nil, e.flight, e
}

// fly brings e up to date for everybody who waits for f.
func (m *Manager) fly(ctx context.Context, e *entry, f *flight, change int64) (*Partition, error) {
	f.err = errors.New("loading the index panicked") // unless what follows returns
	defer func() {
		m.land(e, f)
		close(f.done)
	}()
	if f.err = m.refresh(ctx, e); f.err != nil {
		f.retry = ctx.Err() != nil // the leader gave up, which says nothing about the source
		return nil, f.err
	}
	if got := e.p.Watermark(); got < change {
		return nil, &BehindError{Want: change, Got: got}
	}
	return e.p, nil
}

// refresh loads and applies what e lacks. A delta that does not fit asks for all
// rows.
func (m *Manager) refresh(ctx context.Context, e *entry) error {
	since := e.p.Watermark()
	err := m.loadAndApply(ctx, e, since)
	if since > 0 && asksForAll(err) {
		err = m.loadAndApply(ctx, e, 0)
	}
	return err
}

// loader reads a partition for an index to keep.
func (m *Manager) loader(ctx context.Context, partition string) loader {
	from := loader{rows: func(since int64, early *Early) (Delta, error) {
		d, err := m.load(ctx, partition, since, early)
		d.own = true
		return d, err
	}}
	if m.vectors != nil {
		from.vectors = func(ctx context.Context, keys []Key, take func(Key, []float32) error) error {
			return m.vectors(ctx, partition, keys, take)
		}
	}
	return from
}

func (m *Manager) loadAndApply(ctx context.Context, e *entry, since int64) error {
	from := m.loader(ctx, e.name)
	if since == 0 {
		if err := e.p.load(from); err != nil {
			return fmt.Errorf("load index: %w", err)
		}
		return nil
	}
	d, err := from.rows(since, nil)
	if err != nil {
		return fmt.Errorf("load index: %w", err)
	}
	if err := e.p.Apply(d); err != nil {
		return fmt.Errorf("apply delta: %w", err)
	}
	return nil
}

// land ends a flight: it books the memory and makes room. An entry that was
// dropped or never loaded is not kept.
func (m *Manager) land(e *entry, f *flight) {
	stats := e.p.Stats()
	m.mu.Lock()
	defer m.mu.Unlock()
	e.flight = nil
	e.loaded = e.loaded || f.err == nil
	el, ok := m.entries[e.name]
	if !ok || el.Value.(*entry) != e {
		return
	}
	if !e.loaded {
		m.remove(el)
		return
	}
	m.book(e, stats.Bytes)
	if stats.holey() && !e.renews && !m.closed {
		e.renews = true
		m.background.Go(func() { m.renew(e) })
	}
}

// book notes what an index costs and makes room.
func (m *Manager) book(e *entry, bytes int64) {
	m.bytes += bytes - e.bytes
	e.bytes = bytes
	m.evict()
}

// renew rebuilds an index while the old rows serve. If that fails they go on
// serving, and whoever brings the next delta has it tried again.
func (m *Manager) renew(e *entry) {
	_ = m.rebuild(m.ctx, e)
	m.mu.Lock()
	defer m.mu.Unlock()
	e.renews = false
}

func (m *Manager) rebuild(ctx context.Context, e *entry) error {
	err := e.p.rebuild(ctx, m.loader(ctx, e.name))
	if err != nil {
		return fmt.Errorf("rebuild index: %w", err)
	}
	m.bookAgain(e.name, e.p)
	return nil
}

// bookAgain notes what an index costs now, if it is still kept.
func (m *Manager) bookAgain(partition string, p *Partition) {
	bytes := p.Stats().Bytes
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entryOf(partition, p); e != nil {
		m.book(e, bytes)
	}
}

// entryOf returns the entry of an index, nil if it is not kept. The caller holds mu.
func (m *Manager) entryOf(partition string, p *Partition) *entry {
	if el, ok := m.entries[partition]; ok && el.Value.(*entry).p == p {
		return el.Value.(*entry)
	}
	return nil
}

// bringLater has the vectors that an index lacks brought in the background, unless
// that is under way. Where it fails, the next search that lacks some has it tried
// again. It ends where the index is not kept any more.
func (m *Manager) bringLater(partition string, p *Partition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entryOf(partition, p); e != nil && e.brings == nil && !m.closed {
		ctx, stop := context.WithCancel(m.ctx)
		e.brings = stop
		m.background.Go(func() {
			defer stop()
			m.bringAll(ctx, e)
		})
	}
}

func (m *Manager) bringAll(ctx context.Context, e *entry) {
	select {
	case m.bringing <- struct{}{}: // one index after the other: searches read SQL, too
		_ = e.p.bringAll(ctx, m.loader(ctx, e.name))
		<-m.bringing
		m.bookAgain(e.name, e.p)
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e.brings = nil
}

// Rebuild builds the index of a partition anew from SQL, at its full speed (a
// large one gets its graph at once), on the caller's time; the old one, if there
// is one, serves meanwhile. Errors: those of Get.
func (m *Manager) Rebuild(ctx context.Context, partition string, change int64) (*Partition, error) {
	m.mu.Lock()
	el, ok := m.entries[partition]
	var e *entry
	if ok && el.Value.(*entry).loaded {
		e = el.Value.(*entry)
	}
	m.mu.Unlock()
	if e != nil {
		if err := m.rebuild(ctx, e); err != nil {
			return nil, err
		}
	}
	p, err := m.Get(ctx, partition, change)
	if err != nil {
		return nil, err
	}
	defer m.bookAgain(partition, p)
	if err := p.bringAll(ctx, m.loader(ctx, partition)); err != nil {
		return nil, err
	}
	return p, p.Prepare(ctx)
}

// evict removes the least recently used indexes until the rest fits. The last
// one used and those being loaded stay.
func (m *Manager) evict() {
	for el := m.used.Back(); el != nil && el != m.used.Front() && m.bytes > m.budget; {
		prev := el.Prev()
		if el.Value.(*entry).flight == nil {
			m.remove(el)
		}
		el = prev
	}
}

func (m *Manager) remove(el *list.Element) {
	e := m.used.Remove(el).(*entry)
	delete(m.entries, e.name)
	m.bytes -= e.bytes
	e.bytes = 0
	if e.brings != nil {
		e.brings()
	}
}

// Drop forgets the index of a partition, so that the next Get loads all rows: for
// a partition that was erased, or to rebuild. A load that is under way does not
// bring the old rows back.
func (m *Manager) Drop(partition string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if el, ok := m.entries[partition]; ok {
		m.remove(el)
	}
}

// Peek returns the index of a partition as it is in memory, nil if it is not.
func (m *Manager) Peek(partition string) *Partition {
	m.mu.Lock()
	defer m.mu.Unlock()
	if el, ok := m.entries[partition]; ok && el.Value.(*entry).loaded {
		return el.Value.(*entry).p
	}
	return nil
}

// Bytes is what the kept indexes cost, approximately.
func (m *Manager) Bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// Status is one index in memory.
type Status struct {
	Partition string
	Stats
	// Loading is whether newer rows are under way.
	Loading bool
}

// Status describes the indexes in memory, by name of the partition. An index is
// current if its Watermark is the partition's change number in SQL.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	var list []Status
	var parts []*Partition
	for name, el := range m.entries {
		if e := el.Value.(*entry); e.loaded {
			list = append(list, Status{Partition: name, Loading: e.flight != nil})
			parts = append(parts, e.p)
		}
	}
	m.mu.Unlock()
	for i, p := range parts { // a partition that is being written to must not hold up the others
		list[i].Stats = p.Stats()
	}
	slices.SortFunc(list, func(a, b Status) int { return cmp.Compare(a.Partition, b.Partition) })
	return list
}
