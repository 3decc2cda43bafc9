package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

func (a *app) editCommand() *cobra.Command {
	var (
		req    meminfra.EditRequest
		meta   []string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "edit --user U ID --text TEXT [flags]",
		Short: "Give a memory another wording or value",
		Long: "Writes a new version of a memory in its owner's words. It holds from when the old\n" +
			"one held and keeps its metadata; the old version stays in history.",
		Example: `  meminfra edit --user ada 0198f0c2-7c1e-7abc-8def-0123456789ab --text "I live in Porto, near the river"`,
		Args:    one("ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			req.ID = args[0]
			if memory.IsBlank(req.Text) {
				return usage("no --text given", cmd.UseLine())
			}
			if req.Metadata, err = parseMeta(meta); err != nil {
				return err
			}
			return a.curate(cmd, req.UserID, asJSON, func(c meminfra.Curator) (*meminfra.CurateResult, error) {
				return c.Edit(cmd.Context(), req)
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().StringVar(&req.Text, "text", "", "the new text (required)")
	cmd.Flags().StringVar(&req.Value, "value", "", "the new value of a fact, if the text does not say it in a form that is understood")
	cmd.Flags().StringArrayVar(&meta, "meta", nil, "metadata KEY=VALUE laid over what the memory has, repeatable")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for the history")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	return cmd
}

// curate runs one act of the owner and prints what it did.
func (a *app) curate(cmd *cobra.Command, userID string, asJSON bool, act func(meminfra.Curator) (*meminfra.CurateResult, error)) error {
	if memory.IsBlank(userID) {
		return meminfra.ErrNoUser
	}
	return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
		res, err := act(ml.Curate())
		if err != nil {
			return err
		}
		if asJSON {
			return a.printJSON(res)
		}
		fmt.Fprintln(a.stdout, actionLine(res.ActionTaken))
		fmt.Fprintf(a.stdout, "%s changed\n", count(len(res.Changed), "version"))
		return nil
	})
}
