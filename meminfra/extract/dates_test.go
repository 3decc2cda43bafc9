package extract_test

import (
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Said on Friday 2022-11-18 at 10:00 UTC.
var friday = time.Date(2022, 11, 18, 10, 0, 0, 0, time.UTC)

const day = "2006-01-02"

func TestResolveTime(t *testing.T) {
	tests := []struct{ words, from, to string }{
		{"today", "2022-11-18", "2022-11-19"},
		{"yesterday", "2022-11-17", "2022-11-18"},
		{"the day before yesterday", "2022-11-16", "2022-11-17"},
		{"tomorrow", "2022-11-19", "2022-11-20"},
		{"last night", "2022-11-17", "2022-11-18"},
		{"last week", "2022-11-07", "2022-11-14"},
		{"this week", "2022-11-14", "2022-11-21"},
		{"next week", "2022-11-21", "2022-11-28"},
		{"last weekend", "2022-11-12", "2022-11-14"},
		{"last month", "2022-10-01", "2022-11-01"},
		{"last year", "2021-01-01", "2022-01-01"},
		{"next year", "2023-01-01", "2024-01-01"},
		{"last Friday", "2022-11-11", "2022-11-12"},
		{"next Monday", "2022-11-21", "2022-11-22"},
		{"on Monday", "2022-11-14", "2022-11-15"},
		{"last summer", "2022-06-01", "2022-09-01"},
		{"last winter", "2021-12-01", "2022-03-01"},
		{"next spring", "2023-03-01", "2023-06-01"},
		{"last March", "2022-03-01", "2022-04-01"},
		{"in March", "2022-03-01", "2022-04-01"},
		{"in December", "2021-12-01", "2022-01-01"},
		{"in November", "2022-11-01", "2022-12-01"},
		{"in 2019", "2019-01-01", "2020-01-01"},
		{"March 2027", "2027-03-01", "2027-04-01"},
		{"3 May 2024", "2024-05-03", "2024-05-04"},
		{"on the 3rd of May 2024", "2024-05-03", "2024-05-04"},
		{"May 3rd, 2024", "2024-05-03", "2024-05-04"},
		{"May 3", "2022-05-03", "2022-05-04"},
		{"2024-05-03", "2024-05-03", "2024-05-04"},
		{"2024-05", "2024-05-01", "2024-06-01"},
		{"25/12/2021", "2021-12-25", "2021-12-26"},
		{"12/25/2021", "2021-12-25", "2021-12-26"},
		{"29 February 2020", "2020-02-29", "2020-03-01"},
		{"two weeks ago", "2022-10-31", "2022-11-07"},
		{"a week ago", "2022-11-07", "2022-11-14"},
		{"3 days ago", "2022-11-15", "2022-11-16"},
		{"a couple of months ago", "2022-08-01", "2022-10-01"},
		{"a few years ago", "2017-01-01", "2021-01-01"},
		{"in two weeks", "2022-11-28", "2022-12-05"},
		{"in 3 days", "2022-11-21", "2022-11-22"},
		{"summer 2019", "2019-06-01", "2019-09-01"},
		{"the summer of 2019", "2019-06-01", "2019-09-01"},
		{"winter 2019", "2019-12-01", "2020-03-01"},
		{"early 2020", "2020-01-01", "2020-05-02"},
		{"the end of last month", "2022-10-21", "2022-11-01"},
		{"the 1990s", "1990-01-01", "2000-01-01"},
		{"the 90s", "1990-01-01", "2000-01-01"},
	}
	for _, tt := range tests {
		v, ok := extract.ResolveTime(tt.words, friday, 0)
		if got := v.Earliest.Format(day); !ok || got != tt.from || v.Latest.Format(day) != tt.to || v.Words != tt.words {
			t.Errorf("%q: [%s, %s) %v, want [%s, %s)", tt.words, got, v.Latest.Format(day), ok, tt.from, tt.to)
		}
	}
}

func TestResolveTimeAhead(t *testing.T) {
	tests := []struct{ words, from, to string }{
		{"in March", "2023-03-01", "2023-04-01"},
		{"in November", "2023-11-01", "2023-12-01"},
		{"on Friday", "2022-11-25", "2022-11-26"},
		{"on 1 May", "2023-05-01", "2023-05-02"},
		{"18 November", "2022-11-18", "2022-11-19"},
		{"this summer", "2022-06-01", "2022-09-01"},
		{"yesterday", "2022-11-17", "2022-11-18"},
	}
	for _, tt := range tests {
		v, ok := extract.ResolveTimeAhead(tt.words, friday, 0)
		if !ok || v.Earliest.Format(day) != tt.from || v.Latest.Format(day) != tt.to {
			t.Errorf("%q: [%s, %s) %v, want [%s, %s)", tt.words, v.Earliest.Format(day), v.Latest.Format(day), ok, tt.from, tt.to)
		}
	}
}

func TestNoTime(t *testing.T) {
	for _, words := range []string{"", " ", "recently", "soon", "Paris", "03/04/2024", "30 February 2022", "32 May", "the", "in",
		"five", "years ago", "a while ago", "last", "0 days ago", "March March", "2024-13", "in a bit", "monday 99"} {
		if v, ok := extract.ResolveTime(words, friday, 0); ok {
			t.Errorf("%q resolved to [%s, %s)", words, v.Earliest, v.Latest)
		}
	}
	if _, ok := extract.ResolveTime("yesterday", time.Time{}, 0); ok {
		t.Error("resolved against an unknown time")
	}
}

// A day begins at midnight where it was said, not in UTC.
func TestOffset(t *testing.T) {
	at := time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC) // 2 March, 01:30 at +02:00
	v, ok := extract.ResolveTime("yesterday", at, 2*3600)
	if want := time.Date(2026, 2, 28, 22, 0, 0, 0, time.UTC); !ok || !v.Earliest.Equal(want) || !v.Latest.Equal(want.Add(24*time.Hour)) {
		t.Errorf("yesterday at +02:00 = [%s, %s)", v.Earliest, v.Latest)
	}
	v, _ = extract.ResolveTime("yesterday", at, -5*3600) // still 1 March
	if want := time.Date(2026, 2, 28, 5, 0, 0, 0, time.UTC); !v.Earliest.Equal(want) {
		t.Errorf("yesterday at -05:00 begins %s", v.Earliest)
	}
	if v.Earliest.Location() != time.UTC {
		t.Error("not in UTC")
	}
}

func TestLasting(t *testing.T) {
	v, ok := extract.Lasting("five years", friday, 0)
	if !ok || v.Earliest.Format(day) != "2017-01-01" || v.Latest.Format(day) != "2018-01-01" {
		t.Errorf("five years = [%s, %s) %v", v.Earliest, v.Latest, ok)
	}
}

func FuzzResolveTime(f *testing.F) {
	for _, s := range []string{"last week", "in 3 days", "3 May 2024", "the end of last month", "25/12/2021", "90s", "early early 2020", "999 years ago"} {
		f.Add(s, int64(1668765600), 3600)
	}
	f.Fuzz(func(t *testing.T, words string, unix int64, offset int) {
		at := time.Unix(unix%4e9, 0)
		for _, resolve := range []func(string, time.Time, int) (memory.Vague, bool){extract.ResolveTime, extract.ResolveTimeAhead, extract.Lasting} {
			if v, ok := resolve(words, at, offset%86400); ok && !v.Earliest.Before(v.Latest) {
				t.Errorf("%q: [%s, %s) is empty", words, v.Earliest, v.Latest)
			}
		}
	})
}
