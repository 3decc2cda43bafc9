package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// maxLine bounds a line: a message of the greatest size, every byte escaped,
// with metadata.
const maxLine = 8 << 20

// jsonLine is one message of a JSON Lines file.
type jsonLine struct {
	ConversationID string          `json:"conversation_id"`
	ID             string          `json:"id"`
	Role           string          `json:"role"`
	Name           string          `json:"name"`
	Content        string          `json:"content"`
	SentAt         string          `json:"sent_at"`
	SessionID      string          `json:"session_id"`
	Source         string          `json:"source"`
	Metadata       memory.Metadata `json:"metadata"`
}

// jsonLines walks a JSON Lines file, all of it for one user.
func jsonLines(file *os.File, user string) turns {
	return func(yield func(turn, error) bool) {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			yield(turn{where: "the file"}, err)
			return
		}
		lines := bufio.NewReaderSize(file, 64<<10)
		for number := 1; ; number++ {
			line, err := readLine(lines)
			if errors.Is(err, io.EOF) {
				return
			}
			t := turn{where: "line " + strconv.Itoa(number), user: user}
			if err == nil {
				line = bytes.TrimRight(line, "\r\n")
				if number == 1 {
					line = bytes.TrimPrefix(line, []byte("\uFEFF"))
				}
				if len(bytes.TrimSpace(line)) == 0 {
					continue
				}
				err = t.fromJSON(line, number)
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// readLine returns the next line, io.EOF after the last.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// fromJSON reads one line. Its errors name fields, never what is in them.
func (t *turn) fromJSON(line []byte, number int) (err error) {
	var l jsonLine
	if err := strictJSON(line, &l); err != nil {
		return err
	}
	role, err := memory.ParseRole(l.Role)
	if err != nil {
		return errors.New("field role: want user, assistant, system, tool or document")
	}
	var sentAt time.Time
	if l.SentAt != "" {
		if sentAt, err = time.Parse(time.RFC3339Nano, l.SentAt); err != nil {
			return errors.New("field sent_at: not a time in RFC 3339")
		}
	}
	if l.ID == "" {
		l.ID = derivedID(line, number)
	}
	t.conversation, t.session = l.ConversationID, l.SessionID
	t.message = meminfra.Message{ID: l.ID, Role: role, Name: l.Name, Source: l.Source, Content: l.Content,
		SentAt: sentAt, Metadata: l.Metadata}
	return nil
}

// derivedID is the id of a message without one: the same line at the same
// place of a file is the same message, so importing it again adds nothing.
func derivedID(line []byte, number int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s", number, line))
	return "line-" + hex.EncodeToString(sum[:16])
}

// strictJSON decodes exactly one JSON object without unknown fields. Integers
// keep their digits: the library refuses those that JSON cannot carry.
func strictJSON(line []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return jsonFault(err)
	}
	if _, more := dec.Token(); more != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

// jsonFault says what is wrong without repeating what the line holds.
func jsonFault(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		switch {
		case wrong.Field == "":
			return errors.New("not a JSON object")
		case wrong.Type.Kind() == reflect.Map:
			return fmt.Errorf("field %s: want an object", wrong.Field)
		}
		return fmt.Errorf("field %s: want a %s", wrong.Field, wrong.Type)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("not valid JSON at byte %d", syntax.Offset)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok && len(name) <= 64 {
		return fmt.Errorf("unknown field %s: want conversation_id, id, role, name, content, sent_at, session_id, source or metadata", name)
	}
	return errors.New("not valid JSON")
}
