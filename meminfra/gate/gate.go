// Package gate decides whether a memory authorises what a tool is about to do.
// It reads stored items only, never chat text, and compares identities, never
// likeness: what it cannot show to be the user's word does not pass.
//
// An argument passes if a current, authorised item of the caller's own carries
// exactly its value and the message that the item quotes says it in a plain form: an
// order, a short answer, a fact of his own, a filled-in form, in whole words, without
// a denial or a doubt in it or in what the message says of it elsewhere. The last word
// counts: what the user denied after he said it does not pass. What is not so, or only
// the assistant's or a tool's, needs the user's confirmation; what no item carries is
// missing. An action that itself needs to be wanted passes only under a current,
// authorised instruction of that name (InstructionPredicate) that is ordered likewise.
// Source: design section 8; papers.md section 5.
//
// The plain forms are in forms.go, in English and a few each in German, French,
// Spanish, Chinese and Japanese. Every other sentence is asked about. What the user
// copies from elsewhere without any sign of it is his word, and that a fact of his is
// one for this call is not looked at.
package gate

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
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

// Hash identifies a user's call under a key: the same action with the same
// arguments, wanted or not. Who does not have the key cannot guess at what they
// are.
func (c *Call) Hash(key []byte, userID string) []byte {
	h := hmac.New(sha256.New, key)
	write := func(s string) {
		h.Write(binary.AppendUvarint(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	write(userID)
	write(c.Action)
	write(strconv.FormatBool(c.NeedsIntent))
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

// Memory is what a gate decides by.
type Memory struct {
	Items []storage.ItemRecord // those that Values found and the caller may see
	// Messages are those, by id, in which the caller himself speaks, or the system
	// does: nothing else authorises.
	Messages map[string]*memory.Episode
}

// Quoted lists the messages, by id, that could authorise what items say.
func Quoted(items []storage.ItemRecord) []string {
	var ids []string
	for i := range items {
		for _, e := range items[i].Evidence {
			if e.Authority == memory.Authorized {
				ids = append(ids, e.EpisodeID)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Decide gives the verdict on a call at a moment.
func (g *Gate) Decide(c *Call, m Memory, now time.Time) Decision {
	d := Decision{Verdict: Allow, Args: make(map[string]Finding, len(c.Args))}
	verbs := verbsOf(c.Action)
	for name, value := range c.Args {
		f := g.find(m, now, func(r *storage.ItemRecord) bool { return g.carries(r, name, value) },
			func(content string, e *memory.Evidence, r *storage.ItemRecord) stance {
				return g.says(content, e.Start, e.End, r, value, verbs)
			})
		d.Args[name] = f
		d.Verdict = stricter(d.Verdict, f.Verdict)
	}
	if c.needsIntent() {
		id := g.intent(c.Action)
		f := g.find(m, now, func(r *storage.ItemRecord) bool {
			return r.Predicate == InstructionPredicate && r.ValueID == id && r.Subject == memory.UserSubject
		}, func(content string, e *memory.Evidence, _ *storage.ItemRecord) stance {
			return wills(content, e.Start, e.End, c.Action)
		})
		d.Intent = &f
		d.Verdict = stricter(d.Verdict, f.Verdict)
	}
	return d
}

// reading is how a message means what an item took from it.
type reading func(content string, e *memory.Evidence, r *storage.ItemRecord) stance

// find looks among current items of the caller's own that match for those that
// authorise; else it names those that could be confirmed.
func (g *Gate) find(m Memory, now time.Time, matches func(*storage.ItemRecord) bool, read reading) Finding {
	weak := Finding{Verdict: Missing, Items: []string{}}
	strong := Finding{Verdict: Allow, Items: []string{}}
	var asserted, denied moment
	for i := range m.Items {
		r := &m.Items[i]
		if !isCurrent(r, now) || !matches(r) {
			continue
		}
		yes, no := m.heard(r, read)
		denied = denied.later(no)
		if r.Polarity != memory.Positive {
			continue
		}
		weak.add(r, NeedsConfirmation)
		if g.Unguarded || authorises(r) && yes.said {
			strong.add(r, Allow)
			asserted = asserted.later(yes)
		}
	}
	if len(strong.Items) == 0 || denied.said && asserted.later(denied) == denied {
		return weak
	}
	return strong
}

func (f *Finding) add(r *storage.ItemRecord, v Verdict) {
	f.Verdict, f.Items, f.Authority = v, append(f.Items, r.ID), max(f.Authority, r.Authority)
}

// moment is when something was said, by the message; zero for never.
type moment struct {
	said bool
	at   time.Time
	seq  int64
}

// later returns the later of two moments, the other if they are equal.
func (a moment) later(b moment) moment {
	if !a.said || b.said && cmp.Or(b.at.Compare(a.at), cmp.Compare(b.seq, a.seq)) >= 0 {
		return b
	}
	return a
}

// heard is when the caller last asserted and last denied what an item says. What
// needs several messages is asserted by none.
func (m Memory) heard(r *storage.ItemRecord, read reading) (yes, no moment) {
	for i := range r.Evidence {
		e := &r.Evidence[i]
		said := m.Messages[e.EpisodeID]
		if e.Authority != memory.Authorized || said == nil || e.Start < 0 || e.Start > e.End || e.End > len(said.Content) {
			continue
		}
		st, at := read(said.Content, &e.Evidence, r), moment{true, e.SentAt, e.EpisodeSeq}
		switch {
		case st == silent:
		case st == denies, e.Polarity != memory.Positive:
			no = no.later(at)
		case st == asserts && m.isWhole(r, e):
			yes = yes.later(at)
		}
	}
	return yes, no
}

// isWhole reports evidence that states an item by itself, or with more of the
// caller's own words.
func (m Memory) isWhole(r *storage.ItemRecord, e *storage.EvidenceRecord) bool {
	return e.Full || !slices.ContainsFunc(r.Evidence, func(o storage.EvidenceRecord) bool {
		return !o.Full && o.Lead == e.Lead && (o.Authority != memory.Authorized || m.Messages[o.EpisodeID] == nil)
	})
}

// isCurrent reports an item that is believed now and the caller's own: what is
// superseded, ended, withdrawn, archived, expired or shared is not.
func isCurrent(r *storage.ItemRecord, now time.Time) bool {
	return r.Present().Current(r.ExpiresAt, now) && r.Scope.Visibility == memory.VisibilityPrivate
}

// authorises reports an item of full authority, of a controlled fact the one
// that holds it.
func authorises(r *storage.ItemRecord) bool {
	return r.Authority == memory.Authorized && (r.FactKey == "" || r.Present().HoldsSlot)
}

// carries reports an item whose value is the argument's: by the identity of its
// predicate where that is controlled, else to the letter.
func (g *Gate) carries(r *storage.ItemRecord, name, value string) bool {
	if r.ValueID == "" {
		return false
	}
	if _, controlled := g.Registry.Lookup(r.Predicate); controlled {
		id, ok := g.identity(r.Predicate, name, value)
		return ok && id == r.ValueID
	}
	return memory.FoldName(value) == r.ValueID && sameValue(value, r.Value)
}
