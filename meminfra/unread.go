package meminfra

import (
	"fmt"
	"slices"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// maxUnread is how many attempts to read one message fail before no Add makes
// another: what could not be read thrice, each time in several replies, does not
// get better by itself. Reprocess still tries.
const maxUnread = 3

// takeUnread moves the episodes that could not be read out of those waiting.
func takeUnread(waiting map[string]*memory.Episode, list []extract.Unread) map[string]*memory.Episode {
	unread := make(map[string]*memory.Episode, len(list))
	for _, u := range list {
		if e := waiting[u.EpisodeID]; e != nil {
			unread[e.ID] = e
			delete(waiting, e.ID)
		}
	}
	return unread
}

// failed marks the extraction rows of the episodes that could not be read.
func (a *addition) failed(rows []memory.Extraction, unread map[string]*memory.Episode, list []extract.Unread) []memory.Extraction {
	tried := make(map[string]bool, len(list))
	for _, u := range list {
		tried[u.EpisodeID] = !u.Untried
	}
	var out []memory.Extraction
	for _, x := range rows {
		if unread[x.EpisodeID] == nil {
			continue
		}
		x.Status, x.LeaseUntil, x.Error, x.UpdatedAt = memory.ExtractionFailed, time.Time{}, "extractor", memory.Time(a.now())
		x.Attempts++
		if tried[x.EpisodeID] {
			x.Unread++
			x.Error = "unreadable"
		}
		out = append(out, x)
	}
	return out
}

// abandoned are the unread episodes that only Reprocess tries again; again are
// the others.
func (a *addition) abandoned(list []extract.Unread) (ids []string) {
	for _, u := range list {
		if !u.Untried && a.tried[u.EpisodeID]+1 >= maxUnread {
			ids = append(ids, u.EpisodeID)
		}
	}
	return ids
}

func (a *addition) again(list []extract.Unread) (ids []string) {
	abandoned := a.abandoned(list)
	for _, u := range list {
		if !slices.Contains(abandoned, u.EpisodeID) {
			ids = append(ids, u.EpisodeID)
		}
	}
	return ids
}

// unreadError is the error of a call whose other messages are committed.
func (a *addition) unreadError(list []extract.Unread) error {
	if len(list) == 0 {
		return nil
	}
	failed := &ExtractionError{Abandoned: a.abandoned(list), Err: llm.Safe(list[0].Err)}
	for _, u := range list {
		failed.EpisodeIDs = append(failed.EpisodeIDs, u.EpisodeID)
		failed.untried = failed.untried || u.Untried
	}
	a.noteAbandoned(len(failed.Abandoned))
	return failed
}

// and joins two failures; e may be nil.
func (e *ExtractionError) and(f *ExtractionError) *ExtractionError {
	if e == nil {
		return f
	}
	return &ExtractionError{EpisodeIDs: append(e.EpisodeIDs, f.EpisodeIDs...), Abandoned: append(e.Abandoned, f.Abandoned...), Err: e.Err}
}

// noteAbandoned says in the result what no Add tries again.
func (a *addition) noteAbandoned(n int) {
	if n > 0 {
		a.degraded(fmt.Sprintf("%d messages could not be read in %d attempts: only Reprocess tries again", n, maxUnread))
	}
}
