package extract

import (
	"strconv"
	"strings"
	"time"
)

var weekdays = map[string]time.Weekday{
	"monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6, "sunday": 0,
	"mon": 1, "tue": 2, "tues": 2, "wed": 3, "thu": 4, "thurs": 4, "fri": 5, "sat": 6, "sun": 0,
}

var months = map[string]time.Month{
	"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8,
	"september": 9, "october": 10, "november": 11, "december": 12,
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10, "nov": 11, "dec": 12,
}

// seasons by their first month.
var seasons = map[string]time.Month{"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

// date reads calendar dates: a year, a month, a day, a season, a weekday.
func (c clock) date(w []string) (span, bool) {
	if len(w) == 1 {
		return c.oneWord(w[0])
	}
	w = without(w, "of", "the")
	var y, d int
	var m, season time.Month
	for _, s := range w {
		month, isMonth := months[s]
		first, isSeason := seasons[s]
		day, isDay := dayNumber(s)
		year, isYear := yearNumber(s)
		_, isWeekday := weekdays[s]
		switch {
		case isMonth && m == 0:
			m = month
		case isSeason && season == 0:
			season = first
		case isDay && d == 0:
			d = day
		case isYear && y == 0:
			y = year
		case isWeekday && s == w[0]: // "Monday 3 May": the date decides
		default:
			return span{}, false
		}
	}
	switch {
	case season != 0 && y != 0 && m == 0 && d == 0:
		return c.season(y+boolYear(season), season), true
	case m == 0 || season != 0:
		return span{}, false
	case d == 0 && y != 0:
		return c.month(y, m), true
	case d != 0 && y != 0:
		return c.day(y, m, d)
	case d != 0:
		return c.yearlessDay(m, d)
	}
	return span{}, false
}

// boolYear puts "winter 2019" where it begins, in December 2019.
func boolYear(first time.Month) int {
	if first == time.December {
		return 1
	}
	return 0
}

// oneWord reads "2019", "March", "Monday", "2024-05-03", "2024-05", "25/12/2024".
func (c clock) oneWord(s string) (span, bool) {
	step := -1
	if c.ahead {
		step = 1
	}
	if y, ok := yearNumber(s); ok {
		return c.year(y), true
	}
	if m, ok := months[s]; ok {
		if m == c.today.Month() && !c.ahead {
			return c.month(c.today.Year(), m), true
		}
		return c.nearMonth(m, step), true
	}
	if d, ok := weekdays[s]; ok {
		return c.weekday(d, step), true
	}
	if m, ok := seasons[s]; ok {
		return c.nearSeason(m, step), true
	}
	return c.digits(s)
}

func (c clock) digits(s string) (span, bool) {
	sep := "-"
	if strings.Contains(s, "/") {
		sep = "/"
	} else if strings.Contains(s, ".") {
		sep = "."
	}
	var n []int
	for _, part := range strings.Split(s, sep) {
		v, err := strconv.Atoi(part)
		if err != nil || v < 1 {
			return span{}, false
		}
		n = append(n, v)
	}
	switch {
	case len(n) == 2 && n[0] > 999 && n[1] <= 12 && sep == "-":
		return c.month(n[0], time.Month(n[1])), true
	case len(n) == 3 && n[0] > 999:
		return c.day(n[0], time.Month(n[1]), n[2])
	case len(n) == 3 && n[2] > 999 && n[0] > 12, len(n) == 3 && n[2] > 999 && n[0] == n[1]:
		return c.day(n[2], time.Month(n[1]), n[0])
	case len(n) == 3 && n[2] > 999 && n[1] > 12:
		return c.day(n[2], time.Month(n[0]), n[1])
	}
	return span{}, false
}

// day refuses days that the calendar does not have.
func (c clock) day(y int, m time.Month, d int) (span, bool) {
	from := time.Date(y, m, d, 0, 0, 0, 0, c.today.Location())
	return span{from, from.AddDate(0, 0, 1)}, from.Month() == m && from.Day() == d
}

func (c clock) yearlessDay(m time.Month, d int) (span, bool) {
	s, ok := c.day(c.today.Year(), m, d)
	switch {
	case c.ahead && s.from.Before(c.today):
		return c.day(c.today.Year()+1, m, d)
	case !c.ahead && s.from.After(c.today):
		return c.day(c.today.Year()-1, m, d)
	}
	return s, ok
}

// part reads "early 2020", "late March", "the end of last year": a third.
func (c clock) part(w []string) (span, bool) {
	which, ok := map[string]int{"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}[w[0]]
	if !ok || len(w) < 2 {
		return span{}, false
	}
	w = w[1:]
	for len(w) > 1 && (w[0] == "of" || w[0] == "the" || w[0] == "in") {
		w = w[1:]
	}
	whole, ok := c.read(w)
	if !ok || whole.to.Sub(whole.from) <= 24*time.Hour {
		return span{}, false
	}
	third := whole.to.Sub(whole.from) / 3
	from := dayOf(whole.from.Add(time.Duration(which) * third))
	if which == 2 {
		return span{from, whole.to}, true
	}
	to := whole.from.Add(time.Duration(which+1) * third)
	if !to.Equal(dayOf(to)) {
		to = dayOf(to).AddDate(0, 0, 1)
	}
	return span{from, to}, true
}

// decade reads "the 1990s" and "the 90s".
func (c clock) decade(w []string) (span, bool) {
	s, ok := strings.CutSuffix(w[0], "s")
	if !ok || len(w) != 1 {
		return span{}, false
	}
	n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSuffix(s, "'"), "'"))
	if err != nil || n%10 != 0 {
		return span{}, false
	}
	switch {
	case n >= 20 && n < 100:
		n += 1900
	case n < 1000:
		return span{}, false
	}
	return span{c.year(n).from, c.year(n + 10).from}, true
}

func dayNumber(s string) (int, bool) {
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		s = strings.TrimSuffix(s, suffix)
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && len(s) <= 2 && n >= 1 && n <= 31
}

func yearNumber(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && len(s) == 4 && n >= 1900 && n < 2200
}

func without(w []string, drop ...string) []string {
	var out []string
	for _, s := range w {
		keep := true
		for _, d := range drop {
			keep = keep && s != d
		}
		if keep {
			out = append(out, s)
		}
	}
	return out
}
