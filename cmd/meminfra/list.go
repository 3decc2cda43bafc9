package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
)

// listDoc is the document of list.
type listDoc struct {
	Items []recordDoc `json:"items"`
	Next  string      `json:"next"` // the cursor of the next page, "" on the last
}

func (a *app) listCommand() *cobra.Command {
	var (
		req     meminfra.ListRequest
		filters filterFlags
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "list --user U [flags]",
		Short: "List what is remembered, newest first",
		Example: `  meminfra list --user ada --kind preference
  meminfra list --user ada --kind episode --limit 20
  meminfra list --user ada --history include --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if req.Filters, err = checkRead(req.UserID, req.Limit, &filters); err != nil {
				return err
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				res, err := ml.List(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.printList(res, asJSON)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&req.UserID, "user", "", "whose memory (required)")
	flags.StringVar(&req.TeamID, "team", "", "the memory of this team, whose member the user is, instead of his own")
	flags.BoolVar(&req.Public, "public", false, "everybody's memory instead of the user's own")
	flags.IntVar(&req.Limit, "limit", 50, "the size of a page, up to 1000")
	flags.StringVar(&req.Cursor, "cursor", "", "where the page before ended")
	flags.BoolVar(&asJSON, "json", false, "print the page as JSON")
	filters.bind(flags)
	return cmd
}

func (a *app) printList(res *meminfra.ListResult, asJSON bool) error {
	if asJSON {
		doc := listDoc{Items: make([]recordDoc, len(res.Records)), Next: res.Next}
		for i, r := range res.Records {
			doc.Items[i] = newRecordDoc(r)
		}
		return a.printJSON(doc)
	}
	if len(res.Records) == 0 {
		fmt.Fprintln(a.stdout, "nothing found")
		return nil
	}
	for _, r := range res.Records {
		a.recordLines(fmt.Sprintf("%-10s  ", r.Kind), r)
	}
	if res.Next != "" {
		fmt.Fprintf(a.stdout, "more: --cursor %s\n", res.Next)
	}
	return nil
}
