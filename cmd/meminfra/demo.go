package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// demoTalk is a conversation of two days.
var demoTalk = []struct {
	at   time.Time
	role memory.Role
	text string
}{
	{demoAt(3, 9, 0), memory.RoleUser, "My name is Ada and I live in Lisbon."},
	{demoAt(3, 9, 1), memory.RoleAssistant, "Nice to meet you, Ada. What are you building?"},
	{demoAt(3, 9, 2), memory.RoleUser, "A booking service. I prefer PostgreSQL for backend projects."},
	{demoAt(3, 9, 4), memory.RoleUser, "I program in Go and Python."},
	{demoAt(4, 18, 30), memory.RoleUser, "I still use PostgreSQL, by the way."},
	{demoAt(4, 18, 31), memory.RoleUser, "I switched to SQLite."},
	{demoAt(4, 18, 33), memory.RoleUser, "I moved to Porto."},
	{demoAt(4, 18, 35), memory.RoleUser, "I no longer program in Python."},
}

var demoQuestions = []string{
	"Which database do I prefer?", "Where did I live before?", "What did I say about the booking service?",
}

func demoAt(day, hour, minute int) time.Time {
	return time.Date(2025, 3, day, hour, minute, 0, 0, time.UTC)
}

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show what this does: a conversation added, questions asked",
		Long: `Adds a short conversation of two days to a fresh memory, prints each decision and
its reason, and asks three questions. The memory is a SQLite file of its own in
the data folder, made anew each time; with --db it is a new user in that store.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
}

func (a *app) demo(ctx context.Context) error {
	t, user, err := a.demoTarget()
	if err != nil {
		return err
	}
	return a.withTarget(ctx, t, true, a.builtin(), func(ml *meminfra.MemoryLayer, store storage.Store) error {
		if err := a.demoAdd(ctx, ml, user); err != nil {
			return err
		}
		if err := a.demoSearch(ctx, ml, user); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "\nStored in %s. Ask it more:\n  %s search --db %s --user %s \"What is my name?\"\n",
			store.Describe(), a.name, demoURL(t), user)
		return nil
	})
}

// demoTarget is the demo's own file, emptied, or a new user in the store that
// --db names, where nothing is deleted.
func (a *app) demoTarget() (target, string, error) {
	if a.db != "" {
		t, err := parseTarget(a.db)
		return t, "demo-" + a.now().UTC().Format("20060102-150405"), err
	}
	t, err := a.dataFile("demo.db")
	if err != nil {
		return target{}, "", err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(t.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return target{}, "", err
		}
	}
	return t, "ada", nil
}

// demoURL is what to give to --db, without a password.
func demoURL(t target) string {
	if t.path != "" {
		return shellQuote(t.url)
	}
	return "postgres://..."
}

func (a *app) demoAdd(ctx context.Context, ml *meminfra.MemoryLayer, user string) error {
	fmt.Fprint(a.stdout, "A conversation of two days is added. Under each message: what was decided, and why.\n\n")
	texts := map[string]string{} // of the items made, to say what was replaced
	day := ""
	for i, said := range demoTalk {
		if d := said.at.Format("Monday, 2 January 2006"); d != day {
			fmt.Fprintf(a.stdout, "%s%s\n", separator(day), d)
			day = d
		}
		fmt.Fprintf(a.stdout, "  %s %-9s  %s\n", said.at.Format("15:04"), said.role, said.text)
		res, err := ml.Add(ctx, meminfra.AddRequest{UserID: user, ConversationID: "demo", Messages: []meminfra.Message{
			{ID: fmt.Sprintf("m%d", i+1), Role: said.role, Content: said.text, SentAt: said.at}}})
		if err != nil {
			return err
		}
		for _, act := range res.Actions {
			a.demoDecision(act, texts)
		}
	}
	return nil
}

// demoDecision prints one decision under the message that led to it.
func (a *app) demoDecision(t meminfra.ActionTaken, texts map[string]string) {
	line := fmt.Sprintf("%s = %s: %s", t.Predicate, t.Value, reasonText(t.Reason))
	if old := texts[t.SupersededID]; old != "" && old != t.Value {
		line += fmt.Sprintf(" (was %s)", old)
	}
	fmt.Fprintf(a.stdout, "        %-9s  %s\n", t.Action, line)
	texts[t.ItemID] = t.Value
}

func separator(before string) string {
	if before == "" {
		return ""
	}
	return "\n"
}

func (a *app) demoSearch(ctx context.Context, ml *meminfra.MemoryLayer, user string) error {
	fmt.Fprint(a.stdout, "\nThree questions. S, L and V are a hit's place in the structured, the word (BM25)\nand the vector branch; - is not in it.\n")
	for _, question := range demoQuestions {
		res, err := ml.Search(ctx, meminfra.SearchRequest{UserID: user, Query: question, Limit: 3})
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "\n  %s\n", question)
		for i, h := range res.Hits {
			cells := "   " + hitCells(i+1, h)
			fmt.Fprintf(a.stdout, "%s%s\n", cells, a.fit(h.Text+demoStatus(h), displayWidth(cells)))
		}
		a.warn(res.Degraded)
	}
	return nil
}

// demoStatus says of a hit that it no longer holds.
func demoStatus(h meminfra.SearchHit) string {
	if h.Status == memory.StatusActive || h.ValidTo == nil {
		return ""
	}
	return " (" + span(h.ValidFrom, h.ValidTo) + ")"
}
