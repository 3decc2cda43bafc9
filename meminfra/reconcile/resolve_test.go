package reconcile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// TestResolve is every rule of the fold with its opposite.
func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name string
		told []memory.Statement
		want []string
	}{
		{"nothing", nil, nil},
		{"one fact", say(says(user, "Paris", 2020)), lines("Paris authorized [2020,) holds")},
		{"one negation holds nothing", say(denies(user, "Paris", 2020)), lines("no Paris authorized [2020,)")},
		{"an end that is over", say(says(user, "Paris", 2020, 2022)), lines("Paris authorized [2020,2022) holds said_end")},
		{"no time at all", say(says(user, "Paris", 2020, 2019)), lines("Paris authorized [2020,2020) said_end")},

		{"newer value", say(says(user, "Paris", 2020), says(user, "Rome", 2022)),
			lines("Paris authorized [2020,2022) holds superseded by au Rome@2022", "Rome authorized [2022,) holds")},
		{"same value again merges", say(says(user, "Paris", 2020), says(user, "Paris", 2022)), lines("Paris authorized [2020,) holds")},
		{"and back again", say(says(user, "Paris", 2020), says(user, "Rome", 2022), says(user, "Paris", 2024)),
			lines("Paris authorized [2020,2022) holds superseded by au Rome@2022",
				"Rome authorized [2022,2024) holds superseded by au Paris@2024", "Paris authorized [2024,) holds")},
		{"two jobs apart", say(says(user, "Paris", 2015, 2018), says(user, "Rome", 2020)),
			lines("Paris authorized [2015,2018) holds said_end", "Rome authorized [2020,) holds")},
		{"a stay within another", say(says(user, "Paris", 2015), says(user, "Rome", 2018, 2020)),
			lines("Paris authorized [2015,2018) holds superseded by au Rome@2018-2020",
				"Rome authorized [2018,2020) holds said_end", "Paris authorized [2020,) holds")},
		{"a said end closes what was told before", say(says(user, "Paris", 2015), tell(says(user, "Paris", 2014, 2018), 2019)),
			lines("Paris authorized [2014,2018) holds said_end")},
		{"but not what is told after", say(says(user, "Paris", 2015), tell(says(user, "Paris", 2014, 2018), 2013)),
			lines("Paris authorized [2014,) holds")},

		{"negation ends", say(says(user, "Paris", 2020), denies(user, "Paris", 2022)),
			lines("Paris authorized [2020,2022) holds ended by no au Paris@2022", "no Paris authorized [2022,)")},
		{"negation of another value ends nothing", say(says(user, "Paris", 2020), denies(user, "Rome", 2022)),
			lines("Paris authorized [2020,) holds", "no Rome authorized [2022,)")},
		{"no predecessor reopens", say(says(user, "Paris", 2020), says(user, "Rome", 2022), denies(user, "Rome", 2023)),
			lines("Paris authorized [2020,2022) holds superseded by au Rome@2022",
				"Rome authorized [2022,2023) holds ended by no au Rome@2023", "no Rome authorized [2023,)")},
		{"nor one of a weaker authority", say(says(tool, "Paris", 2020), says(user, "Rome", 2022), denies(user, "Rome", 2023)),
			lines("Paris unendorsed [2020,2022) holds outranked by au Rome@2022",
				"Rome authorized [2022,2023) holds ended by no au Rome@2023", "no Rome authorized [2023,)")},
		{"negating the predecessor leaves the holder", say(says(user, "Paris", 2020), says(user, "Rome", 2022), denies(user, "Paris", 2023)),
			lines("Paris authorized [2020,2022) holds superseded by au Rome@2022", "Rome authorized [2022,) holds",
				"no Paris authorized [2023,)")},
		{"switched: both in one breath", say(says(user, "Paris", 2020), says(user, "Rome", 2022), denies(user, "Paris", 2022)),
			lines("Paris authorized [2020,2022) holds superseded by au Rome@2022", "Rome authorized [2022,) holds",
				"no Paris authorized [2022,)")},
		{"asserted again after a negation", say(denies(user, "Paris", 2020), says(user, "Paris", 2022)),
			lines("no Paris authorized [2020,2022) superseded by au Paris@2022", "Paris authorized [2022,) holds")},
		{"a weaker assertion does not end a negation", say(denies(user, "Paris", 2020), says(tool, "Paris", 2022)),
			lines("no Paris authorized [2020,)", "Paris unendorsed [2022,)",
				"conflict negation: no Paris authorized [2020,) / Paris unendorsed [2022,)")},
		{"a stronger negation ends", say(says(tool, "Paris", 2020), denies(user, "Paris", 2022)),
			lines("Paris unendorsed [2020,2022) holds ended by no au Paris@2022", "no Paris authorized [2022,)")},
		{"a weaker negation does not", say(says(user, "Paris", 2020), denies(tool, "Paris", 2022)),
			lines("Paris authorized [2020,) holds", "no Paris unendorsed [2022,)",
				"conflict negation: Paris authorized [2020,) / no Paris unendorsed [2022,)")},
		{"and is answered by saying it again", say(says(user, "Paris", 2020), denies(tool, "Paris", 2022), says(user, "Paris", 2023)),
			lines("Paris authorized [2020,) holds", "no Paris unendorsed [2022,2023) superseded by au Paris@2023",
				"conflict negation: Paris authorized [2020,) / no Paris unendorsed [2022,2023)")},

		{"a weaker newer value stays beside", say(says(user, "Paris", 2020), says(tool, "Rome", 2022)),
			lines("Paris authorized [2020,) holds", "Rome unendorsed [2022,)",
				"conflict other_value: Paris authorized [2020,) / Rome unendorsed [2022,)")},
		{"also when the holder only repeats itself", say(says(user, "Paris", 2020), says(tool, "Rome", 2022), says(user, "Paris", 2023)),
			lines("Paris authorized [2020,) holds", "Rome unendorsed [2022,)",
				"conflict other_value: Paris authorized [2020,) / Rome unendorsed [2022,)")},
		{"a weaker older value is outranked", say(says(tool, "Rome", 2020), says(user, "Paris", 2022)),
			lines("Rome unendorsed [2020,2022) holds outranked by au Paris@2022", "Paris authorized [2022,) holds")},
		{"what was beside holds when the holder ends", say(says(user, "Paris", 2020), says(tool, "Rome", 2022), denies(user, "Paris", 2023)),
			lines("Paris authorized [2020,2023) holds ended by no au Paris@2023", "Rome unendorsed [2022,2023) continued by un Rome@2022",
				"Rome unendorsed [2023,) holds", "no Paris authorized [2023,)",
				"conflict other_value: Paris authorized [2020,2023) / Rome unendorsed [2022,2023)")},
		{"a weaker echo adds no interval", say(says(user, "Paris", 2020), says(tool, "Paris", 2023)), lines("Paris authorized [2020,) holds +1")},
		{"a stronger witness does", say(says(tool, "Paris", 2020), says(user, "Paris", 2023)),
			lines("Paris unendorsed [2020,2023) holds outranked by au Paris@2023", "Paris authorized [2023,) holds")},
		{"three authorities", say(says(user, "Paris", 2020), says(assistant, "Oslo", 2021), says(tool, "Oslo", 2022)),
			lines("Paris authorized [2020,) holds", "Oslo attested [2021,) +1",
				"conflict other_value: Paris authorized [2020,) / Oslo attested [2021,)")},

		{"same start: the latest told wins", say(says(user, "Paris", 2020), tell(says(user, "Rome", 2020), 2021)),
			lines("Paris authorized [2020,2020) superseded by au Rome@2020 told 2021", "Rome authorized [2020,) holds",
				"conflict same_start: Paris authorized [2020,2020) / Rome authorized [2020,)")},
		{"same start: the loser resumes when the winner ends", say(says(user, "Paris", 2020), tell(says(user, "Rome", 2020, 2022), 2021)),
			lines("Paris authorized [2020,2020) superseded by au Rome@2020-2022 told 2021", "Rome authorized [2020,2022) holds said_end",
				"Paris authorized [2022,) holds", "conflict same_start: Paris authorized [2020,2020) / Rome authorized [2020,2022)")},
		{"same start of two authorities", say(says(user, "Paris", 2020), tell(says(tool, "Rome", 2020), 2021)),
			lines("Paris authorized [2020,) holds", "Rome unendorsed [2020,)",
				"conflict other_value: Paris authorized [2020,) / Rome unendorsed [2020,)")},
		{"a future start closes at that date", say(says(user, "Paris", 2020), tell(says(user, "Rome", 2040), 2021)),
			lines("Paris authorized [2020,2040) holds superseded by au Rome@2040 told 2021", "Rome authorized [2040,) holds")},
		{"no statements", say(memory.Statement{}, says(0, "Paris", 2020), says(user, "", 2020)), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, want := describe(Resolve(c.told)), sorted(c.want)
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			slices.Reverse(c.told)
			if got := describe(Resolve(c.told)); got != want {
				t.Errorf("reversed: got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func say(s ...memory.Statement) []memory.Statement { return s }

func lines(s ...string) []string { return s }

func describe(r Resolution) string {
	var out []string
	name := func(n int) string {
		iv := r.Intervals[n]
		return claim(iv.ValueID, iv.Polarity, iv.Authority, iv.Valid)
	}
	for n, iv := range r.Intervals {
		s := name(n)
		if iv.Holder {
			s += " holds"
		}
		if iv.ClosedHow != "" {
			s += " " + string(iv.ClosedHow)
		}
		if iv.ClosedBy != "" {
			s += " by " + iv.ClosedBy
		}
		if len(iv.Echoes) > 0 {
			s += fmt.Sprintf(" +%d", len(iv.Echoes))
		}
		out = append(out, s)
	}
	for _, c := range r.Conflicts {
		out = append(out, fmt.Sprintf("conflict %s: %s / %s", c.Reason, name(min(c.Left, c.Right)), name(max(c.Left, c.Right))))
	}
	return sorted(out)
}

func TestHolder(t *testing.T) {
	r := Resolve(say(says(user, "Paris", 2020), says(user, "Rome", 2022), denies(user, "Rome", 2024)))
	for when, want := range map[float64]string{2019: "", 2020: "Paris", 2021: "Paris", 2022: "Rome", 2024: ""} {
		if got := holder(r, at(when)); got != want {
			t.Errorf("holder at %v is %q", when, got)
		}
	}
}

// holder is the value that holds the fact key at t, "" for none.
func holder(r Resolution, t time.Time) string {
	for _, iv := range r.Intervals {
		if iv.Holder && iv.Valid.Contains(t) {
			return iv.ValueID
		}
	}
	return ""
}

// TestResolveOne checks the short path against the long one.
func TestResolveOne(t *testing.T) {
	for _, s := range say(says(user, "a", 2020), denies(tool, "a", 2020), says(user, "a", 2020, 2021), says(user, "a", 2020, 2020),
		says(user, "a", 2020, 2019), says(user, "a", 0), memory.Statement{}) {
		one, two := Resolve(say(s)), Resolve(say(s, s))
		if len(one.Intervals) != len(two.Intervals) || len(one.Intervals) == 1 && !reflect.DeepEqual(one, two) {
			t.Errorf("%+v\nalone %+v\ntwice %+v", s, one, two)
		}
	}
}

func TestSupportIsRankedAndWhole(t *testing.T) {
	r := Resolve(say(says(tool, "Paris", 2023), says(user, "Paris", 2022), says(user, "Paris", 2020), says(tool, "Paris", 2021)))
	iv := r.Intervals[0]
	if got := strings.Join(iv.Support, ","); got != "au Paris@2020,au Paris@2022" || iv.Founder != "au Paris@2020" {
		t.Errorf("support %s, founder %s", got, iv.Founder)
	}
	if got := strings.Join(iv.Echoes, ","); got != "un Paris@2021,un Paris@2023" {
		t.Errorf("echoes %s", got)
	}
}

func BenchmarkResolve(b *testing.B) {
	for _, n := range []int{1, 2, 10, 100} {
		list := benchStatements(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Resolve(list)
			}
		})
	}
}

func BenchmarkDiff(b *testing.B) {
	for _, n := range []int{1, 2, 10, 100} {
		st := &store{t: b, statements: benchStatements(n)}
		st.apply(Reconcile(nil, st.statements, now))
		more := append(slices.Clone(st.statements), says(user, "another", 2029.5))
		res := Resolve(more)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Diff(st.versions, more, res, now)
			}
		})
	}
}

// benchStatements is a plausible line: mostly the user, some echoes, changes and
// negations.
func benchStatements(n int) []memory.Statement {
	var list []memory.Statement
	for i := range n {
		s := says(user, fmt.Sprint("value", i/3), 1900+float64(i))
		switch i % 5 {
		case 3:
			s = says(tool, fmt.Sprint("value", i/4), 1900+float64(i))
		case 4:
			s = denies(user, fmt.Sprint("value", i/3), 1900+float64(i))
		}
		list = append(list, s)
	}
	return list
}
