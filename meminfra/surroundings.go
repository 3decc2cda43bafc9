package meminfra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// What an extractor.Informed is shown beside its target. Source: python-meminfra
// §2; issue 4.
const (
	recentShown    = 6   // messages just before the target, which no summary takes
	summaryTrigger = 20  // more messages than this beyond the summary make a new one
	summaryBatch   = 200 // messages that one Add summarises at most
	summarySteps   = 3   // requests for it, likewise: a long backlog takes several Adds
	olderQuery     = 2000
)

// surround shows an Informed extractor what lies around the target: the summary,
// brought up to date if it is due, the last messages and older ones that bear on
// it. It reads and asks models outside of any transaction; what fails is left out
// and is a line in Degraded, since context is a help and no condition.
func (a *addition) surround(ctx context.Context, x extract.Informed, in *extract.Input) {
	if len(in.Context) <= recentShown {
		return // nothing was said before these
	}
	in.Context = in.Context[len(in.Context)-recentShown:]
	first := in.Context[0].Seq
	if err := a.summary(ctx, x, in, first); err != nil {
		a.degrade(ctx, "the conversation's summary was not brought up to date", err)
	}
	older, notes, err := a.reading.Older(ctx, retrieve.OlderQuery{Partition: a.partition.ID(),
		Conversation: a.target[0].ConversationID, Below: first, Text: askedOfOlder(a.target)})
	for _, note := range notes {
		a.degraded(note)
	}
	if err != nil {
		a.degrade(ctx, "older messages were not looked for", err)
	}
	in.Older = a.messages(older)
}

func (a *addition) degrade(ctx context.Context, what string, err error) {
	a.degraded(what)
	a.logger.WarnContext(ctx, "add: "+what, "partition", a.partition.ID(), "error", err)
}

// askedOfOlder is what older messages are searched with: what the users say in
// the target, else all of it, the last of it if it is long.
func askedOfOlder(target []memory.Episode) string {
	var own, all strings.Builder
	for i := range target {
		e := &target[i]
		all.WriteString(e.Content + "\n")
		if e.Role == memory.RoleUser {
			own.WriteString(e.Content + "\n")
		}
	}
	text := own.String()
	if text == "" {
		text = all.String()
	}
	return strings.ToValidUTF8(text[max(0, len(text)-olderQuery):], "")
}

// summary puts the conversation's summary into in, if it is of nothing but what
// was said before the messages shown. It first brings it up to date with those
// between it and them, if they are many. A summary does not say what each part of
// it came through: where some of the conversation may be hidden from the caller,
// it is neither shown nor made.
func (a *addition) summary(ctx context.Context, x extract.Informed, in *extract.Input, first int64) error {
	if a.shared() || !a.reading.Rights.Open() {
		return nil
	}
	id := a.target[0].ConversationID
	heads, err := a.store.Heads(ctx, a.partition.ID()) // before the rows, so that an erasure since is noticed
	if err != nil {
		return err
	}
	c, err := a.store.Conversation(ctx, a.partition.ID(), id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.SummarySeq >= first {
		return nil // it tells what came after the target: an old message read again
	}
	in.Summary = c.Summary
	due, err := a.store.Turns(ctx, a.partition.ID(), storage.TurnsParams{Conversation: id, After: c.SummarySeq, Below: first, Limit: summaryBatch})
	if err != nil || len(due)+recentShown <= summaryTrigger || a.req.DryRun {
		return err
	}
	due = slices.DeleteFunc(due, func(e memory.Episode) bool { return memory.Expired(e.ExpiresAt, a.now()) })
	return a.summarise(ctx, x, in, a.messages(due), heads[a.partition.ID()].Erased)
}

// summarise folds messages into the summary step by step and keeps each step.
func (a *addition) summarise(ctx context.Context, x extract.Informed, in *extract.Input, due []extract.Message, erased int64) error {
	for step := 0; step < summarySteps && len(due) > 0; step++ {
		text, n, err := x.Summarise(ctx, in.Summary, due)
		if err != nil {
			return llm.Safe(err)
		}
		if n < 1 || n > len(due) || memory.IsBlank(text) {
			return fmt.Errorf("a summary of %d bytes that covers %d of %d messages", len(text), n, len(due))
		}
		if err := a.keepSummary(ctx, memory.CleanText(text), &due[n-1].Episode, erased); err != nil {
			return err
		}
		in.Summary, due = memory.CleanText(text), due[n:]
	}
	return nil
}

// errErased: something was forgotten while the summary was made, and it may tell
// of it.
var errErased = errors.New("an erasure came between")

func (a *addition) keepSummary(ctx context.Context, text string, last *memory.Episode, erased int64) error {
	return a.store.Update(ctx, a.partition, func(tx storage.Tx) error {
		if tx.Head().Erased != erased {
			return errErased
		}
		return tx.PutSummary(ctx, last.ConversationID, text, last.Seq)
	})
}
