package meminfra

import (
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// sessions gives each message without a session the one that is nearest in
// time, if it is within the gap, else a new one named by when it began.
type sessions []storage.SessionSpan

func (s *sessions) assign(e *memory.Episode) {
	if e.SessionID == "" {
		e.SessionID = s.nearest(e.SentAt)
	}
	for i := range *s {
		span := &(*s)[i]
		if span.SessionID == e.SessionID {
			if e.SentAt.Before(span.First) {
				span.First = e.SentAt
			}
			if e.SentAt.After(span.Last) {
				span.Last = e.SentAt
			}
			return
		}
	}
	*s = append(*s, storage.SessionSpan{SessionID: e.SessionID, First: e.SentAt, Last: e.SentAt})
}

func (s *sessions) nearest(at time.Time) string {
	best, gap := "", sessionGap+1
	for _, span := range *s {
		distance := max(span.First.Sub(at), at.Sub(span.Last), 0)
		if distance < gap {
			best, gap = span.SessionID, distance
		}
	}
	if best != "" {
		return best
	}
	return at.UTC().Format(time.RFC3339)
}
