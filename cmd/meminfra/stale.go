package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

func (a *app) staleCommand() *cobra.Command {
	var (
		req    meminfra.StaleRequest
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "stale --user U [--json]",
		Short: "List memories made of others that no longer count",
		Long: "Lists the memories that were made of others of which one was superseded, ended or\n" +
			"withdrawn since. They are shown and flagged, never dropped by themselves.",
		Example: "  meminfra stale --user ada",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if memory.IsBlank(req.UserID) {
				return meminfra.ErrNoUser
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				res, err := ml.Stale(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.printStale(res, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return cmd
}

func (a *app) printStale(res *meminfra.StaleResult, asJSON bool) error {
	if asJSON {
		return a.printList(&meminfra.ListResult{Records: res.Records}, true)
	}
	if len(res.Records) == 0 {
		fmt.Fprintln(a.stdout, "nothing is stale")
		return nil
	}
	for _, r := range res.Records {
		a.recordLines(fmt.Sprintf("%-10s  ", r.Kind), r)
		fmt.Fprintf(a.stdout, "%-12s%s\n", "", staleText(r.Stale))
	}
	return nil
}
