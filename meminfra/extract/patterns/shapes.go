package patterns

import (
	"strings"
	"unicode/utf8"
)

// shapes are the constraints that are more than "a short phrase". Each returns
// the end of the value that begins at token i.
var shapes map[string]func(r *reader, ts []token, i int) (int, bool)

func init() {
	shapes = map[string]func(r *reader, ts []token, i int) (int, bool){
		"proper": (*reader).proper, "person": (*reader).personName, "apposition": (*reader).apposition,
		"intro": (*reader).intro, "greeting": (*reader).intro, "org": (*reader).organisation, "corp": (*reader).joined,
		"number": (*reader).number, "age": (*reader).age, "phone": (*reader).phone, "email": (*reader).email,
		"zone": (*reader).zone, "date": (*reader).date, "allergen": (*reader).allergen,
		"activity": (*reader).activity, "leisure": (*reader).leisure, "subject": (*reader).study,
		"school": (*reader).school, "degree": (*reader).degree, "owned": (*reader).owned, "car": (*reader).car,
		"new": (*reader).newThing, "long": (*reader).long, "after": (*reader).after, "starts": (*reader).starts,
		"made": (*reader).made, "thing": (*reader).thing, "topic": (*reader).topic, "job": (*reader).job,
		"known": (*reader).known, "status": (*reader).status, "drug": (*reader).known, "instrument": (*reader).known, "city": (*reader).city,
	}
}

// known is the longest stretch that is a known value of the form's predicate.
func (r *reader) known(ts []token, i int) (int, bool) { return r.knownOf(ts, i, r.want) }

func (r *reader) knownOf(ts []token, i int, predicate string) (int, bool) {
	for n := min(maxValueWords, len(ts)-i); n > 0; n-- {
		if ts[i+n-1].mark || !r.e.reg.Known(predicate, r.text(ts, i, i+n)) {
			continue
		}
		if !r.e.reg.Term(predicate, r.text(ts, i, i+n)) && loose(ts[i:i+n]) {
			return 0, false
		}
		return i + n, r.bounded(ts, i+n)
	}
	return 0, false
}

// loose reports a phrase that ends in a known head and still is no such value:
// "my own doctor", "no doctor", "a terrible driver", "on a hike".
func loose(ts []token) bool {
	if articles[ts[0].text] && len(ts) > 1 {
		ts = ts[1:]
	}
	return anyIn(ts, pointers) || anyIn(ts, stopWords) || anyIn(ts, notValues) || judged(ts)
}

// status is a known value that is not "married to" or "separated from" something.
func (r *reader) status(ts []token, i int) (int, bool) {
	end, ok := r.known(ts, i)
	return end, ok && (end >= len(ts) || !set("to in from by with")[ts[end].text])
}

// judged reports praise or blame in a phrase: "a terrible driver" is no job.
func judged(ts []token) bool {
	return len(ts) > 1 && anyIn(ts, set(`bad good great terrible awful horrible big huge worst best lousy poor better worse
		decent amazing excellent total slow fast lazy own former ex failed would-be wannabe aspiring retired future frustrated fake`))
}

// proper is a name: capitalised words, joined by small ones ("Rio de Janeiro").
// In a message without capitals it is a known place, or one uncommon word.
func (r *reader) proper(ts []token, i int) (int, bool) {
	start := i
	if ts[i].text == "the" && i+1 < len(ts) {
		i++
	}
	end := i
	if notPlaces[ts[i].text] {
		return 0, false
	}
	for end < len(ts) && !ts[end].mark && !ts[end].quoted {
		if ts[end].capital && ts[end].text != "i" {
			end++
			continue
		}
		if end > i && joiners[ts[end].text] && end+1 < len(ts) && ts[end+1].capital {
			end++
			continue
		}
		break
	}
	if end > i {
		counted := end < len(ts) && isNumber(ts[end].text) && !r.timeHere(ts, end) // "Act 2"
		return r.region(ts, end), r.bounded(ts, end) && !counted && !r.timeHere(ts, i)
	}
	if n, ok := r.knownOf(ts, start, "location"); ok {
		return n, true
	}
	w := ts[start]
	if !r.lower || r.want == "travel_plan" || w.mark || w.quoted || commonWords[w.text] || notValues[w.text] || stopWords[w.text] || r.timeHere(ts, start) {
		return 0, false
	}
	return start + 1, utf8.RuneCountInString(w.text) > 2 && r.ends(ts, start+1)
}

// ends is bounded by the end or a mark, for words that are only guessed to be names.
func (r *reader) ends(ts []token, i int) bool {
	return i >= len(ts) || ts[i].mark || ts[i].text == "and" || ts[i].text == "with" || ts[i].text == "now" || r.timeHere(ts, i)
}

// notPlaces are written like names of places.
var notPlaces = set(`january february march april may june july august september october november december monday tuesday
	wednesday thursday friday saturday sunday christmas easter mum mom dad mother father grandma grandpa grandmother god hell`)

var joiners = set("de del da do dos la le les el of the upon am an der den van von di du sur y and-")

// region takes ", Oregon" to "Portland".
func (r *reader) region(ts []token, end int) int {
	if r.want != "location" || end+1 >= len(ts) || ts[end].text != "," || !ts[end+1].capital || ts[end+1].text == "i" {
		return end
	}
	next := end + 1
	for next < len(ts) && ts[next].capital && !ts[next].mark {
		next++
	}
	if next < len(ts) && !ts[next].mark && !stopWords[ts[next].text] && !r.timeHere(ts, next) {
		return end
	}
	if _, named := r.names[strings.ToLower(r.text(ts, end+1, next))]; named {
		return end
	}
	return next
}

func (r *reader) city(ts []token, i int) (int, bool) { return r.knownOf(ts, i, "location") }

// personName is one to three capitalised words, or one uncommon word in a
// message without capitals.
func (r *reader) personName(ts []token, i int) (int, bool) {
	end := i
	for end < len(ts) && end-i < 3 && ts[end].capital && !ts[end].mark && ts[end].text != "i" && !notNames[ts[end].text] {
		end++
	}
	if end > i {
		return end, end >= len(ts) || r.bounded(ts, end)
	}
	w := ts[i]
	if !r.lower || w.mark || commonWords[w.text] || notValues[w.text] || stopWords[w.text] || notNames[w.text] || r.timeHere(ts, i) {
		return 0, false
	}
	return i + 1, r.want != "name" && r.ends(ts, i+1) && utf8.RuneCountInString(w.text) > 2 && !adjectives(w.text)
}

// adjectives are told from names by their endings in messages without capitals.
func adjectives(w string) bool {
	for _, s := range []string{"ing", "ed", "ful", "ous", "able", "ible", "ly", "less", "ish", "ive"} {
		if strings.HasSuffix(w, s) {
			return true
		}
	}
	return set("sick late great awesome here tired busy away mad sad happy angry dead old young asleep cute sweet nice funny tall pregnant upset hungry home best amazing")[w]
}

var notNames = set("monday tuesday wednesday thursday friday saturday sunday mr. mrs. ms. dr. doctor the a an ok god sparta")

func (r *reader) apposition(ts []token, i int) (int, bool) {
	end := i
	for end < len(ts) && end-i < 2 && ts[end].capital && !notNames[ts[end].text] && ts[end].text != "i" {
		end++
	}
	if i > 0 && ts[i-1].text == "," { // "my girlfriend, Toby and I" are three
		closed := end+1 < len(ts) && ts[end].text == "," && ts[end+1].text != "and"
		return end, end > i && closed
	}
	return end, end > i
}

// intro is the name in "Hi, I'm Ada": only after a greeting, and nothing known
// to the vocabulary ("Hi, I'm Norwegian").
func (r *reader) intro(ts []token, i int) (int, bool) {
	end := i
	for end < len(ts) && end-i < 3 && ts[end].capital && !notNames[ts[end].text] {
		end++
	}
	if !r.greet || end == i || !r.bounded(ts, end) {
		return 0, false
	}
	for _, p := range []string{"nationality", "job_title", "diet", "relationship_status", "location"} {
		if r.e.reg.Known(p, r.text(ts, i, end)) {
			return 0, false
		}
	}
	return end, true
}

// organisation is a company by name, or a place of work with its article.
func (r *reader) organisation(ts []token, i int) (int, bool) {
	end := r.phrase(ts, i, set("of for"))
	if article := set("the a an")[ts[i].text]; article && end > i+1 && end-i <= maxValueWords {
		return end, !anyIn(ts[i:end], pointers) && !anyIn(ts[i+1:end], notWork) && !anyIn(ts[i+1:end], set("of for")) || strings.ContainsAny(r.text(ts, i+1, i+2), "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	}
	return r.company(ts, i)
}

var notWork = set("moment time minute end bottom top back front age same beginning start pace level speed rate living weekend night day party desk risk cost price same computer table disadvantage lot bit while few good best job role project")

// company is a capitalised name; in a message without capitals one uncommon word.
func (r *reader) company(ts []token, i int) (int, bool) {
	if end, ok := r.knownOf(ts, i, "employer"); ok {
		return end, true
	}
	end := i
	for end < len(ts) && !ts[end].mark && (ts[end].capital && ts[end].text != "i" || end > i && set("of and & for")[ts[end].text] && end+1 < len(ts) && ts[end+1].capital && ts[end+1].text != "i" && !r.startsName(ts, end+1)) {
		end++
	}
	name := r.text(ts, i, end)
	if end > i {
		return end, r.bounded(ts, end) && !notNames[ts[i].text] && !r.timeHere(ts, i) && !r.e.reg.Known("location", name)
	}
	w := ts[i]
	if !r.lower || w.mark || commonWords[w.text] || notValues[w.text] || stopWords[w.text] || r.timeHere(ts, i) || adjectives(w.text) {
		return 0, false
	}
	return i + 1, r.ends(ts, i+1) && utf8.RuneCountInString(w.text) > 2
}

// joined is a company that one joins, leaves or quits, which is also said of
// services and of persons.
func (r *reader) joined(ts []token, i int) (int, bool) {
	end, ok := r.company(ts, i)
	if !ok {
		return 0, false
	}
	_, n := r.nameAt(ts, i)
	return end, n == 0 && !services[strings.ToLower(r.text(ts, i, end))]
}

// startsName keeps "Acme and Ada works" apart from "Marks and Spencer".
func (r *reader) startsName(ts []token, i int) bool {
	_, n := r.nameAt(ts, i)
	return n > 0
}

// services are joined and left by people who do not work there.
var services = set(`facebook instagram twitter x reddit discord twitch linkedin tiktok snapchat whatsapp telegram signal slack mastodon
	bluesky threads pinterest youtube tinder bumble hinge netflix spotify duolingo strava zoom skype github mom mum dad christmas
	easter church islam christianity catholicism`)

// digits is a run of tokens that r's predicate accepts as a whole.
func (r *reader) number(ts []token, i int) (int, bool) {
	end := i
	for end < len(ts) && end-i < 2 && !ts[end].mark {
		if _, _, ok := r.e.reg.Value(r.want, ts[end].text); !ok {
			break
		}
		end++
	}
	return end, end > i
}

// age is a bare number that can be one, with nothing counted after it.
func (r *reader) age(ts []token, i int) (int, bool) {
	w := ts[i].text
	if len(w) != 2 || w < "13" || w > "99" || !isNumber(w[1:]) {
		return 0, false
	}
	return i + 1, i+1 >= len(ts) || ts[i+1].mark && !strings.Contains("%-:/", ts[i+1].text) || set("and now but so today")[ts[i+1].text] || r.yearAfter(ts, i+1)
}

func (r *reader) yearAfter(ts []token, i int) bool {
	return set("last this yesterday")[ts[i].text] && r.timeHere(ts, i)
}

func (r *reader) phone(ts []token, i int) (int, bool) {
	for n := min(9, len(ts)-i); n > 0; n-- {
		if v, _, ok := r.e.reg.Value(r.want, r.text(ts, i, i+n)); ok && len(v) >= 7 && !ts[i+n-1].mark {
			return i + n, true
		}
	}
	return 0, false
}

func (r *reader) email(ts []token, i int) (int, bool) {
	_, _, ok := r.e.reg.Value(r.want, ts[i].text)
	return i + 1, ok && strings.Contains(ts[i].text, "@")
}

func (r *reader) zone(ts []token, i int) (int, bool) {
	if end, ok := r.known(ts, i); ok {
		return end, true
	}
	w := ts[i].text
	v, _, ok := r.e.reg.Value(r.want, w)
	return i + 1, ok && (strings.HasPrefix(v, "UTC") || strings.Contains(w, "/") && ts[i].capital)
}

// date is the longest stretch that is a calendar date.
func (r *reader) date(ts []token, i int) (int, bool) {
	for n := min(6, len(ts)-i); n > 0; n-- {
		v, _, ok := r.e.reg.Value(r.want, r.text(ts, i, i+n))
		if ok && (strings.HasPrefix(v, "--") || len(v) == 10 && v[4] == '-' && isNumber(v)) {
			return i + n, true
		}
	}
	return 0, false
}

// allergen is a known one, or one or two plain words.
func (r *reader) allergen(ts []token, i int) (int, bool) {
	if end, ok := r.known(ts, i); ok {
		return end, true
	}
	end, ok := r.open(ts, i)
	return end, ok && end-i <= 3 && !anyIn(ts[i:end], set(`mornings morning monday mondays nonsense work people bullshit bs commitment
		exercise drama stupidity meetings paperwork fun idiots mornings change effort responsibility money certain things stuff
		foods food pretty few the winter small-talk kids children math maths early cardio gym deadlines emails small`))
}

var busy = set(`being having doing going seeing knowing thinking getting making working looking living using hearing feeling everything
	something nothing anything king morning evening ring thing spring string wing sing bring talking meeting helping trying asking
	coming saying telling chatting waking wedding building during clothing planning learning hearing sharing starting`)

// pastimes are what a hobby outside the vocabulary may begin with.
var pastimes = set(`playing collecting watching reading writing riding restoring flying baking painting brewing growing
	practising practicing dancing building drawing singing racing breeding foraging carving repairing fixing tinkering exploring`)

// activity is a known hobby, or something done: "building model ships".
func (r *reader) activity(ts []token, i int) (int, bool) {
	if end, ok := r.known(ts, i); ok {
		return end, end >= len(ts) || ts[end].text != "for" // "fishing for compliments"
	}
	end, ok := r.open(ts, i)
	whole := end >= len(ts) || ts[end].mark || ts[end].text == "and" || ts[end].text == "too" || r.timeHere(ts, end)
	return end, ok && whole && pastimes[ts[i].text] && end-i > 1 && end-i <= 3 && !anyIn(ts[i:end], set("the a an"))
}

// leisure is what one likes to do: "hike", "bake bread".
func (r *reader) leisure(ts []token, i int) (int, bool) {
	end, ok := r.open(ts, i)
	return end, ok && end-i <= 2 && r.e.reg.Starts(r.want, r.text(ts, i, end))
}

// study is a field of study.
func (r *reader) study(ts []token, i int) (int, bool) {
	end, ok := r.open(ts, i)
	return end, ok && end-i <= 4 && !anyIn(ts[i:end], set("a the an lot hard abroad late best better alone together daily full-time part-time everything online night people")) && !strings.HasSuffix(ts[i].text, "ly")
}

// school is a named school: "Oslo University", "MIT".
func (r *reader) school(ts []token, i int) (int, bool) {
	end := r.phrase(ts, i, set("of"))
	word := anyIn(ts[i:end], set("university college school institute academy uni polytechnic conservatory"))
	capital := false
	for _, t := range ts[i:end] {
		capital = capital || t.capital
	}
	return end, end > i && end-i <= 6 && capital && (word || end == i+1 && ts[i].text == strings.ToLower(r.text(ts, i, end)) && strings.ToUpper(r.text(ts, i, end)) == r.text(ts, i, end) && len(ts[i].text) >= 3)
}

var degrees = set("phd ph.d ph.d. doctorate master masters master's bachelor bachelors bachelor's mba bsc msc ba ma bs md jd degree diploma bcom beng meng llb llm")

// degree is a degree with its field.
func (r *reader) degree(ts []token, i int) (int, bool) {
	end := r.phrase(ts, i, set("in of 's"))
	for k := i; k < end && k < i+3; k++ {
		if degrees[ts[k].text] && (k+1 == end || set("in degree diploma 's")[ts[k+1].text] || k+2 < end && ts[k+1].text == "of" && ts[k+2].capital) {
			return end, end-i <= 7
		}
	}
	return 0, false
}

// owned is a thing with its article whose last word is known: "a red bicycle".
func (r *reader) owned(ts []token, i int) (int, bool) {
	if !set("a an the two three another")[ts[i].text] {
		return 0, false
	}
	return r.known(ts, i+0)
}

func (r *reader) car(ts []token, i int) (int, bool) {
	if !set("a an")[ts[i].text] || i+1 >= len(ts) || !ts[i+1].capital {
		return 0, false
	}
	end := r.phrase(ts, i+1, nil)
	return end, end-i <= 5
}

func (r *reader) newThing(ts []token, i int) (int, bool) {
	end, ok := r.owned(ts, i)
	return end, ok && anyIn(ts[i:end], set("new used second-hand secondhand"))
}

// long runs to the end of the clause.
func (r *reader) long(ts []token, i int) (int, bool) {
	end := i
	for end < len(ts) && !ts[end].mark && !set("but because so since though although")[ts[end].text] && (end == i || !r.timeHere(ts, end)) {
		end++
	}
	if end+1 < len(ts) && ts[end].text == "," && !conjunctions[ts[end+1].text] && ts[end+1].text != "which" {
		return 0, false // "a safe, welcoming place": cut in the middle
	}
	return end, end > i && end-i <= 12 && !notValues[ts[i].text] && !anyIn(ts[i:end], pointers)
}

// after takes the literal before it into the value: "learn the cello".
func (r *reader) after(ts []token, i int) (int, bool) {
	end, ok := r.long(ts, i)
	return end, ok && end-i <= 5 && !set("more about from how what why the")[ts[i].text] || ok && ts[i].text == "the" && end-i <= 3
}

func (r *reader) starts(ts []token, i int) (int, bool) {
	end, ok := r.long(ts, i)
	return end, ok && end-i >= 2 && r.e.reg.Starts(r.want, r.text(ts, i, end))
}

// made is a thing under construction, with its article.
func (r *reader) made(ts []token, i int) (int, bool) {
	if !set("a an")[ts[i].text] {
		return 0, false
	}
	return r.thing(ts, i)
}

// generic heads say nothing by themselves.
var generic = set("project projects thing things stuff task tasks job problem issue bug it one ones bit lot something idea")

// thing is what one works on or dislikes: no pronoun, no time, no clause.
func (r *reader) thing(ts []token, i int) (int, bool) {
	if r.timeHere(ts, i) && !set("a an")[ts[i].text] || set("the site time improving getting becoming making")[ts[i].text] && !(r.want == "works_on" && i+1 < len(ts) && ts[i+1].capital) {
		return 0, false
	}
	inner := innerStops["thing"]
	if r.want == "dislikes" {
		inner = set("of")
	}
	end := r.phrase(ts, i, inner)
	if end > i && inner[ts[end-1].text] {
		end--
	}
	limit := 8
	if r.want == "dislikes" {
		limit = 4
	}
	if end > i && (generic[ts[end-1].text] || ts[end-1].text == "'s") {
		return 0, false
	}
	if end == i || end-i > limit || notValues[ts[i].text] || anyIn(ts[i:end], pointers) {
		return 0, false
	}
	return end, end >= len(ts) || ts[end].mark || !set("when that how if is are was to it i you he she they")[ts[end].text]
}

// topic is an interest or a skill.
func (r *reader) topic(ts []token, i int) (int, bool) {
	end, ok := r.open(ts, i)
	if !ok || anyIn(ts[i:end], set("the a an")) && !ts[min(i+1, len(ts)-1)].capital {
		return 0, false
	}
	if busy[ts[i].text] || set("buying joining reading applying finding taking trying keeping hiding")[ts[i].text] {
		return 0, false
	}
	return end, end-i <= 4
}

// job is a job with its article, or a known one.
func (r *reader) job(ts []token, i int) (int, bool) {
	if end, ok := r.knownOf(ts, i, "job_title"); ok {
		return end, true
	}
	end := r.phrase(ts, i, set("of"))
	return end, set("a an the")[ts[i].text] && end > i+1 && end-i <= maxValueWords+1 && !anyIn(ts[i:end], pointers) && !anyIn(ts[i:end], set("team whole group result matter rule joke favor favour")) && !judged(ts[i:end])
}
