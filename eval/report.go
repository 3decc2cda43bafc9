package eval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/meminfra/memory-layer/eval/locomo"
	"github.com/meminfra/memory-layer/eval/metrics"
	"github.com/meminfra/memory-layer/fusion"
	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/hashed"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Report is what a run found. In JSON it is the documented evaluation document.
type Report struct {
	Protocol       Protocol           `json:"protocol"`
	Overall        Summary            `json:"overall"`
	NotAdversarial Summary            `json:"overall_without_adversarial"`
	ByCategory     map[string]Summary `json:"by_category"`
	ByConversation map[string]Summary `json:"by_conversation"`
	Baselines      map[string]Summary `json:"baselines"`
	LatencyMS      Latency            `json:"latency_ms"`
	Attribution    map[string]int     `json:"attribution"`
	Intents        IntentCounts       `json:"intents"`
	Write          WriteCost          `json:"write"`
	Degraded       map[string]int     `json:"degraded"`
	Answers        *AnswerReport      `json:"answers,omitempty"`
	Usage          []llm.Line         `json:"usage,omitempty"`
	Questions      []Outcome          `json:"questions"`
	K              int                `json:"-"`
}

// Protocol is what one has to know to repeat the run.
type Protocol struct {
	Data          string        `json:"data"`
	Conversations []string      `json:"conversations"`
	Mode          Mode          `json:"mode"`
	K             int           `json:"k"`
	Questions     int           `json:"questions"`
	Excluded      int           `json:"excluded_without_evidence"`
	Store         string        `json:"store"`
	Extractor     string        `json:"extractor"`
	Embedder      string        `json:"embedder"`
	Fusion        string        `json:"fusion"`
	Intent        bool          `json:"intent"`
	Context       bool          `json:"context"`
	Priors        bool          `json:"priors"`
	Scoring       string        `json:"scoring"`
	BM25          string        `json:"bm25_baseline"`
	Notes         []locomo.Note `json:"notes"`
}

// Summary is the mean of metrics over questions with the intervals of the
// headline figures. An empty one has n 0 and nothing else.
type Summary struct {
	N      int
	Values metrics.Values
	CI95   map[string]metrics.Interval
}

// MarshalJSON writes n, the metrics by name, and ci95.
func (s Summary) MarshalJSON() ([]byte, error) {
	doc := map[string]any{"n": s.N, "ci95": s.CI95}
	for name, v := range s.Values {
		doc[name] = v
	}
	return json.Marshal(doc)
}

// Latency is how long a search for k hits took, in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// IntentCounts tell for how many questions an intent was inferred.
type IntentCounts struct {
	Inferred    int            `json:"inferred"`
	None        int            `json:"none"`
	ByPredicate map[string]int `json:"by_predicate"`
	// Model counts what a model's intents came to; nil if none was asked.
	Model *ModelIntents `json:"model,omitempty"`
}

// ModelIntents count questions for whose intent a model was asked, each within
// the one before: it gave an answer within the form and the vocabulary, with a
// predicate, with a value, and the predicate brought rows. Without a valid answer
// the rules were used.
type ModelIntents struct {
	Asked     int `json:"asked"`
	Validated int `json:"validated"`
	Predicate int `json:"predicate"`
	Value     int `json:"value"`     // of those with a predicate
	Activated int `json:"activated"` // of those with a predicate
}

// count adds the intent of one search.
func (m *ModelIntents) count(res *meminfra.SearchResult) {
	m.Asked++
	if !res.ByModel {
		return
	}
	m.Validated++
	if res.Intent == nil {
		return
	}
	m.Predicate++
	if res.Intent.Value != "" {
		m.Value++
	}
	if res.Structured > 0 {
		m.Activated++
	}
}

// WriteCost is what adding the conversations took.
type WriteCost struct {
	Turns      int     `json:"turns"`
	Decisions  int     `json:"decisions"`
	Rejections int     `json:"rejections"`
	Seconds    float64 `json:"seconds"`
}

// headline names the figures that get intervals.
func headline(k int) []string {
	return []string{"hit@" + itoa(k), "recall@" + itoa(k), "mrr@" + itoa(k)}
}

// summarize averages outcomes' values; pick chooses which values of an outcome.
func summarize(outcomes []Outcome, k int, pick func(*Outcome) metrics.Values) Summary {
	return summarizeBy(outcomes, headline(k), pick)
}

// summarizeBy is summarize with intervals for the figures named.
func summarizeBy(outcomes []Outcome, names []string, pick func(*Outcome) metrics.Values) Summary {
	list := make([]metrics.Values, 0, len(outcomes))
	for i := range outcomes {
		if v := pick(&outcomes[i]); v != nil {
			list = append(list, v)
		}
	}
	s := Summary{N: len(list), Values: metrics.Mean(list), CI95: map[string]metrics.Interval{}}
	for _, name := range names {
		x := make([]float64, len(list))
		for i, v := range list {
			x[i] = v[name]
		}
		s.CI95[name] = metrics.Bootstrap(x)
	}
	return s
}

func own(o *Outcome) metrics.Values { return o.Values }

func (r *run) report() *Report {
	out := &Report{K: r.cfg.K, Protocol: r.protocol(), Questions: r.outcomes, Degraded: r.degraded,
		Overall:    summarize(r.outcomes, r.cfg.K, own),
		ByCategory: map[string]Summary{}, ByConversation: map[string]Summary{}, Baselines: map[string]Summary{},
		Attribution: map[string]int{NotStored: 0, NotRetrieved: 0, NotRanked: 0},
		Write: WriteCost{Turns: r.write.turns, Decisions: r.write.items, Rejections: r.write.rejections,
			Seconds: r.write.took.Seconds()}}
	keep := func(f func(*Outcome) bool) []Outcome {
		var kept []Outcome
		for i := range r.outcomes {
			if f(&r.outcomes[i]) {
				kept = append(kept, r.outcomes[i])
			}
		}
		return kept
	}
	out.NotAdversarial = summarize(keep(func(o *Outcome) bool { return o.Category != locomo.Adversarial.String() }), r.cfg.K, own)
	for _, c := range locomo.Categories {
		if kept := keep(func(o *Outcome) bool { return o.Category == c.String() }); len(kept) > 0 {
			out.ByCategory[c.String()] = summarize(kept, r.cfg.K, own)
		}
	}
	for _, c := range r.cfg.Conversations {
		out.ByConversation[c.ID] = summarize(keep(func(o *Outcome) bool { return o.Conversation == c.ID }), r.cfg.K, own)
	}
	if !r.cfg.SkipBaselines {
		for _, name := range Baselines {
			out.Baselines[name] = summarize(r.outcomes, r.cfg.K, func(o *Outcome) metrics.Values { return o.Baselines[name] })
		}
	}
	if r.cfg.Answers {
		out.Answers = r.answerReport()
	}
	if r.cfg.Usage != nil {
		out.Usage = r.cfg.Usage()
	}
	r.count(out)
	return out
}

// count fills in what is counted rather than averaged.
func (r *run) count(out *Report) {
	var ms []float64
	for i := range r.outcomes {
		o := &r.outcomes[i]
		ms = append(ms, o.Milliseconds)
		if o.Fate != "" {
			out.Attribution[o.Fate]++
		}
	}
	out.LatencyMS = Latency{P50: metrics.Percentile(ms, 50), P90: metrics.Percentile(ms, 90), P95: metrics.Percentile(ms, 95),
		P99: metrics.Percentile(ms, 99), Max: slices.Max(ms)}
	out.Intents = IntentCounts{ByPredicate: r.intents, Model: r.byModel}
	for _, n := range r.intents {
		out.Intents.Inferred += n
	}
	out.Intents.None = len(r.outcomes) - out.Intents.Inferred
}

func (r *run) protocol() Protocol {
	p := Protocol{
		Data: r.cfg.Data, Mode: r.cfg.Mode, K: r.cfg.K, Questions: len(r.outcomes), Excluded: r.excluded, Store: r.cfg.Store,
		Extractor: extractorName(r.cfg), Embedder: embedderName(r.cfg.Options),
		Fusion: fusion.Default.Name(), Intent: !r.cfg.SkipIntent, Context: !r.cfg.SkipContext, Priors: !r.cfg.SkipPriors,
		Scoring: fmt.Sprintf("a hit stands for the turns it quotes; macro over questions with evidence; mrr over the first %d hits; "+
			"intervals: percentile bootstrap of %d seeded resamples", fullDepth, metrics.Resamples),
		BM25:  `k1 1.2, b 0.75, "speaker: text", stemmed, stop words out`,
		Notes: r.cfg.Notes,
	}
	if r.cfg.Fusion != nil {
		p.Fusion = r.cfg.Fusion.Name()
	}
	for _, c := range r.cfg.Conversations {
		p.Conversations = append(p.Conversations, c.ID)
	}
	return p
}

func extractorName(cfg Config) string {
	switch {
	case cfg.Mode == Observations:
		return (*observed)(nil).ID()
	case cfg.Mode == Model:
		return cfg.Options.Extractor.ID()
	}
	return "built in"
}

func embedderName(o meminfra.Options) string {
	if o.Embedder != nil {
		return o.Embedder.Model()
	}
	return hashed.New().Model()
}
