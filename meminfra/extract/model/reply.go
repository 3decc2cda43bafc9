package model

import (
	"encoding/json"
	"slices"

	"github.com/meminfra/memory-layer/meminfra/llm"
)

// reply is the form that the model is asked for, and proposal one memory in it.
// Both make the schema; what comes back is read by readReply and readProposal.
type reply struct {
	Memories []proposal `json:"memories"`
}

type proposal struct {
	Kind        string   `json:"kind" jsonschema:"enum=fact,enum=preference,enum=event,enum=experience"`
	Text        string   `json:"text"`
	SubjectType string   `json:"subject_type" jsonschema:"enum=speaker,enum=user,enum=person,enum=project,enum=organisation,enum=pet"`
	SubjectName string   `json:"subject_name" jsonschema:"nullable"`
	Predicate   string   `json:"predicate" jsonschema:"nullable"`
	Value       scalar   `json:"value" jsonschema:"nullable"`
	Polarity    string   `json:"polarity" jsonschema:"enum=positive,enum=negative"`
	From        string   `json:"from" jsonschema:"nullable"`
	To          string   `json:"to" jsonschema:"nullable"`
	Future      bool     `json:"future"`
	Past        bool     `json:"past"`
	Confidence  *float64 `json:"confidence" jsonschema:"minimum=0,maximum=1"`
	Importance  *float64 `json:"importance" jsonschema:"minimum=0,maximum=1"`
	Message     string   `json:"message"`
	Quote       string   `json:"quote"`
	Needs       []need   `json:"needs"`
}

// need is a further quote without which a memory is not said.
type need struct {
	Message string `json:"message"`
	Quote   string `json:"quote"`
}

// members are the names that a proposal may have.
var members = map[string]bool{"kind": true, "text": true, "subject_type": true, "subject_name": true, "predicate": true,
	"value": true, "polarity": true, "from": true, "to": true, "future": true, "past": true, "confidence": true,
	"importance": true, "message": true, "quote": true, "needs": true}

// scalar is a text that a model may give as a number: an age.
type scalar string

// UnmarshalJSON takes a string, a number as it is written, or null.
func (s *scalar) UnmarshalJSON(b []byte) error {
	var n json.Number
	if len(b) > 0 && b[0] != '"' && json.Unmarshal(b, &n) == nil {
		*s = scalar(n)
		return nil
	}
	return json.Unmarshal(b, (*string)(s))
}

// proposalJSON is a proposal not yet read.
type proposalJSON = json.RawMessage

// readReply takes the list out of a reply. The envelope must be exactly that: a
// model that says more beside an empty list may be saying that it failed.
func readReply(text string) ([]proposalJSON, error) {
	envelope, err := llm.Object(text, "memories")
	if err != nil {
		return nil, err
	}
	if len(envelope) != 1 {
		return nil, &llm.FormatError{Fault: `its object has other members than "memories"`}
	}
	var list []proposalJSON
	if json.Unmarshal(envelope["memories"], &list) != nil || list == nil {
		return nil, &llm.FormatError{Fault: `its "memories" is no list`}
	}
	if len(list) > 0 && !slices.ContainsFunc(list, isProposal) {
		return nil, &llm.FormatError{Fault: `its "memories" has no item with a "quote"`}
	}
	return list, nil
}

// isProposal reports an object that is meant for a memory. A list without one
// was not read, and is not an empty one.
func isProposal(raw proposalJSON) bool {
	var p map[string]json.RawMessage
	return json.Unmarshal(raw, &p) == nil && p["quote"] != nil
}

// readProposal reads one memory strictly; reason is "" if it is one. A member
// that is not asked for is a refusal: a model has no say in ids or authority.
func readProposal(raw proposalJSON) (p proposal, reason string) {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil || all == nil {
		return p, "not_an_object"
	}
	for name := range all {
		if !members[name] {
			return p, "unknown_field"
		}
	}
	if json.Unmarshal(raw, &p) != nil {
		return p, "wrong_type"
	}
	return p, ""
}
