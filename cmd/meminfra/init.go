package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Make the store ready and say where it is",
		Long:  "Makes the database if it is missing, brings its schema up to date and opens it.\nSafe to repeat.",
		Args:  noArguments,
		RunE:  a.initStore,
	}
}

func (a *app) initStore(cmd *cobra.Command, _ []string) error {
	t, err := a.storeTarget()
	if err != nil {
		return err
	}
	schema := t
	if t.path == "" {
		if schema, err = a.migrateTarget(); err != nil {
			return err
		}
	}
	m, before, err := a.migrator(cmd.Context(), schema)
	if err != nil {
		return err
	}
	if _, err := m.Up(cmd.Context(), schema.url); err != nil {
		return err
	}
	return a.withTarget(cmd.Context(), t, true, a.builtin(), func(_ *meminfra.MemoryLayer, store storage.Store) error {
		_, head := m.Head()
		found := "made a new database"
		switch {
		case before.Version == before.Head:
			found = "found a database that is up to date"
		case before.Version > 0:
			found = "brought a database up from schema " + before.Name
		}
		fields(a.stdout, [2]string{"store", store.Describe()}, [2]string{"found", found}, [2]string{"schema", head})
		fmt.Fprintf(a.stdout, `
next:
  %[1]s add --user ada "I prefer PostgreSQL for backend projects."
  %[1]s search --user ada "Which database do I prefer?"
  %[1]s import --user ada messages.jsonl
`, a.name)
		return nil
	})
}
