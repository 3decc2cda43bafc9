package model

import (
	"context"
	_ "embed" // the prompt
	"encoding/json"
	"errors"
	"strings"

	"github.com/meminfra/memory-layer/intent"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/schema"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

//go:embed prompts/intent.txt
var intentPrompt string

// question is the form that the model is asked for.
type question struct {
	Predicate string `json:"predicate" jsonschema:"nullable"`
	Value     scalar `json:"value" jsonschema:"nullable"`
	Category  string `json:"category" jsonschema:"nullable"`
	Subject   string `json:"subject" jsonschema:"nullable"`
	Scope     string `json:"scope" jsonschema:"enum=current,enum=historical,enum=any"`
}

var questionSchema = schema.Must[question]("query_intent")

// IntentHash identifies the wording of the prompt of Intent.
func IntentHash(reg *predicates.Registry) string {
	return llm.PromptHash(intentPrompt+vocabulary(reg), repairPrompt, string(questionSchema.JSON))
}

// ErrUnknownPredicate: a model named a predicate that is not in the vocabulary.
var ErrUnknownPredicate = errors.New("a predicate outside the vocabulary")

// Intent asks a model which stored facts a query is about. Predicate is
// canonical, or "" if the model finds that it is about none, and then the rest
// is empty too. It is a hint like that of intent.Infer, which is the one to fall
// back to. Errors: those of the generator, ErrUnknownPredicate, and
// *llm.FormatError after three replies that could not be read. Source:
// python-meminfra §8.
func Intent(ctx context.Context, gen llm.Generator, reg *predicates.Registry, query string) (intent.QueryIntent, error) {
	if gen == nil || reg == nil {
		return intent.QueryIntent{}, errors.New("model.Intent: needs a generator and a registry")
	}
	ctx = llm.WithPurpose(ctx, llm.Purpose{Operation: "intent"})
	prompt := llm.Data("question", map[string]string{"text": query})
	q, err := llm.Ask(ctx, gen, llm.Request{System: intentPrompt + vocabulary(reg), Schema: questionSchema,
		Messages: []llm.Message{{Role: llm.RoleUser, Content: prompt}}}, repairPrompt, readQuestion)
	if err != nil {
		return intent.QueryIntent{}, err
	}
	return q.intent(reg)
}

func readQuestion(text string) (q question, err error) {
	all, err := llm.Object(text, "scope")
	if err != nil {
		return q, err
	}
	for name, raw := range all {
		switch name {
		case "predicate", "value", "category", "subject", "scope":
		default:
			return q, &llm.FormatError{Fault: "its object has members that were not asked for"}
		}
		var asked question
		if b, err := json.Marshal(map[string]json.RawMessage{name: raw}); err != nil || json.Unmarshal(b, &asked) != nil {
			return q, &llm.FormatError{Fault: `its "` + name + `" is of the wrong type`}
		}
	}
	b, err := json.Marshal(all)
	if err == nil {
		err = json.Unmarshal(b, &q)
	}
	switch intent.Scope(q.Scope) {
	case intent.Current, intent.Historical, intent.Any:
		return q, err
	}
	return q, &llm.FormatError{Fault: `its "scope" is none of current, historical and any`}
}

// intent checks the answer against the vocabulary.
func (q question) intent(reg *predicates.Registry) (intent.QueryIntent, error) {
	if strings.TrimSpace(q.Predicate) == "" {
		return intent.QueryIntent{Scope: intent.Current}, nil
	}
	p, ok := reg.Lookup(q.Predicate)
	if !ok {
		return intent.QueryIntent{}, ErrUnknownPredicate
	}
	out := intent.QueryIntent{Predicate: p.Name, Subject: memory.FoldName(q.Subject), Scope: intent.Scope(q.Scope)}
	value := strings.TrimSpace(string(q.Value))
	if p.Keyed {
		if _, id, ok := reg.Value(p.Name, q.Category+": x"); ok && strings.TrimSpace(q.Category) != "" {
			out.Category, _, _ = strings.Cut(id, ":")
		}
		if out.Category != "" && value != "" && !strings.Contains(value, ":") {
			value = out.Category + ": " + value
		}
	}
	if shown, _, ok := reg.Value(p.Name, value); ok {
		out.Value = shown
	}
	return out, nil
}
