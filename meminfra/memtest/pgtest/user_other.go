//go:build !unix

package pgtest

import (
	"errors"
	osexec "os/exec"
)

type credential struct{}

func unprivileged(string) (*credential, error) {
	return nil, errors.New("a private PostgreSQL cluster needs a Unix system")
}

func own(string, *credential) error { return nil }

func runAs(*osexec.Cmd, *credential) {}
