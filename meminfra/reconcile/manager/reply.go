package manager

import (
	"encoding/json"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/schema"
	"github.com/meminfra/memory-layer/meminfra/reconcile"
)

// reply is the form that the model is asked for, and operation one line of it.
// Both make the schema; what comes back is read by readReply and readOperation.
type reply struct {
	Operations []operation `json:"operations"`
}

type operation struct {
	Statement string `json:"statement"`
	Operation string `json:"operation" jsonschema:"enum=ADD,enum=UPDATE,enum=DELETE,enum=NOOP"`
	Memory    handle `json:"memory" jsonschema:"nullable"`
	Text      string `json:"text" jsonschema:"nullable"`
}

// members are the names that an operation may have.
var members = map[string]bool{"statement": true, "operation": true, "memory": true, "text": true}

var replySchema = schema.Must[reply]("operations")

// handle is a text that a model may give as a number.
type handle string

// UnmarshalJSON takes a string, a number as it is written, or null.
func (h *handle) UnmarshalJSON(b []byte) error {
	var n json.Number
	if len(b) > 0 && b[0] != '"' && json.Unmarshal(b, &n) == nil {
		*h = handle(n)
		return nil
	}
	return json.Unmarshal(b, (*string)(h))
}

// readReply takes the list out of a reply, whose envelope must be exactly that.
func readReply(text string) ([]json.RawMessage, error) {
	envelope, err := llm.Object(text, "operations")
	if err != nil {
		return nil, err
	}
	if len(envelope) != 1 {
		return nil, &llm.FormatError{Fault: `its object has other members than "operations"`}
	}
	var list []json.RawMessage
	if json.Unmarshal(envelope["operations"], &list) != nil || list == nil {
		return nil, &llm.FormatError{Fault: `its "operations" is no list`}
	}
	return list, nil
}

// readOperation reads one operation strictly. A member that is not asked for
// makes it malformed: a model has no say in ids or authority. statement is ""
// if it cannot be told.
func readOperation(raw json.RawMessage) (statement string, p reconcile.Proposal) {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil || all == nil {
		return "", reconcile.Proposal{Malformed: true}
	}
	var o operation
	fault := json.Unmarshal(raw, &o) != nil
	for name := range all {
		fault = fault || !members[name]
	}
	statement = strings.TrimSpace(o.Statement)
	if fault {
		return statement, reconcile.Proposal{Malformed: true}
	}
	return statement, reconcile.Proposal{Operation: o.Operation, Handle: string(o.Memory), Text: o.Text}
}
