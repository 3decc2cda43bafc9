package main

import (
	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
)

func (a *app) restoreCommand() *cobra.Command {
	var (
		req    meminfra.RestoreRequest
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:     "restore --user U ID [--reason WHY]",
		Short:   "Take back a retract",
		Long:    "Takes back a retract: the memory counts again, as one statement among those of its\nfact. What is current then is worked out anew.",
		Example: "  meminfra restore --user ada 0198f0c2-7c1e-7abc-8def-0123456789ab",
		Args:    one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.ID = args[0]
			return a.curate(cmd, req.UserID, asJSON, func(c meminfra.Curator) (*meminfra.CurateResult, error) {
				return c.Restore(cmd.Context(), req)
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for the history")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	return cmd
}
