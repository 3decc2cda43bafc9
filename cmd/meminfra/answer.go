package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/answer"
)

func (a *app) answerCommand() *cobra.Command {
	var (
		req      meminfra.AnswerRequest
		filters  filterFlags
		noIntent bool
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "answer --user U [flags] QUESTION",
		Short: "Answer a question from memory, with citations",
		Long: "Answers from what is remembered, or says that it cannot. Without a model the best\n" +
			"fitting words are quoted.",
		Example: `  meminfra answer --user ada "Where do I live?"`,
		Args:    one("QUESTION"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			req.Query, req.SkipIntent = args[0], noIntent
			if req.Filters, err = checkRead(req.UserID, req.Limit, &filters); err != nil {
				return err
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				res, err := ml.Answer(cmd.Context(), req)
				if err != nil {
					return err
				}
				a.warn(res.Degraded)
				if asJSON {
					return a.printJSON(res)
				}
				a.printAnswer(res)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().IntVar(&req.Limit, "limit", 0, "how many memories are looked at first (default 5)")
	cmd.Flags().BoolVar(&noIntent, "no-intent", false, "leave out what the question's form says of the fact asked for")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer as JSON")
	filters.bind(cmd.Flags())
	return cmd
}

func (a *app) printAnswer(res *meminfra.AnswerResult) {
	if res.Abstained {
		fmt.Fprintln(a.stdout, map[string]string{
			answer.NothingAsked:    "nothing is asked that memory could answer",
			answer.NothingFound:    "nothing is remembered about that",
			answer.NothingSupports: "what is remembered does not answer that",
		}[res.Reason])
		return
	}
	fmt.Fprintln(a.stdout, oneLine(res.Text))
	ids := make([]string, len(res.Citations))
	for i, c := range res.Citations {
		ids[i] = fmt.Sprintf("%s %s (%s)", c.Kind, c.ID, c.Weight)
	}
	fmt.Fprintf(a.stdout, "    from %s\n", strings.Join(ids, ", "))
}
