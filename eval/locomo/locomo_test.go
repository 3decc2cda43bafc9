package locomo

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const mini = "../../testdata/locomo-mini/locomo-mini.json"

func load(t *testing.T) (Conversation, []Note) {
	t.Helper()
	all, notes, err := Load(mini)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("%d conversations", len(all))
	}
	return all[0], notes
}

func TestSessionsInNumericOrder(t *testing.T) {
	c, _ := load(t)
	var names []string
	for _, s := range c.Sessions {
		names = append(names, s.Name)
	}
	if want := []string{"session_1", "session_2", "session_10"}; !slices.Equal(names, want) {
		t.Errorf("sessions %v, want %v: numeric order, and no session for a date alone", names, want)
	}
	if at := c.Sessions[1].At; !at.Equal(time.Date(2024, 3, 18, 18, 40, 0, 0, time.UTC)) {
		t.Errorf("session 2 was at %v", at)
	}
	if c.Turns() != 19 {
		t.Errorf("%d turns", c.Turns())
	}
}

func TestCaptionsAreSaidSearchTermsAreNot(t *testing.T) {
	c, _ := load(t)
	turn := c.Sessions[0].Turns[4]
	if want := "Look what the frost did to it last winter. [image: a lemon tree with brown leaves in a clay tub]"; turn.Content() != want {
		t.Errorf("content %q", turn.Content())
	}
	if got := (Turn{Caption: "a boat"}).Content(); got != "[image: a boat]" {
		t.Errorf("a picture alone is %q", got)
	}
}

func TestEvidenceIsCleanedAndReported(t *testing.T) {
	c, notes := load(t)
	for n, want := range map[int][]string{
		2: {"D2:4", "D2:6"}, 3: {"D1:5", "D1:7", "D10:4"}, 4: {"D2:3"}, 6: nil, 7: {"D1:1"},
	} {
		if got := c.Questions[n].Evidence; !slices.Equal(got, want) {
			t.Errorf("evidence of question %d is %v, want %v", n, got, want)
		}
	}
	var got []string
	for _, n := range notes {
		got = append(got, n.Place+": "+n.Raw+": "+n.Problem)
	}
	for _, want := range []string{
		"question 2: D2:4; D2:6: read as 2 ids", "question 3: D:10:4: read as D10:4", "question 4: D2:03: read as D2:3",
		"question 7: D1:1: named twice", "question 7: D9:9: names no turn: dropped",
		"session_2 observation Tobias 1: D2:4, D2:6: read as 2 ids",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no note %q among %q", want, got)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d notes: %q", len(got), got)
	}
}

func TestAnswersCategoriesObservations(t *testing.T) {
	c, _ := load(t)
	if c.Questions[4].Answer != "9" || c.Questions[7].Answer != "a quince tree" {
		t.Errorf("answers %q and %q", c.Questions[4].Answer, c.Questions[7].Answer)
	}
	var names []string
	for _, k := range Categories {
		names = append(names, k.String())
	}
	if want := "multi_hop temporal open_domain single_hop adversarial"; strings.Join(names, " ") != want || Category(0).String() != "" {
		t.Errorf("categories %v", names)
	}
	if len(c.Observations) != 7 || c.Observations[2].Text == "" || !slices.Equal(c.Observations[2].Evidence, []string{"D1:5", "D1:7"}) {
		t.Errorf("observations %+v", c.Observations)
	}
}

func TestMalformedFiles(t *testing.T) {
	const turns = `"session_1_date_time":"4:04 pm on 20 January, 2023","session_1":[{"speaker":"A","dia_id":"D1:1","text":"hi"}]`
	for name, file := range map[string]string{
		"no JSON":        `{`,
		"no list":        `{"sample_id":"x"}`,
		"no id":          `[{"conversation":{}}]`,
		"no turns":       `[{"sample_id":"x","conversation":{"session_1_date_time":"4:04 pm on 20 January, 2023","session_1":"hi"}}]`,
		"no date":        `[{"sample_id":"x","conversation":{"session_1":[]}}]`,
		"another date":   `[{"sample_id":"x","conversation":{"session_1_date_time":"2023-01-20","session_1":[]}}]`,
		"a turn twice":   `[{"sample_id":"x","conversation":{"session_1_date_time":"4:04 pm on 20 January, 2023","session_1":[{"dia_id":"D1:1","text":"a"},{"dia_id":"D1:1","text":"b"}]}}]`,
		"an empty turn":  `[{"sample_id":"x","conversation":{"session_1_date_time":"4:04 pm on 20 January, 2023","session_1":[{"dia_id":"D1:1"}]}}]`,
		"a category":     `[{"sample_id":"x","conversation":{` + turns + `},"qa":[{"question":"q","category":6}]}]`,
		"an observation": `[{"sample_id":"x","conversation":{` + turns + `},"observation":{"session_1_observation":{"A":[["text",7]]}}}]`,
	} {
		if _, _, err := Read(strings.NewReader(file)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, _, err := Load("no such file"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestOnly(t *testing.T) {
	all := []Conversation{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	kept, err := Only(all, []string{"c", "a"})
	if err != nil || len(kept) != 2 || kept[0].ID != "a" || kept[1].ID != "c" {
		t.Errorf("kept %v, %v", kept, err)
	}
	if kept, err := Only(all, nil); err != nil || len(kept) != 3 {
		t.Errorf("no ids kept %v, %v", kept, err)
	}
	if _, err := Only(all, []string{"a", "d"}); err == nil {
		t.Error("an unknown id passes")
	}
}
