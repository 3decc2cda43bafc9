package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
)

func (a *app) getCommand() *cobra.Command {
	var (
		req    meminfra.GetRequest
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:     "get --user U [--json] ID",
		Short:   "Show one memory with its evidence",
		Long:    "Shows one memory, or one stored message, with everything known of it. ID is as\nsearch, list and add print it.",
		Example: "  meminfra get --user ada 0198f0c2-7c1e-7abc-8def-0123456789ab",
		Args:    one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.ID = args[0]
			if memory.IsBlank(req.UserID) {
				return meminfra.ErrNoUser
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				r, err := ml.Get(cmd.Context(), req)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(newRecordDoc(*r))
				}
				a.printRecord(*r)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the memory as JSON")
	return cmd
}

// staleText says which sources of a memory no longer count.
func staleText(causes []retrieve.StaleCause) string {
	words := make([]string, len(causes))
	for i, c := range causes {
		words[i] = c.ItemID + " is " + c.Status
	}
	return strings.Join(words, ", ")
}

func (a *app) printRecord(r meminfra.Record) {
	said := ""
	if r.ConversationID != "" {
		said = "conversation " + oneLine(r.ConversationID)
		if r.Speaker != "" {
			said += " by " + oneLine(r.Speaker)
		}
	}
	recorded := ""
	if !r.RecordedAt.IsZero() {
		recorded = stamp(r.RecordedAt)
	}
	fields(a.stdout,
		[2]string{"id", r.ID},
		[2]string{"kind", string(r.Kind)},
		[2]string{"text", oneLine(r.Text)},
		[2]string{"about", strings.TrimSpace(r.Subject.Type + " " + oneLine(r.Subject.Name))},
		[2]string{"fact", factText(r)},
		[2]string{"authority", r.Authority.String()},
		[2]string{"status", string(r.Status)},
		[2]string{"holds", span(r.ValidFrom, r.ValidTo)},
		[2]string{"said in", said},
		[2]string{"shared", sharingText(r)},
		[2]string{"recorded", recorded},
		[2]string{"supersedes", r.Supersedes},
		[2]string{"contradicts", strings.Join(r.Conflicts, ", ")},
		[2]string{"made of", strings.Join(r.DerivedFrom, ", ")},
		[2]string{"stale", staleText(r.Stale)},
	)
	if metadata, err := r.Metadata.Canonical(); err == nil {
		fields(a.stdout, [2]string{"metadata", metadata})
	}
	for _, e := range r.Evidence {
		fmt.Fprintf(a.stdout, "%-13s%q in message %s\n", "evidence", oneLine(e.Quote), first(e.MessageID, e.EpisodeID))
	}
}
