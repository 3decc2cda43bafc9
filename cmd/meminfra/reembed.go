package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

func (a *app) reembedCommand() *cobra.Command {
	var (
		req    meminfra.ReembedRequest
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "reembed --user U [--team T | --public] [--json]",
		Short: "Make the vectors that are missing, after a change of model",
		Long: "Makes the vectors of the present embedding model for everything that has none. It can\n" +
			"be stopped at any time; the next run goes on.",
		Example: "  EMBEDDING_PROVIDER=openai_compatible EMBEDDING_BASE_URL=http://127.0.0.1:8765/v1 meminfra reembed --user ada",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if memory.IsBlank(req.UserID) {
				return meminfra.ErrNoUser
			}
			if err := namesTeam(cmd, req.TeamID); err != nil {
				return err
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				if a.progress {
					bar := a.bar(-1, "embedding")
					defer func() { _ = bar.Clear() }()
					req.Progress = func(done, total int) {
						bar.ChangeMax(total)
						_ = bar.Set(done)
					}
				}
				res, err := ml.Curate().Reembed(cmd.Context(), req)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(res)
				}
				fmt.Fprintf(a.stdout, "%s without a vector of %s, %d made\n", count(res.Texts, "text"), res.Model, res.Embedded)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().StringVar(&req.TeamID, "team", "", "the memory of this team, whose member the user is, instead of his own")
	cmd.Flags().BoolVar(&req.Public, "public", false, "everybody's memory instead of the user's own")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	return cmd
}
