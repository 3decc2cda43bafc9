package retrieve

import (
	"testing"
	"time"
)

func TestReadAsk(t *testing.T) {
	people := map[string]string{"gina": "gina", "jon": "jon smith", "jon smith": "jon smith", "ana maria": "ana maria"}
	for _, c := range []struct {
		query, named, nameless, entities string
		asker                            bool
	}{
		{"What did Gina sell?", "gina", "What did  sell?", "", false},
		{"What is Gina's shop in Lisbon called?", "gina", "What is  shop in Lisbon called?", "Lisbon", false},
		{"Did Gina meet Jon?", "", "Did  meet ?", "", false},
		{"Where does Jon Smith work?", "jon smith", "Where does   work?", "", false},
		{"what does ana maria drink", "ana maria", "what does   drink", "", false},
		{"Where do I live?", "", "Where do I live?", "", true},
		{"Did I call Gina?", "gina", "Did I call ?", "", false},
		{"Gina?", "gina", "Gina?", "", false},
		{"Which maps of Peru?", "", "Which maps of Peru?", "Peru", false},
	} {
		got := readAsk(c.query, people, now)
		if got.named != c.named || got.nameless != c.nameless || got.entities != c.entities || got.asker != c.asker {
			t.Errorf("%q: %+v", c.query, got)
		}
	}
}

func TestAskedDate(t *testing.T) {
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 15, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		query string
		at    time.Time
		want  float64
	}{
		{"What happened on 7 May, 2023?", day(2023, 5, 7), 1},
		{"What happened on May 7th, 2023?", day(2023, 5, 7), 1},
		{"What happened on May 7th, 2023?", day(2023, 5, 9), 0.5},
		{"What happened on May 7th, 2023?", day(2022, 5, 7), 0},
		{"What happened in May 2023?", day(2023, 5, 9), 1},
		{"What happened in May?", day(2021, 5, 9), 1},
		{"What may happen in 2023?", day(2023, 5, 9), 0},
		{"What happened on 2023-05-07?", day(2023, 5, 7), 1},
		{"What did I do yesterday?", now.AddDate(0, 0, -1), 1},
		{"What did I do yesterday?", now.AddDate(0, 0, -3), 0},
		{"What did I do last week?", now.AddDate(0, 0, -7), 1},
		{"What did I do?", now, 0},
	} {
		if got := readAsk(c.query, nil, now).date.signal(c.at); got != c.want {
			t.Errorf("%q at %s: %v, want %v", c.query, c.at.Format(time.DateOnly), got, c.want)
		}
	}
}

func TestWants(t *testing.T) {
	for query, want := range map[string]marks{
		"When did it start?": markTime, "How long did it take?": markTime, "In which month was it?": markTime,
		"How many were there?": markNumber, "Who came?": markName, "Where is it?": markName, "Which film was it?": markName,
		"What did she say?": 0, "": 0, "tell me about it": 0,
	} {
		if got := readAsk(query, nil, now).wants; got != want {
			t.Errorf("%q wants %b, want %b", query, got, want)
		}
	}
}

func TestReadMarks(t *testing.T) {
	for text, want := range map[string]marks{
		"I went there yesterday.":    markTime,
		"Back in May it was cold.":   markTime | markName,
		"It was in 2019.":            markTime | markNumber,
		"I have two cats":            markNumber,
		"We flew to Lisbon.":         markName,
		`I read "the sea" again`:     markName,
		"Really? Yes. Fine.":         0,
		"I think I'm fine":           0,
		"Is it done?":                markAsks,
		"Is it done? [image: a cat]": markAsks,
		"Look! [image: a cat]":       0,
		"今日は元気ですか？":                  markAsks,
		"":                           0,
	} {
		if got := readMarks(text); got != want {
			t.Errorf("%q has marks %b, want %b", text, got, want)
		}
	}
}

func FuzzReadAsk(f *testing.F) {
	f.Add("What did Gina's shop sell on 7 May 2023?")
	f.Add("’s - ' I")
	f.Fuzz(func(t *testing.T, query string) {
		got := readAsk(query, map[string]string{"gina": "gina"}, now)
		if query != "" && got.nameless == "" {
			t.Error("a query without anything left")
		}
		readMarks(query)
	})
}
