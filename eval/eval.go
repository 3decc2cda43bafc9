// Package eval measures what the memory finds: it puts conversations through the
// real write path and questions through the real read path, scores the rankings
// against the turns that answer, and reports with protocol, baselines and cost.
//
// What is scored: a hit stands for the messages that it quotes, by the message
// ids of its evidence; a stored message stands for itself. So a fact counts for
// the turn it was taken from. Evidence of a question that no hit among the first
// k stands for is missed, whatever the hit's text says.
package eval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/meminfra/memory-layer/eval/locomo"
	"github.com/meminfra/memory-layer/eval/metrics"
	"github.com/meminfra/memory-layer/fusion"
	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Mode is where the memories of a run come from.
type Mode string

// The modes. Turns asks no model: the built-in extractor reads the turns.
// Observations takes the facts that the data set's authors let a model extract,
// each with its turn as evidence, through the same write path. Model extracts with
// the extractor of the options.
const (
	Turns        Mode = "turns"
	Observations Mode = "observations"
	Model        Mode = "model"
)

// Modes are all of them.
var Modes = []Mode{Turns, Observations, Model}

// Config says what to run. Conversations are required.
type Config struct {
	Conversations []locomo.Conversation
	Notes         []locomo.Note // of loading, for the report
	Data          string        // names the data in the report, for example by its hash
	Store         string        // names the kind of store in the report
	Mode          Mode          // "" is Turns
	K             int           // depth of the headline figures; 0 is 5
	// Options configure the memory; the clock is the run's own, and the extractor
	// is used in mode model only, which needs one.
	Options meminfra.Options
	// Answers has every question answered as well, by the generator of the options
	// if there is one, and scored; Judge grades the answers, nil is nobody.
	Answers bool
	Judge   llm.Generator
	// Usage returns what models have used, for the report; nil is nothing.
	Usage func() []llm.Line
	// The switches of the search, as in meminfra.SearchRequest.
	SkipIntent, SkipContext, SkipPriors bool
	Fusion                              fusion.Strategy
	// SkipBaselines leaves out the comparisons.
	SkipBaselines bool
	// Progress is told of questions done; nil is not.
	Progress func(done, total int)
}

// fullDepth is how far a ranking is read for mrr and for telling what was not
// retrieved from what was not ranked.
const fullDepth = 100

// Errors of Run.
var (
	// ErrNoQuestions: nothing to score.
	ErrNoQuestions = errors.New("no questions with evidence")
	// ErrNoModel: mode model without an extractor.
	ErrNoModel = errors.New("mode model needs a model to extract with")
)

// Run adds every conversation to a memory of its own in the store and asks its
// questions. Each run takes a tenant of its own, so a store may be used again;
// what it wrote stays there. Questions without evidence are left out and counted.
func Run(ctx context.Context, store storage.Store, cfg Config) (*Report, error) {
	if cfg.K == 0 {
		cfg.K = 5
	}
	if cfg.Mode == "" {
		cfg.Mode = Turns
	}
	if cfg.Mode == Model && cfg.Options.Extractor == nil {
		return nil, ErrNoModel
	}
	r := newRun(store, cfg)
	total := 0
	for _, c := range cfg.Conversations {
		total += len(c.Questions)
	}
	for i := range cfg.Conversations {
		if err := r.conversation(ctx, &cfg.Conversations[i], total); err != nil {
			return nil, fmt.Errorf("%s: %w", cfg.Conversations[i].ID, err)
		}
	}
	if len(r.outcomes) == 0 {
		return nil, ErrNoQuestions
	}
	return r.report(), nil
}

// run is an evaluation under way.
type run struct {
	cfg      Config
	store    storage.Store
	tenant   string
	ks       []int
	outcomes []Outcome
	excluded int
	done     int
	write    struct {
		turns, items, rejections int
		took                     time.Duration
	}
	intents  map[string]int // by predicate
	byModel  *ModelIntents  // nil if no model is asked
	degraded map[string]int
}

func newRun(store storage.Store, cfg Config) *run {
	r := &run{cfg: cfg, store: store, ks: append([]int(nil), metrics.Ks...),
		tenant:  fmt.Sprintf("eval-%d", time.Now().UnixNano()),
		intents: map[string]int{}, degraded: map[string]int{}}
	if cfg.Options.ModelIntent && cfg.Options.Generator != nil && !cfg.SkipIntent {
		r.byModel = &ModelIntents{}
	}
	known := false
	for _, k := range r.ks {
		known = known || k == cfg.K
	}
	if !known {
		r.ks = append(r.ks, cfg.K)
	}
	return r
}

// Outcome is what became of one question.
type Outcome struct {
	Conversation string                    `json:"conversation"`
	Question     int                       `json:"question"` // from 0, as in the file
	Category     string                    `json:"category"`
	Text         string                    `json:"text"`
	Gold         []string                  `json:"gold"`
	Returned     []string                  `json:"returned"` // turns of the first k hits
	Values       metrics.Values            `json:"values"`
	Baselines    map[string]metrics.Values `json:"baselines,omitempty"`
	Milliseconds float64                   `json:"ms"`
	Fate         string                    `json:"fate"` // "" for a hit, else why it is none
	top          []Shown
	goldText     []Shown
	// Answer is what the memory answered, nil if it was not asked to.
	Answer *Answered `json:"answer,omitempty"`
}

// The fates of a question none of whose evidence is among the first k hits.
const (
	NotStored    = "not_stored"    // no memory stands for any of it
	NotRetrieved = "not_retrieved" // none that does is among the first 100
	NotRanked    = "not_ranked"    // one is, but not among the first k
)

// Shown is a hit, or a turn, as a report shows it.
type Shown struct {
	Turns []string
	Kind  string
	Text  string
	Score float64
	Why   string
}

// conversation runs one conversation.
func (r *run) conversation(ctx context.Context, c *locomo.Conversation, total int) error {
	b, err := r.newBench(c)
	if err != nil {
		return err
	}
	defer b.ml.Close()
	if err := b.fill(ctx); err != nil {
		return err
	}
	for i := range c.Questions {
		q := &c.Questions[i]
		r.done++
		if len(q.Evidence) == 0 {
			r.excluded++
			continue
		}
		o, err := b.ask(ctx, q)
		if err != nil {
			return fmt.Errorf("question %d: %w", q.N, err)
		}
		r.outcomes = append(r.outcomes, o)
		if r.cfg.Progress != nil {
			r.cfg.Progress(r.done, total)
		}
	}
	return nil
}

// Asked is a question with all hits that came, for who wants more than scores.
type Asked struct {
	Conversation string
	Question     *locomo.Question
	Hits         []meminfra.SearchHit
}

// Each adds the conversations as Run does and hands over what their questions
// with evidence find, to the full depth, without scoring it.
func Each(ctx context.Context, store storage.Store, cfg Config, f func(Asked)) error {
	r := newRun(store, cfg)
	for i := range cfg.Conversations {
		c := &cfg.Conversations[i]
		b, err := r.newBench(c)
		if err != nil {
			return err
		}
		if err := b.fill(ctx); err != nil {
			return err
		}
		for j := range c.Questions {
			q := &c.Questions[j]
			if len(q.Evidence) == 0 {
				continue
			}
			req := b.request(q)
			req.Limit = fullDepth
			res, err := b.ml.Search(ctx, req)
			if err != nil {
				return fmt.Errorf("%s question %d: %w", c.ID, q.N, err)
			}
			f(Asked{Conversation: c.ID, Question: q, Hits: res.Hits})
		}
	}
	return nil
}
