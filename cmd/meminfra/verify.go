package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/ledger"
)

// verifyDoc is the document of verify.
type verifyDoc struct {
	OK         bool             `json:"ok"`
	Partitions []ledger.Report  `json:"partitions"`
	NotCovered []ledger.Columns `json:"not_covered"`
}

func (a *app) verifyCommand() *cobra.Command {
	var (
		req    meminfra.VerifyRequest
		file   string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "verify [flags]",
		Short: "Check that memory and its ledger are as they were written",
		Long: `Recomputes the ledger's chain and compares every row that it covers with what
is stored now: of one user, or of everybody. The first entry that is bad is
named, and what is wrong with it; the exit code is then 1. A chain that was cut
at its end, or replaced as a whole, shows only against a checkpoint that was
kept elsewhere: see checkpoint.`,
		Example: "  meminfra verify\n  meminfra verify --user ada --checkpoint heads.json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			req.All = req.UserID == ""
			if req.Checkpoint, err = readCheckpoint(file); err != nil {
				return err
			}
			req.Progress = a.verifyProgress()
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				res, err := ml.Ledger().Verify(cmd.Context(), req)
				if err != nil {
					return err
				}
				if err := a.printVerified(res, asJSON); err != nil {
					return err
				}
				return res.Err()
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (default: all partitions)")
	cmd.Flags().StringVar(&file, "checkpoint", "", "a checkpoint taken earlier: also find what was cut since")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was found as JSON")
	return cmd
}

func readCheckpoint(file string) (*ledger.Checkpoint, error) {
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return ledger.ParseCheckpoint(b)
}

// verifyProgress draws a bar on a terminal; nil without one.
func (a *app) verifyProgress() func(int, int, ledger.Progress) {
	if !a.progress {
		return nil
	}
	bar := a.bar(-1, "verifying")
	return func(partition, of int, p ledger.Progress) {
		bar.Describe(fmt.Sprintf("verifying partition %d of %d", partition, of))
		if p.AllRows > 0 {
			bar.ChangeMax64(p.AllEntries + p.AllRows)
		} else {
			bar.ChangeMax64(2 * max(p.AllEntries, 1))
		}
		_ = bar.Set64(p.Entries + p.Rows)
		if partition == of && p.AllRows > 0 && p.Rows >= p.AllRows {
			_ = bar.Finish()
		}
	}
}

func (a *app) printVerified(res *meminfra.VerifyResult, asJSON bool) error {
	bad := res.Err()
	if asJSON {
		return a.printJSON(verifyDoc{OK: bad == nil, Partitions: res.Partitions, NotCovered: res.NotCovered})
	}
	var entries, rows, forgotten, unkeyed int64
	for i := range res.Partitions {
		r := &res.Partitions[i]
		entries, rows, forgotten, unkeyed = entries+r.Entries, rows+r.Rows, forgotten+r.Forgotten, unkeyed+r.Unkeyed
		for j, f := range r.Findings {
			if j == 0 {
				fmt.Fprintf(a.stdout, "partition %s\n", r.Partition)
			}
			fmt.Fprintf(a.stdout, "  %s\n", tamperText(f))
		}
		if r.More > 0 {
			fmt.Fprintf(a.stdout, "  and %d more\n", r.More)
		}
	}
	fields(a.stdout, [2]string{"partitions", fmt.Sprint(len(res.Partitions))}, [2]string{"entries", fmt.Sprint(entries)},
		[2]string{"rows", fmt.Sprint(rows)}, [2]string{"forgotten", nonZero(forgotten)}, [2]string{"without key", nonZero(unkeyed)})
	fmt.Fprintln(a.stdout, "not covered by the ledger:")
	for _, c := range res.NotCovered {
		fmt.Fprintf(a.stdout, "  %-13s%s (%s)\n", c.Table, columnsText(c.Columns), c.Why)
	}
	if bad == nil {
		fmt.Fprintln(a.stdout, "everything is as it was written")
	}
	return nil
}

func nonZero(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func columnsText(list []string) string {
	if len(list) == 1 && list[0] == "*" {
		return "all columns"
	}
	return joinNonEmpty(list, ", ")
}

// whatIsWrong puts the reasons of findings into words.
var whatIsWrong = map[string]string{
	ledger.ReasonGap:          "entries before it are missing or out of place",
	ledger.ReasonPrev:         "it does not continue the entry before it",
	ledger.ReasonHash:         "it is not what was hashed",
	ledger.ReasonAlg:          "no entry is made with that algorithm",
	ledger.ReasonKeyMissing:   "it was made with a key that is not among LEDGER_KEY and LEDGER_OLD_KEYS",
	ledger.ReasonKeyDropped:   "it was made without a key, after entries with one",
	ledger.ReasonUnkeyed:      "the chain ends there, and no entry of it was made with a key, though LEDGER_KEY is set; if it is from before the key, seal goes on with it",
	ledger.ReasonUnreadable:   "it is stored in a form that nothing here writes",
	ledger.ReasonChanged:      "the row was changed",
	ledger.ReasonMissing:      "the row is gone, and no entry says that it was forgotten",
	ledger.ReasonUncovered:    "the row was put there: no entry names it",
	ledger.ReasonTwice:        "more than one entry names the row",
	ledger.ReasonForeign:      "it is of another user, team or scope than the partition it lies in",
	ledger.ReasonStillThere:   "the row is there, and an entry says that it was forgotten",
	ledger.ReasonNeverWritten: "it is said to be forgotten, and no entry before says that it was written",
	ledger.ReasonContent:      "its SHA-256 is not that of its content",
	ledger.ReasonLookup:       "what it is found by is not its own",
	ledger.ReasonHead:         "its head is not the last entry",
	ledger.ReasonNames:        "its names are not those of its id",
	ledger.ReasonCut:          "the chain ends before the checkpoint",
	ledger.ReasonReplaced:     "it is not the entry of the checkpoint",
}

func tamperText(f ledger.Finding) string {
	what := f.Kind + " " + f.ID
	switch {
	case f.Kind == ledger.KindEntry:
		what = joinNonEmpty([]string{fmt.Sprint("entry ", f.Seq), f.ID}, ", key ")
	case f.Seq > 0:
		what = fmt.Sprintf("entry %d, %s %s", f.Seq, f.Kind, f.ID)
	}
	return what + ": " + first(whatIsWrong[f.Reason], f.Reason)
}

func (a *app) checkpointCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "checkpoint [--out FILE]",
		Short: "Write down where every ledger chain stands",
		Long: `Writes the number and hash of the last entry of every chain, as JSON, without
any content. Keep it outside of the database: verify --checkpoint then finds a
chain that was cut or replaced since.`,
		Example: "  meminfra checkpoint --out heads.json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				c, err := ml.Ledger().Checkpoint(cmd.Context())
				if err != nil {
					return err
				}
				if out == "" {
					_, err = a.stdout.Write(c.Marshal())
					return err
				}
				if err := writeNew(out, c.Marshal()); err != nil {
					return err
				}
				fmt.Fprintf(a.stdout, "%s in %s\n", count(len(c.Heads), "head"), out)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the file to write (default: standard output)")
	return cmd
}

// writeNew writes a file that must not be there yet.
func writeNew(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}
