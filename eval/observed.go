package eval

import (
	"context"

	"github.com/meminfra/memory-layer/eval/locomo"
	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// observed is an extractor that knows the answers: it proposes the observations
// that the data set brings, with their turns quoted whole as evidence.
type observed struct {
	byTurn map[string][]locomo.Observation // first evidence -> observations
}

func newObserved(c *locomo.Conversation) *observed {
	x := &observed{byTurn: map[string][]locomo.Observation{}}
	for _, o := range c.Observations {
		if len(o.Evidence) > 0 {
			x.byTurn[o.Evidence[0]] = append(x.byTurn[o.Evidence[0]], o)
		}
	}
	return x
}

// ID returns "locomo-observations/1".
func (*observed) ID() string { return "locomo-observations/1" }

// Extract returns the observations of the target messages, one candidate each.
func (x *observed) Extract(_ context.Context, in extract.Input) (extract.Output, error) {
	var out extract.Output
	for _, m := range in.Target {
		for _, o := range x.byTurn[m.MessageID] {
			out.Candidates = append(out.Candidates, extract.Candidate{
				Kind:      memory.KindFact,
				Text:      o.Text,
				Subject:   memory.Subject{Type: "person", Name: memory.FoldName(o.Speaker)},
				Polarity:  memory.Positive,
				EpisodeID: m.Episode.ID,
				Quote:     m.Content,
				Start:     0,
			})
		}
	}
	return out, nil
}
