package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
)

// errNotAllowed ends check with exit code 1, so that "check && do" does nothing
// without a yes: the verdict was printed.
var errNotAllowed = errors.New("not allowed")

func (a *app) checkCommand() *cobra.Command {
	var req meminfra.CheckRequest
	cmd := a.gateCommand(&req.UserID, &req.Action, &req.Args, func(ctx context.Context, g meminfra.Gate) (*meminfra.CheckResult, error) {
		return g.Check(ctx, req)
	})
	cmd.Use = "check --user U ACTION [--arg NAME=VALUE]... [--intent]"
	cmd.Short = "Ask whether memory authorises an action"
	cmd.Long = "Asks whether the user's own word gives each argument of a tool call: allow, or\n" +
		"needs_confirmation if only the assistant, a tool or a document says it or the user did not\n" +
		"plainly mean it (denied, asked, supposed, quoted), or missing. With\n" +
		"--intent the action itself must have been asked for. Only allow is a yes, and ends with\n" +
		"exit code 0; the others end with 1. A token for confirm is for the user, not for the model."
	cmd.Example = "  meminfra check --user ada book_flight --arg city=Oslo\n  meminfra check --user ada sweep_weekly --intent"
	cmd.Flags().StringVar(&req.UserName, "user-name", "", "what the user is called, where messages carry names")
	cmd.Flags().BoolVar(&req.NeedsIntent, "intent", false, "the action itself must have been asked for")
	return cmd
}

func (a *app) confirmCommand() *cobra.Command {
	var req meminfra.ConfirmRequest
	cmd := a.gateCommand(&req.UserID, &req.Action, &req.Args, func(ctx context.Context, g meminfra.Gate) (*meminfra.CheckResult, error) {
		return g.Confirm(ctx, req)
	})
	cmd.Use = "confirm --user U ACTION --token T [--arg NAME=VALUE]..."
	cmd.Short = "Say yes to one call that check asked about"
	cmd.Long = fmt.Sprintf("Lets the call pass once that check gave the token for: the same action with the same\n"+
		"arguments, within %s. Nothing that is remembered changes; the next such call asks again.", words(meminfra.ConfirmationLifetime))
	cmd.Example = "  meminfra confirm --user ada pay --arg to=DE02120300000000202051 --token 0198f0c2-7c1e-7abc-8def-0123456789ab.c2VjcmV0"
	cmd.Flags().StringVar(&req.Token, "token", "", "the token that check gave (required)")
	return cmd
}

// gateCommand is a command that names one call of a user, puts it to the gate and
// prints what that says.
func (a *app) gateCommand(user, action *string, args *map[string]string, ask func(context.Context, meminfra.Gate) (*meminfra.CheckResult, error)) *cobra.Command {
	var (
		list   []string
		asJSON bool
	)
	cmd := &cobra.Command{
		Args: one("ACTION"),
		RunE: func(cmd *cobra.Command, names []string) (err error) {
			*action = names[0]
			if *args, err = readArgs(list); err != nil {
				return err
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				res, err := ask(cmd.Context(), ml.Gate())
				if err != nil {
					return err
				}
				return a.showVerdict(res, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(user, "user", "", "whose memory (required)")
	cmd.Flags().StringArrayVar(&list, "arg", nil, "an argument of the action, NAME=VALUE (repeatable)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the verdict as JSON")
	return cmd
}

func words(d time.Duration) string { return fmt.Sprintf("%d minutes", int(d.Minutes())) }

// readArgs reads NAME=VALUE pairs.
func readArgs(list []string) (map[string]string, error) {
	args := make(map[string]string, len(list))
	for _, arg := range list {
		name, value, ok := strings.Cut(arg, "=")
		if _, twice := args[name]; !ok || name == "" || twice {
			return nil, usage("--arg wants NAME=VALUE, each name once", "--arg city=Oslo")
		}
		args[name] = value
	}
	return args, nil
}

// showVerdict prints the gate's answer, part by part. Errors: errNotAllowed.
func (a *app) showVerdict(res *meminfra.CheckResult, asJSON bool) error {
	show := func() error { return writeVerdict(a.stdout, res) }
	if asJSON {
		show = func() error { return a.printJSON(res) }
	}
	if err := show(); err != nil {
		return err
	}
	if res.Verdict != meminfra.GateAllow {
		return errNotAllowed
	}
	return nil
}

func writeVerdict(w io.Writer, res *meminfra.CheckResult) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", res.Verdict)
	line := func(name string, f meminfra.GateFinding) {
		fmt.Fprintf(&b, "  %s: %s", name, f.Verdict)
		if len(f.Items) > 0 {
			fmt.Fprintf(&b, ", %s in %s", f.Authority, strings.Join(f.Items, ", "))
		}
		b.WriteByte('\n')
	}
	for _, name := range slices.Sorted(maps.Keys(res.Args)) {
		line(name, res.Args[name])
	}
	if res.Intent != nil {
		line("the action itself", *res.Intent)
	}
	if res.Token != "" {
		fmt.Fprintf(&b, "token %s\nuntil %s\n", res.Token, res.ExpiresAt.Format(time.RFC3339))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
