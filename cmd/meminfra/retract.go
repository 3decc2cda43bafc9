package main

import (
	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
)

func (a *app) retractCommand() *cobra.Command {
	var (
		req    meminfra.RetractRequest
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "retract --user U ID [--reason WHY]",
		Short: "Withdraw a memory: it never was so",
		Long: "Withdraws a memory because it never was so; what it had replaced holds again. It\n" +
			"stays in history. For what was so and no longer is, say so with add instead.",
		Example: `  meminfra retract --user ada 0198f0c2-7c1e-7abc-8def-0123456789ab --reason "I was joking"`,
		Args:    one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.ID = args[0]
			return a.curate(cmd, req.UserID, asJSON, func(c meminfra.Curator) (*meminfra.CurateResult, error) {
				return c.Retract(cmd.Context(), req)
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for the history")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	return cmd
}
