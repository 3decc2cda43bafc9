package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

func (a *app) deriveCommand() *cobra.Command {
	var (
		req    meminfra.DeriveRequest
		kind   string
		meta   []string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "derive --user U --from ID [--from ID]... TEXT",
		Short: "Remember what follows from other memories",
		Long: "Remembers a summary, an experience or a conclusion made of other memories. It has the\n" +
			"weakest authority among them, and is flagged stale once one of them no longer counts.",
		Example: `  meminfra derive --user ada --from ID1 --from ID2 "Ada commutes along the river"`,
		Args:    one("TEXT"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			req.Text, req.Kind = args[0], memory.Kind(kind)
			if memory.IsBlank(req.UserID) {
				return meminfra.ErrNoUser
			}
			if req.Metadata, err = parseMeta(meta); err != nil {
				return err
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				taken, err := ml.Curate().Derive(cmd.Context(), req)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(taken)
				}
				fmt.Fprintln(a.stdout, actionLine(taken.ActionTaken))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().StringArrayVar(&req.From, "from", nil, "id of a memory that it is made of, repeatable (required)")
	cmd.Flags().StringVar(&kind, "kind", "summary", "summary, fact, preference, event or experience")
	cmd.Flags().StringArrayVar(&meta, "meta", nil, "metadata KEY=VALUE, repeatable")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	return cmd
}
