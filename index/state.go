package index

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ErrOutOfOrder: a delta brings a new row with a smaller Seq than one that is
// there, or another Seq for a row that is. Rows are numbered in Seq order, so
// the partition has to be loaded anew.
var ErrOutOfOrder = errors.New("row out of order")

// ErrModel: a delta carries vectors of another model or length than those that
// are there. Such vectors are never compared; the partition has to be loaded anew.
var ErrModel = errors.New("embedding model differs")

// ErrReset: what a LoadFunc is asked for cannot be told from what there is, for
// rows were erased; the partition has to be loaded anew.
var ErrReset = errors.New("rows were erased")

// asksForAll reports whether the partition has to be loaded anew.
func asksForAll(err error) bool {
	return errors.Is(err, ErrOutOfOrder) || errors.Is(err, ErrModel) || errors.Is(err, ErrReset)
}

// state is what a partition holds. Row numbers are given in Seq order and never
// given twice, so that an admitted set computed before a write can never admit
// another row after it. Deleted rows leave holes.
type state struct {
	engines Engines
	change  int64
	model   string

	attrs   []*Attr // by row; nil for a hole
	sources []int32 // by row: that of Attr.Source when the row came, -1 for none
	rows    map[Key]int32
	live    *Bitmap
	words   WordEngine
	vectors VectorEngine // nil until the dimension is known

	kept keeper

	interned   map[string]string
	attrBytes  int64
	badVectors int
}

// newState builds a state from all rows of a reset delta. It sorts d.Rows.
func newState(engines Engines, d *Delta) (*state, error) {
	s := emptyState(engines, d)
	return s, s.apply(d)
}

// beginState is newState for a delta whose vectors are yet to come, for complete;
// nil if it does not fit.
func beginState(engines Engines, d *Delta) *filling {
	s := emptyState(engines, d)
	f, err := s.begin(d)
	if err != nil {
		return nil
	}
	f.words()
	return f
}

// complete is finish for a delta that was begun without its vectors.
func (f *filling) complete(d *Delta) error {
	f.s.openVectors(d)
	return f.finish()
}

// emptyState has room for the rows of d.
func emptyState(engines Engines, d *Delta) *state {
	return &state{
		engines:  engines,
		model:    d.Model,
		attrs:    make([]*Attr, 0, len(d.Rows)),
		sources:  make([]int32, 0, len(d.Rows)),
		rows:     make(map[Key]int32, len(d.Rows)),
		live:     NewBitmap(len(d.Rows)),
		words:    engines.Words(len(d.Rows)),
		interned: make(map[string]string),
	}
}

// apply brings the state to d. It checks before it writes: an error leaves the
// state as it was. It sorts d.Rows.
func (s *state) apply(d *Delta) error {
	f, err := s.begin(d)
	if err != nil {
		return err
	}
	const many = 256
	var both sync.WaitGroup
	if len(f.rows) < many {
		f.words()
	} else { // the engines know nothing of each other
		both.Go(f.words)
	}
	err = f.finish()
	both.Wait()
	return err
}

// filling is a state whose rows are placed and are to be put into the engines,
// which brings it to change.
type filling struct {
	s       *state
	change  int64
	rows    []Row
	numbers []int
}

// begin checks a delta and places its rows.
func (s *state) begin(d *Delta) (*filling, error) {
	if err := s.check(d); err != nil {
		return nil, err
	}
	s.kept.forget()
	s.openVectors(d)
	for _, k := range d.Deleted {
		s.delete(k)
	}
	rows := d.Rows // whose attributes are kept where they lie, side by side for the scan of Admit
	if !d.own {
		rows = slices.Clone(rows)
	}
	numbers := make([]int, len(rows))
	for i := range rows {
		numbers[i] = s.place(&rows[i].Attr)
	}
	return &filling{s: s, change: d.Change, rows: rows, numbers: numbers}, nil
}

// words moves the texts into the word engine.
func (f *filling) words() {
	for i := range f.rows {
		f.s.setWords(f.numbers[i], f.rows[i].Text)
		f.rows[i].Text = ""
	}
}

// finish moves the vectors into theirs, which ends the application of the delta.
func (f *filling) finish() error {
	for i := range f.rows {
		if err := f.s.setVector(f.numbers[i], f.rows[i].Vector); err != nil {
			return err
		}
		f.rows[i].Vector = nil
	}
	f.s.change = f.change
	return nil
}

func (s *state) check(d *Delta) error {
	sortRows(d.Rows)
	if dim := dimOf(d); dim != 0 && s.hasVectors() && (d.Model != s.model || dim != s.vectors.Dim()) {
		return ErrModel
	}
	return s.checkOrder(d)
}

// sortRows puts rows in order. They are large: those that are are not moved about.
func sortRows(rows []Row) {
	order := func(a, b *Row) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.ID, b.ID))
	}
	for i := 1; i < len(rows); i++ {
		if order(&rows[i-1], &rows[i]) > 0 {
			slices.SortStableFunc(rows, func(a, b Row) int { return order(&a, &b) })
			return
		}
	}
}

// checkOrder sees to it that row numbers stay in Seq order.
func (s *state) checkOrder(d *Delta) error {
	seqs := make(map[Key]int64, len(d.Rows)+len(d.Deleted)) // what each key will have
	const gone = -1
	for _, k := range d.Deleted {
		seqs[k] = gone
	}
	last := s.lastAttr()
	for i := range d.Rows {
		a := &d.Rows[i].Attr
		if a.ID == "" || a.Owner.String() == "" || a.Seq < 0 {
			return fmt.Errorf("row %d of the delta has no key or a negative seq", i)
		}
		seq, known := seqs[a.Key]
		if known && seq != gone {
			return fmt.Errorf("row %d of the delta has the key of another", i)
		}
		if row, ok := s.rows[a.Key]; ok && !known {
			seq, known = s.attrs[row].Seq, true
		}
		isNew := !known || seq == gone
		if (isNew && last != nil && a.Seq < last.Seq) || (!isNew && a.Seq != seq) {
			return fmt.Errorf("%w: %s %s, seq %d", ErrOutOfOrder, a.Owner, a.ID, a.Seq)
		}
		seqs[a.Key] = a.Seq
	}
	return nil
}

// lastAttr returns the live row with the highest number, nil if none is live.
// Holes above it do not matter: nothing compares with them.
func (s *state) lastAttr() *Attr {
	for i := len(s.attrs) - 1; i >= 0; i-- {
		if s.attrs[i] != nil {
			return s.attrs[i]
		}
	}
	return nil
}

// dimOf is the length of the delta's vectors, 0 if it has none.
func dimOf(d *Delta) int {
	for i := range d.Rows {
		if n := len(d.Rows[i].Vector); n > 0 {
			return cmp.Or(d.Dim, n)
		}
	}
	return 0
}

func (s *state) hasVectors() bool { return s.vectors != nil && s.vectors.Len() > 0 }

// openVectors makes the vector engine once the dimension is known, and again
// when the first vectors of another model come to an index without vectors.
func (s *state) openVectors(d *Delta) {
	dim := dimOf(d)
	if dim == 0 || s.hasVectors() {
		return
	}
	n := 0
	for i := range d.Rows {
		if len(d.Rows[i].Vector) > 0 {
			n++
		}
	}
	s.model = d.Model
	s.vectors = s.engines.Vectors(dim, n)
}

// place gives one checked row its number and keeps its attributes.
func (s *state) place(a *Attr) int {
	s.intern(a)
	row, known := s.rows[a.Key]
	if known {
		s.attrBytes -= s.attrs[row].bytes()
		s.attrs[row] = a
	} else {
		row = int32(len(s.attrs))
		s.attrs = append(s.attrs, a)
		s.sources = append(s.sources, none)
		s.rows[a.Key] = row
		s.live.Set(int(row))
	}
	s.sources[row] = s.find(Key{Episode, a.Source()})
	s.attrBytes += a.bytes()
	return int(row)
}

func (s *state) setWords(row int, text string) {
	if text == "" {
		s.words.Delete(row)
	} else {
		s.words.Set(row, text)
	}
}

// none stands for no row.
const none = -1

// find returns the row of a key, none if there is no such row.
func (s *state) find(k Key) int32 {
	if k.ID == "" {
		return none
	}
	if row, ok := s.rows[k]; ok {
		return row
	}
	return none
}

// keys are those of live rows.
func (s *state) keys(rows []int) []Key {
	keys := make([]Key, len(rows))
	for i, row := range rows {
		keys[i] = s.attrs[row].Key
	}
	return keys
}

// source returns the row of the episode that an item was made from, none if it is
// not there. The one noted down stands as long as it is live, for a number is
// never given twice; an episode may also have come after its item.
func (s *state) source(row int) int32 {
	if at := s.sources[row]; at != none && s.attrs[at] != nil {
		return at
	}
	return s.find(Key{Episode, s.attrs[row].Source()})
}

// setVector puts a vector in.
func (s *state) setVector(row int, vec []float32) error {
	if s.vectors == nil {
		return nil
	}
	if len(vec) == 0 {
		s.vectors.Delete(row)
		return nil
	}
	return s.refused(row, s.vectors.Set(row, vec))
}

// refused deals with the engine's error for a vector, if there is one. One that is
// no direction does not take the row down: it stays findable by its words, and
// Stats counts it.
func (s *state) refused(row int, err error) error {
	if err == nil {
		return nil
	}
	var dim *DimensionError
	if !errors.As(err, &dim) && !errors.Is(err, ErrNotFinite) && !errors.Is(err, ErrZeroVector) {
		return fmt.Errorf("vector of row %d: %w", row, err)
	}
	s.vectors.Delete(row)
	s.badVectors++
	return nil
}

func (s *state) delete(k Key) {
	row, ok := s.rows[k]
	if !ok {
		return
	}
	s.attrBytes -= s.attrs[row].bytes()
	s.attrs[row] = nil
	delete(s.rows, k)
	s.live.Clear(int(row))
	s.words.Delete(int(row))
	if s.vectors != nil {
		s.vectors.Delete(int(row))
	}
}

// intern shares the strings that repeat from row to row; rows from SQL bring a
// copy each.
func (s *state) intern(a *Attr) {
	for _, p := range []*string{
		&a.Kind, &a.UserID, &a.AgentID, &a.ResourceID, &a.SubjectType, &a.SubjectName,
		&a.Predicate, &a.Role, &a.Speaker, &a.ConversationID, &a.SessionID,
	} {
		if *p == "" {
			continue
		}
		shared, ok := s.interned[*p]
		if !ok {
			shared = *p
			s.interned[shared] = shared
			s.attrBytes += int64(len(shared)) + 48
		}
		*p = shared
	}
}

func (s *state) bytes() int64 {
	n := s.attrBytes + int64(8*cap(s.attrs)+4*cap(s.sources)) + s.live.Bytes() + s.words.Bytes() + s.kept.bytes()
	if s.vectors != nil {
		n += s.vectors.Bytes()
	}
	return n
}
