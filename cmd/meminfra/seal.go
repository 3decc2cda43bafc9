package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
)

func (a *app) sealCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "seal [--json]",
		Short: "Go on with LEDGER_KEY in chains that were written without a key",
		Long: `Once, after LEDGER_KEY is set for memory that was written without: adds an entry
made with the key to every ledger chain that has none. Until then verify names
these chains, since anybody could have made them. Each is verified first, and
one with anything else wrong is not sealed; what was changed before, so that it
verifies, is not found by it.`,
		Example: "  LEDGER_KEY=... meminfra seal",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				res, err := ml.Ledger().Seal(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(res)
				}
				fmt.Fprintf(a.stdout, "%s sealed, of %d\n", count(res.Sealed, "chain"), res.Partitions)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	return cmd
}
