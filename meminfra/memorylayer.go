package meminfra

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/bm25"
	"github.com/meminfra/memory-layer/index/hnsw"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/extract/patterns"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/hashed"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/predicates"
)

// Options configures a MemoryLayer. Every zero value is a default.
type Options struct {
	// Extractor proposes what to remember; nil is the built-in pattern
	// extractor over Predicates, which needs no model.
	Extractor extract.Extractor
	// Embedder makes vectors; nil is the built-in hashed embedder, which needs
	// no model and is weak.
	Embedder llm.Embedder
	// Generator answers questions, and manages open-world items: it proposes
	// which stored one a new statement repeats, replaces or ends. nil quotes what
	// was found, and tells only repetitions. JudgeAnswers has it judge each answer
	// as well, and search further while it is not enough; SkipManager leaves the
	// managing out.
	Generator    llm.Generator
	JudgeAnswers bool
	SkipManager  bool
	// ModelIntent has the Generator say what stored fact a query is about, in
	// place of the rules, which remain for when it fails, answers outside the
	// vocabulary, or takes longer than IntentTimeout (0 is 5 seconds). It costs
	// every search a call.
	ModelIntent   bool
	IntentTimeout time.Duration
	// TokensPerDay and CallsPerDay bound what models are used for one user on one
	// day (UTC), by all processes on the store; 0 is no bound. Over it an Add
	// keeps its messages waiting (an *ExtractionError that wraps a
	// *llm.BudgetError), Search goes by words and Answer quotes. Calls under way
	// at the same moment may overshoot it by what they use.
	TokensPerDay int64
	CallsPerDay  int64
	// Predicates is the controlled vocabulary; nil is the shipped one.
	Predicates *predicates.Registry
	// IntentActions names the actions, in any spelling (sweepWeekly is sweep_weekly),
	// that need a standing instruction whatever their arguments: see
	// CheckRequest.NeedsIntent.
	IntentActions []string
	// Tenant separates installations in one database; "" is "default".
	Tenant string
	// IndexBudget bounds the bytes held by derived indexes, approximately;
	// 0 is 512 MiB.
	IndexBudget int64
	// Logger receives warnings, with ids and lengths only; nil is silent.
	Logger *slog.Logger
	// LedgerKey makes the ledger's hashes HMACs, so that whoever can write to
	// the database but has no key cannot forge a chain; the zero key is plain
	// SHA-256. It may change at any time: entries name the key they were made
	// with. OldLedgerKeys are earlier ones, which verifying needs. With one, a
	// chain that has no entry made with a key, and an entry made without after
	// one with, does not verify: a key that is set for memory written without
	// needs one Ledger().Seal.
	LedgerKey     ledger.Key
	OldLedgerKeys []ledger.Key
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// NewID makes ids, unique, sortable by time and without a slash, with which
	// the ledger joins ids; nil makes UUIDv7.
	NewID func() string
}

// MemoryLayer is the facade: it adds, searches and shows what is remembered.
// It is safe for concurrent use, and several of them, in several processes, may
// share one database. It runs no goroutine but one for each index that a call
// found in need of a rebuild; Close waits for those.
type MemoryLayer struct {
	store         storage.Store
	extractor     extract.Extractor
	embedder      llm.Embedder
	generator     llm.Generator // nil for none
	judge         bool
	skipManager   bool
	intents       *retrieve.IntentModel // nil for rules
	registry      *predicates.Registry
	intentActions []string
	tenant        string
	ledgerKey     ledger.Key
	keys          ledger.Keys // all that verifying may need
	logger        *slog.Logger
	now           func() time.Time
	newID         func() string
	retriever     *retrieve.Retriever
	plain         func() (*patterns.Extractor, error) // the built-in extractor
	closed        atomic.Bool
}

// New returns a memory layer over an open store, which stays the caller's to
// close. opts may be nil. It reads nothing yet. Errors: a nil store, an
// embedder that does not say its model or dimensions, and those of the built-in
// extractor for a Predicates registry it cannot compile.
func New(store storage.Store, opts *Options) (*MemoryLayer, error) {
	if store == nil {
		return nil, errors.New("meminfra.New: no store")
	}
	m := &MemoryLayer{store: store}
	if opts == nil {
		opts = &Options{}
	}
	if err := m.configure(*opts); err != nil {
		return nil, err
	}
	load := retrieve.Load(store, m.embedder.Model(), m.embedder.Dim(), m.isPrivate)
	vectors := retrieve.Vectors(store, m.embedder.Model())
	m.retriever = &retrieve.Retriever{
		Store:    store,
		Index:    index.New(load, engines(), &index.Options{Budget: opts.IndexBudget, Vectors: vectors}),
		Embedder: m.embedder,
		Registry: m.registry,
		Now:      m.now,
		NewID:    m.newID,
		Logger:   m.logger,
		Tenant:   m.tenant,

		IsPrivate: m.isPrivate,
	}
	return m, nil
}

func (m *MemoryLayer) configure(o Options) (err error) {
	m.extractor, m.embedder, m.registry = o.Extractor, o.Embedder, o.Predicates
	m.generator, m.judge = o.Generator, o.JudgeAnswers
	m.skipManager = o.SkipManager
	m.intentActions = slices.Clone(o.IntentActions)
	m.tenant, m.logger, m.now, m.newID = o.Tenant, o.Logger, o.Now, o.NewID
	m.ledgerKey = o.LedgerKey
	if m.keys, err = ledger.NewKeys(append([]ledger.Key{o.LedgerKey}, o.OldLedgerKeys...)...); err != nil {
		return err
	}
	if m.registry == nil {
		m.registry = predicates.Default()
	}
	m.plain = sync.OnceValues(func() (*patterns.Extractor, error) { return patterns.New(m.registry) })
	if m.extractor == nil {
		if m.extractor, err = m.plain(); err != nil {
			return err
		}
	}
	if m.embedder == nil {
		m.embedder = hashed.New()
	}
	if m.embedder.Model() == "" || m.embedder.Dim() < 1 {
		return errors.New("meminfra.New: an embedder without the name of its model or the length of its vectors")
	}
	if m.tenant == "" {
		m.tenant = memory.DefaultTenant
	}
	if m.logger == nil {
		m.logger = slog.New(slog.DiscardHandler)
	}
	if m.now == nil {
		m.now = time.Now
	}
	if m.newID == nil {
		m.newID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	m.meter(&o)
	m.intents = m.newIntentModel(&o)
	return nil
}

func engines() index.Engines {
	return index.Engines{
		Words:   func(rows int) index.WordEngine { return bm25.New(nil, rows) },
		Vectors: func(dim, rows int) index.VectorEngine { return hnsw.New(dim, rows, nil) },
	}
}

// Close waits for an index that is being rebuilt; calls after it fail with
// ErrClosed. The store stays open, so close the layer before it.
func (m *MemoryLayer) Close() error {
	m.closed.Store(true)
	m.retriever.Index.Close()
	return nil
}

// userPartition is where a user's memory lives.
func (m *MemoryLayer) userPartition(userID string) memory.Partition {
	return memory.Partition{Tenant: m.tenant, Kind: memory.PartitionUser, Name: userID}
}

// begin checks that the layer is open and the user named, and opens a read for
// him: his rights at this moment, which bind every read.
func (m *MemoryLayer) begin(ctx context.Context, userID string) (*retrieve.Reading, error) {
	if _, err := m.partitionOf(userID); err != nil {
		return nil, err
	}
	return m.retriever.Begin(ctx, userID)
}

// partitionOf checks that the layer is open and the user named.
func (m *MemoryLayer) partitionOf(userID string) (string, error) {
	if m.closed.Load() {
		return "", ErrClosed
	}
	if memory.IsBlank(userID) {
		return "", ErrNoUser
	}
	if err := memory.CheckID("user id", userID); err != nil {
		return "", err
	}
	return m.userPartition(userID).ID(), nil
}
