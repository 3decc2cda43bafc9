package model

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/schema"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// digest is the form that the model is asked for.
type digest struct {
	Summary string `json:"summary"`
}

var summarySchema = schema.Must[digest]("summary")

const (
	// longestSummary is the most tokens of a summary: twice the words asked for.
	longestSummary = 800
	// summaryShare is the most tokens of one message that a summary is made of.
	summaryShare = 1000
)

// Summarise implements extract.Informed with one request, which shows as many
// messages as fit the budget; long ones are shortened and marked. It is for
// understanding only: nothing of it is evidence. Errors: no messages, those of
// the generator, and *llm.FormatError after three replies that could not be
// read. Source: python-meminfra §2.
func (e *Extractor) Summarise(ctx context.Context, previous string, list []extract.Message) (string, int, error) {
	if len(list) == 0 {
		return "", 0, errors.New("model.Summarise: no messages")
	}
	ctx = llm.WithPurpose(ctx, llm.Purpose{Operation: "summarise", Partition: list[0].Partition})
	messages := e.toSummarise(list)
	var before *string
	if previous != "" {
		before = &previous
	}
	req := llm.Request{System: summaryPrompt, Schema: summarySchema, MaxTokens: e.opts.MaxReplyTokens,
		Messages: []llm.Message{{Role: llm.RoleUser, Content: llm.Data("summary", before) + llm.Data("messages", messages)}}}
	text, err := llm.Ask(ctx, e.gen, req, repairPrompt, readSummary)
	return text, len(messages), err
}

// toSummarise shows the first messages, as many as there is room for.
func (e *Extractor) toSummarise(list []extract.Message) []told {
	var out []told
	room, share := e.opts.Budget, min(summaryShare, e.opts.Budget)
	for i := range list {
		text := list[i].Content
		cut := llm.Tokens(text) > share
		if cut {
			text = text[:llm.Prefix(text, share)]
		}
		if room -= llm.Tokens(text) + shown; room < 0 && i > 0 {
			break
		}
		t := tell(&list[i], text)
		t.Cut = cut
		out = append(out, t)
	}
	return out
}

func readSummary(reply string) (string, error) {
	all, err := llm.Object(reply, "summary")
	if err != nil {
		return "", err
	}
	var text string
	switch {
	case len(all) != 1:
		return "", &llm.FormatError{Fault: `its object has other members than "summary"`}
	case json.Unmarshal(all["summary"], &text) != nil:
		return "", &llm.FormatError{Fault: `its "summary" is no text`}
	}
	text = memory.CleanText(text)
	switch n := llm.Tokens(text); {
	case memory.IsBlank(text):
		return "", &llm.FormatError{Fault: "its summary is blank"}
	case n > longestSummary:
		return "", &llm.FormatError{Fault: "its summary is about " + strconv.Itoa(n) + " tokens long: at most 200 words are wanted"}
	}
	return text, nil
}
