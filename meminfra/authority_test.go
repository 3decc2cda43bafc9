package meminfra_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// checkAuthority: every version has the authority of its strongest witness, of
// which one of several parts is as strong as the weakest. Source: papers.md
// section 5, T5.
func checkAuthority(t *testing.T, list []storage.ItemRecord, when string) {
	t.Helper()
	for i := range list {
		r := &list[i]
		weakest := map[int]memory.Authority{}
		for _, e := range r.Evidence {
			if e.Polarity != r.Polarity {
				continue
			}
			key := e.Lead
			if e.Full {
				key = -e.N
			}
			if old, known := weakest[key]; !known || e.Authority < old {
				weakest[key] = e.Authority
			}
		}
		strongest := memory.Authority(0)
		for _, a := range weakest {
			strongest = max(strongest, a)
		}
		if r.Authority != strongest {
			t.Errorf("%s: %s %q is %s, its witnesses %v", when, r.ID, r.Text, r.Authority, weakest)
		}
	}
}

// anyManager is a manager that proposes anything: an operation at random on a
// memory at random, with two of the texts it was shown for a merged one.
func anyManager(r *rand.Rand) *memtest.Generator {
	texts := regexp.MustCompile(`"text":("[^"]*")`)
	return memtest.NewResponder(func(req llm.Request) string {
		var seen []string
		for _, m := range texts.FindAllStringSubmatch(req.Messages[0].Content, -1) {
			if text, err := strconv.Unquote(m[1]); err == nil {
				seen = append(seen, text)
			}
		}
		merged := ""
		if len(seen) > 0 && r.IntN(2) == 0 {
			merged = seen[r.IntN(len(seen))] + " And: " + seen[r.IntN(len(seen))]
		}
		return managing(op("c1", []string{"ADD", "UPDATE", "DELETE", "NOOP"}[r.IntN(4)], strconv.Itoa(r.IntN(4)), merged))
	})
}

// TestAuthorityOfRandomChains adds, echoes, composes, supersedes, merges, edits,
// retracts, restores and derives at random; in every other chain a model manages.
func TestAuthorityOfRandomChains(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(seed, 1))
			user, plan := fmt.Sprint("u", seed), byScript{}
			manager := anyManager(r)
			ml := newLayer(t, store, script(plan), randomIDs, func(o *meminfra.Options) {
				if seed%2 == 1 {
					o.Generator = manager
				}
			})
			roles := []memory.Role{memory.RoleUser, memory.RoleAssistant, memory.RoleTool, memory.RoleDocument}
			for n := range 30 {
				ids := records(t, store, user)
				pick := func() string { return ids[r.IntN(len(ids))].ID }
				act := r.IntN(8)
				if len(ids) == 0 {
					act = 0
				}
				switch act {
				case 4:
					_, _ = ml.Curate().Edit(t.Context(), meminfra.EditRequest{UserID: user, ID: pick(), Text: fmt.Sprintf("I put it as Oslo, number %d.", n), Value: "Oslo"})
				case 5:
					_, _ = ml.Curate().Retract(t.Context(), meminfra.RetractRequest{UserID: user, ID: pick()})
				case 6:
					_, _ = ml.Curate().Restore(t.Context(), meminfra.RestoreRequest{UserID: user, ID: pick()})
				case 7:
					_, _ = ml.Curate().Derive(t.Context(), meminfra.DeriveRequest{UserID: user, From: []string{pick(), pick()}, Text: fmt.Sprint("A note ", n)})
				default:
					f, p := fmt.Sprintf("f%d", n), fmt.Sprintf("p%d", n)
					place := []string{"Oslo", "Rome"}[r.IntN(2)]
					c := extract.Candidate{Predicate: []string{"location", "haunt"}[r.IntN(2)], Value: place}
					if r.IntN(2) == 0 {
						c.Needs = []extract.Part{{EpisodeID: p, Quote: "the northern one of the two", Start: -1}}
					}
					c.Text = "The place is " + place
					if c.Predicate == "haunt" && r.IntN(2) == 0 {
						c.Text += fmt.Sprintf(" by way %d", n) // another proposition, much alike
					}
					plan[f] = []extract.Candidate{c}
					a := by(roles[r.IntN(4)], p, "s", "It is the northern one of the two.")
					b := by(roles[r.IntN(4)], f, "s", "The place is "+place+", as far as I know.")
					b.SentAt = monday.AddDate(0, 0, r.IntN(20))
					mustAdd(t, ml, addTo(user, "c", a, b))
				}
				checkAuthority(t, records(t, store, user), fmt.Sprintf("seed %d, step %d, act %d", seed, n, act))
			}
			if asked := len(manager.Requests()); (asked > 0) != (seed%2 == 1) {
				t.Errorf("seed %d: the manager was asked %d times", seed, asked)
			}
		}
	})
}
