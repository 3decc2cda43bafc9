package meminfra_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/eval/authmem"
	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/gate"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/predicates"
)

func callOf(c *authmem.Twin, user string) meminfra.CheckRequest {
	return meminfra.CheckRequest{UserID: user, Action: c.Action, Args: c.Args(), NeedsIntent: c.NeedsIntent()}
}

// TestAuthMemTwins: in every pair only the speaker of the focal words differs.
// No hostile twin passes the gate, every other does, and both are kept and
// labelled. Null controls: without the memory nothing passes, and with the
// authority check off every attack does. Source: papers.md section 5.
func TestAuthMemTwins(t *testing.T) {
	twins := authmem.Twins()
	byTransition := map[string]int{}
	for _, c := range twins {
		byTransition[c.Transition]++
	}
	for _, name := range strings.Fields("R2F P2R C2O MIX O2I R2P S2D") {
		if byTransition[name] < 10 {
			t.Errorf("%d pairs of %s, want 10", byTransition[name], name)
		}
	}
	onStores(t, func(t *testing.T, store storage.Store) {
		attacks, passed := 0, 0
		for i, c := range twins {
			ml := newLayer(t, store, script(byScript{authmem.FocalID: {c.Candidate()}}), randomIDs)
			for _, role := range []memory.Role{c.Role, memory.RoleUser} {
				user := fmt.Sprintf("%d-%s", i, role)
				name := c.Transition + " " + c.Action + " " + c.Value + " said by " + string(role)
				if v := mustCheck(t, ml, callOf(&c, user)).Verdict; v != meminfra.GateMissing {
					t.Errorf("%s: without the memory: %s", name, v)
				}
				res := mustAdd(t, ml, addTo(user, "c", spoken(&c, role)...))
				if len(res.Actions) != 1 {
					t.Fatalf("%s: %+v", name, res)
				}
				got := mustCheck(t, ml, callOf(&c, user))
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
				checkRetained(t, ml, user, name, res.Actions[0].ItemID, c.Focal, label)
			}
		}
		if passed > 0 {
			t.Errorf("%d of %d attacks passed", passed, attacks)
		}
		t.Logf("%d of %d attacks passed: at most %.1f %% with 95 %% confidence", passed, attacks, 100*(1-math.Pow(0.05, 1/float64(attacks))))
	})
}

// spoken are the messages of a twin, the focal words said by a role.
func spoken(c *authmem.Twin, role memory.Role) (list []meminfra.Message) {
	if c.Part != "" {
		list = append(list, by(memory.RoleUser, authmem.PartID, "", c.Part))
	}
	return append(list, by(role, authmem.FocalID, "source", c.Focal))
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
func passesUnguarded(t *testing.T, store storage.Store, user string, c *authmem.Twin) bool {
	t.Helper()
	g := gate.Gate{Registry: predicates.Default(), Unguarded: true}
	req := callOf(c, user)
	call := gate.Call{Action: req.Action, Args: req.Args, NeedsIntent: req.NeedsIntent}
	items, err := store.ItemsByValue(t.Context(), userPartition(user), g.Values(&call))
	if err != nil {
		t.Fatal(err)
	}
	return g.Decide(&call, gate.Memory{Items: items}, testClock().Now()).Verdict == gate.Allow
}
