package suite

import (
	"fmt"
	"strings"

	"github.com/meminfra/memory-layer/eval/authmem"
	"github.com/meminfra/memory-layer/eval/metrics"
	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/gate"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

// authorities: who says something decides what an agent may do on the strength of
// it. The cases are those of package authmem.
func authorities() (list []testCase) {
	for _, c := range authmem.Twins() {
		name := strings.Join([]string{c.Transition, c.Action, c.Value}, " ")
		list = append(list, testCase{name, func(w *world) (metrics.Values, error) { return w.twins(&c) }})
	}
	return list
}

// ownWords: what the user denies, asks, supposes or quotes is not his word for a
// call, whatever a model makes of it; what he plainly says is.
func ownWords() (list []testCase) {
	for _, s := range authmem.Attacks() {
		list = append(list, testCase{s.Kind, func(w *world) (metrics.Values, error) { return w.saying(&s, false) }})
	}
	for _, s := range authmem.Meant() {
		list = append(list, testCase{s.Kind, func(w *world) (metrics.Values, error) { return w.saying(&s, true) }})
	}
	return list
}

// twins tells the focal words by their hostile speaker, and to another user by
// the user. authorised: his word passes the gate, and the other's is not an
// unauthorised action. kept: both claims are found with their label. control: the
// case can fail, since without the memory nothing passes, and with the gate's
// authority check off the attack does.
func (w *world) twins(c *authmem.Twin) (metrics.Values, error) {
	v := metrics.Values{"authorised": 1, "kept": 1, "control": 1}
	for _, role := range []memory.Role{c.Role, memory.RoleUser} {
		user := w.user + "-" + string(role)
		check := meminfra.CheckRequest{UserID: user, Action: c.Action, Args: c.Args(), NeedsIntent: c.NeedsIntent()}
		err := w.scripted(authmem.Script{authmem.FocalID: {c.Candidate()}}, func(ml *meminfra.MemoryLayer) error {
			before, err := ml.Gate().Check(w.ctx, check)
			if err != nil {
				return err
			}
			if before.Verdict != meminfra.GateMissing {
				v["control"] = 0
			}
			var messages []meminfra.Message
			if c.Part != "" {
				messages = append(messages, meminfra.Message{ID: authmem.PartID, Content: c.Part, SentAt: start})
			}
			messages = append(messages, meminfra.Message{ID: authmem.FocalID, Role: role, Source: "source", Content: c.Focal, SentAt: start})
			if _, err = ml.Add(w.ctx, meminfra.AddRequest{UserID: user, ConversationID: "c", Messages: messages}); err != nil {
				return err
			}
			after, err := ml.Gate().Check(w.ctx, check)
			if err != nil {
				return err
			}
			if (after.Verdict == meminfra.GateAllow) != (role == memory.RoleUser) {
				v["authorised"] = 0
			}
			return w.retained(ml, user, c.Focal, role, v)
		})
		if err != nil {
			return nil, err
		}
		if role != memory.RoleUser {
			if err := w.unguarded(check, v); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// retained marks a claim that is not found with the label of who made it.
func (w *world) retained(ml *meminfra.MemoryLayer, user, focal string, role memory.Role, v metrics.Values) error {
	res, err := ml.Search(w.ctx, meminfra.SearchRequest{UserID: user, Query: focal})
	if err != nil {
		return err
	}
	for _, h := range res.Hits {
		if h.Kind != memory.KindEpisode && strings.HasSuffix(h.Text, focal) && h.Authority == role.Authority() {
			return nil
		}
	}
	v["kept"] = 0
	return nil
}

// unguarded marks an attack that would not pass with the authority check off.
func (w *world) unguarded(req meminfra.CheckRequest, v metrics.Values) error {
	g := gate.Gate{Registry: predicates.Default(), Unguarded: true}
	call := gate.Call{Action: req.Action, Args: req.Args, NeedsIntent: req.NeedsIntent}
	partition := memory.Partition{Tenant: w.opts.Tenant, Kind: memory.PartitionUser, Name: req.UserID}
	items, err := w.store.ItemsByValue(w.ctx, partition.ID(), g.Values(&call))
	if err == nil && g.Decide(&call, gate.Memory{Items: items}, w.opts.Now()).Verdict != gate.Allow {
		v["control"] = 0
	}
	return err
}

// saying tells the user's own words, of which a model makes what suits it.
// authorised: the call passes if it is what he plainly meant, and only then.
func (w *world) saying(s *authmem.Saying, meant bool) (metrics.Values, error) {
	v := metrics.Values{"authorised": 0}
	err := w.scripted(authmem.Script{"m": {s.Candidate()}}, func(ml *meminfra.MemoryLayer) error {
		_, err := ml.Add(w.ctx, meminfra.AddRequest{UserID: w.user, ConversationID: "c", Messages: []meminfra.Message{
			{ID: "m", Content: s.Text, SentAt: start}}})
		if err != nil {
			return err
		}
		res, err := ml.Gate().Check(w.ctx, meminfra.CheckRequest{UserID: w.user, Action: "act", Args: s.Args()})
		if err == nil && (res.Verdict == meminfra.GateAllow) == meant {
			v["authorised"] = 1
		}
		return err
	})
	return v, err
}

// scripted runs f on a memory in which an extractor proposes what the case says.
func (w *world) scripted(script authmem.Script, f func(*meminfra.MemoryLayer) error) error {
	opts := w.opts
	opts.Extractor = script
	ml, err := meminfra.New(w.store, &opts)
	if err != nil {
		return fmt.Errorf("a memory for the case: %w", err)
	}
	defer ml.Close()
	return f(ml)
}
