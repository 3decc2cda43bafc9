package patterns

// maxValueWords bounds an open value; longer ones are clauses, not values.
const maxValueWords = 5

// parts matches parts from token i on; the last slot runs to the end of its value.
func (r *reader) parts(ts []token, list []part, i int) ([]filled, int, bool) {
	var slots []filled
	for k, p := range list {
		if p.word != "" {
			for i < len(ts) && ts[i].text != p.word && between[ts[i].text] {
				i++
			}
			if i >= len(ts) || ts[i].text != p.word && !(p.word == "a" && ts[i].text == "an") || ts[i].quoted {
				return nil, 0, false
			}
			i++
			continue
		}
		until := len(ts)
		if k+1 < len(list) && list[k+1].word != "" {
			until = literalAt(ts, i, list[k+1].word)
			if until < 0 {
				return nil, 0, false
			}
		}
		values, end, ok := r.slot(ts[:until], p, i, k == len(list)-1)
		if ok && until < len(ts) && end < until && r.timePrefix(ts, end) == until-end {
			end = until
		}
		if !ok || until < len(ts) && end != until && p.slot != "_" {
			return nil, 0, false
		}
		if p.slot == "_" && until < len(ts) {
			if anyIn(ts[i:until], conjunctions) || anyAmong(ts[i:until], "named called") {
				return nil, 0, false
			}
			end = until
		}
		slots = append(slots, filled{p.slot, values})
		i = end
	}
	return slots, i, true
}

// between may stand between a verb and the next word of its form.
var between = set("back now currently also mainly mostly primarily just permanently full-time part-time remotely really very more almost again over right down here")

// literalAt is where a word stands within the next few tokens, -1 for nowhere.
func literalAt(ts []token, i int, word string) int {
	for j := i + 1; j < len(ts) && j <= i+6 && !(ts[j].mark && ts[j].text == ","); j++ {
		if ts[j].text == word {
			return j
		}
	}
	return -1
}

// slot reads one slot at token i: its values and the token after them.
func (r *reader) slot(ts []token, p part, i int, last bool) ([][2]int, int, bool) {
	i = r.valueStart(ts, p.must, i)
	if i >= len(ts) {
		return nil, 0, false
	}
	if _, other := r.e.reg.Lookup(p.slot); other && p.slot != "value" && p.slot != "subject" && p.slot != "category" {
		defer func(was string) { r.want = was }(r.want)
		r.want = p.slot
	}
	end, ok := r.one(ts, p.must, i)
	if ok && end < len(ts) && ts[end].text == "'s" && !naming[p.must] {
		return nil, 0, false // "I study Gina's notes"
	}
	if !ok || p.slot == "_" && end-i > 4 {
		return nil, 0, false
	}
	if p.must == "after" {
		i-- // the word before belongs to the value
	}
	values := [][2]int{{bareThing(ts, p.must, i, end), end}}
	if p.slot == "value" && last && lists[p.must] {
		values, end = r.more(ts, p.must, values, end)
	}
	return values, end, true
}

// bareThing is where a thing owned begins: "a new red bicycle" is a red bicycle.
func bareThing(ts []token, must string, i, end int) int {
	for (must == "owned" || must == "new") && i+1 < end && among(ts[i].text, "a an the new brand used second-hand secondhand another two three four five several") {
		i++
	}
	return i
}

// naming are the constraints of names that an 's may follow ("my wife Ann's here").
var naming = set("person apposition only proper")

// valueStart passes over what may stand before a value without being part of it.
func (r *reader) valueStart(ts []token, must string, i int) int {
	if i < len(ts) && ts[i].text == "," && (must == "person" || must == "apposition") {
		i++ // "my wife, Anna"
	}
	for i < len(ts) && ts[i].mark && among(ts[i].text, "\" ` ' * :") {
		i++
	}
	for must == "known" && i+1 < len(ts) && among(ts[i].text, "mostly mainly primarily mainly only just") {
		i++
	}
	for must == "drug" && i+1 < len(ts) && vagueDoses[ts[i].text] {
		i++
	}
	return i
}

// vagueDoses may stand before a drug and say no amount: "a low dose of aspirin".
var vagueDoses = set("of tablet tablets pill pills a daily dose low small")

// lists are the constraints under which a value may be a list.
var lists = map[string]bool{"": true, "known": true, "person": true, "allergen": true, "activity": true, "drug": true,
	"topic": true, "thing": true, "leisure": true, "sport": true, "pastime": true, "subject": true, "instrument": true, "owned": true}

// more reads ", B and C" after a first value. A comma alone makes a list only
// of values that are known, or with "and" before the last.
func (r *reader) more(ts []token, must string, values [][2]int, end int) ([][2]int, int) {
	kept, keptEnd := values, end
	for {
		i := end
		comma := i < len(ts) && ts[i].text == ","
		if comma {
			i++
		}
		joined := i < len(ts) && among(ts[i].text, "and & n")
		if joined {
			i++
		}
		for i < len(ts) && among(ts[i].text, "a some bit little of also the") && must == "known" {
			i++
		}
		if !comma && !joined || i >= len(ts) || ts[i].mark {
			return kept, keptEnd
		}
		next, ok := r.one(ts, must, i)
		if !ok || r.startsClause(ts, i) {
			return kept, keptEnd
		}
		values, end = append(values[:len(values):len(values)], [2]int{bareThing(ts, must, i, next), next}), next
		if joined || must == "known" {
			kept, keptEnd = values, end
		}
		if joined {
			return kept, keptEnd
		}
	}
}

// startsClause reports that what follows "and" is a verb or a subject, not one
// more value.
func (r *reader) startsClause(ts []token, i int) bool {
	return notValues[ts[i].text] || r.e.forms.lexicon.has(ts, i, base|past|third) && !r.anyKnown(ts, i)
}

func (r *reader) anyKnown(ts []token, i int) bool {
	return i+1 >= len(ts) || ts[i+1].mark
}

// bounded reports whether a value may end before token i.
func (r *reader) bounded(ts []token, i int) bool {
	if i < len(ts) && ts[i].text == "'" && i > 0 && ts[i].start == ts[i-1].end && i+1 < len(ts) && !ts[i+1].mark {
		return false // "Postgres' JSON" is its JSON
	}
	return i >= len(ts) || ts[i].mark || isNumber(ts[i].text) || stopWords[ts[i].text] && !owners[ts[i].text] || r.timeHere(ts, i)
}

// owners go on with the phrase before them ("running my studio").
var owners = set("my your his her their our its you is are was were 's has had we he she they it")

// phrase is the end of the words from i up to where a value ends.
func (r *reader) phrase(ts []token, i int, inner string) int {
	j := i
	for j < len(ts) && !ts[j].mark {
		if j > i && !among(ts[j].text, inner) && stopWords[ts[j].text] || j > i && r.timeHere(ts, j) {
			break
		}
		if j == i && stopWords[ts[j].text] && !ts[j].capital {
			break
		}
		j++
	}
	if j > i && articles[ts[j-1].text] {
		j--
	}
	return j
}

var articles = set("the a an")

// one reads one value under a constraint and returns its end.
func (r *reader) one(ts []token, must string, i int) (int, bool) {
	if check, ok := shapes[must]; ok {
		return check(r, ts, i)
	}
	if ts[i].quoted {
		return r.title(ts, i)
	}
	return r.open(ts, i)
}

// open is any short noun phrase that says what it means.
func (r *reader) open(ts []token, i int) (int, bool) {
	end := r.phrase(ts, i, "of")
	if end == i || end-i > maxValueWords || notValues[ts[i].text] || anyIn(ts[i:end], pointers) {
		return 0, false
	}
	return end, end >= len(ts) || !among(ts[end].text, "you him her them us me it my your his their our") // "annoying you"
}

// title is a value in quotation marks.
func (r *reader) title(ts []token, i int) (int, bool) {
	j := i
	for j < len(ts) && ts[j].quoted && !(ts[j].mark && (ts[j].text == "\"" || ts[j].text == "`")) {
		j++
	}
	return j, j > i && j-i <= 8
}

// pointers make a phrase depend on something that is not in it.
var pointers = set("this that these those my your his her our their its it you me them him us myself yourself itself")
