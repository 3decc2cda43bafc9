package locomo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dateForm is how the file writes when a session took place.
const dateForm = "3:04 pm on 2 January, 2006"

// ErrFormat: the file is not LoCoMo, or a part of it cannot be used.
var ErrFormat = errors.New("not in LoCoMo's format")

// Load reads a file: see Read.
func Load(path string) ([]Conversation, []Note, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return Read(f)
}

// Read returns the conversations in the order of the file, sessions in numeric
// order, and notes on evidence that was repaired or dropped. Errors: ErrFormat
// for what leaves nothing to score (no list, no sample id, a session without
// turns or date, a turn id given twice, an unknown category).
func Read(r io.Reader) ([]Conversation, []Note, error) {
	var samples []rawSample
	if err := json.NewDecoder(r).Decode(&samples); err != nil {
		return nil, nil, fmt.Errorf("%w: want a list of objects with sample_id, conversation and qa: %w", ErrFormat, err)
	}
	var notes []Note
	list := make([]Conversation, len(samples))
	for i := range samples {
		l := loader{raw: &samples[i], turns: map[string]bool{}}
		if err := l.load(); err != nil {
			return nil, nil, fmt.Errorf("sample %d %s: %w", i+1, samples[i].ID, err)
		}
		list[i] = l.out
		notes = append(notes, l.notes...)
	}
	return list, notes, nil
}

// Only keeps the conversations with the given ids, in their order in the file;
// no ids keep all. An id that is not there is an error.
func Only(all []Conversation, ids []string) ([]Conversation, error) {
	if len(ids) == 0 {
		return all, nil
	}
	var kept []Conversation
	for _, c := range all {
		if slices.Contains(ids, c.ID) {
			kept = append(kept, c)
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(kept, func(c Conversation) bool { return c.ID == id }) {
			return nil, fmt.Errorf("no conversation %s in the file", id)
		}
	}
	return kept, nil
}

type rawSample struct {
	ID           string                                 `json:"sample_id"`
	Conversation map[string]json.RawMessage             `json:"conversation"`
	Questions    []rawQuestion                          `json:"qa"`
	Observations map[string]map[string][]rawObservation `json:"observation"`
}

type rawTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

type rawQuestion struct {
	Question    string   `json:"question"`
	Answer      any      `json:"answer"`
	Adversarial any      `json:"adversarial_answer"`
	Evidence    []string `json:"evidence"`
	Category    Category `json:"category"`
}

// rawObservation is [text, evidence], evidence one string or a list of them.
type rawObservation [2]json.RawMessage

// loader turns one raw sample into a conversation.
type loader struct {
	raw   *rawSample
	out   Conversation
	turns map[string]bool
	notes []Note
}

func (l *loader) load() error {
	if l.raw.ID == "" {
		return fmt.Errorf("%w: no sample_id", ErrFormat)
	}
	l.out.ID = l.raw.ID
	for _, n := range sessionNumbers(l.raw.Conversation) {
		s, err := l.session(n)
		if err != nil {
			return fmt.Errorf("session_%d: %w", n, err)
		}
		l.out.Sessions = append(l.out.Sessions, s)
	}
	for n, q := range l.raw.Questions {
		if q.Category.String() == "" {
			return fmt.Errorf("question %d: %w: category %d", n, ErrFormat, q.Category)
		}
		l.out.Questions = append(l.out.Questions, Question{N: n, Text: q.Question, Category: q.Category,
			Answer: answerText(q), Evidence: l.evidence(fmt.Sprintf("question %d", n), q.Evidence)})
	}
	return l.observations()
}

// sessionNumbers are those of the sessions that exist, in numeric order. A date
// without a session, as conv-26 has them, is none.
func sessionNumbers(keys map[string]json.RawMessage) []int {
	var numbers []int
	for key := range keys {
		rest, ok := strings.CutPrefix(key, "session_")
		if n, err := strconv.Atoi(rest); ok && err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

func (l *loader) session(n int) (Session, error) {
	s := Session{N: n, Name: fmt.Sprintf("session_%d", n)}
	var said []rawTurn
	if err := json.Unmarshal(l.raw.Conversation[s.Name], &said); err != nil {
		return s, fmt.Errorf("%w: want a list of turns with speaker, dia_id and text", ErrFormat)
	}
	var date string
	if err := json.Unmarshal(l.raw.Conversation[s.Name+"_date_time"], &date); err != nil {
		return s, fmt.Errorf("%w: no %s_date_time", ErrFormat, s.Name)
	}
	var err error
	if s.At, err = time.Parse(dateForm, date); err != nil {
		return s, fmt.Errorf("%w: %s_date_time is not like %q", ErrFormat, s.Name, dateForm)
	}
	for _, t := range said {
		switch {
		case t.ID == "" || t.Text == "" && t.Caption == "":
			return s, fmt.Errorf("%w: a turn without dia_id or text", ErrFormat)
		case l.turns[t.ID]:
			return s, fmt.Errorf("%w: turn %s twice", ErrFormat, t.ID)
		}
		l.turns[t.ID] = true
		s.Turns = append(s.Turns, Turn{ID: t.ID, Speaker: t.Speaker, Text: t.Text, Caption: t.Caption})
	}
	return s, nil
}

// answerText is the answer as text; six answers are numbers.
func answerText(q rawQuestion) string {
	for _, v := range []any{q.Answer, q.Adversarial} {
		switch v := v.(type) {
		case string:
			return v
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return ""
}

// evidence cleans a list of evidence strings by the rules of the data's README:
// split them on ; , and blanks, read D:11:26 as D11:26 and D30:05 as D30:5,
// drop what names no turn, and repeats. What was not as it should be is noted.
func (l *loader) evidence(place string, raw []string) []string {
	var ids []string
	for _, field := range raw {
		parts := strings.FieldsFunc(field, func(r rune) bool { return r == ';' || r == ',' || r == ' ' || r == '\t' || r == '\n' })
		if len(parts) != 1 {
			l.note(place, field, fmt.Sprintf("read as %d ids", len(parts)))
		}
		for _, part := range parts {
			id := turnID(part)
			switch {
			case !l.turns[id]:
				l.note(place, part, "names no turn: dropped")
				continue
			case slices.Contains(ids, id):
				l.note(place, part, "named twice")
				continue
			case id != part:
				l.note(place, part, "read as "+id)
			}
			ids = append(ids, id)
		}
	}
	return ids
}

// turnID brings an id to the form D<session>:<turn>; what is no id stays.
func turnID(s string) string {
	rest, ok := strings.CutPrefix(s, "D")
	session, turn, two := strings.Cut(strings.TrimPrefix(rest, ":"), ":")
	a, errA := strconv.Atoi(session)
	b, errB := strconv.Atoi(turn)
	if !ok || !two || errA != nil || errB != nil {
		return s
	}
	return fmt.Sprintf("D%d:%d", a, b)
}

func (l *loader) note(place, raw, problem string) {
	l.notes = append(l.notes, Note{Conversation: l.raw.ID, Place: place, Raw: raw, Problem: problem})
}

// observations are read by session number, then speaker, then as listed.
func (l *loader) observations() error {
	for _, s := range l.out.Sessions {
		bySpeaker := l.raw.Observations[s.Name+"_observation"]
		var speakers []string
		for name := range bySpeaker {
			speakers = append(speakers, name)
		}
		slices.Sort(speakers)
		for _, name := range speakers {
			for i, raw := range bySpeaker[name] {
				place := fmt.Sprintf("%s observation %s %d", s.Name, name, i+1)
				o := Observation{Session: s.Name, Speaker: name}
				var ids stringOrList
				if json.Unmarshal(raw[0], &o.Text) != nil || json.Unmarshal(raw[1], &ids) != nil {
					return fmt.Errorf("%s: %w: want [text, evidence]", place, ErrFormat)
				}
				o.Evidence = l.evidence(place, ids)
				l.out.Observations = append(l.out.Observations, o)
			}
		}
	}
	return nil
}

// stringOrList is a JSON string or list of strings.
type stringOrList []string

func (s *stringOrList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*s = []string{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(s))
}
