package patterns

import (
	"strconv"
	"strings"

	"github.com/meminfra/memory-layer/predicates"
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
		"school": (*reader).school, "degree": (*reader).degree, "owned": (*reader).owned, "car": (*reader).car, "make": (*reader).make,
		"new": (*reader).newThing, "long": (*reader).long, "after": (*reader).after, "starts": (*reader).starts,
		"made": (*reader).made, "thing": (*reader).thing, "topic": (*reader).topic, "job": (*reader).job,
		"known": (*reader).known, "status": (*reader).status, "drug": (*reader).drug, "instrument": (*reader).known, "city": (*reader).city, "favoured": (*reader).favoured,
		"sport": (*reader).sport, "only": (*reader).onlyName, "town": (*reader).town, "firm": (*reader).company, "pastime": (*reader).pastime, "rank": (*reader).rank, "event": (*reader).event,
	}
}

// known is the longest stretch that is a known value of the form's predicate.
func (r *reader) known(ts []token, i int) (int, bool) { return r.knownOf(ts, i, r.want) }

func (r *reader) knownOf(ts []token, i int, predicate string) (int, bool) {
	for n := min(maxValueWords, len(ts)-i); n > 0; n-- {
		if ts[i+n-1].mark || ts[i].quoted || !r.e.reg.Known(predicate, r.text(ts, i, i+n)) {
			continue
		}
		if !r.e.reg.Term(predicate, r.text(ts, i, i+n)) && loose(ts[i:i+n]) {
			return 0, false
		}
		return i + n, r.bounded(ts, i+n)
	}
	return 0, false
}

// drug is a known one with its dose: "50 mg of sertraline", "Zoloft 50 mg".
func (r *reader) drug(ts []token, i int) (int, bool) {
	_, n := dose(ts, i)
	if i+n >= len(ts) {
		return 0, false
	}
	end, ok := r.known(ts, i+n)
	if ok && n == 0 {
		if unit, m := dose(ts, end); unit {
			end += m
		}
	}
	return end, ok
}

// dose is the length of an amount at token i, 0 for none, and whether it has a unit.
func dose(ts []token, i int) (unit bool, n int) {
	var words []string
	for ; i < len(ts) && len(words) < maxValueWords && !ts[i].mark; i++ {
		words = append(words, ts[i].text)
	}
	amount, n := predicates.Dose(words)
	return strings.Contains(amount, " "), n
}

// loose reports a phrase that ends in a known head and still is no such value:
// "my own doctor", "no doctor", "a terrible driver", "on a hike".
func loose(ts []token) bool {
	if articles[ts[0].text] && len(ts) > 1 {
		ts = ts[1:]
	}
	if anyIn(ts[1:], articles) {
		return true // "hiring a Go developer"
	}
	_, err := strconv.Atoi(ts[0].text)
	return err == nil || anyIn(ts, pointers) || anyIn(ts, stopWords) || anyIn(ts, notValues) || judged(ts)
}

// status is a known value that is not "married to" or "separated from" something.
func (r *reader) status(ts []token, i int) (int, bool) {
	end, ok := r.known(ts, i)
	bare := end >= len(ts) || !among(ts[end].text, "to in from by with") || r.timeHere(ts, end) || parental(ts[end:])
	return end, ok && bare
}

// parental reports "with two kids".
func parental(ts []token) bool {
	return len(ts) > 1 && ts[0].text == "with" && anyAmong(ts[1:min(4, len(ts))], "kids children kid child sons daughters son daughter")
}

// favoured is one thing liked best. It goes on over "with" and, in a title,
// over any small word; two of them are none.
func (r *reader) favoured(ts []token, i int) (int, bool) {
	if ts[i].quoted {
		return r.title(ts, i)
	}
	if w := ts[i].text; !ts[i].capital && (len(w) > 4 && strings.HasSuffix(w, "ed") || moods[w]) {
		return 0, false // "my favourite shop is closed"
	}
	end, ok := r.open(ts, i)
	if !ok || end >= len(ts) || ts[end].mark {
		return end, ok && !(end+1 < len(ts) && ts[end].text == "," && anyAmong(ts[end:min(end+4, len(ts))], "and or"))
	}
	titled := ts[end-1].capital && end+1 < len(ts) && ts[end+1].capital && ts[end+1].text != "i"
	if among(ts[end].text, "with in at on") || titled && among(ts[end].text, "and for to &") {
		if next, ok := r.open(ts, min(end+1, len(ts)-1)); ok && next > end+1 && next-i <= maxValueWords+2 && (titled || next >= len(ts) || ts[next].mark || conjunctions[ts[next].text] && r.startsClause(ts, min(next+1, len(ts)-1))) {
			return next, true
		}
	}
	return end, !among(ts[end].text, "and or &") || r.startsClause(ts, min(end+1, len(ts)-1))
}

var judgements = set(`bad good great terrible awful horrible big huge worst best lousy poor better worse
		decent amazing excellent total slow fast lazy own former ex failed would-be wannabe recovering aspiring retired future frustrated fake amateur hobby armchair bedroom couch keyboard backseat acting
		weekend sunday closet natural`)

// judged reports praise or blame in a phrase: "a terrible driver" is no job.
func judged(ts []token) bool {
	return len(ts) > 1 && anyIn(ts, judgements)
}

// number is one or two words that the predicate reads as a number.
func (r *reader) number(ts []token, i int) (int, bool) {
	end := i
	for end < len(ts) && end-i < 2 && !ts[end].mark {
		v, _, ok := r.e.reg.Value(r.want, ts[end].text)
		if !ok || r.want == "age" && len(v) > 2 && v > "120" {
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
	if i+2 < len(ts) && (ts[i+1].text == "," || ts[i+1].text == "and") && isNumber(ts[i+2].text) {
		return 0, false // "I'm 20 and 3 lines in"
	}
	return i + 1, i+1 >= len(ts) || ts[i+1].mark && !strings.Contains("%-:/", ts[i+1].text) || among(ts[i+1].text, "and now but so today") || r.yearAfter(ts, i+1)
}

func (r *reader) yearAfter(ts []token, i int) bool {
	return among(ts[i].text, "last this yesterday next in on") && r.timeHere(ts, i)
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
		if i+n < len(ts) && isNumber(ts[i+n].text) {
			continue // the year is out of range
		}
		if ok && (strings.HasPrefix(v, "--") || len(v) == 10 && v[4] == '-' && v > "1900" && v <= r.m.SentAt.Format("2006-01-02")) {
			return i + n, true
		}
	}
	return 0, false
}

var noAllergens = set(`mornings morning monday mondays nonsense work people bullshit bs commitment
		exercise drama stupidity meetings paperwork fun idiots mornings change effort responsibility money certain things stuff
		foods food pretty few the winter small-talk kids children math maths early cardio gym deadlines emails small xml json yaml code javascript java php css excel powerpoint teams zoom jira`)

// allergen is a known one, or one or two plain words.
func (r *reader) allergen(ts []token, i int) (int, bool) {
	if end, ok := r.known(ts, i); ok {
		return end, true
	}
	end, ok := r.open(ts, i)
	return end, ok && end-i <= 3 && !anyIn(ts[i:end], noAllergens) && !moods[ts[i].text]
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
		return end, r.pursued(ts, end)
	}
	end, ok := r.open(ts, i)
	whole := end >= len(ts) || ts[end].mark || ts[end].text == "and" || ts[end].text == "too" || r.timeHere(ts, end)
	return end, ok && whole && pastimes[ts[i].text] && end-i > 1 && end-i <= 3 && !anyAmong(ts[i:end], "the a an")
}

// pursued reports that what follows a hobby leaves it one: not "fishing for
// compliments", "cooking with gas", "swimming in money".
func (r *reader) pursued(ts []token, i int) bool {
	if i >= len(ts) || r.timeHere(ts, i) {
		return true
	}
	switch ts[i].text {
	case "for":
		return i+1 < len(ts) && among(ts[i+1].text, "fun exercise relaxation fitness a hours years")
	case "to", "into", "from":
		return false
	case "in", "on":
		return i+1 < len(ts) && (articles[ts[i+1].text] || ts[i+1].text == "my" || r.timeHere(ts, i+1) || strings.HasSuffix(ts[i+1].text, "days") || strings.HasPrefix(ts[i+1].text, "weekend"))
	case "with":
		return i+1 < len(ts) && (ts[i+1].capital || among(ts[i+1].text, "my friends others people kids a the our her him them"))
	}
	return true
}

// pastime is what is called a hobby.
func (r *reader) pastime(ts []token, i int) (int, bool) {
	if end, ok := r.known(ts, i); ok {
		return end, true
	}
	return r.topic(ts, i)
}

// sport is a known hobby with a verb of its own ("I play chess").
func (r *reader) sport(ts []token, i int) (int, bool) {
	end, ok := r.known(ts, i)
	return end, ok && r.pursued(ts, end)
}

// leisure is what one likes to do: "hike", "bake bread".
func (r *reader) leisure(ts []token, i int) (int, bool) {
	end, ok := r.open(ts, i)
	return end, ok && end-i <= 2 && !anyAmong(ts[i:end], "light up off out away along around") && r.e.reg.Starts(r.want, r.text(ts, i, end))
}

// study is a field of study.
func (r *reader) study(ts []token, i int) (int, bool) {
	end, ok := r.open(ts, i)
	return end, ok && end-i <= 4 && !anyIn(ts[i:end], ironies) && !anyAmong(ts[i:end], "a the an lot hard abroad late best better alone together daily full-time part-time everything online night people") && !strings.HasSuffix(ts[i].text, "ly")
}

// school is a named school: "Oslo University", "MIT".
func (r *reader) school(ts []token, i int) (int, bool) {
	end := r.phrase(ts, i, "of")
	if end == i || end-i > 6 {
		return 0, false
	}
	name := r.text(ts, i, end)
	if end == i+1 {
		return end, acronyms[ts[i].text] && ts[i].capital
	}
	return end, strings.ToLower(name) != name && anyAmong(ts[i:end], "university college school institute academy uni polytechnic conservatory tu eth politecnico universität université universidad")
}

var degrees = set("phd ph.d ph.d. doctorate master masters master's bachelor bachelors bachelor's mba bsc msc ba ma bs md jd degree diploma bcom beng meng llb llm")

// degree is a degree with its field.
func (r *reader) degree(ts []token, i int) (int, bool) {
	end := r.phrase(ts, i, "in of 's")
	for k := i; k < end && k < i+3; k++ {
		if anyIn(ts[i:end], ironies) {
			return 0, false
		}
		if degrees[ts[k].text] && k+2 < end && ts[k+1].text == "'s" && !among(ts[k+2].text, "in degree") {
			return 0, false // "a master's thesis"
		}
		if k+1 == end && among(ts[k].text, "degree diploma") && (k == i || articles[ts[k-1].text]) {
			return 0, false // of what is not said
		}
		if degrees[ts[k].text] && (k+1 == end || among(ts[k+1].text, "in degree diploma 's") || k+2 < end && ts[k+1].text == "of" && ts[k+2].capital) {
			return end, end-i <= 7
		}
	}
	return 0, false
}

// owned is a thing with its article whose last word is known: "a red bicycle".
func (r *reader) owned(ts []token, i int) (int, bool) {
	if among(ts[i].text, "two three four five several") {
		end := r.phrase(ts, i, "")
		one, plural := strings.CutSuffix(r.text(ts, i, end), "s")
		return end, plural && end-i <= 4 && r.e.reg.Known(r.want, one)
	}
	if !among(ts[i].text, "a an another") {
		return 0, false
	}
	end, ok := r.known(ts, i)
	if ok && end+1 < len(ts) && (ts[end].text == "to" || ts[end].text == "for" && !among(ts[end+1].text, "my work") && !r.timeHere(ts, end)) {
		return 0, false // "a car to sell", "a bike for Tom"
	}
	if ok && end < len(ts) && isNumber(ts[end].text) && !r.timeHere(ts, end) {
		end++ // "an iPhone 12"
	}
	return end, ok
}

func (r *reader) car(ts []token, i int) (int, bool) {
	if !among(ts[i].text, "a an") {
		return 0, false
	}
	j := i + 1
	for j < len(ts) && among(ts[j].text, "old new used red blue black white silver grey second-hand vintage classic little") {
		j++
	}
	if j >= len(ts) || !ts[j].capital || among(ts[j].text, "uber lyft taxi bolt") {
		return 0, false
	}
	end := r.phrase(ts, j, "")
	return end, end-i <= 5
}

var vehicles = set(`toyota honda nissan mazda subaru suzuki mitsubishi lexus hyundai kia ford chevrolet chevy dodge jeep gmc buick cadillac chrysler tesla
	bmw mercedes mercedes-benz audi volkswagen vw porsche opel volvo saab skoda škoda seat renault peugeot citroën citroen dacia fiat ferrari lamborghini
	jaguar mini bentley rover vauxhall yamaha kawasaki ducati vespa harley harley-davidson triumph ktm polestar rivian byd`)

// make is a vehicle by its make and model: "Toyota Corolla".
func (r *reader) make(ts []token, i int) (int, bool) {
	end := i
	for end < len(ts) && !ts[end].mark && (ts[end].capital || isNumber(ts[end].text)) && !r.timeHere(ts, end) {
		end++
	}
	return end, end > i && end-i <= 4 && ts[i].capital && vehicles[ts[i].text] && r.bounded(ts, end)
}

func (r *reader) newThing(ts []token, i int) (int, bool) {
	end, ok := r.owned(ts, i)
	return end, ok && anyAmong(ts[i:end], "new used second-hand secondhand")
}

// long is a clause of two words or more.
func (r *reader) long(ts []token, i int) (int, bool) {
	end, ok := r.stretch(ts, i)
	return end, ok && end > i+1
}

// stretch runs to the end of the clause.
func (r *reader) stretch(ts []token, i int) (int, bool) {
	end := i
	for end < len(ts) && !ts[end].mark && !among(ts[end].text, "but because so since though although before after until when while") && (end == i || !r.timeHere(ts, end)) {
		end++
	}
	if end+1 < len(ts) && ts[end].text == "," && !conjunctions[ts[end+1].text] && !among(ts[end+1].text, "which i it we my he she they this that") {
		return 0, false // "a safe, welcoming place": cut in the middle
	}
	return end, end > i && end-i <= 12 && !notValues[ts[i].text] && !anyIn(ts[i:end], pointers)
}

// after takes the literal before it into the value: "learn the cello".
func (r *reader) after(ts []token, i int) (int, bool) {
	end, ok := r.stretch(ts, i)
	return end, ok && end-i <= 5 && !among(ts[i].text, "more about from how what why the") || ok && ts[i].text == "the" && end-i <= 3
}

func (r *reader) starts(ts []token, i int) (int, bool) {
	end, ok := r.long(ts, i)
	if i+1 < len(ts) && (ts[i].text == "visit" && !ts[i+1].capital || ts[i].text == "become" && !articles[ts[i+1].text]) {
		return 0, false // "visit the loo", "become friends"
	}
	return end, ok && end-i >= 2 && r.e.reg.Starts(r.want, r.text(ts, i, end))
}

// made is a thing under construction, with its article.
func (r *reader) made(ts []token, i int) (int, bool) {
	if !among(ts[i].text, "a an") {
		return 0, false
	}
	return r.thing(ts, i)
}

// generic heads say nothing by themselves.
var generic = set(`project projects thing things stuff task tasks job problem issue bug it one ones bit lot something idea
	solution answer reply response fix deadline cold rash headache cough fever migraine tan mess disaster failure nightmare secret joke
	success case habit fumes empty late weekend patience attitude sleep life everybody everyone myself plan wall relationship`)

// thing is what one works on or dislikes: no pronoun, no time, no clause.
func (r *reader) thing(ts []token, i int) (int, bool) {
	if r.timeHere(ts, i) && !among(ts[i].text, "a an") {
		return 0, false // "I work on Sundays"
	}
	if r.want == "dislikes" && among(ts[i].text, "straight upright tall idle") || ts[i].text == "the" && r.want == "dislikes" && !capitalised(ts, i+1) {
		return 0, false // which one is not said
	}
	if among(ts[i].text, "the site time improving getting becoming making") && !capitalised(ts, i+1) {
		return 0, false
	}
	inner, limit := "for in of with on 's", 8
	if r.want == "dislikes" {
		inner, limit = "of on in", 5
	}
	end := r.phrase(ts, i, inner)
	if r.want == "dislikes" && end < len(ts) && strings.HasSuffix(ts[end-1].text, "ing") && among(ts[end].text, "with at for to by") {
		return 0, false // "waiting for the bus" is no dislike of waiting
	}
	if end > i && among(ts[end-1].text, inner) {
		end--
	}
	if end == i || end-i > limit || generic[ts[end-1].text] || ts[end-1].text == "'s" || anyAmong(ts[i:end], "like") {
		return 0, false
	}
	if notValues[ts[i].text] || anyIn(ts[i:end], pointers) || r.want == "dislikes" && busy[ts[i].text] {
		return 0, false
	}
	goesOn := end < len(ts) && among(ts[end].text, "when that how if is are was to it i you he she they")
	return end, !goesOn
}

// topic is an interest or a skill.
func (r *reader) topic(ts []token, i int) (int, bool) {
	end, ok := r.open(ts, i)
	if !ok || anyAmong(ts[i:end], "the a an") && !ts[min(i+1, len(ts)-1)].capital {
		return 0, false
	}
	if busy[ts[i].text] || among(ts[i].text, "buying joining reading applying finding taking trying keeping hiding") {
		return 0, false
	}
	if anyIn(ts[i:end], ironies) || moods[ts[i].text] || isNumber(ts[i].text) || anyIn(ts[i:end], deals) || r.timeHere(ts, i) {
		return 0, false
	}
	if _, named := r.nameAt(ts, i); named > 0 || among(ts[i].text, "home noon night work school first mondays") {
		return 0, false
	}
	return end, end-i <= 4
}

// ironies are nothing that one is good at or has a degree in.
var ironies = set(`sleeping failing failure procrastinating procrastination disappointing losing hiding lying crying complaining
	overthinking forgetting breaking wasting trouble worrying eating nothing sarcasm bullshit laziness drinking awkwardness disaster chaos
	naps napping sleep`)

// moods are said of a hobby, a skill or an allergy and are none.
var moods = set(`bad good worse better terrible awful annoying fine crazy back gone acting killing severe mild seasonal wasted rusty limited
	many endless varied weird strange diverse growing none clear dead boring expensive dangerous useless private secret irrelevant dull active triggered broken missing sold open late full empty`)

// deals are what a customer is interested in.
var deals = set(`pricing price prices refund refunds position job role offer quote demo product products service services trial upgrade subscription
	deal discount appointment property listing ad purchase details information info feedback opinion`)

// rank is a job with a known head, or one with a rank before it.
func (r *reader) rank(ts []token, i int) (int, bool) {
	if end, ok := r.knownOf(ts, i, "job_title"); ok {
		return end, true
	}
	end := r.phrase(ts, i, "of")
	return end, end > i && end-i <= 4 && anyAmong(ts[i:end], "director lead head vp president principal supervisor chief senior staff sergeant captain lieutenant associate assistant major colonel")
}

var contests = set(`marathon half-marathon triathlon race 10k 5k ironman ultra ultramarathon competition tournament championship championships olympics
	fight match climb duathlon tour trek expedition contest half`)

// event is what one trains for.
func (r *reader) event(ts []token, i int) (int, bool) {
	end := i
	for end < len(ts) && !ts[end].mark && !stopWords[ts[end].text] && !r.timeHere(ts, end) {
		end++
	}
	return end, end > i && end-i <= 6 && anyIn(ts[i:end], contests) && !anyIn(ts[i:end], pointers)
}

// job is a job with its article, or a known one.
func (r *reader) job(ts []token, i int) (int, bool) {
	if end, ok := r.knownOf(ts, i, "job_title"); ok {
		return end, true
	}
	end := r.phrase(ts, i, "of")
	if !articles[ts[i].text] || end <= i+1 || end-i > maxValueWords+1 {
		return 0, false
	}
	title := ts[i:end]
	return end, !anyIn(title, pointers) && !judged(title) && !anyAmong(title, "team whole group result matter rule joke favor favour")
}
