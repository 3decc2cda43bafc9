package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
)

func (a *app) searchCommand() *cobra.Command {
	var (
		req     meminfra.SearchRequest
		filters filterFlags
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "search --user U [flags] QUERY",
		Short: "Find what is remembered about a question",
		Long: `Finds the memories and messages that are about QUERY, best first.

Columns S, L and V are the place that a hit took in each branch of the search:
structured (predicate and value), lexical (words, BM25) and vector; - is not in
it. The score lies between 0 and 1 and orders the hits.`,
		Example: `  meminfra search --user ada "Which database do I prefer?"
  meminfra search --user ada --limit 3 --filter predicate=location --history include "Where did I live?"
  meminfra search --user ada --filter metadata.source=crm --json "what did the customer say"`,
		Args: one("QUERY"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			req.Query = args[0]
			if req.Filters, err = checkRead(req.UserID, req.Limit, &filters); err != nil {
				return err
			}
			if memory.IsBlank(req.Query) {
				return usage("the query is blank", cmd.UseLine())
			}
			return a.search(cmd, req, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&req.UserID, "user", "", "whose memory (required)")
	flags.IntVar(&req.Limit, "limit", 10, "the most hits wanted, up to 100")
	flags.BoolVar(&req.SkipIntent, "no-intent", false, "do not infer a predicate from the question")
	flags.BoolVar(&asJSON, "json", false, "print the result as JSON")
	filters.bind(flags)
	return cmd
}

// checkRead is what search and list have in common: somebody's memory, no
// negative limit, filters that say something.
func checkRead(user string, limit int, filters *filterFlags) (meminfra.Filters, error) {
	if memory.IsBlank(user) {
		return meminfra.Filters{}, meminfra.ErrNoUser
	}
	if limit < 0 {
		return meminfra.Filters{}, usage("--limit: negative", "--limit 10")
	}
	return filters.parse()
}

func (a *app) search(cmd *cobra.Command, req meminfra.SearchRequest, asJSON bool) error {
	return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
		res, err := ml.Search(cmd.Context(), req)
		if err != nil {
			return err
		}
		if asJSON {
			return a.printJSON(res)
		}
		a.warn(res.Degraded)
		if len(res.Hits)+len(res.Shared) == 0 {
			fmt.Fprintln(a.stdout, "nothing found")
			return nil
		}
		a.printHits(res.Hits)
		if len(res.Shared) > 0 {
			fmt.Fprintln(a.stdout, "\nshared with you")
			a.printHits(res.Shared)
		}
		return nil
	})
}

func (a *app) printHits(hits []meminfra.SearchHit) {
	if len(hits) == 0 {
		return
	}
	fmt.Fprintln(a.stdout, " #  score    S   L   V  kind        text")
	for i, h := range hits {
		a.recordLines(hitCells(i+1, h), h.Record)
	}
}

func hitCells(rank int, h meminfra.SearchHit) string {
	return fmt.Sprintf("%2d  %.4f %3s %3s %3s  %-10s  ", rank, h.Score,
		place(h.Ranks.Structured), place(h.Ranks.Lexical), place(h.Ranks.Vector), h.Kind)
}

// place is a rank in a branch, "-" for not in it.
func place(r retrieve.Rank) string {
	if r == 0 {
		return "-"
	}
	return strconv.Itoa(int(r))
}
