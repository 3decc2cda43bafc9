package ledger

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// ErrDiverged: the partition holds something else than a beginning of the export.
var ErrDiverged = errors.New("the partition has diverged from the export")

// ImportOptions of an import.
type ImportOptions struct {
	Keys    Keys
	Current string // id of the key that is written with now
	Now     time.Time
	NewID   func() string
	// Progress is called now and then with the entries read, of how many.
	Progress func(done, all int64)
}

// Imported counts what an import did.
type Imported struct {
	Known   int64 // entries that were there already
	Entries int64 // added
	Rows    int64 // added
}

// Import writes what an export holds and the partition does not, in the
// commit under way: all of it into an empty partition, the rest into one whose
// chain is a beginning of the export's. Each line is checked as it is read and
// the whole before it returns; on an error the commit must not stand. It holds
// a page of rows, what is left of a page for want of its item, and 24 bytes for
// each object named. Errors: ErrDiverged, *LineError.
func Import(ctx context.Context, tx storage.Tx, r *Reader, opts ImportOptions) (*Imported, error) {
	head := tx.Head()
	of := memory.Partition{Kind: r.Header.Kind, Name: r.Header.Name}
	im := &importer{ctx: ctx, tx: tx, r: r, opts: opts, head: head, covered: newCoverage(), out: &Imported{},
		owner: owner{named: of, partition: of.ID()},
		links: links{keys: opts.Keys, current: opts.Current}, items: map[string]bool{}, last: map[string]memory.State{},
		talks: map[string]*storage.Conversation{}}
	if r.Header.Seq < 0 || r.Header.Seq > maxSeq {
		return nil, r.bad("the header's number is none")
	}
	if head.LedgerSeq > r.Header.Head {
		return nil, ErrDiverged
	}
	if more := r.Header.Seq - head.Seq; more > 0 {
		tx.NextSeq(int(more))
	}
	for !im.ended {
		if err := im.step(); err != nil {
			return nil, err
		}
	}
	if err := im.flush(); err != nil {
		return nil, err
	}
	if err := im.putTalks(); err != nil {
		return nil, err
	}
	if err := im.whole(); err != nil {
		return nil, err
	}
	return im.out, r.finish()
}

// maxSeq bounds the header's number, which no hash covers, so that counting on
// from it has no end: the largest integer that every reader of JSON has exactly.
const maxSeq = 1 << 53

type importer struct {
	ctx  context.Context
	tx   storage.Tx
	r    *Reader
	opts ImportOptions
	head storage.Head
	out  *Imported
	end  End
	// entry is the last entry read, and next the first of its objects that no
	// line has answered yet.
	entry memory.Entry
	next  int
	ended bool

	links   links
	owner   owner // the header, which no hash covers, must name whose the rows are
	covered *coverage
	closed  []mark                  // closings that states tell, with their lines in place of seq
	items   map[string]bool         // that are there
	last    map[string]memory.State // of each item that was there before: its last state
	talks   map[string]*storage.Conversation
	// extracted is the message and extractor of the last extraction, and seq the
	// highest number of a row.
	extracted [2]string
	seq       int64
	batch
}

// batch is what waits to be written.
type batch struct {
	size        int
	episodes    []memory.Episode
	decisions   []memory.Decision
	newItems    []memory.Item
	states      []memory.State
	evidence    []memory.Evidence
	conflicts   []memory.Conflict
	feedback    []storage.Feedback
	extractions []memory.Extraction
	entries     []memory.Entry
}

// importBatch is how many rows are written at a time.
const importBatch = 2000

func (im *importer) step() error {
	kind, row, err := im.r.next()
	if err != nil {
		return err
	}
	switch row := row.(type) {
	case *Header:
		return im.r.bad("a second header")
	case *memory.Entry:
		return im.readEntry(row)
	case *memory.Extraction:
		return im.readExtraction(row)
	case *End:
		im.ended = true
		im.passOver(len(im.entry.Objects))
		if *row != im.end || im.links.seq != im.r.Header.Head || !bytes.Equal(im.links.hash, im.r.Header.Hash) {
			return im.r.bad("not all of what was exported came before it")
		}
		if im.seq > im.r.Header.Seq {
			return im.r.bad("a row has a higher number than the header knows")
		}
		if im.opts.Current != "" && !im.links.keyed && im.links.seq > 0 {
			return im.r.bad("no entry was made with a key, and one is written with here")
		}
		return nil
	}
	return im.readRow(kind, row)
}

// readEntry checks the next entry and, at the place where the partition's own
// chain ends, that it is the same one.
func (im *importer) readEntry(e *memory.Entry) error {
	im.passOver(len(im.entry.Objects))
	if reason, _ := im.links.follow(e); reason != "" {
		return im.r.bad("entry " + reason)
	}
	im.entry, im.next = *e, 0
	im.end.Entries++
	if e.Operation == OpForget {
		im.covered.entry(e)
		im.next = len(e.Objects)
	}
	if im.opts.Progress != nil && e.Seq%progressStep == 0 {
		im.opts.Progress(e.Seq, im.r.Header.Head)
	}
	if e.Seq <= im.head.LedgerSeq {
		im.out.Known++
		if e.Seq == im.head.LedgerSeq && !bytes.Equal(e.Hash, im.head.LedgerHead) {
			return ErrDiverged
		}
		return nil
	}
	return im.takeEntry(e)
}

// takeEntry adds an entry, and does what it says of rows that are there already.
func (im *importer) takeEntry(e *memory.Entry) error {
	if e.Seq == im.head.LedgerSeq+1 {
		for item, s := range im.last {
			if !s.SystemTo.IsZero() {
				if err := im.tx.CloseStates(im.ctx, []string{item}, s.SystemTo); err != nil {
					return err
				}
			}
		}
	}
	im.out.Entries++
	im.size++
	im.entries = append(im.entries, *e)
	if e.Operation == OpForget && im.head.LedgerSeq > 0 {
		return im.erase(e)
	}
	if im.size >= importBatch {
		return im.flush()
	}
	return nil
}

// erase does away with what an added entry says was forgotten.
func (im *importer) erase(e *memory.Entry) error {
	if err := im.flush(); err != nil {
		return err
	}
	gone := storage.Erasure{ID: im.opts.NewID(), At: memory.Time(im.opts.Now)}
	for _, o := range e.Objects {
		switch o.Kind {
		case KindItem:
			gone.Items = append(gone.Items, o.ID)
		case KindEpisode:
			gone.Episodes = append(gone.Episodes, o.ID)
		case KindDecision:
			gone.Decisions = append(gone.Decisions, o.ID)
		}
	}
	_, err := im.tx.Erase(im.ctx, gone)
	return err
}

// passOver notes the objects up to one that no line answered: they must be
// forgotten later on, or be closings, which their states tell.
func (im *importer) passOver(to int) {
	for ; im.next < to; im.next++ {
		im.covered.named = append(im.covered.named, im.covered.mark(&im.entry.Objects[im.next], im.entry.Seq))
	}
}

// readRow checks a row against the object of the entry that names it.
func (im *importer) readRow(kind string, row any) error {
	o := covered(row).object
	for i := im.next; i < len(im.entry.Objects); i++ {
		if named := im.entry.Objects[i]; named.Kind == kind && named.ID == o.ID {
			if !bytes.Equal(named.Digest, o.Digest) {
				return im.r.bad(kind + " changed")
			}
			if !im.owner.row(row) {
				return im.r.bad(kind + " of another user")
			}
			im.count(row)
			im.passOver(i)
			im.next = i + 1
			im.end.Rows++
			return im.take(row)
		}
	}
	return im.r.bad(kind + " that its entry does not name")
}

// count notes the highest number of a row, which the header must cover: the next
// one is counted on from there.
func (im *importer) count(row any) {
	switch r := row.(type) {
	case *memory.Episode:
		im.seq = max(im.seq, r.Seq)
	case *memory.Item:
		im.seq = max(im.seq, r.Seq)
	}
}

// take puts a row into the batch, or remembers what is there already.
func (im *importer) take(row any) error {
	if s, ok := row.(*memory.State); ok && !s.SystemTo.IsZero() {
		o := Close(*s, s.SystemTo)
		im.closed = append(im.closed, im.covered.mark(&o, im.r.line))
	}
	if im.entry.Seq <= im.head.LedgerSeq {
		im.remember(row)
		return nil
	}
	im.out.Rows++
	im.size++
	switch r := row.(type) {
	case *memory.Episode:
		im.talk(r)
		im.episodes = append(im.episodes, *r)
	case *memory.Item:
		r.TextKey = extract.TextKey(*r)
		im.newItems = append(im.newItems, *r)
	case *memory.State:
		im.states = append(im.states, *r)
	case *memory.Evidence:
		im.evidence = append(im.evidence, *r)
	case *memory.Conflict:
		im.conflicts = append(im.conflicts, *r)
	case *memory.Decision:
		im.decisions = append(im.decisions, *r)
	case *storage.Feedback:
		im.feedback = append(im.feedback, *r)
	}
	return nil
}

func (im *importer) remember(row any) {
	switch r := row.(type) {
	case *memory.Item:
		im.items[r.ID] = true
	case *memory.State:
		if im.last[r.ItemID].N < r.N {
			im.last[r.ItemID] = *r
		}
	}
}

// talk keeps the row of the conversation that an episode belongs to.
func (im *importer) talk(e *memory.Episode) {
	c := im.talks[e.ConversationID]
	if c == nil {
		c = &storage.Conversation{Partition: im.head.Partition, ID: e.ConversationID, CreatedAt: e.RecordedAt}
		im.talks[e.ConversationID] = c
	}
	c.UpdatedAt = e.RecordedAt
}

func (im *importer) putTalks() error {
	for _, c := range im.talks {
		if err := im.tx.PutConversation(im.ctx, *c); err != nil {
			return err
		}
	}
	return nil
}

// readExtraction takes where extraction stands with a message, in the order in
// which it is written, so that no message comes twice.
func (im *importer) readExtraction(x *memory.Extraction) error {
	key := [2]string{x.EpisodeID, x.Extractor}
	if slices.Compare(key[:], im.extracted[:]) <= 0 {
		return im.r.bad("an extraction out of order")
	}
	im.extracted = key
	im.end.Extractions++
	im.size++
	im.extractions = append(im.extractions, *x)
	if im.size >= importBatch {
		return im.flush()
	}
	return nil
}

// flush writes what waits, in the order in which rows refer to each other. What
// belongs to an item that a later entry of the same commit names waits on.
func (im *importer) flush() error {
	if err := im.ctx.Err(); err != nil {
		return err
	}
	for _, i := range im.newItems {
		im.items[i.ID] = true
	}
	var late batch
	states, states2 := parted(im.states, func(s *memory.State) bool { return im.items[s.ItemID] })
	evidence, evidence2 := parted(im.evidence, func(e *memory.Evidence) bool { return im.items[e.ItemID] })
	conflicts, conflicts2 := parted(im.conflicts, func(c *memory.Conflict) bool { return im.items[c.ItemID] && im.items[c.OtherID] })
	late.states, late.evidence, late.conflicts = states2, evidence2, conflicts2
	now := im.batch
	im.batch = late
	for _, step := range []func() error{
		func() error { return im.tx.InsertEpisodes(im.ctx, now.episodes) },
		func() error { return im.tx.InsertDecisions(im.ctx, now.decisions) },
		func() error { return im.tx.InsertItems(im.ctx, now.newItems) },
		func() error { return im.tx.InsertStates(im.ctx, states) },
		func() error { return im.tx.InsertEvidence(im.ctx, evidence) },
		func() error { return im.tx.InsertConflicts(im.ctx, conflicts) },
		func() error { return im.tx.InsertFeedback(im.ctx, now.feedback) },
		func() error { return im.tx.PutExtractions(im.ctx, now.extractions) },
		func() error { return im.tx.AppendEntries(im.ctx, now.entries) },
	} {
		err := step()
		if errors.Is(err, storage.ErrConflict) { // nobody else writes meanwhile
			return im.r.bad("rows before it that no store takes together")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parted splits a list by a condition, in order.
func parted[T any](list []T, ok func(*T) bool) (yes, no []T) {
	for i := range list {
		if ok(&list[i]) {
			yes = append(yes, list[i])
		} else {
			no = append(no, list[i])
		}
	}
	return yes, no
}

// whole checks what only the whole export shows: every object is there or
// forgotten by a later entry, and closed states are closed by an entry.
func (im *importer) whole() error {
	if n := len(im.states) + len(im.evidence) + len(im.conflicts); n > 0 {
		return im.r.bad("rows of an item that is not in the export")
	}
	im.covered.sort()
	for _, m := range im.closed {
		if _, reason := im.covered.seen(m); reason != "" {
			return &LineError{m.seq, "the closing of the state: " + reason}
		}
	}
	if rest := im.covered.rest(); len(rest) > 0 {
		return im.r.bad("a row that an entry names is " + rest[0].reason)
	}
	return nil
}
