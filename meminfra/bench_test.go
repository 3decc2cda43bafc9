package meminfra_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// chatter makes n messages of a conversation from a fixed seed: one in eight
// states something about the speaker, the rest is talk of 8 to 24 words.
func chatter(n int) []meminfra.Message {
	rng := rand.New(rand.NewPCG(7, 31))
	vocabulary := makeWords(rng, 2000)
	list := make([]meminfra.Message, n)
	for i := range list {
		text := talkOf(rng, vocabulary)
		switch i % 64 {
		case 0:
			text = "I live in " + cities[rng.IntN(len(cities))] + "."
		case 8, 24:
			text = "I am allergic to " + allergens[rng.IntN(len(allergens))] + "."
		case 16, 40:
			text = "I use " + []string{"PostgreSQL", "SQLite", "MySQL"}[rng.IntN(3)] + "."
		case 32, 48, 56:
			text = "I work at " + strings.ToUpper(vocabulary[i%50][:1]) + vocabulary[i%50][1:] + " Ltd. " + text
		}
		list[i] = meminfra.Message{ID: strconv.Itoa(i), Content: text, SentAt: monday.Add(time.Duration(i) * time.Minute)}
	}
	return list
}

// makeWords makes words of two to four syllables.
func makeWords(rng *rand.Rand, n int) []string {
	syllables := strings.Fields("ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu bran clem dust fern grom")
	words := make([]string, n)
	for i := range words {
		for range 2 + rng.IntN(3) {
			words[i] += syllables[rng.IntN(len(syllables))]
		}
	}
	return words
}

// talkOf makes a sentence whose words are as unevenly common as in speech.
func talkOf(rng *rand.Rand, vocabulary []string) string {
	words := make([]string, 8+rng.IntN(17))
	for i := range words {
		u := rng.Float64()
		words[i] = vocabulary[int(u*u*u*float64(len(vocabulary)))]
	}
	return "The " + strings.Join(words, " ") + "."
}

func benchStores(b *testing.B, run func(b *testing.B, store storage.Store)) {
	b.Run("store=sqlite", func(b *testing.B) { run(b, openSQLite(b)) })
	b.Run("store=postgres", func(b *testing.B) { run(b, openPostgres(b)) })
}

// addAll adds messages in calls of the given size.
func addAll(b *testing.B, ml *meminfra.MemoryLayer, user string, list []meminfra.Message, batch int) {
	b.Helper()
	for len(list) > 0 {
		n := min(batch, len(list))
		if _, err := ml.Add(context.Background(), addTo(user, "c", list[:n]...)); err != nil {
			b.Fatal(err)
		}
		list = list[n:]
	}
}

// BenchmarkAdd adds 10,000 messages to a new user, 500 a call; msgs/s is what
// counts.
func BenchmarkAdd(b *testing.B) {
	const messages, batch = 10_000, 500
	list := chatter(messages)
	benchStores(b, func(b *testing.B, store storage.Store) {
		b.Run(fmt.Sprintf("messages=%d/batch=%d", messages, batch), func(b *testing.B) {
			ml := newLayer(b, store, randomIDs, func(o *meminfra.Options) { o.Now = nil })
			b.ReportAllocs()
			user := 0
			for b.Loop() {
				user++
				addAll(b, ml, fmt.Sprint(b.N, "-", user), list, batch)
			}
			b.ReportMetric(float64(messages*b.N)/b.Elapsed().Seconds(), "msgs/s")
		})
	})
}

// teller proposes the skill that a message names, so that a benchmark of
// deciding is not one of extracting.
type teller struct{}

func (teller) ID() string { return "teller/1" }

func (teller) Extract(_ context.Context, in extract.Input) (extract.Output, error) {
	var out extract.Output
	for _, m := range in.Target {
		out.Candidates = append(out.Candidates, extract.Candidate{Subject: m.Speaks, Predicate: "skill", Value: m.Content,
			Polarity: memory.Positive, EpisodeID: m.ID, Quote: m.Content})
	}
	return out, nil
}

// BenchmarkDecide adds statements to a partition that holds 10,000 items, half of
// them known, half new: one a call, and 500 a call. decisions/s is what counts.
func BenchmarkDecide(b *testing.B) {
	const items = 10_000
	skill := func(i int) meminfra.Message { return meminfra.Message{Content: fmt.Sprintf("skill number %d", i)} }
	benchStores(b, func(b *testing.B, store storage.Store) {
		for _, batch := range []int{1, 500} {
			b.Run(fmt.Sprintf("items=%d/batch=%d", items, batch), func(b *testing.B) {
				ml := newLayer(b, store, randomIDs, func(o *meminfra.Options) { o.Now, o.Extractor = nil, teller{} })
				user := fmt.Sprint("ada", batch, "-", b.N)
				all := make([]meminfra.Message, items)
				for i := range all {
					all[i] = skill(i)
				}
				addAll(b, ml, user, all, 500)
				b.ReportAllocs()
				next := items
				for b.Loop() {
					list := make([]meminfra.Message, batch)
					for i := range list {
						list[i] = skill(next - items*(next%2))
						next++
					}
					addAll(b, ml, user, list, batch)
				}
				b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "decisions/s")
			})
		}
	})
}
