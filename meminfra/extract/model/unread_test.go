package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/extract/model"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/predicates"
)

// target reads the messages that a request shows as its target.
func target(t *testing.T, r llm.Request) (list []struct{ ID, Text string }) {
	t.Helper()
	_, data, _ := strings.Cut(r.Messages[0].Content, "<target>\n")
	if err := json.Unmarshal([]byte(strings.TrimSuffix(data, "</target>\n")), &list); err != nil {
		t.Error(err)
	}
	return list
}

// noting is a model that notes each message as it stands, and answers garbage
// for a request that shows a message with the word poison.
func noting(t *testing.T) *memtest.Generator {
	return memtest.NewResponder(func(r llm.Request) string {
		var list []map[string]any
		for _, m := range target(t, r) {
			if strings.Contains(m.Text, "poison") {
				return "I would rather not."
			}
			list = append(list, p(m.Text, "message", m.ID))
		}
		return reply(list...)
	})
}

func extractor(t *testing.T, g llm.Generator, opts *model.Options) *model.Extractor {
	t.Helper()
	e, err := model.New(g, predicates.Default(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func unreadIDs(out extract.Output) (tried, untried []string) {
	for _, u := range out.Unread {
		if u.Untried {
			untried = append(untried, u.EpisodeID)
		} else {
			tried = append(tried, u.EpisodeID)
		}
	}
	return tried, untried
}

func quoted(out extract.Output) (ids []string) {
	for _, c := range out.Candidates {
		ids = append(ids, c.EpisodeID)
	}
	return ids
}

// One message that can never be read costs itself alone.
func TestUnreadMessage(t *testing.T) {
	g := noting(t)
	in := input("user", "I keep bees.", "user", "poison here", "user", "I live in Oslo.", "user", "I like tea.")
	out, err := extractor(t, g, nil).Extract(t.Context(), in)
	tried, untried := unreadIDs(out)
	if err != nil || !slices.Equal(tried, []string{"e2"}) || untried != nil || !slices.Equal(quoted(out), []string{"e1", "e3", "e4"}) {
		t.Errorf("read %v, unread %v and %v, error %v", quoted(out), tried, untried, err)
	}
	if n := len(g.Requests()); n != 3+1+3+1+1 {
		t.Errorf("%d requests, want three for all, one for each that can be read, three for the one that cannot", n)
	}
	var format *llm.FormatError
	if !errors.As(out.Unread[0].Err, &format) {
		t.Errorf("why: %v", out.Unread[0].Err)
	}
}

// What could not be read before is asked about alone, after the others.
func TestUnreadBeforeIsAlone(t *testing.T) {
	g := noting(t)
	in := input("user", "poison here", "user", "I keep bees.", "user", "fine now", "user", "I live in Oslo.")
	in.Target[0].Unread, in.Target[2].Unread = 2, 1
	out, err := extractor(t, g, nil).Extract(t.Context(), in)
	if tried, _ := unreadIDs(out); err != nil || !slices.Equal(tried, []string{"e1"}) || !slices.Equal(quoted(out), []string{"e2", "e3", "e4"}) {
		t.Errorf("read %v, unread %v, error %v", quoted(out), tried, err)
	}
	var shown []string
	for _, r := range g.Requests() {
		ids := ""
		for _, m := range target(t, r) {
			ids += m.ID
		}
		shown = append(shown, ids)
	}
	if got := strings.Join(shown, " "); got != "m2m4 m1 m1 m1 m3" {
		t.Errorf("asked about %s", got)
	}
}

// A model that answers nothing but garbage is not asked about every message.
func TestBrokenModelIsLeftAlone(t *testing.T) {
	g := memtest.NewResponder(func(llm.Request) string { return "garbage" })
	var lines []string
	for i := range 200 {
		lines = append(lines, "user", fmt.Sprintf("I own boat number %d.", i))
	}
	out, err := extractor(t, g, nil).Extract(t.Context(), input(lines...))
	tried, untried := unreadIDs(out)
	if err != nil || len(tried) != 3 || len(untried) != 197 || len(g.Requests()) != 3+3*3 {
		t.Errorf("%d tried, %d not, %d requests, error %v", len(tried), len(untried), len(g.Requests()), err)
	}
}

// A provider that fails half-way keeps what was read; one that refuses a request
// for what it holds refuses that message alone.
func TestProviderFailsHalfway(t *testing.T) {
	down := &llm.Error{Provider: "x", Status: 401, Reason: "no key"}
	opts := &model.Options{Budget: 60}
	in := input("user", "I keep bees.", "user", "I live in Oslo.", "user", "I like tea.")
	g := memtest.NewScript(memtest.Turn{Text: reply(p("I keep bees."))}, memtest.Turn{Err: down})
	out, err := extractor(t, g, opts).Extract(t.Context(), in)
	tried, untried := unreadIDs(out)
	if err != nil || len(tried) != 0 || !slices.Equal(untried, []string{"e2", "e3"}) || !slices.Equal(quoted(out), []string{"e1"}) || !errors.Is(out.Unread[0].Err, down) {
		t.Errorf("read %v, unread %v and %v, error %v", quoted(out), tried, untried, err)
	}
	refused := &llm.Error{Provider: "x", Status: 400, Reason: "content policy"}
	g = memtest.NewScript(memtest.Turn{Err: refused}, memtest.Turn{Text: reply(p("I live in Oslo.", "message", "m2"))}, memtest.Turn{Text: reply()})
	out, err = extractor(t, g, opts).Extract(t.Context(), in)
	if tried, untried = unreadIDs(out); err != nil || !slices.Equal(tried, []string{"e1"}) || untried != nil || !slices.Equal(quoted(out), []string{"e2"}) {
		t.Errorf("read %v, unread %v and %v, error %v", quoted(out), tried, untried, err)
	}
}

// Of a long message of which a part cannot be read nothing is taken.
func TestUnreadPart(t *testing.T) {
	long := strings.Repeat("I own a boat. ", 60) + "poison " + strings.Repeat("I own a car. ", 60)
	out, err := extractor(t, noting(t), &model.Options{Budget: 200, Overlap: 20}).Extract(t.Context(), input("user", "I keep bees.", "user", long))
	if tried, _ := unreadIDs(out); err != nil || !slices.Equal(tried, []string{"e2"}) || !slices.Equal(quoted(out), []string{"e1"}) {
		t.Errorf("read %v, unread %v, error %v", quoted(out), tried, err)
	}
}
