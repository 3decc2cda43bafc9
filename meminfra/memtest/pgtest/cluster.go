package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// superuser is the private cluster's only user.
const superuser = "meminfra"

// watch runs the server ($1, with the data folder $2/data and the port $3)
// until its standard input ends, which happens when the test process stops it
// or is gone, however it ended. Then it ends the server and removes the folder.
const watch = `
"$1" -D "$2/data" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
	-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200 </dev/null &
server=$!
read -r _
kill -QUIT $server
wait $server
rm -rf "$2"`

// startCluster makes and starts a private cluster from binaries on the machine.
func startCluster(ctx context.Context) (server, error) {
	bin, err := findBinaries()
	if err != nil {
		return server{}, err
	}
	for range 3 { // another process may take the free port first
		var s server
		if s, err = tryCluster(ctx, bin); err == nil {
			return s, nil
		}
	}
	return server{}, err
}

func tryCluster(ctx context.Context, bin string) (server, error) {
	dir, err := os.MkdirTemp("", "meminfra-pg-")
	if err != nil {
		return server{}, err
	}
	c := &cluster{bin: bin, dir: dir, password: randomHex(16)}
	if c.user, err = unprivileged(dir); err == nil {
		err = c.init(ctx)
	}
	if err == nil {
		err = c.start(ctx)
	}
	if err != nil {
		return server{}, errors.Join(err, os.RemoveAll(dir))
	}
	return server{url: c.url, stop: c.stop}, nil
}

// cluster is a private server in a temporary folder.
type cluster struct {
	bin, dir, password string
	user               *credential // whom to run as, nil for ourselves
	url                string
	stop               func()
}

// init makes the data folder. Its collation must not be that of C, or a column
// that forgets COLLATE "C" would sort right all the same.
func (c *cluster) init(ctx context.Context) error {
	secret := filepath.Join(c.dir, "secret")
	if err := c.write(secret, c.password); err != nil {
		return err
	}
	locale := c.locale(ctx)
	args := append([]string{"-D", filepath.Join(c.dir, "data"), "-U", superuser, "-E", "UTF8", "--no-sync",
		"-A", "scram-sha-256", "--pwfile", secret}, locale...)
	out, err := c.command(ctx, filepath.Join(c.bin, "initdb"), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	return os.Remove(secret)
}

// locale prefers the system's en_US, then ICU's, and settles for C.UTF-8.
func (c *cluster) locale(ctx context.Context) []string {
	known, _ := c.command(ctx, "locale", "-a").Output()
	for name := range strings.Lines(string(known)) {
		name = strings.TrimSpace(name)
		if strings.EqualFold(strings.ReplaceAll(name, "-", ""), "en_us.utf8") {
			return []string{"--locale=" + name}
		}
	}
	help, _ := c.command(ctx, filepath.Join(c.bin, "initdb"), "--help").Output()
	if bytes.Contains(help, []byte("--icu-locale")) {
		return []string{"--locale-provider=icu", "--icu-locale=en-US", "--locale=C.UTF-8"}
	}
	return []string{"--locale=C.UTF-8"}
}

// start runs the server under its watch and waits until it answers.
func (c *cluster) start(ctx context.Context) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := c.command(context.Background(), "/bin/sh", "-c", watch, "watch", filepath.Join(c.bin, "postgres"), c.dir, strconv.Itoa(port))
	cmd.Stdout, cmd.Stderr = log, log
	hold, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	c.stop = func() {
		hold.Close()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
		}
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(superuser, c.password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: "/postgres", RawQuery: "sslmode=disable"}
	c.url = u.String()
	return c.await(ctx)
}

// await pings the server until it answers.
func (c *cluster) await(ctx context.Context) error {
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = ping(ctx, c.url); err == nil {
			return nil
		}
	}
	log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
	c.stop()
	return fmt.Errorf("the cluster does not start: %w: %s", err, bytes.TrimSpace(log))
}

func (c *cluster) command(ctx context.Context, name string, args ...string) *osexec.Cmd {
	cmd := osexec.CommandContext(ctx, name, args...)
	cmd.Dir = c.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") }), "LC_ALL=C")
	runAs(cmd, c.user)
	return cmd
}

// write writes a file that only the cluster's user can read.
func (c *cluster) write(name, text string) error {
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return err
	}
	return own(name, c.user)
}

// findBinaries returns the folder that holds initdb and postgres: the newest
// version of the usual places. What is on PATH may be a wrapper, so a link is
// followed to its folder.
func findBinaries() (string, error) {
	var folders []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin", "/opt/homebrew/opt/postgresql/bin", "/Applications/Postgres.app/Contents/Versions/latest/bin",
	} {
		matches, _ := filepath.Glob(pattern)
		slices.SortFunc(matches, func(a, b string) int { return version(b) - version(a) })
		folders = append(folders, matches...)
	}
	if initdb, err := osexec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(initdb); err == nil {
			folders = append([]string{filepath.Dir(real)}, folders...)
		}
	}
	for _, folder := range folders {
		if isFile(filepath.Join(folder, "initdb")) && isFile(filepath.Join(folder, "postgres")) {
			return folder, nil
		}
	}
	return "", errors.New("no PostgreSQL server binaries on this machine")
}

// version is the number in a folder's name, 0 for none.
func version(folder string) int {
	digits := strings.FieldsFunc(folder, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(digits[0])
	return n
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
