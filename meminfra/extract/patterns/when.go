package patterns

import (
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

// outcome is what a clause says of its value.
type outcome struct {
	polarity memory.Polarity
	stated   memory.Validity
	past     bool
	vague    memory.Vague
}

// times are the times named in a clause, by what they are said to be.
type times struct {
	at, start, since, lasting, until memory.Vague
	span                             bool // "from start to until"
}

func (t times) begin() memory.Vague {
	for _, v := range []memory.Vague{t.start, t.since, t.at} {
		if !v.IsZero() {
			return v
		}
	}
	return memory.Vague{}
}

// years reports a past long enough for a habit: a span or a whole year.
func (t times) years() bool { return t.span || t.at.Latest.Sub(t.at.Earliest) > 300*24*time.Hour }

// brief reports a past of a few days: too short for a state of life.
func (t times) brief(sentAt time.Time) bool {
	const days = 25 * 24 * time.Hour
	return !t.span && !t.at.IsZero() && t.at.Latest.Sub(t.at.Earliest) < days || !t.lasting.IsZero() && sentAt.Sub(t.lasting.Earliest) < days
}

// outcome reads tense, negation and times together. Not ok where they do not
// make one statement.
func (r *reader) outcome(c *clause) (outcome, bool) {
	g, a := c.group, c.form.aspect
	anymore := anyAmong(c.ts[c.end:r.quoteEnd(c)], "anymore more longer")
	switch {
	case a == timeless:
		return outcome{polarity: memory.Positive}, !g.negated && !g.ended
	case a == denied:
		return outcome{polarity: memory.Positive}, g.tense == present && !anymore
	case a == begins && c.form.lemma == "be" && (g.tense == present || g.usedTo): // "I am prescribed"
		a = state
	case g.started && (a == state || a == habit):
		a = begins
	case g.ended && g.tense != present && (a == state || a == habit): // "stopped using"
		a = ends
	case anymore && !g.negated && !g.ended:
		return outcome{}, false
	}
	ahead := g.tense == future || g.tense == present && (a != state && a != habit || g.progressive)
	t := r.times(c, direction{ahead: ahead, until: g.tense != pastTense})
	switch a {
	case begins:
		return r.change(g, t, memory.Positive)
	case ends:
		return r.change(g, t, memory.Negative)
	case plan:
		return r.plan(g, t)
	}
	if g.tense == pastTense && !g.usedTo && (a == habit && !t.years() || t.brief(r.m.SentAt)) {
		return outcome{}, false
	}
	return r.state(g, t, c.form.predicate.Cardinality == predicates.Single)
}

// change is the outcome of something that begins or ends.
func (r *reader) change(g group, t times, polarity memory.Polarity) (outcome, bool) {
	if g.negated || g.usedTo || g.ended && polarity == memory.Positive {
		return outcome{}, false
	}
	when := t.begin()
	if g.tense == present && !g.either || g.tense == future {
		// A plan without a date, or with one that is over, is no change.
		if when.IsZero() || !when.Latest.After(r.m.SentAt) {
			return outcome{}, false
		}
	}
	return from(outcome{polarity: polarity}, when), true
}

// plan holds from now until the time planned is over.
func (r *reader) plan(g group, t times) (outcome, bool) {
	if g.tense == pastTense || g.tense == perfect {
		return outcome{}, false
	}
	when := t.begin()
	o := outcome{polarity: memory.Positive, vague: vague(when)}
	if g.negated || g.ended {
		o.polarity = memory.Negative
		return o, true
	}
	if g.tense == present && !g.progressive && when.IsZero() {
		return outcome{}, false // "I go to Paris" is a habit
	}
	if !when.IsZero() {
		if !when.Latest.After(r.m.SentAt) {
			return outcome{}, false
		}
		o.stated.To = when.Latest
	}
	return o, true
}

// state is the outcome of something that lasts.
func (r *reader) state(g group, t times, single bool) (outcome, bool) {
	switch g.tense {
	case pastTense:
		return pastState(g, t, r.m.SentAt)
	case perfect:
		return perfectState(g, t)
	case future:
		when := t.begin()
		if g.negated || g.ended || when.IsZero() || !when.Latest.After(r.m.SentAt) {
			return outcome{}, false
		}
		return from(outcome{polarity: memory.Positive}, when), true
	}
	o := outcome{polarity: memory.Positive}
	if g.negated || g.ended {
		o.polarity = memory.Negative
		return from(o, t.since), true
	}
	if g.sincePast {
		return outcome{}, false
	}
	if single && !g.progressive && !t.at.IsZero() && g.lemmas[0].lemma != "be" {
		return outcome{}, false // "I live in Oslo in winter"
	}
	o = from(o, t.begin0(r.m.SentAt, g.progressive))
	if !t.until.IsZero() {
		o.stated.To = t.until.Latest
	}
	return o, true
}

// begin0 is when a present state began or will begin. A bare time counts only
// for a progressive and only ahead: "I'm working at Acme from Monday".
func (t times) begin0(sentAt time.Time, progressive bool) memory.Vague {
	switch {
	case !t.since.IsZero():
		return t.since
	case !t.lasting.IsZero() && progressive:
		return t.lasting
	case !t.start.IsZero():
		return t.start
	case progressive && !t.at.IsZero() && t.at.Earliest.After(sentAt):
		return t.at
	}
	return memory.Vague{}
}

// pastState: dated it keeps its interval, undated it is over and no more is
// known but, perhaps, until when it was so.
func pastState(g group, t times, sentAt time.Time) (outcome, bool) {
	if g.negated || g.ended || !t.since.IsZero() {
		return outcome{}, false
	}
	o := outcome{polarity: memory.Positive}
	switch {
	case t.span && t.start.Earliest.Before(t.until.Latest):
		o.stated = memory.Validity{From: t.start.Earliest, To: t.until.Latest}
		o.vague = memory.Vague{Earliest: t.start.Earliest, Latest: t.until.Latest, Words: t.start.Words + " to " + t.until.Words}
	case !t.at.IsZero():
		o.stated = memory.Validity{From: t.at.Earliest, To: t.at.Latest}
		o.vague = vague(t.at)
	case !t.until.IsZero():
		o.past, o.vague = true, vague(t.until)
		if !t.until.Latest.After(sentAt) {
			o.stated.To = t.until.Latest
		}
	default:
		o.past = true
	}
	return o, true
}

// perfectState: "I have lived in Rome" alone may be over, so it is left out.
func perfectState(g group, t times) (outcome, bool) {
	begun := t.since
	if begun.IsZero() {
		begun = t.lasting
	}
	switch {
	case g.negated || g.ended:
		return from(outcome{polarity: memory.Negative}, t.since), !t.since.IsZero()
	case begun.IsZero() && !g.progressive:
		return outcome{}, false
	}
	return from(outcome{polarity: memory.Positive}, begun), true
}

func from(o outcome, v memory.Vague) outcome {
	o.stated.From, o.vague = v.Earliest, vague(v)
	return o
}

// vague keeps an interval and its words, unless it is a single day.
func vague(v memory.Vague) memory.Vague {
	if v.Latest.Sub(v.Earliest) <= 25*time.Hour { // a day of the clock change has 25
		return memory.Vague{}
	}
	return v
}

// direction says where a time without its own direction lies ("in March").
type direction struct{ ahead, until bool }

func (d direction) toward(kind string) bool {
	switch kind {
	case "since":
		return false
	case "until":
		return d.until
	}
	return d.ahead
}

var timeMarkers = map[string]string{
	"since": "since", "from": "start", "starting": "start", "beginning": "start", "effective": "start",
	"until": "until", "till": "until", "between": "start", "for": "lasting",
	"in": "at", "on": "at", "at": "at", "during": "at", "around": "at", "about": "at", "by": "", "as": "start",
}

// timeOpeners may be the first word of a time without a marker.
var timeOpeners = set(`today yesterday tomorrow tonight last this next previous a an one two three four five six seven eight nine ten
	few couple several early late mid the day back monday tuesday wednesday thursday friday saturday sunday earlier summer winter spring autumn end beginning`)

// times collects the times said before the subject, between slots and after
// the last one.
func (r *reader) times(c *clause, d direction) times {
	var t times
	if len(c.lead) == 2 {
		r.collect(&t, c.ts[c.lead[0]:c.lead[1]], d)
	}
	for k := 1; k < len(c.slots); k++ {
		if from, to := c.slots[k-1].end(), c.slots[k].values[0][0]; from < to {
			r.collect(&t, c.ts[from:to], d) // "at Acme since 2019 as an engineer"
		}
	}
	r.collect(&t, c.ts[c.end:r.timesEnd(c)], d)
	return t
}

// timesEnd lets a time go on over a comma ("on May 5, 2020").
func (r *reader) timesEnd(c *clause) int {
	i := r.quoteEnd(c)
	for i+1 < len(c.ts) && (c.ts[i].text == "," || c.ts[i].text == "and" || c.ts[i].text == "-") && isNumber(c.ts[i+1].text) {
		i = i + 2
	}
	return i
}

func isNumber(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func (r *reader) collect(t *times, ts []token, d direction) {
	for i := 0; i < len(ts); i++ {
		kind, v, n := r.timeAt(ts, i, d)
		if n == 0 {
			continue
		}
		i += n - 1
		switch kind {
		case "since":
			t.since = v
		case "until":
			t.until = v
		case "lasting":
			t.lasting = v
		case "start":
			t.start = v
			if end, m := r.spanEnd(ts, i+1, d); m > 0 {
				t.until, t.span = end, true
				i += m
			}
		default:
			t.at = v
		}
	}
}

// spanEnd reads "to 2020" after "from 2018".
func (r *reader) spanEnd(ts []token, i int, d direction) (memory.Vague, int) {
	if i+1 >= len(ts) || !among(ts[i].text, "to until till and - through") {
		return memory.Vague{}, 0
	}
	v, n := r.longestTime(ts, i+1, d.ahead)
	if n == 0 {
		return memory.Vague{}, 0
	}
	return v, n + 1
}

// timeAt reads one time at token i and says what kind it is; n is 0 for none.
func (r *reader) timeAt(ts []token, i int, d direction) (kind string, v memory.Vague, n int) {
	if ts[i].mark {
		return "", v, 0
	}
	w := ts[i].text
	kind, marked := timeMarkers[w]
	if !marked {
		if !timeOpeners[w] && !isNumber(w) {
			return "", v, 0
		}
		v, n = r.longestTime(ts, i, d.ahead)
		if n == 1 && isNumber(w) {
			return "", v, 0 // a bare number is no time
		}
		return "at", v, n
	}
	skip := 1
	if w == "as" && nextIs(ts, i, "of") {
		skip = 2
	}
	for i+skip < len(ts) && among(ts[i+skip].text, "about around over almost nearly roughly the past last more than") && kind == "lasting" {
		skip++
	}
	if kind == "lasting" {
		v, n = r.lasting(ts, i+skip)
	} else {
		v, n = r.longestTime(ts, i+skip, d.toward(kind))
	}
	if n == 0 && w == "in" { // "in two weeks"
		v, n = r.longestTime(ts, i, d.ahead)
		skip = 0
	}
	if n == 0 {
		return "", v, 0
	}
	return kind, v, n + skip
}

func (r *reader) longestTime(ts []token, i int, ahead bool) (memory.Vague, int) {
	return r.longest(ts, i, func(words string) (memory.Vague, bool) {
		if ahead {
			return extract.ResolveTimeAhead(words, r.m.SentAt, r.m.SentOffset)
		}
		return extract.ResolveTime(words, r.m.SentAt, r.m.SentOffset)
	})
}

func (r *reader) lasting(ts []token, i int) (memory.Vague, int) {
	return r.longest(ts, i, func(words string) (memory.Vague, bool) {
		return extract.Lasting(words, r.m.SentAt, r.m.SentOffset)
	})
}

func (r *reader) longest(ts []token, i int, resolve func(string) (memory.Vague, bool)) (memory.Vague, int) {
	for n := min(extract.MaxTimeWords+1, len(ts)-i); n > 0; n-- {
		if ts[i+n-1].mark {
			continue
		}
		if v, ok := resolve(r.text(ts, i, i+n)); ok {
			return v, n
		}
	}
	return memory.Vague{}, 0
}

// timePrefix is the length of a time at the front of a sentence, 0 for none.
func (r *reader) timePrefix(ts []token, i int) int {
	kind, _, n := r.timeAt(ts, i, direction{})
	if kind == "start" && n > 0 {
		_, m := r.spanEnd(ts, i+n, direction{})
		n += m
	}
	return n
}

// timeHere reports whether a time begins at token i.
func (r *reader) timeHere(ts []token, i int) bool {
	if strings.HasPrefix(ts[i].text, "anymore") {
		return true
	}
	_, _, n := r.timeAt(ts, i, direction{})
	return n > 0
}
