package patterns

import (
	"slices"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

// clause is what is known while one clause is read.
type clause struct {
	ts      []token
	from    int // first token of the quote
	subject memory.Subject
	group   group
	form    *form
	slots   []filled
	end     int   // token after the last slot
	shared  bool  // goes on with the verb of the clause before
	lead    []int // token indexes [from, to) pairs of the words before the subject
}

// filled is a slot with the token stretches of its values: several in a list.
type filled struct {
	name   string
	values [][2]int
}

func (f filled) end() int { return f.values[len(f.values)-1][1] }

// maxSentence is the most tokens that a sentence of a conversation has; more is
// a listing, and would cost without giving.
const maxSentence = 300

// sentence reads the clauses of one sentence from left to right.
func (r *reader) sentence(s sentence) {
	if len(s.tokens) > maxSentence {
		return
	}
	// What follows a distant word is somebody else's, or of another world.
	near := distantAt(s.tokens)
	if near == 0 {
		return
	}
	if r.fronted(s.tokens) {
		return
	}
	var prev *clause
	before := len(r.found) // what was found before prev
	for i := 0; i < len(s.tokens) && i <= near; {
		if r.reported(s.tokens, r.skipLeads(s.tokens, i), prev) {
			return
		}
		c := r.clauseAt(s, i, prev)
		if c == nil {
			i = nextStart(s.tokens, i)
			continue
		}
		switch {
		case !r.accept(s, c):
		case c.rival(prev):
			r.found = r.found[:before]
		default:
			before = len(r.found)
			r.emit(c)
			prev = c
		}
		i = max(c.end, nextStart(s.tokens, max(i, c.end-1)))
	}
}

// nextStart is the next token after i at which a clause may begin: after a mark
// or a conjunction.
func nextStart(ts []token, i int) int {
	for i++; i < len(ts); i++ {
		if ts[i-1].mark || conjunctions[ts[i].text] {
			return i
		}
	}
	return i
}

var conjunctions = set("and but because so since though although cause cuz & plus while n n'")

// clauseAt reads the clause that begins at token i, nil for none.
func (r *reader) clauseAt(s sentence, i int, prev *clause) *clause {
	ts := s.tokens
	subject := r.skipLeads(ts, i)
	c := &clause{ts: ts, from: i}
	for c.from < subject && (ts[c.from].mark || conjunctions[ts[c.from].text] && r.timePrefix(ts, c.from) == 0) {
		c.from++
	}
	if subject < len(ts) && !ts[subject].quoted {
		if r.fromSubject(c, subject) {
			c.lead = []int{i, subject}
			return c
		}
	}
	if prev != nil && r.continued(c, i, prev) {
		return c
	}
	return nil
}

// skipLeads passes over words and times that may stand before a subject.
func (r *reader) skipLeads(ts []token, i int) int {
	for i < len(ts) {
		t := ts[i]
		switch {
		case (t.text == "as" || t.text == "since") && r.timePrefix(ts, i) > 0: // "as of today"
			i += r.timePrefix(ts, i)
		case t.text == "everyone" && nextIs(ts, i, "calls"):
			return i
		case t.mark && !t.quoted, leads[t.text]:
			i++
		case t.text == "i" || t.text == "my":
			return i
		default:
			if _, n := r.nameAt(ts, i); n > 0 && i+n < len(ts) && (ts[i+n].text == "i" || ts[i+n].text == "," && nextIs(ts, i+n, "i")) {
				return i + n + skipComma(ts[i+n]) // "Gina, I live in Oslo now"
			}
			n := max(leadPhrases.length(ts[i:]), r.timePrefix(ts, i), realm(ts, i))
			if n == 0 {
				return i
			}
			i += n
		}
	}
	return i
}

func skipComma(t token) int {
	if t.mark {
		return 1
	}
	return 0
}

// fromSubject reads subject, verb group and the rest of a form at token i.
func (r *reader) fromSubject(c *clause, i int) bool {
	ts := c.ts
	switch {
	case ts[i].text == "i":
		if r.joint(ts, i) || marked(ts, i) {
			return false
		}
		c.subject = r.m.Speaks
		return r.verbForm(c, i+1, firstPerson)
	case ts[i].text == "my":
		c.subject = r.m.Speaks
		return r.openerForm(c, i)
	}
	if who, n := r.nameAt(ts, i); n > 0 {
		c.subject = who
		if i+n < len(ts) && ts[i+n].text == "'s" && r.possessed(c, i+n) {
			return true
		}
		return r.verbForm(c, i+n, thirdPerson)
	}
	c.subject = r.m.Speaks
	return r.openerForm(c, i)
}

// marked reports a mark of emphasis or a bracket at a statement's first word:
// "*I live in Oslo*" is a gesture, "[I live in Oslo]" a place to be filled.
func marked(ts []token, i int) bool {
	return i > 0 && ts[i-1].mark && ts[i-1].end == ts[i].start && strings.Contains("*_~[{<", ts[i-1].text)
}

// possessed reads "Gina's job is ..." as the speaker's "my job is ...".
func (r *reader) possessed(c *clause, i int) bool {
	ts := slices.Clone(c.ts)
	ts[i].text = "my"
	whole := c.ts
	c.ts = ts
	ok := r.openerForm(c, i)
	c.ts = whole
	return ok
}

// nameAt finds a participant's name of up to three words at token i.
func (r *reader) nameAt(ts []token, i int) (memory.Subject, int) {
	if !ts[i].capital && !r.lower {
		return memory.Subject{}, 0
	}
	for n := min(3, len(ts)-i); n > 0; n-- {
		if who, ok := r.names[memory.FoldName(r.text(ts, i, i+n))]; ok {
			return who, n
		}
	}
	return memory.Subject{}, 0
}

// verbForm reads a verb group at i and a form of its verb.
func (r *reader) verbForm(c *clause, i int, who person) bool {
	g, ok := readGroup(c.ts, i, r.e.forms.lexicon, who)
	if !ok {
		return false
	}
	return r.matchGroup(c, g)
}

func (r *reader) matchGroup(c *clause, g group) bool {
	if g.next > 0 && c.ts[g.next-1].quoted {
		return false
	}
	if g.tense == perfect && !g.progressive && c.ts[g.next-1].text == "got" { // "I've got a dog" has it
		has := g
		has.lemmas, has.tense = []reading{{"have", base}}, present
		if r.matchLemma(c, has) {
			return true
		}
	}
	if g.verb > 0 { // "I am learning" as be + learning first, then as learn
		whole := g
		whole.lemmas, whole.next = []reading{{"be", base}}, g.verb
		if r.matchLemma(c, whole) {
			return true
		}
	}
	return r.matchLemma(c, g)
}

func (r *reader) matchLemma(c *clause, g group) bool {
	for _, m := range g.lemmas {
		list := r.e.forms.verbs[m.lemma]
		if g.negated && slices.ContainsFunc(list, func(f *form) bool { return f.aspect == denied && r.matchForm(c, f, g) }) {
			return true
		}
		if slices.ContainsFunc(list, func(f *form) bool { return f.aspect != denied && r.matchForm(c, f, g) }) {
			return true
		}
	}
	return false
}

func (r *reader) matchForm(c *clause, f *form, g group) bool {
	if !f.predicate.Allows(c.subject.Type) && f.predicate.Name != "project_status" {
		return false
	}
	r.want = f.predicate.Name
	slots, end, ok := r.parts(c.ts, f.after, g.next)
	if !ok {
		return false
	}
	if last := f.after[len(f.after)-1]; last.word != "" && !r.bounded(c.ts, end) {
		return false // "a dog allergy question"
	}
	c.form, c.group, c.end = f, g, end
	c.slots = append(c.slots, slots...)
	return true
}

// openerForm reads a form that does not begin with "I": "my name is", "call me".
func (r *reader) openerForm(c *clause, i int) bool {
	ts := c.ts
	keys := []string{ts[i].text}
	if i+1 < len(ts) {
		keys = []string{ts[i].text + " " + ts[i+1].text, ts[i].text}
	}
	for _, key := range keys {
		for _, f := range r.e.forms.openers[key] {
			if r.tryOpener(c, f, i) {
				return true
			}
		}
	}
	return false
}

func (r *reader) tryOpener(c *clause, f *form, i int) bool {
	before, at, ok := r.opening(c.ts, f.before, i)
	if !ok {
		return false
	}
	g := group{next: at}
	if f.lemma != "" {
		g, ok = readGroup(c.ts, at, r.e.forms.lexicon, thirdPerson)
		if !ok && f.lemma == "include" { // "my hobbies include"
			g, ok = group{lemmas: []reading{{"include", base}}, next: at + 1}, at < len(c.ts) && c.ts[at].text == "include"
		}
		if !ok || !slices.ContainsFunc(g.lemmas, func(m reading) bool { return m.lemma == f.lemma }) {
			return false
		}
	}
	if !r.matchForm(c, f, g) {
		return false
	}
	c.slots = append(before, c.slots...)
	return true
}

// opening matches the words before the verb; a slot among them takes up to
// three words, up to the next literal or the verb.
func (r *reader) opening(ts []token, parts []part, i int) ([]filled, int, bool) {
	var slots []filled
	for k, p := range parts {
		if p.word != "" {
			if i >= len(ts) || ts[i].text != p.word {
				return nil, 0, false
			}
			i++
			continue
		}
		from := i
		for i < len(ts) && i-from < 3 && !ts[i].mark && !endsOpening(ts[i].text, parts, k) {
			i++
		}
		if i == from {
			return nil, 0, false
		}
		slots = append(slots, filled{p.slot, [][2]int{{from, i}}})
	}
	return slots, i, true
}

func endsOpening(w string, parts []part, k int) bool {
	if k+1 < len(parts) && parts[k+1].word != "" {
		return w == parts[k+1].word
	}
	return w == "is" || w == "'s" || w == "are" || w == "was" || w == "were" || w == "used" || w == "will"
}

// continued reads "and work at Acme" after a clause of the same subject, or
// "and allergic to nuts" after one with be.
func (r *reader) continued(c *clause, i int, prev *clause) bool {
	ts := c.ts
	if anyIn(ts[prev.end:i], breaks) {
		return false
	}
	for i < len(ts) && (ts[i].mark && !ts[i].quoted || ts[i].text == "and" || ts[i].text == "but" || among(ts[i].text, "then & n n'")) {
		i++
	}
	if i >= len(ts) || ts[i].quoted {
		return false
	}
	c.from, c.subject = prev.from, prev.subject
	who := firstPerson
	if prev.subject != r.m.Speaks {
		who = thirdPerson
	}
	if r.verbForm(c, i, who) {
		return true
	}
	c.shared = prev.form.before[0].word == "i" && ts[i-1].text != "but" && r.sameVerb(c, i, prev)
	return c.shared
}

// sameVerb reads on with the verb of the clause before: "I'm vegan and allergic
// to nuts"; and, for known values only, "I use React and Postgres".
func (r *reader) sameVerb(c *clause, i int, prev *clause) bool {
	g := prev.group
	g.next, g.verb = i, 0
	if prev.form.lemma == "be" {
		g.negated, g.lemmas = false, []reading{{"be", base}}
		return r.matchGroup(c, g)
	}
	last := prev.form.after[len(prev.form.after)-1]
	if prev.form.lemma == "have" && r.matchGroup(c, g) { // "and a dog named Wolf"
		return slices.ContainsFunc(c.form.after, func(p part) bool { return p.word == "named" || p.word == "called" })
	}
	return listed[last.must] && r.matchGroup(c, g) && listed[c.form.after[0].must]
}

// listed are the constraints of values that are known by themselves.
var listed = set("known drug sport instrument")

// rival reports "I use Postgres in prod and SQLite in tests": two values where
// one can hold, and which of them is not said.
func (c *clause) rival(prev *clause) bool {
	return prev != nil && c.shared && c.form.predicate == prev.form.predicate && c.form.predicate.Cardinality == predicates.Single
}

// breaks are words after which a verb may belong to somebody else.
var breaks = set("who which that where he she they we you it his her their i my when while what")
