package retrieve

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/intent"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Sharing says where a record that is not the caller's alone comes from: it is
// set on what stands in a team's or the public partition. Such a record keeps
// the authority it was told with, which is its contributor's and lets nobody
// else act on it.
type Sharing struct {
	Scope  memory.Visibility `json:"scope,omitempty"` // team or public
	TeamID string            `json:"team,omitempty"`
	By     string            `json:"by,omitempty"` // the user who told it
}

// share labels a record of a shared partition; a private one stays as it is.
func (r *Record) share(scope memory.Visibility, team, by string) {
	if scope == memory.VisibilityTeam || scope == memory.VisibilityPublic {
		r.Sharing = Sharing{Scope: scope, TeamID: team, By: by}
	}
}

// label is share for the records of a partition.
func (r *Record) label(p memory.Partition, by string) {
	switch p.Kind {
	case memory.PartitionTeam:
		r.share(memory.VisibilityTeam, p.Name, by)
	case memory.PartitionTenantPublic:
		r.share(memory.VisibilityPublic, "", by)
	}
}

// sharedHits searches the shared partitions that the caller may read, apart from
// his own, which they leave as it is. What fails here is a line in Degraded.
func (s *search) sharedHits(ctx context.Context, rd *Reading, embed func(*ask) []float32) []Hit {
	limit := s.query.SharedLimit
	if limit == 0 {
		limit = DefaultSharedLimit
	}
	limit = min(limit, MaxLimit)
	found := []Hit{}
	if limit < 0 {
		return found
	}
	for _, p := range rd.Shared() {
		list, err := s.searchShared(ctx, rd, p, embed, limit)
		if err != nil {
			s.degrade("shared memory left out: a partition could not be read")
			if s.Logger != nil {
				s.Logger.WarnContext(ctx, "search: reading shared memory failed", "partition", p.ID(), "error", err)
			}
			continue
		}
		found = append(found, list...)
	}
	slices.SortStableFunc(found, func(a, b Hit) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	return found[:min(len(found), limit)]
}

// searchShared is the same search in one shared partition, of which its own
// rows alone decide the scores.
func (s *search) searchShared(ctx context.Context, rd *Reading, p memory.Partition, embed func(*ask) []float32, limit int) ([]Hit, error) {
	part := *s
	part.partition, part.limit, part.degraded, part.query.SkipTrace = p, limit, nil, true
	part.route = intent.Route(s.query.Text) // whatever his own memory had rows for
	ranked, err := part.rankIn(ctx, rd, embed)
	if err != nil {
		return nil, err
	}
	var out Result
	err = part.resolveHits(ctx, rd, ranked, &out)
	return out.Hits, err
}

// Find returns the partition among those that the caller may read that holds an
// item or episode of that id which he may see, his own first. A nil record is
// none.
func (rd *Reading) Find(ctx context.Context, id string) (memory.Partition, *Record, error) {
	for _, p := range rd.Partitions() {
		rec, err := rd.find(ctx, p, id)
		if rec != nil || err != nil {
			return p, rec, err
		}
	}
	return memory.Partition{}, nil, nil
}

func (rd *Reading) find(ctx context.Context, p memory.Partition, id string) (*Record, error) {
	items, err := rd.Store.Items(ctx, p.ID(), []string{id})
	if err != nil {
		return nil, err
	}
	if len(items) == 1 {
		if !rd.Admits(&items[0].Item) {
			return nil, nil
		}
		shown, err := rd.Show(ctx, p.ID(), items, time.Time{})
		if err != nil {
			return nil, err
		}
		return &shown[0], nil
	}
	episodes, err := rd.Store.Episodes(ctx, p.ID(), []string{id})
	if err != nil || len(episodes) == 0 || !rd.AdmitsEpisode(&episodes[0]) {
		return nil, err
	}
	rec := EpisodeRecord(&episodes[0])
	rec.label(p, episodes[0].UserID)
	return &rec, nil
}

// Line returns the version line of an item, of which the caller sees what he may
// read, from the first partition that he may read and that holds it. What closed
// a version and is hidden from him is not named. Errors: storage.ErrNotFound,
// also if the item itself is hidden.
func (rd *Reading) Line(ctx context.Context, id string) (memory.Partition, []storage.ItemRecord, error) {
	for _, p := range rd.Partitions() {
		line, err := rd.Store.Line(ctx, p.ID(), id)
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return p, nil, err
		}
		if line = rd.readable(line); slices.ContainsFunc(line, func(r storage.ItemRecord) bool { return r.ID == id }) {
			return p, line, nil
		}
	}
	return memory.Partition{}, nil, storage.ErrNotFound
}

// readable leaves out the records that are hidden from the caller, and their ids
// in the others.
func (rd *Reading) readable(line []storage.ItemRecord) []storage.ItemRecord {
	hidden := map[string]bool{}
	line = slices.DeleteFunc(line, func(r storage.ItemRecord) bool {
		hidden[r.ID] = !rd.Admits(&r.Item)
		return hidden[r.ID]
	})
	for i := range line {
		for n := range line[i].States {
			if s := &line[i].States[n]; hidden[s.Cause] {
				s.Cause = ""
			}
		}
		if hidden[line[i].Supersedes] {
			line[i].Supersedes = ""
		}
	}
	return line
}
