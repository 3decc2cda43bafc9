// Package manager asks a language model what new open-world statements do to the
// memories near them. The model proposes: it is shown memories under handles of
// one request and never an id, and what it replies goes through the guards of
// package reconcile, which decide.
//
// Prompts are the text files beside it. Their hash goes on decisions. Source:
// design §5; papers.md §2.
package manager

import (
	"context"
	_ "embed" // the prompts
	"strconv"
	"time"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/reconcile"
)

//go:embed prompts/manage.txt
var managePrompt string

//go:embed prompts/repair.txt
var repairPrompt string

// PromptHash identifies the wording of the prompts, schema included.
var PromptHash = llm.PromptHash(managePrompt, repairPrompt, string(replySchema.JSON))

// budget is the most that one request shows, in llm.Tokens: what is longer takes
// several.
const budget = 8000

// shownText is the most of one text that is shown, in llm.Tokens.
const shownText = 300

// Memory is a stored item as the model may see it.
type Memory struct {
	Item   memory.Item
	Valid  memory.Validity
	SaidAt time.Time
}

// Statement is a new one, and the memories near it by their place, nearest first.
type Statement struct {
	Item   memory.Item
	SaidAt time.Time
	Near   []int
}

// Handle is the handle of the memory of that place.
func Handle(place int) string { return strconv.Itoa(place) }

// Reply is what the model proposed: for each statement, in order, its
// operations. Stray counts operations on no statement that was asked about.
type Reply struct {
	Proposals [][]reconcile.Proposal
	Stray     int
}

// Manager asks a model. It is safe for concurrent use if its generator is.
type Manager struct {
	gen llm.Generator
}

// New returns a manager that asks gen. It does not repeat failed calls: give it a
// generator under an llm.Policy.
func New(gen llm.Generator) *Manager { return &Manager{gen} }

// Propose asks what the statements do to the memories, in one request unless
// they are too many for one. Errors: those of the generator, and a
// *llm.FormatError if a reply could not be read in llm.MaxAttempts; then nothing
// is proposed.
func (m *Manager) Propose(ctx context.Context, partition string, memories []Memory, statements []Statement) (Reply, error) {
	ctx = llm.WithPurpose(ctx, llm.Purpose{Operation: "manage", Partition: partition})
	out := Reply{Proposals: make([][]reconcile.Proposal, len(statements))}
	for start := 0; start < len(statements); {
		prompt, end := render(memories, statements, start)
		raw, err := llm.Ask(ctx, m.gen, llm.Request{System: managePrompt, Schema: replySchema,
			Messages: []llm.Message{{Role: llm.RoleUser, Content: prompt}}}, repairPrompt, readReply)
		if err != nil {
			return Reply{}, err
		}
		for _, r := range raw {
			id, p := readOperation(r)
			if n := place(id); n >= start && n < end {
				out.Proposals[n] = append(out.Proposals[n], p)
			} else {
				out.Stray++
			}
		}
		start = end
	}
	return out, nil
}

func statementID(place int) string { return "c" + strconv.Itoa(place+1) }

// place is the inverse of statementID, -1 for what it does not make.
func place(id string) int {
	if len(id) < 2 {
		return -1
	}
	n, err := strconv.Atoi(id[1:])
	if err != nil || statementID(n-1) != id {
		return -1
	}
	return n - 1
}

// shown is a text with what the model may know of it.
type shown struct {
	ID        string   `json:"id"`
	Text      string   `json:"text"`
	Cut       bool     `json:"shortened,omitempty"`
	Subject   string   `json:"subject"`
	Relation  string   `json:"relation,omitempty"`
	Polarity  string   `json:"polarity"`
	Authority string   `json:"authority"`
	Said      string   `json:"said"`
	From      string   `json:"from,omitempty"`
	To        string   `json:"to,omitempty"`
	Near      []string `json:"near,omitempty"`
}

// render writes the prompt for the statements from start on, as many as there is
// room for and at least one, and returns the place of the first that is not in
// it. All that anybody wrote stands in it as quoted data.
func render(memories []Memory, statements []Statement, start int) (prompt string, end int) {
	var told, known []shown
	seen := map[int]bool{}
	room := budget
	for end = start; end < len(statements); end++ {
		s := &statements[end]
		line := show(statementID(end), &s.Item, s.Item.Stated, s.SaidAt)
		cost := line.cost()
		var fresh []shown
		for _, n := range s.Near {
			line.Near = append(line.Near, Handle(n))
			if !seen[n] {
				fresh = append(fresh, show(Handle(n), &memories[n].Item, memories[n].Valid, memories[n].SaidAt))
				cost += fresh[len(fresh)-1].cost()
			}
		}
		if room -= cost; room < 0 && end > start {
			break
		}
		told, known = append(told, line), append(known, fresh...)
		for _, n := range s.Near {
			seen[n] = true
		}
	}
	return llm.Data("memories", known) + llm.Data("statements", told), end
}

func show(id string, item *memory.Item, valid memory.Validity, said time.Time) shown {
	s := shown{ID: id, Text: item.Text, Subject: item.Subject.Type, Relation: item.Predicate, Polarity: "positive",
		Authority: item.Authority.String(), Said: stamp(said), From: stamp(valid.From), To: stamp(valid.To)}
	if item.Subject.Name != "" {
		s.Subject += " " + item.Subject.Name
	}
	if item.Polarity == memory.Negative {
		s.Polarity = "negative"
	}
	if llm.Tokens(s.Text) > shownText {
		s.Text, s.Cut = s.Text[:llm.Prefix(s.Text, shownText)], true
	}
	return s
}

func (s *shown) cost() int { return llm.Tokens(s.Text) + llm.Tokens(s.Subject+s.Relation) + 80 }

// stamp writes a time for a model; "" for unknown or open.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
