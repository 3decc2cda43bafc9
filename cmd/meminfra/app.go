package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// app is everything a command touches outside itself, so that tests need no
// process.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	now            func() time.Time
	columns        int    // width of the terminal on stdout; 0, no terminal, cuts nothing
	progress       bool   // stderr is a terminal: a progress bar makes sense
	interactive    bool   // stdin and stderr are terminals: there is someone to ask
	name           string // how the user runs this program

	http   *http.Client // asks whether a local server is there; nil is its own
	db     string       // --db
	flags  *pflag.FlagSet
	usage  bool // --usage
	tally  *llm.Tally
	warned bool // of a config file that others may read
	settingFlags
	target target // what was opened last: its password stays out of errors
}

// processApp is the app of this process.
func processApp() *app {
	a := &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, now: time.Now, name: "meminfra",
		progress:    term.IsTerminal(int(os.Stderr.Fd())),
		interactive: term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())),
	}
	if columns, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		a.columns = columns
	}
	if strings.Contains(os.Args[0], "go-build") {
		a.name = "go run ./cmd/meminfra"
	}
	return a
}

// run executes one command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return a.flagError(cmd, args, err) })
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	ctx, a.tally = llm.WithTally(ctx)
	cmd, err := root.ExecuteContextC(ctx)
	a.printUsed(cmd)
	if err == nil {
		return exitOK
	}
	return a.report(err)
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "meminfra",
		Short: "Long-term memory for applications built on language models",
		Long: `Long-term memory for applications built on language models.

Conversations go in, memories with evidence come out. One SQL database is the
truth: a SQLite file by default, PostgreSQL where several machines share it.
No key, no container and no network is needed. Begin with: meminfra demo

Environment:
  DATABASE_URL     the store, if --db is not given
  DIRECT_URL       preferred over DATABASE_URL by migrate and init, for a
                   PostgreSQL behind a pooler
  XDG_DATA_HOME    where the default store lives
  XDG_CONFIG_HOME  where the config file lives; LLM_*, EMBEDDING_* and
                   MODEL_INTENT go before what it says
  LEDGER_KEY       a secret that the ledger's hashes are made with, if any;
                   LEDGER_OLD_KEYS are earlier ones, separated by commas`,
		Version:       buildVersion(),
		Args:          a.unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetVersionTemplate("meminfra {{.Version}}\n")
	root.PersistentFlags().StringVar(&a.db, "db", "",
		"the store: sqlite:PATH or postgres://... (default: DATABASE_URL, else a file in the data folder)")
	root.PersistentFlags().BoolVar(&a.usage, "usage", false, "say at the end what models were used; --json documents always do")
	a.settingFlags.bind(root.PersistentFlags())
	a.flags = root.PersistentFlags()
	root.AddCommand(a.demoCommand(), a.initCommand(), a.configCommand(), a.usageCommand(), a.migrateCommand(), a.addCommand(), a.searchCommand(), a.answerCommand(),
		a.getCommand(), a.listCommand(), a.historyCommand(), a.editCommand(), a.retractCommand(), a.grantCommand(), a.revokeCommand(), a.grantsCommand(), a.restoreCommand(),
		a.deriveCommand(), a.staleCommand(), a.reprocessCommand(), a.reembedCommand(), a.indexCommand(), a.reindexCommand(), a.importCommand(), a.forgetCommand(), a.sweepCommand(), a.doctorCommand(), a.evalCommand(), a.versionCommand(),
		a.verifyCommand(), a.checkpointCommand(), a.sealCommand(), a.whyCommand(), a.exportCommand(),
		a.checkCommand(), a.confirmCommand(), a.feedbackCommand())
	return root
}

// flagError says what is wrong with a flag. A flag that a command which only holds
// others does not know is mostly that of a command whose name is misspelt.
func (a *app) flagError(cmd *cobra.Command, args []string, err error) error {
	depth := strings.Count(cmd.CommandPath(), " ")
	if cmd.HasSubCommands() && len(args) > depth && !strings.HasPrefix(args[depth], "-") {
		return a.unknownCommand(cmd, args[depth:])
	}
	text, _, _ := strings.Cut(err.Error(), ": strconv.")
	return usage(text, cmd.CommandPath()+" --help")
}

// unknownCommand refuses arguments of a command that only holds others.
func (a *app) unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := cmd.CommandPath() + " --help"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = cmd.CommandPath() + " " + near[0]
	}
	return usage("unknown command", hint)
}

// one returns a check for exactly one argument, called what in the error. The
// arguments themselves may be memory text and are not repeated.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usage("no "+what+" given", cmd.UseLine())
		case len(args) > 1:
			return usage(fmt.Sprintf("%d arguments, want one %s: quote it", len(args), what), cmd.UseLine())
		}
		return nil
	}
}

// namesTeam refuses a --team that is given and empty: it must not become "the
// user's own".
func namesTeam(cmd *cobra.Command, team string) error {
	if cmd.Flags().Changed("team") && memory.IsBlank(team) {
		return usage("--team names no team", "a team, or leave --team out")
	}
	return nil
}

// noArguments refuses any argument.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd.CommandPath()+" takes no arguments", cmd.UseLine())
	}
	return nil
}
