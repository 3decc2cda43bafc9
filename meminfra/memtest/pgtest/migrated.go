package pgtest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/meminfra/memory-layer/migrate"
)

// idle are the migrated schemas that no test of the process uses now.
var idle struct {
	sync.Mutex
	schemas []string
}

// Migrated returns the URL of a schema at the head of d, PostgreSQL's dialect,
// without a row. Making one takes longer than most tests, so it is one that an
// earlier test has left, if there is any. It is for tests that write rows: who
// alters the schema, or starts processes that may outlive the test, migrates
// what URL returns.
func Migrated(t testing.TB, d migrate.Dialect) string {
	t.Helper()
	find(t)
	name, err := takeIdle(), error(nil)
	if name != "" {
		err = exec(t.Context(), urlOf(name), empty)
	} else {
		name = createSchema(t)
		_, err = migrate.New(d, nil).Up(t.Context(), urlOf(name))
	}
	if err != nil {
		t.Fatalf("pgtest: a migrated schema: %v", err)
	}
	t.Cleanup(func() {
		idle.Lock()
		defer idle.Unlock()
		idle.schemas = append(idle.schemas, name)
	})
	return urlOf(name)
}

// empty deletes every row in one statement, at whose end foreign keys hold
// whatever the order was. On small tables that is much faster than TRUNCATE,
// which makes new files for each table and index.
const empty = `SET lock_timeout = '10s'; DO $$ BEGIN EXECUTE (
	SELECT 'WITH ' || string_agg(format('%1$I AS (DELETE FROM %1$I)', tablename), ', ') || ' SELECT' FROM pg_tables
	WHERE schemaname = current_schema() AND tablename <> '` + migrate.VersionTable + `');
END $$`

func takeIdle() (name string) {
	idle.Lock()
	defer idle.Unlock()
	if last := len(idle.schemas) - 1; last >= 0 {
		name, idle.schemas = idle.schemas[last], idle.schemas[:last]
	}
	return name
}

// dropIdle drops what Migrated has made; all tests are over.
func dropIdle(ctx context.Context) (err error) {
	for name := takeIdle(); name != ""; name = takeIdle() {
		err = errors.Join(err, exec(ctx, found.url, "DROP SCHEMA "+name+" CASCADE"))
	}
	return err
}
