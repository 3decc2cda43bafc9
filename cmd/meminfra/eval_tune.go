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
	now, fit := tune.Current(), tune.Fit(queries)
	fmt.Fprintln(a.stdout, "weights in use:            ", tune.Measure(queries, &now))
	fmt.Fprintln(a.stdout, "fit:                       ", tune.Measure(queries, &fit))
	fmt.Fprintln(a.stdout, "fit, one left out, by turn:", tune.CrossValidate(queries, tune.Fit))
	fmt.Fprintln(a.stdout, "\nsignal            in use     fit  mean without it")
	for i := range now {
		without := now
		without[i] = 0
		fmt.Fprintf(a.stdout, "%-16s %7.2f %7.2f  %+.4f\n", retrieve.Signal(i), now[i], fit[i],
			tune.Measure(queries, &without).Goal()-tune.Measure(queries, &now).Goal())
	}
}
