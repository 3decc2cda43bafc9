package llm

import (
	"context"
	"errors"
	"fmt"
)

// MaxAttempts is how often a reply that cannot be read is asked for. Source:
// python-meminfra section 2.
const MaxAttempts = 3

// Ask puts one question and returns what read makes of the reply. A reply that
// read refuses is asked for again, MaxAttempts in all: with the same messages
// and repair, a format for one %s, with the fault in it. The bad reply itself is
// not shown to the model. One that was cut is refused even if it can be read: what
// stands in it may be a draft. Errors: those of the generator, which has its own
// rule for repeats, and a *FormatError if no reply could be read.
func Ask[T any](ctx context.Context, gen Generator, req Request, repair string, read func(string) (T, error)) (T, error) {
	var none T
	asked := req.Messages
	for attempt := 1; ; attempt++ {
		resp, err := gen.Generate(ctx, req)
		if err != nil {
			return none, fmt.Errorf("asking the model: %w", err)
		}
		v, err := read(resp.Text)
		if err == nil && !resp.Truncated {
			return v, nil
		}
		fault := &FormatError{Fault: "it is not of the form asked for"}
		errors.As(err, &fault)
		if resp.Truncated {
			fault = &FormatError{Fault: "it was cut off at the limit of its length"}
		}
		if attempt == MaxAttempts {
			return none, fmt.Errorf("after %d attempts: %w", attempt, fault)
		}
		again := Message{Role: RoleUser, Content: fmt.Sprintf(repair, fault.Fault)}
		req.Messages = append(asked[:len(asked):len(asked)], again)
	}
}
