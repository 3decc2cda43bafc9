package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// ErrExport: not an export as Export writes it.
var ErrExport = errors.New("not an export as it was written")

// LineError says what is wrong with which line of an export; errors.Is takes it
// for ErrExport. It holds no content.
type LineError struct {
	Line int64
	What string
}

func (e *LineError) Error() string { return fmt.Sprintf("%v: line %d: %s", ErrExport, e.Line, e.What) }
func (e *LineError) Unwrap() error { return ErrExport }

// maxLine bounds a line: an episode of the largest size, escaped, and its metadata.
const maxLine = 16 << 20

// Reader reads an export line by line.
type Reader struct {
	Header Header
	lines  *bufio.Scanner
	line   int64
}

// NewReader reads the header. Errors: *LineError.
func NewReader(r io.Reader) (*Reader, error) {
	x := &Reader{lines: bufio.NewScanner(r)}
	x.lines.Buffer(make([]byte, 0, 1<<16), maxLine)
	kind, row, err := x.next()
	if err != nil {
		return nil, err
	}
	h, ok := row.(*Header)
	if kind != lineHeader || !ok || h.Format != ExportFormat {
		return nil, x.bad("no header of " + ExportFormat)
	}
	x.Header = *h
	return x, nil
}

func (x *Reader) bad(what string) error { return &LineError{x.line, what} }

// next reads a line and takes it only in the form in which it was written.
func (x *Reader) next() (kind string, row any, err error) {
	x.line++
	if !x.lines.Scan() {
		if err := x.lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
			return "", nil, err
		}
		return "", nil, x.bad("the file ends before the export")
	}
	var line map[string]json.RawMessage
	if err := json.Unmarshal(x.lines.Bytes(), &line); err != nil || len(line) != 1 {
		return "", nil, x.bad("not one JSON object with one member")
	}
	var raw json.RawMessage
	for kind, raw = range line {
	}
	if row = rowOf(kind); row == nil {
		return "", nil, x.bad("an unknown kind of row")
	}
	if err := decodeRow(raw, row); err != nil {
		return "", nil, x.bad("not a row of its kind")
	}
	if again, err := encodeLine(kind, deref(row)); err != nil || !bytes.Equal(bytes.TrimSuffix(again, []byte("\n")), x.lines.Bytes()) {
		return "", nil, x.bad("not in canonical form")
	}
	return kind, row, nil
}

// finish checks that nothing comes after the end.
func (x *Reader) finish() error {
	x.line++
	if x.lines.Scan() || errors.Is(x.lines.Err(), bufio.ErrTooLong) {
		return x.bad("something after the end")
	}
	return x.lines.Err()
}

func rowOf(kind string) any {
	switch kind {
	case lineHeader:
		return &Header{}
	case lineEnd:
		return &End{}
	case lineExtraction:
		return &memory.Extraction{}
	case KindEntry:
		return &memory.Entry{}
	case KindEpisode:
		return &memory.Episode{}
	case KindItem:
		return &memory.Item{}
	case KindState:
		return &memory.State{}
	case KindEvidence:
		return &memory.Evidence{}
	case KindConflict:
		return &memory.Conflict{}
	case KindDecision:
		return &memory.Decision{}
	case KindFeedback:
		return &storage.Feedback{}
	}
	return nil
}

func deref(row any) any {
	switch r := row.(type) {
	case *Header:
		return *r
	case *End:
		return *r
	case *memory.Extraction:
		return *r
	case *memory.Entry:
		return *r
	}
	return covered(row).row
}

// coveredRow is a row with the object that an entry names it by.
type coveredRow struct {
	row    any
	object memory.Object
}

func covered(row any) coveredRow {
	switch r := row.(type) {
	case *memory.Episode:
		return coveredRow{*r, Episode(*r)}
	case *memory.Item:
		return coveredRow{*r, Item(*r)}
	case *memory.State:
		return coveredRow{*r, State(*r)}
	case *memory.Evidence:
		return coveredRow{*r, Evidence(*r)}
	case *memory.Conflict:
		return coveredRow{*r, Conflict(*r)}
	case *memory.Decision:
		return coveredRow{*r, Decision(*r)}
	case *storage.Feedback:
		return coveredRow{*r, Feedback(*r)}
	}
	return coveredRow{}
}
