package patterns

import (
	"strings"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

// accept decides whether a matched clause is a statement at all.
func (r *reader) accept(s sentence, c *clause) bool {
	ts := s.tokens
	stop := c.end
	for stop < len(ts) && !ts[stop].mark && ts[stop].text != "and" && ts[stop].text != "but" && ts[stop].text != "so" {
		stop++
	}
	if anyIn(ts[c.from:stop], doubtful) {
		return false
	}
	if s.question && !thenAsks(ts[min(c.end, len(ts)):]) {
		return false
	}
	if disowned(ts[c.end:]) {
		return false
	}
	if c.end < len(ts) && ts[c.end].text == "or" || anyAmong(ts[c.end:stop], "only") {
		return false
	}
	if anyAmong(ts[c.end:stop], "than") && !anyAmong(ts[c.end:stop], "rather") {
		return false
	}
	if (c.group.negated || c.group.ended) && anyIn(ts[c.end:stop], weakened) {
		return false
	}
	return true
}

// disowned reports that the words after a value take it back: "I hate Mondays,
// said Garfield", "I know Swift, she is in my class".
func disowned(ts []token) bool {
	if len(ts) > 0 && ts[0].mark {
		ts = ts[1:]
	}
	if len(ts) == 1 {
		return ts[0].text == "not"
	}
	return len(ts) > 1 && (among(ts[0].text, "said says she he") || startsWith(ts, "as they say") || startsWith(ts, "or so") || startsWith(ts, "but never"))
}

// emit turns a matched clause into candidates.
func (r *reader) emit(c *clause) {
	out, ok := r.outcome(c)
	if !ok {
		return
	}
	subject, category, ok := r.opened(c)
	if !ok {
		return
	}
	quote, start := r.quote(c.ts, c.from, r.quoteEnd(c))
	base := extract.Candidate{
		Text: quote, Subject: subject, Confidence: Confidence, Importance: Importance,
		EpisodeID: r.m.Episode.ID, Quote: quote, Start: start,
		Polarity: out.polarity, Stated: out.stated, Past: out.past, Vague: out.vague,
	}
	single := c.form.predicate.Cardinality == predicates.Single
	for _, s := range c.slots {
		next, predicate := base, c.form.predicate.Name
		switch s.name {
		case "subject", "category", "_":
			continue
		case "value":
			if single && len(s.values) > 1 {
				continue // "I use Vim and Emacs": which one holds is not said
			}
		case "old":
			if single || out.polarity != memory.Positive {
				continue // the fold ends the old value of a single predicate by itself
			}
			next.Polarity = memory.Negative
		default:
			predicate = s.name
		}
		for _, v := range s.values {
			r.add(next, predicate, category+r.text(c.ts, v[0], v[1]))
		}
	}
}

// opened reads the slots before the verb: the project spoken of, or the
// category of a keyed predicate as "category: ". Not ok for a category that is
// none ("my favourite part").
func (r *reader) opened(c *clause) (subject memory.Subject, category string, ok bool) {
	subject = c.subject
	for _, s := range c.slots {
		from, to := s.values[0][0], s.values[0][1]
		switch last := c.ts[to-1].text; s.name {
		case "subject":
			subject = memory.Subject{Type: "project", Name: memory.FoldName(r.text(c.ts, from, to))}
		case "category":
			if generic[last] || among(last, "part moment line memory way kind") {
				return subject, "", false
			}
			category = r.text(c.ts, from, to) + ": "
		}
	}
	return subject, category, true
}

// add keeps a candidate whose value the registry accepts.
func (r *reader) add(c extract.Candidate, predicate, value string) {
	p, ok := r.e.reg.Lookup(predicate)
	if !ok {
		return
	}
	shown, _, ok := r.e.reg.Value(predicate, value)
	if !ok {
		return
	}
	c.Predicate, c.Kind = p.Name, memory.Kind(p.Kind)
	c.Value = strings.TrimSpace(shown)
	r.found = append(r.found, c)
}

// quoteEnd is the end of the clause: up to the next mark or conjunction that
// begins another clause, closing words of time included.
func (r *reader) quoteEnd(c *clause) int {
	i := c.end
	for i < len(c.ts) {
		t := c.ts[i]
		if t.mark && !strings.Contains("%'\"()", t.text) || conjunctions[t.text] && !r.timeHere(c.ts, i) {
			break
		}
		i++
	}
	return i
}
