package meminfra

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Errors of Forget.
var (
	// ErrNoSelector: nothing says what to forget; it never means everything.
	ErrNoSelector = errors.New("nothing selected to forget")
	// ErrSelectors: two selectors, which could mean either or both.
	ErrSelectors = errors.New("more than one selector of what to forget")
)

// ForgetRequest asks to erase memory of a user for good. Exactly one selector
// is wanted: Everything, ConversationID, ID or Filters.
type ForgetRequest struct {
	UserID string // required
	// Everything forgets the user: all that is remembered of and for him, what he
	// told teams and everybody, his traces, keys and grants. His ledger stays,
	// which holds no content.
	Everything bool
	// TeamID and Public select among what he told a team, or everybody, instead of
	// his own; Everything is then all of that and no more. He need not be a member
	// any more. What others told there stays, unless it rests on his words.
	TeamID         string
	Public         bool
	ConversationID string // what was said in it
	// ID is an item, which goes with all versions of its line and the messages
	// they quote, or a message.
	ID string
	// Filters select items and messages as in List, but of any time: each as by ID.
	Filters Filters
	// DryRun tells what would go and erases nothing.
	DryRun bool
}

// The selectors, as certificates name them.
const (
	byUser         = "user"
	byConversation = "conversation"
	byItem         = "item"
	byFilter       = "filter"
	byExpiry       = "expiry"
)

// selector checks that there is exactly one. Filters that only widen what is
// seen select nothing.
func (r *ForgetRequest) selector() (string, error) {
	given := ""
	wide := r.Filters
	wide.History = ""
	for _, s := range []struct {
		name string
		set  bool
	}{{byUser, r.Everything}, {byConversation, r.ConversationID != ""}, {byItem, r.ID != ""},
		{byFilter, !reflect.DeepEqual(wide, Filters{})}} {
		switch {
		case s.set && given != "":
			return "", ErrSelectors
		case s.set:
			given = s.name
		}
	}
	if given == "" {
		return "", ErrNoSelector
	}
	return given, nil
}

// The residues of a certificate.
const (
	ResidueNone    = "none"    // nothing of the rows is left in the database's files
	ResiduePending = "pending" // something may be: Doctor with Fix, Sweep or the next Forget tries again
)

// Certificate says what was erased, by ids and counts. Its canonical JSON and
// the SHA-256 of that are what to keep.
type Certificate struct {
	Partition string         `json:"partition"`
	Selector  string         `json:"selector"` // user, conversation, item, filter or expiry
	At        time.Time      `json:"at"`
	DryRun    bool           `json:"dry_run"`
	Rows      map[string]int `json:"rows"`     // erased, by table
	Items     []string       `json:"items"`    // ids erased, sorted
	Episodes  []string       `json:"episodes"` // likewise
	// Retold are new items: what an erased one said is still said elsewhere.
	Retold []string `json:"retold"`
	// Tombstones is how many rows the ledger now names as forgotten; LedgerSeq
	// and LedgerHash are the last entry that does so, 0 and "" for none.
	Tombstones int    `json:"tombstones"`
	LedgerSeq  int64  `json:"ledger_seq"`
	LedgerHash string `json:"ledger_hash"`
	// Shared are the team and public partitions that lost what he told there; the
	// counts and ids above include them.
	Shared  []SharedErasure `json:"shared"`
	Residue string          `json:"residue"` // none or pending
	// Outside says what the guarantee does not cover.
	Outside []string `json:"outside"`
}

// SharedErasure is what one shared partition lost, and the last entry of its
// ledger that says so.
type SharedErasure struct {
	Partition  string `json:"partition"`
	Scope      string `json:"scope"` // team or public
	TeamID     string `json:"team_id"`
	Tombstones int    `json:"tombstones"`
	LedgerSeq  int64  `json:"ledger_seq"`
	LedgerHash string `json:"ledger_hash"`
}

// outsideGivers is the limit of forgetting a user who granted something.
const outsideGivers = "grants that the user gave to others keep his id as that of who gave them"

// outsideEchoes is the limit of every erasure. Source: design section 8.
const outsideEchoes = "the same thing said again in another message that was not selected is kept with that message"

// Canonical is the certificate as canonical JSON (RFC 8785).
func (c *Certificate) Canonical() (string, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", err
	}
	return memory.CanonicalJSON(v)
}

// ForgetResult is a certificate and the SHA-256 of its canonical JSON, in
// hexadecimal.
type ForgetResult struct {
	Certificate
	SHA256 string `json:"sha256"`
}

// Forget erases for good what the selector names and everything that only
// stands on it: versions, messages, evidence, vectors, traces, receipts, what
// was derived from it. What is left of a touched line is settled anew from what
// is still said, and nothing that had been replaced comes back by it. A
// tombstone without content stays in the ledger. It may be repeated: a call
// that was stopped half-way is finished by the next. Each partition is erased as one. Its second half rewrites
// a SQLite file (seconds for each 100 MiB, as much disk again, and writers wait) or
// vacuums PostgreSQL's tables; the certificate says pending if something was in the
// way. Errors: ErrNoSelector,
// ErrSelectors, ErrNoUser, ErrNotFound for an unknown ID and, in shared memory,
// for one that another told, ErrTwoScopes, ErrFilter, ErrClosed and those of the store. Source: design section 8.
func (m *MemoryLayer) Forget(ctx context.Context, req ForgetRequest) (*ForgetResult, error) {
	res, err := m.forget(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("forget: %w", err)
	}
	return res, nil
}

func (m *MemoryLayer) forget(ctx context.Context, req ForgetRequest) (*ForgetResult, error) {
	id, err := m.partitionOf(req.UserID)
	if err != nil {
		return nil, err
	}
	selector, err := req.selector()
	if err != nil {
		return nil, err
	}
	c := newCertificate(id, selector, m.now(), req.DryRun)
	p := m.userPartition(req.UserID)
	switch shared := req.TeamID != "" || req.Public; {
	case shared && req.TeamID != "" && req.Public:
		err = ErrTwoScopes
	case shared:
		err = m.forgetShared(ctx, m.scopePartition(req.UserID, req.TeamID, req.Public), req, c)
	case selector == byUser:
		err = m.forgetUser(ctx, p, c)
	default:
		err = m.forgetSome(ctx, p, req, c)
	}
	if err != nil {
		return nil, err
	}
	if !req.DryRun {
		c.Residue = m.scrub(ctx)
	}
	return m.sign(c)
}

func newCertificate(partition, selector string, at time.Time, dry bool) *Certificate {
	return &Certificate{Partition: partition, Selector: selector, At: memory.Time(at), DryRun: dry, Rows: map[string]int{},
		Items: []string{}, Episodes: []string{}, Retold: []string{}, Shared: []SharedErasure{}, Residue: ResidueNone}
}

// sign completes a certificate. A dry run wrote no entry to point at.
func (m *MemoryLayer) sign(c *Certificate) (*ForgetResult, error) {
	c.Outside = append(c.Outside, outsideEchoes, m.store.Residue())
	if c.DryRun {
		c.LedgerSeq, c.LedgerHash = 0, ""
	} else {
		m.retriever.Index.Drop(c.Partition)
		for _, s := range c.Shared {
			m.retriever.Index.Drop(s.Partition)
		}
	}
	text, err := c.Canonical()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(text))
	return &ForgetResult{Certificate: *c, SHA256: hex.EncodeToString(sum[:])}, nil
}

// scrub finishes erasures; one that fails stays pending, and is logged.
func (m *MemoryLayer) scrub(ctx context.Context) string {
	pending, err := m.store.Scrub(ctx)
	if err != nil {
		m.logger.WarnContext(ctx, "forget: cleaning the database's files failed", "error", err)
	}
	if err != nil || pending > 0 {
		return ResiduePending
	}
	return ResidueNone
}

// forgetSome erases by conversation, item or filter in the user's own partition.
func (m *MemoryLayer) forgetSome(ctx context.Context, p memory.Partition, req ForgetRequest, c *Certificate) error {
	return m.forgetSelected(ctx, p, req, c, "")
}

// forgetSelected erases by conversation, item or filter, of a shared partition
// what one user told.
func (m *MemoryLayer) forgetSelected(ctx context.Context, p memory.Partition, req ForgetRequest, c *Certificate, teller string) error {
	var items, episodes []string
	switch c.Selector {
	case byConversation:
		if err := memory.CheckID("conversation id", req.ConversationID); err != nil {
			return err
		}
	case byItem:
		if err := memory.CheckID("id", req.ID); err != nil {
			return err
		}
		items, episodes = []string{req.ID}, []string{req.ID}
	case byFilter:
		f := req.Filters
		if f.History == "" {
			f.History = retrieve.HistoryAll
		}
		var err error
		if items, episodes, err = m.retriever.Matching(ctx, c.Partition, f); err != nil {
			return err
		}
	}
	// A transaction would make the partition of a user nobody has heard of.
	heads, err := m.store.Heads(ctx, c.Partition)
	if err != nil {
		return err
	}
	if len(heads) == 0 {
		if c.Selector == byItem {
			return ErrNotFound
		}
		return nil
	}
	return m.erase(ctx, p, c, func(e *erasing) error {
		e.teller = teller
		if c.Selector == byConversation {
			said, err := e.tx.Recent(ctx, req.ConversationID, 0, memory.MaxMessages*memory.MaxMessages)
			e.addSaid(said)
			return err
		}
		if err := e.addLines(items); err != nil {
			return err
		}
		found, err := e.tx.Episodes(ctx, episodes)
		e.addSaid(found)
		if err == nil && c.Selector == byItem && len(e.items)+len(e.episodes) == 0 {
			return ErrNotFound
		}
		return err
	})
}

// forgetUser erases what a user told others, his own partition, and then the
// grants that name him. In this order, because a user without any grant ever is
// open to all agents.
func (m *MemoryLayer) forgetUser(ctx context.Context, p memory.Partition, c *Certificate) error {
	if err := m.forgetTold(ctx, p.Name, c); err != nil {
		return err
	}
	heads, err := m.store.Heads(ctx, c.Partition)
	if err != nil {
		return err
	}
	if head, exists := heads[c.Partition]; exists {
		c.LedgerSeq, c.LedgerHash = head.LedgerSeq, hex.EncodeToString(head.LedgerHead)
		if err := m.eraseAll(ctx, p, c); err != nil {
			return err
		}
	}
	return m.forgetGrants(ctx, p.Name, c)
}

// eraseAll erases all of a partition. One that holds nothing keeps the
// tombstone it has.
func (m *MemoryLayer) eraseAll(ctx context.Context, p memory.Partition, c *Certificate) error {
	err := m.store.Update(ctx, p, func(tx storage.Tx) error {
		erased, err := tx.Erase(ctx, storage.Erasure{ID: m.newID(), At: c.At, All: true})
		if err != nil {
			return err
		}
		if len(erased.Rows) == 0 {
			return errNothing
		}
		c.count(erased)
		if err := m.entomb(ctx, tx, m.chainAt(tx.Head()), erased.Covered, nil, c); err != nil {
			return err
		}
		return unlessDry(c.DryRun)
	})
	return quiet(err)
}

// unlessDry ends a transaction without a commit if it is a dry run.
func unlessDry(dry bool) error {
	if dry {
		return errDryRun
	}
	return nil
}

// quiet drops the errors that only end a transaction.
func quiet(err error) error {
	if errors.Is(err, errDryRun) || errors.Is(err, errNothing) {
		return nil
	}
	return err
}

// forgetGrants erases the grants that name a user, in the tenant's directory.
func (m *MemoryLayer) forgetGrants(ctx context.Context, userID string, c *Certificate) error {
	directory := m.directory()
	var (
		ids []string
		at  []time.Time
	)
	all, err := m.store.Grants(ctx, directory.ID(), storage.GrantParams{})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(g memory.Grant) bool {
		return g.By == userID && (g.Kind != memory.GrantUserAgent || g.Left != userID) && (g.Kind != memory.GrantTeamMember || g.Right != userID)
	}) {
		c.Outside = append(c.Outside, outsideGivers)
	}
	for _, q := range []storage.GrantParams{
		{Kind: memory.GrantUserAgent, Left: userID}, {Kind: memory.GrantTeamMember, Right: userID},
	} {
		list, err := m.store.Grants(ctx, directory.ID(), q)
		if err != nil {
			return err
		}
		for _, g := range list {
			ids, at = append(ids, g.ID), append(at, g.At)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	err = m.store.Update(ctx, directory, func(tx storage.Tx) error {
		erased, err := tx.Erase(ctx, storage.Erasure{ID: m.newID(), At: c.At, Grants: ids})
		if err != nil {
			return err
		}
		c.count(erased)
		own := *c // the certificate shows the user's own chain
		if err := m.entomb(ctx, tx, m.chainAt(tx.Head()), erased.Covered, at, &own); err != nil {
			return err
		}
		c.Tombstones = own.Tombstones
		return unlessDry(c.DryRun)
	})
	return quiet(err)
}

// count adds what an erasure deleted.
func (c *Certificate) count(e storage.Erased) {
	for table, n := range e.Rows {
		c.Rows[table] += n
	}
	for _, o := range e.Covered {
		switch o.Kind {
		case "item":
			c.Items = append(c.Items, o.ID)
		case "episode":
			c.Episodes = append(c.Episodes, o.ID)
		}
	}
	slices.Sort(c.Items)
	slices.Sort(c.Episodes)
}
