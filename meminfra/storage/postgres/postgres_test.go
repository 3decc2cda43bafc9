package postgres_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest/pgtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/postgres"
	"github.com/meminfra/memory-layer/migrate"
	schema "github.com/meminfra/memory-layer/migrate/postgres"
)

var ada = memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionUser, Name: "ada"}

// sql runs statements beside the store.
func sql(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestOpenErrorsKeepSecrets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := l.Addr().String() // nobody listens once it is closed
	l.Close()
	working, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	wrongPassword, wrongDatabase := *working, *working
	wrongPassword.User = url.UserPassword(working.User.Username(), "hunter2")
	wrongDatabase.Path = "/nosuchdb"
	password, _ := working.User.Password()

	for name, c := range map[string]struct {
		url  string
		want error
		says string
	}{
		"refused":        {"postgres://eve:hunter2@" + free + "/app", storage.ErrUnreachable, free + "/app: connection refused"},
		"no such host":   {"postgres://eve:hunter2@nosuch.invalid:5433/app?connect_timeout=2", storage.ErrUnreachable, "nosuch.invalid:5433"},
		"malformed":      {"postgres://eve:hunter2@host:port:x/app", nil, "malformed"},
		"malformed port": {"postgres://eve:hunter2@host:999999/app", nil, "malformed"},
		"wrong password": {wrongPassword.String(), nil, "refused the credentials"},
		"wrong database": {wrongDatabase.String(), nil, "no such database"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := postgres.Open(t.Context(), c.url)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("error %v, want one that says %q", err, c.says)
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			for _, secret := range []string{"hunter2", "eve", "user=", password} {
				if strings.Contains(fmt.Sprintf("%v %+v", err, err), secret) {
					t.Errorf("the error shows %q: %v", secret, err)
				}
			}
		})
	}
}

func TestOpenChecksSchema(t *testing.T) {
	head, _ := migrate.New(schema.Dialect, nil).Head()
	target := pgtest.URL(t)
	check := func(have uint, dirty bool) {
		t.Helper()
		_, err := postgres.Open(t.Context(), target)
		var e *storage.SchemaError
		if !errors.As(err, &e) || *e != (storage.SchemaError{Have: have, Want: head, Dirty: dirty}) || !errors.Is(err, storage.ErrSchema) {
			t.Fatalf("error %v, want schema %d of %d, dirty %t", err, have, head, dirty)
		}
	}
	check(0, false)
	if _, err := migrate.New(schema.Dialect, nil).Up(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	sql(t, target, `UPDATE meminfra_migrations SET version = 2`)
	check(2, false)
	sql(t, target, `UPDATE meminfra_migrations SET version = 99`)
	check(99, false)
	sql(t, target, `UPDATE meminfra_migrations SET version = 3, dirty = TRUE`)
	check(3, true)
	sql(t, target, `DELETE FROM meminfra_migrations`)
	check(0, false)
}

func TestDescribe(t *testing.T) {
	target := migrated(t)
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, want := s.Describe(), "postgres://"+u.Host+u.Path; got != want {
		t.Errorf("description %q, want %q", got, want)
	}
}

// An erasure makes an older index start afresh. No method of storage.Tx erases
// yet, so the counter is set by hand.
func TestChangesAfterErasure(t *testing.T) {
	target := migrated(t)
	s, err := postgres.Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := 1; i <= 4; i++ {
		err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
			id := fmt.Sprint("e", i)
			return tx.InsertEpisodes(t.Context(), []memory.Episode{{ID: id, MessageID: id, Seq: tx.NextSeq(1), Role: memory.RoleUser}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sql(t, target, `UPDATE partition SET erased = 3`)
	for since, want := range map[int64]struct {
		reset bool
		rows  int
	}{0: {false, 4}, 1: {true, 0}, 2: {true, 0}, 3: {false, 1}, 4: {false, 0}} {
		c, err := s.Changes(t.Context(), storage.ChangesParams{Partition: ada.ID(), Since: since})
		if err != nil || c.Reset != want.reset || len(c.Episodes) != want.rows || c.Head.Erased != 3 {
			t.Errorf("since %d: reset %t with %d rows (%v), want %t with %d", since, c.Reset, len(c.Episodes), err, want.reset, want.rows)
		}
	}
}

// Two stores stand for two processes: the row lock is all they share.
func TestTwoStoresOnePartition(t *testing.T) {
	target := migrated(t)
	const each = 25
	var wg sync.WaitGroup
	for w := range 2 {
		s, err := postgres.Open(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for g := range 4 {
			wg.Go(func() {
				for i := range each {
					err := s.Update(t.Context(), ada, func(tx storage.Tx) error {
						id := fmt.Sprintf("e%d-%d-%d", w, g, i)
						return tx.InsertEpisodes(t.Context(), []memory.Episode{{ID: id, MessageID: id, Seq: tx.NextSeq(1), Role: memory.RoleUser}})
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	s, err := postgres.Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heads, err := s.Heads(t.Context(), ada.ID())
	if h := heads[ada.ID()]; err != nil || h.Change != 8*each || h.Seq != 8*each {
		t.Errorf("head %+v (%v), want change and seq %d", h, err, 8*each)
	}
}

// Writers that wait for one busy partition must not starve the others of connections.
func TestBusyPartitionLeavesConnections(t *testing.T) {
	s, err := postgres.Open(t.Context(), migrated(t)+"&pool_max_conns=2")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	held, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.Update(t.Context(), ada, func(storage.Tx) error { close(held); <-release; return nil })
	})
	<-held
	for range 8 {
		wg.Go(func() { _ = s.Update(t.Context(), ada, func(storage.Tx) error { return nil }) })
	}
	if _, err := s.Heads(t.Context(), ada.ID()); err != nil {
		t.Error(err)
	}
	close(release)
	wg.Wait()
}

// The server of the tests must not collate like C by itself, or nothing would
// show a text key without COLLATE "C".
func TestKeysCollateByBytes(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), migrated(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var loose int
	err = conn.QueryRow(t.Context(), `
SELECT count(*) FROM information_schema.columns
WHERE table_schema = current_schema() AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'
	AND table_name <> 'meminfra_migrations'`).Scan(&loose)
	if err != nil || loose != 0 {
		t.Errorf("%d text columns without COLLATE \"C\" (%v)", loose, err)
	}
	var byBytes bool
	if err := conn.QueryRow(t.Context(), `SELECT 'B' < 'a'`).Scan(&byBytes); err != nil {
		t.Fatal(err)
	}
	if byBytes {
		t.Log("this server sorts by bytes: the tests do not prove the collation of keys")
	}
}
