package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

type addFlags struct {
	request meminfra.AddRequest
	message meminfra.Message
	role    string
	at      string
	expires string
	meta    []string
	json    bool
}

func (a *app) addCommand() *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add --user U [flags] TEXT",
		Short: "Remember one message",
		Long: `Stores one message and remembers what it says. TEXT is the message; - reads it
from standard input. Each decision is printed with its reason: ADD (new), NOOP
(known already), SUPERSEDE (replaces what was known) or RETRACT (no longer so).`,
		Example: `  meminfra add --user ada "I prefer PostgreSQL for backend projects."
  meminfra add --user ada --conversation standup --at 2025-03-03T09:00:00Z --id m1 "I moved to Porto."
  meminfra add --user ada --role tool --meta source=crm - < note.txt`,
		Args: one("TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.add(cmd, &f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.request.UserID, "user", "", "whose memory (required)")
	flags.StringVar(&f.request.ConversationID, "conversation", "default", "the conversation it belongs to")
	flags.StringVar(&f.role, "role", "user", "who speaks: user, assistant, system, tool or document")
	flags.StringVar(&f.message.Name, "name", "", "the speaker's name; another name than the user's is another person")
	flags.StringVar(&f.request.UserName, "user-name", "", "what the user is called, where messages carry names")
	flags.StringVar(&f.request.SessionID, "session", "", "the session it belongs to (default: by a pause of 30 minutes)")
	flags.StringVar(&f.request.AgentID, "agent", "", "the agent through which it came")
	flags.StringVar(&f.message.Source, "source", "", "the tool or document that it comes from: a resource")
	flags.StringVar(&f.request.TeamID, "team", "", "remember it for this team, whose member the user is")
	flags.BoolVar(&f.request.Public, "public", false, "remember it for everybody")
	flags.StringVar(&f.message.ID, "id", "", "the message's own id: adding it again adds nothing")
	flags.StringVar(&f.at, "at", "", "`time` when it was said, RFC 3339 (default: now)")
	flags.StringVar(&f.expires, "expires", "", "`time` (RFC 3339) or span (90m, 30d) after which it is forgotten")
	flags.StringArrayVar(&f.meta, "meta", nil, "metadata `KEY=VALUE` kept with it, repeatable; values are strings")
	flags.StringVar(&f.request.IdempotencyKey, "key", "", "idempotency key: a repeated call returns the first one's result")
	flags.BoolVar(&f.request.DryRun, "dry-run", false, "decide everything and write nothing")
	flags.BoolVar(&f.json, "json", false, "print the result as JSON")
	return cmd
}

func (a *app) add(cmd *cobra.Command, f *addFlags, text string) error {
	if err := f.prepare(cmd, a, text); err != nil {
		return err
	}
	return a.withMemory(cmd.Context(), true, func(ml *meminfra.MemoryLayer) error {
		res, err := ml.Add(cmd.Context(), f.request)
		if res == nil {
			return err
		}
		a.warn(res.Degraded)
		if f.json {
			return errors.Join(a.printJSON(res), err)
		}
		a.printAdded(res, f.request.DryRun, err != nil)
		return err
	})
}

// prepare turns flags into the request.
func (f *addFlags) prepare(cmd *cobra.Command, a *app, text string) (err error) {
	if memory.IsBlank(f.request.UserID) {
		return meminfra.ErrNoUser
	}
	if f.message.Role, err = memory.ParseRole(f.role); err != nil {
		return usage("--role: want user, assistant, system, tool or document", "")
	}
	if f.at != "" {
		if f.message.SentAt, err = parseTime("--at", f.at); err != nil {
			return err
		}
	}
	if cmd.Flags().Changed("expires") { // an empty one is malformed, and not never
		if f.message.ExpiresAt, err = parseExpiry(f.expires, a.now()); err != nil {
			return err
		}
	}
	if f.message.Metadata, err = parseMeta(f.meta); err != nil {
		return err
	}
	if text == "-" {
		raw, err := io.ReadAll(io.LimitReader(a.stdin, memory.MaxMessageBytes+2))
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		text = strings.TrimSuffix(string(raw), "\n")
	}
	f.message.Content = text
	if memory.IsBlank(text) {
		return usage("the message is blank", "")
	}
	f.request.Messages = []meminfra.Message{f.message}
	return nil
}

// parseExpiry reads a moment, or a span from now: days, or what Go's durations say.
func parseExpiry(value string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, value); err == nil && !t.IsZero() { // the zero time is never
		return t, nil
	}
	const most = 100 * 365 // days
	span, err := time.ParseDuration(value)
	if days, ok := strings.CutSuffix(value, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		span = time.Duration(min(max(n, 0), most+1)) * 24 * time.Hour // more would overflow
	}
	if err != nil || span <= 0 || span > most*24*time.Hour {
		return time.Time{}, usage("--expires: neither a time in RFC 3339 nor a span", "--expires 30d or --expires 2027-01-01T00:00:00Z")
	}
	return now.Add(span), nil
}

// parseMeta reads --meta flags; none give no metadata.
func parseMeta(pairs []string) (memory.Metadata, error) {
	var m memory.Metadata
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usage("--meta wants KEY=VALUE", "--meta project=apollo")
		}
		if _, twice := m[key]; twice {
			return nil, usage(fmt.Sprintf("--meta %q is given twice", key), "")
		}
		if m == nil {
			m = memory.Metadata{}
		}
		m[key] = value
	}
	return m, nil
}

func (a *app) printAdded(res *meminfra.AddResult, dryRun, failed bool) {
	for _, action := range res.Actions {
		fmt.Fprintln(a.stdout, actionLine(action))
	}
	for _, r := range res.Rejections {
		fmt.Fprintf(a.stdout, "%-9s  %s: %s\n", "rejected", cmp.Or(r.Predicate, "a statement"), reasonText(r.Reason))
	}
	known := 0
	for _, e := range res.Episodes {
		if e.Known {
			known++
		}
	}
	stored := "stored " + count(len(res.Episodes)-known, "message")
	switch {
	case dryRun:
		stored = "dry run: nothing was written"
	case known > 0:
		stored = count(known, "message") + " known already"
		if fresh := len(res.Episodes) - known; fresh > 0 {
			stored += ", stored " + count(fresh, "message")
		}
	}
	if len(res.Actions)+len(res.Rejections) == 0 && known == 0 && !failed {
		stored += "; nothing in it is a fact I know how to keep"
	}
	fmt.Fprintln(a.stdout, stored)
}

// actionLine is one decision in words.
func actionLine(t meminfra.ActionTaken) string {
	details := []string{}
	if t.Predicate != "" {
		details = append(details, t.Predicate+" = "+oneLine(t.Value))
	}
	details = append(details, reasonText(t.Reason))
	if t.SupersededID != "" {
		verb := "replaces "
		if t.Action == memory.ActionRetract {
			verb = "ends "
		}
		details = append(details, verb+t.SupersededID)
	}
	if len(t.Guards) > 0 {
		details = append(details, "guards: "+strings.Join(t.Guards, ", "))
	}
	return fmt.Sprintf("%-9s  %s  (%s)", t.Action, oneLine(t.Text), joinNonEmpty(details, "; "))
}
