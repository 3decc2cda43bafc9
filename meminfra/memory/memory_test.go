package memory

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestCanonicalMetadata(t *testing.T) {
	for name, c := range map[string]struct {
		in   Metadata
		want string
	}{
		"nothing":        {nil, ""},
		"sorted keys":    {Metadata{"b": 1, "a": []any{true, nil, "x"}, "é": "ü", "aa": map[string]any{"z": 0, "y": 1}}, `{"a":[true,null,"x"],"aa":{"y":1,"z":0},"b":1,"é":"ü"}`},
		"UTF-16 order":   {Metadata{"\U0001f600": 1, "\ufb01": 2}, "{\"\U0001f600\":1,\"\ufb01\":2}"},
		"numbers":        {Metadata{"a": 1e21, "b": 1e20, "c": 1e-7, "d": 0.000001, "e": math.Copysign(0, -1), "f": 333333333.33333329}, `{"a":1e+21,"b":100000000000000000000,"c":1e-7,"d":0.000001,"e":0,"f":333333333.3333333}`},
		"escapes":        {Metadata{"k": "\x01\b\t\n\f\r\"\\/<>\u2028"}, `{"k":"\u0001\b\t\n\f\r\"\\/<>` + "\u2028" + `"}`},
		"NUL and broken": {Metadata{"k\x00": "a\x00b"}, `{"k":"ab"}`},
	} {
		got, err := c.in.Canonical()
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
		back, err := ParseMetadata(got)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again, err := back.Canonical(); err != nil || again != got {
			t.Errorf("%s: canonical twice: %q, %v", name, again, err)
		}
	}
}

func TestMetadataThatWouldNotSurvive(t *testing.T) {
	for name, m := range map[string]Metadata{
		"an integer beyond 2^53": {"id": int64(1)<<53 + 1},
		"one beyond 2^63":        {"id": uint64(12345678901234567890)},
		"a function":             {"f": func() {}},
		"two keys that are one":  {"a": 1, "a\x00": 2},
	} {
		if s, err := m.Canonical(); err == nil {
			t.Errorf("%s: stored as %s", name, s)
		}
	}
	if _, err := (Metadata{"k": strings.Repeat("x", MaxMetadataBytes)}).Canonical(); !errors.Is(err, ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
}

func TestPartitionIDs(t *testing.T) {
	seen := map[string]Partition{}
	for _, p := range []Partition{
		{"default", PartitionUser, "ada"}, {"default", PartitionUser, "Ada"}, {"default", PartitionTeam, "ada"},
		{"default", PartitionUser, ""}, {"defaultu", "ser", "ada"}, {"default", "use", "rada"}, {"", PartitionUser, "ada"},
	} {
		id := p.ID()
		if old, ok := seen[id]; ok {
			t.Errorf("%v and %v share an id", old, p)
		}
		seen[id] = p
		if len(id) != 36 || id[14] != '8' {
			t.Errorf("%q is no UUID of version 8", id)
		}
	}
	if got := (Partition{DefaultTenant, PartitionUser, "ada"}).ID(); got != (Partition{DefaultTenant, PartitionUser, "ada"}).ID() {
		t.Error("not the same twice")
	}
}

func TestCheckID(t *testing.T) {
	for id, want := range map[string]error{
		"c1/%20'\" x": nil, strings.Repeat("é", 128): nil, strings.Repeat("x", 257): ErrTooLong,
		"": ErrBlank, " \u200b": ErrBlank, "a\x00": ErrMalformedID, "\xff": ErrMalformedID,
	} {
		if err := CheckID("id", id); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", id, err, want)
		}
	}
}

func TestCleanText(t *testing.T) {
	for in, want := range map[string]string{"plain": "plain", "a\x00b": "ab", "\xffx\xc3": "\ufffdx\ufffd", "日本": "日本"} {
		if got := CleanText(in); got != want || CleanText(got) != got {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestValidity(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2024, 1, n, 0, 0, 0, 0, time.UTC) }
	v := Validity{From: day(2), To: day(4)}
	for n, want := range map[int]bool{1: false, 2: true, 3: true, 4: false} {
		if v.Contains(day(n)) != want {
			t.Errorf("day %d: %v", n, !want)
		}
	}
	for _, w := range []Validity{v, {To: day(4)}, {From: day(2)}, {}} {
		if e := w.Emptied(); !e.Empty() {
			t.Errorf("%v emptied is %v", w, e)
		}
	}
}

func FuzzCleanTwice(f *testing.F) {
	f.Add("a\x00\xff é")
	f.Fuzz(func(t *testing.T, s string) {
		once := CleanText(s)
		if CleanText(once) != once {
			t.Errorf("cleaning twice differs")
		}
		if n := NormalText(once); NormalText(n) != n {
			t.Errorf("normal twice differs")
		}
		if n := FoldName(once); FoldName(n) != n {
			t.Errorf("folding twice differs")
		}
	})
}

// The words alone make a proposition: its identity in the open world.
func TestNormalText(t *testing.T) {
	if NormalText("The rehearsal is on 3 March.") != NormalText("the  rehearsal is on 3 march") {
		t.Error("case, white space and the full stop make no other proposition")
	}
	if NormalText("The rehearsal is on 3 March.") == NormalText("The rehearsal is on 8 March.") {
		t.Error("another date is another proposition")
	}
}
