package migrate_test

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memtest/pgtest"
	"github.com/meminfra/memory-layer/migrate"
)

// withSteps is the target's dialect with two steps of our own, the second as given.
func withSteps(tb testing.TB, target, second string) migrate.Dialect {
	if tb != nil {
		tb.Helper()
	}
	d := dialect(target)
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"0001_a.up.sql": "CREATE TABLE a (x INTEGER);", "0001_a.down.sql": "DROP TABLE a;",
		"0002_b.up.sql": second, "0002_b.down.sql": "DROP TABLE b;",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text), Mode: fs.FileMode(0o444)}
	}
	d.SQL = files
	return d
}

// child is a process of its own: it migrates the target and prints how many
// steps it applied. With a second step given, it runs that instead of the schema.
func child(target string) int {
	m, err := migrate.For(target, dialect(target))
	if second := os.Getenv("MEMINFRA_TEST_STEP"); second != "" {
		m = migrate.New(withSteps(nil, target, second), nil)
	}
	var applied []string
	if err == nil {
		fmt.Println("begins")
		m = m.WithOptions(&migrate.Options{Logf: func(string, ...any) { fmt.Println("a step") }})
		applied, err = m.Up(context.Background(), target)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Print(len(applied))
	return 0
}

func process(t *testing.T, target, second string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "MEMINFRA_TEST_MIGRATE="+target, "MEMINFRA_TEST_STEP="+second)
	return cmd
}

// Four processes on an empty database at once: all succeed, and each step is
// applied once. Case A19 (b).
func TestProcessesAtOnce(t *testing.T) {
	const workers = 4
	each(t, func(t *testing.T, m *migrate.Migrator, target string) {
		rounds := 2
		if strings.HasPrefix(target, "sqlite:") {
			rounds = 8 // here the lock is ours
		}
		for round := range rounds {
			if round > 0 && strings.HasPrefix(target, "sqlite:") {
				target = "sqlite:" + filepath.Join(t.TempDir(), "new", "memory.db")
			} else if round > 0 {
				target = pgtest.URL(t)
			}
			var commands [workers]*exec.Cmd
			var outputs [workers]strings.Builder
			for i := range commands {
				commands[i] = process(t, target, "")
				commands[i].Stdout = &outputs[i]
				if err := commands[i].Start(); err != nil {
					t.Fatal(err)
				}
			}
			total := 0
			for i, cmd := range commands {
				if err := cmd.Wait(); err != nil {
					t.Fatalf("round %d: %v: %s", round, err, outputs[i].String())
				}
				n, err := strconv.Atoi(lastLine(outputs[i].String()))
				if err != nil {
					t.Fatal(err)
				}
				total += n
			}
			if head, _ := m.Head(); total != int(head) {
				t.Errorf("round %d: %d steps were applied, want %d", round, total, head)
			}
			if err := m.Check(t.Context(), target); err != nil {
				t.Error(err)
			}
		}
	})
}

// A process killed in the middle of a step leaves the step undone, and the next
// one does it. Case A19 (a).
func TestKilledHalfWay(t *testing.T) {
	slow := map[bool]string{
		true: `CREATE TABLE b (x INTEGER); INSERT INTO b
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT max(i) FROM n;`,
		false: `CREATE TABLE b (x INTEGER); SELECT pg_sleep(600);`,
	}
	each(t, func(t *testing.T, _ *migrate.Migrator, target string) {
		m := migrate.New(withSteps(t, target, "CREATE TABLE b (x INTEGER);"), nil)
		cmd := process(t, target, slow[strings.HasPrefix(target, "sqlite:")])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			s, err := m.Status(t.Context(), target)
			if err == nil && s.Version == 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the first step was never applied: %+v, %v", s, err)
			}
		}
		time.Sleep(100 * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed, of course
		if !strings.HasPrefix(target, "sqlite:") {
			// The server notices a dead client when the statement ends.
			execute(t, target, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()`)
		}
		if s, err := m.Status(t.Context(), target); err != nil || s.Version != 1 || s.Dirty {
			t.Errorf("after the kill: %+v, %v", s, err)
		}
		if applied, err := m.Up(t.Context(), target); err != nil || len(applied) != 1 {
			t.Errorf("the next process applied %v, %v", applied, err)
		}
	})
}

// A process killed at any moment of migrating leaves the database where some
// step ended: the next process brings it to its head, whatever the moment was.
// `make crash` kills 200 on each database.
func TestKilledAnywhere(t *testing.T) {
	kills, err := strconv.Atoi(os.Getenv("CRASHES"))
	if err != nil {
		kills = 3
	}
	each(t, func(t *testing.T, m *migrate.Migrator, target string) {
		head, _ := m.Head()
		steps := int(head) + 1 // what comes before the first one is one as well
		step := killedAfter(t, target, steps, 0) / time.Duration(steps)
		left := make([]int, steps)
		for round := range kills {
			target := target
			if strings.HasPrefix(target, "sqlite:") {
				target = "sqlite:" + filepath.Join(t.TempDir(), "memory.db")
			} else {
				target = pgtest.URL(t)
			}
			killedAfter(t, target, round%steps, rand.N(step/2)) // any moment will do
			s, err := m.Status(t.Context(), target)
			if err != nil || s.Dirty {
				t.Fatalf("after the kill: %+v, %v", s, err)
			}
			left[s.Version]++
			if _, err := m.Up(t.Context(), target); err != nil {
				t.Fatalf("from step %d: %v", s.Version, err)
			}
			if err := m.Check(t.Context(), target); err != nil {
				t.Error(err)
			}
		}
		t.Logf("%d processes were killed, by the step they left from 0 to %d: %v", kills, head, left)
	})
}

// killedAfter starts a process that migrates, kills it a while after it has
// applied so many steps, and returns how long it lived since it began. It ends
// by itself if it never comes so far.
func killedAfter(t *testing.T, target string, steps int, d time.Duration) time.Duration {
	t.Helper()
	cmd := process(t, target, "")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var began time.Time
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch lines.Text() {
		case "begins":
			began = time.Now()
		case "a step":
			steps--
		}
		if steps == 0 {
			alarm := time.AfterFunc(d, func() { _ = cmd.Process.Kill() })
			defer alarm.Stop()
			steps = -1
		}
	}
	_ = cmd.Wait() // killed, or done
	if began.IsZero() {
		t.Fatal("the process did not begin")
	}
	return time.Since(began)
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }
