package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxReplyBytes is the longest reply that Object reads.
const MaxReplyBytes = 1 << 20

// maxOpenings bounds how many braces are tried as the start of an object, and
// with it the work for a reply made of braces.
const maxOpenings = 100

// FormatError says why a reply is not the object asked for, in words that can
// be shown to the model. It holds nothing of the reply.
type FormatError struct{ Fault string }

func (e *FormatError) Error() string { return "model reply: " + e.Fault }

// Object reads the one JSON object with the member want out of a reply, and
// returns its members. It looks past fences, prose and reasoning blocks. Errors
// are *FormatError: an empty or cut reply, no JSON object, none with the
// member, one that has a member twice, or several that differ, of which none is
// taken by guess.
func Object(reply, want string) (map[string]json.RawMessage, error) {
	if len(reply) > MaxReplyBytes {
		return nil, &FormatError{fmt.Sprintf("it is %d bytes long, at most %d are read", len(reply), MaxReplyBytes)}
	}
	if strings.TrimSpace(reply) == "" {
		return nil, &FormatError{"it is empty"}
	}
	objects, broken := findObjects(reply)
	if broken == io.ErrUnexpectedEOF {
		return nil, &FormatError{"its JSON is cut off"}
	}
	var wanted []object
	for _, o := range objects {
		if o.members[want] != nil {
			wanted = append(wanted, o)
		}
	}
	wanted = answers(reply, objects, wanted)
	switch {
	case len(wanted) == 0 && broken != nil:
		return nil, &FormatError{"its JSON is not valid"}
	case len(wanted) == 0 && len(objects) > 0:
		return nil, &FormatError{fmt.Sprintf("its object has no member %q", want)}
	case len(wanted) == 0:
		return nil, &FormatError{"it has no JSON object"}
	}
	if wanted[0].twice {
		return nil, &FormatError{"its object has a member twice"}
	}
	for _, o := range wanted[1:] {
		if !bytes.Equal(o.compact, wanted[0].compact) {
			return nil, &FormatError{fmt.Sprintf("it has more than one object with a member %q", want)}
		}
	}
	return wanted[0].members, nil
}

// object is a JSON object that stands at [start, end) of a reply.
type object struct {
	start, end int
	compact    []byte
	members    map[string]json.RawMessage
	twice      bool // it has a member twice, and nobody can tell which counts
}

// readMembers reads the members of a valid JSON object.
func (o *object) readMembers(raw []byte) {
	o.members = map[string]json.RawMessage{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, err := dec.Token() // the brace
	for err == nil && dec.More() {
		var name json.Token
		if name, err = dec.Token(); err != nil {
			return
		}
		var value json.RawMessage
		err = dec.Decode(&value)
		_, known := o.members[name.(string)]
		o.twice = o.twice || known
		o.members[name.(string)] = value
	}
}

// findObjects returns the objects of a text that stand in no other one. broken
// is nil unless something began like an object and was none:
// io.ErrUnexpectedEOF if the text ends within it.
func findObjects(text string) (list []object, broken error) {
	at := 0
	for range maxOpenings {
		n := strings.IndexByte(text[at:], '{')
		if n < 0 {
			break
		}
		at += n
		var raw json.RawMessage
		if err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&raw); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return list, io.ErrUnexpectedEOF
			}
			if opensObject(text[at+1:]) {
				broken = err
			}
			at++
			continue
		}
		o := object{start: at, end: at + len(raw)}
		var compact bytes.Buffer
		if json.Compact(&compact, raw) == nil {
			o.readMembers(raw)
			o.compact = compact.Bytes()
			list = append(list, o)
		}
		at = o.end
	}
	return list, broken
}

// opensObject tells an object from a brace in prose ("{name}").
func opensObject(afterBrace string) bool {
	return strings.HasPrefix(strings.TrimLeft(afterBrace, " \t\r\n"), `"`)
}

// reasoningTags are those between which models think aloud before they answer.
var reasoningTags = []string{"think", "thinking", "thought", "reasoning", "analysis"}

// answers drops the objects that stand in or before a reasoning block: drafts.
// Only tags outside of objects count, those within are somebody's words. The
// opening tag may be missing, since some servers put it into the prompt; a
// block that is not closed has no answer after it.
func answers(reply string, objects, wanted []object) []object {
	prose := []byte(reply)
	for _, o := range objects {
		for i := o.start; i < o.end; i++ {
			prose[i] = '.'
		}
	}
	closed, open := -1, len(prose)
	for _, tag := range reasoningTags {
		if at := bytes.LastIndex(prose, []byte("</"+tag+">")); at >= 0 {
			closed = max(closed, at)
		}
		if at := bytes.LastIndex(prose, []byte("<"+tag+">")); at >= 0 && !bytes.Contains(prose[at:], []byte("</"+tag+">")) {
			open = min(open, at)
		}
	}
	var after, before []object
	for _, o := range wanted {
		switch {
		case o.start > open:
		case o.start > closed:
			after = append(after, o)
		default:
			before = append(before, o)
		}
	}
	if len(after) > 0 {
		return after
	}
	return before
}
