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
	rest, tail := ts[c.end:], ts[c.end:stop]
	switch {
	case anyIn(ts[c.from:stop], doubtful),
		s.question && !thenAsks(rest),
		retreats.in(rest), r.unknownWorld(c, tail), conditional(c, tail), r.comparing(c, tail), lateDoubt(c, rest), acquaintance(c, rest), r.afterOrder(c), signedOff(rest), opensIf(rest), gone(c, rest), r.homonym(c, tail),
		c.form.lemma == "be" && r.forSomething(c), allInOne(c, rest),
		c.form.predicate.Name == "name" && len(rest) > 1 && rest[0].mark && rest[1].text == "you" && !s.question, disowned(rest), handsOutParts(rest), handsOutParts(ts[:c.from]), elsewhere(tail), passing(c, tail),
		startsWith(rest, "or"), startsWith(rest, "\"") && !ts[c.end-1].quoted, anyAmong(tail, "only"), startsWith(rest, "and counting"),
		anyAmong(tail, "than") && !anyAmong(tail, "rather"),
		r.local(c, tail),
		(c.group.negated || c.group.ended) && anyIn(tail, weakened):
		return false
	}
	return true
}

// unknownWorld reports "in GTA" after what one is, has or plays: a name that is
// no known place may be a game.
func (r *reader) unknownWorld(c *clause, tail []token) bool {
	if !among(c.form.predicate.Name, "job_title skill hobby owns relationship_status") || len(tail) < 2 {
		return false
	}
	if c.form.predicate.Name == "job_title" && r.noJob(tail) {
		return true
	}
	if tail[0].text != "in" || r.timeHere(tail, 0) || !tail[1].capital {
		return false
	}
	end, ok := r.knownOf(tail, 1, "location")
	return !ok || end < 2
}

// noJob reports a tail that makes a job something else: "a judge for the pie
// contest", "a Doctor Who fan", "a nurse on that ship".
func (r *reader) noJob(tail []token) bool {
	if tail[0].text != "before" && anyAmong(tail, "that this these those your it") {
		return true
	}
	switch tail[0].text {
	case "of", "for", "on", "to":
		return !r.timeHere(tail, 0) && !tail[1].capital
	case "with":
		return articles[tail[1].text]
	case "who":
		w := tail[1].text
		return !auxiliaries[w] && !strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ed") && !stopWords[w]
	}
	return false
}

// conditional reports a state that holds at times: "I'm a chef when I'm alone".
func conditional(c *clause, tail []token) bool {
	lasts := c.form.aspect == state || c.form.aspect == habit
	return lasts && c.group.tense == present && len(tail) > 0 && among(tail[0].text, "when whenever while once as") && !startsWith(tail, "as well") &&
		(tail[0].text != "as" || anyAmong(tail, "long if though"))
}

// comparing reports "I prefer calls to functions": what is compared with
// something that is no such value is none either.
func (r *reader) comparing(c *clause, tail []token) bool {
	if c.form.lemma != "prefer" || len(tail) < 2 || !among(tail[0].text, "to over than") {
		return false
	}
	_, ok := r.knownOf(tail, 1, c.form.predicate.Name)
	return !ok
}

// lateDoubt reports what takes a statement back behind it ("..., or at least my
// furniture does", "..., emotionally"), or limits it to an evening before it.
func lateDoubt(c *clause, rest []token) bool {
	if len(rest) > 1 && rest[0].mark {
		w := rest[1].text
		if w == "or" || len(rest) == 2 && strings.HasSuffix(w, "ly") && !leads[w] && !skipped[w] {
			return true
		}
		if w == "in" && elsewhere(rest[1:min(len(rest), 6)]) {
			return true
		}
	}
	if len(rest) > 1 && among(rest[0].text, "until till") && articles[rest[1].text] {
		return true
	}
	return len(c.lead) == 2 && c.form.lemma == "be" && c.form.predicate.Name != "age" && anyAmong(c.ts[c.lead[0]:c.lead[1]], "tonight today")
}

// acquaintance reports "I know Julia from school": tools have people's names.
func acquaintance(c *clause, rest []token) bool {
	if c.form.lemma != "know" || len(rest) == 0 {
		return false
	}
	if rest[0].mark && len(rest) > 1 {
		return among(rest[1].text, "my she he his her our")
	}
	return among(rest[0].text, "from well personally since")
}

// signedOff reports an attribution after a statement: "- Bob", "(Bob, 2019)".
func signedOff(rest []token) bool {
	for len(rest) > 1 && rest[0].mark && rest[1].mark && rest[0].text == rest[1].text {
		rest = rest[1:]
	}
	if len(rest) < 2 || !rest[0].mark || !rest[1].capital || rest[1].text == "i" || rest[1].first {
		return false
	}
	switch rest[0].text {
	case "-", "~":
		for _, t := range rest[1:] {
			if !t.mark && !t.capital {
				return false
			}
		}
		return true
	case "(":
		return len(rest) > 3 && rest[2].text == "," && isNumber(rest[3].text)
	}
	return false
}

// opensIf reports a condition after the comma: "I live in Oslo, if you believe that".
func opensIf(rest []token) bool {
	return len(rest) > 1 && rest[0].mark && (among(rest[1].text, "if unless") || startsWith(rest[1:], "in case")) && !harmless.at(rest[1:]) && !leadPhrases.at(rest[1:])
}

// gone reports that who was named is no longer there: "my boyfriend Kai and I
// broke up", "my dog Rex died".
func gone(c *clause, rest []token) bool {
	return among(c.form.predicate.Name, "partner pet child sibling parent") && c.form.lemma != "break" && c.group.tense == present &&
		anyAmong(rest, "broke split divorced separated died dead passed dumped deceased")
}

// homonyms are tools named by common words.
var homonyms = set(`go fiber r c d spring express bootstrap echo gin rocket swift solid rust ruby python java crystal dart elm ember phoenix flask
	rails scheme cursor atom eclipse helix mint arch remix astro electron julia pascal basic oracle snowflake firebird aurora redis nano vue`)

// homonym reports a common word in its common sense: "I use Fiber in my diet",
// "I use Go to the store as an excuse".
func (r *reader) homonym(c *clause, tail []token) bool {
	if len(tail) < 2 || !among(tail[0].text, "in to on of with from") || !articles[tail[1].text] && !owners[tail[1].text] {
		return false
	}
	last := c.ts[c.end-1].text
	return homonyms[last] && c.form.after[len(c.form.after)-1].must == "known" &&
		!anyAmong(tail, "server backend frontend web laptop desktop machine project projects code scripts apps app team job company office work")
}

// forSomething reports "For Lent I'm vegan": only tools are used for something.
func (r *reader) forSomething(c *clause) bool {
	return len(c.lead) == 2 && anyAmong(c.ts[c.lead[0]:c.lead[1]], "for")
}

// allInOne reports "a nurse, cook and teacher": several where one can hold.
func allInOne(c *clause, rest []token) bool {
	return c.form.predicate.Cardinality == predicates.Single && len(rest) > 3 && rest[0].text == "," && !stopWords[rest[1].text] && rest[2].text == "and" &&
		!rest[3].mark && rest[3].text != "i" && c.form.predicate.Name == "job_title"
}

// tooling are the verbs with which one says which tool one uses.
var tooling = set("use switch move migrate replace swap drop ditch abandon run install change adopt write code program")

// local reports a tool used for one thing at hand, which is no preference: "I
// use Redis for this demo", "I use Go as an example".
func (r *reader) local(c *clause, tail []token) bool {
	if !tooling[c.form.lemma] || c.form.after[len(c.form.after)-1].must != "known" {
		return false
	}
	for i := 0; i+2 < len(tail); i++ {
		if among(tail[i].text, "for in on") && among(tail[i+1].text, "the this that these a an") && !r.timeHere(tail, i) &&
			!anyAmong(tail[i+2:], "living lot daily few laptop machine pc mac computer phone tablet box backend frontend web server desktop office job day side past last moment") {
			return true
		}
	}
	return len(tail) > 2 && tail[0].text == "as" && articles[tail[1].text]
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
	if len(ts) > 1 && among(ts[0].text, "is was were") && among(ts[1].text, "what how where all just") {
		return true // "I live in Oslo, is what I'd say"
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
			if generic[last] || anyAmong(c.ts[from:to], "part moment line memory way kind of in about far so thing ever") {
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
	if !ok || placeholder(shown) {
		return
	}
	c.Predicate, c.Kind = p.Name, memory.Kind(p.Kind)
	c.Value = strings.TrimSpace(shown)
	r.found = append(r.found, c)
}

// blanks stand for a value in forms, examples and tests.
var blanks = set("n/a na tbd tba xxx xyz foo bar baz foobar placeholder unknown null nil undefined asdf qwerty lorem ipsum test testing x y z blah whatever none nothing acme-corp")

func placeholder(value string) bool {
	if _, rest, ok := strings.Cut(value, ": "); ok {
		value = rest
	}
	for _, w := range strings.Fields(strings.ToLower(value)) {
		if blanks[w] {
			return true
		}
	}
	return false
}

// betweenNumbers reports the "and" of "between 2010 and 2014".
func betweenNumbers(ts []token, i int) bool {
	return i > 0 && i+1 < len(ts) && isNumber(ts[i-1].text) && isNumber(ts[i+1].text)
}

// quoteEnd is the end of the clause: up to the next mark or conjunction that
// begins another clause, closing words of time included.
func (r *reader) quoteEnd(c *clause) int {
	i := c.end
	for i < len(c.ts) {
		t := c.ts[i]
		if t.mark && !strings.Contains("%'\"()", t.text) || conjunctions[t.text] && !r.timeHere(c.ts, i) && !betweenNumbers(c.ts, i) {
			break
		}
		i++
	}
	return i
}
