package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memtest/pgtest"
	"github.com/meminfra/memory-layer/migrate/postgres"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// cli runs commands in process against one store.
type cli struct {
	t     *testing.T
	env   map[string]string
	stdin string
	now   time.Time
	bar   bool         // as on a terminal
	http  *http.Client // for init's health request; nil finds nothing

	interactive bool
}

func newCLI(t *testing.T) *cli {
	t.Helper()
	return &cli{t: t, now: time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC),
		env: map[string]string{"XDG_DATA_HOME": filepath.Join(t.TempDir(), "data")}}
}

// onStores runs a test on SQLite and, where there is one, on PostgreSQL.
func onStores(t *testing.T, test func(*testing.T, *cli)) {
	var both sync.WaitGroup
	both.Go(func() { t.Run("sqlite", func(t *testing.T) { test(t, newCLI(t)) }) })
	both.Go(func() {
		t.Run("postgres", func(t *testing.T) {
			c := newCLI(t)
			c.env["DATABASE_URL"] = pgtest.Migrated(t, postgres.Dialect)
			test(t, c)
		})
	})
	both.Wait()
}

// onPostgres runs a test on an empty PostgreSQL, where there is one.
func onPostgres(t *testing.T, test func(*testing.T, *cli)) {
	t.Helper()
	c := newCLI(t)
	c.env["DATABASE_URL"] = pgtest.URL(t)
	test(t, c)
}

// nobody is a network on which no server is.
type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }

type outcome struct {
	stdout, stderr string
	code           int
}

func (c *cli) run(args ...string) outcome {
	c.t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{stdin: strings.NewReader(c.stdin), stdout: &stdout, stderr: &stderr, name: "meminfra",
		getenv: func(key string) string { return c.env[key] }, now: func() time.Time { return c.now }, interactive: c.interactive,
		progress: c.bar}
	if a.http = c.http; a.http == nil {
		a.http = &http.Client{Transport: nobody{}}
	}
	code := a.run(context.Background(), args)
	return outcome{stdout.String(), stderr.String(), code}
}

// ok runs a command that must succeed without a word on stderr.
func (c *cli) ok(args ...string) string {
	c.t.Helper()
	o := c.run(args...)
	if o.code != exitOK || o.stderr != "" {
		c.t.Fatalf("meminfra %q: exit %d\nstdout: %s\nstderr: %s", args, o.code, o.stdout, o.stderr)
	}
	return o.stdout
}

// fails runs a command that must fail with that code, say so in one line that
// holds want, and print nothing.
func (c *cli) fails(code int, want string, args ...string) outcome {
	c.t.Helper()
	o := c.run(args...)
	line, _, _ := strings.Cut(o.stderr, "\n")
	if o.code != code || !strings.Contains(line, want) || !strings.HasPrefix(line, "meminfra: ") || o.stdout != "" {
		c.t.Errorf("meminfra %q: exit %d, want %d and %q\nstdout: %s\nstderr: %s", args, o.code, code, want, o.stdout, o.stderr)
	}
	return o
}

// document runs a command and decodes what it prints.
func (c *cli) document(into any, args ...string) {
	c.t.Helper()
	out := c.ok(args...)
	if strings.Count(out, "\n") != 1 {
		c.t.Errorf("meminfra %q: want one line, got %q", args, out)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		c.t.Fatalf("meminfra %q: %v in %q", args, err, out)
	}
}

// keys are the names of a decoded object, sorted.
func keys(object any) string {
	m, _ := object.(map[string]any)
	return strings.Join(slices.Sorted(maps.Keys(m)), " ")
}

// wantKeys checks the names of a decoded object, in any order.
func wantKeys(t *testing.T, what string, object any, want string) {
	t.Helper()
	names := strings.Fields(want)
	slices.Sort(names)
	if got := keys(object); got != strings.Join(names, " ") {
		t.Errorf("%s: keys %s, want %s", what, got, strings.Join(names, " "))
	}
}
