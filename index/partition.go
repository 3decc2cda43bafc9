package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
)

// Partition is the index of one partition: one writer at a time, many readers.
// Make it with NewPartition; a Manager makes and keeps them by name.
type Partition struct {
	engines   Engines
	watermark atomic.Int64

	writing sync.Mutex   // held by a writer throughout
	mu      sync.RWMutex // guards s and what it holds
	s       *state
}

// NewPartition returns an empty index at watermark 0. Engines.Words is
// required; without Engines.Vectors, vectors must not come.
func NewPartition(engines Engines) *Partition {
	s, err := newState(engines, &Delta{})
	if err != nil {
		panic("index: an empty delta failed: " + err.Error()) // cannot happen
	}
	return &Partition{engines: engines, s: s}
}

// Apply brings the index to d.Change. A reset builds beside the old rows, which
// serve until it is done. Delta rows are sorted in place and their attributes
// kept; texts and vectors are not. A delta that is not newer than the watermark
// and no reset does nothing.
//
// Once the rows are in, and others read them, the caller does a Preparer's work
// for as many as came: about 0.1 ms a row, where there is a graph. After a reset
// that is left to searches or Prepare, so that nobody waits for a graph.
//
// A row whose vector is no direction (wrong length, NaN, zero) is kept without
// it and counted in Stats.BadVectors. Errors, which leave the index as it was:
// ErrOutOfOrder and ErrModel (both ask for a reset), a row without key or with that
// of another.
func (p *Partition) Apply(d Delta) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if d.Reset {
		return p.reset(&d)
	}
	if d.Change <= p.Watermark() {
		return nil
	}
	if err := p.change(&d); err != nil {
		return err
	}
	p.prepare(len(d.Rows))
	return nil
}

func (p *Partition) change(d *Delta) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.s.apply(d); err != nil {
		return err
	}
	p.watermark.Store(d.Change)
	return nil
}

// prepare does up to n rows' worth of a Preparer's work and returns how much is
// left. Others read meanwhile, as they do during each other's searches.
func (p *Partition) prepare(n int) (left int) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if v, ok := p.s.vectors.(Preparer); ok {
		return v.Prepare(n)
	}
	return 0
}

// Prepare brings the vector engine to its full speed, which searches would do bit
// by bit: see Preparer. It may take minutes for a million rows; searches go on
// meanwhile and writes wait for a few milliseconds at most. Its error is the
// context's, and what was done until then stays.
func (p *Partition) Prepare(ctx context.Context) error {
	const step = 64
	for p.prepare(step) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Partition) reset(d *Delta) error {
	d.Deleted = nil
	s, err := newState(p.engines, d)
	if err != nil {
		return err
	}
	p.show(s)
	return nil
}

// show puts s in the place of what there was. The caller holds writing.
func (p *Partition) show(s *state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.s = s
	p.watermark.Store(s.change)
}

// loader is a LoadFunc and a VectorsFunc, nil for none, of one partition.
type loader struct {
	rows    func(since int64, early *Early) (Delta, error)
	vectors func(ctx context.Context, keys []Key, take func(Key, []float32) error) error
}

// load builds the index from all rows, as Apply does with a reset, but for the
// vectors that searches can do without. What a rebuild has brought meanwhile stays
// if it has seen more.
func (p *Partition) load(from loader) error {
	s, err := loadState(p.engines, from)
	if err != nil {
		return err
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	if s.change >= p.Watermark() {
		p.show(s)
	}
	return nil
}

// rebuild builds all rows anew beside the old ones, prepares them and puts them
// in the place of those once they have seen as much.
func (p *Partition) rebuild(ctx context.Context, from loader) error {
	s, err := loadState(p.engines, from)
	if err != nil {
		return err
	}
	fresh := &Partition{engines: p.engines, s: s}
	if err := fresh.bringAll(ctx, from); err != nil {
		return err
	}
	if err := fresh.Prepare(ctx); err != nil {
		return err
	}
	p.writing.Lock() // nothing newer comes in from here on
	defer p.writing.Unlock()
	for s.change < p.Watermark() {
		d, err := from.rows(s.change, nil)
		if errors.Is(err, ErrReset) {
			d, err = from.rows(0, nil)
			d.Reset = true
		}
		switch {
		case err != nil:
			return err
		case d.Change <= s.change:
			return &BehindError{Want: p.Watermark(), Got: d.Change}
		case d.Reset:
			d.Deleted = nil
			if s, err = newState(p.engines, &d); err != nil {
				return err
			}
		default:
			if err := s.apply(&d); err != nil {
				return err
			}
		}
	}
	p.show(s)
	return nil
}

// loadState builds a state from all rows. What needs no vectors is done while these
// are read, if the rows come early; vectors that come early are encoded.
func loadState(engines Engines, from loader) (*state, error) {
	var f *filling // of a state that has all but the vectors
	var vectors *encoding
	early := &Early{Rows: func(d Delta) {
		d.Deleted, d.own = nil, true
		f = beginState(engines, &d)
	}}
	if from.vectors != nil {
		early.Vectors = func(change int64, dim, n int) func(Key, []float32) {
			vectors = newEncoding(engines, change, dim, n)
			return vectors.take
		}
	}
	d, err := from.rows(0, early)
	if err != nil {
		return nil, err
	}
	d.Deleted = nil
	var s *state
	if f != nil && f.change == d.Change {
		s, err = f.s, f.complete(&d)
	} else {
		s, err = newState(engines, &d)
	}
	if err == nil && vectors != nil && vectors.change == d.Change {
		vectors.finish(s)
	}
	return s, err
}

// bringAll brings all vectors that the index lacks: in one go, again if it is loaded
// anew meanwhile, and by key what has changed.
func (p *Partition) bringAll(ctx context.Context, from loader) error {
	var read *state // whose vectors were read in one go
	for {
		keys := p.lacks(portion)
		if len(keys) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if s, _ := p.held(); s != read {
			read, keys = s, nil
		}
		if err := p.bring(ctx, from, keys); err != nil {
			return err
		}
	}
}

// lacks returns the keys of at most n rows whose vectors the index lacks.
func (p *Partition) lacks(n int) []Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.s.vectors.(VectorEncoder); ok {
		return p.s.keys(e.Lacks(n))
	}
	return nil
}

// portion is how many vectors are brought at once: others wait for some 0.5 ms while
// these are put in.
const portion = 512

// bringing brings vectors that are read again, a portion at a time. One that is
// another by now comes with the next delta. What was read before all rows were
// loaded anew is not given: a vector that this load has seen and the reading has not
// would be taken for lost, and no delta brings it.
type bringing struct {
	p      *Partition
	s      *state // when reading began
	engine VectorEncoder
	room   int // for how many vectors to make some
	block  []float32
	keys   []Key
	vecs   [][]float32
}

// bring reads vectors again, all of them for nil keys, and gives them to the engine
// that lacks them.
func (p *Partition) bring(ctx context.Context, from loader, keys []Key) error {
	b := &bringing{p: p}
	if b.s, b.engine = p.held(); b.engine == nil {
		return nil
	}
	const large = 1 << 20 // components: so much lies in large pages, which searches are faster in
	b.room = max(portion, large/b.engine.Dim())
	if keys != nil {
		b.room = len(keys)
	}
	missing := make(map[Key]bool, len(keys))
	for _, k := range keys {
		missing[k] = true
	}
	err := from.vectors(ctx, keys, func(k Key, vec []float32) error {
		delete(missing, k)
		return b.take(k, vec)
	})
	for k := range missing { // whoever asks for more has them
		b.keys, b.vecs = append(b.keys, k), append(b.vecs, nil)
	}
	if err == nil {
		err = b.put()
	}
	switch {
	case errors.Is(err, errLoadedAnew):
		return nil
	case err != nil:
		return fmt.Errorf("load vectors: %w", err)
	}
	return nil
}

var errLoadedAnew = errors.New("loaded anew")

// take copies a vector to where it will lie.
func (b *bringing) take(k Key, vec []float32) error {
	if cap(b.block)-len(b.block) < len(vec) {
		b.block = b.engine.Room(b.room)
	}
	from := len(b.block)
	b.block = append(b.block, vec...)
	b.keys, b.vecs = append(b.keys, k), append(b.vecs, b.block[from:len(b.block):len(b.block)])
	if len(b.keys) < portion {
		return nil
	}
	return b.put()
}

// put gives the engine what has been taken.
func (b *bringing) put() error {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	if b.p.s != b.s {
		return errLoadedAnew
	}
	var rows []int
	var vecs [][]float32
	for i, k := range b.keys {
		if row := b.s.find(k); row != none {
			rows, vecs = append(rows, int(row)), append(vecs, b.vecs[i])
		}
	}
	b.engine.Bring(rows, vecs)
	b.keys, b.vecs = b.keys[:0], b.vecs[:0]
	return nil
}

// held is the state that is shown now, and its vector engine if that may lack some.
func (p *Partition) held() (*state, VectorEncoder) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	e, _ := p.s.vectors.(VectorEncoder)
	return p.s, e
}

// Watermark is the change number that the index has seen, 0 for none.
func (p *Partition) Watermark() int64 { return p.watermark.Load() }

// Len is the number of rows.
func (p *Partition) Len() int { return p.Stats().Rows }

// View runs f on the index held still: nothing is written until f returns. Row
// numbers mean something inside f only. f must not block, write to the
// partition or view it again. It returns f's error; but a *LackError if f asked for
// vectors that are not in memory: then what f did is worth nothing.
func (p *Partition) View(f func(v *View) error) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	v := &View{s: p.s}
	err := f(v)
	if v.lack != nil {
		return v.lack
	}
	return err
}

// Stats describes an index. Bytes is approximate.
type Stats struct {
	Rows       int
	Holes      int // row numbers of deleted rows, gone at the next reset
	Words      int // rows in the word engine
	Vectors    int
	BadVectors int // vectors refused since the last reset
	Dim        int
	Model      string
	Bytes      int64
	Watermark  int64
}

// Stats returns figures of one moment.
func (p *Partition) Stats() Stats {
	p.mu.RLock()
	defer p.mu.RUnlock()
	s := p.s
	st := Stats{
		Rows:       len(s.rows),
		Holes:      len(s.attrs) - len(s.rows),
		Words:      s.words.Len(),
		BadVectors: s.badVectors,
		Model:      s.model,
		Bytes:      s.bytes(),
		Watermark:  s.change,
	}
	if s.vectors != nil {
		st.Vectors, st.Dim = s.vectors.Len(), s.vectors.Dim()
	}
	return st
}

// holey reports whether so many rows were deleted that loading anew is cheaper
// than carrying the holes.
func (s *Stats) holey() bool {
	const few = 1024
	return s.Holes > few && s.Holes > s.Rows
}

// View is a partition index held still, for one goroutine. It lives as long as the function that
// Partition.View runs; the attributes it hands out are immutable and live on.
type View struct {
	s    *state
	lack *LackError // nil for nothing
}

// noteLack takes an engine's error down if it is that vectors lack.
func (v *View) noteLack(err error) {
	var more *LackError
	if errors.As(err, &more) {
		v.lack = cmp.Or(v.lack, &LackError{})
		v.lack.Rows = append(v.lack.Rows, more.Rows...)
		v.lack.Keys = append(v.lack.Keys, v.s.keys(more.Rows)...)
	}
}

// Watermark is the change number of what the view shows.
func (v *View) Watermark() int64 { return v.s.change }

// Len is the number of rows.
func (v *View) Len() int { return len(v.s.rows) }

// Model names the embedding model of the vectors, "" if none came.
func (v *View) Model() string { return v.s.model }

// Attr returns the attributes of a row, nil if there is no such row. Read only.
func (v *View) Attr(row int) *Attr {
	if row < 0 || row >= len(v.s.attrs) {
		return nil
	}
	return v.s.attrs[row]
}

// Find returns the row of a key.
func (v *View) Find(k Key) (row int, ok bool) {
	r, ok := v.s.rows[k]
	return int(r), ok
}

// Source returns the row of the episode that the item in a row was made from:
// its Attr.Source, if that is there.
func (v *View) Source(row int) (source int, ok bool) {
	if v.Attr(row) == nil {
		return 0, false
	}
	at := v.s.source(row)
	return int(at), at != none
}

// Admit returns the rows for which f is true, asking in the order of Rows.
func (v *View) Admit(f func(*Attr) bool) *Bitmap {
	b := NewBitmap(len(v.s.attrs))
	for row, a := range v.Rows() {
		if f(a) {
			b.words[row>>6] |= 1 << (row & 63)
		}
	}
	return b
}

// Rows yields all rows with their attributes, in row order, which is Seq order.
// Access, filters and currency act on them before anything is scored.
func (v *View) Rows() iter.Seq2[int, *Attr] {
	return func(yield func(int, *Attr) bool) {
		for row, a := range v.s.attrs {
			if a != nil && !yield(row, a) {
				return
			}
		}
	}
}

// All returns all rows.
func (v *View) All() *Bitmap { return v.s.live.Clone() }

// SearchWords returns the best k admitted rows for the query's words: see
// WordEngine. A nil set admits nothing.
func (v *View) SearchWords(query string, admitted *Bitmap, k int) []Hit {
	admitted, ok := v.narrow(admitted)
	if !ok {
		return nil
	}
	return v.s.words.Search(query, admitted, k)
}

// ScoreWords returns the word score of given rows and the bound that no score of
// this query exceeds: see WordScorer. An engine that cannot score gives zeros.
func (v *View) ScoreWords(query string, admitted *Bitmap, rows []int) (scores []float64, bound float64) {
	admitted, ok := v.narrow(admitted)
	scorer, can := v.s.words.(WordScorer)
	if !ok || !can {
		return make([]float64, len(rows)), 0
	}
	return scorer.Score(query, admitted, rows)
}

// SearchVector returns the best k admitted rows by cosine: see VectorEngine. A
// nil set admits nothing. The caller sees to it that vec is of Model. Errors:
// *DimensionError, ErrNotFinite, ErrZeroVector, *LackError; none while there are no
// vectors.
func (v *View) SearchVector(vec []float32, admitted *Bitmap, k int) ([]Hit, error) {
	admitted, ok := v.narrow(admitted)
	if !ok || v.s.vectors == nil {
		return nil, nil
	}
	hits, err := v.s.vectors.Search(vec, admitted, k)
	v.noteLack(err)
	return hits, err
}

// ScoreVector returns the cosines that SearchVector would give rows, in their
// order, 0 for one without a vector: see VectorScorer. An engine that cannot score
// gives zeros. Errors: those of SearchVector.
func (v *View) ScoreVector(vec []float32, rows []int) ([]float64, error) {
	scorer, can := v.s.vectors.(VectorScorer)
	if !can {
		return make([]float64, len(rows)), nil
	}
	scores, err := scorer.Score(vec, rows)
	v.noteLack(err)
	return scores, err
}

// narrow turns an admitted set into what engines take, nil for all rows, and
// reports whether it holds any. For callers nil is nobody: a forgotten check
// must not open everything.
func (v *View) narrow(admitted *Bitmap) (*Bitmap, bool) {
	if admitted == nil {
		return nil, false
	}
	switch n := admitted.CountAnd(v.s.live); n {
	case 0:
		return nil, false
	case len(v.s.rows):
		return nil, true
	}
	return admitted, true
}
