package meminfra

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Search returns what is remembered about a query: hits best first, at most
// the limit, items and episodes on one scale, each with the branch ranks that
// placed it. A user nobody has heard of finds nothing, which is no error.
// Shared holds, apart from them, what was found in the memory of his teams and
// in public memory. What could not be done besides the search itself is a line in Degraded.
// Errors: ErrNoUser, ErrBlankQuery, ErrLimit, ErrFilter, ErrTooLong, ErrClosed
// and those of the store. Source: design section 6.
func (m *MemoryLayer) Search(ctx context.Context, req SearchRequest) (*SearchResult, error) {
	partition, err := m.partitionOf(req.UserID)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	ctx, tally := tallied(ctx, "search", partition)
	res, err := m.retriever.Search(ctx, retrieve.Query{
		UserID:      req.UserID,
		Text:        req.Query,
		Limit:       req.Limit,
		Filters:     req.Filters,
		SkipIntent:  req.SkipIntent,
		IntentModel: m.intents,
		Fusion:      req.Fusion,
		SkipContext: req.SkipContext,
		SkipPriors:  req.SkipPriors,
		SharedLimit: req.SharedLimit,
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	res.Usage = tally.Lines()
	return res, nil
}

// Get returns one item or episode that the user may read, whatever its status:
// his own, else one of his teams' or of public memory, which is labelled so.
// Errors: ErrNotFound (also for an id he may not read), ErrNoUser, ErrClosed.
func (m *MemoryLayer) Get(ctx context.Context, req GetRequest) (*Record, error) {
	rd, err := m.begin(ctx, req.UserID)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	if err := memory.CheckID("id", req.ID); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	_, rec, err := rd.Find(ctx, req.ID)
	if err == nil && rec == nil {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	return rec, nil
}

// List returns a page of the user's items, newest first, current ones unless
// the filters say otherwise; with TeamID or Public those of a team of his or of
// public memory. Errors: ErrNoUser, ErrLimit, ErrFilter, ErrCursor,
// ErrNotMember, ErrTwoScopes, ErrClosed.
func (m *MemoryLayer) List(ctx context.Context, req ListRequest) (*ListResult, error) {
	rd, err := m.begin(ctx, req.UserID)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	partition, err := m.scope(rd, req.TeamID, req.Public)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	before, err := parseCursor(partition.ID(), req.Cursor)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	page, next, err := rd.List(ctx, partition, req.Filters, req.Limit, before)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	out := &ListResult{Records: page}
	if next > 0 {
		out.Next = cursor(partition.ID(), next)
	}
	return out, nil
}

// cursor names a place in a user's list: the sequence number to continue below,
// and digits that tell it from what no page of his returned.
func cursor(partition string, seq int64) string {
	place := strconv.FormatInt(seq, 36)
	sum := sha256.Sum256([]byte(partition + "/" + place))
	return place + "." + hex.EncodeToString(sum[:4])
}

// parseCursor is the inverse of cursor; "" is 0, the beginning.
func parseCursor(partition, s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	place, _, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(place, 36, 64)
	if err != nil || s != cursor(partition, n) {
		return 0, ErrCursor
	}
	return n, nil
}

// History returns the whole line of versions that an item belongs to, as far as
// the user may read it: by world time, then by order of writing, each with what
// was believed of it when, what closed it and why. Rights are those of now,
// whatever moment is asked about. Errors: ErrNotFound, ErrNoUser, ErrClosed.
func (m *MemoryLayer) History(ctx context.Context, req HistoryRequest) (*HistoryResult, error) {
	out, err := m.history(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return out, nil
}

func (m *MemoryLayer) history(ctx context.Context, req HistoryRequest) (*HistoryResult, error) {
	rd, err := m.begin(ctx, req.UserID)
	if err != nil {
		return nil, err
	}
	if err := memory.CheckID("id", req.ID); err != nil {
		return nil, err
	}
	partition, line, err := rd.Line(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	line = asOf(line, req)
	actions, err := m.actions(ctx, partition.ID(), line)
	if err != nil {
		return nil, err
	}
	shown, err := rd.Show(ctx, partition.ID(), line, req.KnownAt)
	if err != nil {
		return nil, err
	}
	out := &HistoryResult{Versions: make([]Version, len(line))}
	for i := range line {
		out.Versions[i] = Version{Record: shown[i], Stages: stages(&line[i], actions)}
	}
	sort.SliceStable(out.Versions, func(i, j int) bool {
		return startOf(out.Versions[i]).Before(startOf(out.Versions[j]))
	})
	return out, nil
}

// unexpired leaves out the versions that have expired.
func unexpired(line []storage.ItemRecord, now time.Time) []storage.ItemRecord {
	return slices.DeleteFunc(line, func(r storage.ItemRecord) bool { return memory.Expired(r.ExpiresAt, now) })
}

// asOf cuts a line to what a history request asks for.
func asOf(line []storage.ItemRecord, req HistoryRequest) []storage.ItemRecord {
	kept := line[:0]
	for _, r := range line {
		if r = retrieve.AsOf(r, req.KnownAt); len(r.States) == 0 {
			continue
		}
		if valid := r.Present().Valid; !req.ValidAt.IsZero() && (valid.From.IsZero() || !valid.Contains(req.ValidAt)) {
			continue
		}
		kept = append(kept, r)
	}
	return kept
}

// startOf is when a version began to hold; an unknown start comes first.
func startOf(v Version) time.Time {
	if v.ValidFrom == nil {
		return time.Time{}
	}
	return *v.ValidFrom
}

// actions reads what the decisions behind the line's states did.
func (m *MemoryLayer) actions(ctx context.Context, partition string, line []storage.ItemRecord) (map[string]memory.Decision, error) {
	var ids []string
	seen := map[string]bool{}
	for _, r := range line {
		for _, s := range r.States {
			if !seen[s.Decision] {
				seen[s.Decision] = true
				ids = append(ids, s.Decision)
			}
		}
	}
	list, err := m.store.Decisions(ctx, partition, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]memory.Decision, len(list))
	for _, d := range list {
		byID[d.ID] = d
	}
	return byID, nil
}

// stages shows what was believed of an item, and the decisions behind it.
func stages(r *storage.ItemRecord, decisions map[string]memory.Decision) []Stage {
	list := make([]Stage, len(r.States))
	for i, s := range r.States {
		d, reason := decisions[s.Decision], s.Reason
		if d.Operation == opEdit && d.ItemID == r.ID {
			reason = opEdit // its line took the new wording for a new fact
		}
		list[i] = Stage{
			Status:    s.Status,
			ValidFrom: optional(s.Valid.From),
			ValidTo:   optional(s.Valid.To),
			KnownFrom: s.SystemFrom,
			KnownTo:   optional(s.SystemTo),
			Action:    d.Action,
			Reason:    reason,
			ClosedBy:  s.Cause,
		}
	}
	return list
}

// StaleRequest asks for the derived items of a user whose sources no longer count.
type StaleRequest struct {
	UserID string
}

// StaleResult lists them, newest first, each with its causes.
type StaleResult struct {
	Records []Record `json:"items"`
}

// Stale returns the user's current items that were made of others of which one
// was superseded, ended or withdrawn since, or is stale itself. They are shown
// and flagged, never dropped: whether they still hold is for a person or a
// model to say. Errors: ErrNoUser, ErrClosed.
func (m *MemoryLayer) Stale(ctx context.Context, req StaleRequest) (*StaleResult, error) {
	rd, err := m.begin(ctx, req.UserID)
	if err != nil {
		return nil, fmt.Errorf("stale: %w", err)
	}
	list, err := rd.Stale(ctx)
	if err != nil {
		return nil, fmt.Errorf("stale: %w", err)
	}
	return &StaleResult{Records: list}, nil
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
