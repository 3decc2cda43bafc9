package meminfra_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
)

// The races of TestWritersOfOneUser in two operating system processes on one
// database: the guarantee is the database's.
func TestWritersInTwoProcesses(t *testing.T) {
	const writers = 16
	onTargets(t, func(t *testing.T, store storage.Store, target string) {
		for _, r := range races {
			t.Run(r.name, func(t *testing.T) {
				first := startWriter(t, r.name, 0, writers/2, t.Name(), target)
				second := startWriter(t, r.name, writers/2, writers, t.Name(), target)
				first.begin(t)
				second.begin(t)
				r.verify(t, store, t.Name(), writers, append(first.done(t), second.done(t)...))
			})
		}
	})
}

// onTargets is onStores for tests that open the database a second time.
func onTargets(t *testing.T, run func(t *testing.T, store storage.Store, target string)) {
	t.Run("sqlite", func(t *testing.T) {
		target := filepath.Join(t.TempDir(), "memory.db")
		run(t, openTarget(t, target), target)
	})
	t.Run("postgres", func(t *testing.T) {
		target := migratedPostgres(t)
		run(t, openTarget(t, target), target)
	})
}

func openTarget(t *testing.T, target string) storage.Store {
	t.Helper()
	if strings.Contains(target, "://") {
		return openPostgresAt(t, target)
	}
	store, err := sqlite.Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// writerEnv tells a copy of the test binary to be a writer: the race, writer
// numbers from and to, the user, the database.
const writerEnv = "MEMINFRA_TEST_WRITER"

// TestWriterProcess is the body of the processes of TestWritersInTwoProcesses
// and does nothing by itself. It says "ready", waits for a line, writes, and
// prints what was done.
func TestWriterProcess(t *testing.T) {
	args := strings.SplitN(os.Getenv(writerEnv), "|", 5)
	if len(args) < 5 {
		return
	}
	from, _ := strconv.Atoi(args[1])
	to, _ := strconv.Atoi(args[2])
	r := races[slices.IndexFunc(races, func(r race) bool { return r.name == args[0] })]
	store := openTarget(t, args[4])
	layers := make([]*meminfra.MemoryLayer, to-from)
	for i := range layers {
		layers[i] = newLayer(t, store, randomIDs)
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	done := together(t, to-from, func(n int) (*meminfra.AddResult, error) {
		req := r.add(from + n)
		req.UserID = args[3]
		return layers[n].Add(t.Context(), req)
	})
	for _, a := range done {
		fmt.Println("done", a)
	}
}

// writer is a process that writes.
type writer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startWriter(t *testing.T, race string, from, to int, user, target string) *writer {
	t.Helper()
	w := &writer{cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWriterProcess$", "-test.count=1")}
	w.cmd.Env = append(os.Environ(), writerEnv+"="+strings.Join([]string{race, strconv.Itoa(from), strconv.Itoa(to), user, target}, "|"))
	w.cmd.Stderr = os.Stderr
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.out = bufio.NewScanner(out)
	for w.out.Scan() {
		if w.out.Text() == "ready" {
			return w
		}
	}
	t.Fatalf("a writer did not start: %v", w.cmd.Wait())
	return nil
}

func (w *writer) begin(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(w.in, "go\n"); err != nil {
		t.Fatal(err)
	}
}

// done waits for the process and returns what its writers did.
func (w *writer) done(t *testing.T) (list []string) {
	t.Helper()
	var out []string
	for w.out.Scan() {
		out = append(out, w.out.Text())
		if action, ok := strings.CutPrefix(w.out.Text(), "done "); ok {
			list = append(list, action)
		}
	}
	if err := w.cmd.Wait(); err != nil {
		t.Fatalf("a writer failed: %v\n%s", err, strings.Join(out, "\n"))
	}
	return list
}
