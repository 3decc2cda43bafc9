package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// printUsed ends a command with what it used of models, if that was asked for.
// A JSON document says it itself.
func (a *app) printUsed(cmd *cobra.Command) {
	if !a.usage || cmd == nil {
		return
	}
	if f := cmd.Flags().Lookup("json"); f != nil && f.Value.String() == "true" {
		return
	}
	lines := a.tally.Lines()
	if len(lines) == 0 {
		fmt.Fprintln(a.stdout, "used no model that tells what it uses")
	}
	for _, l := range lines {
		fmt.Fprintf(a.stdout, "used %s by %s: %s\n", l.Operation, l.Model, usageText(l.Usage))
	}
}

func usageText(u llm.Usage) string {
	return fmt.Sprintf("%s, %d tokens in, %d out", count(int(u.Calls), "call"), u.InputTokens, u.OutputTokens)
}

func (a *app) usageCommand() *cobra.Command {
	var (
		req    meminfra.UsageRequest
		since  string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "usage --user U [--since DATE] [--json]",
		Short: "What models were used for a user, by day, operation and model",
		Long: "Lists what was used of models for a user, vectors and calls in the background included, by\n" +
			"whatever process. Days are days in UTC. The built-in extractor and embedder use nothing.",
		Example: "  meminfra usage --user ada --since 2025-03-01",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if memory.IsBlank(req.UserID) {
				return meminfra.ErrNoUser
			}
			if since != "" {
				if req.Since, err = parseTime("--since", since); err != nil {
					return err
				}
			}
			return a.printUsage(cmd.Context(), req, asJSON)
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().StringVar(&since, "since", "", "from that `day` on, 2025-03-01 or a time in RFC 3339")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return cmd
}

func (a *app) printUsage(ctx context.Context, req meminfra.UsageRequest, asJSON bool) error {
	t, err := a.storeTarget()
	if err != nil {
		return err
	}
	return a.withTarget(ctx, t, false, a.builtin(), func(ml *meminfra.MemoryLayer, _ storage.Store) error {
		res, err := ml.Usage(ctx, req)
		if err != nil {
			return err
		}
		if asJSON {
			return a.printJSON(res)
		}
		if len(res.Lines) == 0 {
			fmt.Fprintln(a.stdout, "no model was used")
			return nil
		}
		for _, l := range res.Lines {
			fmt.Fprintf(a.stdout, "%s  %-9s  %-24s  %s\n", day(l.Day), l.Operation, l.Model, usageText(l.Usage))
		}
		fmt.Fprintf(a.stdout, "total: %s\n", usageText(res.Total))
		return nil
	})
}
