package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/meminfra/memory-layer/migrate"
	sqliteschema "github.com/meminfra/memory-layer/migrate/sqlite"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of this program and of the schema it needs",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, head := migrate.New(sqliteschema.Dialect, nil).Head()
			fields(a.stdout,
				[2]string{"meminfra", buildVersion()},
				[2]string{"go", runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH},
				[2]string{"schema", head})
			return nil
		},
	}
}

// buildVersion is the module's version, or the commit it was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
