package main

import "testing"

func TestFit(t *testing.T) {
	for _, test := range []struct {
		columns, taken int
		text, want     string
	}{
		{0, 10, "any  length\nat all", "any length at all"},
		{30, 5, "exactly twenty-five cells", "exactly twenty-five cells"},
		{30, 6, "exactly twenty-five cells", "exactly twenty-five cel…"},
		{24, 4, "二十个格子正好装得下", "二十个格子正好装得下"},
		{24, 4, "二十个格子正好装不下吗", "二十个格子正好装不…"},
		{80, 10, "clear\x1b[2J the screen", "clear\uFFFD[2J the screen"},
		{80, 10, "right \u202eto left", "right \uFFFDto left"},
	} {
		a := &app{columns: test.columns}
		if got := a.fit(test.text, test.taken); got != test.want {
			t.Errorf("fit(%q, %d) in %d columns = %q, want %q", test.text, test.taken, test.columns, got, test.want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 messages", 1: "1 message", 2: "2 messages"} {
		if got := count(n, "message"); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{"sqlite:/a/b.db": "sqlite:/a/b.db", "a b": "'a b'", "it's": `'it'\''s'`} {
		if got := shellQuote(in); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", in, got, want)
		}
	}
}
