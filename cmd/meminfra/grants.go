package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meminfra/memory-layer/meminfra"
)

// grantFlags name an edge by its two ends.
type grantFlags struct {
	request meminfra.GrantRequest
	at      string
	json    bool
}

func (f *grantFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.request.UserID, "user", "", "the user")
	flags.StringVar(&f.request.AgentID, "agent", "", "the agent")
	flags.StringVar(&f.request.ResourceID, "resource", "", "the resource: a tool or document by its name")
	flags.StringVar(&f.request.TeamID, "team", "", "the team")
	flags.StringVar(&f.at, "at", "", "`time` when it takes effect, RFC 3339 (default: now)")
	flags.BoolVar(&f.json, "json", false, "print the result as JSON")
}

func (a *app) grantCommand() *cobra.Command {
	return a.edgeCommand("grant", "Let a user use an agent, an agent reach a resource, or a user into a team",
		`Name the two ends: --user and --agent, --agent and --resource, or --team and --user.
The first agent granted to a user ends open mode for good: from then on the user
sees only what came through granted agents.`,
		func(cmd *cobra.Command, g meminfra.Granter, req meminfra.GrantRequest) (*meminfra.GrantResult, error) {
			return g.Grant(cmd.Context(), req)
		})
}

func (a *app) revokeCommand() *cobra.Command {
	return a.edgeCommand("revoke", "Take a grant back: what came through it is hidden at once",
		"Names the two ends as grant does. Grants of the same ends that were to begin later\nare taken back as well.",
		func(cmd *cobra.Command, g meminfra.Granter, req meminfra.GrantRequest) (*meminfra.GrantResult, error) {
			return g.Revoke(cmd.Context(), meminfra.RevokeRequest(req))
		})
}

func (a *app) edgeCommand(name, short, long string, do func(*cobra.Command, meminfra.Granter, meminfra.GrantRequest) (*meminfra.GrantResult, error)) *cobra.Command {
	var f grantFlags
	cmd := &cobra.Command{
		Use: name + " [flags]", Short: short, Long: long,
		Example: "  meminfra " + name + " --user ada --agent planner\n  meminfra " + name + " --agent planner --resource crm\n  meminfra " + name + " --team red --user ada",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if f.at != "" {
				if f.request.At, err = parseTime("--at", f.at); err != nil {
					return err
				}
			}
			return a.withMemory(cmd.Context(), true, func(ml *meminfra.MemoryLayer) error {
				res, err := do(cmd, ml.Grants(), f.request)
				if err != nil {
					return err
				}
				if f.json {
					return a.printJSON(res)
				}
				if !res.Changed {
					fmt.Fprintln(a.stdout, "it was so already")
				}
				a.printGrant(res.Grant)
				return nil
			})
		},
	}
	f.bind(cmd.Flags())
	cmd.Flags().StringVar(&f.request.By, "by", "", "who does it, for the record")
	return cmd
}

func (a *app) grantsCommand() *cobra.Command {
	var f grantFlags
	var history bool
	cmd := &cobra.Command{
		Use: "grants [flags]", Short: "List who may use, reach and read what",
		Long:    "Lists the grants that hold, of the ends named; with --history every grant and revocation.",
		Example: "  meminfra grants --user ada\n  meminfra grants --team red --history",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			req := meminfra.ListGrantsRequest{UserID: f.request.UserID, AgentID: f.request.AgentID,
				ResourceID: f.request.ResourceID, TeamID: f.request.TeamID, History: history}
			if f.at != "" {
				if req.At, err = parseTime("--at", f.at); err != nil {
					return err
				}
			}
			return a.withMemory(cmd.Context(), false, func(ml *meminfra.MemoryLayer) error {
				res, err := ml.Grants().List(cmd.Context(), req)
				if err != nil {
					return err
				}
				if f.json {
					return a.printJSON(res)
				}
				if len(res.Grants) == 0 {
					fmt.Fprintln(a.stdout, "no grants")
				}
				for _, g := range res.Grants {
					a.printGrant(g)
				}
				return nil
			})
		},
	}
	f.bind(cmd.Flags())
	cmd.Flags().BoolVar(&history, "history", false, "every event, those to come included")
	return cmd
}

func (a *app) printGrant(g meminfra.GrantRecord) {
	word := "granted"
	if !g.Granted {
		word = "revoked"
	}
	var ends []string
	for _, e := range [][2]string{{"team", g.TeamID}, {"user", g.UserID}, {"agent", g.AgentID}, {"resource", g.ResourceID}} {
		if e[1] != "" {
			ends = append(ends, e[0]+" "+oneLine(e[1]))
		}
	}
	until, by := "", ""
	if g.Until != nil {
		until = "until " + stamp(*g.Until)
	}
	if g.By != "" {
		by = "by " + oneLine(g.By)
	}
	fmt.Fprintln(a.stdout, joinNonEmpty([]string{word, stamp(g.At), joinNonEmpty(ends, ", "), joinNonEmpty([]string{until, by}, ", ")}, "  "))
}
