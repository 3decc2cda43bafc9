package ledger

import (
	"bufio"
	"context"
	"io"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// ExportFormat names the form of an export.
const ExportFormat = "meminfra-export/1"

// The kinds of an export's lines that are no covered rows.
const (
	lineHeader     = "export"
	lineExtraction = "extraction"
	lineEnd        = "end"
)

// Header is the first line of an export: whose partition it is and where its
// chain and its numbers stand.
type Header struct {
	Format string
	Kind   memory.PartitionKind
	Name   string
	Seq    int64 // last sequence number of episodes and items
	Head   int64 // last ledger entry
	Hash   []byte
}

// End is the last line of an export: what must have come before it.
type End struct {
	Entries     int64
	Rows        int64
	Extractions int64
}

// Export writes a partition as canonical JSON lines: a header, each ledger entry
// in order with the rows that it names after it, as they are stored now, where
// extraction stands, and an end. Salts and the chain are in it; vectors, traces,
// grants and idempotency keys are not. Rows that were forgotten are gone and
// stay named. What is written depends on the content alone, not on the store.
// It reads a page of entries and their rows at a time. The partition must
// verify: see Verify.
func Export(ctx context.Context, snap storage.Snapshot, w io.Writer) (*End, error) {
	x := &exporter{snap: snap, w: bufio.NewWriterSize(w, 1<<16), end: &End{}}
	row := snap.Row()
	header := Header{Format: ExportFormat, Kind: row.Named.Kind, Name: row.Named.Name, Seq: row.Seq, Head: row.LedgerSeq, Hash: row.LedgerHead}
	if err := x.line(lineHeader, header); err != nil {
		return nil, err
	}
	err := snap.EachEntry(ctx, 0, func(e memory.Entry, bad error) error {
		if bad != nil {
			return bad
		}
		x.page = append(x.page, e)
		if len(x.page) < exportPage {
			return nil
		}
		return x.flush(ctx)
	})
	if err == nil {
		err = x.flush(ctx)
	}
	if err != nil {
		return nil, err
	}
	err = snap.EachExtraction(ctx, func(r memory.Extraction, bad error) error {
		if bad != nil {
			return bad
		}
		x.end.Extractions++
		return x.line(lineExtraction, r)
	})
	if err != nil {
		return nil, err
	}
	if err := x.line(lineEnd, *x.end); err != nil {
		return nil, err
	}
	return x.end, x.w.Flush()
}

// exportPage is how many entries are written between two readings of rows.
const exportPage = 256

type exporter struct {
	snap storage.Snapshot
	w    *bufio.Writer
	page []memory.Entry
	end  *End
}

func (x *exporter) line(kind string, row any) error {
	b, err := encodeLine(kind, row)
	if err == nil {
		_, err = x.w.Write(b)
	}
	return err
}

// flush writes a page of entries, each with its rows.
func (x *exporter) flush(ctx context.Context) error {
	rows, err := x.rows(ctx)
	if err != nil {
		return err
	}
	for _, e := range x.page {
		x.end.Entries++
		if err := x.line(KindEntry, e); err != nil {
			return err
		}
		if e.Operation == OpForget {
			continue
		}
		for _, o := range e.Objects {
			row, there := rows[objectKey{o.Kind, o.ID}]
			if !there {
				continue // forgotten, or the closing of a state, which the state has
			}
			x.end.Rows++
			if err := x.line(o.Kind, row); err != nil {
				return err
			}
		}
	}
	x.page = x.page[:0]
	return nil
}

type objectKey struct{ kind, id string }

// rows reads what the entries of the page name.
func (x *exporter) rows(ctx context.Context) (map[objectKey]any, error) {
	ids := map[string][]string{}
	for _, e := range x.page {
		for _, o := range e.Objects {
			kind, id := o.Kind, o.ID
			switch kind {
			case KindState, KindEvidence, KindConflict:
				kind = KindItem
				id, _, _ = strings.Cut(id, "/")
			}
			ids[kind] = append(ids[kind], id)
		}
	}
	rows := map[objectKey]any{}
	items, err := x.snap.Items(ctx, ids[KindItem])
	if err != nil {
		return nil, err
	}
	for i := range items {
		putItem(rows, &items[i])
	}
	episodes, err := x.snap.Episodes(ctx, ids[KindEpisode])
	if err != nil {
		return nil, err
	}
	for _, e := range episodes {
		rows[objectKey{KindEpisode, e.ID}] = e
	}
	decisions, err := x.snap.Decisions(ctx, ids[KindDecision])
	if err != nil {
		return nil, err
	}
	for _, d := range decisions {
		rows[objectKey{KindDecision, d.ID}] = d
	}
	feedback, err := x.snap.Feedback(ctx, ids[KindFeedback])
	for _, f := range feedback {
		rows[objectKey{KindFeedback, f.ID}] = f
	}
	return rows, err
}

func putItem(rows map[objectKey]any, r *storage.ItemRecord) {
	rows[objectKey{KindItem, r.ID}] = r.Item
	for _, s := range r.States {
		s.FactKey = r.FactKey
		rows[objectKey{KindState, numbered(s.ItemID, s.N)}] = s
	}
	for _, e := range r.Evidence {
		rows[objectKey{KindEvidence, numbered(e.ItemID, e.N)}] = e.Evidence
	}
	for _, c := range r.Conflicts {
		rows[objectKey{KindConflict, c.ItemID + "/" + c.OtherID}] = c
	}
}
