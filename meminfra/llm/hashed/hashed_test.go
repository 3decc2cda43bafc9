package hashed_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/llm/hashed"
)

func embed(t testing.TB, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := hashed.New().Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

func cosine(a, b []float32) (sum float64) {
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

func TestShape(t *testing.T) {
	e := hashed.New()
	if e.Model() != "hashed-512/1" || e.Dim() != 512 {
		t.Errorf("%s, %d", e.Model(), e.Dim())
	}
	if got := embed(t); got != nil {
		t.Errorf("no texts give %v", got)
	}
	texts := []string{"river", "I prefer PostgreSQL", "周末我常去爬山", strings.Repeat("heron ", 50_000), "\xff river \x00"}
	for i, v := range embed(t, texts...) {
		if len(v) != 512 || math.Abs(cosine(v, v)-1) > 1e-6 {
			t.Errorf("text %d: %d numbers, squared length %v", i, len(v), cosine(v, v))
		}
		for _, x := range v {
			if x < 0 || math.IsNaN(float64(x)) {
				t.Fatalf("text %d holds %v", i, x)
			}
		}
	}
	for i, v := range embed(t, "", " \n\t", "?!…", "the of and", "It's what I'll do", "\u200b") {
		if cosine(v, v) != 0 {
			t.Errorf("featureless text %d is not the zero vector", i)
		}
	}
}

// The vectors of hashed-512/1 never change; a failure here asks for another
// version number.
func TestStable(t *testing.T) {
	sum := fnv.New64a()
	for _, v := range embed(t, "Gina launched an ad campaign for her store", "昨天用scan9检查了仓库", "Zürich Ωμέγα мой дом") {
		for _, x := range v {
			fmt.Fprintf(sum, "%08x", math.Float32bits(x))
		}
	}
	const want uint64 = 0x4b995079acf09e7e
	if got := sum.Sum64(); got != want {
		t.Errorf("vectors changed: %#x, want %#x", got, want)
	}
}

func TestNear(t *testing.T) {
	for _, c := range []struct{ text, near, far string }{
		{"launching a campaign", "she launched campaigns", "he sings in a choir"},
		{"PostgreSQL", "postgres", "mountains"},
		{"Zürich", "zürichs", "Oslo"},
		{"爬山", "周末我常去爬山", "昨天用检查了仓库"},
		{"scan9", "昨天用scan9检查了仓库", "周末我常去爬山"},
		{"등산", "주말에는 등산을 자주 갑니다", "오늘은 비가 온다"},
		{"ＳＣＡＮ", "scan", "heron"},
	} {
		v := embed(t, c.text, c.near, c.far)
		if near, far := cosine(v[0], v[1]), cosine(v[0], v[2]); near <= far+0.1 {
			t.Errorf("%q: %.3f to %q, %.3f to %q", c.text, near, c.near, far, c.far)
		}
	}
	v := embed(t, "the river is wide", "RIVER, wide!")
	if got := cosine(v[0], v[1]); math.Abs(got-1) > 1e-6 {
		t.Errorf("case, signs and stop words make a difference: %v", got)
	}
}

func TestAlone(t *testing.T) {
	texts := []string{"river", "the", "heron by the river"}
	together := embed(t, texts...)
	for i, text := range texts {
		alone := embed(t, text)[0]
		for j := range alone {
			if alone[j] != together[i][j] {
				t.Fatalf("%q depends on its neighbours", text)
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := hashed.New().Embed(ctx, []string{"river"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

func ExampleEmbedder() {
	v, _ := hashed.New().Embed(context.Background(), []string{"launched campaigns", "launch a campaign", "sings in a choir"})
	near, far := 0.0, 0.0
	for i, x := range v[0] {
		near += float64(x) * float64(v[1][i])
		far += float64(x) * float64(v[2][i])
	}
	fmt.Println(near > 2*far)
	// Output: true
}

func BenchmarkEmbed(b *testing.B) {
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = fmt.Sprint("I launched the ad campaign for my clothing store in week ", i, " and sales went up, so we celebrated.")
	}
	e := hashed.New()
	b.Run("100", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := e.Embed(context.Background(), texts); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(texts)*b.N)/b.Elapsed().Seconds(), "texts/s")
	})
}
