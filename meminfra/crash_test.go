package meminfra_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// crashEnv tells a copy of the test binary to work until it is killed: the
// round and the database.
const crashEnv = "MEMINFRA_TEST_CRASH"

// crashes is how often each store's process is killed: CRASHES, else a few.
func crashes() int {
	if n, err := strconv.Atoi(os.Getenv("CRASHES")); err == nil && n > 0 {
		return n
	}
	return 4
}

// TestCrashProcess is the body of the processes of TestCrashes and does nothing
// by itself. It adds, supersedes, forgets and reembeds, and says what has been
// committed once it has been.
func TestCrashProcess(t *testing.T) {
	round, target, found := strings.Cut(os.Getenv(crashEnv), "|")
	if !found {
		return
	}
	store := openTarget(t, target)
	ml := newLayer(t, store, randomIDs)
	renamed := newLayer(t, store, randomIDs, withEmbedder(bagOfWords{"bag" + round, 8}))
	for n := 0; ; n++ {
		id := fmt.Sprint(round, "-", n)
		mustAdd(t, ml, addTo("ada", "kept", said(id, "I use PostgreSQL, note "+id+".", n)))
		fmt.Println("kept", id)
		mustAdd(t, ml, addTo("ada", "lost", said(id+"a", "I live in Lisbon.", n), said(id+"b", "I moved to Porto.", n+1)))
		if _, err := renamed.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: "ada"}); err != nil {
			t.Fatal(err)
		}
		mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ConversationID: "lost"})
	}
}

// A process that is killed at a random moment of add, supersede, reembed or
// forget loses nothing that was committed and leaves nothing half-written: the
// ledger verifies, no row hangs in the air, and the next process goes on.
// `make crash` kills 200 on each store.
func TestCrashes(t *testing.T) {
	onTargets(t, func(t *testing.T, store storage.Store, target string) {
		kept := map[string]bool{}
		for round := range crashes() {
			for _, id := range killed(t, round, target) {
				kept[id] = true
			}
			checkCrashed(t, store, kept)
		}
		if len(kept) == 0 {
			t.Error("no process came as far as a commit")
		}
	})
}

// killed runs a process and kills it at a random moment after its first commit.
func killed(t *testing.T, round int, target string) (kept []string) {
	t.Helper()
	var out strings.Builder
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashProcess$", "-test.count=1")
	cmd.Env = append(os.Environ(), crashEnv+"="+strconv.Itoa(round)+"|"+target)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(300+rand.IntN(1500)) * time.Millisecond) // the random moment is the test
	if err := cmd.Process.Kill(); err != nil {
		t.Fatalf("the process ended by itself: %v\n%s", err, out.String())
	}
	_ = cmd.Wait()
	for line := range strings.Lines(out.String()) {
		if id, ok := strings.CutPrefix(line, "kept "); ok && strings.HasSuffix(id, "\n") {
			kept = append(kept, strings.TrimSpace(id))
		}
	}
	return kept
}

func checkCrashed(t *testing.T, store storage.Store, kept map[string]bool) {
	t.Helper()
	ml := newLayer(t, store, randomIDs)
	res, err := ml.Doctor(t.Context(), meminfra.DoctorRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Checks {
		if !c.OK && (c.Name == "ledger" || c.Name == "orphans") {
			t.Errorf("after a kill: %+v", c)
		}
	}
	there := map[string]bool{}
	for _, e := range changesOf(t, store, "ada").Episodes {
		there[e.MessageID] = true
	}
	for id := range kept {
		if !there[id] {
			t.Errorf("message %s was committed and is lost", id)
		}
	}
	mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ConversationID: "lost"})
	for _, r := range mustList(t, ml, "ada", meminfra.Filters{History: "all"}) {
		if r.Value == "Lisbon" || r.Value == "Porto" {
			t.Errorf("forgotten and still there: %+v", r)
		}
	}
}
