package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// indexCommand holds what can be asked of an index.
func (a *app) indexCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "index status",
		Short: "What a user's index holds, and whether it has seen the last change",
		Args:  a.unknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.indexStatusCommand())
	return cmd
}

func (a *app) indexStatusCommand() *cobra.Command {
	var noLoad bool
	cmd := a.indexCommandOf(func(ctx context.Context, ml *meminfra.MemoryLayer, req meminfra.IndexRequest) (*meminfra.IndexStatus, error) {
		req.Load = !noLoad
		return ml.IndexStatus(ctx, req)
	})
	cmd.Use = "status --user U [--no-load] [--json]"
	cmd.Short = "Show what a user's index holds"
	cmd.Long = "Says what the derived index of a user holds and whether it has seen the last change.\n" +
		"Indexes live in the memory of each process, not in the database: this loads one as the\n" +
		"first search of any process does, so what it holds and costs here it does there at first.\n" +
		"The vectors of a large one follow in the background; reindex says what it costs with them.\n" +
		"With --no-load only the database is asked where it stands."
	cmd.Example = "  meminfra index status --user ada"
	cmd.Flags().BoolVar(&noLoad, "no-load", false, "do not load it")
	return cmd
}

func (a *app) reindexCommand() *cobra.Command {
	cmd := a.indexCommandOf(func(ctx context.Context, ml *meminfra.MemoryLayer, req meminfra.IndexRequest) (*meminfra.IndexStatus, error) {
		return ml.Reindex(ctx, req)
	})
	cmd.Use = "reindex --user U [--json]"
	cmd.Short = "Build a user's index from SQL and say what it holds"
	cmd.Long = "Builds the derived index of a user from SQL at its full speed, a large one with its graph,\n" +
		"and says what it holds and whether it has seen the last change. Nothing is stored: the\n" +
		"index lives in the memory of a process."
	cmd.Example = "  meminfra reindex --user ada"
	return cmd
}

// indexCommandOf is a command that calls a verb on an index and prints where the
// index stands then.
func (a *app) indexCommandOf(verb func(context.Context, *meminfra.MemoryLayer, meminfra.IndexRequest) (*meminfra.IndexStatus, error)) *cobra.Command {
	req := meminfra.IndexRequest{Load: true}
	var asJSON bool
	cmd := &cobra.Command{
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if memory.IsBlank(req.UserID) {
				return meminfra.ErrNoUser
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				began := a.now()
				s, err := verb(cmd.Context(), ml, req)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(s)
				}
				a.printIndex(s, a.now().Sub(began).Round(1e5).String())
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose index (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what it holds as JSON")
	return cmd
}

func (a *app) printIndex(s *meminfra.IndexStatus, took string) {
	if !s.Loaded {
		state := "not loaded: the first search builds it"
		if s.Change == 0 {
			state = "none: nothing was ever remembered"
		}
		fields(a.stdout,
			[2]string{"partition", s.Partition},
			[2]string{"index", state},
			[2]string{"change", strconv.FormatInt(s.Change, 10)},
		)
		return
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
		[2]string{"built in", took},
	)
}
