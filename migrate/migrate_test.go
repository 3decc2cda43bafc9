package migrate_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/meminfra/memory-layer/meminfra/memtest/pgtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/migrate"
	"github.com/meminfra/memory-layer/migrate/postgres"
	"github.com/meminfra/memory-layer/migrate/sqlite"
)

// TestMain also serves as the processes that tests start; see processes_test.go.
func TestMain(m *testing.M) {
	if target := os.Getenv("MEMINFRA_TEST_MIGRATE"); target != "" {
		os.Exit(child(target))
	}
	pgtest.Main(m)
}

// each runs a test on both databases side by side, each time on an empty one.
func each(t *testing.T, run func(t *testing.T, m *migrate.Migrator, target string)) {
	var both sync.WaitGroup
	both.Go(func() {
		t.Run("sqlite", func(t *testing.T) {
			run(t, migrate.New(sqlite.Dialect, nil), "sqlite:"+filepath.Join(t.TempDir(), "memory.db"))
		})
	})
	both.Go(func() {
		t.Run("postgres", func(t *testing.T) { run(t, migrate.New(postgres.Dialect, nil), pgtest.URL(t)) })
	})
	both.Wait()
}

func TestDialectsArePaired(t *testing.T) {
	lite, pg := migrate.New(sqlite.Dialect, nil), migrate.New(postgres.Dialect, nil)
	for _, direction := range []migrate.Direction{migrate.Up, migrate.Down} {
		if a, b := titles(lite.SQL(direction)), titles(pg.SQL(direction)); !slices.Equal(a, b) {
			t.Errorf("%s: sqlite has %v, postgres %v", direction, a, b)
		}
		a, b := plain(lite.SQL(direction)), plain(pg.SQL(direction))
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("%s, line %d: sqlite has %q, postgres %q", direction, i+1, a[i], b[i])
			}
		}
		if len(a) != len(b) {
			t.Errorf("%s: sqlite has %d lines, postgres %d", direction, len(a), len(b))
		}
	}
	if a, b := headName(lite), headName(pg); a != b {
		t.Errorf("heads are %q and %q", a, b)
	}
}

func headName(m *migrate.Migrator) string {
	_, name := m.Head()
	return name
}

func titles(text string) []string {
	return regexp.MustCompile(`(?m)^-- \d{4}_.*\.sql$`).FindAllString(text, -1)
}

// plain are the lines of SQL with the dialects' names of types made the same,
// without what tells one of them how to store and plan.
func plain(text string) []string {
	for _, r := range [][2]string{
		{`text COLLATE "C"`, "TEXT"}, {"double precision", "REAL"}, {"bigint", "INTEGER"}, {"boolean", "INTEGER"},
		{"integer", "INTEGER"}, {"bytea", "BLOB"}, {"x''", "''"},
		{") WITHOUT ROWID;", ");"}, {") WITH (toast_tuple_target = 8160);", ");"},
	} {
		text = strings.ReplaceAll(text, r[0], r[1])
	}
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "--")
		if line = strings.Join(strings.Fields(line), " "); line != "" && !strings.HasSuffix(line, " SET STATISTICS 0;") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestUpDownUp(t *testing.T) {
	each(t, func(t *testing.T, m *migrate.Migrator, target string) {
		ctx := t.Context()
		before, err := m.Status(ctx, target)
		if err != nil || before.Version != 0 || len(before.Pending) != int(before.Head) {
			t.Fatalf("empty: %+v, %v", before, err)
		}
		if applied, err := m.Up(ctx, target); err != nil || !slices.Equal(applied, before.Pending) {
			t.Fatalf("Up applied %v, %v", applied, err)
		}
		if applied, err := m.Up(ctx, target); err != nil || len(applied) != 0 {
			t.Fatalf("the second Up applied %v, %v", applied, err)
		}
		for i := range before.Pending {
			want := before.Pending[len(before.Pending)-1-i]
			if undone, err := m.Down(ctx, target); err != nil || undone != want {
				t.Fatalf("Down undid %q, want %q: %v", undone, want, err)
			}
		}
		if undone, err := m.Down(ctx, target); err != nil || undone != "" {
			t.Fatalf("Down of nothing undid %q, %v", undone, err)
		}
		if s, err := m.Status(ctx, target); err != nil || s.Version != 0 || s.Dirty {
			t.Fatalf("after all the way down: %+v, %v", s, err)
		}
		if applied, err := m.Up(ctx, target); err != nil || len(applied) != len(before.Pending) {
			t.Fatalf("Up again applied %v, %v", applied, err)
		}
		if err := m.Check(ctx, target); err != nil {
			t.Fatal(err)
		}
	})
}

func TestStatusMakesNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deeper", "memory.db")
	s, err := migrate.New(sqlite.Dialect, nil).Status(t.Context(), "sqlite:"+path)
	if err != nil || s.Version != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Error("Status made the folder")
	}
}

// A newer or half-applied schema is refused by every verb, named, and left as
// it is.
func TestNewerAndDirtyAreRefused(t *testing.T) {
	each(t, func(t *testing.T, m *migrate.Migrator, target string) {
		if _, err := m.Up(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		head, _ := m.Head()
		for _, c := range []struct {
			version uint
			dirty   bool
		}{{head + 1, false}, {head, true}, {1, true}} {
			execute(t, target, fmt.Sprintf("UPDATE meminfra_migrations SET version = %d, dirty = %t", c.version, c.dirty))
			_, up := m.Up(t.Context(), target)
			_, down := m.Down(t.Context(), target)
			for verb, err := range map[string]error{"Up": up, "Down": down, "Check": m.Check(t.Context(), target)} {
				var schema *storage.SchemaError
				if !errors.As(err, &schema) || *schema != (storage.SchemaError{Have: c.version, Want: head, Dirty: c.dirty}) {
					t.Errorf("%s at %d (dirty %t): %v", verb, c.version, c.dirty, err)
				}
			}
			if s, err := m.Status(t.Context(), target); err != nil || s.Version != c.version || s.Dirty != c.dirty {
				t.Errorf("changed to %+v, %v", s, err)
			}
		}
	})
}

// A step that fails leaves nothing of itself behind and nothing dirty.
func TestFailedStepIsRolledBack(t *testing.T) {
	each(t, func(t *testing.T, _ *migrate.Migrator, target string) {
		broken := migrate.New(withSteps(t, target, "CREATE TABLE b (x INTEGER); CREATE TABLE a (x INTEGER);"), nil)
		applied, err := broken.Up(t.Context(), target)
		if err == nil || !slices.Equal(applied, []string{"0001_a"}) {
			t.Fatalf("Up applied %v, %v", applied, err)
		}
		if s, err := broken.Status(t.Context(), target); err != nil || s.Version != 1 || s.Dirty {
			t.Errorf("after the failure: %+v, %v", s, err)
		}
		fixed := migrate.New(withSteps(t, target, "CREATE TABLE b (x INTEGER);"), nil)
		if applied, err := fixed.Up(t.Context(), target); err != nil || !slices.Equal(applied, []string{"0002_b"}) {
			t.Errorf("after the repair: %v, %v", applied, err)
		}
	})
}

func TestGoroutinesAtOnce(t *testing.T) {
	const rounds, workers = 4, 8
	each(t, func(t *testing.T, m *migrate.Migrator, target string) {
		for round := range rounds {
			if round > 0 && strings.HasPrefix(target, "sqlite:") {
				target = "sqlite:" + filepath.Join(t.TempDir(), "memory.db")
			} else if round > 0 {
				target = pgtest.URL(t)
			}
			applied, errs := make([][]string, workers), make([]error, workers)
			var group sync.WaitGroup
			for i := range workers {
				group.Go(func() { applied[i], errs[i] = m.Up(t.Context(), target) })
			}
			group.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			head, _ := m.Head()
			if n := len(slices.Concat(applied...)); n != int(head) {
				t.Fatalf("%d steps were applied, want %d once each", n, head)
			}
			if err := m.Check(t.Context(), target); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestLockIsWaitedForOnlySoLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	other := flock.New(path + ".migrate.lock") // as another process holds it
	if ok, err := other.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer other.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	m := migrate.New(sqlite.Dialect, nil)
	if _, err := m.Up(ctx, "sqlite:"+path); !errors.Is(err, storage.ErrBusy) {
		t.Errorf("Up: %v, want ErrBusy", err)
	}
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Up(t.Context(), "sqlite:"+path); err != nil {
		t.Errorf("with the left-over lock file: %v", err)
	}
}

func TestPostgresLockIsWaitedForOnlySoLong(t *testing.T) {
	target := pgtest.URL(t)
	slow := migrate.New(withSteps(t, target, "SELECT pg_sleep(3);"), nil)
	done := make(chan error)
	go func() { _, err := slow.Up(t.Context(), target); done <- err }()
	for s := (migrate.Status{}); s.Version == 0; { // until the second, slow step runs
		var err error
		if s, err = slow.Status(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // enough to connect on a busy machine
	defer cancel()
	if _, err := slow.Up(ctx, target); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Up: %v", err)
	}
	select {
	case <-done:
		t.Fatal("Up waited for as long as the lock was held")
	default:
	}
	if err := <-done; err != nil {
		t.Errorf("the one that held the lock: %v", err)
	}
}

func TestPasswordIsNeverShown(t *testing.T) {
	for _, target := range []string{
		"postgres://ada:s3cret@127.0.0.1:1/app",
		"postgres://ada:s3cret@nowhere.invalid:5432/app?connect_timeout=1",
		"postgresql://ada@127.0.0.1:1/app?password=s3cret",
		"postgres://ada:s3cret@host:notaport/app",
		"postgres://ada:s3cret%zz@host/app",
		"postgres://ada:s3cret@host/app?sslmode=s3cret",
	} {
		m, err := migrate.For(target, sqlite.Dialect, postgres.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Up(t.Context(), target)
		if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(postgres.Describe(target), "s3cret") {
			t.Errorf("%v", err)
		}
		if strings.Contains(target, "127.0.0.1") && (!errors.Is(err, storage.ErrUnreachable) || !strings.Contains(err.Error(), "127.0.0.1:1")) {
			t.Errorf("%v: want ErrUnreachable and the host", err)
		}
	}
	if _, err := migrate.For("mysql://ada:s3cret@host/app", sqlite.Dialect); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
}

// execute runs a statement on a target of either kind.
func execute(t *testing.T, target, statement string) {
	t.Helper()
	db := openDB(t, target)
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func openDB(t *testing.T, target string) *sql.DB {
	t.Helper()
	d := dialect(target)
	db, err := d.Open(t.Context(), target, false)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func dialect(target string) migrate.Dialect {
	if strings.HasPrefix(target, "sqlite:") {
		return sqlite.Dialect
	}
	return postgres.Dialect
}
