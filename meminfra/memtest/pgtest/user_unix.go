//go:build unix

package pgtest

import (
	"errors"
	"os"
	osexec "os/exec"
	"os/user"
	"strconv"
	"syscall"
)

type credential = syscall.Credential

// unprivileged returns whom to run the server as and gives him the folder. The
// server refuses to run as root; for anybody else it is nil, nobody else.
func unprivileged(dir string) (*credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
		if errUID != nil || errGID != nil {
			continue
		}
		c := &credential{Uid: uint32(uid), Gid: uint32(gid)}
		return c, own(dir, c)
	}
	return nil, errors.New("no user but root: PostgreSQL does not run as root")
}

func own(name string, c *credential) error {
	if c == nil {
		return nil
	}
	return os.Chown(name, int(c.Uid), int(c.Gid))
}

// runAs sets the user, and a process group of its own, so that an interrupt at
// the terminal reaches the server through its watch only.
func runAs(cmd *osexec.Cmd, c *credential) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c, Setpgid: true}
}
