package extract

import (
	"strconv"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// ResolveTime reads a time said at sentAt by someone offset seconds east of UTC
// ("yesterday", "last week", "in March 2027", "3 May 2024", "two years ago").
// It returns the interval the words can mean, [Earliest, Latest) in UTC, and
// the words. Calendar units begin in the speaker's own offset, weeks on Monday.
// Words that leave the direction open ("in March", "on Monday") mean the last
// one. Not ok for words that name no time, or name two ("03/04/2024").
// Nothing raises the precision: a day gives a day, "last year" a whole year.
// Source: design §5; papers §4 T3; case A05.
func ResolveTime(words string, sentAt time.Time, offset int) (memory.Vague, bool) {
	return resolve(words, sentAt, offset, false)
}

// ResolveTimeAhead is ResolveTime for words about the future: "in March" and
// "on Monday" mean the next one.
func ResolveTimeAhead(words string, sentAt time.Time, offset int) (memory.Vague, bool) {
	return resolve(words, sentAt, offset, true)
}

// MaxTimeWords is the most words that one time takes.
const MaxTimeWords = 7

func resolve(words string, sentAt time.Time, offset int, ahead bool) (memory.Vague, bool) {
	w := timeWords(words)
	if len(w) == 0 || len(w) > MaxTimeWords || sentAt.IsZero() {
		return memory.Vague{}, false
	}
	now := sentAt.In(time.FixedZone("", offset))
	c := clock{now: now, today: dayOf(now), ahead: ahead}
	s, ok := c.read(w)
	if !ok || s.from.Year() < 1 || s.to.Year() > 9999 {
		return memory.Vague{}, false
	}
	return memory.Vague{Earliest: memory.Time(s.from), Latest: memory.Time(s.to), Words: strings.TrimSpace(words)}, true
}

// timeWords folds the words and drops the small ones before them.
func timeWords(s string) []string {
	s = strings.NewReplacer(",", " ", "\u2019", "'").Replace(strings.ToLower(s))
	w := strings.Fields(strings.TrimRight(strings.TrimSpace(s), ".!"))
	for len(w) > 1 {
		switch w[0] {
		case "on", "at", "around", "about", "circa", "back", "since", "during", "sometime", "the", "of":
			w = w[1:]
			continue
		case "in":
			if !startsAmount(w[1:]) {
				w = w[1:]
				continue
			}
		}
		break
	}
	return w
}

// clock reads times relative to one moment in one offset.
type clock struct {
	now, today time.Time
	ahead      bool
}

// span is a stretch of time [from, to).
type span struct{ from, to time.Time }

func (c clock) read(w []string) (span, bool) {
	for _, f := range []func([]string) (span, bool){c.nearDay, c.nearUnit, c.amount, c.date, c.part, c.decade} {
		if s, ok := f(w); ok {
			return s, true
		}
	}
	return span{}, false
}

var nearDays = map[string]int{
	"today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "earlier today": 0,
	"yesterday": -1, "last night": -1, "yesterday morning": -1, "yesterday evening": -1, "yesterday afternoon": -1,
	"tomorrow": 1, "tomorrow morning": 1, "tomorrow evening": 1,
	"day before yesterday": -2, "day after tomorrow": 2,
}

func (c clock) nearDay(w []string) (span, bool) {
	n, ok := nearDays[strings.Join(w, " ")]
	return c.days(n, 1), ok
}

func (c clock) days(from, n int) span {
	return span{c.today.AddDate(0, 0, from), c.today.AddDate(0, 0, from+n)}
}

// nearUnit reads "last week", "this month", "next Monday", "last summer".
func (c clock) nearUnit(w []string) (span, bool) {
	if len(w) != 2 {
		return span{}, false
	}
	step, ok := map[string]int{"last": -1, "previous": -1, "past": -1, "this": 0, "next": 1, "coming": 1, "following": 1}[w[0]]
	if !ok {
		return span{}, false
	}
	switch w[1] {
	case "week":
		return c.unit("week", step), true
	case "weekend":
		week := c.unit("week", step)
		return span{week.from.AddDate(0, 0, 5), week.to}, true
	case "month", "year":
		return c.unit(w[1], step), true
	}
	if d, ok := weekdays[w[1]]; ok {
		return c.weekday(d, step), true
	}
	if m, ok := months[w[1]]; ok {
		return c.nearMonth(m, step), true
	}
	if m, ok := seasons[w[1]]; ok {
		return c.nearSeason(m, step), true
	}
	return span{}, false
}

// unit is the calendar unit that lies step units from now.
func (c clock) unit(name string, step int) span {
	y, m, _ := c.today.Date()
	switch name {
	case "week":
		back := (int(c.today.Weekday()) + 6) % 7
		return c.days(-back+7*step, 7)
	case "month":
		from := time.Date(y, m+time.Month(step), 1, 0, 0, 0, 0, c.today.Location())
		return span{from, from.AddDate(0, 1, 0)}
	case "year":
		return c.year(y + step)
	}
	return c.days(step, 1)
}

func (c clock) year(y int) span {
	from := time.Date(y, 1, 1, 0, 0, 0, 0, c.today.Location())
	return span{from, from.AddDate(1, 0, 0)}
}

// weekday is the nearest such day strictly before (step -1) or after (1) today,
// or the one of this week (0).
func (c clock) weekday(d time.Weekday, step int) span {
	ahead := (int(d) - int(c.today.Weekday()) + 7) % 7
	switch {
	case step == 0:
		monday := -((int(c.today.Weekday()) + 6) % 7)
		return c.days(monday+(int(d)+6)%7, 1)
	case step < 0:
		return c.days(ahead-7, 1)
	case ahead == 0:
		return c.days(7, 1)
	}
	return c.days(ahead, 1)
}

// nearMonth is the month of that name before, in or after the present time.
func (c clock) nearMonth(m time.Month, step int) span {
	y := c.today.Year()
	switch {
	case step < 0 && m >= c.today.Month():
		y--
	case step > 0 && m <= c.today.Month():
		y++
	}
	return c.month(y, m)
}

func (c clock) month(y int, m time.Month) span {
	from := time.Date(y, m, 1, 0, 0, 0, 0, c.today.Location())
	return span{from, from.AddDate(0, 1, 0)}
}

// nearSeason takes seasons of the northern half of the earth, by whole months;
// a winter begins in December of the year before.
func (c clock) nearSeason(first time.Month, step int) span {
	s := c.season(c.today.Year(), first)
	for step < 0 && s.to.After(c.today) {
		s = c.season(s.to.Year()-1, first)
	}
	for step > 0 && !s.from.After(c.today) {
		s = c.season(s.to.Year()+1, first)
	}
	return s
}

func (c clock) season(y int, first time.Month) span {
	if first == time.December {
		y--
	}
	from := c.month(y, first).from
	return span{from, from.AddDate(0, 3, 0)}
}

// amount reads "two weeks ago", "a few months ago", "in 3 days".
func (c clock) amount(w []string) (span, bool) {
	sign := 0
	switch {
	case len(w) > 2 && (w[len(w)-1] == "ago" || w[len(w)-1] == "back" || w[len(w)-1] == "earlier"):
		sign, w = -1, w[:len(w)-1]
	case len(w) > 2 && w[0] == "in":
		sign, w = 1, w[1:]
	case len(w) > 3 && w[len(w)-2] == "from" && w[len(w)-1] == "now":
		sign, w = 1, w[:len(w)-2]
	default:
		return span{}, false
	}
	low, high, unit, ok := readAmount(w)
	if !ok {
		return span{}, false
	}
	if unit == "hour" {
		return c.days(0, 1), low <= 3
	}
	if sign < 0 {
		low, high = high, low
	}
	return span{c.unit(unit, sign*low).from, c.unit(unit, sign*high).to}, true
}

var amounts = map[string][2]int{
	"a": {1, 1}, "an": {1, 1}, "one": {1, 1}, "two": {2, 2}, "three": {3, 3}, "four": {4, 4}, "five": {5, 5},
	"six": {6, 6}, "seven": {7, 7}, "eight": {8, 8}, "nine": {9, 9}, "ten": {10, 10}, "eleven": {11, 11},
	"twelve": {12, 12}, "fifteen": {15, 15}, "twenty": {20, 20}, "thirty": {30, 30},
	"couple": {2, 3}, "few": {2, 5}, "several": {3, 8},
}

var unitNames = map[string]string{
	"hour": "hour", "hours": "hour", "day": "day", "days": "day", "week": "week", "weeks": "week",
	"month": "month", "months": "month", "year": "year", "years": "year", "yrs": "year",
}

// readAmount reads a whole "a couple of weeks"; a vague number gives two.
func readAmount(w []string) (low, high int, unit string, ok bool) {
	if len(w) > 2 && w[0] == "a" && (w[1] == "few" || w[1] == "couple") {
		w = w[1:]
	}
	if len(w) == 3 && w[1] == "of" {
		w = []string{w[0], w[2]}
	}
	if len(w) != 2 {
		return 0, 0, "", false
	}
	unit, ok = unitNames[w[1]]
	if n, err := strconv.Atoi(w[0]); err == nil {
		return n, n, unit, ok && n > 0 && n < 2000
	}
	a, known := amounts[w[0]]
	return a[0], a[1], unit, ok && known
}

func startsAmount(w []string) bool {
	for n := 2; n <= 4 && n <= len(w); n++ {
		if _, _, _, ok := readAmount(w[:n]); ok {
			return true
		}
	}
	return false
}

// Lasting reads how long something has lasted ("five years", "a few months")
// and returns the interval in which it began, counted back from sentAt.
func Lasting(words string, sentAt time.Time, offset int) (memory.Vague, bool) {
	v, ok := resolve(words+" ago", sentAt, offset, false)
	if ok {
		v.Words = strings.TrimSpace(words)
	}
	return v, ok
}

func dayOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}
