package patterns

import (
	"slices"
	"strings"
)

// set makes a set of the words of a text.
func set(text string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(text) {
		m[w] = true
	}
	return m
}

var abbreviations = set("mr. mrs. ms. dr. prof. st. vs. e.g. i.e. approx. inc. ltd. jr. sr. ft.")

// contractions are cut off their word, the longest first.
var contractions = []string{"n't", "'ve", "'ll", "'re", "'m", "'s", "'d"}

// wholeHeads restores what "n't" took from the word before it.
var wholeHeads = map[string]string{"can't": "can", "won't": "will", "shan't": "shall"}

// bareContractions are written without an apostrophe. The third part is the
// text of the second half as written.
var bareContractions = map[string][3]string{
	"im": {"i", "'m", "m"}, "ive": {"i", "'ve", "ve"},
	"dont": {"do", "n't", "nt"}, "doesnt": {"does", "n't", "nt"}, "didnt": {"did", "n't", "nt"},
	"isnt": {"is", "n't", "nt"}, "arent": {"are", "n't", "nt"}, "wasnt": {"was", "n't", "nt"},
	"havent": {"have", "n't", "nt"}, "hasnt": {"has", "n't", "nt"}, "wont": {"will", "n't", "nt"},
	"cant": {"can", "n't", "t"}, "wouldnt": {"would", "n't", "nt"}, "couldnt": {"could", "n't", "nt"},
}

// inflection says which forms of a verb a word can be.
type inflection uint8

const (
	base inflection = 1 << iota
	third
	past
	participle
	gerund
)

// irregular verbs: past, participle ("" for the same). Regular ones follow rule.
var irregular = map[string][2]string{
	"go": {"went", "gone"}, "have": {"had", ""}, "get": {"got", "gotten"}, "leave": {"left", ""},
	"quit": {"quit", ""}, "take": {"took", "taken"}, "buy": {"bought", ""}, "sell": {"sold", ""},
	"know": {"knew", "known"}, "speak": {"spoke", "spoken"}, "write": {"wrote", "written"},
	"drive": {"drove", "driven"}, "ride": {"rode", "ridden"}, "run": {"ran", "run"},
	"begin": {"began", "begun"}, "become": {"became", "become"}, "break": {"broke", "broken"},
	"give": {"gave", "given"}, "lose": {"lost", ""}, "keep": {"kept", ""}, "hold": {"held", ""},
	"eat": {"ate", "eaten"}, "come": {"came", "come"}, "fly": {"flew", "flown"}, "grow": {"grew", "grown"},
	"make": {"made", ""}, "build": {"built", ""}, "stick": {"stuck", ""}, "do": {"did", "done"},
	"split": {"split", ""}, "find": {"found", ""}, "stand": {"stood", ""}, "teach": {"taught", ""},
	"wear": {"wore", "worn"}, "swim": {"swam", "swum"}, "sing": {"sang", "sung"}, "choose": {"chose", "chosen"},
	"think": {"thought", ""}, "win": {"won", ""}, "bring": {"brought", ""}, "pay": {"paid", ""},
	"spend": {"spent", ""}, "meet": {"met", ""}, "lead": {"led", ""}, "feel": {"felt", ""}, "see": {"saw", "seen"},
}

var doubled = set("drop swap quit get run plan stop ship program travel enrol cancel split swim win begin")

const vowels = "aeiou"

// inflect returns every form of a verb.
func inflect(lemma string) map[string]inflection {
	switch lemma {
	case "be":
		return nil // read by the verb group itself
	case "can":
		return map[string]inflection{"can": base | third}
	}
	forms := map[string]inflection{lemma: base}
	put := func(w string, f inflection) { forms[w] |= f }
	last := lemma[len(lemma)-1:]
	stem := lemma
	if doubled[lemma] {
		stem += last
	}
	silentE := last == "e" && !strings.HasSuffix(lemma, "ee")
	put(thirdForm(lemma), third)
	if silentE {
		put(lemma[:len(lemma)-1]+"ing", gerund)
	} else {
		put(stem+"ing", gerund)
	}
	irr, isIrregular := irregular[lemma]
	switch {
	case isIrregular && irr[1] == "":
		put(irr[0], past|participle)
	case isIrregular:
		put(irr[0], past)
		put(irr[1], participle)
	case last == "e":
		put(lemma+"d", past|participle)
	case consonantY(lemma):
		put(lemma[:len(lemma)-1]+"ied", past|participle)
	default:
		put(stem+"ed", past|participle)
	}
	switch lemma {
	case "travel", "cancel": // one l in American English
		put(lemma+"ing", gerund)
		put(lemma+"ed", past|participle)
	case "get":
		put("got", participle)
	}
	return forms
}

func thirdForm(lemma string) string {
	switch {
	case lemma == "have":
		return "has"
	case consonantY(lemma):
		return lemma[:len(lemma)-1] + "ies"
	case strings.HasSuffix(lemma, "ch") || strings.HasSuffix(lemma, "sh") || strings.ContainsAny(lemma[len(lemma)-1:], "sxo"):
		return lemma + "es"
	}
	return lemma + "s"
}

func consonantY(lemma string) bool {
	n := len(lemma)
	return n > 1 && lemma[n-1] == 'y' && !strings.Contains(vowels, lemma[n-2:n-1])
}

// tense of a verb group.
type tense int

const (
	present tense = iota
	pastTense
	perfect
	future
)

// group is a read verb group: everything from the subject's auxiliary to the
// main verb.
type group struct {
	lemmas      []reading
	tense       tense
	progressive bool
	negated     bool
	ended       bool // "no longer", "stopped using"
	started     bool // "started using"
	usedTo      bool
	sincePast   bool // "previously"
	either      bool // the verb's past looks like its present: "quit"
	verb        int  // the main verb after a form of be, 0 for none
	next        int  // the token after the group
}

type reading struct {
	lemma string
	form  inflection
}

// skipped adverbs say nothing about whether or when.
var skipped = set(`now currently still also just really actually mostly mainly primarily always finally
	officially originally both already personally generally recently lately very highly severely deathly happily
	proudly obviously truly totally absolutely definitely quite pretty super predominantly exclusively usually
	permanently strictly mildly terribly extremely presently basically`)

var pastAdverbs = set("previously formerly once earlier")

// person of the subject, for agreement.
type person int

const (
	firstPerson person = iota
	thirdPerson
)

// readGroup reads the verb group that begins at token i. The lexicon maps word
// forms to readings. Not ok for modals and for anything not understood.
func readGroup(ts []token, i int, lexicon lexicon, who person) (group, bool) {
	v := verbReader{ts: ts, i: i, lexicon: lexicon, who: who, want: base | past}
	if who == thirdPerson {
		v.want = third | past
	}
	for v.i < len(ts) && !ts[v.i].mark {
		n := v.step()
		if n == 0 || v.broken {
			break
		}
		v.i += n
	}
	if v.broken {
		return group{}, false
	}
	return v.mainVerb()
}

type lexicon map[string][]reading

// has reports whether token i can be such a form of a verb of the vocabulary.
func (x lexicon) has(ts []token, i int, f inflection) bool {
	if i >= len(ts) || ts[i].mark {
		return false
	}
	return slices.ContainsFunc(x[ts[i].text], func(r reading) bool { return r.form&f != 0 })
}

// verbReader walks over the words before a main verb.
type verbReader struct {
	ts      []token
	i       int
	lexicon lexicon
	who     person
	g       group
	want    inflection // the form that the main verb must have
	be      bool       // after a form of be
	have    bool       // after a have of the perfect
	broken  bool       // the group cannot be understood
}

// step reads the words at i that belong to the group before its main verb and
// returns how many they are; 0 at the main verb.
func (v *verbReader) step() int {
	for _, f := range []func(string) int{v.adverb, v.negation, v.future, v.usedTo, v.auxiliary, v.turn} {
		if n := f(v.ts[v.i].text); n > 0 || v.broken {
			return n
		}
	}
	return 0
}

// fresh reports that no auxiliary has been read.
func (v *verbReader) fresh() bool { return !v.be && !v.have && v.want&past != 0 }

func (v *verbReader) adverb(w string) int {
	switch {
	case skipped[w]:
		v.broken = v.g.negated && weakened[w] // "I don't just use", "I don't always use"
		return 1
	case pastAdverbs[w]:
		v.g.sincePast = true
		return 1
	}
	return 0
}

func (v *verbReader) negation(w string) int {
	switch {
	case w == "no" && nextIs(v.ts, v.i, "longer"):
		v.g.ended = true
		return 2
	case w == "not" || w == "n't":
		v.broken = v.g.negated || v.fresh()
		v.g.negated = true
		return 1
	}
	return 0
}

// future reads "will" and "am going to".
func (v *verbReader) future(w string) int {
	switch {
	case (w == "will" || w == "'ll") && v.fresh():
		v.g.tense, v.want = future, base
		return 1
	case v.be && v.g.tense == present && (w == "gonna" || w == "going" && nextIs(v.ts, v.i, "to")):
		n := 2
		if w == "gonna" {
			n = 1
		}
		next := afterAdverbs(v.ts, v.i+n)
		if v.lexicon.has(v.ts, next, base) || next < len(v.ts) && v.ts[next].text == "be" {
			v.g.tense, v.want, v.be = future, base, false
			return n
		}
	}
	return 0
}

func (v *verbReader) usedTo(w string) int {
	if w != "used" || v.be || !nextIs(v.ts, v.i, "to") {
		return 0
	}
	v.g.tense, v.g.usedTo, v.want = pastTense, true, base
	return 2
}

// auxiliary reads be, have and do where they are not the main verb.
func (v *verbReader) auxiliary(w string) int {
	switch {
	case v.fresh() && startsBe(w, v.who):
		v.be, v.want = true, gerund
		if w == "was" || w == "were" {
			v.g.tense = pastTense
		}
	case v.fresh() && isHave(w, v.who) && v.participleNext():
		v.g.tense, v.have, v.want = perfect, true, participle
	case v.have && !v.be && w == "been", v.want == base && w == "be":
		v.be, v.want = true, gerund
	case v.fresh() && isDo(w, v.who) && v.lexicon.has(v.ts, afterAdverbs(v.ts, v.i+1), base):
		v.want = base
		if w == "did" {
			v.g.tense = pastTense
		}
	default:
		return 0
	}
	return 1
}

// turn reads "stopped" and "started" before a gerund: "I stopped using".
func (v *verbReader) turn(w string) int {
	if !v.lexicon.has(v.ts, v.i+1, gerund) || v.g.ended || v.g.started {
		return 0
	}
	switch {
	case stops[w]:
		v.broken = v.fresh() && w != "stopped" && w != "quit" && w != "ceased"
		v.g.ended = true
	case starts[w] && (v.have || v.want&past != 0):
		v.g.started = true
	default:
		return 0
	}
	if v.g.tense == present && !v.be {
		v.g.tense = pastTense
	}
	v.want = gerund
	return 1
}

func (v *verbReader) participleNext() bool {
	i := afterAdverbs(v.ts, v.i+1)
	return v.lexicon.has(v.ts, i, participle) ||
		i < len(v.ts) && (v.ts[i].text == "been" || stops[v.ts[i].text] || starts[v.ts[i].text])
}

// mainVerb ends the group with the verb at i, or with the be before it.
func (v *verbReader) mainVerb() (group, bool) {
	g, i := v.g, v.i
	if i < len(v.ts) && !v.ts[i].mark {
		for _, r := range v.lexicon[v.ts[i].text] {
			if r.form&v.want != 0 {
				g.lemmas = append(g.lemmas, r)
			}
		}
	}
	if len(g.lemmas) == 0 {
		g.lemmas, g.next = []reading{{"be", base}}, i
		return g, v.be
	}
	g.next = i + 1
	form := g.lemmas[0].form & v.want
	if form == past {
		g.tense = pastTense
	}
	g.either = form == base|past
	if v.want == gerund && v.be {
		g.progressive, g.verb = true, i
	}
	if g.next < len(v.ts) && (v.ts[g.next].text == "n't" || v.ts[g.next].text == "not") {
		if v.ts[i].text != "can" {
			return g, false
		}
		g.negated = true
		g.next++
	}
	return g, true
}

var (
	stops  = set("stopped quit ceased stop quitting stopping")
	starts = set("started began begun start")
)

func nextIs(ts []token, i int, w string) bool { return i+1 < len(ts) && ts[i+1].text == w }

func startsBe(w string, who person) bool {
	if who == firstPerson {
		return w == "'m" || w == "am" || w == "was"
	}
	return w == "'s" || w == "is" || w == "are" || w == "'re" || w == "was" || w == "were"
}

func isHave(w string, who person) bool {
	if who == firstPerson {
		return w == "have" || w == "'ve"
	}
	return w == "has" || w == "'s"
}

func isDo(w string, who person) bool {
	if who == firstPerson {
		return w == "do" || w == "did"
	}
	return w == "does" || w == "did"
}

// afterAdverbs is the first token from i that is no adverb or negation.
func afterAdverbs(ts []token, i int) int {
	for i < len(ts) && (skipped[ts[i].text] || ts[i].text == "not" || ts[i].text == "n't") {
		i++
	}
	return i
}
