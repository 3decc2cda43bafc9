package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

func (a *app) exportCommand() *cobra.Command {
	var (
		req meminfra.ExportRequest
		out string
	)
	cmd := &cobra.Command{
		Use:   "export --user U [--whole] [--out FILE]",
		Short: "Write all that is remembered of a user, with its ledger",
		Long: `Writes a user's memory as canonical JSON lines: each ledger entry in order, with
the rows it names. The same memory is the same bytes from either store, and
import --format export takes it in. Vectors, traces, grants and idempotency keys
are not in it. It holds all content: keep it as you keep the database. What is
hidden from the user, because it came through an agent that is not his any more
or has expired, is not his to export: then nothing is written. With --whole, for
who keeps the store, it is; as grants stay behind, grant anew where it goes.`,
		Example: "  meminfra export --user ada --out ada.jsonl",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if memory.IsBlank(req.UserID) {
				return meminfra.ErrNoUser
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				return a.export(cmd.Context(), ml, req, out)
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().BoolVar(&req.Whole, "whole", false, "also what is hidden from the user; for who keeps the store")
	cmd.Flags().StringVar(&out, "out", "", "the file to write (default: standard output)")
	return cmd
}

func (a *app) export(ctx context.Context, ml *meminfra.MemoryLayer, req meminfra.ExportRequest, out string) (err error) {
	req.To = a.stdout
	if out != "" {
		f, openErr := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if openErr != nil {
			return openErr
		}
		req.To = f
		defer func() {
			if err = errors.Join(err, f.Close()); err != nil {
				_ = os.Remove(out)
			}
		}()
	}
	res, err := ml.Ledger().Export(ctx, req)
	if err != nil {
		return err
	}
	if out != "" {
		fmt.Fprintf(a.stdout, "%d ledger entries, %d rows in %s\n", res.Entries, res.Rows, out)
	}
	return nil
}

// importExport takes in what export wrote.
func (a *app) importExport(ctx context.Context, f importFlags, from io.Reader) error {
	req := meminfra.ImportRequest{From: from, UserID: f.user, UserName: f.userName, AsNew: f.asNew}
	if a.progress {
		bar := a.bar(-1, "importing")
		req.Progress = func(done, all int64) {
			bar.ChangeMax64(all)
			_ = bar.Set64(done)
		}
		defer func() { _ = bar.Clear() }()
	}
	return a.withMemory(ctx, true, func(ml *meminfra.MemoryLayer) error {
		res, err := ml.Ledger().Import(ctx, req)
		if err != nil {
			return err
		}
		if f.json {
			return a.printJSON(res)
		}
		if f.asNew {
			fields(a.stdout, [2]string{"user", res.UserID}, [2]string{"messages", fmt.Sprint(res.Messages)},
				[2]string{"known", fmt.Sprint(res.Known)}, [2]string{"left out", fmt.Sprint(res.LeftOut)})
			return nil
		}
		fields(a.stdout, [2]string{"user", res.UserID}, [2]string{"known", fmt.Sprint(res.Known)},
			[2]string{"entries", fmt.Sprint(res.Entries)}, [2]string{"rows", fmt.Sprint(res.Rows)})
		if res.Entries > 0 {
			fmt.Fprintf(a.stdout, "vectors are not in an export: %s reembed --user %s makes them\n", a.name, shellQuote(res.UserID))
		}
		return nil
	})
}
