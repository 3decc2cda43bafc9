package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

func openNew(t *testing.T, opts *Options) *Store {
	t.Helper()
	s, err := OpenWith(t.Context(), filepath.Join(t.TempDir(), "memory.db"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A call whose time is up before it begins costs no connection: what that has
// prepared and read stays.
func TestCancelledCallKeepsConnection(t *testing.T) {
	s := openNew(t, nil)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c := <-s.writer
	defer func() { s.writer <- c }()
	before := c.c
	err := c.transaction(ended, beginRead, func(*conn) error { t.Error("called"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if c.c == nil || c.c != before {
		t.Error("the connection was dropped")
	}
}
