package patterns

import (
	"slices"
	"strings"
)

var greetings = set("hi hello hey hiya howdy greetings hallo")

// leads may stand before a statement's subject without changing it.
var leads = set(`hi hello hey hiya well so yes yeah yep yup no nope oh ok okay right sure honestly actually btw fyi lol haha
	and but because since cause cuz as although though also plus anyway anyways update now today currently
	nowadays recently personally thanks sorry ah um hmm hm guys everyone all just basically officially
	finally previously formerly still then folks
	ngl unfortunately sadly luckily fortunately hooray yay wow cool great nice omg afterwards eventually anyhow`)

// leadPhrases are leads of several words.
var leadPhrases = phrases("by the way", "mostly", "mainly", "but mostly", "but mainly", "for the record", "just so you know", "so you know", "to be honest", "tbh",
	"fun fact", "good news", "big news", "turns out", "for context", "in fact", "of course", "these days", "right now",
	"at the moment", "now that", "quick note", "long story short", "as you know", "for your information", "in case it helps",
	"in case it matters", "some context", "a bit about me", "about me", "same here", "as of now", "at present", "in general",
	"at work", "at home", "for work", "at my job", "at the office", "in my spare time", "in my free time", "in my job", "on weekends", "on the weekend", "at weekends",
	"on my laptop", "on my desktop", "on my machine", "on my computer", "on my pc", "on my server", "on my phone", "for fun", "in other news",
	"on another note", "on a side note", "on the bright side", "on the plus side", "on top of that", "in addition", "at least", "for what it 's worth", "for me",
	"as for me", "as mentioned", "as i said", "as i mentioned", "like i said", "like i mentioned", "to be clear", "to be fair", "to answer your question",
	"at this point", "in short", "in my case", "as usual", "as always", "as a reminder", "remember", "remember that", "please remember", "please remember that", "note that", "please note", "please note that", "keep in mind", "keep in mind that",
	"please keep in mind that", "bear in mind", "bear in mind that", "do n't forget", "do n't forget that", "for your records", "heads up", "guess what", "believe it or not", "in the meantime", "at last", "on the other hand", "in any case",
	"by profession", "by trade", "in real life", "for now", "in response", "to start with", "in the end", "after that", "for reference")

// realm is the length of "for backend projects" before "I": where a tool is
// used. 0 for none.
func realm(ts []token, i int) int {
	if ts[i].text != "for" || i+1 >= len(ts) || articles[ts[i+1].text] {
		return 0
	}
	for n := 2; n <= 4 && i+n < len(ts); n++ {
		t := ts[i+n]
		if distant[ts[i+n-1].text] {
			return 0
		}
		if t.text == "i" || t.text == "," && nextIs(ts, i+n, "i") {
			return n
		}
		if t.mark || ownPronouns[t.text] || conjunctions[t.text] {
			return 0
		}
	}
	return 0
}

// qualifiers begin a phrase that limits what follows to a view, a part or a
// world: "On paper I live in Rome", "To my mother, I'm a doctor".
var qualifiers = set("in on as to per by under within like via among between beyond despite without at inside unlike with depending given from compared except")

// fronted reports a sentence whose statements stand under a phrase or an adverb
// that may make them untrue. Times and the lead phrases do not.
func (r *reader) fronted(ts []token) bool {
	i := r.skipLeads(ts, 0)
	if i >= len(ts) || ts[i].quoted {
		return false
	}
	w := ts[i].text
	if among(w, "should were had would could") {
		return true // "Should the deal close, I'm moving": a condition, or a question
	}
	if strings.HasSuffix(w, "ly") && len(w) > 4 && !ts[i].capital || strings.HasSuffix(w, "ly") && i+1 < len(ts) && (ts[i+1].text == "i" || ts[i+1].text == "," && nextIs(ts, i+1, "i")) {
		return !skipped[w]
	}
	return qualifiers[w]
}

// reported reports "He whispered, I live in Oslo": somebody else with a verb and
// nothing more before the comma is who says it.
func (r *reader) reported(ts []token, i int, prev *clause) bool {
	if i == 0 || ts[i-1].text != "," || prev != nil {
		return false
	}
	from := i - 1
	for from > 0 && !ts[from-1].mark {
		from--
	}
	for from < i-1 && leads[ts[from].text] {
		from++
	}
	n := i - 1 - from
	if n < 2 || n > 4 {
		return false
	}
	w := ts[from]
	if w.text == "i" {
		return false
	}
	return among(ts[i-2].text, "were was is") || among(w.text, "he she they everyone everybody people") || among(ts[i-2].text, "like all") && n > 2 ||
		w.capital && !w.first && w.text != "i" || w.capital && (ts[from+1].text == "'s" || strings.HasSuffix(ts[from+1].text, "ed")) ||
		w.text == "my" && n == 3 && strings.HasSuffix(ts[i-2].text, "ed")
}

// joint reports "my wife and I": what is said of both is not filed under one.
func (r *reader) joint(ts []token, i int) bool {
	if i == 0 || ts[i-1].text != "and" && ts[i-1].text != "&" {
		return false
	}
	from := i - 1
	for from > 0 && !ts[from-1].mark {
		from--
	}
	for from < i-1 && leads[ts[from].text] {
		from++
	}
	if n := i - 1 - from; n == 0 || n > 4 || !ts[from].capital && !among(ts[from].text, "you he she my our the both me his her") || ts[from].text == "i" {
		return false
	}
	for k := from; k < i-1; k++ {
		if auxiliaries[ts[k].text] || k > from && r.e.forms.lexicon.has(ts, k, third|past) {
			return false // a clause of its own
		}
	}
	return true
}

var auxiliaries = set("is are was were am be been has have had do does did can will 's 're 'm 've 'll n't")

// distant words put what follows in somebody else's mouth or another world.
var distant = set(`if unless whether imagine suppose supposing pretend pretending say says said saying tell tells told
	claim claims claimed think thinks thought believe believes assume assumes assuming guess wish wishes hope hopes dream dreamed
	dreamt dreams apparently supposedly allegedly hypothetically theoretically according novel story stories film character
	either wonder wondering ask asks asked write wrote writes written example instance e.g. quote quoted sentence phrase
	lyrics song poem joke joking kidding roleplay role-play would could might maybe perhaps probably possibly someday
	hear heard read reads swear sometimes rarely almost nearly never rumour rumor wishing persona sake argument otherwise
	reply reports reported complains complained states stated replied replies answered insist insists insisted argue argues feels feel felt seem seems sing sings sang hummed`)

// harmless phrases have a distant word and take nothing away.
var harmless = phrases("guess what", "believe it or not", "in case you 're wondering", "in case you wonder", "in case you were wondering", "if you 're wondering",
	"if you must know", "if it helps", "if it matters", "if that helps", "if that matters", "hope you 're", "hope you are", "hope all", "hope this", "hope that",
	"i hope you", "i hope all", "wish me luck", "like i said", "as i said", "as i told you", "sad to say", "happy to say", "glad to say", "sorry to say", "i have to say", "i must say",
	"i 'd say", "not gonna lie", "thank you for asking", "thanks for asking", "since you ask", "since you asked", "you asked", "i believe in", "reading")

// distantPhrases do what the distant words do.
var distantPhrases = phrases("as though", "as if", "you know the", "for the sake", "best case", "worst case", "in the best case", "in the worst case", "with any luck", "with luck", "god willing", "fingers crossed", "all going well", "if all goes", "in case i", "what if")

// distantAt is the first distant word of a sentence, len(ts) if there is none.
func distantAt(ts []token) int {
	for i := 0; i < len(ts); i++ {
		if n := harmless.length(ts[i:]); n > 0 {
			i += n - 1
			continue
		}
		if ts[i].text == "write" && i > 0 && ts[i-1].text == "i" && i+1 < len(ts) && !ts[i+1].mark && ts[i+1].text != "that" {
			continue // "I write Go" is no quotation
		}
		if !ts[i].mark && (distant[ts[i].text] || distantPhrases.at(ts[i:])) {
			return i
		}
	}
	return len(ts)
}

// doubtful words in or after the verb make a statement no statement.
var doubtful = set(`if unless maybe perhaps might would could probably possibly someday supposedly allegedly hypothetically
	sometimes occasionally rarely seldom apparently hypothetically theoretically literally practically virtually technically figuratively
	kinda sorta essentially lowkey metaphorically spiritually emotionally basically jokingly ironically secretly reportedly honorary hardly barely scarcely
	unofficial unofficially imaginary wannabe`)

// weakened words turn a negation into something less than one.
var weakened = set("much often yet enough very just only always every everyday exactly really usually particularly necessarily mostly mainly primarily exclusively")

// handsOutParts reports "and you're the patient" after a statement.
func handsOutParts(ts []token) bool {
	for i := 0; i+2 < len(ts); i++ {
		if ts[i].text == "you" && among(ts[i+1].text, "are 're be play") && (articles[ts[i+2].text] || among(ts[i+2].text, "my now")) {
			return true
		}
	}
	return false
}

// elsewhere reports a tail that moves the statement out of this world: "in my
// head", "in this game", "in another life".
func elsewhere(ts []token) bool {
	for i := 0; i+1 < len(ts); i++ {
		if among(ts[i].text, "another next past previous former parallel different") && among(ts[i+1].text, "life lifetime universe dimension timeline") {
			return true
		}
		for j := i + 1; among(ts[i].text, "in at of") && j < len(ts) && j <= i+3 && !ts[j].mark; j++ {
			if worlds[ts[j].text] {
				return true
			}
		}
	}
	return false
}

// retreats take a statement back to a belief, anywhere after it.
var retreats = phrases("i think", "i guess", "i suppose", "i believe", "i assume", "i hope", "i bet", "or something", "or so", "or whatever", "if i remember",
	"if i recall", "not sure", "if memory", "iirc", "afaik", "as far as i know", "you know who", "or am i", "or not", "or do i", "or did i", "i wish", "but not really", "sort of", "kind of", "in a way",
	"in a sense", "as far as", "until proven", "as in", "according to", "which is wrong", "which is a lie", "which is not true", "i have to", "i must", "not because", "forced to", "i need to", "makes me", "make me", "at gunpoint", "purposes", "on record", "in name only", "they say", "so they say", "supposedly", "allegedly", "apparently", "reportedly", "not really", "as if", "my foot", "my ass", "to hear him", "to hear her", "i reckon", "quoth",
	"do n't i", "am i not", "if you believe", "if you ask", "if you can believe", "depending on", "by proxy", "by marriage", "by association", "by night", "for halloween", "for the role", "for the part",
	"on tv", "on stage", "on screen", "on instagram", "on tinder", "on facebook", "on linkedin", "so to speak", "as it were", "more or less", "pretty much", "for all i know", "for all you know", "in spirit", "on paper")

// boastful are the predicates of "Trust me, I'm a doctor".
var boastful = set("job_title relationship_status nationality age")

// afterOrder reports such a claim after an order or an exclamation: words
// without a subject or a verb of their own.
func (r *reader) afterOrder(c *clause) bool {
	if !boastful[c.form.predicate.Name] || len(c.lead) != 2 {
		return false
	}
	head := c.ts[min(r.skipLeads(c.ts, 0), c.from):c.from]
	for k, t := range head {
		if t.text == "i" || t.text == "we" || auxiliaries[t.text] || k > 0 && r.e.forms.lexicon.has(head, k, third|past) {
			return false
		}
	}
	return len(head) > 0 && !requests[head[0].text]
}

// requests begin what one asks for before saying who one is.
var requests = set("help suggest recommend looking need any give show find plan thanks no as from since")

// passing reports a state of a day: "I'm vegan for the day", "I'm the chef tonight".
func passing(c *clause, ts []token) bool {
	for i, t := range ts {
		if t.text == "for" && i+2 < len(ts) && among(ts[i+1].text, "a the this one") &&
			among(ts[i+2].text, "day night weekend evening hour minute moment second while bit laugh change") {
			return true
		}
		if c.form.lemma == "be" && c.form.aspect == state && c.group.tense == present && among(t.text, "tonight") {
			return true
		}
	}
	return false
}

func startsWith(ts []token, words string) bool {
	for i, w := range strings.Fields(words) {
		if i >= len(ts) || ts[i].text != w {
			return false
		}
	}
	return true
}

// among reports whether w is one of the words of a list.
func among(w, list string) bool {
	for rest := list; rest != ""; {
		var word string
		if word, rest, _ = strings.Cut(rest, " "); word == w {
			return true
		}
	}
	return false
}

func anyAmong(ts []token, list string) bool {
	return slices.ContainsFunc(ts, func(t token) bool { return !t.mark && among(t.text, list) })
}

func anyIn(ts []token, words map[string]bool) bool {
	for _, t := range ts {
		if !t.mark && words[t.text] {
			return true
		}
	}
	return false
}

// asks are the words with which a question begins after a statement.
var asks = set(`what which where who whom whose when how why can could would will do does did is are am should shall may any
	have has was were might please so or and but then isn't`)

// thenAsks reports whether a question begins in ts: a mark or conjunction and
// a question word after it.
func thenAsks(ts []token) bool {
	for i := 0; i+1 < len(ts); i++ {
		if !ts[i].mark && ts[i].text != "so" && ts[i].text != "and" && ts[i].text != "but" {
			continue
		}
		j := i + 1
		for j < len(ts) && (ts[j].text == "so" || ts[j].text == "and" || ts[j].text == "but" || ts[j].text == "then") {
			j++
		}
		if j < len(ts) && asks[ts[j].text] {
			return true
		}
	}
	return false
}
