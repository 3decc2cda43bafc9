package extract_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meminfra/memory-layer/meminfra/extract"
)

func TestFindQuote(t *testing.T) {
	tests := []struct {
		name, content, quote string
		hint                 int
		want                 string // the stretch found, "" for none
		at                   int
	}{
		{"exact", "I live in Oslo.", "live in Oslo", -1, "live in Oslo", 2},
		{"exact beats folded", "OSLO oslo", "oslo", -1, "oslo", 5},
		{"the first without a hint", "tea or tea", "tea", -1, "tea", 0},
		{"the hint decides", "tea or tea", "tea", 7, "tea", 7},
		{"the nearest to a hint", "tea or tea or tea", "tea", 8, "tea", 7},
		{"a hint beyond the end", "tea or tea", "tea", 99, "tea", 7},
		{"case", "I LIVE in oslo.", "i live in Oslo", -1, "I LIVE in oslo", 0},
		{"white space", "I live\n   in\u00a0Oslo", "I live in Oslo", -1, "I live\n   in\u00a0Oslo", 0},
		{"space around the quote", "I live in Oslo", "  live in ", -1, "live in", 2},
		{"typographic apostrophe", "I don’t smoke", "I don't smoke", -1, "I don’t smoke", 0},
		{"typographic quotes and dashes", "“yes” – no", "\"yes\" - no", -1, "“yes” – no", 0},
		{"wide letters", "I use ＧＯ daily", "use go", -1, "use ＧＯ", 2},
		{"composed and decomposed", "the cafe\u0301 on Main", "caf\u00e9 on main", -1, "cafe\u0301 on Main", 4},
		{"ligature", "my of\ufb01ce", "my office", -1, "my of\ufb01ce", 0},
		{"no cut through a ligature", "of\ufb01ce", "ice", -1, "", 0},
		{"after wide text", "我住在 Oslo now", "oslo NOW", -1, "Oslo now", 10},
		{"zero width", "I li\u200bve here", "i live here", -1, "I li\u200bve here", 0},
		{"another word", "I live in Oslo", "I live in Rome", -1, "", 0},
		{"a missing word", "I do not live in Oslo", "I do live in Oslo", -1, "", 0},
		{"blank", "I live in Oslo", " \n", -1, "", 0},
		{"empty content", "", "x", 0, "", 0},
		{"invalid bytes", "a\xffb", "b", -1, "b", 2},
	}
	for _, tt := range tests {
		start, end, ok := extract.FindQuote(tt.content, tt.quote, tt.hint)
		if !ok && tt.want == "" {
			continue
		}
		if !ok || start != tt.at || tt.content[start:end] != tt.want {
			t.Errorf("%s: [%d, %d) %v, want %q at %d", tt.name, start, end, ok, tt.want, tt.at)
		}
	}
}

func FuzzFindQuote(f *testing.F) {
	f.Add("I don’t live in Oslo", "i don't LIVE", 3)
	f.Add("of\ufb01ce \xff", "ice", -1)
	f.Add("\u0301\u0301a", "a", 0)
	f.Fuzz(func(t *testing.T, content, quote string, hint int) {
		start, end, ok := extract.FindQuote(content, quote, hint)
		if ok && (start < 0 || end > len(content) || start >= end) {
			t.Fatalf("[%d, %d) of %d bytes", start, end, len(content))
		}
		if ok && utf8.ValidString(content) && !utf8.ValidString(content[start:end]) {
			t.Error("offsets inside a rune")
		}
		if !ok && strings.TrimSpace(quote) != "" && utf8.ValidString(quote) && strings.Contains(" "+content+" ", " "+quote+" ") && isASCII(content) {
			t.Error("a verbatim quote was not found")
		}
		if ok && strings.TrimSpace(content) != "" {
			if _, _, ok := extract.FindQuote(content, strings.ToUpper(content[start:end]), -1); !ok && isASCII(content) {
				t.Error("what was found is not found in upper case")
			}
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 0x7e || r < 0x20 }) < 0
}
