// Package suite holds deterministic cases of our own for what LoCoMo does not ask:
// whether an update replaces what was, whatever the order of arrival, whether what
// was taken back stays away, whether what was made of it is flagged, whether what is
// to be forgotten is gone, whether one user's memory stays out of another's, and
// whether only the user's own word lets an action pass. They need no model and no data.
package suite

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/eval"
	"github.com/meminfra/memory-layer/eval/metrics"
	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Result is what the suites found.
type Result struct {
	Suites map[string]eval.Summary `json:"suites"`
	Order  []string                `json:"-"`
	// Failures names the cases that failed, and what was seen instead.
	Failures []string `json:"failures"`
}

// OK reports whether every case passed.
func (r *Result) OK() bool { return len(r.Failures) == 0 }

// topic is a fact that changes, in the words that people use.
type topic struct {
	name      string
	say, turn string // how it is said first, and when it changes
	ask       string
	values    []string
}

var topics = []topic{
	{"location", "I live in %s.", "I moved to %s.", "Where do I live?", []string{"Oslo", "Rome", "Lisbon"}},
	{"employer", "I work at %s.", "I now work at %s.", "Where do I work?", []string{"Northwind", "Contoso", "Initech"}},
	{"database", "I prefer %s for backend projects.", "I switched to %s.", "Which database do I prefer?", []string{"PostgreSQL", "SQLite", "MySQL"}},
	{"editor", "I use %s.", "I switched to %s.", "Which editor do I use?", []string{"Vim", "Emacs", "Helix"}},
}

// chatter lies between statements and shares words with the questions.
var chatter = []string{"Where do people live in winter, I wonder?", "I work too much these days, really.", "Which film do you prefer on a Sunday?"}

// start is when the first message of every case is said.
var start = time.Date(2025, 3, 3, 9, 0, 0, 0, time.UTC)

// world is one case under way: users of its own in a shared store.
type world struct {
	ctx   context.Context
	store storage.Store
	opts  meminfra.Options // that ml was made with
	ml    *meminfra.MemoryLayer
	user  string
	n     int
}

// say adds a message of the user, said on a day counted from the start.
func (w *world) say(day int, text string) error {
	w.n++
	_, err := w.ml.Add(w.ctx, meminfra.AddRequest{UserID: w.user, ConversationID: "c", Messages: []meminfra.Message{
		{ID: fmt.Sprintf("m%d", w.n), Content: text, SentAt: start.AddDate(0, 0, day)}}})
	return err
}

func (w *world) search(query string) ([]meminfra.SearchHit, error) {
	res, err := w.ml.Search(w.ctx, meminfra.SearchRequest{UserID: w.user, Query: query, Limit: depth})
	if err != nil {
		return nil, err
	}
	return res.Hits, nil
}

const depth = 5

// isFact reports a hit that states a value as a fact. A message that says it is
// history and may be shown.
func isFact(h *meminfra.SearchHit, value string) bool {
	return h.Predicate != "" && strings.EqualFold(h.Value, value)
}

// verdict scores a case: hit@1 and hit@5 for the value wanted ("" for none), and
// clean@5, 1 if no fact among the hits states a value that no longer holds.
func verdict(hits []meminfra.SearchHit, wanted string, gone ...string) metrics.Values {
	v := metrics.Values{"hit@1": 0, "hit@5": 0, "clean@5": 1}
	if wanted == "" {
		v["hit@1"], v["hit@5"] = 1, 1
	}
	for i := range hits {
		if wanted != "" && isFact(&hits[i], wanted) {
			v["hit@5"] = 1
			if i == 0 {
				v["hit@1"] = 1
			}
		}
		for _, value := range gone {
			if isFact(&hits[i], value) {
				v["clean@5"] = 0
			}
		}
	}
	return v
}

// passed reports whether every part of a verdict is 1.
func passed(v metrics.Values) bool {
	for _, x := range v {
		if x != 1 {
			return false
		}
	}
	return true
}

// Run runs every suite in the store, under a tenant of its own. Opts configures
// the memory; its clock and tenant are the run's.
func Run(ctx context.Context, store storage.Store, opts meminfra.Options) (*Result, error) {
	opts.Tenant = fmt.Sprintf("suite-%d", time.Now().UnixNano())
	opts.Now = func() time.Time { return start.AddDate(1, 0, 0) }
	ml, err := meminfra.New(store, &opts)
	if err != nil {
		return nil, err
	}
	defer ml.Close()
	r := &Result{Suites: map[string]eval.Summary{}, Failures: []string{}}
	for _, s := range suites {
		var list []metrics.Values
		for i, c := range s.cases() {
			w := &world{ctx: ctx, store: store, opts: opts, ml: ml, user: fmt.Sprintf("%s-%d", s.name, i)}
			v, err := c.run(w)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", s.name, c.name, err)
			}
			ok := passed(v)
			v["pass"] = 0
			if ok {
				v["pass"] = 1
			} else {
				r.Failures = append(r.Failures, fmt.Sprintf("%s, %s: %v", s.name, c.name, v))
			}
			list = append(list, v)
		}
		r.Suites[s.name] = summary(list)
		r.Order = append(r.Order, s.name)
	}
	return r, nil
}

func summary(list []metrics.Values) eval.Summary {
	pass := make([]float64, len(list))
	for i, v := range list {
		pass[i] = v["pass"]
	}
	return eval.Summary{N: len(list), Values: metrics.Mean(list), CI95: map[string]metrics.Interval{"pass": metrics.Bootstrap(pass)}}
}

// parts of a case's verdict, in the order of the report; a suite has some of them.
var parts = []string{"hit@1", "hit@5", "clean@5", "authorised", "kept", "control"}

// WriteMarkdown writes the result as a table.
func (r *Result) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| suite | n | pass | %s |\n|---|---|---%s|\n", strings.Join(parts, " | "), strings.Repeat("|---", len(parts)))
	for _, name := range r.Order {
		s := r.Suites[name]
		ci := s.CI95["pass"]
		fmt.Fprintf(&b, "| %s | %d | %.3f (%.3f to %.3f) |", name, s.N, s.Values["pass"], ci[0], ci[1])
		for _, part := range parts {
			if v, has := s.Values[part]; has {
				fmt.Fprintf(&b, " %.3f |", v)
			} else {
				b.WriteString("  |")
			}
		}
		b.WriteString("\n")
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "\nfailed: %s\n", f)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
