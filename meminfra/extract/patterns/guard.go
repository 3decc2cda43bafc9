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
	finally previously formerly once still then folks
	unfortunately sadly luckily fortunately hooray yay wow cool great nice omg afterwards eventually anyhow`)

// leadPhrases are leads of several words.
var leadPhrases = []string{"by the way", "for the record", "just so you know", "so you know", "to be honest", "tbh",
	"fun fact", "good news", "big news", "turns out", "for context", "in fact", "of course", "these days", "right now",
	"at the moment", "now that", "quick note", "long story short", "as you know", "for your information", "in case it helps",
	"in case it matters", "some context", "a bit about me", "about me", "same here", "as of now", "at present"}

// distant words put what follows in somebody else's mouth or another world.
var distant = set(`if unless whether imagine suppose supposing pretend pretending say says said saying tell tells told
	claim claims claimed think thinks thought believe believes assume assumes assuming guess wish wishes hope hopes dream dreamed
	dreamt dreams apparently supposedly allegedly hypothetically theoretically according novel story stories film character
	either wonder wondering ask asks asked write wrote writes written example instance e.g. quote quoted sentence phrase
	lyrics song poem joke joking kidding roleplay role-play would could might maybe perhaps probably possibly someday
	hear heard read reads swear sometimes rarely almost nearly never rumour rumor wishing persona`)

// doubtful words in or after the verb make a statement no statement.
var doubtful = set(`if unless maybe perhaps might would could probably possibly someday supposedly allegedly hypothetically
	sometimes occasionally rarely seldom whether'`)

// weakened words turn a negation into something less than one.
var weakened = set("much often yet enough very just only always every everyday exactly really usually particularly necessarily mostly mainly primarily exclusively")

// scenes begin a text to be worked on, or a part to be played.
var scenes = set(`translate rewrite proofread rephrase paraphrase summarize summarise pretend imagine roleplay role-play
	suppose correct improve polish shorten reword transcribe`)

var written = set("story poem letter email bio dialogue dialog song essay script cover scene blog tweet speech monologue joke sentence sentences paragraph")

// setsScene reports a sentence after which "I" may be anybody: "Translate this",
// "Act as a pirate", "Write a story where ...", "In the novel, ...".
func setsScene(ts []token) bool {
	for _, opening := range []string{"you are a", "you are an", "you 're a", "you 're an", "once upon"} {
		if startsWith(ts, opening) {
			return true
		}
	}
	for len(ts) > 0 && (ts[0].mark || politeness[ts[0].text]) {
		ts = ts[1:]
	}
	if len(ts) < 3 {
		return len(ts) > 0 && scenes[ts[0].text]
	}
	w, next, third := ts[0].text, ts[1].text, ts[2].text
	switch {
	case scenes[w], w == "act" && next == "as", w == "fix" && next == "the", w == "what" && next == "if", w == "lets" && next == "say":
		return true
	case w == "let" && next == "'s":
		return among(third, "say imagine pretend suppose assume")
	case w == "in" && among(next, "my the this a"):
		return among(third, "dream dreams novel story game book film movie play simulation")
	}
	return among(w, "write draft compose generate create") && anyIn(ts, written)
}

var politeness = set("please can could you would will now ok okay hey hi kindly just i want need to me help")

// jokes mark the whole message as not meant.
var jokes = []string{"jk", "jks", "kidding", "yeah right", "april fools", "only joking", "just joking", "in my dreams", "sarcasm", "/s"}

// unserious reports a message with a mark of a joke or of irony.
func unserious(list []sentence) bool {
	for _, s := range list {
		for i := range s.tokens {
			if s.tokens[i].mark {
				continue
			}
			for _, j := range jokes {
				first, _, _ := strings.Cut(j, " ")
				if s.tokens[i].text == first && startsWith(s.tokens[i:], j) {
					return true
				}
			}
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
