package model

import (
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// time gives a candidate its times. A time counts only as the message says it:
// the model copies the words, the resolver of package extract reads them. A date
// that the model worked out is put back to the words it came from, or dropped.
// Nothing raises precision. Source: design §5, Time; papers.md §4 T3.
func (r *reading) time(c *extract.Candidate, p *proposal, s *segment) (reason string) {
	start, said := s.when(p.From, p.Quote, p.Future)
	if !said && p.Future {
		return "time_not_said"
	}
	end, _ := s.when(p.To, p.Quote, !p.Past)
	dated := !start.Earliest.IsZero()
	if p.Future && dated && !start.Latest.After(s.message.SentAt) {
		return "future_in_the_past"
	}
	predicate, known := r.reg.Lookup(c.Predicate)
	switch happens := c.Kind == memory.KindEvent || c.Kind == memory.KindExperience; {
	case known && predicate.Kind == string(memory.KindEvent) && p.Future:
		c.Stated.To = start.Latest // a plan holds until its time is over
	case happens && p.Future && !known:
		// It is worth knowing from now on, so its date is no start of validity.
		c.Vague = start
	case p.Future && !dated:
		c.Predicate, c.Value = "", "" // a plan without a date changes no fact
	case !dated && p.Past && !happens:
		c.Past, c.Vague = true, vague(end, memory.Vague{}) // "until 2019"
	case dated && p.Past && !happens && end.Latest.IsZero():
		c.Stated = memory.Validity{From: start.Earliest, To: start.Latest}
	default:
		c.Stated.From = start.Earliest
	}
	if !end.Latest.IsZero() && !(c.Past && end.Latest.After(s.message.SentAt)) {
		c.Stated.To = end.Latest
	}
	if c.Vague.IsZero() {
		c.Vague = vague(start, end)
	}
	return ""
}

// vague keeps an interval and its words, unless it is a single day.
func vague(start, end memory.Vague) memory.Vague {
	if !start.Earliest.IsZero() && !end.Latest.IsZero() {
		return memory.Vague{Earliest: start.Earliest, Latest: end.Latest, Words: start.Words + " to " + end.Words}
	}
	if !start.Earliest.IsZero() && start.Latest.Sub(start.Earliest) <= 25*time.Hour { // a day of the clock change has 25
		return memory.Vague{}
	}
	return start
}

// maxTime is the longest text that is taken for a time, in bytes.
const maxTime = 100

// when reads a time that the model gives for a segment. Words that the message
// has and nobody can resolve are kept alone. Not said: the message has neither
// the words nor any that mean such a time. No words are said, and no time.
func (s *segment) when(words, quote string, ahead bool) (v memory.Vague, said bool) {
	words = strings.TrimSpace(words)
	if words == "" {
		return memory.Vague{}, true
	}
	if len(words) > maxTime {
		return memory.Vague{}, false
	}
	v, resolved := s.resolve(words, ahead)
	if _, _, found := extract.FindQuote(s.text(), words, -1); found {
		if !resolved {
			v = memory.Vague{Words: words}
		}
		return v, true
	}
	if !resolved {
		return memory.Vague{}, false
	}
	start, end, ok := extract.FindQuote(s.text(), quote, -1)
	if !ok {
		return memory.Vague{}, false
	}
	if p, ok := s.phrase(s.text()[start:min(end, start+farthest)], v, ahead); ok {
		return p, true
	}
	return s.phrase(around(s.text(), start, end), v, ahead)
}

// farthest is how many bytes before and after a quote may name its time.
const farthest = 300

// around is the stretch about [start, end) of a text, without the words that it
// would cut.
func around(text string, start, end int) string {
	from, to := max(0, start-farthest), min(len(text), end+farthest, start+2*farthest)
	if from > 0 {
		from += max(0, strings.IndexByte(text[from:start], ' '))
	}
	if to < len(text) {
		to = max(start, start+strings.LastIndexByte(text[start:to], ' '))
	}
	return text[from:to]
}

// resolve reads a date, a moment or words relative to the message. Of a moment
// only the day counts.
func (s *segment) resolve(words string, ahead bool) (memory.Vague, bool) {
	m := s.message
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		zone := time.FixedZone("", m.SentOffset)
		if t, err := time.ParseInLocation(layout, words, zone); err == nil {
			words = t.In(zone).Format(time.DateOnly)
			break
		}
	}
	if ahead {
		if v, ok := extract.ResolveTimeAhead(words, m.SentAt, m.SentOffset); ok {
			return v, true
		}
	} else if v, ok := extract.ResolveTime(words, m.SentAt, m.SentOffset); ok {
		return v, true
	}
	if lasting, isLasting := strings.CutPrefix(strings.ToLower(words), "for "); isLasting && !ahead {
		return extract.Lasting(lasting, m.SentAt, m.SentOffset)
	}
	return memory.Vague{}, false
}

// phrase finds the narrowest time said in a text of the message that covers v.
func (s *segment) phrase(text string, v memory.Vague, ahead bool) (best memory.Vague, ok bool) {
	words := strings.Fields(text)
	for i := range words {
		for n := min(extract.MaxTimeWords, len(words)-i); n > 0; n-- {
			said := strings.Trim(strings.Join(words[i:i+n], " "), ".,;:!?()\"'")
			p, resolved := s.resolve(said, ahead)
			if !resolved || p.Earliest.After(v.Earliest) || p.Latest.Before(v.Latest) {
				continue
			}
			if !ok || p.Latest.Sub(p.Earliest) < best.Latest.Sub(best.Earliest) {
				best, ok = p, true
			}
		}
	}
	return best, ok
}
