package meminfra_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// operation is what is to be broken at each of its writes.
type operation struct {
	name    string
	prepare func(*operationBench) error
	run     func(*operationBench, *meminfra.MemoryLayer) error
	options func(*operationBench) func(*meminfra.Options) // of the layers that run it
	again   func(*meminfra.Options)                       // of the one that repeats it
	// leaves are the topics that a doctor may name after a fault: unfinished
	// work, which repeating it finishes.
	leaves []storage.Topic
	bare   bool // begins with nothing remembered
}

// operationBench is one run of an operation, in a tenant of its own.
type operationBench struct {
	*testing.T
	operation
	store  storage.Store
	tenant string
	whole  *meminfra.MemoryLayer // on a store that does not break

	id, trace, token string // as prepared
	export           []byte
	model            *memtest.Generator
}

func (b *operationBench) layer(store storage.Store, edit ...func(*meminfra.Options)) *meminfra.MemoryLayer {
	all := []func(*meminfra.Options){randomIDs, frozen, func(o *meminfra.Options) {
		o.Tenant, o.Extractor, o.OldLedgerKeys = b.tenant, builtIn(b), []ledger.Key{sealKey}
	}}
	if b.options != nil {
		all = append(all, b.options(b))
	}
	return newLayer(b, store, append(all, edit...)...)
}

// sealKey is what seal goes on with; all verify with it.
var sealKey = ledger.NewKey([]byte("secret"))

// location is the item that says where ada lives.
func (b *operationBench) location(history retrieve.History) string {
	return mustList(b, b.whole, "ada", meminfra.Filters{Predicate: "location", History: history})[0].ID
}

// outcome is the error that a verb ended with.
func outcome[R any](_ R, err error) error { return err }

func (b *operationBench) begin(store storage.Store, tenant string) {
	b.store, b.tenant, b.model = store, tenant, memtest.NewGenerator()
	options := b.options
	b.options = nil
	b.whole = b.layer(store)
	if !b.bare {
		mustAdd(b, b.whole, addTo("ada", "c", said("m1", "I live in Lisbon.", 1), said("m2", "I use PostgreSQL.", 2)))
		mustAdd(b, b.whole, addTo("ada", "d", said("m1", "I live in Lisbon.", 5)))
	}
	if b.prepare != nil {
		if err := b.prepare(b); err != nil {
			b.Fatal(err)
		}
	}
	b.options = options
}

// findings are the topics that a doctor names.
func (b *operationBench) findings(fix bool) (topics []storage.Topic) {
	b.Helper()
	res, err := b.whole.Doctor(b.Context(), meminfra.DoctorRequest{Fix: fix})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range res.Checks {
		if c.OK {
			continue
		}
		topics = append(topics, storage.Topic(c.Name))
		if c.Remedy == "" || c.Name == "ledger" || c.Name == string(storage.TopicOrphans) {
			b.Fatalf("halves: %+v", c)
		}
	}
	return topics
}

// end says what is remembered, in kinds and words, once it is verified.
func (b *operationBench) end() string {
	b.Helper()
	var file, out bytes.Buffer
	_, err := b.whole.Ledger().Export(b.Context(), meminfra.ExportRequest{UserID: "ada", To: &file})
	if err != nil && !errors.Is(err, meminfra.ErrNotFound) {
		b.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(file.String()) {
		kind, _, _ := strings.Cut(line, ":")
		kinds[kind]++
	}
	fmt.Fprintln(&out, kinds)
	var list []string
	for _, r := range mustList(b, b.whole, "ada", meminfra.Filters{History: "all"}) {
		list = append(list, fmt.Sprint(r.Kind, " ", r.Text, " ", r.Status, " ", r.Authority))
	}
	slices.Sort(list)
	fmt.Fprintln(&out, strings.Join(list, "\n"))
	grants, err := b.whole.Grants().List(b.Context(), meminfra.ListGrantsRequest{History: true})
	if err != nil {
		b.Fatal(err)
	}
	for _, g := range grants.Grants {
		fmt.Fprintln(&out, g.Kind, g.Granted)
	}
	return out.String()
}

// tidy does what the doctor says about what is left; then nothing is.
func (b *operationBench) tidy() {
	b.Helper()
	if err := outcome(b.whole.Curate().Reembed(b.Context(), meminfra.ReembedRequest{UserID: "ada"})); err != nil {
		b.Fatal(err)
	}
	left := slices.DeleteFunc(b.findings(true), func(topic storage.Topic) bool {
		// Another session of a shared server may hold back its vacuum.
		return topic == storage.TopicErasures && !strings.HasPrefix(b.store.Describe(), "sqlite")
	})
	if len(left) > 0 {
		b.Errorf("at the end: %v", left)
	}
}

// broken breaks the n-th write, if there is one, and returns whether there was.
func (b *operationBench) broken(n int, undisturbed string) bool {
	b.Helper()
	store := memtest.NewFailingStore(b.store, n, nil)
	err := b.run(b, b.layer(store))
	if !store.Failed() {
		b.tidy()
		return false
	}
	if err != nil && !errors.Is(err, memtest.ErrBroken) {
		b.Errorf("write %d: error %v", n, err)
	}
	for _, topic := range b.findings(false) {
		if !slices.Contains(b.leaves, topic) {
			b.Errorf("write %d left %s", n, topic)
		}
	}
	if err != nil { // a fault that is no error has cost nothing that is remembered
		again := func(*meminfra.Options) {}
		if b.again != nil {
			again = b.again
		}
		if err := b.run(b, b.layer(b.store, again)); err != nil {
			b.Errorf("write %d: again: %v", n, err)
		}
	}
	if got := b.end(); got != undisturbed {
		b.Errorf("write %d: completed to\n%s\nwant\n%s", n, got, undisturbed)
	}
	b.tidy()
	return true
}

// Whichever write of an operation breaks, nothing half-written is left: the
// ledger verifies, no row hangs in the air, a doctor names unfinished work at
// most, and the same call then completes to what an undisturbed run leaves.
func TestEveryWriteOfOperationsBreaks(t *testing.T) {
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			onStores(t, func(t *testing.T, store storage.Store) { breakEveryWrite(t, store, op) })
		})
	}
}

func breakEveryWrite(t *testing.T, store storage.Store, op operation) {
	b := &operationBench{T: t, operation: op}
	b.begin(store, op.name)
	if err := b.run(b, b.layer(store)); err != nil {
		t.Fatal(err)
	}
	undisturbed, n := b.end(), 1
	b.tidy()
	for ; ; n++ {
		b := &operationBench{T: t, operation: op}
		b.begin(store, fmt.Sprint(op.name, n))
		if !b.broken(n, undisturbed) {
			break
		}
	}
	if n == 1 {
		t.Error("it writes nothing")
	}
}

func operations() []operation {
	return slices.Concat(ownersOperations(), erasingOperations(), waitingOperations(), accessOperations(), modelOperations())
}

func ownersOperations() []operation {
	locate := func(b *operationBench) error { b.id = b.location(""); return nil }
	late := []storage.Topic{storage.TopicVectors} // made after the commit
	return []operation{
		{name: "edit", prepare: locate, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Curate().Edit(b.Context(), meminfra.EditRequest{UserID: "ada", ID: b.id, Text: "I live in Porto."}))
		}, leaves: late},
		{name: "retract", prepare: locate, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Curate().Retract(b.Context(), meminfra.RetractRequest{UserID: "ada", ID: b.id}))
		}},
		{name: "restore", prepare: func(b *operationBench) error {
			b.id = b.location("")
			return outcome(b.whole.Curate().Retract(b.Context(), meminfra.RetractRequest{UserID: "ada", ID: b.id}))
		}, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Curate().Restore(b.Context(), meminfra.RestoreRequest{UserID: "ada", ID: b.id}))
		}},
		{name: "derive", prepare: locate, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Curate().Derive(b.Context(), meminfra.DeriveRequest{UserID: "ada", From: []string{b.id}, Text: "Lives in the south."}))
		}, leaves: late},
		{name: "import", bare: true, prepare: func(b *operationBench) error {
			var file bytes.Buffer
			tenant := b.tenant
			b.tenant = "exported " + tenant
			source := b.layer(b.store)
			b.tenant = tenant
			mustAdd(b, source, addTo("ada", "c", told("I live in Lisbon.", "I use PostgreSQL.", "I switched to SQLite.")...))
			err := outcome(source.Ledger().Export(b.Context(), meminfra.ExportRequest{UserID: "ada", To: &file}))
			b.export = file.Bytes()
			return err
		}, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Ledger().Import(b.Context(), meminfra.ImportRequest{From: bytes.NewReader(b.export)}))
		}},
	}
}

func erasingOperations() []operation {
	forget := func(req meminfra.ForgetRequest) func(*operationBench, *meminfra.MemoryLayer) error {
		return func(b *operationBench, ml *meminfra.MemoryLayer) error {
			req := req // the stores run side by side
			if req.UserID = "ada"; req.Filters.Predicate == "" && !req.Everything && req.ConversationID == "" {
				req.ID = b.id
			}
			err := outcome(ml.Forget(b.Context(), req))
			if errors.Is(err, meminfra.ErrNotFound) {
				return nil // it was forgotten before
			}
			return err
		}
	}
	// A fault while the files are cleaned is no error: the certificate says pending.
	pending := []storage.Topic{storage.TopicErasures, storage.TopicVectors}
	return []operation{
		{name: "forget a conversation", run: forget(meminfra.ForgetRequest{ConversationID: "c"}), leaves: pending},
		{name: "forget by filter", run: forget(meminfra.ForgetRequest{Filters: meminfra.Filters{Predicate: "location"}}), leaves: pending},
		{name: "forget an item", prepare: func(b *operationBench) error { b.id = b.location(""); return nil },
			run: forget(meminfra.ForgetRequest{}), leaves: pending},
		{name: "forget the user", prepare: func(b *operationBench) error {
			mustSearch(b, b.whole, meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"})
			return outcome(b.whole.Grants().Grant(b.Context(), meminfra.GrantRequest{UserID: "ada", AgentID: "bot"}))
		}, run: forget(meminfra.ForgetRequest{Everything: true}), leaves: pending},
		{name: "sweep", prepare: func(b *operationBench) error {
			brief := said("m3", "I speak Dutch.", 3)
			brief.ExpiresAt = monday
			return outcome(b.whole.Add(b.Context(), addTo("ada", "c", brief)))
		}, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Sweep(b.Context(), meminfra.SweepRequest{}))
		}, leaves: append(pending, storage.TopicExpired)},
		{name: "doctor --fix", prepare: func(b *operationBench) error {
			return b.store.Update(b.Context(), memory.Partition{Tenant: b.tenant, Kind: memory.PartitionUser, Name: "ada"}, func(tx storage.Tx) error {
				return outcome(tx.Erase(b.Context(), storage.Erasure{ID: "pending " + b.tenant, At: monday}))
			})
		}, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Doctor(b.Context(), meminfra.DoctorRequest{Fix: true}))
		}, leaves: pending},
	}
}

func waitingOperations() []operation {
	reprocess := func(upgrade bool) func(*operationBench, *meminfra.MemoryLayer) error {
		return func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Curate().Reprocess(b.Context(), meminfra.ReprocessRequest{UserID: "ada", Upgrade: upgrade}))
		}
	}
	waiting := []storage.Topic{storage.TopicExtractions, storage.TopicVectors}
	return []operation{
		{name: "reprocess", prepare: func(b *operationBench) error {
			for n, text := range []string{"I speak Dutch.", "I speak French."} {
				ml := b.layer(b.store, func(o *meminfra.Options) { o.Extractor = hooked{builtIn(b), failing} })
				err := outcome(ml.Add(b.Context(), addTo("ada", fmt.Sprint("w", n), said("w", text, 7+n))))
				if !errors.Is(err, errExtractor) {
					return err
				}
			}
			return nil
		}, run: reprocess(false), leaves: waiting, again: anHourLater},
		{name: "reprocess, upgrade", run: reprocess(true), leaves: waiting, again: anHourLater,
			options: func(*operationBench) func(*meminfra.Options) {
				return func(o *meminfra.Options) { o.Extractor = verbatim{} }
			}},
		{name: "seal", options: func(*operationBench) func(*meminfra.Options) {
			return func(o *meminfra.Options) { o.LedgerKey = sealKey }
		}, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			res, err := ml.Ledger().Seal(b.Context())
			if err == nil && (res.Sealed == 0 || res.Sealed > res.Partitions) {
				b.Errorf("sealed %+v", res)
			}
			return err
		}},
		{name: "reembed", options: func(*operationBench) func(*meminfra.Options) { return withEmbedder(bagOfWords{"other", 8}) },
			run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
				req := meminfra.ReembedRequest{UserID: "ada"}
				res, err := ml.Curate().Reembed(b.Context(), req)
				if err == nil {
					if res.Embedded != res.Texts {
						b.Errorf("reembedded %+v", res)
					}
					if res, err = ml.Curate().Reembed(b.Context(), req); err == nil && res.Texts > 0 {
						b.Errorf("left over: %+v", res)
					}
				}
				return err
			}},
	}
}

func accessOperations() []operation {
	score := extract.Candidate{Text: "The credit score is 780.", Predicate: "credit_score", Value: "780"}
	toldByTool := func(b *operationBench) error {
		ml := b.layer(b.store, script(byScript{"t": {score}}))
		return outcome(ml.Add(b.Context(), addTo("ada", "c", by(memory.RoleTool, "t", "bureau", "Credit score: 780 points, fair."))))
	}
	call := checkOf("ada", "apply", map[string]string{"score": "780"})
	return []operation{
		{name: "grant", run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Grants().Grant(b.Context(), meminfra.GrantRequest{UserID: "ada", AgentID: "bot"}))
		}},
		{name: "revoke", prepare: func(b *operationBench) error {
			return outcome(b.whole.Grants().Grant(b.Context(), meminfra.GrantRequest{UserID: "ada", TeamID: "bees"}))
		}, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Grants().Revoke(b.Context(), meminfra.RevokeRequest{UserID: "ada", TeamID: "bees"}))
		}},
		{name: "feedback", prepare: func(b *operationBench) error {
			b.trace = mustSearch(b, b.whole, meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"}).TraceID
			return nil
		}, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Feedback(b.Context(), meminfra.FeedbackRequest{UserID: "ada", TraceID: b.trace, Reward: 1}))
		}},
		{name: "check", prepare: toldByTool, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Gate().Check(b.Context(), call))
		}},
		{name: "confirm", prepare: func(b *operationBench) error {
			if err := toldByTool(b); err != nil {
				return err
			}
			b.token = mustCheck(b.T, b.whole, call).Token
			return nil
		}, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			return outcome(ml.Gate().Confirm(b.Context(), meminfra.ConfirmRequest{UserID: "ada", Action: call.Action, Args: call.Args, Token: b.token}))
		}},
	}
}

// Traces and records of usage are written besides: without them the call is
// whole.
func modelOperations() []operation {
	withModel := func(b *operationBench) func(*meminfra.Options) { return asking(b.T, b.model, llm.Embedder(nil)) }
	return []operation{
		{name: "answer", run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			res, err := ml.Answer(b.Context(), meminfra.AnswerRequest{UserID: "ada", Query: "Where do I live?"})
			if err == nil && (len(res.Citations) == 0 || (res.TraceID == "") != (len(res.Degraded) > 0)) {
				b.Errorf("answer %+v", res)
			}
			return err
		}},
		{name: "answer by a model", options: withModel, run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
			b.model.Then(`{"rely_on":["M1"]}`, `{"answer":"In Lisbon.","citations":["M1"]}`)
			res, err := ml.Answer(b.Context(), meminfra.AnswerRequest{UserID: "ada", Query: "Where do I live?"})
			if err == nil && len(res.Citations) == 0 {
				b.Errorf("answer %+v", res)
			}
			return err
		}},
		{name: "add by a model", options: withModel, leaves: []storage.Topic{storage.TopicExtractions, storage.TopicVectors}, again: anHourLater,
			run: func(b *operationBench, ml *meminfra.MemoryLayer) error {
				b.model.Then(bees, bees)
				return outcome(ml.Add(b.Context(), addTo("ada", "bees", said("m1", "I keep bees.", 9))))
			}},
	}
}
