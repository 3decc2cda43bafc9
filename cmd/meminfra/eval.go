package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/eval"
	dataset "github.com/meminfra/memory-layer/eval/locomo"
	"github.com/meminfra/memory-layer/fusion"
	"github.com/meminfra/memory-layer/meminfra/extract/model"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/replay"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/predicates"
)

func (a *app) evalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure what the memory finds, with baselines and intervals",
		Args:  a.unknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.evalLocomoCommand(), a.evalSuiteCommand(), a.evalCompareCommand(), a.evalTuneCommand())
	return cmd
}

// evalFlags are the flags of eval locomo.
type evalFlags struct {
	data          string
	conversations []string
	mode, fusion  string
	k             int
	json, md      bool
	html          string
	tape, replay  string
	cfg           eval.Config
}

func (a *app) evalLocomoCommand() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "locomo --data FILE [flags]",
		Short: "Run the LoCoMo benchmark (conversations, and questions with the turns that answer them)",
		Long: `Adds the conversations of a LoCoMo file to a memory and scores what its searches
find, beside the same questions by BM25, by vectors and by both without context.

The file is not part of meminfra (CC BY-NC 4.0): github.com/snap-research/LoCoMo,
data/locomo10.json. The memory is a temporary SQLite file, unless --db or
EVAL_DATABASE_URL names a store; a run leaves its memories in such a store, under
a tenant of its own. Vectors are the built-in embedder's, or those of the model
that EMBEDDING_* names.

Mode model extracts with the language model that LLM_* names; --answers has every
question answered as well, by that model if there is one, and graded by it. With
--tape FILE what models say is kept: a run that was broken off goes on where it was
and pays for nothing twice. --replay FILE asks no model: it plays such a tape.`,
		Example: `  meminfra eval locomo --data locomo10.json
  meminfra eval locomo --data locomo10.json --conversation conv-30 --conversation conv-42 --html report.html
  meminfra eval locomo --data locomo10.json --no-context --json > without.json
  meminfra eval locomo --data locomo10.json --conversation conv-30 --mode model --answers --tape conv-30.tape`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.evalLocomo(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", "", "the LoCoMo file (required)")
	flags.StringArrayVar(&f.conversations, "conversation", nil, "only this conversation, repeatable")
	flags.StringVar(&f.mode, "mode", string(eval.Turns), "where memories come from: turns (the built-in extractor), observations (those in the file) or model (the model of LLM_*)")
	flags.IntVar(&f.k, "k", 5, "depth of the headline figures, 1 to 100")
	flags.BoolVar(&f.json, "json", false, "print the report as JSON, question by question")
	flags.BoolVar(&f.md, "markdown", false, "print the report as Markdown")
	flags.StringVar(&f.html, "html", "", "also write the report as a web page to this file")
	flags.StringVar(&f.fusion, "fusion", fusion.Default.Name(), "how branches are merged: agreement or rrf")
	flags.BoolVar(&f.cfg.SkipIntent, "no-intent", false, "do not infer a predicate from the question")
	flags.BoolVar(&f.cfg.SkipContext, "no-context", false, "leave the order to fusion alone")
	flags.BoolVar(&f.cfg.SkipPriors, "no-priors", false, "give nothing to what is recent")
	flags.BoolVar(&f.cfg.Answers, "answers", false, "answer every question too and score the answers")
	flags.StringVar(&f.tape, "tape", "", "keep what models say in this file, and go on from what it has")
	flags.StringVar(&f.replay, "replay", "", "play this tape and ask no model")
	flags.BoolVar(&f.cfg.SkipBaselines, "no-baselines", false, "leave the baselines out")
	return cmd
}

// check completes the configuration from the flags.
func (f *evalFlags) check() error {
	switch {
	case f.data == "":
		return usage("no data given", "--data locomo10.json")
	case f.k < 1 || f.k > 100:
		return usage("--k: not between 1 and 100", "--k 5")
	case !slices.Contains(eval.Modes, eval.Mode(f.mode)):
		return usage("--mode: unknown mode", "--mode turns, --mode observations or --mode model")
	case f.tape != "" && f.replay != "":
		return usage("--tape and --replay exclude each other", "--tape FILE to go on, --replay FILE to ask nobody")
	}
	switch f.fusion {
	case fusion.Default.Name():
	case fusion.RRF{}.Name():
		f.cfg.Fusion = fusion.RRF{}
	default:
		return usage("--fusion: unknown strategy", "--fusion agreement or --fusion rrf")
	}
	f.cfg.Mode, f.cfg.K = eval.Mode(f.mode), f.k
	return nil
}

func (a *app) evalLocomo(cmd *cobra.Command, f *evalFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.load(); err != nil {
		return err
	}
	closeTape, err := a.evalModels(cmd.Context(), f)
	if err != nil {
		return err
	}
	defer closeTape()
	return a.withEvalStore(cmd, &f.cfg, func(store storage.Store) error {
		bar := a.evalProgress(&f.cfg)
		report, err := eval.Run(cmd.Context(), store, f.cfg)
		if bar != nil {
			_ = bar.Clear()
		}
		if err != nil {
			return err
		}
		return a.printReport(report, f)
	})
}

// evalModels sets the models of a run: taped, and metered above the tape, so that
// a run's cost is the same whether it asked or played. The embedder is used in
// every mode, the language model where the mode or --answers wants it.
func (a *app) evalModels(ctx context.Context, f *evalFlags) (closeTape func(), err error) {
	models, err := a.layerOptions(ctx, nil)
	if err != nil {
		return nil, err
	}
	generator, embedder := models.Generator, models.Embedder
	var tape *replay.Tape
	switch {
	case f.tape != "":
		tape, err = replay.Resume(f.tape)
	case f.replay != "":
		tape, err = replay.Play(f.replay)
	}
	if err != nil {
		return nil, err
	}
	closeTape = func() {}
	if tape != nil {
		closeTape = func() { _ = tape.Close() }
	}
	meter := llm.NewMeter(nil)
	f.cfg.Usage = meter.Lines
	if embedder != nil {
		if tape != nil {
			embedder = tape.Embedder(embedder)
		}
		f.cfg.Options.Embedder = meter.Embedder(embedder)
	}
	asks := f.cfg.Mode == eval.Model || f.cfg.Answers || models.ModelIntent
	switch {
	case generator == nil && f.cfg.Mode == eval.Model:
		return nil, usage("--mode model: no language model is configured", "LLM_PROVIDER, LLM_MODEL and what the provider needs")
	case generator == nil || !asks:
		return closeTape, nil
	}
	if tape != nil {
		generator = tape.Generator(generator)
	}
	generator = meter.Generator(generator)
	f.cfg.Options.Generator, f.cfg.Options.JudgeAnswers, f.cfg.Judge = generator, true, generator
	f.cfg.Options.ModelIntent = models.ModelIntent
	if f.cfg.Mode == eval.Model {
		f.cfg.Options.Extractor, err = model.New(generator, predicates.Default(), nil)
	}
	return closeTape, err
}

// load reads the data and says which it was by its hash.
func (f *evalFlags) load() error {
	file, err := os.Open(f.data)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	data := io.TeeReader(file, sum)
	all, notes, err := dataset.Read(data)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, data); err != nil {
		return err
	}
	f.cfg.Data = "LoCoMo, SHA-256 " + hex.EncodeToString(sum.Sum(nil))
	f.cfg.Notes = notes
	f.cfg.Conversations, err = dataset.Only(all, f.conversations)
	if err != nil {
		var names []string
		for _, c := range all {
			names = append(names, c.ID)
		}
		return usage(err.Error(), "--conversation "+strings.Join(names, ", "))
	}
	return nil
}

// withEvalStore runs fn on the store named by --db or EVAL_DATABASE_URL, else on
// a SQLite file that goes afterwards. The everyday store is never taken.
func (a *app) withEvalStore(cmd *cobra.Command, cfg *eval.Config, fn func(storage.Store) error) (err error) {
	url := first(a.db, a.getenv("EVAL_DATABASE_URL"))
	if url == "" {
		folder, err := os.MkdirTemp("", "meminfra-eval-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		url = "sqlite:" + filepath.Join(folder, "memory.db")
	}
	t, err := parseTarget(url)
	if err != nil {
		return err
	}
	a.target = t
	cfg.Store = "sqlite"
	if t.path == "" {
		cfg.Store = "postgres"
		m, _, err := a.migrator(cmd.Context(), t)
		if err != nil {
			return err
		}
		if _, err := m.Up(cmd.Context(), t.url); err != nil {
			return err
		}
	}
	store, err := a.openStore(cmd.Context(), t, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return fn(store)
}

// evalProgress shows a bar where standard error is a terminal.
func (a *app) evalProgress(cfg *eval.Config) *progressbar.ProgressBar {
	if !a.progress {
		return nil
	}
	total := 0
	for _, c := range cfg.Conversations {
		total += len(c.Questions)
	}
	bar := a.bar(int64(total), "asking")
	cfg.Progress = func(done, _ int) { _ = bar.Set(done) }
	return bar
}

// printReport writes the page, if one is wanted, and the report as asked.
func (a *app) printReport(r *eval.Report, f *evalFlags) error {
	if f.html != "" {
		file, err := os.Create(f.html)
		if err != nil {
			return err
		}
		if err := errors.Join(r.WriteHTML(file), file.Close()); err != nil {
			return err
		}
	}
	if f.json {
		return a.printJSON(r)
	}
	return r.WriteMarkdown(a.stdout)
}

func (a *app) evalCompareCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare A.json B.json",
		Short: "Compare two runs question by question: is the difference more than chance?",
		Long: `Compares two reports that eval locomo --json printed, on the questions that both
asked: the difference with a paired bootstrap interval, and p from a paired
permutation test.`,
		Example: "  meminfra eval compare before.json after.json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage(fmt.Sprintf("%d reports given, want two", len(args)), cmd.UseLine())
			}
			return a.evalCompare(args[0], args[1], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the comparison as JSON")
	return cmd
}

func (a *app) evalCompare(pathA, pathB string, asJSON bool) error {
	fileA, err := os.Open(pathA)
	if err != nil {
		return err
	}
	defer fileA.Close()
	fileB, err := os.Open(pathB)
	if err != nil {
		return err
	}
	defer fileB.Close()
	c, err := eval.Compare(fileA, fileB)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(c)
	}
	return c.WriteMarkdown(a.stdout)
}
