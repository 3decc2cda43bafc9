package meminfra_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/gate"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/predicates"
)

// twin is a case of testdata/authmem/cases.tsv.
type twin struct{ transition, role, focal, action, arg, value, part string }

func readTwins(t *testing.T) (list []twin) {
	t.Helper()
	raw, err := os.ReadFile("../testdata/authmem/cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.Trim(string(raw), "\n"), "\n") {
		if f := strings.Split(line, "\t"); len(f) == 7 && f[0] != "transition" {
			list = append(list, twin{f[0], f[1], f[2], f[3], f[4], f[5], f[6]})
		}
	}
	return list
}

// candidate is what the extractor makes of the focal words, whoever says them.
func (c *twin) candidate() extract.Candidate {
	switch {
	case c.arg == "":
		return extract.Candidate{Text: c.focal, Predicate: "decision", Value: c.action}
	case c.part != "":
		return extract.Candidate{Text: c.part + " " + c.focal, Predicate: c.arg, Value: c.value, EpisodeID: "p", Quote: c.part,
			Needs: []extract.Part{{EpisodeID: "f", Quote: c.focal, Start: -1}}}
	}
	return extract.Candidate{Text: c.focal, Predicate: c.arg, Value: c.value}
}

func (c *twin) check(user string) meminfra.CheckRequest {
	req := meminfra.CheckRequest{UserID: user, Action: c.action, NeedsIntent: c.arg == ""}
	if c.arg != "" {
		req.Args = map[string]string{c.arg: c.value}
	}
	return req
}

// TestAuthMemTwins: in every pair only the speaker of the focal words differs.
// No hostile twin passes the gate, every other does, and both are kept and
// labelled. Null controls: without the memory nothing passes, and with the
// authority check off every attack does. Source: papers.md section 5.
func TestAuthMemTwins(t *testing.T) {
	twins := readTwins(t)
	byTransition := map[string]int{}
	for _, c := range twins {
		byTransition[c.transition]++
	}
	for _, name := range strings.Fields("R2F P2R C2O MIX O2I R2P S2D") {
		if byTransition[name] < 10 {
			t.Errorf("%d pairs of %s, want 10", byTransition[name], name)
		}
	}
	onStores(t, func(t *testing.T, store storage.Store) {
		attacks, passed := 0, 0
		for i, c := range twins {
			ml := newLayer(t, store, script(byScript{"f": {c.candidate()}}), randomIDs)
			for _, role := range []memory.Role{memory.Role(c.role), memory.RoleUser} {
				user := fmt.Sprintf("%d-%s", i, role)
				name := c.transition + " " + c.action + " " + c.value + " said by " + string(role)
				if v := mustCheck(t, ml, c.check(user)).Verdict; v != meminfra.GateMissing {
					t.Errorf("%s: without the memory: %s", name, v)
				}
				var messages []meminfra.Message
				if c.part != "" {
					messages = append(messages, by(memory.RoleUser, "p", "", c.part))
				}
				res := mustAdd(t, ml, addTo(user, "c", append(messages, by(role, "f", "source", c.focal))...))
				if len(res.Actions) != 1 {
					t.Fatalf("%s: %+v", name, res)
				}
				got := mustCheck(t, ml, c.check(user))
				want, label := meminfra.GateAllow, memory.Authorized
				if role != memory.RoleUser {
					want, label = meminfra.GateNeedsConfirmation, role.Authority()
					attacks++
					if got.Verdict == meminfra.GateAllow {
						passed++
					}
					if !passesUnguarded(t, store, user, &c) {
						t.Errorf("%s: the attack fails without the gate: a bad case", name)
					}
				}
				if got.Verdict != want {
					t.Errorf("%s: %s, want %s", name, got.Verdict, want)
				}
				checkRetained(t, ml, user, name, res.Actions[0].ItemID, c.focal, label)
			}
		}
		if passed > 0 {
			t.Errorf("%d of %d attacks passed", passed, attacks)
		}
		t.Logf("%d of %d attacks passed: at most %.1f %% with 95 %% confidence", passed, attacks, 100*(1-math.Pow(0.05, 1/float64(attacks))))
	})
}

// checkRetained: a claim is kept and found, with its label.
func checkRetained(t *testing.T, ml *meminfra.MemoryLayer, user, name, item, focal string, label memory.Authority) {
	t.Helper()
	for _, h := range mustSearch(t, ml, meminfra.SearchRequest{UserID: user, Query: focal}).Hits {
		if h.ID == item {
			if h.Authority != label || (label < memory.Authorized) != (strings.HasPrefix(h.Text, "According to ") || strings.HasPrefix(h.Text, "The assistant said: ")) {
				t.Errorf("%s: found as %s: %q", name, h.Authority, h.Text)
			}
			return
		}
	}
	t.Errorf("%s: the claim is not found", name)
}

// passesUnguarded reports whether the call passes with the authority check off.
func passesUnguarded(t *testing.T, store storage.Store, user string, c *twin) bool {
	t.Helper()
	g := gate.Gate{Registry: predicates.Default(), Unguarded: true}
	req := c.check(user)
	call := gate.Call{Action: req.Action, Args: req.Args, NeedsIntent: req.NeedsIntent}
	items, err := store.ItemsByValue(t.Context(), userPartition(user), g.Values(&call))
	if err != nil {
		t.Fatal(err)
	}
	return g.Decide(&call, gate.Memory{Items: items}, testClock().Now()).Verdict == gate.Allow
}
