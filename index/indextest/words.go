package indextest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/index"
)

// NewWords makes the engine under test.
type NewWords func(rows int) index.WordEngine

// Words proves a word engine.
func Words(t *testing.T, open NewWords) {
	t.Run("Finds", func(t *testing.T) { wordFinds(t, open) })
	t.Run("Empty", func(t *testing.T) { wordEmpty(t, open) })
	t.Run("Ties", func(t *testing.T) { wordTies(t, open) })
	t.Run("Rarity", func(t *testing.T) { wordRarity(t, open) })
	t.Run("Delete", func(t *testing.T) { wordDelete(t, open) })
	t.Run("Replace", func(t *testing.T) { wordReplace(t, open) })
	t.Run("Refill", func(t *testing.T) { wordRefill(t, open) })
	t.Run("TopK", func(t *testing.T) { wordTopK(t, open) })
	t.Run("Hidden", func(t *testing.T) { wordHidden(t, open) })
	t.Run("Rebuild", func(t *testing.T) { wordRebuild(t, open) })
	t.Run("Score", func(t *testing.T) { wordScore(t, open) })
}

// wordFinds: each query finds its text, in every script (wild fault A17).
func wordFinds(t *testing.T, open NewWords) {
	texts := []string{
		"Gina: I launched an ad campaign for my clothing store!",
		"周末我常去爬山",
		"昨天用scan9检查了仓库",
		"週末は山に登ります。東京タワーも見ました",
		"주말에는 등산을 자주 갑니다",
		"วันหยุดฉันชอบไปปีนเขา",
		"Er wohnt in der Straße am Café Zürich",
		"Она живёт в Москве",
		"אני גר בירושלים",
		"أعيش في القاهرة",
		"I write C++ and C# at work, version 3.5",
		"Budget: 12000 euros 🎉",
		"μέγας Ὀδυσσεύς",
		"ＦＵＬＬＷＩＤＴＨ text",
	}
	x := fillWords(open, texts)
	for query, want := range map[string]int{
		"launching campaigns": 0, "STORE": 0, "Gina's stores": 0,
		"爬山": 1, "山": 1, "周末我": 1,
		"仓库": 2, "scan9": 2, "SCAN9": 2,
		"東京": 3, "タワー": 3, "登ります": 3,
		"등산": 4, "주말에는": 4,
		"ปีนเขา":  5,
		"strasse": 6, "STRASSE": 6, "cafe": 6, "cafés": 6, "zurich": 6, "Zu\u0308rich": 6,
		"москве": 7, "ЖИВЁТ": 7,
		"בירושלים": 8, "القاهرة": 9,
		"c++": 10, "C#": 10, "3.5": 10,
		"🎉": 11, "12000": 11,
		"ΟΔΥΣΣΕΥΣ": 12, "μεγασ": 12,
		"fullwidth": 13,
	} {
		hits := x.Search(query, nil, 3)
		if !slices.Contains(rowsOf(hits), want) {
			t.Errorf("%q finds %v, want row %d", query, hits, want)
		}
	}
}

func wordEmpty(t *testing.T, open NewWords) {
	x := open(0)
	x.Delete(0)
	x.Delete(99)
	if hits := x.Search("river", nil, 5); len(hits) != 0 || x.Len() != 0 {
		t.Errorf("an empty engine has %d rows and finds %v", x.Len(), hits)
	}
	x.Set(3, "river")
	x.Set(4, "")
	x.Set(5, "?! \x00\xff")
	for _, k := range []int{0, -1, math.MinInt} {
		if hits := x.Search("river", nil, k); len(hits) != 0 {
			t.Errorf("k %d found %v", k, hits)
		}
	}
	for _, query := range []string{"", " \n", "?!", "mountain", "\xff\xfe", "\u200b"} {
		if hits := x.Search(query, nil, 5); len(hits) != 0 {
			t.Errorf("%q found %v", query, hits)
		}
	}
	if hits := x.Search("river", index.NewBitmap(0), 5); len(hits) != 0 {
		t.Errorf("nobody admitted, found %v", hits)
	}
	if got := rowsOf(x.Search("river", nil, math.MaxInt)); !slices.Equal(got, []int{3}) {
		t.Errorf("found rows %v, want 3", got)
	}
}

func wordTies(t *testing.T, open NewWords) {
	x := open(0)
	for _, row := range []int{5, 2, 9, 0, 7, 1} {
		x.Set(row, "river bank")
	}
	x.Set(8, "river bank river")
	want := []int{8, 0, 1, 2, 5, 7, 9}
	for k := 1; k <= len(want)+1; k++ {
		if got := rowsOf(x.Search("river", nil, k)); !slices.Equal(got, want[:min(k, len(want))]) {
			t.Errorf("k %d: rows %v, want %v", k, got, want[:min(k, len(want))])
		}
	}
}

// wordRarity: a rare word weighs more than a common one, two words more than one.
func wordRarity(t *testing.T, open NewWords) {
	x := fillWords(open, []string{"river bank", "river bank", "river bank", "heron bank", "river heron"})
	if got := rowsOf(x.Search("river heron", nil, 5)); !slices.Equal(got, []int{4, 3, 0, 1, 2}) {
		t.Errorf("rows %v, want 4 3 0 1 2", got)
	}
}

func wordDelete(t *testing.T, open NewWords) {
	const n, k = 300, 10
	texts := Texts(n, 1)
	x := fillWords(open, texts)
	full := x.Bytes()
	for _, row := range rand.New(rand.NewPCG(2, 2)).Perm(n) {
		if !slices.Contains(rowsOf(x.Search(texts[row], nil, n)), row) {
			t.Fatalf("row %d does not find itself", row)
		}
		x.Delete(row)
		x.Delete(row)
		if slices.Contains(rowsOf(x.Search(texts[row], nil, n)), row) {
			t.Fatalf("deleted row %d was found", row)
		}
	}
	if x.Len() != 0 || x.Bytes() > full {
		t.Errorf("emptied engine has %d rows and %d bytes of %d", x.Len(), x.Bytes(), full)
	}
}

func wordReplace(t *testing.T, open NewWords) {
	x := fillWords(open, []string{"river bank", "heron"})
	x.Set(0, "mountain heron")
	if hits := x.Search("river bank", nil, 5); len(hits) != 0 || x.Len() != 2 {
		t.Errorf("replaced text is found: %v, len %d", hits, x.Len())
	}
	if got := rowsOf(x.Search("heron mountain", nil, 5)); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("rows %v, want 0 1", got)
	}
}

func wordRefill(t *testing.T, open NewWords) {
	x := open(0)
	texts := Texts(40, 3)
	var want []index.Hit
	for round := range 3 {
		for row, s := range texts {
			x.Set(row, s)
			x.Set(row, s)
		}
		got := x.Search(texts[7], nil, 5)
		if round == 0 {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Fatalf("refilled: %v, want %v", got, want)
		}
		for row := range texts {
			x.Delete((row*7 + round) % len(texts))
		}
		if hits := x.Search(texts[7], nil, 5); x.Len() != 0 || len(hits) != 0 {
			t.Fatalf("emptied engine has %d rows and finds %v", x.Len(), hits)
		}
	}
}

// wordTopK: the best k are the first k of all, so nothing is skipped wrongly.
func wordTopK(t *testing.T, open NewWords) {
	const n = 3000
	x := fillWords(open, Texts(n, 4))
	rng := rand.New(rand.NewPCG(5, 5))
	for _, q := range Texts(60, 6) {
		words := strings.Fields(q)
		query := strings.Join(words[:1+rng.IntN(len(words))], " ")
		admitted, half := index.NewBitmap(n), index.NewBitmap(n)
		for row := range n {
			admitted.Set(row)
			if rng.IntN(2) == 0 {
				half.Set(row)
			}
		}
		for _, set := range []*index.Bitmap{nil, admitted, half} {
			all := x.Search(query, set, n)
			checkHits(t, all, len(all))
			for _, k := range []int{1, 3, 10, 100} {
				if got := x.Search(query, set, k); !slices.Equal(got, all[:min(k, len(all))]) {
					t.Fatalf("%q: best %d are %v, want %v", query, k, got, all[:min(k, len(all))])
				}
			}
		}
		if a, b := x.Search(query, nil, 10), x.Search(query, admitted, 10); !slices.Equal(a, b) {
			t.Fatalf("%q: nil set finds %v, full set %v", query, a, b)
		}
	}
}

// wordHidden: rows that are not admitted change no result, order or score.
func wordHidden(t *testing.T, open NewWords) {
	const n, hidden, k = 400, 1000, 50
	seen := Texts(n, 7)
	alone := fillWords(open, seen)
	crowd := open(0)
	rows, admitted := interleave(n, hidden)
	for i, s := range Texts(hidden, 8) {
		crowd.Set(rows.hidden[i], s+" "+s)
	}
	for i, s := range seen {
		crowd.Set(rows.seen[i], s)
	}
	for _, query := range Texts(60, 9) {
		want := alone.Search(query, nil, k)
		for i := range want {
			want[i].Row = rows.seen[want[i].Row]
		}
		if got := crowd.Search(query, admitted, k); !slices.Equal(got, want) {
			t.Fatalf("hidden rows changed the result: %v, want %v", got, want)
		}
	}
}

// wordRebuild: an engine that lived through changes answers like a new one.
func wordRebuild(t *testing.T, open NewWords) {
	const n, k = 400, 20
	texts := make([]string, n)
	pool := Texts(4*n, 10)
	x := open(0)
	rng := rand.New(rand.NewPCG(11, 11))
	for i := range 4 * n {
		row := rng.IntN(n)
		if rng.IntN(4) == 0 {
			x.Delete(row)
			texts[row] = ""
		} else {
			x.Set(row, pool[i])
			texts[row] = pool[i]
		}
	}
	fresh := fillWords(open, texts)
	if x.Len() != fresh.Len() {
		t.Fatalf("%d rows, a new engine has %d", x.Len(), fresh.Len())
	}
	for _, query := range Texts(60, 12) {
		want := fresh.Search(query, nil, k)
		if got := x.Search(query, nil, k); !slices.Equal(got, want) {
			t.Fatalf("after changes %v, rebuilt %v", got, want)
		}
	}
}

// wordScore: scores of given rows are those of a search, under the bound.
func wordScore(t *testing.T, open NewWords) {
	const n = 300
	x, ok := fillWords(open, Texts(n, 13)).(index.WordScorer)
	if !ok {
		t.Skip("no index.WordScorer")
	}
	admitted := index.NewBitmap(n)
	rows := []int{-1, n, n + 1000}
	for row := range n {
		rows = append(rows, row)
		if row%3 > 0 {
			admitted.Set(row)
		}
	}
	for _, query := range Texts(20, 14) {
		for _, set := range []*index.Bitmap{nil, admitted} {
			want := make(map[int]float64)
			for _, h := range x.Search(query, set, n) {
				want[h.Row] = h.Score
			}
			scores, bound := x.Score(query, set, rows)
			for i, row := range rows {
				if scores[i] != want[row] || scores[i] > bound {
					t.Fatalf("row %d scores %v, want %v, bound %v", row, scores[i], want[row], bound)
				}
			}
		}
	}
	if scores, bound := x.Score("", nil, rows[:1]); len(scores) != 1 || scores[0] != 0 || bound != 0 {
		t.Errorf("no query scores %v, bound %v", scores, bound)
	}
}

// fillWords makes an engine with one row per text; "" is no row.
func fillWords(open NewWords, texts []string) index.WordEngine {
	x := open(len(texts))
	for row, s := range texts {
		if s != "" {
			x.Set(row, s)
		}
	}
	return x
}
