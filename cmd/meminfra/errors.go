package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a command line that cannot be carried out as it stands.
type usageError struct {
	text string
	hint string // something to try, "" for nothing
}

func (e *usageError) Error() string { return e.text }

func usage(text, hint string) error { return &usageError{text: text, hint: hint} }

// hinted is a failure with something to try.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// misuse are the errors of the facade that the command line caused.
var misuse = []error{
	meminfra.ErrNoUser, meminfra.ErrBlankQuery, meminfra.ErrLimit, meminfra.ErrFilter, meminfra.ErrCursor,
	meminfra.ErrNoMessages, meminfra.ErrBlankMessage, meminfra.ErrTooLong, meminfra.ErrTooMany,
	meminfra.ErrEdge, meminfra.ErrTwoScopes, meminfra.ErrNoSources, meminfra.ErrNoAction, meminfra.ErrReward, meminfra.ErrNoSelector, meminfra.ErrSelectors, meminfra.ErrExpiry, meminfra.ErrKind, meminfra.ErrNoValue, memory.ErrBlank, memory.ErrMalformedID,
}

// report writes the error as one line, with a hint where there is one, and
// returns the exit code it means.
func (a *app) report(err error) int {
	code, hint := classify(err)
	text := strings.Join(strings.Fields(err.Error()), " ")
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	fmt.Fprintf(a.stderr, "meminfra: %s\n", a.target.redact(text))
	if hint != "" {
		fmt.Fprintf(a.stderr, "try: %s\n", hint)
	}
	return code
}

// classify returns the exit code and the hint of an error.
func classify(err error) (code int, hint string) {
	if u, ok := errors.AsType[*usageError](err); ok {
		return exitUsage, u.hint
	}
	code = exitFailure
	for _, m := range misuse {
		if errors.Is(err, m) {
			code = exitUsage
		}
	}
	if h, ok := errors.AsType[*hinted](err); ok {
		return code, h.hint
	}
	return code, hintFor(err)
}

func hintFor(err error) string {
	schema, isSchema := errors.AsType[*storage.SchemaError](err)
	switch {
	case isSchema && schema.Dirty:
		return fmt.Sprintf("a backup; or make the tables what step %04d of meminfra migrate --show-sql says, then UPDATE meminfra_migrations SET dirty = FALSE", schema.Have)
	case errors.Is(err, meminfra.ErrNoUser):
		return "--user NAME"
	case errors.Is(err, meminfra.ErrHidden):
		return "meminfra grant for the agents and resources it came through, meminfra sweep if it has expired, or --whole as who keeps the store"
	case errors.Is(err, meminfra.ErrNoSelector), errors.Is(err, meminfra.ErrSelectors):
		return "--user alone, or with one of --conversation, --id or filters"
	case errors.Is(err, meminfra.ErrFilter) && strings.Contains(err.Error(), "unknown field"):
		return "one of " + strings.Join(filterKeys(), ", ")
	case isSchema && !schema.Dirty && schema.Have < schema.Want:
		return "meminfra migrate"
	case errors.Is(err, storage.ErrBusy):
		return "again once the other process is done"
	case errors.Is(err, storage.ErrUnreachable):
		return "again with the server running, or another address in --db or DATABASE_URL"
	case errors.Is(err, meminfra.ErrNoLedgerKey):
		return "LEDGER_KEY, a secret, in the environment"
	case errors.Is(err, meminfra.ErrMessageConflict):
		return "another message id; a stored message never changes"
	case errors.Is(err, meminfra.ErrNotCurrent):
		return "meminfra history --user U ID: the last version is the present one"
	case errors.Is(err, meminfra.ErrKeyReused):
		return "another --key, or the same message as the first time"
	}
	return extractionHint(err)
}

// extractionHint says how stored messages that wait get extracted: who adds them
// again would have them twice.
func extractionHint(err error) string {
	if _, waits := errors.AsType[*meminfra.ExtractionError](err); !waits {
		return ""
	}
	const then = "meminfra reprocess --user U: the messages are stored and wait"
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		if errors.Is(err, llm.ErrMalformed) && !failed.Retryable {
			return "another base URL, since what answers is no model server (meminfra config says where it is), then " + then
		}
		switch failed.Status {
		case http.StatusUnauthorized, http.StatusForbidden:
			return "another key (meminfra config says which is sent), then " + then
		case http.StatusNotFound:
			return "a model that the server has (meminfra config says which is asked for), then " + then
		}
	}
	return then
}
