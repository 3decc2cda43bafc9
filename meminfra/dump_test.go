package meminfra_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// dump renders all that is stored of a user, so that two users with the same
// history read the same: rows are named by sequence number, and ids, salts and
// change numbers, which differ from run to run, are left out.
func dump(t *testing.T, store storage.Store, user string) string {
	t.Helper()
	changes, list := changesOf(t, store, user), records(t, store, user)
	d := dumper{names: map[string]string{}, embedded: map[string]bool{}}
	for _, e := range changes.Episodes {
		d.names[e.ID] = fmt.Sprint("e", e.Seq)
	}
	for _, r := range list {
		d.names[r.ID] = fmt.Sprint("i", r.Seq)
	}
	for _, e := range changes.Embeddings {
		d.embedded[e.OwnerID] = true
	}
	fmt.Fprintf(&d, "head seq %d ledger %d\n", changes.Head.Seq, changes.Head.LedgerSeq)
	for i := range changes.Episodes {
		d.episode(&changes.Episodes[i])
	}
	for i := range list {
		d.item(&list[i])
	}
	for _, x := range decisions(t, store, user) {
		d.decision(&x)
	}
	for _, e := range entries(t, store, user) {
		d.entry(&e)
	}
	return d.String()
}

// withoutVectors is a dump that does not tell which rows have vectors.
func withoutVectors(dump string) string {
	return strings.ReplaceAll(dump, "embedded true", "embedded false")
}

type dumper struct {
	strings.Builder
	names    map[string]string // by id
	embedded map[string]bool
}

func (d *dumper) name(id string) string {
	if id == "" {
		return "-"
	}
	if n, ok := d.names[id]; ok {
		return n
	}
	return "unknown row " + id
}

func (d *dumper) episode(e *memory.Episode) {
	fmt.Fprintf(d, "%s %s/%s %s %s %q said %s recorded %s embedded %v\n", d.name(e.ID), e.ConversationID, e.SessionID,
		e.Role, e.Speaker, e.Content, stamp(e.SentAt), stamp(e.RecordedAt), d.embedded[e.ID])
}

func (d *dumper) item(r *storage.ItemRecord) {
	fmt.Fprintf(d, "%s %s %q %s=%s %d %s stated %s supersedes %s root %s embedded %v\n", d.name(r.ID), r.Kind, r.Text, r.Predicate,
		r.Value, r.Polarity, r.Authority, bounds(r.Stated), d.name(r.Supersedes), d.name(r.Root), d.embedded[r.ID])
	for _, s := range r.States {
		fmt.Fprintf(d, "  state %d %s %s slot %v %s cause %s known %s\n", s.N, s.Status, bounds(s.Valid), s.HoldsSlot, s.Reason,
			d.name(s.Cause), bounds(memory.Validity{From: s.SystemFrom, To: s.SystemTo}))
	}
	for _, e := range r.Evidence {
		fmt.Fprintf(d, "  evidence %d %s %q %d %s\n", e.N, d.name(e.EpisodeID), e.Quote, e.Polarity, e.Authority)
	}
	for _, c := range r.Conflicts {
		fmt.Fprintf(d, "  conflict %s %s %s\n", d.name(c.ItemID), d.name(c.OtherID), c.Reason)
	}
}

func (d *dumper) decision(x *memory.Decision) {
	inputs := make([]string, len(x.Inputs))
	for i, id := range x.Inputs {
		inputs[i] = d.name(id)
	}
	fmt.Fprintf(d, "decision %s %s %s item %s closes %s from %s of %v\n", x.Operation, x.Action, x.Reason, d.name(x.ItemID),
		d.name(x.SupersededID), d.name(x.EpisodeID), inputs)
}

func (d *dumper) entry(e *memory.Entry) {
	kinds := make([]string, len(e.Objects))
	for i, o := range e.Objects {
		kinds[i] = o.Kind
	}
	fmt.Fprintf(d, "entry %d %s %v\n", e.Seq, e.Operation, kinds)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02T15:04:05.000000")
}

func bounds(v memory.Validity) string { return stamp(v.From) + ".." + stamp(v.To) }
