package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/migrate"
	pgschema "github.com/meminfra/memory-layer/migrate/postgres"
	sqliteschema "github.com/meminfra/memory-layer/migrate/sqlite"
)

func (a *app) migrateCommand() *cobra.Command {
	var showSQL bool
	cmd := &cobra.Command{
		Use:   "migrate [up | down | status]",
		Short: "Bring the database's schema up, one step down, or show where it stands",
		Long: `up (the default) applies what is missing and may be repeated. down undoes the last
step and DELETES the data in the tables that this step made. status changes
nothing. DIRECT_URL is preferred over DATABASE_URL; --db wins over both.

--show-sql prints the SQL of all steps in the order in which up (or down) runs
them, for another tool to run, and opens no database.`,
		Example: `  meminfra migrate
  meminfra migrate status
  meminfra migrate down --show-sql`,
		Args: a.unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.migrateUp(cmd, showSQL) },
	}
	cmd.PersistentFlags().BoolVar(&showSQL, "show-sql", false, "print the SQL of all steps and run nothing")
	cmd.AddCommand(
		&cobra.Command{Use: "up", Short: "Apply what is missing", Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.migrateUp(cmd, showSQL) }},
		&cobra.Command{Use: "down", Short: "Undo the last step, with its data", Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.migrateDown(cmd, showSQL) }},
		&cobra.Command{Use: "status", Short: "Show the schema and what is pending", Args: noArguments,
			RunE: a.migrateStatus},
	)
	return cmd
}

// migrator returns what migrates the target, and where the target stands.
func (a *app) migrator(ctx context.Context, t target) (*migrate.Migrator, migrate.Status, error) {
	a.target = t
	m, err := migratorFor(t)
	if err != nil {
		return nil, migrate.Status{}, err
	}
	status, err := m.Status(ctx, t.url)
	return m, status, err
}

func migratorFor(t target) (*migrate.Migrator, error) {
	return migrate.For(t.url, sqliteschema.Dialect, pgschema.Dialect)
}

func (a *app) migrateUp(cmd *cobra.Command, showSQL bool) error {
	t, err := a.migrateTarget()
	if err != nil {
		return err
	}
	if showSQL {
		return a.showSQL(t, migrate.Up)
	}
	m, _, err := a.migrator(cmd.Context(), t)
	if err != nil {
		return err
	}
	applied, err := m.Up(cmd.Context(), t.url)
	for _, name := range applied {
		fmt.Fprintf(a.stdout, "applied %s\n", name)
	}
	if err != nil {
		return err
	}
	_, head := m.Head()
	fmt.Fprintf(a.stdout, "the schema is at %s, the newest\n", head)
	return nil
}

func (a *app) migrateDown(cmd *cobra.Command, showSQL bool) error {
	t, err := a.migrateTarget()
	if err != nil {
		return err
	}
	if showSQL {
		return a.showSQL(t, migrate.Down)
	}
	m, _, err := a.migrator(cmd.Context(), t)
	if err != nil {
		return err
	}
	undone, err := m.Down(cmd.Context(), t.url)
	if err != nil {
		return err
	}
	if undone == "" {
		fmt.Fprintln(a.stdout, "the database is empty: nothing to undo")
		return nil
	}
	fmt.Fprintf(a.stdout, "undid %s\n", undone)
	return nil
}

func (a *app) migrateStatus(cmd *cobra.Command, _ []string) error {
	t, err := a.migrateTarget()
	if err != nil {
		return err
	}
	_, s, err := a.migrator(cmd.Context(), t)
	if err != nil {
		return err
	}
	present := first(s.Name, fmt.Sprintf("%04d, which this program does not know", s.Version))
	switch {
	case s.Version == 0:
		present = "none: the database is empty or not there"
	case s.Dirty:
		present += ", left half-applied"
	}
	fields(a.stdout,
		[2]string{"store", t.describe()},
		[2]string{"schema", present},
		[2]string{"head", s.HeadName},
		[2]string{"pending", first(strings.Join(s.Pending, ", "), "nothing")},
	)
	return nil
}

func (a *app) showSQL(t target, direction migrate.Direction) error {
	m, err := migratorFor(t)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.stdout, m.SQL(direction))
	return err
}
