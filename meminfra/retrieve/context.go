package retrieve

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// contextDepth is how many of the best fused candidates are looked at with what
// surrounds them, which brings about a hundred rows into sight. On LoCoMo's tuning
// half Hit@5 is 0.804 for 12, 0.812 for 20, 0.815 for 30 and 0.810 for 40.
const contextDepth = 20

// reach is how many admitted messages are passed over in search of a neighbour in
// the same session, when conversations run side by side.
const reach = 64

// population is what the admitted rows are. It is read only once it is taken.
type population struct {
	admitted  *index.Bitmap
	rows      []int // admitted, in order
	episodes  bool
	facts     bool
	summaries bool
	now       time.Time
	newest    time.Time         // the latest event that is not in the future
	speakers  map[string]string // speaker as written -> folded
	people    map[string]string // name that someone goes by, folded -> whole name, folded

	subjects             map[string]bool // people that items are about
	lastSpeakers, lastOf recent
}

// Bytes is what a census costs in memory, approximately.
func (p *population) Bytes() int64 {
	const name = 64
	return p.admitted.Bytes() + int64(8*cap(p.rows)+name*(len(p.speakers)+len(p.people)+len(p.subjects)))
}

// census is the census of the rows that are admitted, taken once for all searches
// that ask for the same until something is written or an admitted row's time
// comes.
func (a *admission) census(v *index.View) *population {
	key, ok := a.key()
	if !ok {
		return takeCensus(v, a.admits, a.now)
	}
	return index.Keep(v, key, a.now, func() (*population, time.Time) {
		var next time.Time
		p := takeCensus(v, func(r *index.Attr) bool {
			next = earlier(next, a.turns(r))
			return a.admits(r)
		}, a.now)
		return p, next
	})
}

// takeCensus finds the admitted rows and what they are in one pass.
func takeCensus(v *index.View, admits func(*index.Attr) bool, now time.Time) *population {
	p := &population{now: now, speakers: map[string]string{}, people: map[string]string{}, subjects: map[string]bool{}}
	p.admitted = v.Admit(func(a *index.Attr) bool {
		if !admits(a) {
			return false
		}
		p.count(a)
		return true
	})
	p.rows = slices.AppendSeq(make([]int, 0, p.admitted.Count()), p.admitted.All())
	p.name()
	return p
}

func (p *population) count(a *index.Attr) {
	if a.At.After(p.newest) && !a.At.After(p.now) {
		p.newest = a.At
	}
	switch {
	case a.Owner == index.Episode:
		p.episodes = true
		if p.lastSpeakers.isNew(a.Speaker) {
			p.speakers[a.Speaker] = ""
		}
		return
	case a.Kind == string(memory.KindSummary):
		p.summaries = true
	default:
		p.facts = true
	}
	if a.SubjectType == "person" && p.lastOf.isNew(a.SubjectName) {
		p.subjects[a.SubjectName] = true
	}
}

// recent spares most look-ups in a set of names that come in runs and by turns.
type recent struct {
	names [4]string
	next  int
}

// isNew reports whether a name was not among the last few new ones.
func (r *recent) isNew(name string) bool {
	if name == "" || slices.Contains(r.names[:], name) {
		return false
	}
	r.names[r.next] = name
	r.next = (r.next + 1) % len(r.names)
	return true
}

// name lists what people go by: their whole name, and its first word where that
// is one person's alone.
func (p *population) name() {
	whole := map[string]bool{}
	for speaker := range p.speakers {
		p.speakers[speaker] = memory.FoldName(speaker)
		whole[p.speakers[speaker]] = true
	}
	maps.Copy(whole, p.subjects)
	delete(whole, "")
	shared := map[string]bool{}
	for name := range whole {
		first, _, _ := strings.Cut(name, " ")
		if other, taken := p.people[first]; taken && other != name {
			shared[first] = true
		}
		p.people[first] = name
	}
	for first := range shared {
		delete(p.people, first)
	}
	for name := range whole {
		p.people[name] = name
	}
}

// isAbout reports whether a row is by or about the one person that the user asks
// about.
func (p *population) isAbout(k *ask, a *index.Attr, user string) bool {
	switch {
	case k.named != "":
		return p.speakers[a.Speaker] == k.named || a.SubjectName == k.named
	case !k.asker:
		return false
	case a.Owner == index.Episode:
		return a.Speaker == "" && a.Role == string(memory.RoleUser) && a.UserID == user
	}
	return isUser(a, user)
}

// The messages around one, by place.
const (
	prev2 = iota
	prev
	next
	next2
	places
)

// around is a row with the rows around it; -1 for none.
type around [places]int

var nowhere = around{-1, -1, -1, -1}

// around finds the neighbours of a message: admitted messages of its session, by
// order of writing.
func (p *population) around(v *index.View, row int) around {
	out := nowhere
	at, ok := slices.BinarySearch(p.rows, row)
	if !ok {
		return out
	}
	p.look(v, at, -1, out[prev:], out[prev2:])
	p.look(v, at, +1, out[next:], out[next2:])
	return out
}

// look walks from a place in rows and puts the messages of the same session that
// it meets into places, one after the other.
func (p *population) look(v *index.View, at, step int, places ...[]int) {
	a := v.Attr(p.rows[at])
	for passed := 0; passed < reach && len(places) > 0; {
		if at += step; at < 0 || at == len(p.rows) {
			return
		}
		b := v.Attr(p.rows[at])
		if b.Owner != index.Episode {
			continue
		}
		passed++
		if b.SessionID == a.SessionID && b.ConversationID == a.ConversationID {
			places[0][0] = p.rows[at]
			places = places[1:]
		}
	}
}

// scene is the context of one search: the candidates worth a closer look and the
// branch scores of everything around them.
type scene struct {
	*search
	view   *index.View
	pop    *population
	ask    *ask
	pool   map[int]int // row -> place in the list of candidates
	nearby map[int]around
	homes  map[int]int // row of an item -> row of its message
	heirs  map[int]int // row of a message -> row of the item that it speaks for
	rows   []int       // those of nearby, in the order in which they came
	at     map[int]int // row -> place in words, cosine and entity
	words  []float64   // scaled
	cosine []float64
	entity []float64 // scaled; nil for a query without proper names
	best   map[session]sessionBest
}

type session struct{ conversation, id string }

// sessionBest is what a session's best row scores.
type sessionBest struct{ words, cosine float64 }

// inContext gives the best fused candidates, and the messages around them, what
// their signals count. Candidates further down keep none: they are behind.
func (s *search) inContext(v *index.View, p *population, k *ask, vector []float32, list []candidate, words, vectors []index.Hit) []candidate {
	c := &scene{search: s, view: v, pop: p, ask: k, pool: map[int]int{}, homes: map[int]int{},
		nearby: map[int]around{}, heirs: map[int]int{}, at: map[int]int{}, best: map[session]sessionBest{}}
	list = c.gather(list)
	bound := c.score(vector)
	c.inherit()
	c.sessions(words, vectors, bound)
	for _, i := range c.pool {
		c.signals(&list[i])
	}
	return list
}

// gather fills the pool: the best candidates, and their neighbours, which join
// the list if no branch found them.
func (c *scene) gather(list []candidate) []candidate {
	places := make(map[int]int, len(list))
	for i := range list {
		places[list[i].row] = i
	}
	seeds := min(len(list), contextDepth)
	for i := range seeds {
		row := list[i].row
		c.pool[row] = i
		c.locate(row)
		for _, near := range c.nearby[row] {
			if near < 0 {
				continue
			}
			j, known := places[near]
			if !known {
				a := c.view.Attr(near)
				j = len(list)
				places[near] = j
				list = append(list, candidate{key: a.Key, attr: a, row: near})
			}
			c.pool[near] = j
			c.locate(near)
		}
	}
	return list
}

// locate finds what is around a row: an item stands where its message does.
func (c *scene) locate(row int) {
	if _, done := c.nearby[row]; done {
		return
	}
	c.rows = append(c.rows, row)
	home, ok := c.home(row)
	if !ok {
		c.nearby[row] = nowhere
		return
	}
	if home != row {
		c.homes[row] = home
	}
	c.nearby[row] = c.pop.around(c.view, home)
}

// home is the message that a row is or was made from, if it may be seen.
func (c *scene) home(row int) (int, bool) {
	a := c.view.Attr(row)
	if a.Owner == index.Episode {
		return row, true
	}
	source, ok := c.view.Find(index.Key{Owner: index.Episode, ID: a.Source()})
	return source, ok && c.pop.admitted.Has(source)
}

// score asks both branches for the scores of all rows in sight.
func (c *scene) score(vector []float32) (bound float64) {
	var rows []int
	see := func(row int) {
		if _, seen := c.at[row]; row >= 0 && !seen {
			c.at[row] = len(rows)
			rows = append(rows, row)
		}
	}
	for _, row := range c.rows {
		see(row)
		if home, ok := c.homes[row]; ok {
			see(home)
		}
		for _, near := range c.nearby[row] {
			see(near)
		}
	}
	c.words, bound = c.view.ScoreWords(c.query.Text, c.pop.admitted, rows)
	scale(c.words, bound)
	if c.ask.entities != "" {
		var most float64
		c.entity, most = c.view.ScoreWords(c.ask.entities, c.pop.admitted, rows)
		scale(c.entity, most)
	}
	c.cosine = make([]float64, len(rows))
	some := index.NewBitmap(0)
	for _, row := range rows {
		some.Set(row)
	}
	for _, h := range c.searchVector(c.view, vector, some, len(rows)) {
		c.cosine[c.at[h.Row]] = h.Score
	}
	return bound
}

// scale divides scores by the most that any can be.
func scale(scores []float64, bound float64) {
	if bound <= 0 {
		return
	}
	for i := range scores {
		scores[i] /= bound
	}
}

// sessions takes the best scores of each session from what the branches found.
func (c *scene) sessions(words, vectors []index.Hit, bound float64) {
	for _, h := range words {
		if where, ok := c.sessionOf(h.Row); ok {
			b := c.best[where]
			b.words = max(b.words, h.Score/bound)
			c.best[where] = b
		}
	}
	for _, h := range vectors {
		if where, ok := c.sessionOf(h.Row); ok {
			b := c.best[where]
			b.cosine = max(b.cosine, h.Score)
			c.best[where] = b
		}
	}
}

// sessionOf names the session that a row stands in.
func (c *scene) sessionOf(row int) (session, bool) {
	home, ok := c.home(row)
	if !ok {
		return session{}, false
	}
	a := c.view.Attr(home)
	return session{a.ConversationID, a.SessionID}, true
}

// signals reads a candidate's signals.
func (c *scene) signals(x *candidate) {
	near, s := c.nearby[x.row], &x.why.Signals
	s[Words], s[Cosine] = c.own(c.words, x.row), c.own(c.cosine, x.row)
	s[WordsPrev2] = c.of(c.words, near[prev2])
	s[WordsNext], s[WordsNext2] = c.of(c.words, near[next]), c.of(c.words, near[next2])
	if c.entity != nil {
		s[Entity] = c.own(c.entity, x.row)
	}
	if where, ok := c.sessionOf(x.row); ok {
		b := c.best[where]
		s[WordsSession], s[CosineSession] = b.words, b.cosine
	}
	if near[prev] >= 0 && marks(c.view.Attr(near[prev]).Marks)&markAsks != 0 {
		s[Answers], s[CosineAnswers] = c.of(c.words, near[prev]), c.of(c.cosine, near[prev])
	}
	c.text(x.attr, s)
	if home, ok := c.spokesman(x.row); ok {
		c.text(c.view.Attr(home), s)
	}
	s[Date] = c.ask.date.signal(x.attr.At)
	if !c.offRoute(x.attr) {
		s[OnRoute] = 1
	}
	if rank := x.ranks.Structured; rank > 0 {
		s[Exact] = 61 / (60 + float64(rank))
	} else if c.answersNo(x.attr) {
		s[Exact] = 1
	}
}

// text raises the signals of whose a text is and what it looks like.
func (c *scene) text(a *index.Attr, s *Signals) {
	m := marks(a.Marks)
	fits := m & c.ask.wants
	raise := func(signal Signal, holds bool) {
		if holds {
			s[signal] = 1
		}
	}
	raise(Speaker, c.pop.isAbout(c.ask, a, c.query.UserID))
	raise(TellsTime, fits&markTime != 0)
	raise(TellsNumber, fits&markNumber != 0)
	raise(TellsName, fits&markName != 0)
	raise(Tells, m&markAsks == 0)
}

// of is a row's score, 0 for no row.
func (c *scene) of(scores []float64, row int) float64 {
	if row < 0 {
		return 0
	}
	return scores[c.at[row]]
}

// inherit chooses, for each message, the one item for which it speaks: the one
// that fits best by itself. The others stand by their own words, or a message with
// many facts would fill the page.
func (c *scene) inherit() {
	for _, row := range c.rows {
		home, ok := c.homes[row]
		if !ok {
			continue
		}
		other, taken := c.heirs[home]
		if !taken || c.fit(row) > c.fit(other) || c.fit(row) == c.fit(other) && row < other {
			c.heirs[home] = row
		}
	}
}

// fit is how well a row's own text fits.
func (c *scene) fit(row int) float64 { return c.of(c.words, row) + c.of(c.cosine, row) }

// spokesman is the message that speaks for an item beside its own words; without
// one the item would stand behind its message and say again what that said.
func (c *scene) spokesman(row int) (home int, ok bool) {
	home, ok = c.homes[row]
	return home, ok && c.heirs[home] == row
}

// own is a row's score, or its message's if that is better and speaks for it.
func (c *scene) own(scores []float64, row int) float64 {
	x := c.of(scores, row)
	if home, ok := c.spokesman(row); ok {
		x = max(x, c.of(scores, home))
	}
	return x
}
