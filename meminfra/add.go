package meminfra

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Add stores the messages and remembers what they say. The messages are
// committed first, so that nothing said is ever lost; what they say is then
// extracted, checked, decided and committed in one transaction.
//
// It is idempotent for messages with an id: one that is known is not added or
// extracted again, and a call that failed in between is completed by the next
// Add on the conversation. With DryRun everything is decided as it would be
// and nothing is written; ids in the result are then good for nothing.
//
// Errors: ErrNoUser, ErrNoMessages, ErrTooMany, ErrBlankMessage, ErrTooLong,
// ErrMessageConflict, ErrKeyReused, memory.ErrMalformedID and ErrClosed, which
// leave nothing written. An *ExtractionError comes with a non-nil result: the
// messages are stored and wait. An error of the store leaves all or nothing of
// the messages; the same call with message ids or a key completes it either
// way. Source: design section 5.
func (m *MemoryLayer) Add(ctx context.Context, req AddRequest) (*AddResult, error) {
	if m.closed.Load() {
		return nil, fmt.Errorf("add: %w", ErrClosed)
	}
	episodes, err := m.prepare(req)
	if err != nil {
		return nil, fmt.Errorf("add: %w", err)
	}
	a := m.newAddition(req)
	a.given = episodes
	ctx, tally := tallied(ctx, "add", a.partition.ID())
	err = a.run(ctx)
	a.result.Usage = tally.Lines()
	if err != nil {
		var failed *ExtractionError
		if errors.As(err, &failed) {
			return a.result, fmt.Errorf("add: %w", err)
		}
		return nil, fmt.Errorf("add: %w", err)
	}
	return a.result, nil
}

func (m *MemoryLayer) newAddition(req AddRequest) *addition {
	return &addition{MemoryLayer: m, req: req, partition: m.scopePartition(req.UserID, req.TeamID, req.Public),
		sources: map[string]*extract.Source{}, result: &AddResult{Actions: []ActionTaken{}, Rejections: []Rejection{}, Degraded: []string{}}}
}

// addition is one Add under way, or one batch of a Reprocess.
type addition struct {
	*MemoryLayer
	req       AddRequest
	partition memory.Partition
	reading   *retrieve.Reading // what the caller may read, as of the last open
	given     []memory.Episode  // as prepared, then with what storing gave them
	target    []memory.Episode  // to be extracted: new ones and those left over
	body      []byte            // SHA-256 of the request
	chain     *ledger.Chain     // of the commit under way
	// unembedded are new items whose text the extractor did not propose.
	unembedded []memory.Item
	takeOver   bool                       // what another call has begun counts as waiting
	upgrade    bool                       // what another extractor has done counts as waiting
	tried      map[string]int             // by episode left over: how often it could not be read
	skip       []string                   // episodes that this Reprocess could not read
	context    []memory.Episode           // of the conversation, before the target
	sources    map[string]*extract.Source // by episode: where quotes are looked up
	back       *comingBack                // what comes back of what was handed out
	result     *AddResult
}

// These end a transaction without a commit and are no failures.
var (
	errReplayed = errors.New("replayed")
	errDryRun   = errors.New("dry run")
	errNothing  = errors.New("nothing to write")
)

func (a *addition) run(ctx context.Context) error {
	a.body = requestDigest(a.req, a.given)
	if err := a.open(ctx); err != nil {
		return err
	}
	if a.req.DryRun {
		return a.dryRun(ctx)
	}
	err := a.update(ctx, a.storeEpisodes)
	if errors.Is(err, errReplayed) {
		return nil
	}
	if err != nil && !errors.Is(err, errNothing) {
		return err
	}
	if len(a.target) == 0 {
		return a.finish(ctx)
	}
	return a.work(ctx)
}

// open reads what the caller may read now, and that he may write where he means
// to. Errors: ErrNotMember.
func (a *addition) open(ctx context.Context) (err error) {
	if a.reading, err = a.retriever.Begin(ctx, a.req.UserID); err != nil {
		return err
	}
	a.partition, err = a.scope(a.reading, a.req.TeamID, a.req.Public)
	return err
}

// work extracts the target messages and commits what they say.
func (a *addition) work(ctx context.Context) error {
	found, err := a.propose(ctx)
	if err != nil {
		return err
	}
	if a.req.TeamID != "" { // a model may have taken its time
		if err := a.open(ctx); err != nil {
			return err
		}
	}
	err = a.settle(ctx, found, func(found proposal) error {
		return a.update(ctx, func(ctx context.Context, tx storage.Tx) error { return a.commit(ctx, tx, found) })
	})
	if errors.Is(err, errReplayed) {
		return nil
	}
	if err != nil {
		return err
	}
	if found.vectors != nil && !a.embedItems(ctx, a.partition, a.unembedded) {
		a.result.Degraded = append(a.result.Degraded, "stored without all vectors: the embedder or the store failed")
	}
	return a.unreadError(found.Unread)
}

// update runs fn in a commit on the partition, with the ledger chain at its head.
func (a *addition) update(ctx context.Context, fn func(context.Context, storage.Tx) error) error {
	return a.store.Update(ctx, a.partition, func(tx storage.Tx) error {
		a.chain = a.chainAt(tx.Head())
		return fn(ctx, tx)
	})
}

// dryRun does the same in one transaction that is rolled back. Extraction runs
// outside of it, on episodes that are not there yet.
func (a *addition) dryRun(ctx context.Context) error {
	roll := func(fn func(context.Context, storage.Tx) error) error {
		err := a.update(ctx, func(ctx context.Context, tx storage.Tx) error {
			if err := fn(ctx, tx); err != nil {
				return err
			}
			return errDryRun
		})
		if errors.Is(err, errDryRun) || errors.Is(err, errReplayed) || errors.Is(err, errNothing) {
			return nil
		}
		return err
	}
	before := append([]memory.Episode(nil), a.given...)
	if err := roll(a.storeEpisodes); err != nil || len(a.target) == 0 {
		return err
	}
	found, err := a.propose(ctx)
	if err != nil {
		return err
	}
	err = a.settle(ctx, found, func(found proposal) error {
		return roll(func(ctx context.Context, tx storage.Tx) error {
			a.given, a.target = slices.Clone(before), nil
			if err := a.storeEpisodes(ctx, tx); err != nil {
				return err
			}
			return a.commit(ctx, tx, found)
		})
	})
	if err != nil {
		return err
	}
	return a.unreadError(found.Unread)
}

// leaseTime is how long an Add has its episodes to itself before another may
// take over their extraction.
const leaseTime = 10 * time.Minute

// storeEpisodes is the first commit: the messages that are new, in order.
func (a *addition) storeEpisodes(ctx context.Context, tx storage.Tx) error {
	if err := a.replay(ctx, tx); err != nil {
		return err
	}
	fresh, known, err := a.split(ctx, tx)
	if err != nil {
		return err
	}
	left, err := a.leftOver(ctx, tx, known)
	if err != nil {
		return err
	}
	if len(fresh) == 0 && len(left) == 0 {
		return errNothing
	}
	if err := a.insertEpisodes(ctx, tx, fresh); err != nil {
		return err
	}
	a.target = append(left, fresh...)
	return a.lease(ctx, tx, left)
}

// contextSize is how many messages before the target an extractor is given.
const contextSize = 20

// lease marks the target episodes as taken by this call, and reads what was
// said before them. How often the ones left over were tried stays on record.
func (a *addition) lease(ctx context.Context, tx storage.Tx, left []memory.Episode) (err error) {
	a.context, err = tx.Recent(ctx, a.target[0].ConversationID, a.target[0].Seq, contextSize)
	if err != nil {
		return err
	}
	a.context = slices.DeleteFunc(a.context, func(e memory.Episode) bool {
		return memory.Expired(e.ExpiresAt, a.now()) || !a.reading.AdmitsEpisode(&e)
	})
	a.tried = make(map[string]int, len(left))
	attempts := make(map[string]int, len(left))
	if len(left) > 0 {
		before, err := tx.Extractions(ctx, a.extractor.ID(), episodeIDs(left))
		if err != nil {
			return err
		}
		for _, x := range before {
			attempts[x.EpisodeID], a.tried[x.EpisodeID] = x.Attempts, x.Unread
		}
	}
	now := memory.Time(a.now())
	rows := make([]memory.Extraction, len(a.target))
	for i, e := range a.target {
		rows[i] = memory.Extraction{Partition: e.Partition, EpisodeID: e.ID, Extractor: a.extractor.ID(), Attempts: attempts[e.ID],
			Unread: a.tried[e.ID], Status: memory.ExtractionPending, LeaseUntil: now.Add(leaseTime), UpdatedAt: now}
	}
	return tx.PutExtractions(ctx, rows)
}

// leftOver returns the episodes of the conversation that still wait for this
// extractor, in order: those that nobody is working on, and those of this very
// call, which its caller has reason to repeat. Two calls may then extract the
// same message; the second one to commit finds it done. What could not be read in
// maxUnread attempts is left to Reprocess; what another member said, and what is
// hidden from the caller, waits for who may work on it.
func (a *addition) leftOver(ctx context.Context, tx storage.Tx, known []memory.Episode) ([]memory.Episode, error) {
	left, err := tx.Unextracted(ctx, storage.UnextractedParams{Conversation: a.req.ConversationID,
		Extractor: a.extractor.ID(), Now: a.now(), MaxUnread: maxUnread})
	left = slices.DeleteFunc(left, func(e memory.Episode) bool { return !a.mine(&e) })
	if err != nil || len(known) == 0 {
		return left, err
	}
	ids := episodeIDs(known)
	rows, err := tx.Extractions(ctx, a.extractor.ID(), ids)
	if err != nil {
		return nil, err
	}
	settled, abandoned := map[string]bool{}, 0
	for _, x := range rows {
		settled[x.EpisodeID] = x.Status == memory.ExtractionDone || x.Status == memory.ExtractionEmpty
		if !settled[x.EpisodeID] && x.Unread >= maxUnread {
			settled[x.EpisodeID] = true
			abandoned++
		}
	}
	a.noteAbandoned(abandoned)
	for _, e := range left {
		settled[e.ID] = true // is in the list already
	}
	for _, e := range known {
		if !settled[e.ID] {
			left = append(left, e)
		}
	}
	slices.SortFunc(left, func(x, y memory.Episode) int { return cmp.Compare(x.Seq, y.Seq) })
	return left, nil
}

// mine reports an episode that the caller added and may read.
func (a *addition) mine(e *memory.Episode) bool {
	return e.UserID == a.req.UserID && a.reading.AdmitsEpisode(e)
}

func episodeIDs(list []memory.Episode) []string {
	ids := make([]string, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	return ids
}

// split tells new messages from known ones. A known message keeps its first
// episode; other content under its id is a conflict.
func (a *addition) split(ctx context.Context, tx storage.Tx) (fresh, known []memory.Episode, err error) {
	ids := make([]string, len(a.given))
	for i, e := range a.given {
		ids[i] = e.MessageID
	}
	known, err = tx.EpisodesByMessage(ctx, a.req.ConversationID, ids)
	if err != nil {
		return nil, nil, err
	}
	byMessage := make(map[string]memory.Episode, len(known))
	for _, e := range known {
		byMessage[e.MessageID] = e
	}
	spans, err := a.nearbySessions(ctx, tx)
	if err != nil {
		return nil, nil, err
	}
	grouping := sessions(spans)
	a.result.Episodes = make([]StoredEpisode, len(a.given))
	seq := tx.NextSeq(len(a.given) - len(known))
	for i := range a.given {
		e := &a.given[i]
		old, isKnown := byMessage[e.MessageID]
		if isKnown {
			if old.Hash != e.Hash || old.Role != e.Role || old.UserID != e.UserID {
				return nil, nil, fmt.Errorf("message %d: %w", i+1, a.reused(i))
			}
			*e = old
		} else {
			grouping.assign(e)
			e.Seq, e.Change = seq, tx.Head().Change
			seq++
			fresh = append(fresh, *e)
		}
		a.result.Episodes[i] = StoredEpisode{ID: e.ID, MessageID: e.MessageID, Known: isKnown}
	}
	return fresh, known, nil
}

// reused says what identified the i-th message before and now has other content.
func (a *addition) reused(i int) error {
	if a.req.Messages[i].ID == "" {
		return ErrKeyReused // its id was made from the key
	}
	return ErrMessageConflict
}

// nearbySessions reads the sessions that messages without one may belong to.
func (a *addition) nearbySessions(ctx context.Context, tx storage.Tx) ([]storage.SessionSpan, error) {
	if a.req.SessionID != "" {
		return nil, nil
	}
	from, to := a.given[0].SentAt, a.given[0].SentAt
	for i := range a.given {
		if t := a.given[i].SentAt; t.Before(from) {
			from = t
		} else if t.After(to) {
			to = t
		}
	}
	return tx.Sessions(ctx, a.req.ConversationID, from.Add(-sessionGap), to.Add(sessionGap))
}

func (a *addition) insertEpisodes(ctx context.Context, tx storage.Tx, fresh []memory.Episode) error {
	if len(fresh) == 0 {
		return nil
	}
	now := memory.Time(a.now())
	for i := range fresh {
		fresh[i].RecordedAt = now // known from this commit on, however long it waited
	}
	err := tx.PutConversation(ctx, storage.Conversation{Partition: a.partition.ID(), ID: a.req.ConversationID,
		CreatedAt: now, UpdatedAt: now})
	if err != nil {
		return err
	}
	if err := tx.InsertEpisodes(ctx, fresh); err != nil {
		return err
	}
	objects := make([]memory.Object, len(fresh))
	for i := range fresh {
		objects[i] = ledger.Episode(fresh[i])
	}
	return tx.AppendEntries(ctx, []memory.Entry{a.chain.Append(a.partition.ID(), "store", now, objects)})
}

// propose asks the extractor, embeds what it says and asks the manager about it,
// outside of any transaction.
func (a *addition) propose(ctx context.Context) (proposal, error) {
	out, err := a.extract(ctx)
	if err != nil {
		return proposal{}, err
	}
	if err := a.recall(ctx, out); err != nil {
		return proposal{}, err
	}
	p := a.embed(ctx, out)
	a.lookAround(ctx, &p)
	a.manage(ctx, &p)
	return p, nil
}

// extract asks the extractor, outside of any transaction. A failure is
// recorded on the episodes, which wait for the next call.
func (a *addition) extract(ctx context.Context) (extract.Output, error) {
	in := extract.Input{UserID: a.req.UserID, UserName: a.req.UserName,
		Target: a.messages(a.target), Context: a.messages(a.context)}
	if x, ok := a.extractor.(extract.Informed); ok {
		a.surround(ctx, x, &in)
	}
	out, err := a.extractor.Extract(ctx, in)
	if err == nil {
		return out, nil
	}
	failed := &ExtractionError{EpisodeIDs: episodeIDs(a.target), Err: llm.Safe(err), untried: true}
	if !a.req.DryRun {
		if err := a.release(context.WithoutCancel(ctx), err); err != nil {
			a.logger.WarnContext(ctx, "add: recording a failed extraction failed", "error", err)
		}
	}
	return extract.Output{}, failed
}

func (a *addition) messages(list []memory.Episode) []extract.Message {
	out := make([]extract.Message, len(list))
	for i := range list {
		out[i] = extract.Message{Episode: list[i], Speaks: speaks(&list[i], a.req.UserID, a.req.UserName),
			Unread: a.tried[list[i].ID]}
	}
	return out
}

// release lets go of the target. It failed, unless there was no budget to try it.
func (a *addition) release(ctx context.Context, cause error) error {
	return a.store.Update(ctx, a.partition, func(tx storage.Tx) error {
		rows, err := tx.Extractions(ctx, a.extractor.ID(), episodeIDs(a.target))
		if err != nil {
			return err
		}
		failed := rows[:0]
		for _, x := range rows {
			if x.Status == memory.ExtractionPending {
				x.LeaseUntil, x.Error = time.Time{}, "budget"
				if !errors.Is(cause, llm.ErrBudget) {
					x.Status, x.Error = memory.ExtractionFailed, "extractor"
					x.Attempts++
				}
				x.UpdatedAt = memory.Time(a.now())
				failed = append(failed, x)
			}
		}
		return tx.PutExtractions(ctx, failed)
	})
}

// requestDigest identifies the body of a request for idempotency keys: what
// was asked, without ids and times that this call made up.
func requestDigest(req AddRequest, episodes []memory.Episode) []byte {
	req.IdempotencyKey = ""
	req.Messages = append([]Message(nil), req.Messages...)
	for i := range req.Messages {
		req.Messages[i].Content = episodes[i].Content
	}
	b, err := json.Marshal(req)
	if err != nil {
		// Metadata was checked to be JSON, so nothing here can fail.
		panic("meminfra: a checked request is not JSON: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return sum[:]
}
