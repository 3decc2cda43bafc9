package meminfra_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/extract/patterns"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/predicates"
)

// monday is when messages of these tests are said, unless they say otherwise.
var monday = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// said is a user message with an id, n minutes after monday.
func said(id, text string, n int) meminfra.Message {
	return meminfra.Message{ID: id, Content: text, SentAt: monday.Add(time.Duration(n) * time.Minute)}
}

// told makes one message of each text, ids m1, m2, ..., a minute apart.
func told(texts ...string) []meminfra.Message {
	list := make([]meminfra.Message, len(texts))
	for i, text := range texts {
		list[i] = said("m"+strconv.Itoa(i+1), text, i)
	}
	return list
}

func addTo(user, conversation string, messages ...meminfra.Message) meminfra.AddRequest {
	return meminfra.AddRequest{UserID: user, ConversationID: conversation, Messages: messages}
}

func mustAdd(t testing.TB, ml *meminfra.MemoryLayer, req meminfra.AddRequest) *meminfra.AddResult {
	t.Helper()
	res, err := ml.Add(t.Context(), req)
	if err != nil {
		t.Fatalf("add: %v", err)
	}
	return res
}

func mustSearch(t testing.TB, ml *meminfra.MemoryLayer, req meminfra.SearchRequest) *meminfra.SearchResult {
	t.Helper()
	res, err := ml.Search(t.Context(), req)
	if err != nil {
		t.Fatalf("search: %v", err)
	}
	return res
}

func mustList(t testing.TB, ml *meminfra.MemoryLayer, user string, f meminfra.Filters) []meminfra.Record {
	t.Helper()
	res, err := ml.List(t.Context(), meminfra.ListRequest{UserID: user, Filters: f, Limit: 1000})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return res.Records
}

// values lists the values of records, in order.
func values(records []meminfra.Record) []string {
	list := make([]string, len(records))
	for i, r := range records {
		list[i] = r.Value
	}
	return list
}

// texts lists the texts of hits, in order.
func texts(hits []meminfra.SearchHit) []string {
	list := make([]string, len(hits))
	for i, h := range hits {
		list[i] = h.Text
	}
	return list
}

// actionsOf lists what an Add did, in order: "ADD new_fact".
func actionsOf(res *meminfra.AddResult) []string {
	list := make([]string, len(res.Actions))
	for i, a := range res.Actions {
		list[i] = string(a.Action) + " " + a.Reason
	}
	return list
}

// sameHits checks that two searches found the same, in the same order, with the
// same scores. Both must have been asked at the same time: recency counts.
func sameHits(t testing.TB, when string, got, want []meminfra.SearchHit) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d hits, want %d", when, len(got), len(want))
		return
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%s: hit %d is %s, want %s", when, i+1, brief(got[i]), brief(want[i]))
			return
		}
	}
}

func brief(h meminfra.SearchHit) string {
	return fmt.Sprintf("%s %s %q %v %+v %d witnesses", h.ID, h.Kind, h.Text, h.Score, h.Ranks, len(h.Evidence))
}

// partitionNamed is the partition whose id userPartition returns.
func partitionNamed(user string) memory.Partition {
	return memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionUser, Name: user}
}

// exists reports whether anything was ever written for the user.
func exists(t testing.TB, store storage.Store, user string) bool {
	t.Helper()
	heads, err := store.Heads(t.Context(), userPartition(user))
	if err != nil {
		t.Fatal(err)
	}
	return len(heads) > 0
}

// randomIDs lets several layers write to one store.
func randomIDs(o *meminfra.Options) { o.NewID = nil }

// frozen stops the clock, so that runs of different length tell the same times.
func frozen(o *meminfra.Options) {
	now := testClock().Now()
	o.Now = func() time.Time { return now }
}

// builtIn is the built-in extractor, compiled once.
func builtIn(t testing.TB) extract.Extractor {
	t.Helper()
	e, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var compiled = sync.OnceValues(func() (*patterns.Extractor, error) { return patterns.New(predicates.Default()) })

// hooked is an extractor with a hook that runs after it; its error is that of
// the extraction. The id stays the extractor's, as after a passing outage.
type hooked struct {
	extract.Extractor
	hook func() error
}

func (h hooked) Extract(ctx context.Context, in extract.Input) (extract.Output, error) {
	out, err := h.Extractor.Extract(ctx, in)
	if err == nil {
		err = h.hook()
	}
	return out, err
}

func withHook(t testing.TB, hook func() error) func(*meminfra.Options) {
	return func(o *meminfra.Options) { o.Extractor = hooked{builtIn(t), hook} }
}

var errExtractor = errors.New("extractor is out")

func failing() error { return errExtractor }

// verbatim is an extractor that proposes each message of a user as it stands,
// as an open fact about the speaker.
type verbatim struct{}

func (verbatim) ID() string { return "verbatim/1" }

func (verbatim) Extract(_ context.Context, in extract.Input) (extract.Output, error) {
	var out extract.Output
	for _, m := range in.Target {
		if m.Speaks.Type != "" {
			out.Candidates = append(out.Candidates, extract.Candidate{Subject: m.Speaks, Polarity: memory.Positive,
				EpisodeID: m.ID, Quote: m.Content, Start: -1})
		}
	}
	return out, nil
}

// asLocation is an extractor that reads every message, whoever speaks, as the
// name of the place where the user lives.
type asLocation struct{}

func (asLocation) ID() string { return "location/1" }

func (asLocation) Extract(_ context.Context, in extract.Input) (extract.Output, error) {
	var out extract.Output
	for _, m := range in.Target {
		out.Candidates = append(out.Candidates, extract.Candidate{Subject: memory.UserSubject, Predicate: "location",
			Value: m.Content, Polarity: memory.Positive, EpisodeID: m.ID, Quote: m.Content, Start: -1})
	}
	return out, nil
}

// bagOfWords is an embedder of a given name and width: each word is a direction.
type bagOfWords struct {
	name string
	dim  int
}

func (e bagOfWords) Model() string { return e.name }
func (e bagOfWords) Dim() int      { return e.dim }

func (e bagOfWords) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, e.dim)
		for word := range strings.FieldsSeq(strings.ToLower(text)) {
			h := fnv.New32a()
			h.Write([]byte(word))
			out[i][h.Sum32()%uint32(e.dim)] = 1
		}
		unit(out[i])
	}
	return out, nil
}

func unit(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
}

func withEmbedder(e llm.Embedder) func(*meminfra.Options) {
	return func(o *meminfra.Options) { o.Embedder = e }
}

// counted is an embedder that counts its calls and fails while broken is set.
type counted struct {
	llm.Embedder
	calls  atomic.Int64
	broken atomic.Bool
}

func (e *counted) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.calls.Add(1)
	if e.broken.Load() {
		return nil, errors.New("embedder is out")
	}
	return e.Embedder.Embed(ctx, texts)
}
