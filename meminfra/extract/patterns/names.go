package patterns

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// proper is a name: capitalised words, joined by small ones ("Rio de Janeiro").
// In a message without capitals it is a known place, or one uncommon word.
func (r *reader) proper(ts []token, i int) (int, bool) {
	start := i
	if ts[i].text == "the" && i+1 < len(ts) {
		i++
	}
	end := i
	if notPlaces[ts[i].text] || r.want != "name" && r.noPlace(ts[i]) {
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
	return start + 1, r.want != "travel_plan" && r.loneName(ts, start)
}

// townEnds are the ends of many names of places.
var townEnds = []string{"ville", "burg", "berg", "ton", "ham", "ford", "bury", "borough", "stad", "stadt", "heim", "dorf", "grad", "pur", "abad",
	"polis", "mouth", "chester", "holm", "field", "port", "haven", "shire", "sund", "vik", "ingen", "hausen", "brück", "minster", "stead"}

// town is a place one moves to. One also moves to teams, plans and programs, so
// that a name which is no known place must look like one.
func (r *reader) town(ts []token, i int) (int, bool) {
	end, ok := r.proper(ts, i)
	if !ok {
		return 0, false
	}
	name := r.text(ts, i, end)
	if r.e.reg.Known("location", name) || strings.ContainsAny(name, " ,") || r.lower {
		return end, true
	}
	return end, slices.ContainsFunc(townEnds, func(s string) bool { return strings.HasSuffix(strings.ToLower(name), s) })
}

// ends is bounded by the end or a mark, for words that are only guessed to be names.
func (r *reader) ends(ts []token, i int) bool {
	return i >= len(ts) || ts[i].mark || ts[i].text == "and" || ts[i].text == "with" || ts[i].text == "now" || r.timeHere(ts, i)
}

// notPlaces are written like names of places.
var notPlaces = set(`january february march april may june july august september october november december monday tuesday
	wednesday thursday friday saturday sunday christmas easter mum mom dad mother father grandma grandpa grandmother god hell`)

// noPlace reports a program, a service or a world of fiction.
func (r *reader) noPlace(t token) bool {
	if unplaces[t.text] || services[t.text] || r.e.reg.Known("employer", t.text) {
		return true
	}
	return r.tool(t)
}

// tool reports a program of the vocabularies.
func (r *reader) tool(t token) bool {
	for _, p := range []string{"editor_preference", "database_preference", "framework_preference", "operating_system"} {
		if r.e.reg.Known(p, t.text) {
			return !r.e.reg.Known("location", t.text)
		}
	}
	return false
}

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
	name := r.text(ts, end+1, next)
	if !r.e.reg.Known("location", name) && !(len(name) == 2 && name == strings.ToUpper(name)) {
		return end // "I live in Oslo, Bob"
	}
	return next
}

func (r *reader) city(ts []token, i int) (int, bool) { return r.knownOf(ts, i, "location") }

// personName is one to three capitalised words, or one uncommon word in a
// message without capitals.
func (r *reader) personName(ts []token, i int) (int, bool) {
	if services[ts[i].text] || unplaces[ts[i].text] {
		return 0, false
	}
	end := i
	for end < len(ts) && end-i < 3 && ts[end].capital && !ts[end].mark && ts[end].text != "i" && !notNames[ts[end].text] {
		end++
	}
	if end > i {
		return end, end >= len(ts) || r.bounded(ts, end)
	}
	return i + 1, r.want != "name" && r.loneName(ts, i) && !adjectives(ts[i].text)
}

// adjectives are told from names by their endings in messages without capitals.
func adjectives(w string) bool {
	for _, s := range []string{"ing", "ed", "ful", "ous", "able", "ible", "ly", "less", "ish", "ive"} {
		if strings.HasSuffix(w, s) {
			return true
		}
	}
	return among(w, "sick late great awesome here tired busy away mad sad happy angry dead old young asleep cute sweet nice funny tall pregnant upset hungry home best amazing")
}

var notNames = set(`monday tuesday wednesday thursday friday saturday sunday mr. mrs. ms. mr mrs ms dr dr. doctor captain miss sir lord lady king queen the a an ok god sparta batman superman spiderman spider-man groot gandalf sherlock dracula yoda shrek godzilla zorro tarzan
	popeye napoleon inigo ishmael spartacus elsa simba goku mario luigi pikachu halloween christmas easter thanksgiving`)

// onlyName is a name where any other word with a capital could stand ("my wife
// is Swedish"): nothing that the vocabulary knows, and nothing after it.
func (r *reader) onlyName(ts []token, i int) (int, bool) {
	end, ok := r.personName(ts, i)
	if !ok || end < len(ts) && !ts[end].mark && ts[end].text != "and" {
		return 0, false
	}
	name := r.text(ts, i, end)
	for _, p := range []string{"nationality", "spoken_language", "diet", "employer", "location", "job_title"} {
		if r.e.reg.Known(p, name) {
			return 0, false
		}
	}
	return end, !among(ts[i].text, "home team catholic christian jewish muslim buddhist hindu protestant mormon orthodox republican democrat")
}

func (r *reader) apposition(ts []token, i int) (int, bool) {
	end := i
	for end < len(ts) && end-i < 2 && ts[end].capital && !notNames[ts[end].text] && ts[end].text != "i" {
		end++
	}
	if services[ts[i].text] || unplaces[ts[i].text] {
		return 0, false
	}
	if i > 0 && ts[i-1].text == "," { // "my girlfriend, Toby and I" are three
		closed := end+1 < len(ts) && ts[end].text == "," && ts[end+1].text != "and"
		return end, end > i && closed
	}
	if end < len(ts) && (articles[ts[end].text] || among(ts[end].text, "me you him her us them it all everything nothing")) {
		return 0, false // "my dog Barks a lot"
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
	if !r.greet || end == i || !r.bounded(ts, end) || end == i+1 && adjectives(ts[i].text) {
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
	if !articles[ts[i].text] {
		return r.company(ts, i)
	}
	end := r.phrase(ts, i, "of for")
	if end <= i+1 || end-i > maxValueWords || anyIn(ts[i:end], pointers) {
		return 0, false
	}
	plain := !anyIn(ts[i+1:end], notWork) && !anyAmong(ts[i+1:end], "of for")
	return end, plain || ts[i+1].capital
}

var notWork = set("moment time minute end bottom top back front age same beginning start pace level speed rate living weekend night day party desk risk cost price same computer table disadvantage lot bit while few good best job role project")

// company is a capitalised name; in a message without capitals one uncommon word.
func (r *reader) company(ts []token, i int) (int, bool) {
	if end, ok := r.knownOf(ts, i, "employer"); ok {
		return end, true
	}
	end := i
	for end < len(ts) && (capitalised(ts, end) || r.digitName(ts[end]) || end > i && r.joinsCompany(ts, end)) {
		end++
	}
	if end > i && r.numbered(ts, end) {
		end++
	}
	if end > i {
		place := r.e.reg.Known("location", r.text(ts, i, end))
		_, person := r.nameAt(ts, i)
		counted := end < len(ts) && isNumber(ts[end].text) && !r.timeHere(ts, end) // "Level 5"
		return end, r.bounded(ts, end) && !notNames[ts[i].text] && !r.timeHere(ts, i) && !place && person == 0 && !counted && !beings[ts[i].text]
	}
	return i + 1, r.loneName(ts, i) && !adjectives(ts[i].text)
}

// digitName reports a name that begins with a digit: "3M", "7-Eleven".
func (r *reader) digitName(t token) bool {
	w := r.m.Content[t.start:t.end]
	return !t.mark && isNumber(w) && strings.ToLower(w) != w && !strings.HasSuffix(t.text, "am") && !strings.HasSuffix(t.text, "pm") && !digitWords[t.text]
}

var digitWords = set("2d 3d 4d 2g 3g 4g 5g 2fa 4k 5k 8k 10k 1st 2nd 3rd 4th")

// numbered reports a number that closes a name: "Studio 54", "Acme 2". Years,
// and what is counted or a place of many, are none.
func (r *reader) numbered(ts []token, i int) bool {
	if i >= len(ts) || len(ts[i].text) > 3 || strings.Trim(ts[i].text, "0123456789") != "" || counters[ts[i-1].text] || r.timeHere(ts, i) {
		return false
	}
	return i+1 >= len(ts) || ts[i+1].mark && among(ts[i+1].text, ", ; ) .") || among(ts[i+1].text, "as and in but now with for since from until") || r.timeHere(ts, i+1)
}

var counters = set(`level floor room building gate tier grade phase act step chapter version dock bay hall door tower unit block terminal platform line
	zone area sector district station warehouse store branch desk table page day week year season round lap stage plan task`)

var beings = set("satan santa uncle aunt jesus allah karma society humanity science lunch dinner breakfast sea peace")

// joinsCompany reports "of" in "Bank of America", "and" in "Marks and Spencer",
// but not in "Acme and Ada works".
func (r *reader) joinsCompany(ts []token, i int) bool {
	if !among(ts[i].text, "of and & for") || !capitalised(ts, i+1) {
		return false
	}
	_, n := r.nameAt(ts, i+1)
	return n == 0
}

// capitalised reports a word that is written like a name.
func capitalised(ts []token, i int) bool {
	return i < len(ts) && ts[i].capital && !ts[i].mark && ts[i].text != "i"
}

// loneName reports one uncommon word that closes its clause, in a message
// written without capitals: the most that can be taken for a name there.
func (r *reader) loneName(ts []token, i int) bool {
	w := ts[i]
	return r.lower && !w.mark && !w.quoted && utf8.RuneCountInString(w.text) > 2 && r.ends(ts, i+1) &&
		!commonWords[w.text] && !notValues[w.text] && !stopWords[w.text] && !notNames[w.text] && !r.timeHere(ts, i)
}

// joined is a company that one joins, leaves or quits, which is also said of
// services and of persons.
func (r *reader) joined(ts []token, i int) (int, bool) {
	end, ok := r.company(ts, i)
	if !ok {
		return 0, false
	}
	_, n := r.nameAt(ts, i)
	return end, n == 0 && !services[strings.ToLower(r.text(ts, i, end))] && !services[ts[i].text] && !r.tool(ts[i]) && !r.e.reg.Known("programming_language", r.text(ts, i, end)) && !anyAmong(ts[i:end], "fitness gym club prime watchers choir church league party") && r.leaves(ts, end)
}

// leaves reports that what follows a company does not make it a place one was in
// for an hour: "I left Walmart with nothing", "I left Oslo Airport at noon".
func (r *reader) leaves(ts []token, i int) bool {
	if i >= len(ts) || ts[i].mark {
		return true
	}
	return !among(ts[i].text, "with without early late at empty-handed before after hungry") && !anyAmong(ts[i:], "minutes hours hour morning noon tonight earlier customer member client user guest subscriber fan")
}

// services are joined and left by people who do not work there.
var services = set(`facebook instagram twitter x reddit discord twitch linkedin tiktok snapchat whatsapp telegram signal slack mastodon
	bluesky threads pinterest youtube tinder bumble hinge netflix spotify duolingo strava zoom skype github mom mum dad christmas
	easter church islam christianity catholicism costco walmart target ikea lidl aldi starbucks mcdonalds mcdonald's
	crossfit wordle patreon onlyfans medium quora prime team orangetheory mensa greenpeace peloton substack`)
