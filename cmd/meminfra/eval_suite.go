package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/eval"
	"github.com/meminfra/memory-layer/eval/suite"
	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

func (a *app) evalSuiteCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "suite",
		Short: "Run our own cases: updates, late arrival, retraction, cascade, forgetting, isolation, authority",
		Long: `Runs deterministic cases that need no data and no model. pass is the share of
cases in which everything was right: the current value first, and no fact that no
longer holds; in authority, of twins in which only the speaker differs, that the
user's passes the action gate and the other's does not (authorised), that both are
kept with their label, and that the case could fail (control); in own_word, that
only what the user plainly says passes. Exits with 1 if a case failed. The store is chosen as by eval locomo.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.evalSuite(cmd, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

func (a *app) evalSuite(cmd *cobra.Command, asJSON bool) error {
	return a.withEvalStore(cmd, &eval.Config{}, func(store storage.Store) error {
		r, err := suite.Run(cmd.Context(), store, meminfra.Options{})
		if err != nil {
			return err
		}
		if asJSON {
			err = a.printJSON(r)
		} else {
			err = r.WriteMarkdown(a.stdout)
		}
		if err == nil && !r.OK() {
			err = errors.New(count(len(r.Failures), "case") + " failed")
		}
		return err
	})
}
