package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

func (a *app) whyCommand() *cobra.Command {
	var (
		req    meminfra.WhyRequest
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "why --user U TRACE",
		Short: "Show what an answer rests on, down to the words that were said",
		Long: `Leads from a search or an answer to the memories it showed, the decisions that
made each, the words that say it, marked in their message, and the ledger entry
of each decision. TRACE is the trace_id of search or answer, or a memory's id.`,
		Example: "  meminfra why --user ada 0198f0c2-7c1e-7abc-8def-0123456789ab",
		Args:    one("TRACE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.ID = args[0]
			if memory.IsBlank(req.UserID) {
				return meminfra.ErrNoUser
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				res, err := ml.Ledger().Why(cmd.Context(), req)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(res)
				}
				a.printWhy(res)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

func (a *app) printWhy(res *meminfra.WhyResult) {
	if res.TraceID != "" {
		fmt.Fprintf(a.stdout, "%s %s\n", res.Kind, a.fit(res.Query, len(res.Kind)+1))
	}
	for _, i := range res.Items {
		cells := ""
		if i.Rank > 0 {
			cells = fmt.Sprintf("%2d  ", i.Rank)
		}
		fmt.Fprintf(a.stdout, "%s%s\n", cells, a.fit(i.Text, len(cells)))
		cited := ""
		if i.Cited {
			cited = "cited"
		}
		fmt.Fprintf(a.stdout, "    %s\n", joinNonEmpty([]string{cited, i.Authority, string(i.Status), "id " + i.ID}, ", "))
		if len(i.Conflicts) > 0 {
			fmt.Fprintf(a.stdout, "    contradicts %s\n", strings.Join(i.Conflicts, ", "))
		}
		for _, d := range i.Decisions {
			by := joinNonEmpty([]string{d.Extractor, d.Model}, ", ")
			fmt.Fprintf(a.stdout, "    decided %s: %s %s %s\n", stamp(d.At), d.Action, reasonText(d.Reason), parens(by))
			if d.Entry > 0 {
				fmt.Fprintf(a.stdout, "      ledger entry %d, %s\n", d.Entry, d.Hash)
			}
		}
		for _, q := range i.Evidence {
			a.printQuote("    ", q)
		}
	}
	for _, q := range res.Quoted {
		a.printQuote("", q)
	}
	if res.Shared > 0 {
		fmt.Fprintf(a.stdout, "and %s from shared memory\n", count(res.Shared, "hit"))
	}
	if len(res.Gone) > 0 {
		fmt.Fprintf(a.stdout, "%s forgotten since\n", count(len(res.Gone), "hit"))
	}
}

// printQuote prints a message with the quote in it marked.
func (a *app) printQuote(indent string, q meminfra.WhyQuote) {
	who := joinNonEmpty([]string{string(q.Role), q.Speaker}, " ")
	marked := oneLine(q.Before + "»" + q.Quote + "«" + q.After)
	fmt.Fprintf(a.stdout, "%ssaid %s by %s: %s\n", indent, stamp(q.SaidAt), who, marked)
}
