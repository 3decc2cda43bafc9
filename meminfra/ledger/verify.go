package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Options of a verification.
type Options struct {
	Keys    Keys   // that entries may have been made with
	Current string // id of the key that is written with now, "" for none
	// At is the partition's head in a checkpoint: the chain must reach it, and
	// its entry be that one. The zero Checked is none.
	At Checked
	// Progress is called now and then with what is done of what there is to do.
	Progress func(Progress)
}

// Progress counts entries, and then the rows that they name.
type Progress struct {
	Entries, AllEntries int64
	Rows, AllRows       int64 // AllRows is 0 until all entries were read
}

// MaxFindings is how many findings a report lists; the rest is counted.
const MaxFindings = 100

// Report is what verifying one partition found.
type Report struct {
	Partition string    `json:"partition"`
	Entries   int64     `json:"entries"`
	Rows      int64     `json:"rows"`      // that are there and covered
	Forgotten int64     `json:"forgotten"` // objects that forget entries name
	Unkeyed   int64     `json:"unkeyed"`   // entries made without a key
	Head      string    `json:"head"`      // hash of the last entry, in hexadecimal
	Findings  []Finding `json:"findings"`  // by Seq, those of no entry last; at most MaxFindings
	More      int       `json:"more"`      // findings that are not listed
}

// OK reports whether everything is as it was written.
func (r *Report) OK() bool { return len(r.Findings) == 0 }

// Err is nil if everything is as it was written, else a *TamperError with the
// first finding.
func (r *Report) Err() error {
	if r.OK() {
		return nil
	}
	return &TamperError{r.Partition, r.Findings[0]}
}

// UnkeyedOnly reports whether nothing is wrong but that no entry was made with a key.
func (r *Report) UnkeyedOnly() bool {
	return len(r.Findings) == 1 && r.Findings[0].Reason == ReasonUnkeyed
}

// Verify recomputes a partition's chain and compares every row that it covers
// with what is stored now; see Report. It reads everything once, and keeps 24
// bytes for each object that an entry names. Errors are those of reading.
func Verify(ctx context.Context, snap storage.Snapshot, opts Options) (*Report, error) {
	v := &verification{snap: snap, opts: opts, row: snap.Row(), covered: newCoverage(),
		links: links{keys: opts.Keys, current: opts.Current}, report: &Report{Findings: []Finding{}}}
	v.report.Partition = v.row.Partition
	v.owner = owner{named: v.row.Named, partition: v.row.Partition}
	for _, step := range []func(context.Context) error{v.entries, v.rows, v.strays, v.rest} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	v.partition()
	v.finish()
	return v.report, nil
}

type verification struct {
	snap     storage.Snapshot
	opts     Options
	row      storage.PartitionRow
	owner    owner
	links    links
	covered  *coverage
	report   *Report
	findings []Finding
}

// errStop ends a reading early.
var errStop = errors.New("stop")

// keepFindings bounds what is kept before the first are chosen.
const keepFindings = 10_000

func (v *verification) found(f Finding) {
	if len(v.findings) < keepFindings {
		v.findings = append(v.findings, f)
	} else {
		v.report.More++
	}
}

// entries follows the chain and notes what it names.
func (v *verification) entries(ctx context.Context) error {
	r := v.report
	err := v.snap.EachEntry(ctx, 0, func(e memory.Entry, bad error) error {
		r.Entries++
		if e.KeyID == "" {
			r.Unkeyed++
		}
		if bad != nil {
			v.found(Finding{e.Seq, KindEntry, "", ReasonUnreadable})
			v.links.seq, v.links.hash = e.Seq, nil
			return nil
		}
		reason, id := v.links.follow(&e)
		if reason == "" && e.Seq == v.opts.At.Seq && !bytes.Equal(e.Hash, v.opts.At.Hash) {
			reason = ReasonReplaced
		}
		if reason != "" {
			v.found(Finding{e.Seq, KindEntry, id, reason})
		}
		v.covered.entry(&e)
		if r.Entries%progressStep == 0 {
			v.progress()
		}
		return nil
	})
	v.covered.sort()
	r.Forgotten = int64(len(v.covered.erased))
	return err
}

// progressStep is how many entries or rows pass between two calls of Progress.
const progressStep = 4096

func (v *verification) progress() {
	if v.opts.Progress == nil {
		return
	}
	p := Progress{Entries: v.report.Entries, AllEntries: v.row.LedgerSeq, Rows: v.covered.rows}
	if n := int64(len(v.covered.named)); v.covered.rows > 0 {
		p.AllRows = max(n-v.report.Forgotten, v.covered.rows)
	}
	v.opts.Progress(p)
}

// check compares a row with the entry that names it.
func (v *verification) check(o memory.Object) {
	if seq, reason := v.covered.row(&o); reason != "" {
		v.found(Finding{seq, o.Kind, o.ID, reason})
	}
	if v.covered.rows%progressStep == 0 {
		v.progress()
	}
}

// unreadable notes a row that cannot be read.
func (v *verification) unreadable(o memory.Object) {
	v.found(Finding{v.covered.unreadable(o.Kind, o.ID), o.Kind, o.ID, ReasonUnreadable})
}

// rows reads every table that the chain covers.
func (v *verification) rows(ctx context.Context) error {
	for _, err := range []error{
		v.snap.EachEpisode(ctx, each(v, Episode, v.content)),
		v.snap.EachItem(ctx, each(v, func(i storage.ItemRow) memory.Object { return Item(i.Item) }, v.lookups)),
		v.snap.EachState(ctx, v.state),
		v.snap.EachEvidence(ctx, each(v, Evidence, nil)),
		v.snap.EachConflict(ctx, each(v, Conflict, nil)),
		v.snap.EachDecision(ctx, each(v, Decision, nil)),
		v.snap.EachGrant(ctx, each(v, func(g storage.GrantRow) memory.Object { return Grant(g.Grant) }, v.team)),
		v.snap.EachFeedback(ctx, each(v, Feedback, nil)),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// each checks the rows of one kind, and what more is known of them.
func each[T any](v *verification, object func(T) memory.Object, more func(*T)) func(T, error) error {
	return func(row T, bad error) error {
		o := object(row)
		if bad != nil {
			v.unreadable(o)
			return nil
		}
		v.check(o)
		if more != nil {
			more(&row)
		}
		return nil
	}
}

// state checks a state, and its closing apart.
func (v *verification) state(s memory.State, bad error) error {
	if bad != nil {
		v.unreadable(State(s))
		v.covered.unreadable(KindClose, State(s).ID)
		return nil
	}
	v.check(State(s))
	if !s.SystemTo.IsZero() {
		v.check(Close(s, s.SystemTo))
	}
	return nil
}

// content checks whose an episode is, and its hash.
func (v *verification) content(e *memory.Episode) {
	if !v.owner.episode(e) {
		v.found(Finding{0, KindEpisode, e.ID, ReasonForeign})
	}
	if sha256.Sum256([]byte(e.Content)) != e.Hash {
		v.found(Finding{0, KindEpisode, e.ID, ReasonContent})
	}
}

// lookups checks whose an item is, and the hashes that it is found by: with
// another one, it would be there and never be found.
func (v *verification) lookups(i *storage.ItemRow) {
	if !v.owner.item(&i.Item) {
		v.found(Finding{0, KindItem, i.ID, ReasonForeign})
	}
	text, fact := sha256.Sum256([]byte(extract.TextKey(i.Item))), sha256.Sum256([]byte(i.FactKey))
	wrong := !bytes.Equal(i.TextHash, text[:])
	if i.FactKey == "" {
		wrong = wrong || i.FactKeyHash != nil
	} else {
		wrong = wrong || !bytes.Equal(i.FactKeyHash, fact[:])
	}
	if wrong {
		v.found(Finding{0, KindItem, i.ID, ReasonLookup})
	}
}

// team checks the partition that a membership is found by.
func (v *verification) team(g *storage.GrantRow) {
	if g.TeamPartition != g.Grant.TeamPartition(v.row.Named.Tenant) {
		v.found(Finding{0, KindGrant, g.ID, ReasonLookup})
	}
}

func (v *verification) strays(ctx context.Context) error {
	ids, err := v.snap.Strays(ctx)
	for _, id := range ids {
		v.found(Finding{0, KindItem, id, ReasonLookup})
	}
	return err
}

// rest names what entries name and no row answers to; for that it reads those
// entries again.
func (v *verification) rest(ctx context.Context) error {
	list := v.covered.rest()
	slices.SortFunc(list, func(x, y loose) int { return cmp.Compare(x.seq, y.seq) })
	if over := len(list) - MaxFindings; over > 0 {
		v.report.More += over
		list = list[:MaxFindings]
	}
	for len(list) > 0 {
		var entry memory.Entry
		err := v.snap.EachEntry(ctx, list[0].seq-1, func(e memory.Entry, _ error) error { entry = e; return errStop })
		if err != nil && !errors.Is(err, errStop) {
			return err
		}
		for ; len(list) > 0 && list[0].seq <= entry.Seq; list = list[1:] {
			o, _ := v.covered.name(&entry, list[0].object)
			v.found(Finding{list[0].seq, o.Kind, o.ID, list[0].reason})
		}
	}
	return nil
}

// partition checks the partition's row: its head, its names, and the head that
// a checkpoint knows.
func (v *verification) partition() {
	row, at, last := v.row, v.opts.At, v.links
	if row.LedgerSeq != last.seq || !bytes.Equal(row.LedgerHead, last.hash) {
		v.found(Finding{0, KindPartition, row.Partition, ReasonHead})
	}
	if row.Change > 0 && row.Named.ID() != row.Partition && !v.nameless() {
		v.found(Finding{0, KindPartition, row.Partition, ReasonNames})
	}
	if at.Seq > last.seq {
		v.found(Finding{last.seq + 1, KindEntry, "", ReasonCut})
	}
	if v.unkeyed() {
		v.found(Finding{last.seq, KindEntry, "", ReasonUnkeyed})
	}
}

// nameless reports the partition of a user who was forgotten.
func (v *verification) nameless() bool {
	return v.row.Named.Kind == memory.PartitionUser && v.row.Named.Name == "" && v.row.Erased > 0
}

// unkeyed reports a chain without an entry made with a key, where one is written
// with: anybody can make such a chain. It is one from before the key only if
// an entry with a key continues it, which holds all before it, or a checkpoint
// has its end. A chain of which nothing is left guards nothing.
func (v *verification) unkeyed() bool {
	kept := v.opts.At.Seq == v.links.seq && bytes.Equal(v.opts.At.Hash, v.links.hash)
	gone := v.nameless() && v.covered.rows == 0
	return v.opts.Current != "" && !v.links.keyed && v.links.seq > 0 && !kept && !gone
}

// finish orders the findings and keeps the first ones.
func (v *verification) finish() {
	r := v.report
	slices.SortStableFunc(v.findings, func(x, y Finding) int {
		last := func(f Finding) int {
			if f.Seq == 0 {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(last(x), last(y)), cmp.Compare(x.Seq, y.Seq))
	})
	if over := len(v.findings) - MaxFindings; over > 0 {
		r.More += over
		v.findings = v.findings[:MaxFindings]
	}
	r.Findings = append(r.Findings, v.findings...)
	r.Rows, r.Head = v.covered.rows, hexOf(v.links.hash)
	v.progress()
}
