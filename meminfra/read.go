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
// What could not be done besides the search itself is a line in Degraded.
// Errors: ErrNoUser, ErrBlankQuery, ErrLimit, ErrFilter, ErrTooLong, ErrClosed
// and those of the store. Source: design section 6.
func (m *MemoryLayer) Search(ctx context.Context, req SearchRequest) (*SearchResult, error) {
	partition, err := m.partitionOf(req.UserID)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	ctx, tally := tallied(ctx, "search", partition)
	res, err := m.retriever.Search(ctx, retrieve.Query{
		Partition:   partition,
		Text:        req.Query,
		Limit:       req.Limit,
		Filters:     req.Filters,
		SkipIntent:  req.SkipIntent,
		IntentModel: m.intents,
		Fusion:      req.Fusion,
		SkipContext: req.SkipContext,
		SkipPriors:  req.SkipPriors,
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	res.Usage = tally.Lines()
	return res, nil
}

// Get returns one item or episode of the user, whatever its status. Errors:
// ErrNotFound (also for another user's id), ErrNoUser, ErrClosed.
func (m *MemoryLayer) Get(ctx context.Context, req GetRequest) (*Record, error) {
	partition, err := m.partitionOf(req.UserID)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	rec, err := m.get(ctx, partition, req.ID)
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	return rec, nil
}

func (m *MemoryLayer) get(ctx context.Context, partition, id string) (*Record, error) {
	if err := memory.CheckID("id", id); err != nil {
		return nil, err
	}
	items, err := m.store.Items(ctx, partition, []string{id})
	if err != nil {
		return nil, err
	}
	if len(items) == 1 {
		shown, err := m.retriever.Show(ctx, partition, items, time.Time{})
		if err != nil {
			return nil, err
		}
		return &shown[0], nil
	}
	episodes, err := m.store.Episodes(ctx, partition, []string{id})
	if err != nil {
		return nil, err
	}
	if len(episodes) == 0 {
		return nil, ErrNotFound
	}
	r := retrieve.EpisodeRecord(&episodes[0])
	return &r, nil
}

// List returns a page of the user's items, newest first, current ones unless
// the filters say otherwise. Errors: ErrNoUser, ErrLimit, ErrFilter,
// ErrCursor, ErrClosed.
func (m *MemoryLayer) List(ctx context.Context, req ListRequest) (*ListResult, error) {
	partition, err := m.partitionOf(req.UserID)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	before, err := parseCursor(partition, req.Cursor)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	page, next, err := m.retriever.List(ctx, partition, req.Filters, req.Limit, before)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	out := &ListResult{Records: page}
	if next > 0 {
		out.Next = cursor(partition, next)
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

// History returns the whole line of versions that an item belongs to: by world
// time, then by order of writing, each with what was believed of it when, what
// closed it and why. Errors: ErrNotFound, ErrNoUser, ErrClosed.
func (m *MemoryLayer) History(ctx context.Context, req HistoryRequest) (*HistoryResult, error) {
	partition, err := m.partitionOf(req.UserID)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	if err := memory.CheckID("id", req.ID); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	line, err := m.store.Line(ctx, partition, req.ID)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	line = asOf(line, req)
	actions, err := m.actions(ctx, partition, line)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	shown, err := m.retriever.Show(ctx, partition, line, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
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

// asOf cuts a line to what a history request asks for.
func asOf(line []storage.ItemRecord, req HistoryRequest) []storage.ItemRecord {
	kept := line[:0]
	for _, r := range line {
		if !req.KnownAt.IsZero() {
			r.States = slices.DeleteFunc(r.States, func(s memory.State) bool { return s.SystemFrom.After(req.KnownAt) })
			if len(r.States) == 0 {
				continue
			}
			if last := &r.States[len(r.States)-1]; last.SystemTo.After(req.KnownAt) {
				last.SystemTo = time.Time{} // that it would end was not known
			}
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
		list[i] = Stage{
			Status:    s.Status,
			ValidFrom: optional(s.Valid.From),
			ValidTo:   optional(s.Valid.To),
			KnownFrom: s.SystemFrom,
			KnownTo:   optional(s.SystemTo),
			Action:    decisions[s.Decision].Action,
			Reason:    s.Reason,
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
	partition, err := m.partitionOf(req.UserID)
	if err != nil {
		return nil, fmt.Errorf("stale: %w", err)
	}
	list, err := m.retriever.Stale(ctx, partition)
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
