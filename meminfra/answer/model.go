package answer

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/schema"
)

//go:embed prompts/distil.txt
var distilPrompt string

//go:embed prompts/answer.txt
var answerPrompt string

//go:embed prompts/judge.txt
var judgePrompt string

// PromptHash identifies the wording of the prompts; it goes on traces.
var PromptHash = llm.PromptHash(distilPrompt, answerPrompt, judgePrompt)

// Model answers with a language model.
type Model struct {
	Generator llm.Generator
	// Judge asks the model whether the cited memories support the answer, and
	// looks further (see Ladder) while they do not.
	Judge bool
	// Tokens bounds what all prompts of one answer hold, by estimate; 0 is
	// DefaultTokens.
	Tokens int
}

// DefaultTokens bounds one answer's prompts. Source: papers.md section 4 (AMA
// needs about 3,600 a question).
const DefaultTokens = 12000

// Rung is a step of the sufficiency ladder.
type Rung string

// The ladder, in order. Source: papers.md section 4.
const (
	Dual       Rung = "dual"       // facts and episodes, more of them
	Summaries  Rung = "summaries"  // summaries beside them
	Sources    Rung = "sources"    // the messages that the facts were made from
	Neighbours Rung = "neighbours" // the messages before and after each
)

// Ladder lists the rungs in the order in which they are tried.
var Ladder = []Rung{Dual, Summaries, Sources, Neighbours}

// Climb finds more sources for a rung, given those there are.
type Climb func(ctx context.Context, rung Rung, have []Source) ([]Source, error)

// repairPrompt asks again for a reply that cannot be read, naming the fault.
const repairPrompt = "The last reply could not be used: %s. Reply with the one JSON object asked for."

// Answer answers from the sources, best first. climb may be nil: then there is
// no ladder. It abstains without a call if there are no sources. Errors are the
// model's, and a *llm.FormatError if no reply could be read.
func (m *Model) Answer(ctx context.Context, question string, sources []Source, now time.Time, climb Climb) (Answer, error) {
	if len(sources) == 0 {
		return Abstain(NothingFound), nil
	}
	s := &session{Model: m, question: question, now: now, left: m.Tokens}
	if s.left == 0 {
		s.left = DefaultTokens
	}
	a, err := s.try(ctx, sources)
	for _, rung := range Ladder {
		if err != nil || !a.Abstained || !m.Judge || climb == nil || s.left <= 0 {
			break
		}
		more, climbErr := climb(ctx, rung, sources)
		if climbErr != nil {
			return s.done(a), climbErr
		}
		s.rungs = append(s.rungs, string(rung))
		if len(more) == len(sources) {
			continue
		}
		sources = more
		a, err = s.try(ctx, sources)
	}
	return s.done(a), err
}

// session is one answer under way.
type session struct {
	*Model
	question string
	now      time.Time
	left     int // tokens
	used     llm.Usage
	rungs    []string
	opened   []string
}

func (s *session) done(a Answer) Answer {
	a.Usage, a.Rungs, a.Opened = s.used, s.rungs, s.opened
	if a.Rungs == nil {
		a.Rungs = []string{}
	}
	return a
}

// try distils, answers from what was distilled alone, and judges.
func (s *session) try(ctx context.Context, sources []Source) (Answer, error) {
	picked, err := s.distil(ctx, sources)
	if err != nil || len(picked) == 0 {
		return Abstain(NothingSupports), err
	}
	a, err := s.read(ctx, picked)
	if err != nil || a.Abstained || !s.Judge {
		return a, err
	}
	verdict, err := s.judge(ctx, a, picked)
	if err != nil || verdict != "sufficient" && verdict != "conflict" {
		return Abstain(NothingSupports), err
	}
	return a, nil
}

type distilReply struct {
	RelyOn []string `json:"rely_on"`
}

type answerReply struct {
	Answer    string   `json:"answer"`
	Citations []string `json:"citations"`
}

type judgeReply struct {
	Verdict string `json:"verdict" jsonschema:"enum=sufficient,enum=insufficient,enum=conflict"`
}

var (
	distilSchema = schema.Must[distilReply]("relied_on")
	answerSchema = schema.Must[answerReply]("answer")
	judgeSchema  = schema.Must[judgeReply]("verdict")
)

// distil lets the model pick the memories it will rely on; ids that were not
// offered are dropped.
func (s *session) distil(ctx context.Context, sources []Source) ([]Source, error) {
	offered := s.fit(sources)
	var reply distilReply
	err := s.ask(ctx, distilPrompt, s.prompt(offered), distilSchema, "rely_on", &reply)
	if err != nil {
		return nil, err
	}
	var picked []Source
	for i, src := range offered {
		if slices.Contains(reply.RelyOn, handle(i)) {
			picked = append(picked, src)
		}
	}
	return picked, nil
}

// read answers from the picked memories, which is to open them, and drops
// citations of anything else. An answer without a citation is none.
func (s *session) read(ctx context.Context, picked []Source) (Answer, error) {
	var reply answerReply
	if err := s.ask(ctx, answerPrompt, s.prompt(picked), answerSchema, "citations", &reply); err != nil {
		return Abstain(NothingSupports), err
	}
	a := Answer{Text: strings.TrimSpace(reply.Answer), Citations: []Citation{}}
	for i := range picked {
		if !slices.Contains(s.opened, picked[i].ID) {
			s.opened = append(s.opened, picked[i].ID)
		}
		if slices.Contains(reply.Citations, handle(i)) {
			a.Citations = append(a.Citations, cite(&picked[i], picked[i].Text))
		}
	}
	if a.Text == "" || len(a.Citations) == 0 {
		return Abstain(NothingSupports), nil
	}
	return a, nil
}

func (s *session) judge(ctx context.Context, a Answer, picked []Source) (string, error) {
	var cited []Source
	for _, src := range picked {
		if slices.ContainsFunc(a.Citations, func(c Citation) bool { return c.ID == src.ID }) {
			cited = append(cited, src)
		}
	}
	var reply judgeReply
	err := s.ask(ctx, judgePrompt, s.prompt(cited)+llm.Data("answer", a.Text), judgeSchema, "verdict", &reply)
	return reply.Verdict, err
}

// record is how a memory reaches the reader: as data, under a short handle.
type record struct {
	ID        string `json:"id"`
	Text      string `json:"text"`
	Who       string `json:"said_by"`
	SaidAt    string `json:"said_at"`
	Authority string `json:"authority"`
	Status    string `json:"status"`
	From      string `json:"valid_from"`
	To        string `json:"valid_to"`
	Cut       bool   `json:"shortened,omitempty"` // the passage of a longer text that bears on the question
}

func handle(i int) string { return fmt.Sprintf("M%d", i+1) }

// prompt writes the question and the memories as quoted data, which no text in
// them can leave.
func (s *session) prompt(sources []Source) string {
	records := make([]record, len(sources))
	for i, src := range sources {
		records[i] = record{ID: handle(i), Text: src.Text, Who: first(src.Who, "the user"), SaidAt: stamp(src.SaidAt),
			Authority: src.Authority.String(), Status: string(src.Status), From: stamp(src.Valid.From), To: stamp(src.Valid.To), Cut: src.cut}
	}
	return llm.Data("question", map[string]string{"text": s.question, "asked_at": stamp(s.now)}) + llm.Data("memories", records)
}

// stamp writes a time for a model: RFC 3339, "" for unknown or open.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// shownText is the most of one source that a model is shown, in llm.Tokens.
const shownText = 800

// fit keeps as many sources, best first, as the token budget holds, at least one;
// of a long one the passage that bears on the question.
func (s *session) fit(sources []Source) []Source {
	room := s.left / 2 // the rest is for answering and judging
	var out []Source
	for _, src := range sources {
		src.Text, src.cut = passage(s.question, src.Text, shownText)
		room -= llm.Tokens(src.Text) + 60
		if room < 0 && len(out) > 0 {
			break
		}
		out = append(out, src)
	}
	return out
}

// ask asks one question and reads the object of the reply into reply.
func (s *session) ask(ctx context.Context, system, user string, form *llm.Schema, member string, reply any) error {
	req := llm.Request{System: system, Schema: form, Messages: []llm.Message{{Role: llm.RoleUser, Content: user}}}
	_, err := llm.Ask(ctx, counted{s.Generator, s}, req, repairPrompt, func(text string) (struct{}, error) {
		return struct{}{}, read(text, member, reply)
	})
	return err
}

// counted is a session's generator: what it is asked counts, repeats too.
type counted struct {
	llm.Generator
	s *session
}

func (c counted) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	c.s.left -= llm.Tokens(req.System)
	for _, m := range req.Messages {
		c.s.left -= llm.Tokens(m.Content)
	}
	res, err := c.Generator.Generate(ctx, req)
	c.s.used = c.s.used.Plus(res.Usage)
	return res, err
}

func read(text, member string, reply any) error {
	members, err := llm.Object(text, member)
	if err != nil {
		return err
	}
	whole, err := json.Marshal(members)
	if err != nil {
		return &llm.FormatError{Fault: "its JSON is not valid"}
	}
	if err := json.Unmarshal(whole, reply); err != nil {
		return &llm.FormatError{Fault: "a member has the wrong type"}
	}
	return nil
}
