package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

func (a *app) initCommand() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [flags]",
		Short: "Make the store ready, look for models, write the config file",
		Long: `Makes the database if it is missing, brings its schema up to date and opens it.
Then it looks, in this order, for an Ollama server on this machine,
OPENAI_API_KEY, ANTHROPIC_API_KEY, LLM_* and EMBEDDING_*, and writes the config
file (0600) with what there is; with nothing, everything is built in. It sends
one health request, to this machine, and no key to anybody. Keys are named by
their variable and never written. What it chose is used, and may cost money,
from then on: --use builtin asks no model.

Safe to repeat: a config file that is there stays as it is, unless --force.`,
		Example: `  meminfra init
  meminfra init --use ollama --model llama3.2 --embedding-model nomic-embed-text
  meminfra init --use builtin --force`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := a.initStore(cmd); err != nil {
				return err
			}
			if err := a.initConfig(cmd.Context(), &f); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, `
next:
  %[1]s add --user ada "I prefer PostgreSQL for backend projects."
  %[1]s search --user ada "Which database do I prefer?"
  %[1]s import --user ada messages.jsonl
`, a.name)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.use, "use", "", "what to use: ollama, openai, anthropic, env or builtin (default: what is usable first)")
	flags.StringVar(&f.model, "model", "", "the language `model` of it; Ollama has none by default")
	flags.StringVar(&f.embedding, "embedding-model", "", "the embedding `model` of it")
	flags.BoolVar(&f.force, "force", false, "replace a config file that is there")
	return cmd
}

func (a *app) initStore(cmd *cobra.Command) error {
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
		return nil
	})
}
