package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

func (a *app) reindexCommand() *cobra.Command {
	var (
		req    meminfra.IndexRequest
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "reindex --user U [--json]",
		Short: "Build a user's index from SQL and say what it holds",
		Long: "Builds the derived index of a user from SQL, as the first search of a process does,\n" +
			"and says what it holds and whether it has seen the last change. Nothing is stored: the\n" +
			"index lives in the memory of a process.",
		Example: "  meminfra reindex --user ada",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if memory.IsBlank(req.UserID) {
				return meminfra.ErrNoUser
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				began := a.now()
				s, err := ml.Reindex(cmd.Context(), req)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(s)
				}
				state := "current"
				if !s.Current {
					state = "stale"
				}
				fields(a.stdout,
					[2]string{"partition", s.Partition},
					[2]string{"rows", strconv.Itoa(s.Rows)},
					[2]string{"vectors", fmt.Sprintf("%d of %s", s.Vectors, s.Model)},
					[2]string{"bytes", strconv.FormatInt(s.Bytes, 10)},
					[2]string{"watermark", fmt.Sprintf("%d of %d, %s", s.Watermark, s.Change, state)},
					[2]string{"built in", a.now().Sub(began).Round(1e5).String()},
				)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose index (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what it holds as JSON")
	return cmd
}
