package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/meminfra/memory-layer/fusion"
	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/intent"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// The routes a query can take. A route shifts weight, never membership: facts
// and episodes are always searched beside each other.
const offRouteWeight = 0.9

// search is one search under way.
type search struct {
	*Retriever
	query    Query
	adm      *admission
	limit    int
	intent   *intent.QueryIntent
	route    intent.Granularity
	degraded []string
}

// Search ranks the rows of the partition that may be seen by how well they
// answer the query. Errors: ErrBlankQuery, ErrLimit, ErrFilter, memory.ErrTooLong
// and those of the store. What fails besides (embedder, trace) is a line in
// Degraded.
func (r *Retriever) Search(ctx context.Context, q Query) (*Result, error) {
	s, err := r.begin(q)
	if err != nil {
		return nil, err
	}
	vector := s.embed(ctx)
	var ranked []candidate
	err = r.view(ctx, q.Partition, func(v *index.View) error {
		ranked = s.rank(v, vector)
		return nil
	})
	if err != nil {
		return nil, err
	}
	hits, err := s.resolveHits(ctx, ranked)
	if err != nil {
		return nil, err
	}
	out := &Result{Hits: hits, Shared: []Hit{}, Intent: s.intent, Route: string(s.route)}
	s.trace(ctx, out)
	out.Degraded = s.degraded
	return out, nil
}

func (r *Retriever) begin(q Query) (*search, error) {
	text, err := checkQuery(q.Text)
	if err != nil {
		return nil, err
	}
	q.Text = text
	s := &search{Retriever: r, query: q, route: intent.Route(text), degraded: []string{}}
	if s.limit, err = clip(q.Limit, DefaultLimit, MaxLimit); err != nil {
		return nil, err
	}
	if s.adm, err = q.Filters.compile(r.Registry, r.Now()); err != nil {
		return nil, err
	}
	if !q.SkipIntent {
		if found, ok := intent.Infer(r.Registry, text); ok {
			s.intent = &found
		}
	}
	return s, nil
}

// embed returns the query's vector, or nil: an embedder that is down costs the
// vector branch and no more.
func (s *search) embed(ctx context.Context) []float32 {
	list, err := s.Embedder.Embed(ctx, []string{s.query.Text})
	switch {
	case err != nil:
		s.degrade("vector branch left out: the embedder failed")
		if s.Logger != nil {
			s.Logger.WarnContext(ctx, "search: embedding the query failed", "model", s.Embedder.Model(), "error", err)
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

// candidate is a fused row.
type candidate struct {
	key   index.Key
	attr  *index.Attr
	score float64
	ranks Ranks
}

// rank runs the branches over the admitted rows and fuses them.
func (s *search) rank(v *index.View, vector []float32) []candidate {
	admitted := v.Admit(s.adm.admits)
	s.fallBack(v, admitted)
	found := s.searchVector(v, vector, admitted)
	fused := fusion.Fuse(fusion.Default, []fusion.List{
		{Branch: fusion.Structured, Keys: s.structured(v)},
		{Branch: fusion.Lexical, Keys: rowsOf(v.SearchWords(s.query.Text, admitted, branchDepth))},
		{Branch: fusion.Vector, Keys: rowsOf(found)},
	}, nil)
	list := make([]candidate, len(fused))
	for i, f := range fused {
		a := v.Attr(f.Key)
		list[i] = candidate{a.Key, a, f.Score * s.weight(a), Ranks{
			Structured: Rank(f.Ranks[fusion.Structured]),
			Lexical:    Rank(f.Ranks[fusion.Lexical]),
			Vector:     Rank(f.Ranks[fusion.Vector]),
		}}
	}
	slices.SortFunc(list, byScore)
	return list
}

// byScore is the order of hits. Ties: authority, importance, event time (newest
// first), then the order of writing. Source: design section 6.
func byScore(a, b candidate) int {
	return cmp.Or(
		cmp.Compare(b.score, a.score),
		cmp.Compare(b.attr.Authority, a.attr.Authority),
		cmp.Compare(b.attr.Importance, a.attr.Importance),
		b.attr.At.Compare(a.attr.At),
		cmp.Compare(a.attr.Seq, b.attr.Seq),
	)
}

// weight leans towards the granularity that the query was routed to.
func (s *search) weight(a *index.Attr) float64 {
	var off bool
	switch s.route {
	case intent.Facts:
		off = a.Owner == index.Episode
	case intent.Episodes:
		off = a.Owner == index.Item
	case intent.Summaries:
		off = a.Kind != string(memory.KindSummary)
	}
	if off {
		return offRouteWeight
	}
	return 1
}

// fallBack re-routes a query whose granularity has no rows, and says so.
func (s *search) fallBack(v *index.View, admitted *index.Bitmap) {
	var facts, episodes, summaries bool
	for row := range admitted.All() {
		switch a := v.Attr(row); {
		case a.Owner == index.Episode:
			episodes = true
		case a.Kind == string(memory.KindSummary):
			summaries = true
		default:
			facts = true
		}
		if facts && episodes && summaries {
			break
		}
	}
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

func (s *search) searchVector(v *index.View, vector []float32, admitted *index.Bitmap) []index.Hit {
	if vector == nil || !slices.ContainsFunc(vector, func(x float32) bool { return x != 0 }) {
		return nil
	}
	hits, err := v.SearchVector(vector, admitted, branchDepth)
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

func rowsOf(hits []index.Hit) []int {
	rows := make([]int, len(hits))
	for i, h := range hits {
		rows[i] = h.Row
	}
	return rows
}

// resolveHits reads the best candidates from SQL, checks them again, folds
// episodes into the items they support, and cuts to the limit. It reads on
// while folding leaves room, so that a sentence said often costs no other hit.
func (s *search) resolveHits(ctx context.Context, ranked []candidate) ([]Hit, error) {
	hits := make([]Hit, 0, min(s.limit, len(ranked)))
	folded := map[string]bool{} // episodes that a better hit quotes
	for len(ranked) > 0 && len(hits) < s.limit {
		n := min(len(ranked), s.limit*resolveSpread)
		batch := ranked[:n]
		ranked = ranked[n:]
		rows, err := s.resolve(ctx, s.query.Partition, keysOf(batch, folded), s.adm.KnownAt)
		if err != nil {
			return nil, err
		}
		for _, c := range batch {
			row, ok := rows[c.key]
			if len(hits) == s.limit {
				break
			}
			if !ok || folded[c.key.ID] || !s.visible(&row.attr, c) {
				continue
			}
			for _, id := range row.episodes {
				folded[id] = true
			}
			hits = append(hits, Hit{Record: row.Record, Score: c.score, Ranks: c.ranks})
		}
	}
	return hits, nil
}

// keysOf are the keys of candidates that are not folded yet.
func keysOf(list []candidate, folded map[string]bool) []index.Key {
	keys := make([]index.Key, 0, len(list))
	for _, c := range list {
		if !folded[c.key.ID] {
			keys = append(keys, c.key)
		}
	}
	return keys
}

// visible re-checks a row as SQL has it now. A row that only the structured
// branch brought under a historical intent was admitted by its wider rule.
func (s *search) visible(a *index.Attr, c candidate) bool {
	if s.adm.admits(a) {
		return true
	}
	return c.ranks.Structured > 0 && c.ranks.Lexical == 0 && c.ranks.Vector == 0 && s.structuredAdmits(a)
}
