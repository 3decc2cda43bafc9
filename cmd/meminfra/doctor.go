package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
)

// errUnwell ends doctor with exit code 1: what is wrong was printed.
var errUnwell = errors.New("something is wrong")

func (a *app) doctorCommand() *cobra.Command {
	var (
		req    meminfra.DoctorRequest
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "doctor [--fix]",
		Short: "Look everything over, and say what is wrong and what helps",
		Long: `Looks at the configuration, the store, its schema, the ledger and the rows it
covers, vectors, rows without their partners, and what was left unfinished. Says
what it found and what helps; the exit code is 1 if something is wrong. --fix
finishes erasures that are pending.`,
		Example: "  meminfra doctor --fix",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			res := a.examine(cmd.Context(), req)
			if asJSON {
				if err := a.printJSON(struct {
					OK bool `json:"ok"`
					*meminfra.DoctorResult
				}{res.OK(), res}); err != nil {
					return err
				}
			} else {
				a.printChecks(res)
			}
			if !res.OK() {
				return errUnwell
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&req.Fix, "fix", false, "finish erasures that are pending")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was found as JSON")
	return cmd
}

// examine looks from the outside in; what needs what is broken is left out.
func (a *app) examine(ctx context.Context, req meminfra.DoctorRequest) *meminfra.DoctorResult {
	res := &meminfra.DoctorResult{}
	add := func(name, found string, err error) bool {
		c := meminfra.Check{Name: name, OK: err == nil, Found: []string{}}
		if err != nil {
			_, c.Remedy = classify(err)
			found = a.target.redact(strings.Join(strings.Fields(err.Error()), " "))
		}
		if found != "" {
			c.Found = append(c.Found, found)
		}
		res.Checks = append(res.Checks, c)
		return err == nil
	}
	_, err := a.layerOptions(ctx, nil)
	if !add("config", a.configPath(), err) {
		return res
	}
	t, err := a.storeTarget()
	if err == nil && !t.exists() {
		err = &hinted{errors.New("there is no database at " + t.path), "meminfra init, or another --db"}
	}
	a.target = t
	if !add("store", describeIf(t, err), err) {
		return res
	}
	m, status, err := a.migrator(ctx, t)
	if err == nil {
		err = m.Fits(status.Version, status.Dirty)
	}
	if !add("schema", status.Name, err) {
		return res
	}
	err = a.withMemory(ctx, false, func(ml *meminfra.MemoryLayer) error {
		inner, err := ml.Doctor(ctx, req)
		if err == nil {
			res.Checks = append(res.Checks, inner.Checks...)
		}
		return err
	})
	if err != nil {
		add("memory", "", err)
	}
	return res
}

func describeIf(t target, err error) string {
	if err != nil {
		return ""
	}
	return t.describe()
}

func (a *app) printChecks(res *meminfra.DoctorResult) {
	for _, c := range res.Checks {
		word := "ok"
		if !c.OK {
			word = "WRONG"
		}
		fmt.Fprintf(a.stdout, "%-6s %-12s %s\n", word, c.Name, strings.Join(c.Found, "; "))
		if c.Remedy != "" {
			fmt.Fprintf(a.stdout, "       %-12s try: %s\n", "", c.Remedy)
		}
	}
}
