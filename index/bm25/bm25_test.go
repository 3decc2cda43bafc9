package bm25

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/indextest"
)

func TestContract(t *testing.T) {
	for _, opts := range []*Options{nil, {B: 0.75}, {K1: 1.2, B: 1}} {
		t.Run(fmt.Sprintf("%+v", opts), func(t *testing.T) {
			indextest.Words(t, func(rows int) index.WordEngine { return New(opts, rows) })
		})
	}
}

// The formula, by hand.
func TestScore(t *testing.T) {
	texts := []string{"river river bank", "river", "heron heron heron heron"}
	x := New(&Options{K1: 1.2, B: 0.75}, 0)
	for row, s := range texts {
		x.Set(row, s)
	}
	const n, df, avg = 3, 2, 8.0 / 3
	idf := math.Log(1 + (n-df+0.5)/(df+0.5))
	want := func(tf, length float64) float64 { return idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*length/avg)) }
	hits := x.Search("river", nil, 5)
	if len(hits) != 2 || math.Abs(hits[0].Score-want(1, 1)) > 1e-12 || math.Abs(hits[1].Score-want(2, 3)) > 1e-12 {
		t.Errorf("scores %v, want %v and %v", hits, want(1, 1), want(2, 3))
	}
}

func TestTerms(t *testing.T) {
	for _, c := range []struct{ text, index, query string }{
		{"", "", ""},
		{"Gina's stores weren't", "gina store weren't", "gina store weren't"},
		{"l'école d'Orléans, jusqu\u2019ici qu'il", "école ecol orléans orlean ici il", "école ecol orléans orlean ici il"},
		{"c'mon y'all, s'mores d'you 'tis aujourd'hui", "c'mon y'all s'more d'you tis aujourd'hui", "c'mon y'all s'more d'you tis aujourd'hui"},
		{"Gina\u2019s O'Brien 'quoted' rock'n'roll", "gina o'brien quot rock'n'rol", "gina o'brien quot rock'n'rol"},
		{"c++ C# f#, c+ #tag C#5 a++b", "c++ c# f# c tag c 5 a++ b", "c++ c# f# c tag c 5 a++ b"},
		{"v1.26.0 costs 3.5. 2024.", "v1.26.0 cost 3.5 2024", "v1.26.0 cost 3.5 2024"},
		{"Café CAFÉS naïve", "café cafe cafés cafe naïve naiv", "café cafe cafés cafe naïve naiv"},
		{"Straße ŁÓDŹ", "strass łódź lodz", "strass łódź lodz"},
		{"爬山", "爬 山 爬山", "爬山"},
		{"山", "山", "山"},
		{"用scan9检查", "用 scan9 检 查 检查", "用 scan9 检查"},
		{"タワーへ", "タ ワ ー へ タワ ワー ーへ", "タワ ワー ーへ"},
		{"ﾀﾜｰ", "タ ワ ー タワ ワー", "タワ ワー"},
		{"등산을", "등 산 을 등산 산을", "등산 산을"},
		{"мой ёж", "мой ёж", "мой ёж"},
		{"नमस्ते", "नमस्ते", "नमस्ते"},
		{"🎉🎉 ok ™", "🎉 🎉 ok tm", "🎉 🎉 ok tm"},
		{"user_id a-b x/y", "user id b x y", "user id b x y"},
		{"not no never", "not no never", "not no never"},
		{"\xff\xfea\x00b", "b", "b"},
		{strings.Repeat("9", 70), strings.Repeat("9", 64), strings.Repeat("9", 64)},
		{"x" + strings.Repeat("ж", 40), "x" + strings.Repeat("ж", 31), "x" + strings.Repeat("ж", 31)},
	} {
		var a analyzer
		for query, want := range map[bool]string{false: c.index, true: c.query} {
			a.run(c.text, query)
			var got []string
			for i := range a.len() {
				got = append(got, string(a.term(i)))
			}
			if !slices.Equal(got, strings.Fields(want)) {
				t.Errorf("%q (query %v): %q, want %q", c.text, query, got, want)
			}
		}
	}
}

// Words and stems of Snowball's published English vocabulary.
func TestStem(t *testing.T) {
	const pairs = `consign consign consigned consign consigning consign consignment consign consistency consist
		knack knack knackeries knackeri knavish knavish knitted knit knotted knot
		launched launch campaigns campaign running run hopping hop hoping hope hated hate
		generously generous communication communic arsenal arsenal happily happili happy happi
		skies sky dying die early earli news news innings inning proceed proceed succeeding succeed
		gas gas this this kiwis kiwi ties tie cries cri agreed agre feed feed
		relational relat conditional condit rationalization ration electricity electr
		hopefulness hope replacement replac adjustment adjust adoption adopt probate probat controlling control
		say say by by enjoy enjoy boy's boy yes yes youth youth sayings say fluently fluentli
		vileness vile analogously analog`
	words := strings.Fields(pairs)
	for i := 0; i < len(words); i += 2 {
		if got := string(stem([]byte(words[i]))); got != words[i+1] {
			t.Errorf("stem %q is %q, want %q", words[i], got, words[i+1])
		}
	}
}

// Nothing of a deleted text stays in memory (wild fault A13).
func TestDeleteForgetsTerms(t *testing.T) {
	x := New(nil, 0)
	x.Set(0, "the heron by the river")
	before := x.Bytes()
	x.Set(1, "secret passphrase")
	x.Delete(1)
	if x.Terms() != 2 {
		t.Errorf("%d terms, want 2", x.Terms())
	}
	for _, l := range x.lists {
		if l.term == "secret" || l.term == "passphras" {
			t.Errorf("term %q is still there", l.term)
		}
	}
	for range 100 {
		x.Set(1, "secret passphrase")
		x.Delete(1)
	}
	if got := x.Bytes(); got > before+1000 {
		t.Errorf("%d bytes after churn, %d before", got, before)
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{"Gina's C++", "周末我常去爬山", "e\u0301 \xff", "1.2.", "a\u2019", "''''"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var a analyzer
		a.run(s, false)
		terms := make(map[string]bool)
		for i := range a.len() {
			term := string(a.term(i))
			if term == "" || len(term) > maxTerm {
				t.Fatalf("term %q", term)
			}
			terms[term] = true
		}
		a.run(s, true)
		for i := range a.len() {
			if !terms[string(a.term(i))] {
				t.Fatalf("query term %q is no term of its own text", a.term(i))
			}
		}
	})
}

func FuzzStem(f *testing.F) {
	f.Add("generously")
	f.Fuzz(func(t *testing.T, s string) {
		w := []byte(s)
		if !isEnglish(w) || len(w) == 0 {
			t.Skip()
		}
		if got := porter2(w); len(got) > len(s)+1 {
			t.Fatalf("%q grew to %q", s, got)
		}
	})
}

func BenchmarkBM25(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		texts := indextest.Texts(n, 1)
		x := New(nil, n)
		for row, s := range texts {
			x.Set(row, s)
		}
		half := index.NewBitmap(n)
		for row := 0; row < n; row += 2 {
			half.Set(row)
		}
		queries := make([]string, 64)
		for i, q := range indextest.Texts(len(queries), 2) {
			queries[i] = strings.Join(strings.Fields(q)[:6], " ")
		}
		for name, admitted := range map[string]*index.Bitmap{"all": nil, "half": half} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					x.Search(queries[i%len(queries)], admitted, 10)
				}
			})
		}
	}
}

func BenchmarkBM25Build(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		texts := indextest.Texts(n, 1)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x := New(nil, n)
				for row, s := range texts {
					x.Set(row, s)
				}
			}
		})
	}
}

// An irregular form finds its word and is found by it; a reference goes without.
func TestFormsFindTheirWord(t *testing.T) {
	pairs := [][2]string{
		{"When did she buy the lamp?", "I bought it on Monday."}, {"Who taught you?", "Nobody teaches me."},
		{"What does the kid draw?", "The children sleep."}, {"Mum's recipe", "My mother cooks."}, {"favourite colour", "a favorite color"},
		{"two puppies", "2 pups"}, {"Which women sang?", "One woman sings."},
	}
	for _, p := range pairs {
		for _, plain := range []bool{false, true} {
			x := New(&Options{PlainStems: plain}, 2)
			x.Set(0, "nothing of the kind here")
			x.Set(1, p[1])
			if hits := x.Search(p[0], nil, 1); (len(hits) == 1 && hits[0].Row == 1) == plain {
				t.Errorf("%q finds %q: %v with PlainStems %v", p[0], p[1], hits, plain)
			}
		}
	}
}

// No form may stand for two words, be a stop word, or undo another.
func TestFormsAreSound(t *testing.T) {
	seen := map[string]string{}
	for line := range strings.Lines(forms) {
		word, list, ok := strings.Cut(line, ":")
		if !ok {
			t.Errorf("no form in %q", line)
		}
		for _, form := range strings.Fields(list) {
			if seen[form] != "" || stopWords[form] {
				t.Errorf("%q stands for %q and %q, or is a stop word", form, seen[form], word)
			}
			seen[form] = word
		}
	}
	for form, word := range seen {
		if seen[word] != "" {
			t.Errorf("%q is a form of %q, which is one of %q", form, word, seen[word])
		}
	}
}
