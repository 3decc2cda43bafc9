package main

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

	"github.com/meminfra/memory-layer/meminfra"
)

// locomoDate is how LoCoMo writes when a session took place.
const locomoDate = "3:04 pm on 2 January, 2006"

// locomoSample is one conversation of LoCoMo. Questions, observations and
// summaries are for scoring and are not read.
type locomoSample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
}

// locomoTurn is what a speaker says. The search term of a picture (query) was
// never said and is not read.
type locomoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// locomo reads a LoCoMo file. Without a user each sample is its own.
func locomo(file *os.File, user string) (turns, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var samples []locomoSample
	if err := json.NewDecoder(file).Decode(&samples); err != nil {
		return nil, badTurn("the file", errors.New("not a LoCoMo file: want a list of objects with sample_id and conversation"))
	}
	return func(yield func(turn, error) bool) {
		for i, s := range samples {
			if s.ID == "" {
				yield(turn{where: fmt.Sprintf("sample %d", i+1)}, errors.New("no sample_id"))
				return
			}
			for _, n := range s.sessions() {
				list, err := s.session(n, first(user, s.ID))
				if err != nil {
					yield(turn{where: fmt.Sprintf("%s session_%d", s.ID, n)}, err)
					return
				}
				for _, t := range list {
					if !yield(t, nil) {
						return
					}
				}
			}
		}
	}, nil
}

// sessions are the numbers of the sessions that exist, in order. A date
// without a session, as conv-26 has them, is none.
func (s locomoSample) sessions() []int {
	var numbers []int
	for key := range s.Conversation {
		rest, ok := strings.CutPrefix(key, "session_")
		if n, err := strconv.Atoi(rest); ok && err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

func (s locomoSample) session(n int, user string) ([]turn, error) {
	name := fmt.Sprintf("session_%d", n)
	var said []locomoTurn
	if err := json.Unmarshal(s.Conversation[name], &said); err != nil {
		return nil, errors.New("not a list of turns with speaker, dia_id and text")
	}
	var date string
	if err := json.Unmarshal(s.Conversation[name+"_date_time"], &date); err != nil {
		return nil, errors.New("no date")
	}
	at, err := time.Parse(locomoDate, date)
	if err != nil {
		return nil, errors.New(`its date is not like "4:04 pm on 20 January, 2023"`)
	}
	list := make([]turn, len(said))
	for i, t := range said {
		list[i] = turn{
			where: fmt.Sprintf("%s %s turn %d", s.ID, name, i+1),
			user:  user, conversation: s.ID, session: name,
			message: meminfra.Message{ID: t.ID, Name: t.Speaker, Content: t.content(), SentAt: at},
		}
	}
	return list, nil
}

// content is the text, and what the speaker's picture shows.
func (t locomoTurn) content() string {
	if t.Caption == "" {
		return t.Text
	}
	return strings.TrimSpace(t.Text + " [image: " + t.Caption + "]")
}
