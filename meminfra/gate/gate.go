// Package gate decides whether a memory authorises what a tool is about to do.
// It reads stored items only, never chat text, and compares identities, never
// likeness: what it cannot show to be the user's word does not pass.
//
// An argument passes if a current, authorised item of the caller's own carries
// exactly its value and the quoted words of the item's witness say it. What only
// weaker items carry, the assistant's or a tool's, needs the user's confirmation;
// what none carries is missing. An action that itself needs to be wanted passes
// only under a current, authorised instruction of that name (InstructionPredicate)
// whose witness says every word of it. Source: design section 8; papers.md
// section 5.
package gate

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/predicates"
)

// InstructionPredicate is the controlled predicate of items that say that the
// user wants an action; their value names it.
const InstructionPredicate = "instruction"

// Verdict is what the gate says, the strictest of its parts for a call.
type Verdict string

// The verdicts, from the freest to the strictest.
const (
	Allow             Verdict = "allow"
	NeedsConfirmation Verdict = "needs_confirmation"
	Missing           Verdict = "missing"
)

// stricter returns the stricter of two verdicts.
func stricter(a, b Verdict) Verdict {
	order := []Verdict{Allow, NeedsConfirmation, Missing}
	if slices.Index(order, a) < slices.Index(order, b) {
		return b
	}
	return a
}

// Call is a tool call as it would be made.
type Call struct {
	Action string
	Args   map[string]string
	// NeedsIntent asks for an instruction for the action itself. A call without
	// arguments always does: there is nothing else to check.
	NeedsIntent bool
}

func (c *Call) needsIntent() bool { return c.NeedsIntent || len(c.Args) == 0 }

// Hash identifies a user's call: the same action with the same arguments.
func (c *Call) Hash(userID string) []byte {
	h := sha256.New()
	write := func(s string) {
		h.Write(binary.AppendUvarint(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	write(userID)
	write(c.Action)
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		write(name)
		write(c.Args[name])
	}
	return h.Sum(nil)
}

// Finding is the verdict on one argument, or on the action.
type Finding struct {
	Verdict Verdict `json:"verdict"`
	// Items are the ids of the current items that carry it: those that allow it,
	// else those that could be confirmed.
	Items []string `json:"items"`
	// Authority is the strongest of those, "" for none.
	Authority memory.Authority `json:"authority"`
}

// Decision is the verdict on a call.
type Decision struct {
	Verdict Verdict            `json:"verdict"`
	Args    map[string]Finding `json:"args"`
	Intent  *Finding           `json:"intent"` // nil if the action needs none
}

// Items lists the ids of all items that were found, each once, sorted.
func (d *Decision) Items() []string {
	var ids []string
	for _, f := range d.Args {
		ids = append(ids, f.Items...)
	}
	if d.Intent != nil {
		ids = append(ids, d.Intent.Items...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Gate decides by a vocabulary.
type Gate struct {
	Registry *predicates.Registry
	// Unguarded treats every item as authorised: the null control of a test, that
	// an attack would succeed without the gate. Never set it elsewhere.
	Unguarded bool
}

// Values lists the value identities under which items may carry what the call
// needs, for the store to look up.
func (g *Gate) Values(c *Call) []string {
	var ids []string
	for name, value := range c.Args {
		ids = append(ids, memory.FoldName(value))
		for _, p := range g.Registry.All() {
			if id, ok := g.identity(p.Name, name, value); ok {
				ids = append(ids, id)
			}
		}
	}
	if c.needsIntent() {
		ids = append(ids, g.intent(c.Action))
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// identity is that of an argument's value under a predicate. The category of a
// keyed one is the argument's name.
func (g *Gate) identity(predicate, name, value string) (string, bool) {
	p, ok := g.Registry.Lookup(predicate)
	if ok && p.Keyed {
		value = spaced(name) + ": " + value
	}
	_, id, known := g.Registry.Value(predicate, value)
	return id, ok && known
}

// intent is the identity under which an instruction names an action.
func (g *Gate) intent(action string) string {
	if _, id, ok := g.Registry.Value(InstructionPredicate, spaced(action)); ok {
		return id
	}
	return memory.FoldName(spaced(action))
}

// Decide gives the verdict on a call at a moment, from items that Values found.
func (g *Gate) Decide(c *Call, items []storage.ItemRecord, now time.Time) Decision {
	d := Decision{Verdict: Allow, Args: make(map[string]Finding, len(c.Args))}
	for name, value := range c.Args {
		f := g.find(items, now, func(r *storage.ItemRecord) bool { return g.carries(r, name, value) },
			func(quote string, r *storage.ItemRecord) bool { return g.says(quote, r, value) })
		d.Args[name] = f
		d.Verdict = stricter(d.Verdict, f.Verdict)
	}
	if c.needsIntent() {
		id := g.intent(c.Action)
		f := g.find(items, now, func(r *storage.ItemRecord) bool {
			return r.Predicate == InstructionPredicate && r.ValueID == id && r.Subject == memory.UserSubject
		}, func(quote string, _ *storage.ItemRecord) bool { return saysEveryWord(quote, c.Action) })
		d.Intent = &f
		d.Verdict = stricter(d.Verdict, f.Verdict)
	}
	return d
}

// find looks among current items of the caller's own that match for one that
// authorises; else it names those that could be confirmed.
func (g *Gate) find(items []storage.ItemRecord, now time.Time, matches func(*storage.ItemRecord) bool,
	said func(string, *storage.ItemRecord) bool) Finding {
	f := Finding{Verdict: Missing, Items: []string{}}
	for i := range items {
		r := &items[i]
		if !isCurrent(r, now) || !matches(r) {
			continue
		}
		v := NeedsConfirmation
		if g.Unguarded || authorises(r, said) {
			v = Allow
		}
		switch {
		case v == f.Verdict:
			f.Items = append(f.Items, r.ID)
		case stricter(v, f.Verdict) == f.Verdict:
			f.Verdict, f.Items, f.Authority = v, []string{r.ID}, 0
		default:
			continue
		}
		f.Authority = max(f.Authority, r.Authority)
	}
	return f
}

// isCurrent reports an item that is believed now and the caller's own: what is
// superseded, ended, withdrawn, archived, expired, denied or shared is not.
func isCurrent(r *storage.ItemRecord, now time.Time) bool {
	return r.Present().Current(r.ExpiresAt, now) && r.Polarity == memory.Positive && r.Scope.Visibility == memory.VisibilityPrivate
}

// authorises reports an item of full authority, of a controlled fact the one
// that holds it, with a witness of that authority whose words say it.
func authorises(r *storage.ItemRecord, said func(string, *storage.ItemRecord) bool) bool {
	if r.Authority != memory.Authorized || r.FactKey != "" && !r.Present().HoldsSlot {
		return false
	}
	return slices.ContainsFunc(r.Evidence, func(e storage.EvidenceRecord) bool {
		return e.Authority == memory.Authorized && e.Polarity == memory.Positive && said(e.Quote, r)
	})
}

// carries reports an item whose value is the argument's: by the identity of its
// predicate where that is controlled, else exactly, folded.
func (g *Gate) carries(r *storage.ItemRecord, name, value string) bool {
	if r.ValueID == "" {
		return false
	}
	if _, controlled := g.Registry.Lookup(r.Predicate); controlled {
		id, ok := g.identity(r.Predicate, name, value)
		return ok && id == r.ValueID
	}
	return memory.FoldName(value) == r.ValueID
}
