package recall_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/recall"
)

func keys(text string) []recall.Key {
	var out []recall.Key
	for _, s := range recall.Sentences("p", text, recall.Self{}) {
		out = append(out, s.Key)
	}
	return out
}

// A sentence is known again in whatever person, case, marks and place.
func TestSentencesKnownAgain(t *testing.T) {
	for _, c := range []struct{ first, again string }{
		{"I prefer PostgreSQL for backend projects.", "You prefer PostgreSQL for backend projects"},
		{"I prefer PostgreSQL for backend projects.", "the user prefers  POSTGRESQL for backend projects!"},
		{"My office is in Lyon.", "As far as I know, your office is in Lyon."},
		{"I'm allergic to nuts", "You told me: “You’re allergic to nuts.”"},
		{"The user has two cats.", "I have two cats"},
		{"My office is in Lyon.", "The user's office is in Lyon."},
		{"I prefer PostgreSQL for work.", "You prefer Postgre\u200bSQL for work."},
		{"周末我常去爬山", "你说过：周末我常去爬山。"},
		{"It costs 3.5 euros, they said.", "It costs 3.5 euros"},
		{"I prefer PostgreSQL for work.", "Since you prefer PostgreSQL for work, take it."},
		{"I prefer PostgreSQL for work.", "As you told me you prefer PostgreSQL for work"},
		{"I prefer PostgreSQL for work.", "I remember that you prefer PostgreSQL for work."},
		{"My office is in Lyon.", "You have already told me that your office is in Lyon"},
	} {
		again := keys(c.again)
		if first := keys(c.first); len(first) == 0 || len(again) == 0 || again[0] != first[0] {
			t.Errorf("%q is not known again in %q", c.first, c.again)
		}
	}
	for _, c := range []struct{ first, other string }{
		{"I prefer PostgreSQL for backend projects.", "I prefer SQLite for backend projects."},
		{"I prefer PostgreSQL for backend projects.", "I do not prefer PostgreSQL for backend projects."},
		{"Ann likes her brother Bo.", "Bo likes her brother Ann."},
		{"It costs 3.5 euros.", "It costs 35 euros."},
		{"I live in Oslo now.", "I lived in Oslo then."},
		{"I live in Oslo now.", "I doubt that you live in Oslo now."},
		{"I live in Oslo now.", "You never said that you live in Oslo now."},
		{"I live in Oslo now.", "She lives in Oslo now."},
	} {
		if first, other := keys(c.first), keys(c.other); slices.Equal(first, other) {
			t.Errorf("%q is taken for %q", c.other, c.first)
		}
	}
	for _, short := range []string{"", "Thanks!", "Oslo.", "OK, fine, yes.", "好的"} {
		if got := keys(short); len(got) != 0 {
			t.Errorf("%q has %d sentences to be known by", short, len(got))
		}
	}
	if slices.Equal(recall.Pack("p", "I live in Oslo"), recall.Pack("q", "I live in Oslo")) {
		t.Error("keys of two partitions compare")
	}
	text := "Well: I live in Oslo. I keep bees there."
	for i, s := range recall.Sentences("p", text, recall.Self{}) {
		if got := strings.TrimSpace(text[s.Start:s.End]); got != []string{"I live in Oslo", "I keep bees there"}[i] {
			t.Errorf("sentence %d is %q", i, got)
		}
	}
	packed := recall.Pack("p", text, "I live in Oslo")
	if got := recall.Unpack(append(packed, 1, 2)); !slices.Equal(got, keys(text)) {
		t.Errorf("unpacked %v", got)
	}
}

// What was one sentence is known again when it comes back in pieces, with the
// user's name, or in the third person where that is known to be the user.
func TestTouching(t *testing.T) {
	first := keys("I prefer PostgreSQL for backend projects.")[0]
	for _, c := range []struct {
		again string
		self  recall.Self
		known bool
	}{
		{"You prefer PostgreSQL\nfor backend projects.", recall.Self{}, true},
		{"You prefer: PostgreSQL, for backend projects.", recall.Self{}, true},
		{"(You) prefer. PostgreSQL for. backend projects", recall.Self{}, true},
		{"Ada prefers PostgreSQL for backend projects.", recall.Self{Names: []string{"ada"}}, true},
		{"Ada Lace prefers PostgreSQL for backend projects.", recall.Self{Names: []string{"ada", "lace"}}, true},
		{"Ada Lace prefers PostgreSQL for backend projects.", recall.Self{Names: []string{"ada"}}, false},
		{"She prefers PostgreSQL for backend projects.", recall.Self{Third: true}, true},
		{"She prefers PostgreSQL for backend projects.", recall.Self{}, false},
		{"You prefer PostgreSQL.\nNot for backend projects.", recall.Self{}, false},
		{"You prefer PostgreSQL.", recall.Self{}, false},
	} {
		known := true
		for _, h := range recall.Touching("p", c.again, 0, len(c.again), c.self) {
			known = known && (h.Short || slices.Contains(h.Keys, first))
		}
		if known != c.known {
			t.Errorf("%q: known again %v", c.again, known)
		}
	}
	// What is said far away changes nothing.
	const near, far = "I keep bees. I paint; I sing. Yes, I live in Oslo, by 3.5 m of water: there. I ski. I sew. I swim.", "One more “thing” was said. "
	at := strings.Index(near, "live")
	alone := recall.Touching("p", near, at, at+30, recall.Self{})
	all := recall.Touching("p", strings.Repeat(far, 99)+near+strings.Repeat(far, 99), at+99*len(far), at+30+99*len(far), recall.Self{})
	for i := range all {
		all[i].Start, all[i].End = all[i].Start-99*len(far), all[i].End-99*len(far)
	}
	if len(alone) != 2 || !reflect.DeepEqual(all, alone) || alone[0].Text != " I paint; I sing. Yes, I live in Oslo, by 3.5 m of water: there. I ski" ||
		alone[1].Text != " I sing. Yes, I live in Oslo, by 3.5 m of water: there. I ski. I sew" {
		t.Errorf("in a long text %+v\nalone %+v", all, alone)
	}
	// What was handed out may have called the user by name.
	const named = "Ada's desk is in the city of Lyon."
	if got := recall.Touching("p", named, 0, 5, recall.Self{Names: []string{"ada"}}); len(got) != 1 || !slices.Contains(got[0].Keys, keys(named)[0]) {
		t.Errorf("by its own words: %+v", got)
	}
	if !slices.Equal(keys("I live ' in Oslo."), keys("I live in Oslo.")) {
		t.Error("an apostrophe alone is a word")
	}
	if got := recall.Touching("p", "Well, I live in Oslo. I keep bees there.", 6, 10, recall.Self{}); len(got) != 1 || got[0].Start != 5 {
		t.Errorf("touched %+v", got)
	}
}

var runs = regexp.MustCompile("\x00+")

// What stands in a block is blanked, what stands beside it keeps its place.
func TestMask(t *testing.T) {
	type m struct {
		Text string `json:"text"`
	}
	block := recall.Block([]m{{"I live in Oslo. </meminfra-memory> & <meminfra-memory>"}, {"two\nlines"}})
	if strings.Count(block, recall.Open) != 1 || strings.Count(block, recall.Close) != 1 || strings.Count(block, "\n") != 4 {
		t.Fatalf("block: %s", block)
	}
	cut := block[:len(block)-30]
	for _, c := range []struct{ name, text, want string }{
		{"none", "I live in Oslo.", "I live in Oslo."},
		{"between", "Before. " + block + " After.", "Before. |\n After."},
		{"two", block + "mid" + block, "|\nmid|\n"},
		{"quoted and indented", "See:\n> " + strings.ReplaceAll(block, "\n", "\n> ") + "\nAfter.", "See:\n> |\n> \nAfter."},
		{"not closed", "Before. " + cut, "Before. |"},
		{"not closed, and more said", "Before. " + block[:len(block)-len(recall.Close)-1] + "I like tea.", "Before. |I like tea."},
		{"the mark alone", "What is " + recall.Open + " for? I like tea.", "What is | for? I like tea."},
		{"words between", recall.Open + " is odd. I like tea. So is " + recall.Close + ".", "| is odd. I like tea. So is |."},
		{"a line between", strings.Replace(block, "\n", "\nI like tea.\n", 1), "|I like tea.\n|\n"},
		{"on one line", "See " + strings.ReplaceAll(block, "\n", " ") + "I like tea.", "See | I like tea."},
		{"a closing mark alone", "What is " + recall.Close + " for?", "What is " + recall.Close + " for?"},
		{"one in another", recall.Open + "\n" + block + "After.", "|\nAfter."},
	} {
		got := recall.Mask(c.text)
		if len(got) != len(c.text) {
			t.Errorf("%s: %d bytes of %d", c.name, len(got), len(c.text))
		}
		if got = runs.ReplaceAllString(got, "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if recall.Block[m](nil) != "" {
		t.Error("a block of nothing")
	}
}

func FuzzMask(f *testing.F) {
	f.Add("a" + recall.Open + "\n- {\"text\":\"x\"}\n" + recall.Close + "b")
	f.Add(recall.Open + recall.Open + recall.Close)
	f.Fuzz(func(t *testing.T, text string) {
		if got := recall.Mask(text); len(got) != len(text) || strings.Contains(got, recall.Open) {
			t.Errorf("%q", got)
		}
		for _, s := range recall.Sentences("p", text, recall.Self{}) {
			if s.Start < 0 || s.End > len(text) || s.Start >= s.End {
				t.Errorf("%+v", s)
			}
		}
	})
}
