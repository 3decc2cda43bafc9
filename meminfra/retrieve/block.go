package retrieve

import (
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/recall"
)

// remembered is a hit as a context block shows it.
type remembered struct {
	ID        string            `json:"id"`
	Kind      memory.Kind       `json:"kind"`
	Text      string            `json:"text"`
	Speaker   string            `json:"speaker,omitempty"`
	Authority memory.Authority  `json:"authority"`
	Status    memory.Status     `json:"status"`
	ValidFrom *time.Time        `json:"valid_from,omitempty"`
	ValidTo   *time.Time        `json:"valid_to,omitempty"`
	Scope     memory.Visibility `json:"scope,omitempty"`
}

// ContextBlock renders the hits, then the shared ones, for a prompt: a marked
// block with one memory a line, as JSON, that no memory can close. A block that
// comes back in a message is known by its mark and not remembered again. No hits
// give "".
func (r *Result) ContextBlock() string {
	list := make([]remembered, 0, len(r.Hits)+len(r.Shared))
	for _, hits := range [][]Hit{r.Hits, r.Shared} {
		for i := range hits {
			h := &hits[i]
			list = append(list, remembered{h.ID, h.Kind, h.Text, h.Speaker, h.Authority, h.Status, h.ValidFrom, h.ValidTo, h.Scope})
		}
	}
	return recall.Block(list)
}
