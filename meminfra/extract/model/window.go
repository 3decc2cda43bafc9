package model

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// segment is a stretch of a target message, as much of it as one request shows.
type segment struct {
	message     *extract.Message
	handle      string // names the message in the request: m1, m2, ...
	start, end  int    // bytes of the content
	part, parts int    // from 1
}

func (s *segment) text() string { return s.message.Content[s.start:s.end] }

// window is what one request shows of the target.
type window struct {
	segments []segment
	before   []*extract.Message // of the target, shown as context
}

// find returns the segment that a handle names.
func (w *window) find(handle string) *segment {
	for i := range w.segments {
		if w.segments[i].handle == handle {
			return &w.segments[i]
		}
	}
	return nil
}

// alone is a window of one segment of this one.
func (w *window) alone(i int) *window {
	one := &window{segments: w.segments[i : i+1 : i+1], before: w.before}
	for n := max(0, i-carried); n < i; n++ {
		one.before = append(one.before[:len(one.before):len(one.before)], w.segments[n].message)
	}
	return one
}

// shown is what a segment costs beside its text: id, role, speaker, time.
const shown = 40

// plan cuts the target into windows of at most budget tokens, nothing left out.
// Messages stay whole where they fit; one that does not is cut into parts that
// overlap, in windows of their own. One that could not be read before comes last
// and alone, so that it stands in no other's way.
func plan(target []extract.Message, budget, overlap int) []window {
	p := planning{budget: budget, room: budget}
	for _, again := range []bool{false, true} {
		for i := range target {
			if m := &target[i]; (m.Unread > 0) == again {
				p.add(m, "m"+strconv.Itoa(i+1), split(m.Content, budget, overlap))
			}
		}
		p.turn()
		p.now.before = nil
	}
	return p.windows
}

// planning fills windows one after the other.
type planning struct {
	windows      []window
	now          window
	budget, room int
}

// turn ends the present window if there is anything in it.
func (p *planning) turn() {
	if len(p.now.segments) > 0 {
		p.windows = append(p.windows, p.now)
		p.now = window{before: tail(p.now)}
	}
	p.room = p.budget
}

func (p *planning) add(m *extract.Message, handle string, parts [][2]int) {
	for n, part := range parts {
		cost := llm.Tokens(m.Content[part[0]:part[1]]) + shown
		if n > 0 || cost > p.room || m.Unread > 0 {
			p.turn()
		}
		p.now.segments = append(p.now.segments, segment{message: m, handle: handle,
			start: part[0], end: part[1], part: n + 1, parts: len(parts)})
		p.room -= cost
	}
}

// carried is how many messages of a window the next one shows as context.
const carried = 6

func tail(w window) []*extract.Message {
	var list []*extract.Message
	for i := max(0, len(w.segments)-carried); i < len(w.segments); i++ {
		list = append(list, w.segments[i].message)
	}
	return list
}

// split returns the byte ranges of the parts of a text, each of at most budget
// tokens, ending where a sentence does if one does, else between words. Each
// begins within the one before by about overlap tokens.
func split(text string, budget, overlap int) [][2]int {
	var parts [][2]int
	start := 0
	for llm.Tokens(text[start:]) > budget {
		end := start + boundary(text[start:], llm.Prefix(text[start:], budget))
		parts = append(parts, [2]int{start, end})
		start = begin(text, start, end, overlap)
		for !utf8.RuneStart(text[start]) {
			start++
		}
	}
	return append(parts, [2]int{start, len(text)})
}

// boundary is the last good place to end within the second half of text[:end].
func boundary(text string, end int) int {
	half := text[end/2 : end]
	for _, marks := range [][]string{{"\n\n"}, {"\n", ". ", "! ", "? ", "。", "！", "？"}, {" ", "\t"}} {
		best := -1
		for _, m := range marks {
			if at := strings.LastIndex(half, m); at >= 0 {
				best = max(best, at+len(m))
			}
		}
		if best > 0 {
			return end/2 + best
		}
	}
	return end
}

// begin is where the part after [start, end) begins: about overlap tokens before
// its end, but in its second half, at the start of a sentence or a word.
func begin(text string, start, end, overlap int) int {
	at := max(end-3*overlap, start+(end-start+1)/2) // three bytes make about a token, in any script
	for _, mark := range []string{"\n", ". ", " "} {
		if n := strings.Index(text[at:end], mark); n >= 0 && n < (end-at)/2 {
			return at + n + len(mark)
		}
	}
	return at
}

// told is a message as the prompt shows it.
type told struct {
	ID      string `json:"id,omitempty"`
	Role    string `json:"role"`
	Speaker string `json:"speaker"`
	Time    string `json:"time"`
	Part    string `json:"part,omitempty"`
	Text    string `json:"text"`
	Cut     bool   `json:"shortened,omitempty"`
}

func tell(m *extract.Message, text string) told {
	t := told{Role: string(m.Role), Speaker: m.Speaker, Text: text}
	switch {
	case m.Speaks == memory.UserSubject:
		t.Speaker = "the user"
	case m.Role == memory.RoleTool || m.Role == memory.RoleDocument:
		t.Speaker = m.Source
	case t.Speaker == "":
		t.Speaker = string(m.Role)
	}
	t.Time = m.SentAt.In(time.FixedZone("", m.SentOffset)).Format("Monday 2006-01-02T15:04:05Z07:00")
	return t
}

// background is the block of what is not the target.
type background struct {
	UserName string `json:"user_name,omitempty"`
	Summary  string `json:"summary,omitempty"`
	Older    []told `json:"older,omitempty"`
	Recent   []told `json:"recent,omitempty"`
	LeftOut  int    `json:"left_out,omitempty"` // messages for which there was no room
}

// prompt shows one window. All that anybody wrote stands in it as quoted data.
func (e *Extractor) prompt(in *extract.Input, w *window) string {
	b := background{UserName: in.UserName, Summary: in.Summary}
	room := e.opts.ContextBudget - llm.Tokens(in.Summary)
	recent := make([]*extract.Message, 0, len(in.Context)+len(w.before))
	for i := range in.Context {
		recent = append(recent, &in.Context[i])
	}
	recent = append(recent, w.before...)
	older := make([]*extract.Message, len(in.Older))
	for i := range in.Older {
		older[i] = &in.Older[i]
	}
	b.Recent, room = latest(recent, room)
	b.Older, _ = latest(older, room)
	b.LeftOut = len(recent) + len(older) - len(b.Recent) - len(b.Older)
	target := make([]told, len(w.segments))
	for i := range w.segments {
		s := &w.segments[i]
		target[i] = tell(s.message, s.text())
		target[i].ID = s.handle
		if s.parts > 1 {
			target[i].Part = strconv.Itoa(s.part) + " of " + strconv.Itoa(s.parts)
		}
	}
	return llm.Data("context", b) + llm.Data("target", target)
}

// contextShare is the most of one message of the context that is shown.
const contextShare = 300

// latest shows the last messages that there is room for, long ones shortened.
func latest(list []*extract.Message, room int) ([]told, int) {
	var out []told
	for i := len(list) - 1; i >= 0; i-- {
		text := list[i].Content
		cut := llm.Tokens(text) > contextShare
		if cut {
			text = text[:llm.Prefix(text, contextShare)]
		}
		if room -= llm.Tokens(text) + shown; room < 0 {
			break
		}
		t := tell(list[i], text)
		t.Cut = cut
		out = append([]told{t}, out...)
	}
	return out, max(room, 0)
}
