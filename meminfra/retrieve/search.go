package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/meminfra/memory-layer/fusion"
	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/intent"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/hashed"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// The routes a query can take. A route shifts weight, never membership: facts
// and episodes are always searched beside each other.
const offRouteWeight = 0.9

// search is one search under way.
type search struct {
	*Retriever
	partition memory.Partition // searched
	query     Query
	adm       *admission
	limit     int
	intent    *intent.QueryIntent
	intentBy  *IntentModel // nil for rules
	asked     int          // rows that the structured branch found
	route     intent.Granularity
	degraded  []string
}

// Search ranks the rows that the user may see by how well they answer the query:
// his own, and apart from them what is shared with him. Errors: ErrBlankQuery, ErrLimit, ErrFilter, memory.ErrTooLong
// and those of the store. What fails besides (embedder, trace) is a line in
// Degraded.
func (r *Retriever) Search(ctx context.Context, q Query) (*Result, error) {
	s, err := r.begin(q)
	if err != nil {
		return nil, err
	}
	s.readIntent(ctx)
	embed := s.embedder(ctx)
	rd, err := r.Begin(ctx, q.UserID)
	if err != nil {
		return nil, err
	}
	s.adm.rights = rd.Rights
	ranked, err := s.rankIn(ctx, rd, embed)
	if err != nil {
		return nil, err
	}
	out := &Result{Shared: s.sharedHits(ctx, rd, embed), Intent: s.intent, ByModel: s.intentBy != nil, Structured: s.asked, Route: string(s.route)}
	if err := s.resolveHits(ctx, rd, ranked, out); err != nil {
		return nil, err
	}
	out.Degraded = s.degraded
	return out, nil
}

func (r *Retriever) begin(q Query) (*search, error) {
	text, err := checkQuery(q.Text)
	if err != nil {
		return nil, err
	}
	q.Text = text
	s := &search{Retriever: r, partition: r.own(q.UserID), query: q, route: intent.Route(text), degraded: []string{}}
	if s.limit, err = clip(q.Limit, DefaultLimit, MaxLimit); err != nil {
		return nil, err
	}
	if s.adm, err = q.Filters.compile(r.Registry, r.Now(), nil); err != nil {
		return nil, err
	}
	return s, nil
}

// embedder returns what gives the query's vector within the view. The built-in
// embedder computes it there, without the names of people, in whose presence it
// finds every text that mentions them; any other is asked now, with the query as
// it stands, since nothing may block a view. Source: locomo-baselines.md.
func (s *search) embedder(ctx context.Context) func(*ask) []float32 {
	if _, builtIn := s.Embedder.(*hashed.Embedder); builtIn {
		return func(k *ask) []float32 { return s.embed(ctx, k.nameless) }
	}
	vector := s.embed(ctx, s.query.Text)
	return func(*ask) []float32 { return vector }
}

// embed returns a text's vector, or nil: an embedder that is down costs the
// vector branch and no more.
func (s *search) embed(ctx context.Context, text string) []float32 {
	list, err := s.Embedder.Embed(ctx, []string{text})
	switch {
	case err != nil:
		s.degrade("vector branch left out: %s", llm.Fault("the embedder", err))
		if s.Logger != nil {
			s.Logger.WarnContext(ctx, "search: embedding the query failed", "model", s.Embedder.Model(), "error", llm.Safe(err))
		}
		return nil
	case len(list) != 1:
		s.degrade("vector branch left out: the embedder returned no vector")
		return nil
	}
	return list[0]
}

func (s *search) degrade(format string, args ...any) {
	s.degraded = append(s.degraded, fmt.Sprintf(format, args...))
}

// candidate is a row on its way to become a hit. There are hundreds, of which few
// are looked at in context and fewer become hits, so it is kept small.
type candidate struct {
	attr    *index.Attr
	row     int
	found   *fusion.Fused // by the branches; nil for a neighbour that none found
	fused   float64
	prior   float64
	scale   float64
	score   float64
	signals *Signals // nil without context
}

func (c *candidate) ranks() Ranks {
	if c.found == nil {
		return Ranks{}
	}
	r := &c.found.Ranks
	return Ranks{
		Structured: Rank(r[fusion.Structured]),
		Lexical:    Rank(r[fusion.Lexical]),
		Vector:     Rank(r[fusion.Vector]),
	}
}

// why tells the parts of the candidate's score.
func (c *candidate) why() Explanation {
	why := Explanation{Fused: c.fused, Prior: c.prior, Scale: c.scale}
	if c.signals != nil {
		why.Signals = *c.signals
	}
	return why
}

// rankIn ranks the rows of the partition. If the index lacked vectors for that, it
// ranks them again once it has these, and nothing of the first time stays.
func (s *search) rankIn(ctx context.Context, rd *Reading, embed func(*ask) []float32) (ranked []*candidate, err error) {
	begun := *s
	err = rd.view(ctx, s.partition.ID(), func(v *index.View) error {
		*s = begun
		ranked = s.rank(v, embed)
		return nil
	})
	return ranked, err
}

// rank runs the branches over the admitted rows, fuses them, and lets the
// context of the best re-order them.
func (s *search) rank(v *index.View, embed func(*ask) []float32) []*candidate {
	pop := s.adm.census(v)
	s.fallBack(pop)
	ask := readAsk(s.query.Text, pop.people, s.adm.now)
	vector := embed(&ask)
	words := v.SearchWords(s.query.Text, pop.admitted, branchDepth)
	vectors := s.searchVector(v, vector, pop.admitted, branchDepth)
	if len(vectors) == 0 {
		s.noteModel(v, pop.admitted, vector)
	}
	structured := s.structured(v)
	s.asked = len(structured)
	list := s.fuse(v, []fusion.List{
		{Branch: fusion.Structured, Keys: structured},
		{Branch: fusion.Lexical, Keys: rowsOf(words)},
		{Branch: fusion.Vector, Keys: rowsOf(vectors)},
	})
	scale := 1.0
	if !s.query.SkipContext {
		list = s.inContext(v, pop, &ask, vector, list, words, vectors)
		scale += mostSignals
	}
	rewarded := !s.query.SkipPriors && isRewarded(list)
	if !s.query.SkipPriors {
		scale += mostPrior
	}
	if rewarded {
		scale += utilityWeight
	}
	ranked := make([]*candidate, len(list))
	for i := range list {
		c := &list[i]
		ranked[i] = c
		if !s.query.SkipPriors {
			c.prior = prior(c.attr.At, pop.newest)
		}
		if rewarded {
			c.prior += utilityWeight * (c.attr.Utility + 0.5)
		}
		c.scale = scale
		why := c.why()
		c.score = why.score()
	}
	slices.SortFunc(ranked, byScore)
	return ranked
}

// fuse merges the branches, leaning to the granularity that the query went to.
func (s *search) fuse(v *index.View, lists []fusion.List) []candidate {
	strategy := s.query.Fusion
	if strategy == nil {
		strategy = fusion.Default
	}
	fused := fusion.Fuse(strategy, lists, nil)
	list := make([]candidate, 0, len(fused)+places*contextDepth) // neighbours will join
	for i := range fused {
		c := newCandidate(v, fused[i].Key)
		c.found, c.fused = &fused[i], fused[i].Score*s.weight(c.attr)
		list = append(list, c)
	}
	return list
}

func newCandidate(v *index.View, row int) candidate {
	a := v.Attr(row)
	return candidate{attr: a, row: row}
}

// byScore is the order of hits. Ties: authority, importance, event time (newest
// first), then the order of writing. Source: design section 6.
func byScore(a, b *candidate) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return cmp.Or(
		cmp.Compare(b.attr.Authority, a.attr.Authority),
		cmp.Compare(b.attr.Importance, a.attr.Importance),
		b.attr.At.Compare(a.attr.At),
		cmp.Compare(a.attr.Seq, b.attr.Seq),
	)
}

// weight leans towards the granularity that the query was routed to.
func (s *search) weight(a *index.Attr) float64 {
	if s.offRoute(a) {
		return offRouteWeight
	}
	return 1
}

// offRoute reports whether a row is of another granularity than the query leans to.
func (s *search) offRoute(a *index.Attr) bool {
	switch s.route {
	case intent.Facts:
		return a.Owner == index.Episode
	case intent.Episodes:
		return a.Owner == index.Item
	case intent.Summaries:
		return a.Kind != string(memory.KindSummary)
	}
	return false
}

// fallBack re-routes a query whose granularity has no rows, and says so.
func (s *search) fallBack(p *population) {
	facts, episodes, summaries := p.facts, p.episodes, p.summaries
	wanted := s.route
	if s.route == intent.Summaries && !summaries {
		s.route = intent.Facts
	}
	if s.route == intent.Facts && !facts && episodes {
		s.route = intent.Episodes
	}
	if s.route == intent.Episodes && !episodes && facts {
		s.route = intent.Facts
	}
	if s.route != wanted && (facts || episodes) {
		s.degrade("no %s to search: went to %s", wanted, s.route)
	}
}

func (s *search) searchVector(v *index.View, vector []float32, admitted *index.Bitmap, k int) []index.Hit {
	if vector == nil || !llm.HasDirection(vector) {
		return nil
	}
	hits, err := v.SearchVector(vector, admitted, k)
	if err != nil {
		s.degrade("vector branch left out: %v", err)
		return nil
	}
	// A cosine of nothing says that nothing is shared: no evidence, no rank.
	n := slices.IndexFunc(hits, func(h index.Hit) bool { return h.Score <= 0 })
	if n >= 0 {
		hits = hits[:n]
	}
	return hits
}

// noteModel says so if no admitted row has a vector of the present model, as after
// a change of the model: vectors of two models are never compared.
func (s *search) noteModel(v *index.View, admitted *index.Bitmap, vector []float32) {
	if admitted.Count() == 0 || !llm.HasDirection(vector) {
		return
	}
	if some, err := v.SearchVector(vector, admitted, 1); err == nil && len(some) == 0 {
		s.degrade("vector branch left out: nothing has a vector of model %s yet", s.Embedder.Model())
	}
}

func rowsOf(hits []index.Hit) []int {
	rows := make([]int, len(hits))
	for i, h := range hits {
		rows[i] = h.Row
	}
	return rows
}

// resolveHits reads the best candidates from SQL and checks them again. What the
// index knows of them is nearly always what SQL says, so that one round trip reads
// them and writes the trace. Where SQL says otherwise the choice is made anew,
// with what it said, until it stands; a trace of an earlier choice stays behind
// and is nobody's.
func (s *search) resolveHits(ctx context.Context, rd *Reading, ranked []*candidate, out *Result) error {
	known := map[index.Key]*resolved{}
	asked := map[index.Key]bool{}
	chosen := s.choose(ranked, asked, known)
	for {
		out.Trace = s.newTrace(chosen, out.Shared)
		written := &out.Trace
		if s.query.SkipTrace {
			written = nil
		}
		traceErr, err := rd.resolveInto(ctx, known, s.partition, newKeys(chosen, asked), s.adm.KnownAt, written)
		if err != nil {
			return err
		}
		again := s.choose(ranked, asked, known)
		if slices.EqualFunc(chosen, again, func(a, b *candidate) bool { return a == b }) {
			out.Hits, out.TraceID = hitsOf(chosen, known), s.traced(ctx, written, traceErr)
			return nil
		}
		chosen = again
	}
}

// choose takes the best candidates that no better one speaks for, up to the
// limit: an episode folds into an item that it supports. Of those asked for it
// goes by what SQL knows.
func (s *search) choose(ranked []*candidate, asked map[index.Key]bool, known map[index.Key]*resolved) []*candidate {
	chosen := make([]*candidate, 0, min(s.limit, len(ranked)))
	var folded []string // episodes that a better hit quotes
	for _, c := range ranked {
		if len(chosen) == s.limit {
			break
		}
		if c.attr.Owner == index.Episode && slices.Contains(folded, c.attr.ID) {
			continue
		}
		sources := c.attr.Sources
		if asked[c.attr.Key] {
			row := known[c.attr.Key]
			if row == nil || !s.visible(&row.attr, c) {
				continue
			}
			sources = row.attr.Sources
		}
		folded = append(folded, sources...)
		chosen = append(chosen, c)
	}
	return chosen
}

// newKeys are the keys of candidates that were not asked for yet, and now are.
func newKeys(list []*candidate, asked map[index.Key]bool) []index.Key {
	keys := make([]index.Key, 0, len(list))
	for _, c := range list {
		if !asked[c.attr.Key] {
			asked[c.attr.Key] = true
			keys = append(keys, c.attr.Key)
		}
	}
	return keys
}

func hitsOf(chosen []*candidate, known map[index.Key]*resolved) []Hit {
	hits := make([]Hit, len(chosen))
	for i, c := range chosen {
		hits[i] = Hit{Record: known[c.attr.Key].Record, Score: c.score, Ranks: c.ranks(), Why: c.why()}
	}
	return hits
}

// visible re-checks a row as SQL has it now. A row that only the structured
// branch brought under a historical intent was admitted by its wider rule.
func (s *search) visible(a *index.Attr, c *candidate) bool {
	if s.adm.admits(a) {
		return true
	}
	r := c.ranks()
	return r.Structured > 0 && r.Lexical == 0 && r.Vector == 0 && s.structuredAdmits(a)
}
