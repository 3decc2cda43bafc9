// Package locomo reads the LoCoMo data set (Maharana et al., "Evaluating Very
// Long-Term Conversational Memory of LLM Agents", ACL 2024): long two-person
// chats with questions that name the turns which answer them.
//
// The data is CC BY-NC 4.0 and no part of this repository; it is read from
// where the user has it. What is malformed in it is repaired by rule and
// reported, never passed over in silence. A picture's search term ("query") was
// never said and is not read; summaries are not read either.
package locomo

import (
	"strings"
	"time"
)

// Category is the kind of a question, numbered as in the file.
type Category int

// The categories. The numbers are not the order of the paper's list.
const (
	MultiHop    Category = 1
	Temporal    Category = 2
	OpenDomain  Category = 3
	SingleHop   Category = 4
	Adversarial Category = 5
)

// Categories are all of them, in order.
var Categories = []Category{MultiHop, Temporal, OpenDomain, SingleHop, Adversarial}

// String returns the canonical name: multi_hop, temporal, open_domain,
// single_hop or adversarial; "" for no category.
func (c Category) String() string {
	switch c {
	case MultiHop:
		return "multi_hop"
	case Temporal:
		return "temporal"
	case OpenDomain:
		return "open_domain"
	case SingleHop:
		return "single_hop"
	case Adversarial:
		return "adversarial"
	}
	return ""
}

// Conversation is one sample.
type Conversation struct {
	ID           string
	Sessions     []Session // by number
	Questions    []Question
	Observations []Observation
}

// Turns counts the turns of all sessions.
func (c *Conversation) Turns() int {
	n := 0
	for _, s := range c.Sessions {
		n += len(s.Turns)
	}
	return n
}

// Session is one sitting. At is its date and time, which the file gives without
// a zone and which is taken as UTC.
type Session struct {
	Name  string // session_N
	N     int
	At    time.Time
	Turns []Turn
}

// Turn is what a speaker says.
type Turn struct {
	ID      string // as in evidence, "D3:11"
	Speaker string
	Text    string
	Caption string // what the speaker's picture shows, "" without one
}

// Content is the turn as a message: its text and what its picture shows.
func (t Turn) Content() string {
	if t.Caption == "" {
		return t.Text
	}
	return strings.TrimSpace(t.Text + " [image: " + t.Caption + "]")
}

// Question is one question with the turns that answer it.
type Question struct {
	N        int // place in the sample, from 0
	Text     string
	Answer   string // of category 5: what a system must not say
	Category Category
	Evidence []string // ids of turns that exist, each once; empty for none
}

// Observation is a fact that the data set's authors let a model extract.
type Observation struct {
	Session  string // session_N
	Speaker  string
	Text     string
	Evidence []string // ids of turns that exist
}

// Note tells of something malformed and what was made of it.
type Note struct {
	Conversation string `json:"conversation"`
	Place        string `json:"place"` // for example "question 37"
	Raw          string `json:"raw"`
	Problem      string `json:"problem"`
}
