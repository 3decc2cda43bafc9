package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Error is a provider's refusal or failure. It holds nothing of what was sent or
// answered: either may hold memory text, and an address may hold a key.
type Error struct {
	Provider string // "openai", "ollama", ...
	Status   int    // HTTP status; 0 if there was no answer
	// Reason says in a few fixed words what was wrong: "timeout",
	// "connection refused", "malformed answer".
	Reason     string
	Code       string        // the provider's own error code, "" if it is no plain identifier
	RequestID  string        // to ask the provider about
	Retryable  bool          // the same call may succeed later
	RetryAfter time.Duration // how long the provider asked to wait, 0 if it did not
	Err        error         // ErrMalformed, or context.DeadlineExceeded; may be nil
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Provider)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": status %d", e.Status)
	}
	if e.Reason != "" {
		b.WriteString(": " + e.Reason)
	}
	if e.Code != "" {
		b.WriteString(" (" + e.Code + ")")
	}
	if e.RequestID != "" {
		b.WriteString(", request " + e.RequestID)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// ErrMalformed is wrapped by errors about an answer that is not what the
// provider's protocol says.
var ErrMalformed = errors.New("malformed answer")

// ErrBudget is wrapped by a *BudgetError.
var ErrBudget = errors.New("budget used up")

// BudgetError says that a partition has used up its day's budget; the call was
// not made. It wraps ErrBudget and is not worth repeating before the next day.
type BudgetError struct {
	Partition string
	Day       time.Time // midnight UTC
	Spent     Usage
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%v: partition %q on %s: %d tokens in %d calls", ErrBudget, e.Partition,
		e.Day.Format(time.DateOnly), e.Spent.Tokens(), e.Spent.Calls)
}

func (e *BudgetError) Unwrap() error { return ErrBudget }

// Safe returns err with a text that can go into logs and results: that of an
// error of this package or of a context, else its type alone, since another's
// text may repeat the prompt. For errors.Is and errors.As it is err. nil is nil.
func Safe(err error) error {
	if err == nil {
		return nil
	}
	return safeError{err}
}

type safeError struct{ err error }

func (e safeError) Is(target error) bool { return errors.Is(e.err, target) }
func (e safeError) As(target any) bool   { return errors.As(e.err, target) }

func (e safeError) Error() string {
	var (
		provider *Error
		format   *FormatError
		budget   *BudgetError
		vector   *VectorError
	)
	switch {
	case errors.As(e.err, &provider):
		return provider.Error()
	case errors.As(e.err, &format):
		return format.Error()
	case errors.As(e.err, &budget):
		return budget.Error()
	case errors.As(e.err, &vector):
		return vector.Error()
	}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, ErrMalformed} {
		if errors.Is(e.err, known) {
			return known.Error()
		}
	}
	inner := e.err
	for next := errors.Unwrap(inner); next != nil; next = errors.Unwrap(inner) {
		inner = next
	}
	return fmt.Sprintf("an error of type %T", inner)
}

// Fault says in fixed words, for a line about what did not work, why a model
// gave nothing: "the embedder failed".
func Fault(who string, err error) string {
	switch {
	case errors.Is(err, ErrBudget):
		return who + " was not asked: the day's budget is used up"
	case errors.Is(err, context.DeadlineExceeded):
		return who + " did not answer in time"
	}
	return who + " failed"
}

// VectorError says that an embedder returned a vector that must not be stored:
// of another length, not finite, or zero. It wraps ErrMalformed.
type VectorError struct {
	Model string
	Text  int // which of the texts, from 0
	Fault string
	Want  int // length
	Got   int
}

func (e *VectorError) Error() string {
	return fmt.Sprintf("model %s: vector %d: %s (length %d, want %d)", e.Model, e.Text, e.Fault, e.Got, e.Want)
}

func (e *VectorError) Unwrap() error { return ErrMalformed }
