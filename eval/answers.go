package eval

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/meminfra/memory-layer/eval/locomo"
	"github.com/meminfra/memory-layer/eval/metrics"
	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/schema"
)

// Answered is what the memory answered to a question and how that scores.
type Answered struct {
	Text      string  `json:"text"`
	Abstained bool    `json:"abstained"`
	Score     float64 `json:"score"`  // the official script's
	Cited     float64 `json:"cited"`  // 1 if a citation stands for a turn of the evidence
	Grade     *bool   `json:"graded"` // correct by the judge; nil without one
}

// AnswerReport is how the answers score. For adversarial questions the right
// answer is none: there score and graded are 1 for abstaining.
type AnswerReport struct {
	Reader     string             `json:"reader"` // the model that answers, "quotes" without one
	Judge      string             `json:"judge"`  // the model that grades, "" without one
	Overall    Summary            `json:"overall"`
	Answerable Summary            `json:"overall_without_adversarial"`
	ByCategory map[string]Summary `json:"by_category"`
}

//go:embed prompts/grade.txt
var gradePrompt string

type gradeReply struct {
	Grade string `json:"grade" jsonschema:"enum=correct,enum=wrong"`
}

var gradeSchema = schema.Must[gradeReply]("grade")

// refusal is how abstaining reads to the official script, which knows refusals
// by their words.
const refusal = "No information available"

// answer asks the memory and scores what it says.
func (b *bench) answer(ctx context.Context, q *locomo.Question) (*Answered, error) {
	res, err := b.ml.Answer(ctx, meminfra.AnswerRequest{UserID: b.c.ID, Query: q.Text, Limit: b.cfg.K, SkipIntent: b.cfg.SkipIntent})
	if err != nil {
		return nil, err
	}
	for _, line := range res.Degraded {
		b.degraded[line]++
	}
	a := &Answered{Text: res.Text, Abstained: res.Abstained}
	said := a.Text
	if a.Abstained {
		said = refusal
	}
	a.Score = metrics.Answer(q.Category.String(), said, q.Answer)
	a.Cited = cites(res, q.Evidence)
	if b.cfg.Judge == nil {
		return a, nil
	}
	correct := a.Abstained == (q.Category == locomo.Adversarial)
	if correct && !a.Abstained {
		if correct, err = b.grade(ctx, q, a.Text); err != nil {
			return nil, fmt.Errorf("grading: %w", err)
		}
	}
	a.Grade = &correct
	return a, nil
}

// cites is 1 if an answer cites a memory of one of the turns, else 0.
func cites(res *meminfra.AnswerResult, turns []string) float64 {
	wanted := map[string]bool{}
	for _, id := range turns {
		wanted[id] = true
	}
	cited := map[string]bool{}
	for _, c := range res.Citations {
		cited[c.ID] = true
	}
	for i := range res.Hits {
		for _, e := range res.Hits[i].Evidence {
			if cited[res.Hits[i].ID] && wanted[e.MessageID] {
				return 1
			}
		}
	}
	return 0
}

// repairGrade asks again for a reply that cannot be read, naming the fault.
const repairGrade = "The last reply could not be used: %s. Reply with the one JSON object asked for."

// grade asks the judge whether an answer says what the gold answer says.
func (b *bench) grade(ctx context.Context, q *locomo.Question, text string) (bool, error) {
	ctx = llm.WithPurpose(ctx, llm.Purpose{Operation: "grade"})
	prompt := llm.Data("question", q.Text) + llm.Data("gold_answer", q.Answer) + llm.Data("answer", text)
	return llm.Ask(ctx, b.cfg.Judge, llm.Request{System: gradePrompt, Schema: gradeSchema,
		Messages: []llm.Message{{Role: llm.RoleUser, Content: prompt}}}, repairGrade, readGrade)
}

func readGrade(text string) (correct bool, err error) {
	members, err := llm.Object(text, "grade")
	if err != nil {
		return false, err
	}
	var grade string
	if json.Unmarshal(members["grade"], &grade) != nil || grade != "correct" && grade != "wrong" {
		return false, &llm.FormatError{Fault: "it has no grade"}
	}
	return grade == "correct", nil
}

// values are the figures of one answer that are averaged.
func (a *Answered) values() metrics.Values {
	v := metrics.Values{"score": a.Score, "abstained": 0, "cited": a.Cited}
	if a.Abstained {
		v["abstained"] = 1
	}
	if a.Grade != nil {
		v["graded"] = 0
		if *a.Grade {
			v["graded"] = 1
		}
	}
	return v
}

func (r *run) answerReport() *AnswerReport {
	out := &AnswerReport{Reader: "quotes", ByCategory: map[string]Summary{}}
	if g := r.cfg.Options.Generator; g != nil {
		out.Reader = g.Model()
	}
	names := []string{"score"}
	if r.cfg.Judge != nil {
		out.Judge = r.cfg.Judge.Model()
		names = append(names, "graded")
	}
	sum := func(keep func(*Outcome) bool) Summary {
		return summarizeBy(r.outcomes, names, func(o *Outcome) metrics.Values {
			if o.Answer == nil || !keep(o) {
				return nil
			}
			return o.Answer.values()
		})
	}
	out.Overall = sum(func(*Outcome) bool { return true })
	out.Answerable = sum(func(o *Outcome) bool { return o.Category != locomo.Adversarial.String() })
	for _, c := range locomo.Categories {
		if s := sum(func(o *Outcome) bool { return o.Category == c.String() }); s.N > 0 {
			out.ByCategory[c.String()] = s
		}
	}
	return out
}
