package patterns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meminfra/memory-layer/predicates"
)

// aspect says what a statement form tells about time.
type aspect byte

// The aspects, as the sign before a template.
const (
	state    aspect = ' ' // "I live in {value}": holds while the verb does
	begins   aspect = '+' // "I move to {value}": holds from then on
	ends     aspect = '-' // "I quit {value}": holds until then
	plan     aspect = '~' // "I fly to {value}": a plan until it is over
	denied   aspect = '!' // "I like {value}" negated: holds
	habit    aspect = '*' // "I play {value}": as state, but once in the past is no habit
	timeless aspect = '=' // "I am born on {value}": holds whatever the tense
)

// form is one compiled word sequence of a statement template.
type form struct {
	predicate *predicates.Predicate
	aspect    aspect
	before    []part // subject and what precedes the verb
	lemma     string // "" for a form without a verb
	after     []part
	weight    int // how specific it is
}

// part is a literal word or a slot.
type part struct {
	word string
	slot string // value, old, subject, category, _ or another predicate
	must string // the slot's constraint
}

// formIndex finds the forms that may match a clause.
type formIndex struct {
	verbs   map[string][]*form // first-person forms by lemma
	openers map[string][]*form // other forms by their first two words
	lexicon lexicon

	inflected map[string]bool // lemmas in the lexicon
}

func compile(reg *predicates.Registry) (*formIndex, error) {
	x := &formIndex{verbs: map[string][]*form{}, openers: map[string][]*form{}, lexicon: lexicon{}, inflected: map[string]bool{}}
	for _, p := range reg.All() {
		for _, template := range p.Statements {
			sign, words := aspect(' '), template
			if strings.ContainsRune("+-~!=*", rune(template[0])) {
				sign, words = aspect(template[0]), template[1:]
			}
			expanded, err := predicates.Expand(words)
			if err != nil {
				return nil, fmt.Errorf("predicate %s: %w", p.Name, err)
			}
			for _, w := range expanded {
				f := newForm(&p, sign, w)
				if err := x.add(f); err != nil {
					return nil, fmt.Errorf("predicate %s: template %q: %w", p.Name, template, err)
				}
			}
		}
	}
	x.finish()
	return x, nil
}

var beForms = set("am is are")

func newForm(p *predicates.Predicate, sign aspect, words []string) *form {
	f := &form{predicate: p, aspect: sign}
	verb := -1
	if words[0] == "i" && len(words) > 1 {
		verb = 1
	} else {
		verb = slices.IndexFunc(words, func(w string) bool { return beForms[w] || w == "runs" || w == "include" })
	}
	for i, w := range words {
		switch {
		case i == verb:
			f.lemma = w
			if beForms[w] {
				f.lemma = "be"
			} else if w == "runs" {
				f.lemma = "run"
			}
		case verb >= 0 && i > verb, verb < 0 && len(f.after) > 0, verb < 0 && strings.HasPrefix(w, "{"):
			f.after = append(f.after, newPart(w))
		default:
			f.before = append(f.before, newPart(w))
		}
	}
	f.weight = weigh(f.before) + weigh(f.after)
	return f
}

func newPart(w string) part {
	inner, ok := strings.CutPrefix(w, "{")
	if !ok {
		return part{word: w}
	}
	slot, must, _ := strings.Cut(strings.TrimSuffix(inner, "}"), ":")
	return part{slot: slot, must: must}
}

func (x *formIndex) add(f *form) error {
	if !slices.ContainsFunc(f.after, func(p part) bool { return p.slot == "value" }) {
		return fmt.Errorf("no {value} after the verb")
	}
	for _, p := range slices.Concat(f.before, f.after) {
		if p.slot != "" && !hasShape(p.must) {
			return fmt.Errorf("no slot constraint %q", p.must)
		}
	}
	if f.lemma != "" && !x.inflected[f.lemma] {
		x.inflected[f.lemma] = true
		for w, how := range inflect(f.lemma) {
			x.lexicon[w] = append(x.lexicon[w], reading{f.lemma, how})
		}
	}
	if f.before[0].word == "i" {
		x.verbs[f.lemma] = append(x.verbs[f.lemma], f)
		return nil
	}
	key := f.before[0].word
	if len(f.before) > 1 && f.before[1].word != "" {
		key += " " + f.before[1].word
	}
	x.openers[key] = append(x.openers[key], f)
	return nil
}

// finish puts the most specific forms first: more words, then more slots, then
// a constrained value before an open one, then registry order.
func (x *formIndex) finish() {
	for _, m := range []map[string][]*form{x.verbs, x.openers} {
		for _, list := range m {
			slices.SortStableFunc(list, func(a, b *form) int {
				return b.weight - a.weight
			})
		}
	}
}

func weigh(parts []part) int {
	n := 0
	for _, p := range parts {
		switch {
		case p.word != "":
			n += 10
		case p.must == "known":
			n += 3
		case p.must != "":
			n += 2
		default:
			n++
		}
	}
	return n
}

// hasShape reports whether a slot constraint exists; none is one.
func hasShape(must string) bool {
	_, ok := shapes[must]
	return ok || must == ""
}
