package main

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

type forgetFlags struct {
	request meminfra.ForgetRequest
	filters filterFlags
	yes     bool
	json    bool
}

func (a *app) forgetCommand() *cobra.Command {
	var f forgetFlags
	cmd := &cobra.Command{
		Use:   "forget --user U [--conversation C | --id ID | filters] [--dry-run] [--yes]",
		Short: "Erase memory for good, and say what went",
		Long: `Erases for good, with a certificate: everything of a user, what was told to teams
and everybody included, or of it what was told to one team or everybody, one
conversation, one memory (all its versions and the messages they quote) or what
filters select. What is left is settled anew, and nothing that had been replaced
comes back by it. It asks before it erases; where there is no terminal to ask,
--yes is wanted. The database's files are rewritten afterwards; if a reader is in
the way the certificate says pending, and doctor --fix finishes it.`,
		Example: `  meminfra forget --user ada --id 0198f0c2-7c1e-7abc-8def-0123456789ab --dry-run
  meminfra forget --user ada --conversation standup
  meminfra forget --user ada --yes`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.forget(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.request.UserID, "user", "", "whose memory (required); alone, all of it")
	flags.StringVar(&f.request.ConversationID, "conversation", "", "what was said in this conversation")
	flags.StringVar(&f.request.ID, "id", "", "a memory or a message")
	flags.StringVar(&f.request.TeamID, "team", "", "what the user told this team, instead of his own")
	flags.BoolVar(&f.request.Public, "public", false, "what the user told everybody, instead of his own")
	flags.BoolVar(&f.request.DryRun, "dry-run", false, "show what would go and erase nothing")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	flags.BoolVar(&f.json, "json", false, "print the certificate as JSON")
	f.filters.bind(flags)
	return cmd
}

// prepare turns flags into the request. A selector that is given and empty, as
// by a variable that is not set, must not become "everything".
func (f *forgetFlags) prepare(cmd *cobra.Command) (err error) {
	if memory.IsBlank(f.request.UserID) {
		return meminfra.ErrNoUser
	}
	if f.request.Filters, err = f.filters.parse(); err != nil {
		return err
	}
	f.request.Everything = true
	if err := namesTeam(cmd, f.request.TeamID); err != nil {
		return err
	}
	for _, name := range []string{"conversation", "id", "filter", "filter-json", "kind", "history", "valid-at", "known-at"} {
		if cmd.Flags().Changed(name) {
			f.request.Everything = false
		}
	}
	return nil
}

func (a *app) forget(cmd *cobra.Command, f *forgetFlags) error {
	if err := f.prepare(cmd); err != nil {
		return err
	}
	if !f.yes && !f.request.DryRun && !a.interactive {
		return usage("erasing is for good and there is no terminal to ask", "--dry-run to see what would go, --yes to erase it")
	}
	return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
		if !f.yes && !f.request.DryRun {
			if sure, err := a.confirmForget(cmd, ml, f.request); err != nil || !sure {
				return err
			}
		}
		res, err := ml.Forget(cmd.Context(), f.request)
		if err != nil {
			return err
		}
		if f.json {
			return a.printJSON(res)
		}
		a.printForgotten(res)
		return nil
	})
}

// confirmForget shows what would go and asks.
func (a *app) confirmForget(cmd *cobra.Command, ml *meminfra.MemoryLayer, req meminfra.ForgetRequest) (bool, error) {
	req.DryRun = true
	res, err := ml.Forget(cmd.Context(), req)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(a.stderr, "This erases for good: %s.\nGo on? [y/N] ", rowsText(res.Rows))
	line, _ := bufio.NewReader(a.stdin).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	fmt.Fprintln(a.stderr, "nothing was erased")
	return false, nil
}

// rowsText lists what goes: messages and memories first, the rest by table.
func rowsText(rows map[string]int) string {
	if len(rows) == 0 {
		return "nothing"
	}
	list := []string{count(rows["episode"], "message"), plural(rows["item"], "memory", "memories")}
	for _, table := range slices.Sorted(maps.Keys(rows)) {
		if table != "episode" && table != "item" {
			list = append(list, count(rows[table], strings.ReplaceAll(table, "_", " ")+" row"))
		}
	}
	return strings.Join(list, ", ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func (a *app) printForgotten(res *meminfra.ForgetResult) {
	verb, residue := "erased", res.Residue
	if res.DryRun {
		verb, residue = "would erase", ""
	}
	if residue == meminfra.ResiduePending {
		residue = "pending: run meminfra doctor --fix when nobody else reads the database"
	}
	entry := ""
	if res.LedgerSeq > 0 {
		entry = fmt.Sprintf("%d %s", res.LedgerSeq, res.LedgerHash)
	}
	fields(a.stdout,
		[2]string{verb, rowsText(res.Rows)},
		[2]string{"retold", strings.Join(res.Retold, ", ")},
		[2]string{"ledger", entry},
		[2]string{"residue", residue},
		[2]string{"SHA-256", res.SHA256},
	)
	for _, s := range res.Shared {
		fmt.Fprintf(a.stdout, "%-13s%s\n", "shared", joinNonEmpty([]string{scopeText(s.Scope, s.TeamID), "partition " + s.Partition, count(s.Tombstones, "tombstone")}, ", "))
	}
	for _, line := range res.Outside {
		fmt.Fprintf(a.stdout, "%-13s%s\n", "not covered", line)
	}
	if res.DryRun {
		for _, id := range res.Episodes {
			fmt.Fprintf(a.stdout, "%-13s%s\n", "message", id)
		}
		for _, id := range res.Items {
			fmt.Fprintf(a.stdout, "%-13s%s\n", "memory", id)
		}
	}
}

func (a *app) sweepCommand() *cobra.Command {
	var (
		req    meminfra.SweepRequest
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "sweep [--dry-run]",
		Short: "Erase what has expired, of all users",
		Long: `Erases the memories and messages whose time is over (add --expires), which nothing
shows any more, and traces over 30 days. Finishes erasures that are pending.`,
		Example: "  meminfra sweep",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				res, err := ml.Sweep(cmd.Context(), req)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(res)
				}
				for _, c := range res.Certificates {
					fmt.Fprintf(a.stdout, "partition %s\n", c.Partition)
					a.printForgotten(c)
				}
				if req.DryRun && len(res.Certificates) == 0 {
					fmt.Fprintln(a.stdout, "nothing has expired")
				}
				if !req.DryRun {
					fmt.Fprintf(a.stdout, "%s lost something, %s dropped, residue %s\n",
						count(len(res.Certificates), "partition"), count(res.Traces, "trace"), res.Residue)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "show what would go and erase nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the certificates as JSON")
	return cmd
}
