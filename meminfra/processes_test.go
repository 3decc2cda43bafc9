package meminfra_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memtest/sqlitetest"
	"github.com/meminfra/memory-layer/meminfra/storage"
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
	sideBySide(t, func(t *testing.T) {
		target := sqlitetest.Migrated(t)
		run(t, openSQLiteAt(t, target), target)
	}, func(t *testing.T) {
		target := migratedPostgres(t)
		run(t, openPostgresAt(t, target), target)
	})
}

func openTarget(t *testing.T, target string) storage.Store {
	t.Helper()
	if strings.Contains(target, "://") {
		return openPostgresAt(t, target)
	}
	return openSQLiteAt(t, target)
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

// A reembed whose process is killed half-way keeps the vectors that it made; the
// next one makes the rest, tells how far it is, and then nothing is left.
func TestReembedOfAKilledProcess(t *testing.T) {
	const texts = 300
	onTargets(t, func(t *testing.T, store storage.Store, target string) {
		var messages []meminfra.Message
		for i := range texts {
			messages = append(messages, said(strconv.Itoa(i), fmt.Sprintf("The lighthouse number %d stands on a rock", i), i))
		}
		mustAdd(t, newLayer(t, store, randomIDs), addTo("ada", "c", messages...))
		killHalfWay(t, target)
		kept, err := store.Changes(t.Context(), storage.ChangesParams{Partition: userPartition("ada"), Model: "killed"})
		if err != nil || len(kept.Embeddings) != 128 {
			t.Fatalf("%d vectors kept, error %v", len(kept.Embeddings), err)
		}
		var told []string
		ml := newLayer(t, store, randomIDs, withEmbedder(bagOfWords{"killed", 16}))
		req := meminfra.ReembedRequest{UserID: "ada", Progress: func(done, total int) { told = append(told, fmt.Sprint(done, "/", total)) }}
		res, err := ml.Curate().Reembed(t.Context(), req)
		if err != nil || res.Texts != texts-128 || res.Embedded != texts-128 || !slices.Equal(told, []string{"128/172", "172/172"}) {
			t.Errorf("gone on: %+v, told %v, error %v", res, told, err)
		}
		if res, err = ml.Curate().Reembed(t.Context(), req); err != nil || res.Texts != 0 {
			t.Errorf("again: %+v, error %v", res, err)
		}
		if found := mustSearch(t, ml, meminfra.SearchRequest{UserID: "ada", Query: "The lighthouse number 7"}); found.Hits[0].Ranks.Vector == 0 {
			t.Errorf("ranks %+v", found.Hits[0].Ranks)
		}
	})
}

// killHalfWay starts a process that reembeds and kills it at its second batch.
func killHalfWay(t *testing.T, target string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReembedProcess$", "-test.count=1")
	cmd.Env = append(os.Environ(), reembedEnv+"="+target)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "half-way" {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Fatal("the process ended by itself")
			}
			return
		}
	}
	t.Fatalf("the process did not come half-way: %v", cmd.Wait())
}

// reembedEnv tells a copy of the test binary to reembed that database.
const reembedEnv = "MEMINFRA_TEST_REEMBED"

// TestReembedProcess is the body of the process of TestReembedOfAKilledProcess
// and does nothing by itself.
func TestReembedProcess(t *testing.T) {
	target := os.Getenv(reembedEnv)
	if target == "" {
		return
	}
	ml := newLayer(t, openTarget(t, target), randomIDs, withEmbedder(&stopping{bagOfWords: bagOfWords{"killed", 16}}))
	_, err := ml.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: "ada"})
	t.Fatalf("came to an end: %v", err)
}

// stopping is an embedder that says "half-way" at its second batch and never
// returns from it.
type stopping struct {
	bagOfWords
	calls int
}

func (e *stopping) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if e.calls++; e.calls == 2 {
		fmt.Println("half-way")
		select {}
	}
	return e.bagOfWords.Embed(ctx, texts)
}
