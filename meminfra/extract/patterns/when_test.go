package patterns_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/extract/patterns"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

// TestTimes: what a sentence says of when, sent on Wednesday 2026-05-13 UTC.
func TestTimes(t *testing.T) {
	tests := []struct{ text, label, from, to, words string }{
		{"I live in Oslo", "+location=oslo", "", "", ""},
		{"I live in Oslo now", "+location=oslo", "", "", ""},
		{"I lived in Rome from 2018 to 2020", "+location=rome", "2018-01-01", "2021-01-01", "2018 to 2020"},
		{"In 2020 I lived in Rome", "+location=rome", "2020-01-01", "2021-01-01", "2020"},
		{"From 2018 until 2020, I worked at Acme", "+employer=acme", "2018-01-01", "2021-01-01", "2018 to 2020"},
		{"I used to live in Rome", "~location=rome", "", "", ""},
		{"I lived in Rome until 2019", "~location=rome", "", "2020-01-01", "2019"},
		{"I lived in Rome until 5 February", "~location=rome", "", "2026-02-06", ""},
		{"I lived in Rome until this year", "~location=rome", "", "", "this year"},
		{"I was prescribed metformin in 2020", "+medication=metformin", "2020-01-01", "", "2020"},
		{"I lived in Rome", "~location=rome", "", "", ""},
		{"I've lived in Oslo since 2019", "+location=oslo", "2019-01-01", "", "2019"},
		{"I've worked at Volvo since last March", "+employer=volvo", "2026-03-01", "", "last March"},
		{"I've lived in Oslo for five years", "+location=oslo", "2021-01-01", "", "five years"},
		{"I moved to Oslo in 2019", "+location=oslo", "2019-01-01", "", "2019"},
		{"I moved to Oslo on 3 May 2024", "+location=oslo", "2024-05-03", "", ""},
		{"I moved to Oslo on May 3, 2024", "+location=oslo", "2024-05-03", "", ""},
		{"I moved to Oslo last week", "+location=oslo", "2026-05-04", "", "last week"},
		{"I moved to Oslo yesterday", "+location=oslo", "2026-05-12", "", ""},
		{"Yesterday I bought a bicycle.", "+owns=bicycle", "2026-05-12", "", ""},
		{"I'm moving to Oslo in March 2027", "+location=oslo", "2027-03-01", "", "March 2027"},
		{"I'm moving to Oslo in June", "+location=oslo", "2026-06-01", "", "June"},
		{"I'm going to move to Oslo next month", "+location=oslo", "2026-06-01", "", "next month"},
		{"From next Monday I'll work at Siemens", "+employer=siemens", "2026-05-18", "", ""},
		{"I start at Lidl on 1 June", "+employer=lidl", "2026-06-01", "", ""},
		{"I will be living in Oslo from August", "+location=oslo", "2026-08-01", "", "August"},
		{"I'm moving to Oslo", "", "", "", ""},
		{"I'm moving to Oslo in March 2020", "", "", "", ""},
		{"I quit my job at Initech yesterday", "-employer=initech", "2026-05-12", "", ""},
		{"I stopped using Vim in 2023", "-editor_preference=vim", "2023-01-01", "", "2023"},
		{"I no longer use Vim", "-editor_preference=vim", "", "", ""},
		{"I'm leaving Initech in June", "-employer=initech", "2026-06-01", "", "June"},
		{"I haven't used Vim since 2019", "-editor_preference=vim", "2019-01-01", "", "2019"},
		{"I'm flying to Tokyo next month", "+travel_plan=tokyo", "", "2026-07-01", "next month"},
		{"I live in Oslo until August", "+location=oslo", "", "2026-09-01", ""},
		{"I'm flying to New York with my wife next month", "+travel_plan=new york city", "", "2026-07-01", "next month"},
		{"I worked at Nokia between 2010 and 2014", "+employer=nokia", "2010-01-01", "2015-01-01", "2010 to 2014"},
		{"Since 2021 I live in Graz", "+location=graz", "2021-01-01", "", "2021"},
		{"I used MySQL from 2015 to 2018", "+database_preference=mysql", "2015-01-01", "2019-01-01", "2015 to 2018"},
		{"I used MySQL yesterday", "", "", "", ""},
		{"I took amoxicillin for a week", "", "", "", ""},
		{"I live in Oslo in winter", "", "", "", ""},
		{"I'm turning 30 in August", "+age=30", "2026-08-01", "", "August"},
		{"I was born on 3 May 1985", "+birthday=1985-05-03", "", "", ""},
	}
	e := extractor(t)
	for _, tt := range tests {
		out, err := e.Extract(context.Background(), say("user", tt.text, sent, 0))
		if err != nil {
			t.Fatal(err)
		}
		if tt.label == "" {
			if len(out.Candidates) > 0 {
				t.Errorf("%q: %s, want nothing", tt.text, label(out.Candidates[0]))
			}
			continue
		}
		if len(out.Candidates) != 1 {
			t.Errorf("%q: %d candidates, want 1", tt.text, len(out.Candidates))
			continue
		}
		c := out.Candidates[0]
		if label(c) != tt.label || date(c.Stated.From) != tt.from || date(c.Stated.To) != tt.to || c.Vague.Words != tt.words {
			t.Errorf("%q: %s [%s, %s) %q; want %s [%s, %s) %q", tt.text,
				label(c), date(c.Stated.From), date(c.Stated.To), c.Vague.Words, tt.label, tt.from, tt.to, tt.words)
		}
	}
}

func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02")
}

// Case A05: each message has its own reference time and offset.
func TestEachMessageHasItsOwnClock(t *testing.T) {
	in := say("user", "I started at the bakery last week.", time.Date(2022, 11, 18, 9, 0, 0, 0, time.UTC), 0)
	later := say("user", "Yesterday I bought a bicycle.", time.Date(2022, 11, 25, 23, 30, 0, 0, time.UTC), 3600)
	in.Target = append(in.Target, later.Target...)
	out, err := extractor(t).Extract(context.Background(), in)
	if err != nil || len(out.Candidates) != 2 {
		t.Fatalf("%d candidates, error %v", len(out.Candidates), err)
	}
	bakery, bicycle := out.Candidates[0], out.Candidates[1]
	if date(bakery.Vague.Earliest) != "2022-11-07" || date(bakery.Vague.Latest) != "2022-11-14" || bakery.Vague.Words != "last week" {
		t.Errorf("bakery: %+v", bakery.Vague)
	}
	// It is 26 November at +01:00, so yesterday is the 25th, from 23:00 UTC of the 24th.
	if want := time.Date(2022, 11, 24, 23, 0, 0, 0, time.UTC); !bicycle.Stated.From.Equal(want) {
		t.Errorf("bicycle from %s, want %s", bicycle.Stated.From, want)
	}
}

func TestCandidate(t *testing.T) {
	text := "Hi all!  Well, I live in Oslo and work at Acme as a data engineer. And you?"
	out, err := extractor(t).Extract(context.Background(), say("user:Gina", text, sent, 0))
	if err != nil || len(out.Candidates) != 3 {
		t.Fatalf("%d candidates, error %v", len(out.Candidates), err)
	}
	gina := memory.Subject{Type: "person", Name: "gina"}
	for _, c := range out.Candidates {
		checkQuote(t, text, c)
		if c.Subject != gina || c.EpisodeID != "e1" || c.Text != c.Quote || c.Confidence <= 0 || c.Kind != memory.KindFact {
			t.Errorf("%+v", c)
		}
	}
	if q := out.Candidates[1].Quote; q != "Well, I live in Oslo and work at Acme as a data engineer" {
		t.Errorf("a clause without its own subject quotes %q", q)
	}
}

// TestSpans: a value runs to its end and no further, and the quote with it.
func TestSpans(t *testing.T) {
	tests := []struct{ text, predicate, value, quote string }{
		{"My favourite drink is coffee with milk and I hate tea", "favourite", "drink: coffee with milk", "My favourite drink is coffee with milk"},
		{"My favourite book is Pride and Prejudice.", "favourite", "book: Pride and Prejudice", "My favourite book is Pride and Prejudice"},
		{"I live in New York with my wife", "location", "New York City", "I live in New York with my wife"},
		{"I live in Oslo, Bob", "location", "Oslo", "I live in Oslo"},
		{"I live in Portland, Oregon, near the river", "location", "Portland, Oregon", "I live in Portland, Oregon"},
		{"I work at Acme as an engineer since 2019", "employer", "Acme", "I work at Acme as an engineer since 2019"},
		{"My goal is to run a marathon before I turn 40", "goal", "run a marathon", "My goal is to run a marathon before I turn 40"},
		{"Since 2021 I live in Graz", "location", "Graz", "Since 2021 I live in Graz"},
		{"I worked at Nokia between 2010 and 2014", "employer", "Nokia", "I worked at Nokia between 2010 and 2014"},
		{"I can't stand pineapple on pizza", "dislikes", "pineapple on pizza", "I can't stand pineapple on pizza"},
	}
	e := extractor(t)
	for _, tt := range tests {
		out, err := e.Extract(context.Background(), say("user", tt.text, sent, 0))
		if err != nil || len(out.Candidates) == 0 {
			t.Errorf("%q: %d candidates, error %v", tt.text, len(out.Candidates), err)
			continue
		}
		c := out.Candidates[0]
		checkQuote(t, tt.text, c)
		if c.Predicate != tt.predicate || c.Value != tt.value || c.Quote != tt.quote {
			t.Errorf("%q: %s %q from %q", tt.text, c.Predicate, c.Value, c.Quote)
		}
	}
}

func TestRegistryOfTheApplication(t *testing.T) {
	reg, err := predicates.New([]predicates.Predicate{{Name: "shoe_size", Cardinality: predicates.Single, Kind: "fact", Value: "number",
		Statements: []string{"my shoe size is {value:number}", "I wear size {value:number}"}}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := patterns.New(reg)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := e.Extract(context.Background(), say("user", "My shoe size is 43. I live in Oslo. I no longer wear size 42.", sent, 0))
	if len(out.Candidates) != 2 || out.Candidates[0].Value != "43" || out.Candidates[1].Polarity != memory.Negative {
		t.Errorf("%+v", out.Candidates)
	}
	for _, template := range []string{"I like", "I like {value:purple}"} {
		reg, err := predicates.New([]predicates.Predicate{{Name: "x", Cardinality: predicates.Single, Kind: "fact", Statements: []string{template}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := patterns.New(reg); err == nil {
			t.Errorf("no error for the template %q", template)
		}
	}
}

func TestDoneContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := extractor(t).Extract(ctx, say("user", "I live in Oslo", sent, 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// FuzzExtract: it never panics, and every quote is verbatim at its offset.
func FuzzExtract(f *testing.F) {
	for _, row := range table(f) {
		f.Add(row.text)
	}
	for _, s := range []string{"I’m", "I don’t", "my 's", "I 'm 'm 'm", "I live in \xff", "I live in Oslo,", "\"I live", "I've been", "my favourite is", "Gina 's", "I am\u200b", "I live in Oslo until from since"} {
		f.Add(s)
	}
	e := extractor(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, by := range []string{"user", "user:Gina", "assistant"} {
			in := say(by, text, sent, 0)
			out, err := e.Extract(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range out.Candidates {
				checkQuote(t, text, c)
				if c.Predicate == "" || c.Value == "" || c.Subject.Type == "" || c.Stated.Empty() {
					t.Errorf("%+v", c)
				}
			}
			if by == "assistant" && len(out.Candidates) > 0 {
				t.Error("an assistant's words became a candidate")
			}
		}
	})
}

func BenchmarkExtract(b *testing.B) {
	e := extractor(b)
	var inputs []extract.Input
	for _, row := range table(b) {
		inputs = append(inputs, say(row.by, row.text, sent, 0))
	}
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		if _, err := e.Extract(context.Background(), inputs[i%len(inputs)]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}
