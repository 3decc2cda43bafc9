package meminfra

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// ErrDiverged: the user's memory is neither empty nor a beginning of the export.
var ErrDiverged = ledger.ErrDiverged

// ErrHidden: part of the memory is hidden from its user, so that no copy with
// its chain can be his.
var ErrHidden = errors.New("part of the memory is hidden from its user")

// ExportRequest asks for a copy of all that is remembered of a user.
type ExportRequest struct {
	UserID string
	To     io.Writer
	// Whole is for who keeps the store, to move it or to keep a copy: it is in
	// nobody's name, and has also what is hidden from the user.
	Whole bool
}

// ExportResult counts what was written.
type ExportResult struct {
	Entries int64 `json:"entries"`
	Rows    int64 `json:"rows"`
}

// Export writes a user's memory as canonical JSON lines, with its ledger chain,
// as one snapshot: the same memory is the same bytes from either store.
// Vectors, traces, grants and idempotency keys are not in it. It reads the
// memory three times: to verify it, to see whether its user may read it, to
// write it. A chain stands with all of its rows or not at all, so where one is
// hidden from the user, as from every other read of his (it came through an
// agent or a resource that is not his, or no more, or it has expired), the
// export is refused before the first byte: see ExportRequest.Whole. Errors:
// ErrNoUser, ErrHidden, ErrNotFound if nothing was ever written, a
// *ledger.TamperError if it does not verify, ErrClosed. Source: design section 6.
func (l Ledger) Export(ctx context.Context, req ExportRequest) (*ExportResult, error) {
	rd, err := l.m.begin(ctx, req.UserID)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	var end *ledger.End
	err = l.m.store.Snapshot(ctx, rd.Own().ID(), func(s storage.Snapshot) error {
		if s.Row().Change == 0 {
			return ErrNotFound
		}
		report, err := ledger.Verify(ctx, s, l.options())
		if err == nil {
			err = report.Err()
		}
		if err == nil && !req.Whole {
			err = admitsAll(ctx, rd, s)
		}
		if err != nil {
			return err
		}
		end, err = ledger.Export(ctx, s, req.To)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return &ExportResult{Entries: end.Entries, Rows: end.Rows}, nil
}

// admitsAll is ErrHidden if there is a row that whoever reads may not see. All
// else that an export holds is of items and messages.
func admitsAll(ctx context.Context, rd *retrieve.Reading, s storage.Snapshot) error {
	err := s.EachEpisode(ctx, func(e memory.Episode, bad error) error {
		if bad == nil && !rd.AdmitsEpisode(&e) {
			bad = ErrHidden
		}
		return bad
	})
	if err != nil {
		return err
	}
	return s.EachItem(ctx, func(i storage.ItemRow, bad error) error {
		if bad == nil && !rd.Admits(&i.Item) {
			bad = ErrHidden
		}
		return bad
	})
}

// ImportRequest asks to take an export in.
type ImportRequest struct {
	From io.Reader
	// UserID is whose memory must be in the export; "" takes whosever it is.
	UserID string
	// AsNew adds the messages of the export to whatever is there, also to another
	// user's memory: with their ids, roles, times and metadata, to be read by this
	// layer's extractor and decided against what is there, under its own chain and
	// with new ids. What the owner withdrew is withdrawn again. The rest of what he
	// did by hand, what was derived, and what was learned when stay behind; edits
	// are messages. Messages whose ids the conversation has are not added again.
	AsNew bool
	// UserName is what the user is called, where messages carry names; of AsNew.
	UserName string
	// Progress is called now and then with the ledger entries read, of how many;
	// with AsNew it counts messages.
	Progress func(done, all int64)
}

// ImportResult counts what was taken in.
type ImportResult struct {
	UserID  string `json:"user_id"`
	Known   int64  `json:"known"`   // ledger entries that were there already; of AsNew messages
	Entries int64  `json:"entries"` // added
	Rows    int64  `json:"rows"`    // added
	// Of AsNew: messages added, and what was left out: derived items and messages
	// that have expired.
	Messages int64 `json:"messages"`
	LeftOut  int64 `json:"left_out"`
}

// ErrOtherUser: the export is of another user than the one asked for.
var ErrOtherUser = errors.New("the export is of another user")

// Import takes in what Export wrote: all of it where the user's memory is
// empty, what is missing where it is a beginning of the export. It is one
// commit, which stands only if every line verifies; other writers of the user
// wait for it. Vectors are not in an export: reembed makes them, and until then
// only words find what was taken in. With Options.LedgerKey an export whose chain
// has no entry made with a key is refused: anybody can make one; AsNew takes it.
// Errors: ErrDiverged, *ledger.LineError
// (ledger.ErrExport), ErrOtherUser, a *ledger.TamperError if what is there
// already does not verify, ErrClosed.
//
// With AsNew it is Adds in place of one commit: the export is checked whole
// before the first, and a call that failed half-way is completed by another,
// except that it no longer withdraws what the failed one had just added. Errors
// are then those of Add as well; the result says what was done before.
func (l Ledger) Import(ctx context.Context, req ImportRequest) (*ImportResult, error) {
	res, err := l.imports(ctx, req)
	if err != nil {
		return res, fmt.Errorf("import: %w", err)
	}
	return res, nil
}

func (l Ledger) imports(ctx context.Context, req ImportRequest) (*ImportResult, error) {
	if l.m.closed.Load() {
		return nil, ErrClosed
	}
	r, err := ledger.NewReader(req.From)
	if err != nil {
		return nil, err
	}
	p := memory.Partition{Tenant: l.m.tenant, Kind: r.Header.Kind, Name: r.Header.Name}
	if req.AsNew && req.UserID != "" {
		p.Name = req.UserID
	}
	if p.Kind != memory.PartitionUser || req.UserID != "" && req.UserID != p.Name {
		return nil, ErrOtherUser
	}
	if _, err := l.m.partitionOf(p.Name); err != nil {
		return nil, err
	}
	if req.AsNew {
		req.UserID = p.Name
		return l.asNew(ctx, r, req)
	}
	there, err := l.verify(ctx, VerifyRequest{UserID: p.Name})
	if err == nil {
		err = there.Err()
	}
	if err != nil {
		return nil, err
	}
	opts := ledger.ImportOptions{Keys: l.m.keys, Current: l.m.ledgerKey.ID, Now: l.m.now(), NewID: l.m.newID, Progress: req.Progress}
	var out *ledger.Imported
	err = l.m.store.Update(ctx, p, func(tx storage.Tx) (err error) {
		out, err = ledger.Import(ctx, tx, r, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &ImportResult{UserID: p.Name, Known: out.Known, Entries: out.Entries, Rows: out.Rows}, nil
}
