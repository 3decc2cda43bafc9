package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
)

func (a *app) feedbackCommand() *cobra.Command {
	var (
		req    meminfra.FeedbackRequest
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "feedback --user U TRACE REWARD",
		Short: "Say how well a search or an answer served",
		Long: "Rewards what an answer cited, or what a search found, from -1 (it did harm) to 1 (just\n" +
			"right). It moves those memories a little in later searches. TRACE is the trace_id of a\n" +
			"search or answer with --json; a negative reward stands behind --.",
		Example: "  meminfra feedback --user ada 0198f0c2-7c1e-7abc-8def-0123456789ab 1\n  meminfra feedback --user ada -- 0198f0c2-7c1e-7abc-8def-0123456789ab -0.5",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("feedback wants TRACE and REWARD", cmd.Example)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			req.TraceID = args[0]
			if req.Reward, err = strconv.ParseFloat(args[1], 64); err != nil {
				return usage("REWARD is a number from -1 to 1", "1, 0.5 or -1")
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				res, err := ml.Feedback(cmd.Context(), req)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(res)
				}
				again := ""
				if res.Known {
					again = ", counted before"
				}
				_, err = fmt.Fprintf(a.stdout, "rewarded %s%s\n", plural(len(res.Credited), "memory", "memories"), again)
				return err
			})
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if strings.Contains(err.Error(), "shorthand") { // -0.5
			return usage("a negative REWARD stands behind --", "meminfra feedback --user U -- TRACE -0.5")
		}
		return usage(err.Error(), cmd.CommandPath()+" --help")
	})
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().StringVar(&req.IdempotencyKey, "key", "", "idempotency key: repeating it counts once")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	return cmd
}
