package pgtest_test

import (
	"bufio"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memtest/pgtest"
	"github.com/meminfra/memory-layer/migrate"
	migratepg "github.com/meminfra/memory-layer/migrate/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestURLIsAnEmptySchema(t *testing.T) {
	var first string
	t.Run("first", func(t *testing.T) {
		first = pgtest.URL(t)
		conn, err := pgx.Connect(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), `CREATE TABLE mine (a text); INSERT INTO mine VALUES ('x')`); err != nil {
			t.Fatal(err)
		}
	})
	conn, err := pgx.Connect(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var schema string
	var other int
	u, _ := url.Parse(first)
	err = conn.QueryRow(t.Context(), `SELECT current_schema(), (SELECT count(*) FROM pg_namespace WHERE nspname = $1)`,
		u.Query().Get("search_path")).Scan(&schema, &other)
	if err != nil || !strings.HasPrefix(schema, "meminfra_test_") || other != 0 {
		t.Errorf("schema %q, %d left of the first (%v)", schema, other, err)
	}
}

// What Migrated has made is used again, without a row, by the tests that follow,
// and by nobody beside.
func TestMigratedIsUsedAgainEmpty(t *testing.T) {
	var first string
	t.Run("first", func(t *testing.T) {
		first = pgtest.Migrated(t, migratepg.Dialect)
		query(t, first, `INSERT INTO episode (partition, episode, conversation, session, message_id, seq, change, role, content, sha256, sent_at, recorded_at, salt)
			VALUES ('p', 'e', 'c', 's', 'm', 1, 1, 'user', 'Hello!', '', 0, 0, '') RETURNING 1`)
		query(t, first, `INSERT INTO extraction (partition, episode, extractor, status, updated_at) VALUES ('p', 'e', 'x', 'done', 0) RETURNING 1`)
		if other := pgtest.Migrated(t, migratepg.Dialect); other == first {
			t.Error("two tests have one schema")
		}
	})
	for range 2 { // the other one first, or last
		target := pgtest.Migrated(t, migratepg.Dialect)
		if n := query(t, target, `SELECT (SELECT count(*) FROM episode) + (SELECT count(*) FROM extraction)`); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		if err := migrate.New(migratepg.Dialect, nil).Check(t.Context(), target); err != nil {
			t.Error(err)
		}
		if target == first {
			return
		}
	}
	t.Error("the first schema was not used again")
}

func query(t *testing.T, target, sql string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestHelperHold is no test: it starts a server, says where, and waits to be
// killed by TestServerDiesWithTheProcess.
func TestHelperHold(t *testing.T) {
	if os.Getenv("PGTEST_HOLD") == "" {
		t.Skip("only for TestServerDiesWithTheProcess")
	}
	os.Stdout.WriteString("URL " + pgtest.URL(t) + "\n")
	time.Sleep(time.Minute)
}

func TestServerDiesWithTheProcess(t *testing.T) {
	if os.Getenv("TEST_DATABASE_URL") != "" {
		t.Skip("the server is not ours")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperHold$")
	cmd.Env = append(os.Environ(), "PGTEST_HOLD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was killed
	defer cmd.Process.Kill()
	target := ""
	for lines := bufio.NewScanner(out); target == "" && lines.Scan(); {
		target, _ = strings.CutPrefix(lines.Text(), "URL ")
		if !strings.HasPrefix(lines.Text(), "URL ") {
			target = ""
		}
	}
	if target == "" {
		t.Skip("the helper found no server of its own")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		conn, err := pgx.Connect(t.Context(), target)
		if err != nil {
			return
		}
		conn.Close(t.Context())
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the server outlives its test process by ten seconds")
}
