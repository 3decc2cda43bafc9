// Package pgtest finds a PostgreSQL server for tests and gives each test a
// schema of its own. The server is found once per test process, in this order:
//
//  1. TEST_DATABASE_URL (never DATABASE_URL, which may be somebody's data);
//  2. a container, where a Docker daemon answers;
//  3. server binaries on the machine: a private cluster in a temporary folder.
//
// Without any, tests are skipped, or fail if MEMINFRA_REQUIRE_POSTGRES=1.
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is where tests connect, and how to stop it.
type server struct {
	url  string
	stop func()
}

// found is the process's server, or why there is none.
var found struct {
	once sync.Once
	server
	err error
}

// Main runs a package's tests and stops the server that they started:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
// A process that ends without it takes its cluster along as well, a little later.
func Main(m *testing.M) {
	code := m.Run()
	if found.stop != nil {
		found.stop() // with all that is in it
	} else if err := dropIdle(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "pgtest: drop schemas: %v\n", err)
	}
	os.Exit(code)
}

// URL returns the URL of a new, empty schema, which is dropped when the test
// ends. Close what uses it before, for example with t.Cleanup after this call.
func URL(t testing.TB) string {
	t.Helper()
	find(t)
	schema := createSchema(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := exec(ctx, found.url, "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Logf("pgtest: drop schema: %v", err)
		}
	})
	return urlOf(schema)
}

func createSchema(t testing.TB) string {
	t.Helper()
	schema := "meminfra_test_" + randomHex(8)
	if err := exec(t.Context(), found.url, "CREATE SCHEMA "+schema); err != nil {
		t.Fatalf("pgtest: create schema: %v", err)
	}
	return schema
}

func urlOf(schema string) string { return withParam(found.url, "search_path", schema) }

// Database is URL in a database of its own, for what sessions on other schemas
// of one database would disturb.
func Database(t testing.TB) string {
	t.Helper()
	find(t)
	name := "meminfra_test_" + randomHex(8)
	if err := exec(t.Context(), found.url, "CREATE DATABASE "+name); err != nil {
		t.Fatalf("pgtest: create database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := exec(ctx, found.url, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Logf("pgtest: drop database: %v", err)
		}
	})
	u, err := url.Parse(found.url)
	if err != nil {
		t.Fatal("pgtest: the server's URL does not parse")
	}
	u.Path = "/" + name
	return u.String()
}

// find finds the server, once per process.
func find(t testing.TB) {
	t.Helper()
	found.once.Do(func() { found.server, found.err = search(context.Background()) })
	if found.err != nil {
		unavailable(t, found.err)
	}
}

// unavailable skips the test loudly, or fails it where a server is required.
func unavailable(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("TEST_DATABASE_URL") != "" {
		t.Fatalf("pgtest: TEST_DATABASE_URL does not work: %v", err)
	}
	if os.Getenv("MEMINFRA_REQUIRE_POSTGRES") == "1" {
		t.Fatalf("pgtest: MEMINFRA_REQUIRE_POSTGRES=1 and no PostgreSQL was found: %v", err)
	}
	fmt.Fprintf(os.Stderr, "pgtest: NOT TESTED ON POSTGRESQL: %s: %v\n", t.Name(), err)
	t.Skipf("pgtest: no PostgreSQL: %v", err)
}

// search tries the places in order; the error says why each one failed.
func search(ctx context.Context) (server, error) {
	if target := os.Getenv("TEST_DATABASE_URL"); target != "" {
		return server{url: target}, ping(ctx, target)
	}
	s, errContainer := startContainer(ctx)
	if errContainer == nil {
		return s, nil
	}
	s, errCluster := startCluster(ctx)
	if errCluster == nil {
		return s, nil
	}
	return server{}, errors.Join(errors.New("TEST_DATABASE_URL is not set"), errContainer, errCluster)
}

func ping(ctx context.Context, target string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, target)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func exec(ctx context.Context, target, sql string) error {
	conn, err := pgx.Connect(ctx, target)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}

// withParam sets a parameter of a URL that is known to parse.
func withParam(target, key, value string) string {
	u, err := url.Parse(target)
	if err != nil {
		return target
	}
	q := u.Query()
	q.Set(key, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
