package eval

import (
	"context"
	"errors"
	"time"

	"github.com/meminfra/memory-layer/eval/locomo"
	"github.com/meminfra/memory-layer/eval/metrics"
	"github.com/meminfra/memory-layer/fusion"
	"github.com/meminfra/memory-layer/meminfra"
)

// bench is one conversation in a memory.
type bench struct {
	*run
	c      *locomo.Conversation
	ml     *meminfra.MemoryLayer
	bm25   *reference
	turns  map[string]locomo.Turn
	stored map[string]bool // turns that a memory stands for
}

// newBench opens a memory whose clock shows the day after the last session: when
// somebody may ask.
func (r *run) newBench(c *locomo.Conversation) (*bench, error) {
	b := &bench{run: r, c: c, bm25: newReference(c), turns: map[string]locomo.Turn{}, stored: map[string]bool{}}
	var last time.Time
	for _, s := range c.Sessions {
		if s.At.After(last) {
			last = s.At
		}
		for _, t := range s.Turns {
			b.turns[t.ID] = t
		}
	}
	opts := r.cfg.Options
	opts.Tenant = r.tenant
	opts.Now = func() time.Time { return last.Add(24 * time.Hour) }
	switch r.cfg.Mode {
	case Turns:
		opts.Extractor = nil
	case Observations:
		opts.Extractor = newObserved(c)
	}
	var err error
	b.ml, err = meminfra.New(r.store, &opts)
	return b, err
}

// fill adds the conversation, one Add a session, as it would come in.
func (b *bench) fill(ctx context.Context) error {
	start := time.Now()
	for _, s := range b.c.Sessions {
		req := meminfra.AddRequest{UserID: b.c.ID, ConversationID: b.c.ID, SessionID: s.Name}
		for _, t := range s.Turns {
			req.Messages = append(req.Messages, meminfra.Message{ID: t.ID, Name: t.Speaker, Content: t.Content(), SentAt: s.At})
		}
		if len(req.Messages) == 0 {
			continue
		}
		res, err := b.ml.Add(ctx, req)
		var unread *meminfra.ExtractionError
		switch {
		case errors.As(err, &unread):
			b.degraded["a session's messages are stored and could not be read"]++
		case err != nil:
			return err
		}
		for _, e := range res.Episodes {
			b.stored[e.MessageID] = true
		}
		b.write.turns += len(res.Episodes)
		b.write.items += len(res.Actions)
		b.write.rejections += len(res.Rejections)
		for _, line := range res.Degraded {
			b.degraded[line]++
		}
	}
	b.write.took += time.Since(start)
	return nil
}

// ask searches for the answer, once as an application would and once to the full
// depth, and scores what came.
func (b *bench) ask(ctx context.Context, q *locomo.Question) (Outcome, error) {
	o := Outcome{Conversation: b.c.ID, Question: q.N, Category: q.Category.String(), Text: q.Text, Gold: q.Evidence}
	req := b.request(q)
	req.Limit = b.cfg.K
	start := time.Now()
	res, err := b.ml.Search(ctx, req)
	if err != nil {
		return o, err
	}
	o.Milliseconds = float64(time.Since(start).Microseconds()) / 1000
	if b.byModel != nil {
		b.byModel.count(res)
	}
	if res.Intent != nil {
		b.intents[res.Intent.Predicate]++
	}
	req.Limit = fullDepth
	if res, err = b.ml.Search(ctx, req); err != nil {
		return o, err
	}
	for _, line := range res.Degraded {
		b.degraded[line]++
	}
	ranked := standFor(res.Hits)
	o.Values = metrics.Rank(q.Evidence, ranked, b.ks)
	for _, ids := range ranked[:min(b.cfg.K, len(ranked))] {
		o.Returned = append(o.Returned, ids...)
	}
	if o.Values["hit@"+itoa(b.cfg.K)] == 0 {
		b.miss(&o, res.Hits)
	}
	if b.cfg.Answers {
		if o.Answer, err = b.answer(ctx, q); err != nil {
			return o, err
		}
	}
	if !b.cfg.SkipBaselines {
		o.Baselines, err = b.baselines(ctx, q)
	}
	return o, err
}

func (b *bench) request(q *locomo.Question) meminfra.SearchRequest {
	return meminfra.SearchRequest{UserID: b.c.ID, Query: q.Text, SkipIntent: b.cfg.SkipIntent, Fusion: b.cfg.Fusion,
		SkipContext: b.cfg.SkipContext, SkipPriors: b.cfg.SkipPriors}
}

// standFor lists, for each hit, the turns that it stands for.
func standFor(hits []meminfra.SearchHit) [][]string {
	ranked := make([][]string, len(hits))
	for i, h := range hits {
		for _, e := range h.Evidence {
			ranked[i] = append(ranked[i], e.MessageID)
		}
	}
	return ranked
}

// miss says why a question is missed, and what came instead.
func (b *bench) miss(o *Outcome, hits []meminfra.SearchHit) {
	o.Fate = NotStored
	for _, id := range o.Gold {
		if b.stored[id] {
			o.Fate = NotRetrieved
		}
		t := b.turns[id]
		o.goldText = append(o.goldText, Shown{Turns: []string{id}, Text: t.Speaker + ": " + t.Content()})
	}
	if o.Values["mrr"] > 0 {
		o.Fate = NotRanked
	}
	for i, ids := range standFor(hits[:min(b.cfg.K, len(hits))]) {
		h := hits[i]
		text := h.Text
		if h.Speaker != "" {
			text = h.Speaker + ": " + text
		}
		o.top = append(o.top, Shown{Turns: ids, Kind: string(h.Kind), Text: text, Score: h.Score, Why: h.Why.String()})
	}
}

// The baselines: one branch alone, and both fused without context. BM25 is the
// reference protocol's, the others are the product's branches.
const (
	BM25      = "bm25"
	Vector    = "vector"
	RRF       = "rrf"
	Agreement = "agreement"
)

// Baselines names them in order.
var Baselines = []string{BM25, Vector, RRF, Agreement}

func (b *bench) baselines(ctx context.Context, q *locomo.Question) (map[string]metrics.Values, error) {
	out := map[string]metrics.Values{BM25: metrics.Rank(q.Evidence, b.bm25.search(q.Text, fullDepth), b.ks)}
	for name, strategy := range map[string]fusion.Strategy{
		Vector:    fusion.Weighted{Weights: [3]float64{0, 0, 1}},
		RRF:       fusion.RRF{},
		Agreement: fusion.Default,
	} {
		res, err := b.ml.Search(ctx, meminfra.SearchRequest{UserID: b.c.ID, Query: q.Text, Limit: fullDepth,
			SkipIntent: true, SkipContext: true, SkipPriors: true, Fusion: strategy})
		if err != nil {
			return nil, err
		}
		out[name] = metrics.Rank(q.Evidence, standFor(res.Hits), b.ks)
	}
	return out, nil
}
