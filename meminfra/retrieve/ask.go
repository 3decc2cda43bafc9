package retrieve

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// ask is what a query tells about its answer besides its words. All of it is
// soft: it lifts what fits and excludes nothing.
type ask struct {
	named    string // the one person named, folded; "" for none or several
	asker    bool   // "I" or "my" and nobody else: the user
	nameless string // the query without the names of people
	entities string // its other proper names
	wants    marks
	date     askedDate
}

// word is a word of the query and where it stands.
type word struct {
	said       string
	low        string // folded, without possessive ending
	start, end int
}

// readAsk reads a query against the people that are known in the partition,
// by the names they go by (see population), and the time at which it is asked.
func readAsk(query string, people map[string]string, now time.Time) ask {
	words := splitWords(query)
	low := make([]string, len(words))
	for i, w := range words {
		low[i] = w.low
	}
	out := ask{wants: wants(low), date: readDate(low, now), nameless: query}
	isName := findPeople(words, people, &out)
	var entities []string
	rest := make([]byte, 0, len(query))
	from := 0
	for i, w := range words {
		if isName[i] {
			rest = append(rest, query[from:w.start]...)
			from = w.end
			continue
		}
		first, _ := utf8.DecodeRuneInString(w.said)
		if i > 0 && unicode.IsUpper(first) && w.low != "i" {
			entities = append(entities, w.said)
		}
	}
	out.entities = strings.Join(entities, " ")
	if rest = append(rest, query[from:]...); strings.ContainsFunc(string(rest), unicode.IsLetter) {
		out.nameless = string(rest)
	}
	return out
}

// findPeople marks the words that name people and says who is asked about.
func findPeople(words []word, people map[string]string, out *ask) []bool {
	isName := make([]bool, len(words))
	found, self := map[string]bool{}, false
	const longest = 4 // words in a name
	for i := 0; i < len(words); i++ {
		switch words[i].low {
		case "i", "my", "me", "mine", "myself":
			self = true
		}
		name := ""
		for n := 1; n <= longest && i+n <= len(words); n++ {
			name = strings.TrimPrefix(name+" "+words[i+n-1].low, " ")
			if who, known := people[name]; known {
				found[who] = true
				for k := i; k < i+n; k++ {
					isName[k] = true
				}
			}
		}
	}
	switch {
	case len(found) == 1:
		for name := range found {
			out.named = name
		}
	case len(found) == 0:
		out.asker = self
	}
	return isName
}

func splitWords(query string) []word {
	var words []word
	add := func(start, end int) {
		w := word{said: query[start:end], start: start, end: end}
		w.low = memory.FoldName(strings.ReplaceAll(w.said, "’", "'"))
		w.low = strings.TrimSuffix(w.low, "'s")
		w.low = strings.TrimSuffix(w.low, "'")
		words = append(words, w)
	}
	start := -1
	for i, r := range query {
		switch inWord := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || (r == '\'' || r == '’' || r == '-') && start >= 0; {
		case inWord && start < 0:
			start = i
		case !inWord && start >= 0:
			add(start, i)
			start = -1
		}
	}
	if start >= 0 {
		add(start, len(query))
	}
	return words
}

// askedDate is the date in a query: a month with what is said of day and year,
// or a span of time. The zero value is none.
type askedDate struct {
	month     time.Month
	day, year int
	from, to  time.Time
}

var months = map[string]time.Month{
	"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7,
	"august": 8, "september": 9, "october": 10, "november": 11, "december": 12,
}

// readDate finds the first date in the query's words: "May 7th, 2023", "7 May",
// "in May 2023", "2023-05-07", or words relative to now such as "last week".
func readDate(words []string, now time.Time) askedDate {
	for i, w := range words {
		if t, err := time.Parse(time.DateOnly, w); err == nil {
			return askedDate{month: t.Month(), day: t.Day(), year: t.Year()}
		}
		if m, ok := months[w]; ok && (w != "may" || besideNumber(words, i) || i > 0 && (words[i-1] == "in" || words[i-1] == "of")) {
			return monthDate(m, words, i)
		}
	}
	for i := range words {
		for n := min(extract.MaxTimeWords, len(words)-i); n > 0; n-- {
			if !relative[words[i]] && !(n > 1 && words[i+n-1] == "ago") {
				continue
			}
			if v, ok := extract.ResolveTime(strings.Join(words[i:i+n], " "), now, 0); ok {
				return askedDate{from: v.Earliest, to: v.Latest}
			}
		}
	}
	return askedDate{}
}

var relative = wordSet("yesterday today last past this")

func besideNumber(words []string, i int) bool {
	for _, j := range []int{i - 1, i + 1} {
		if j >= 0 && j < len(words) && ordinal(words[j]) > 0 {
			return true
		}
	}
	return false
}

// monthDate adds the day and the year that stand around a month.
func monthDate(m time.Month, words []string, at int) askedDate {
	d := askedDate{month: m}
	for _, i := range []int{at - 1, at + 1, at + 2} {
		if i < 0 || i >= len(words) {
			continue
		}
		switch n := ordinal(words[i]); {
		case n >= 1900:
			d.year = n
		case 1 <= n && n <= 31 && d.day == 0:
			d.day = n
		}
	}
	return d
}

// ordinal reads "7", "7th" or "2023"; 0 for anything else.
func ordinal(w string) int {
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		w = strings.TrimSuffix(w, suffix)
	}
	n, err := strconv.Atoi(w)
	if err != nil {
		return 0
	}
	return n
}

// signal is 1 for a time on the date asked for, 0.5 if only the day differs, 0
// otherwise.
func (d askedDate) signal(at time.Time) float64 {
	switch {
	case d.month != 0:
		if at.Month() != d.month || d.year != 0 && at.Year() != d.year {
			return 0
		}
		if d.day != 0 && at.Day() != d.day {
			return 0.5
		}
		return 1
	case !d.to.IsZero() && !at.Before(d.from) && at.Before(d.to):
		return 1
	}
	return 0
}
