package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

func (a *app) reprocessCommand() *cobra.Command {
	var (
		req    meminfra.ReprocessRequest
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "reprocess --user U [--team T | --public] [--conversation C] [--upgrade] [--take-over]",
		Short: "Extract what waits, or read again with a better extractor",
		Long: "Extracts the messages whose extraction failed or was interrupted. With --upgrade also\n" +
			"those that another extractor dealt with: nothing is undone or doubled, what is new is added.\n" +
			"What another run has begun is left to it for ten minutes; after a crash --take-over does not wait.",
		Example: "  meminfra reprocess --user ada --upgrade",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if memory.IsBlank(req.UserID) {
				return meminfra.ErrNoUser
			}
			if err := namesTeam(cmd, req.TeamID); err != nil {
				return err
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				res, err := ml.Curate().Reprocess(cmd.Context(), req)
				if res == nil {
					return err
				}
				a.warn(res.Degraded)
				if asJSON {
					return errors.Join(a.printJSON(res), err)
				}
				for _, action := range res.Actions {
					fmt.Fprintln(a.stdout, actionLine(action))
				}
				fmt.Fprintf(a.stdout, "read %s\n", count(res.Episodes, "message"))
				return err
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().StringVar(&req.UserName, "user-name", "", "what the user is called, if messages carry names")
	cmd.Flags().StringVar(&req.ConversationID, "conversation", "", "one conversation only")
	cmd.Flags().BoolVar(&req.Upgrade, "upgrade", false, "also what another extractor has dealt with")
	cmd.Flags().BoolVar(&req.TakeOver, "take-over", false, "also what another run has begun and not finished")
	cmd.Flags().StringVar(&req.TeamID, "team", "", "what the user told this team, instead of his own")
	cmd.Flags().BoolVar(&req.Public, "public", false, "what the user told everybody, instead of his own")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	return cmd
}
