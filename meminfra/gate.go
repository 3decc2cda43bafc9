package meminfra

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/gate"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Errors of the action gate.
var (
	// ErrNoAction: a call needs the name of an action.
	ErrNoAction = errors.New("no action")
	// ErrToken: no such token was given to this user, or it expired long ago.
	ErrToken = errors.New("unknown confirmation token")
	// ErrTokenUsed: a token lets one call pass once.
	ErrTokenUsed = errors.New("confirmation token was used")
	// ErrTokenExpired: it was not confirmed in time.
	ErrTokenExpired = errors.New("confirmation token has expired")
	// ErrTokenMismatch: the token is for another action, or other arguments.
	ErrTokenMismatch = errors.New("confirmation token is for another call")
	// ErrNothingToConfirm: what the token was given for is no longer in memory.
	ErrNothingToConfirm = errors.New("what was to be confirmed is no longer remembered")
)

const (
	// ConfirmationLifetime is how long a token can be confirmed.
	ConfirmationLifetime = 10 * time.Minute
	// confirmationKept is how long a spent token is told from an unknown one.
	confirmationKept = 24 * time.Hour
	// maxArgs bounds the arguments of one call.
	maxArgs = 64
)

// The parts of a gate's answer, as its package defines them.
type (
	GateVerdict = gate.Verdict
	GateFinding = gate.Finding
)

// The verdicts of the gate.
const (
	GateAllow             = gate.Allow
	GateNeedsConfirmation = gate.NeedsConfirmation
	GateMissing           = gate.Missing
)

// Gate is what stands between a memory and a tool: only what the user said
// authorises a call.
type Gate struct {
	m *MemoryLayer
}

// Gate returns the handle of the action gate.
func (m *MemoryLayer) Gate() Gate { return Gate{m} }

// CheckRequest is a tool call that is about to be made.
type CheckRequest struct {
	UserID string
	Action string            // the tool's name
	Args   map[string]string // values as the tool would get them, at most 64
	// NeedsIntent asks for a standing instruction for the action itself, as
	// Options.IntentActions does for all calls of an action: for what must be
	// wanted, and not only be filled in right. Calls without arguments need one
	// always. An item is an instruction for the action if its predicate is
	// "instruction" (or an alias: decision, standing_instruction, authorises), its
	// value the action's name, its subject the user, and a sentence of the user's
	// has every word of the name in order ("book the slot" for book_slot).
	NeedsIntent bool
	// UserName is the name under which the user speaks, as in AddRequest: another
	// speaker's messages authorise nothing.
	UserName string
}

// CheckResult is the gate's answer. Verdict is the strictest of its parts; only
// "allow" is a yes. With "needs_confirmation" comes a token, to be handed to the
// user and not to the model.
type CheckResult struct {
	gate.Decision
	Token     string     `json:"token,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// Check says whether memory authorises a call: "allow" if the user's own word
// gives each value, and the action where it must be wanted; "needs_confirmation"
// if only weaker items (the assistant's, a tool's) give it, or the user's messages
// do not plainly mean it (a question, a condition, what another said, what was
// denied since); "missing" if none does. Items that are superseded, ended,
// withdrawn, archived, expired, shared or came through an agent that is not the
// user's any more count for nothing, and so does anything not remembered. It never
// reads what is being said. Errors: ErrNoUser, ErrNoAction, ErrTooLong, ErrTooMany,
// ErrClosed.
func (g Gate) Check(ctx context.Context, req CheckRequest) (*CheckResult, error) {
	res, err := g.check(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	return res, nil
}

func (g Gate) check(ctx context.Context, req CheckRequest) (*CheckResult, error) {
	call, err := g.call(req.UserID, req.Action, req.Args, req.NeedsIntent)
	if err != nil {
		return nil, err
	}
	rd, err := g.m.begin(ctx, req.UserID)
	if err != nil {
		return nil, err
	}
	partition := rd.Own()
	known := gateMemory{reading: rd, user: req.UserID, name: req.UserName}
	items, err := g.m.store.ItemsByValue(ctx, partition.ID(), g.decider().Values(call))
	if err != nil {
		return nil, err
	}
	ids := known.admit(items)
	messages, err := g.m.store.Episodes(ctx, partition.ID(), ids)
	if err != nil {
		return nil, err
	}
	known.hear(messages)
	now := memory.Time(g.m.now())
	res := &CheckResult{Decision: g.decider().Decide(call, known.Memory, now)}
	if res.Verdict != gate.NeedsConfirmation {
		return res, nil
	}
	expires := now.Add(ConfirmationLifetime)
	res.ExpiresAt = &expires
	res.Token, err = g.issue(ctx, partition, req.UserID, call, now, expires)
	return res, err
}

// gateMemory is what the caller may see of what a call needs.
type gateMemory struct {
	gate.Memory
	reading    *retrieve.Reading
	user, name string
}

// admit keeps the items that he may see, and lists the messages to be read.
func (k *gateMemory) admit(items []storage.ItemRecord) []string {
	k.Items = slices.DeleteFunc(items, func(r storage.ItemRecord) bool { return !k.reading.Admits(&r.Item) })
	return gate.Quoted(k.Items)
}

// hear keeps the messages in which he himself, or the system, speaks.
func (k *gateMemory) hear(list []memory.Episode) {
	k.Messages = make(map[string]*memory.Episode, len(list))
	for i := range list {
		e := &list[i]
		if k.reading.AdmitsEpisode(e) && (e.Role == memory.RoleSystem || speaks(e, k.user, k.name) == memory.UserSubject) {
			k.Messages[e.ID] = e
		}
	}
}

func (g Gate) decider() *gate.Gate { return &gate.Gate{Registry: g.m.registry} }

// call checks a request's form.
func (g Gate) call(userID, action string, args map[string]string, intent bool) (*gate.Call, error) {
	if _, err := g.m.partitionOf(userID); err != nil {
		return nil, err
	}
	if memory.IsBlank(action) {
		return nil, ErrNoAction
	}
	if err := memory.CheckID("action", action); err != nil {
		return nil, err
	}
	if len(args) > maxArgs {
		return nil, fmt.Errorf("%d arguments, at most %d: %w", len(args), maxArgs, ErrTooMany)
	}
	for name, value := range args {
		if err := memory.CheckID("argument", name); err != nil {
			return nil, err
		}
		if len(value) > memory.MaxFieldBytes {
			return nil, fmt.Errorf("value: %d bytes, at most %d: %w", len(value), memory.MaxFieldBytes, ErrTooLong)
		}
	}
	intent = intent || slices.ContainsFunc(g.m.intentActions, func(a string) bool { return gate.SameAction(a, action) })
	return &gate.Call{Action: action, Args: args, NeedsIntent: intent}, nil
}

// issue makes a token for a call. The store keeps the hash of its secret, and one
// of the call under that secret: what was erased cannot be guessed from it.
func (g Gate) issue(ctx context.Context, p memory.Partition, userID string, call *gate.Call, now, expires time.Time) (string, error) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails: see crypto/rand.Read
	sum := sha256.Sum256(secret)
	id := g.m.newID()
	err := g.m.store.Update(ctx, p, func(tx storage.Tx) error {
		return tx.PutConfirmation(ctx, storage.Confirmation{ID: id, TokenHash: sum[:], CallHash: call.Hash(secret, userID), At: now, ExpiresAt: expires},
			now.Add(-confirmationKept))
	})
	return id + "." + base64.RawURLEncoding.EncodeToString(secret), err
}

// ConfirmRequest is the user's yes to one call, out of band: not through the
// model that wants to make it.
type ConfirmRequest struct {
	UserID string
	Action string
	Args   map[string]string
	Token  string
}

// Confirm lets one call pass once: the one that Check gave the token for, with
// the same arguments, by the same user, in time. It changes nothing that is
// remembered; the next such call needs to be confirmed again. That it was
// confirmed is a decision in the ledger, with the items it rested on. Errors:
// ErrToken, ErrTokenUsed, ErrTokenExpired, ErrTokenMismatch, ErrNothingToConfirm,
// and those of Check.
func (g Gate) Confirm(ctx context.Context, req ConfirmRequest) (*CheckResult, error) {
	call, err := g.call(req.UserID, req.Action, req.Args, false)
	if err != nil {
		return nil, fmt.Errorf("confirm: %w", err)
	}
	id, secret, err := parseToken(req.Token)
	if err != nil {
		return nil, fmt.Errorf("confirm: %w", err)
	}
	partition := g.m.userPartition(req.UserID)
	if heads, err := g.m.store.Heads(ctx, partition.ID()); err != nil || len(heads) == 0 {
		return nil, fmt.Errorf("confirm: %w", errors.Join(err, ErrToken)) // and no partition is made for it
	}
	rd, err := g.m.begin(ctx, req.UserID)
	if err != nil {
		return nil, fmt.Errorf("confirm: %w", err)
	}
	var res *CheckResult
	late := false
	err = g.m.store.Update(ctx, partition, func(tx storage.Tx) error {
		c := &confirming{g, ctx, tx, call, memory.Time(g.m.now()), gateMemory{reading: rd, user: req.UserID}}
		err := c.verify(id, secret, req.UserID)
		if late = errors.Is(err, ErrTokenExpired); late {
			return c.expire(id)
		}
		if err == nil {
			res, err = c.pass(id)
		}
		return err
	})
	if err == nil && late {
		err = ErrTokenExpired
	}
	if err != nil {
		return nil, fmt.Errorf("confirm: %w", err)
	}
	return res, nil
}

// confirming is one confirmation, within its commit.
type confirming struct {
	Gate
	ctx   context.Context
	tx    storage.Tx
	call  *gate.Call
	now   time.Time
	known gateMemory
}

// verify checks that a token is for this call, unspent and in time, and whether
// the call was checked as one that must be wanted.
func (c *confirming) verify(id string, secret []byte, userID string) error {
	asked, err := c.tx.Confirmation(c.ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return ErrToken
	}
	if err != nil {
		return err
	}
	sum := sha256.Sum256(secret)
	switch {
	case subtle.ConstantTimeCompare(sum[:], asked.TokenHash) != 1:
		return ErrToken
	case !asked.UsedAt.IsZero() && asked.UsedAt.Before(asked.ExpiresAt):
		return ErrTokenUsed
	case !asked.UsedAt.IsZero(), !c.now.Before(asked.ExpiresAt), c.now.Before(asked.At):
		return ErrTokenExpired
	}
	for _, wanted := range []bool{c.call.NeedsIntent, true} {
		if c.call.NeedsIntent = wanted; subtle.ConstantTimeCompare(c.call.Hash(secret, userID), asked.CallHash) == 1 {
			return nil
		}
	}
	return ErrTokenMismatch
}

// expire spends a token that came too late, so that a clock that goes back does
// not bring it back.
func (c *confirming) expire(id string) error {
	asked, err := c.tx.Confirmation(c.ctx, id)
	if err != nil {
		return err
	}
	at := c.now
	if at.Before(asked.ExpiresAt) {
		at = asked.ExpiresAt
	}
	_, err = c.tx.UseConfirmation(c.ctx, id, at)
	return err
}

// pass spends the token and writes the decision, if what it was given for still
// stands.
func (c *confirming) pass(id string) (*CheckResult, error) {
	items, err := c.tx.ItemsByValue(c.ctx, c.decider().Values(c.call))
	if err != nil {
		return nil, err
	}
	messages, err := c.tx.Episodes(c.ctx, c.known.admit(items))
	if err != nil {
		return nil, err
	}
	c.known.hear(messages)
	d := c.decider().Decide(c.call, c.known.Memory, c.now)
	if d.Verdict == gate.Missing {
		return nil, ErrNothingToConfirm
	}
	used, err := c.tx.UseConfirmation(c.ctx, id, c.now)
	if err != nil {
		return nil, err
	}
	if !used {
		return nil, ErrTokenUsed
	}
	w := c.m.ownerBatch(c.tx.Head())
	w.addDecision(memory.Decision{ID: c.m.newID(), Operation: "confirm", Action: memory.ActionNoop, Reason: "confirmed", Inputs: d.Items()})
	d.Verdict = gate.Allow
	return &CheckResult{Decision: d}, w.write(c.ctx, c.tx, c.m.chainAt(c.tx.Head()))
}

// parseToken splits a token into the id of its confirmation and its secret.
func parseToken(token string) (id string, secret []byte, err error) {
	id, text, ok := strings.Cut(token, ".")
	if !ok || memory.CheckID("token", id) != nil {
		return "", nil, ErrToken
	}
	secret, err = base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(secret) != 32 {
		return "", nil, ErrToken
	}
	return id, secret, nil
}
