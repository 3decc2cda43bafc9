package patterns

import "strings"

// Frames: what makes all or the rest of a message something else than talk of
// the speaker's own life.

// jokes mark the whole message as not meant.
var jokes = phrases("jk", "jks", "kidding", "yeah right", "april fools", "only joking", "just joking", "in my dreams", "sarcasm", "/s",
	"two truths", "never have i ever", "would you rather", "ignore previous", "ignore all", "ignore the above", "said no one", "said nobody",
	"in your dreams", "on behalf of", "asking for a friend", "for a friend of mine", "begin quote", "end quote", "start quote", "end of quote", "unquote", "open quote", "close quote", "this is a test", "just a test", "is just a test", "lorem ipsum", "test message")

// unserious reports a message with a mark of a joke, a game or of irony.
func unserious(list []sentence) bool {
	for _, s := range list {
		if jokes.in(s.tokens) {
			return true
		}
	}
	return false
}

// textWords name a text or its treatment: who says them beside a statement
// shows the statement rather than makes it ("Is this sentence correct?").
var textWords = set(`sentence sentences grammar grammatical grammatically proofread paraphrase rephrase reword translate
	translated translation translating lyrics riddle quiz roleplay role-play roleplaying persona monologue dialogue haiku limerick tense plural adverb adjective adjectives
	noun nouns verb verbs comma punctuation pronoun sentiment entities classify preposition conjugate conjugation duolingo worksheet homework
	pronounce pronunciation spelling typo typos wording synonym antonym autocorrect transcribe`)

// textQuestions ask about the words of the message, or make a riddle of it.
var textQuestions = phrases("what am i", "who am i", "positive or", "formal or", "fact or", "real or", "true or", "does that sound", "does this sound", "how does this sound", "how does that sound", "does this read",
	"does that read", "is this letter", "is this email", "is this correct", "is that correct", "is it correct", "sound natural", "sounds natural", "which is right", "which is correct", "which one is correct",
	"what does this mean", "what does that mean", "what do you call", "what 's wrong with this", "is this right", "better way to say", "how to say", "how do i say", "how would you say", "how do you say",
	"make it sound", "make this sound", "fix this", "rewrite this", "shorten this", "cover letter", "check my english", "correct my")

// aboutText reports a message with a question or request about words.
func aboutText(list []sentence) bool {
	for _, s := range list {
		if textQuestions.in(s.tokens) && (s.question || !ofSelf(s.tokens)) {
			return true
		}
		if anyIn(s.tokens, textWords) && (s.question || !ofSelf(s.tokens)) {
			return true
		}
	}
	return false
}

// ofSelf reports a sentence that begins with the speaker.
func ofSelf(ts []token) bool {
	for len(ts) > 0 && (ts[0].mark || leads[ts[0].text]) {
		ts = ts[1:]
	}
	return len(ts) > 0 && (ts[0].text == "i" || ts[0].text == "my")
}

// scenes begin a text to be worked on, or a part to be played.
var scenes = set(`translate rewrite proofread rephrase paraphrase summarize summarise pretend imagine roleplay role-play
	suppose correct improve polish shorten reword transcribe chapter scenario prologue epilogue scene excerpt verse chorus
	hypothetically transcript persona prompt option int. ext. exterior interior lesson exercise unit drill example examples quote quiz task question`)

// written are texts that are made for somebody.
var written = set(`story poem letter email e-mail mail bio dialogue dialog song essay script cover scene blog tweet speech monologue joke sentence
	sentences paragraph msg message reply response note post caption resume cv profile review statement testimonial complaint
	introduction application conversation chat text invitation card toast vow vows diary journal entry comment announcement
	excuse apology ad advert headline slogan template example draft lyrics rap`)

// sceneOpenings begin a sentence after which "I" may be anybody.
var sceneOpenings = phrases("you are a", "you are an", "you 're a", "you 're an", "you are now", "you 're now", "you play", "you 'll play", "you be", "you will be", "you will act",
	"once upon", "picture it", "picture this", "repeat after", "act one", "act 1", "act i", "act as", "act like", "fix the", "what if", "lets say", "lets play", "lets pretend", "let 's say", "let 's imagine", "let 's pretend",
	"let 's suppose", "let 's assume", "let 's play", "say i", "from now on", "respond as", "answer as", "reply as", "speak as", "talk like", "talk as",
	"he wrote", "she wrote", "they wrote",
	"the following", "below is", "quote of", "knock knock", "true or false", "fill in", "as a character", "dear diary", "breaking news", "voiceover", "narrator")

// setsScene reports a sentence after which "I" may be anybody: "Translate this",
// "Act as a pirate", "Write a story where ...", "In the novel, ...".
func setsScene(ts []token) bool {
	if gestures(ts) {
		return true
	}
	for len(ts) > 0 && ts[0].mark {
		ts = ts[1:]
	}
	if sceneOpenings.at(ts) {
		return true
	}
	for len(ts) > 0 && (ts[0].mark || politeness[ts[0].text]) {
		ts = ts[1:]
	}
	if len(ts) == 0 {
		return false
	}
	if scenes[ts[0].text] && (len(ts) < 3 || !owners[ts[1].text]) || orders(ts) || sceneOpenings.at(ts) {
		return true
	}
	if len(ts) > 2 && ts[0].text == "in" && among(ts[1].text, "my the this a") {
		return worlds[ts[2].text]
	}
	if startsWith(ts, "here is") || startsWith(ts, "here 's") {
		return anyIn(ts[2:], written)
	}
	return makes[ts[0].text] && anyIn(ts[1:], written) || !ofSelf(ts) && received(ts)
}

// orders reports a task on a text: "Turn this into a tweet", "Parse this".
func orders(ts []token) bool {
	return len(ts) > 1 && among(ts[1].text, "this these following it") && ts[0].first && !leads[ts[0].text] && !stopWords[ts[0].text] && !asks[ts[0].text] &&
		!strings.HasSuffix(ts[0].text, "ed") && !strings.HasSuffix(ts[0].text, "ing") && !among(ts[0].text, "love hate like enjoy got see get remember about not after before got keep wish")
}

// received reports "New voicemail from Dad": what follows is Dad's.
func received(ts []token) bool {
	for i := 0; i+1 < len(ts); i++ {
		if ts[i+1].text == "from" && (written[ts[i].text] || among(ts[i].text, "voicemail dm postcard fax memo")) {
			return true
		}
	}
	return false
}

// makes ask for a text to be made or sent.
var makes = set("write draft compose generate create make prepare give send post put text craft reply respond answer add tell say")

var politeness = set("please can could you would will now ok okay hey hi kindly just i want need to me help us")

// worlds are where something is true without being true.
var worlds = set(`dream dreams novel story game book film movie play simulation scenario skit fantasy imagination universe mind head training disguise denial making class lesson lessons sitcom simulator musical opera
	sims minecraft fiction fanfic roleplay exercise example heart theory episode show series anime comic rpg metaverse`)

// gestures reports a role-play's stage direction: "*sighs* I live in Oslo".
func gestures(ts []token) bool {
	if len(ts) < 4 || ts[0].text != "*" || ts[1].mark || ts[0].end != ts[1].start {
		return false
	}
	for i := 2; i < len(ts); i++ {
		if ts[i].text == "*" && ts[i].start == ts[i-1].end && !ts[i-1].mark {
			return true
		}
	}
	return false
}

// closes reports the end of somebody else's letter or a line under a quotation:
// "Regards, Bob", "- Anonymous".
func (r *reader) closes(ts []token) bool {
	i := 0
	for i < len(ts) && !ts[i].mark {
		i++
	}
	if i+1 >= len(ts) || len(ts) > i+4 || i > 0 && !closings[strings.ToLower(r.text(ts, 0, i))] || i == 0 && ts[0].text != "-" && ts[0].text != "~" {
		return false
	}
	return isName(r.text(ts, i+1, len(ts)), r.speaks)
}

// denials take back the sentence before them.
var denials = phrases("not", "not really", "nope", "no", "wrong", "false", "nah", "as if", "i wish", "psych", "untrue", "lies", "just testing", "got you",
	"gotcha", "no i do n't", "no i 'm not", "not true", "that 's a lie", "that 's not true", "that is not true", "i lied", "lol no", "scratch that", "never mind", "wait no", "oops no")

func denies(ts []token) bool {
	words := 0
	for _, t := range ts {
		if !t.mark {
			words++
		}
	}
	return words <= 5 && denials.length(ts) >= len(ts)
}

// sarcastic reports an opening that turns a sentence round: "Oh great, I'm a
// chef now", "Sure, and I'm the king".
func sarcastic(ts []token) bool {
	if len(ts) < 3 {
		return false
	}
	switch ts[0].text {
	case "oh":
		return among(ts[1].text, "great sure wonderful fantastic perfect yes yeah joy lovely right of")
	case "yeah":
		if ts[1].mark && ts[2].text == "sure" || ts[1].text == "sure" {
			return true
		}
		fallthrough
	case "sure", "right", "yep", "yup", "ok", "okay":
		i := 1
		for i < len(ts) && ts[i].mark {
			i++
		}
		return i+1 < len(ts) && ts[i].text == "and" && ts[i+1].text == "i"
	}
	return false
}

// ownLabels stand before a colon after which the speaker goes on.
var ownLabels = set(`update edit ps p.s note fyi news context background reminder correction status tldr tl;dr question fact intro
	introduction info disclaimer summary btw also plus hi hello hey so anyway result reason answer plan truth confession announcement facts
	details today thing is story up next`)

var ownPronouns = set("i me my myself we us our mine")

// ownPart is how many tokens of a sentence the speaker says as such: what
// follows a colon is a quotation, an example or a form to be filled in, unless
// the words before it are the speaker's own ("Some facts about me:").
func (r *reader) ownPart(ts []token) int {
	for i, t := range ts {
		if i == 0 || !t.mark || t.quoted || t.text != ":" && t.text != ">" && t.text != "-" || ts[i-1].mark && ts[i-1].text != ")" && ts[i-1].text != "]" {
			continue
		}
		if t.text == "-" && i <= 3 && i+1 < len(ts) && ts[i-1].end < t.start && ts[i+1].text == "i" && allNames(ts[:i]) {
			return i // "Bob - I live in Oslo"
		}
		if t.text == "-" || ts[i-1].end != t.start || i+1 < len(ts) && ts[i+1].start == t.end {
			continue // an emoticon or a ratio
		}
		if r.ownWords(ts[:i]) || startsWith(ts, "my") && i+1 < len(ts) && strings.Contains(ts[i+1].text, "@") { // "My email: a@b.c"
			continue
		}
		return i
	}
	return len(ts)
}

func allNames(ts []token) bool {
	for _, t := range ts {
		if !t.capital || leads[t.text] || ownLabels[t.text] || ownPronouns[t.text] {
			return false
		}
	}
	return true
}

// ownWords reports words of the speaker before a colon: a label of talk, "my"
// or "I", or a verb that lost its "I" ("changed jobs:").
func (r *reader) ownWords(ts []token) bool {
	last := ts[len(ts)-1].text
	if len(ts) == 1 && ownPronouns[last] { // "Me: ..." is a chat
		return false
	}
	if makes[ts[0].text] || scenes[ts[0].text] || anyIn(ts, written) || anyAmong(ts, "he she they him her them sent says from") {
		return false
	}
	if ts[0].text != "i" && ts[0].text != "we" && (strings.HasSuffix(last, "ed") || last == "me" && !anyAmong(ts, "about for on")) {
		return false // "my boss emailed:", "repeat after me:"
	}
	return ownLabels[last] || ownLabels[ts[0].text] || anyIn(ts[:min(3, len(ts))], ownPronouns) && !anyAmong(ts[:1], "our your the this that") || startsWith(ts[max(0, len(ts)-2):], "about me") || startsWith(ts[max(0, len(ts)-2):], "my end") || len(ts) > 1 && r.e.forms.lexicon.has(ts, 0, past)
}

// phraseSet holds phrases by their first word.
type phraseSet map[string][][]string

func phrases(list ...string) phraseSet {
	m := phraseSet{}
	for _, p := range list {
		words := strings.Fields(p)
		m[words[0]] = append(m[words[0]], words)
	}
	return m
}

// length is how many tokens the longest phrase at the front of ts takes.
func (p phraseSet) length(ts []token) int {
	longest := 0
	if len(ts) == 0 {
		return 0
	}
	for _, words := range p[ts[0].text] {
		if n := spells(ts, words); n > longest {
			longest = n
		}
	}
	return longest
}

// spells is the number of tokens over which ts spells the words, marks between
// them left out; 0 if it does not.
func spells(ts []token, words []string) int {
	k := 0
	for i, t := range ts {
		switch {
		case k > 0 && t.mark:
		case t.text != words[k]:
			return 0
		default:
			if k++; k == len(words) {
				return i + 1
			}
		}
	}
	return 0
}

func (p phraseSet) at(ts []token) bool { return p.length(ts) > 0 }

func (p phraseSet) in(ts []token) bool {
	for i := range ts {
		if !ts[i].mark && p.at(ts[i:]) {
			return true
		}
	}
	return false
}
