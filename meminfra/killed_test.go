package meminfra_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// killedEnv tells a copy of the test binary to add messages and to hang in their
// extraction: the database.
const killedEnv = "MEMINFRA_TEST_KILLED"

var interrupted = addTo("ada", "c", said("1", "I use PostgreSQL.", 0), said("2", "I speak Dutch.", 1))

// TestKilledProcess is the body of the process of TestKillBeforeExtraction and
// does nothing by itself.
func TestKilledProcess(t *testing.T) {
	target := os.Getenv(killedEnv)
	if target == "" {
		return
	}
	ml := newLayer(t, openTarget(t, target), randomIDs, withHook(t, func() error {
		fmt.Println("extracting")
		select {}
	}))
	_, err := ml.Add(t.Context(), interrupted)
	t.Fatalf("the extraction ended: %v", err)
}

// A process killed between the storage of the messages and their extraction loses
// nothing and doubles nothing: the same call, a later one on the conversation once
// the lease is over, or Reprocess completes it, with TakeOver at once.
func TestKillBeforeExtraction(t *testing.T) {
	for name, resume := range map[string]func(t *testing.T, store storage.Store){
		"the same call": func(t *testing.T, store storage.Store) {
			mustAdd(t, newLayer(t, store, randomIDs), interrupted)
		},
		"a later call": func(t *testing.T, store storage.Store) {
			mustAdd(t, newLayer(t, store, randomIDs, anHourLater), addTo("ada", "c", said("3", "Hello!", 2)))
		},
		"reprocess": func(t *testing.T, store storage.Store) {
			if _, err := newLayer(t, store, randomIDs, anHourLater).Curate().Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: "ada"}); err != nil {
				t.Error(err)
			}
		},
		"reprocess at once": func(t *testing.T, store storage.Store) {
			curate := newLayer(t, store, randomIDs).Curate()
			if res, err := curate.Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: "ada"}); err != nil || res.Episodes != 0 {
				t.Errorf("took what may be under way: %+v, error %v", res, err)
			} else if n := len(mustList(t, newLayer(t, store, randomIDs), "ada", meminfra.Filters{})); n == 0 && !strings.Contains(strings.Join(res.Degraded, ""), "2 messages are left") {
				t.Errorf("does not say what is under way: %q", res.Degraded)
			}
			if _, err := curate.Reprocess(t.Context(), meminfra.ReprocessRequest{UserID: "ada", TakeOver: true}); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onTargets(t, func(t *testing.T, store storage.Store, target string) {
				killInExtraction(t, target)
				if got := openTexts(t, newLayer(t, store, randomIDs), "ada"); got != "" {
					t.Fatalf("remembered before: %s", got)
				}
				for range 2 { // the second time there is nothing left to do
					resume(t, store)
				}
				if got := openTexts(t, newLayer(t, store, randomIDs), "ada"); got != "I speak Dutch | I use PostgreSQL" {
					t.Errorf("remembered: %s", got)
				}
				episodes := mustList(t, newLayer(t, store, randomIDs), "ada", meminfra.Filters{Kind: "episode"})
				if n := len(episodes); n != 2 && (name != "a later call" || n != 3) {
					t.Errorf("%d messages", n)
				}
			})
		})
	}
}

func killInExtraction(t *testing.T, target string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledProcess$", "-test.count=1")
	cmd.Env = append(os.Environ(), killedEnv+"="+target)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, reached := bufio.NewScanner(out), false
	for !reached && lines.Scan() {
		reached = strings.Contains(lines.Text(), "extracting")
	}
	if err := cmd.Process.Kill(); err != nil || !reached {
		t.Fatalf("the process came to no extraction: %v", err)
	}
	_ = cmd.Wait() // killed
}
