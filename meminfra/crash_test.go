package meminfra_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
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
	return 2
}

// TestCrashProcess is the body of the processes of TestCrashes and does nothing
// by itself. It adds, supersedes, reembeds, grants, imports, sweeps and forgets,
// says what it is at, and what has been committed once it has been.
func TestCrashProcess(t *testing.T) {
	round, target, found := strings.Cut(os.Getenv(crashEnv), "|")
	if !found {
		return
	}
	store := openTarget(t, target)
	ml := inTenant(t, store, "round "+round)
	renamed := newLayer(t, store, randomIDs, withEmbedder(bagOfWords{"bag" + round, 8}), func(o *meminfra.Options) { o.Tenant = "round " + round })
	at := func(step string) { fmt.Println("at", step) }
	for n := 0; ; n++ {
		id := fmt.Sprint(round, "-", n)
		at("add")
		mustAdd(t, ml, addTo("ada", "kept", said(id, "I use PostgreSQL, note "+id+".", n)))
		fmt.Println("kept", id)
		at("supersede")
		mustAdd(t, ml, addTo("ada", "lost", said(id+"a", "I live in Lisbon.", n), said(id+"b", "I moved to Porto.", n+1)))
		at("reembed")
		if _, err := renamed.Curate().Reembed(t.Context(), meminfra.ReembedRequest{UserID: "ada"}); err != nil {
			t.Fatal(err)
		}
		at("grant")
		if err := outcome(ml.Grants().Grant(t.Context(), meminfra.GrantRequest{UserID: "bob", AgentID: id})); err != nil {
			t.Fatal(err)
		}
		fmt.Println("granted", id)
		at("sweep")
		brief := said(id+"c", "I speak Dutch.", n)
		brief.ExpiresAt = monday
		mustAdd(t, ml, addTo("ada", "lost", brief))
		if err := outcome(ml.Sweep(t.Context(), meminfra.SweepRequest{})); err != nil {
			t.Fatal(err)
		}
		at("import")
		if err := outcome(importInto(inTenant(t, store, "copy "+id), export(t, ml))); err != nil {
			t.Fatal(err)
		}
		fmt.Println("copied", id)
		at("forget")
		mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ConversationID: "lost"})
	}
}

func inTenant(t *testing.T, store storage.Store, tenant string) *meminfra.MemoryLayer {
	return newLayer(t, store, randomIDs, func(o *meminfra.Options) { o.Tenant = tenant })
}

// A process that is killed at a random moment of add, supersede, reembed, grant,
// import, sweep or forget loses nothing that was committed and leaves nothing half-written: the
// ledger verifies, no row hangs in the air, and the next process goes on.
// `make crash` kills 200 on each store.
func TestCrashes(t *testing.T) {
	onTargets(t, func(t *testing.T, store storage.Store, target string) {
		kept, at := map[int][]string{}, map[string]int{}
		for round := range crashes() {
			t.Run(strconv.Itoa(round), func(t *testing.T) { // which closes its layers
				done := killed(t, round, target)
				kept[round] = done["kept"]
				at[done["at"][len(done["at"])-1]]++
				checkCrashed(t, store, round)
				checkKept(t, store, round, kept[round])
				checkGranted(t, store, round, done["granted"])
				// The one under way may have been copied or not, and nothing between.
				next := fmt.Sprint(round, "-", len(done["copied"]))
				for _, id := range append(done["copied"], next) {
					checkCopied(t, store, id, id != next)
				}
			})
		}
		total := 0
		for round, list := range kept {
			total += len(list)
			checkKept(t, store, round, list)
		}
		t.Logf("%d processes were killed, at %v; %d messages were committed and kept", crashes(), at, total)
		if total == 0 {
			t.Error("no process came as far as a commit")
		}
	})
}

func ofRound(t *testing.T, store storage.Store, round int) *meminfra.MemoryLayer {
	return inTenant(t, store, fmt.Sprint("round ", round))
}

// killed runs a process and kills it at a random moment after its first commit.
// It returns what it said was committed, by what it is.
func killed(t *testing.T, round int, target string) map[string][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashProcess$", "-test.count=1")
	cmd.Env = append(os.Environ(), crashEnv+"="+strconv.Itoa(round)+"|"+target)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done, all := map[string][]string{}, ""
	begun := false
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil { // a line that was cut says nothing
			break
		}
		all += line
		what, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		done[what] = append(done[what], id)
		if !begun && what == "kept" {
			begun = true
			// The random moment is the test; whichever it is, the same must hold.
			time.AfterFunc(time.Duration(rand.IntN(1500))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		}
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) || ended.Exited() {
		t.Fatalf("the process ended by itself: %v\n%s", err, all)
	}
	return done
}

func checkGranted(t *testing.T, store storage.Store, round int, granted []string) {
	t.Helper()
	res, err := ofRound(t, store, round).Grants().List(t.Context(), meminfra.ListGrantsRequest{UserID: "bob", History: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range granted {
		if !slices.ContainsFunc(res.Grants, func(g meminfra.GrantRecord) bool { return g.AgentID == id }) {
			t.Errorf("grant %s was committed and is lost", id)
		}
	}
}

// checkCopied checks an import: all of it is there and verifies, or nothing.
func checkCopied(t *testing.T, store storage.Store, id string, whole bool) {
	t.Helper()
	res, err := inTenant(t, store, "copy "+id).Ledger().Verify(t.Context(), meminfra.VerifyRequest{UserID: "ada"})
	if err != nil || res.Err() != nil {
		t.Fatalf("copy %s: %v, %v", id, err, res.Err())
	}
	if whole && res.Partitions[0].Rows == 0 {
		t.Errorf("copy %s was committed and is lost", id)
	}
}

func checkKept(t *testing.T, store storage.Store, round int, kept []string) {
	t.Helper()
	var all []string
	for _, r := range mustList(t, ofRound(t, store, round), "ada", meminfra.Filters{Kind: "episode"}) {
		all = append(all, r.Text)
	}
	for _, id := range kept {
		if !slices.Contains(all, "I use PostgreSQL, note "+id+".") {
			t.Errorf("message %s was committed and is lost", id)
		}
	}
}

func checkCrashed(t *testing.T, store storage.Store, round int) {
	t.Helper()
	ml := ofRound(t, store, round)
	res, err := ml.Doctor(t.Context(), meminfra.DoctorRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Checks {
		if !c.OK && (c.Name == "ledger" || c.Name == "orphans") {
			t.Errorf("after a kill: %+v", c)
		}
	}
	mustForget(t, ml, meminfra.ForgetRequest{UserID: "ada", ConversationID: "lost"})
	for _, r := range mustList(t, ml, "ada", meminfra.Filters{History: "all"}) {
		if r.Value == "Lisbon" || r.Value == "Porto" || r.Value == "Dutch" {
			t.Errorf("forgotten and still there: %+v", r)
		}
	}
}
