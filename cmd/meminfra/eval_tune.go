package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/eval/tune"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// evalTuneCommand fits the table of signal weights: for who changes signals, so
// not listed.
func (a *app) evalTuneCommand() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:    "tune --data FILE",
		Short:  "Fit the weights of the context signals on the tuning conversations",
		Hidden: true,
		Args:   noArguments,
		RunE:   func(cmd *cobra.Command, _ []string) error { return a.evalTune(cmd, &f) },
	}
	cmd.Flags().StringVar(&f.data, "data", "", "the LoCoMo file (required)")
	cmd.Flags().StringVar(&f.mode, "mode", "turns", "turns or observations")
	return cmd
}

func (a *app) evalTune(cmd *cobra.Command, f *evalFlags) error {
	f.k, f.fusion, f.conversations = 5, "agreement", tune.Tuning
	if err := f.check(); err != nil {
		return err
	}
	if err := f.load(); err != nil {
		return err
	}
	return a.withEvalStore(cmd, &f.cfg, func(store storage.Store) error {
		queries, err := tune.Collect(cmd.Context(), store, f.cfg)
		if err != nil {
			return err
		}
		a.printTuning(queries)
		return nil
	})
}

func (a *app) printTuning(queries []tune.Query) {
	now := tune.Current()
	climbed := func(list []tune.Query) tune.Weights { return tune.Climb(list, tune.Fit(list)) }
	fmt.Fprintln(a.stdout, "weights in use:              ", tune.Measure(queries, &now))
	fmt.Fprintln(a.stdout, "fit, conversations left out: ", tune.CrossValidate(queries, tune.Fit))
	fmt.Fprintln(a.stdout, "climb, conversations left out:", tune.CrossValidate(queries, climbed))
	fit := tune.Fit(queries)
	fmt.Fprintln(a.stdout, "fit:                         ", tune.Measure(queries, &fit))
	climb := tune.Climb(queries, fit)
	fmt.Fprintln(a.stdout, "climb:                       ", tune.Measure(queries, &climb))
	fmt.Fprintln(a.stdout, "\nsignal              in use     fit   climb")
	for i := range now {
		fmt.Fprintf(a.stdout, "%-18s %7.2f %7.2f %7.2f\n", retrieve.Signal(i), now[i], fit[i], climb[i])
	}
}
