// Package bm25 is the word engine: an inverted index in memory, scored by BM25.
//
// With N rows, df rows that hold a term and tf its count in the row, a query
// term adds idf * tf*(k1+1) / (tf + k1*(1-b+b*len/avglen)) with
// idf = ln(1 + (N-df+0.5)/(df+0.5)). N, df and avglen are those of the admitted
// rows, so rows a caller may not see change nothing. A term that the query
// repeats counts once.
//
// How text becomes terms: see analyzer.
//
// Source: design section 7; Robertson and Zaragoza 2009; settings and analysis
// by locomo-baselines.md.
package bm25

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/meminfra/memory-layer/index"
)

// Options set how scores saturate. Zero values are the defaults.
type Options struct {
	// K1 is how slowly repeats of a term stop counting. Default 0.9.
	K1 float64
	// B is how much a long text loses, from 0 (nothing, for messages and facts,
	// whose lengths differ for no reason; the default) to 1. Document chunks
	// take 0.75.
	B float64
	// PlainStems leaves irregular forms as they stand: the stemmer alone, as a
	// reference to compare with.
	PlainStems bool
}

// Index is an index.WordEngine and index.WordScorer. A row without terms counts
// in N.
type Index struct {
	k1, b float64

	ids   map[string]uint32 // term -> place in lists
	lists []list
	free  []uint32 // places of terms that no row holds any more

	rows []doc // by row
	held *index.Bitmap
	n    int
	sum  int64 // of lengths

	build struct { // buffers of Set
		analyzer analyzer
		ids      []uint32
	}
	termBytes, postings int64
}

// list is a term and the rows that hold it, in row order.
type list struct {
	term  string
	maxTF uint16 // no posting has a higher count; deleting does not lower it
	posts []posting
}

// posting is one row's count of a term. The row's length rides along in what
// would be padding, so that scoring reads one array.
type posting struct {
	row uint32
	tf  uint16
	len uint16
}

// doc is what deleting a row needs.
type doc struct {
	ids []uint32 // its terms, each once
	len uint16
}

var _ index.WordScorer = (*Index)(nil)

// New returns an empty index. Nil options are the defaults; rows is a hint of how
// many will come.
func New(opts *Options, rows int) *Index {
	if opts == nil {
		opts = &Options{}
	}
	x := &Index{
		k1:   cmp.Or(opts.K1, 0.9),
		b:    opts.B,
		ids:  make(map[string]uint32),
		rows: make([]doc, 0, rows),
		held: index.NewBitmap(rows),
	}
	x.build.analyzer.plain = opts.PlainStems
	x.build.analyzer.stems = make(map[string]string)
	return x
}

// Len is the number of rows.
func (x *Index) Len() int { return x.n }

// Terms is the number of different terms.
func (x *Index) Terms() int { return len(x.ids) }

// Bytes is what the index costs in memory, approximately.
func (x *Index) Bytes() int64 {
	const perTerm, perDoc, perPosting, perID, perStem = 80, 32, 8, 4, 64
	return x.termBytes + perStem*int64(len(x.build.analyzer.stems)) + perTerm*int64(len(x.lists)) + perDoc*int64(cap(x.rows)) + (perPosting+perID)*x.postings
}

// Set puts text in for row, in place of what was there.
func (x *Index) Set(row int, text string) {
	x.Delete(row)
	for len(x.rows) <= row {
		x.rows = append(x.rows, doc{})
	}
	a := &x.build.analyzer
	a.run(text, false)
	ids := x.build.ids[:0]
	for i := range a.len() {
		ids = append(ids, x.id(a.term(i)))
	}
	slices.Sort(ids)
	length := saturate(len(ids))
	distinct := ids[:0]
	for i := 0; i < len(ids); {
		id, from := ids[i], i
		for i < len(ids) && ids[i] == id {
			i++
		}
		x.lists[id].insert(posting{row: uint32(row), tf: saturate(i - from), len: length})
		distinct = append(distinct, id)
	}
	x.build.ids = ids
	x.rows[row] = doc{ids: slices.Clone(distinct), len: length}
	x.held.Set(row)
	x.n++
	x.sum += int64(length)
	x.postings += int64(len(distinct))
}

func saturate(n int) uint16 { return uint16(min(n, math.MaxUint16)) }

// id returns the place of a term, giving it one if it is new.
func (x *Index) id(term []byte) uint32 {
	if id, ok := x.ids[string(term)]; ok {
		return id
	}
	l := list{term: string(term)}
	x.termBytes += int64(len(l.term))
	var id uint32
	if n := len(x.free); n > 0 {
		id, x.free = x.free[n-1], x.free[:n-1]
		x.lists[id] = l
	} else {
		id = uint32(len(x.lists))
		x.lists = append(x.lists, l)
	}
	x.ids[l.term] = id
	return id
}

func (l *list) insert(p posting) {
	l.maxTF = max(l.maxTF, p.tf)
	if n := len(l.posts); n == 0 || l.posts[n-1].row < p.row {
		l.posts = append(l.posts, p)
		return
	}
	i, _ := l.find(p.row)
	l.posts = slices.Insert(l.posts, i, p)
}

// find returns where row is, or would be.
func (l *list) find(row uint32) (int, bool) { return find(l.posts, row) }

func find(posts []posting, row uint32) (int, bool) {
	i := sort.Search(len(posts), func(i int) bool { return posts[i].row >= row })
	return i, i < len(posts) && posts[i].row == row
}

// Delete takes row out, and the terms that only it held: nothing of a deleted
// text stays.
func (x *Index) Delete(row int) {
	if !x.held.Has(row) {
		return
	}
	d := x.rows[row]
	for _, id := range d.ids {
		l := &x.lists[id]
		if i, ok := l.find(uint32(row)); ok {
			l.posts = slices.Delete(l.posts, i, i+1)
		}
		if len(l.posts) == 0 {
			x.termBytes -= int64(len(l.term))
			delete(x.ids, l.term)
			*l = list{}
			x.free = append(x.free, id)
		}
	}
	clear(x.build.analyzer.stems) // nothing is kept of a text that may have been forgotten
	x.rows[row] = doc{}
	x.held.Clear(row)
	x.n--
	x.sum -= int64(d.len)
	x.postings -= int64(len(d.ids))
}

// term is a query term: its admitted postings, its weight, and what it can add
// to a score at most.
type term struct {
	posts []posting
	idf   float64
	bound float64
}

// scratch is what one search needs; a pool keeps searches from allocating it.
type scratch struct {
	analyzer analyzer
	ids      []uint32
	terms    []term
	kept     []posting // admitted postings of all terms
	scores   []float64 // by row; all zero between searches
	touched  []uint32  // rows with a score
	top      index.Top
}

var pool = sync.Pool{New: func() any { return new(scratch) }}

// release returns sc to the pool without holding on to an index.
func (sc *scratch) release() {
	clear(sc.terms)
	pool.Put(sc)
}

// Search returns the k admitted rows (nil: all rows) that match the query best:
// see index.WordEngine. A query without terms finds nothing.
func (x *Index) Search(query string, admitted *index.Bitmap, k int) []index.Hit {
	if k < 1 || x.n == 0 {
		return nil
	}
	sc := pool.Get().(*scratch)
	defer sc.release()
	weigh := x.prepare(sc, query, admitted)
	if len(sc.scores) < len(x.rows) {
		sc.scores = make([]float64, len(x.rows)+len(x.rows)/4)
	}
	sc.accumulate(&weigh, k)
	sc.top.Reset(k)
	for _, row := range sc.touched {
		sc.top.Push(int(row), sc.scores[row])
		sc.scores[row] = 0
	}
	return sc.top.Hits()
}

// Score returns the scores that Search would give rows, in their order, 0 for
// none; and the bound sum(idf*(k1+1)) that no score of this query exceeds.
func (x *Index) Score(query string, admitted *index.Bitmap, rows []int) (scores []float64, bound float64) {
	scores = make([]float64, len(rows))
	sc := pool.Get().(*scratch)
	defer sc.release()
	weigh := x.prepare(sc, query, admitted)
	for _, t := range sc.terms {
		bound += t.idf * (x.k1 + 1)
	}
	for i, row := range rows {
		if row < 0 {
			continue
		}
		for _, t := range sc.terms {
			if j, ok := find(t.posts, uint32(row)); ok {
				scores[i] += weigh.score(t.idf, t.posts[j])
			}
		}
	}
	return scores, bound
}

// prepare finds the query's terms and their admitted postings, rarest first; the
// order in which a row's parts are summed is then the same for every row.
func (x *Index) prepare(sc *scratch, query string, admitted *index.Bitmap) weigher {
	sc.analyzer.plain = x.build.analyzer.plain
	sc.analyzer.run(query, true)
	sc.ids, sc.terms, sc.kept = sc.ids[:0], sc.terms[:0], sc.kept[:0]
	for i := range sc.analyzer.len() {
		id, ok := x.ids[string(sc.analyzer.term(i))]
		if ok && !slices.Contains(sc.ids, id) {
			sc.ids = append(sc.ids, id)
		}
	}
	n, sum := x.totals(admitted)
	weigh := newWeigher(x.k1, x.b, n, sum)
	for _, id := range sc.ids {
		posts := x.lists[id].posts
		if admitted != nil {
			posts = sc.keep(posts, admitted)
		}
		if df := float64(len(posts)); df > 0 {
			idf := math.Log1p((float64(n) - df + 0.5) / (df + 0.5))
			most := weigh.score(idf, posting{tf: x.lists[id].maxTF}) // as if in a text of no length
			sc.terms = append(sc.terms, term{posts: posts, idf: idf, bound: most})
		}
	}
	slices.SortStableFunc(sc.terms, func(a, b term) int { return cmp.Compare(len(a.posts), len(b.posts)) })
	return weigh
}

// keep returns the admitted ones of posts.
func (sc *scratch) keep(posts []posting, admitted *index.Bitmap) []posting {
	from := len(sc.kept)
	for _, p := range posts {
		if admitted.Has(int(p.row)) {
			sc.kept = append(sc.kept, p)
		}
	}
	return sc.kept[from:len(sc.kept):len(sc.kept)]
}

// totals returns N and the sum of lengths over the admitted rows; the sum only
// where scores need it.
func (x *Index) totals(admitted *index.Bitmap) (n int, sum int64) {
	switch {
	case admitted == nil:
		return x.n, x.sum
	case x.b == 0:
		return admitted.CountAnd(x.held), 0
	}
	for row := range admitted.And(x.held).All() {
		n++
		sum += int64(x.rows[row].len)
	}
	return n, sum
}

// accumulate adds up the scores of the rows that hold a term, and lists those
// rows in touched. Once the terms to come cannot lift a new row among the best
// k, it goes on with the rows that still can get there.
func (sc *scratch) accumulate(weigh *weigher, k int) {
	sc.touched = sc.touched[:0]
	rest := 0.0 // what the terms from here on can add
	for _, t := range sc.terms {
		rest += t.bound
	}
	for i, t := range sc.terms {
		if len(sc.touched) >= k && len(t.posts) > len(sc.touched) && sc.narrow(k, rest) {
			sc.finish(sc.terms[i:], weigh)
			return
		}
		rest -= t.bound
		for _, p := range t.posts {
			score := &sc.scores[p.row]
			if *score == 0 {
				sc.touched = append(sc.touched, p.row)
			}
			*score += weigh.score(t.idf, p)
		}
	}
}

// narrow reports whether k rows already score more than rest, and then drops the
// rows that rest cannot bring among the best k.
func (sc *scratch) narrow(k int, rest float64) bool {
	rest = float64(rest*(1+1e-9)) + 1e-9 // for what rounding did to the sums
	sc.top.Reset(k)
	for _, row := range sc.touched {
		sc.top.Push(int(row), sc.scores[row])
	}
	floor := sc.top.Floor()
	if floor <= rest {
		return false
	}
	kept := sc.touched[:0]
	for _, row := range sc.touched {
		if sc.scores[row]+rest < floor {
			sc.scores[row] = 0
		} else {
			kept = append(kept, row)
		}
	}
	sc.touched = kept
	return true
}

// finish adds the remaining terms to the scores of the touched rows only.
func (sc *scratch) finish(terms []term, weigh *weigher) {
	const lookUp = 64 // a look-up costs as much as passing over so many postings
	for _, t := range terms {
		if len(sc.touched)*lookUp < len(t.posts) {
			for _, row := range sc.touched {
				if i, ok := find(t.posts, row); ok {
					sc.scores[row] += weigh.score(t.idf, t.posts[i])
				}
			}
			continue
		}
		for _, p := range t.posts {
			if score := &sc.scores[p.row]; *score != 0 {
				*score += weigh.score(t.idf, p)
			}
		}
	}
}

// weigher computes a term's part of a score.
type weigher struct {
	k1   float64
	base float64 // k1*(1-b)
	unit float64 // k1*b/avglen, per term of length
	// small holds the saturation of the usual counts where length is no matter.
	small [8]float64
}

func newWeigher(k1, b float64, n int, sum int64) weigher {
	m := weigher{k1: k1, base: k1 * (1 - b)}
	if sum > 0 {
		m.unit = k1 * b * float64(n) / float64(sum)
	}
	if m.unit == 0 {
		for tf := range m.small {
			m.small[tf] = m.saturation(float64(tf), 0)
		}
	}
	return m
}

// score is one term's part. It is positive. The conversion keeps the compiler
// from fusing it into a sum, so that every machine gets the same bits.
func (m *weigher) score(idf float64, p posting) float64 {
	if m.unit == 0 && int(p.tf) < len(m.small) {
		return float64(idf * m.small[p.tf])
	}
	return float64(idf * m.saturation(float64(p.tf), float64(p.len)))
}

func (m *weigher) saturation(tf, length float64) float64 {
	return tf * (m.k1 + 1) / (tf + m.base + float64(m.unit*length))
}
