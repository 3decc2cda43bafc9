package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// historyDoc is the document of history: the versions of one line, each with
// what was believed of it over time.
type historyDoc struct {
	Versions []versionDoc `json:"versions"`
}

type versionDoc struct {
	recordDoc
	Stages []meminfra.Stage `json:"stages"`
}

func (a *app) historyCommand() *cobra.Command {
	var (
		req              meminfra.HistoryRequest
		validAt, knownAt string
		asJSON           bool
	)
	cmd := &cobra.Command{
		Use:     "history --user U [flags] ID",
		Short:   "Show all versions of a memory and why each changed",
		Long:    "Shows the line of versions that a memory belongs to, with each change and its\nreason. ID is any version's.",
		Example: "  meminfra history --user ada 0198f0c2-7c1e-7abc-8def-0123456789ab",
		Args:    one("ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			req.ID = args[0]
			if memory.IsBlank(req.UserID) {
				return meminfra.ErrNoUser
			}
			if validAt != "" {
				if req.ValidAt, err = parseTime("--valid-at", validAt); err != nil {
					return err
				}
			}
			if knownAt != "" {
				if req.KnownAt, err = parseTime("--known-at", knownAt); err != nil {
					return err
				}
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				res, err := ml.History(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.printHistory(res, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&req.UserID, "user", "", "whose memory (required)")
	cmd.Flags().StringVar(&validAt, "valid-at", "", "only versions that held at that time")
	cmd.Flags().StringVar(&knownAt, "known-at", "", "the line as it was believed at that time")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the line as JSON")
	return cmd
}

func (a *app) printHistory(res *meminfra.HistoryResult, asJSON bool) error {
	if asJSON {
		doc := historyDoc{Versions: make([]versionDoc, len(res.Versions))}
		for i, v := range res.Versions {
			doc.Versions[i] = versionDoc{newRecordDoc(v.Record), list(v.Stages)}
		}
		return a.printJSON(doc)
	}
	for i, v := range res.Versions {
		a.recordLines(fmt.Sprintf("%2d  ", i+1), v.Record)
		for _, s := range v.Stages {
			fmt.Fprintf(a.stdout, "    %s\n", stageLine(s))
		}
	}
	return nil
}

// stageLine says since when something was believed, what, and why.
func stageLine(s meminfra.Stage) string {
	known := "known from " + stamp(s.KnownFrom)
	if s.KnownTo != nil {
		known += " to " + stamp(*s.KnownTo)
	}
	because := joinNonEmpty([]string{string(s.Action), reasonText(s.Reason)}, ", ")
	if s.ClosedBy != "" {
		because = joinNonEmpty([]string{because, "by " + s.ClosedBy}, ", ")
	}
	return joinNonEmpty([]string{known + ": " + string(s.Status), span(s.ValidFrom, s.ValidTo), parens(because)}, " ")
}

func parens(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}
