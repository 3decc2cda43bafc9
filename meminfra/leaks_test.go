package meminfra_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm/hashed"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// canary is in every text of the failing calls and in no error or log line.
const canary = "zanzibar7731"

// leakTest collects what failing calls say.
type leakTest struct {
	*testing.T
	store storage.Store
	log   bytes.Buffer
	users int
}

func (l *leakTest) layer(edit ...func(*meminfra.Options)) *meminfra.MemoryLayer {
	logger := slog.New(slog.NewTextHandler(&l.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return newLayer(l, l.store, append([]func(*meminfra.Options){randomIDs, func(o *meminfra.Options) { o.Logger = logger }}, edit...)...)
}

// request is an Add full of canaries, by a user of its own.
func (l *leakTest) request() meminfra.AddRequest {
	l.users++
	req := addTo(fmt.Sprint("ada", l.users), "c", told("I live in "+strings.ToUpper(canary[:1])+canary[1:]+".", "I work at "+canary+".")...)
	for i := range req.Messages {
		req.Messages[i].Metadata = memory.Metadata{canary: canary}
		req.Messages[i].Name = "Bo " + canary
	}
	return req
}

// fails checks the error of a call that must fail.
func (l *leakTest) fails(what string, err error) {
	l.Helper()
	if err == nil {
		l.Errorf("%s: no error", what)
	} else if strings.Contains(strings.ToLower(fmt.Sprintf("%v %+v %q", err, err, err)), canary) {
		l.Errorf("%s: the error tells: %v", what, err)
	}
}

func TestErrorsAndLogsTellNothing(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		l := &leakTest{T: t, store: store}
		l.refusedAdds()
		l.conflicts()
		l.brokenStores()
		l.brokenHelpers()
		l.refusedReads()
		if strings.Contains(strings.ToLower(l.log.String()), canary) {
			t.Errorf("the log tells:\n%s", l.log.String())
		}
		if l.log.Len() == 0 {
			t.Error("nothing was logged at all")
		}
	})
}

func (l *leakTest) refusedAdds() {
	edits := map[string]func(*meminfra.Message){
		"too long":              func(m *meminfra.Message) { m.Content = strings.Repeat(canary, 1<<17) },
		"role":                  func(m *meminfra.Message) { m.Role = canary },
		"id":                    func(m *meminfra.Message) { m.ID = canary + "\x00" },
		"name":                  func(m *meminfra.Message) { m.Name = strings.Repeat(canary, 30) },
		"time":                  func(m *meminfra.Message) { m.SentAt = time.Date(12000, 1, 1, 0, 0, 0, 0, time.FixedZone(canary, 0)) },
		"zone":                  func(m *meminfra.Message) { m.SentAt = monday.In(time.FixedZone(canary, 90*3600)) },
		"metadata of no JSON":   func(m *meminfra.Message) { m.Metadata[canary] = make(chan int) },
		"metadata number":       func(m *meminfra.Message) { m.Metadata[canary] = json.Number(canary) },
		"metadata big number":   func(m *meminfra.Message) { m.Metadata[canary] = int64(1) << 60 },
		"metadata raw JSON":     func(m *meminfra.Message) { m.Metadata[canary] = json.RawMessage(`{"` + canary + `": ` + canary + `}`) },
		"metadata double key":   func(m *meminfra.Message) { m.Metadata[canary+"\x00"] = 1 },
		"metadata over 64 KiB":  func(m *meminfra.Message) { m.Metadata[canary] = strings.Repeat(canary, 1<<14) },
		"metadata that refuses": func(m *meminfra.Message) { m.Metadata[canary] = time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC) },
	}
	for what, edit := range edits {
		req := l.request()
		edit(&req.Messages[1])
		_, err := l.layer().Add(l.Context(), req)
		l.fails(what, err)
	}
}

// conflicts are refused by what is stored: a message, a key, a constraint.
func (l *leakTest) conflicts() {
	req := l.request()
	req.IdempotencyKey = "k"
	mustAdd(l, l.layer(), req)
	req.Messages[0].Content += " " + canary
	_, err := l.layer().Add(l.Context(), req)
	l.fails("key reused", err)
	req.IdempotencyKey = ""
	_, err = l.layer().Add(l.Context(), req)
	l.fails("message id reused", err)

	always := func(o *meminfra.Options) { o.NewID = func() string { return "always the same" } }
	_, err = l.layer(always).Add(l.Context(), l.request())
	l.fails("constraint of the store", err)
	if !errors.Is(err, storage.ErrConflict) {
		l.Errorf("constraint of the store: %v", err)
	}
}

func (l *leakTest) brokenStores() {
	for n := 1; ; n++ {
		broken := memtest.NewFailingStore(l.store, n, nil)
		ml := newLayer(l, broken, randomIDs)
		_, err := ml.Add(l.Context(), l.request())
		if !broken.Failed() {
			break
		}
		l.fails(fmt.Sprint("broken write ", n), err)
	}
	ctx, cancel := context.WithCancel(l.Context())
	cancel()
	_, err := l.layer().Add(ctx, l.request())
	l.fails("cancelled", err)
	_, err = l.layer().Search(ctx, meminfra.SearchRequest{UserID: "ada1", Query: canary})
	l.fails("cancelled search", err)
}

// brokenHelpers fail without failing the call, which is logged.
func (l *leakTest) brokenHelpers() {
	_, err := l.layer(withHook(l, failing)).Add(l.Context(), l.request())
	l.fails("extractor", err)
	embedder := &counted{Embedder: hashed.New()}
	embedder.broken.Store(true)
	ml := l.layer(withEmbedder(embedder))
	req := l.request()
	res := mustAdd(l, ml, req)
	found := mustSearch(l, ml, meminfra.SearchRequest{UserID: req.UserID, Query: canary})
	if said := fmt.Sprint(res.Degraded, found.Degraded); len(res.Degraded) == 0 || len(found.Degraded) == 0 || strings.Contains(said, canary) {
		l.Errorf("degraded: %s", said)
	}
}

func (l *leakTest) refusedReads() {
	ml := l.layer()
	req := l.request()
	mustAdd(l, ml, req)
	for what, f := range map[string]meminfra.Filters{
		"filter value":         {Value: canary},
		"filter authority":     {MinAuthority: canary},
		"metadata value":       {Metadata: is("rank", "exists", canary)},
		"metadata list":        {Metadata: is("rank", "in", canary)},
		"metadata number":      {Metadata: is("rank", "eq", json.Number(canary))},
		"metadata nested list": {Metadata: is(canary, "in", []any{[]any{canary}})},
	} {
		_, err := ml.Search(l.Context(), meminfra.SearchRequest{UserID: req.UserID, Query: canary, Filters: f})
		l.fails(what, err)
		_, err = ml.List(l.Context(), meminfra.ListRequest{UserID: req.UserID, Filters: f})
		l.fails(what, err)
	}
	_, err := ml.Search(l.Context(), meminfra.SearchRequest{UserID: req.UserID, Query: strings.Repeat(canary, 1000)})
	l.fails("query too long", err)
	_, err = ml.Search(l.Context(), meminfra.SearchRequest{UserID: req.UserID, Query: canary, Limit: -1})
	l.fails("limit", err)
	_, err = ml.List(l.Context(), meminfra.ListRequest{UserID: req.UserID, Cursor: canary})
	l.fails("cursor", err)
	_, err = ml.Get(l.Context(), meminfra.GetRequest{UserID: req.UserID, ID: canary})
	l.fails("get", err)
	_, err = ml.History(l.Context(), meminfra.HistoryRequest{UserID: req.UserID, ID: canary + "\x00"})
	l.fails("history", err)
}
