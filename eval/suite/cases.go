package suite

import (
	"errors"
	"fmt"
	"strings"

	"github.com/meminfra/memory-layer/eval/metrics"
	"github.com/meminfra/memory-layer/meminfra"
)

// testCase is one story with a verdict.
type testCase struct {
	name string
	run  func(*world) (metrics.Values, error)
}

// suites in the order of the report.
var suites = []struct {
	name  string
	cases func() []testCase
}{
	{"knowledge_update", func() []testCase { return changes([]int{0, 1, 2}) }},
	{"out_of_order", func() []testCase { return changes([]int{2, 1, 0}) }},
	{"retraction", retractions},
	{"cascade", cascades},
	{"ask_to_forget", forgettings},
	{"isolation", isolations},
	{"authority", authorities},
	{"own_word", ownWords},
}

// each makes a case of every topic and every two of its values.
func each(f func(t topic, before, after string) func(*world) (metrics.Values, error)) []testCase {
	var list []testCase
	for _, t := range topics {
		for _, before := range t.values {
			for _, after := range t.values {
				if before != after {
					list = append(list, testCase{fmt.Sprintf("%s %s to %s", t.name, before, after), f(t, before, after)})
				}
			}
		}
	}
	return list
}

// changes tells a change in three messages, which arrive in the given order; what
// is known after must not depend on it.
func changes(order []int) []testCase {
	return each(func(t topic, before, after string) func(*world) (metrics.Values, error) {
		return func(w *world) (metrics.Values, error) {
			messages := []string{fmt.Sprintf(t.say, before), chatter[len(before)%len(chatter)], fmt.Sprintf(t.turn, after)}
			for _, i := range order {
				if err := w.say(10*i, messages[i]); err != nil {
					return nil, err
				}
			}
			hits, err := w.search(t.ask)
			return verdict(hits, after, before), err
		}
	})
}

// retractions: the owner takes back a fact that an older one stood under.
func retractions() []testCase {
	return each(func(t topic, before, after string) func(*world) (metrics.Values, error) {
		return func(w *world) (metrics.Values, error) {
			if err := w.say(0, fmt.Sprintf(t.say, after)); err != nil {
				return nil, err
			}
			item, err := w.fact(t.ask, after)
			if err != nil {
				return nil, err
			}
			if _, err := w.ml.Curate().Retract(w.ctx, meminfra.RetractRequest{UserID: w.user, ID: item}); err != nil {
				return nil, err
			}
			if err := w.say(1, chatter[len(before)%len(chatter)]); err != nil {
				return nil, err
			}
			hits, err := w.search(t.ask)
			return verdict(hits, "", after), err
		}
	})
}

// fact finds the item that states a value.
func (w *world) fact(query, value string) (id string, err error) {
	hits, err := w.search(query)
	if err != nil {
		return "", err
	}
	for i := range hits {
		if isFact(&hits[i], value) {
			return hits[i].ID, nil
		}
	}
	return "", fmt.Errorf("no fact with the value that was just told")
}

// cascades: a summary of a fact is flagged once the fact is superseded.
func cascades() []testCase {
	return each(func(t topic, before, after string) func(*world) (metrics.Values, error) {
		return func(w *world) (metrics.Values, error) {
			if err := w.say(0, fmt.Sprintf(t.say, before)); err != nil {
				return nil, err
			}
			item, err := w.fact(t.ask, before)
			if err != nil {
				return nil, err
			}
			made, err := w.ml.Curate().Derive(w.ctx, meminfra.DeriveRequest{UserID: w.user, From: []string{item}, Text: "A note on " + before + "."})
			if err != nil {
				return nil, err
			}
			if err := w.say(20, fmt.Sprintf(t.turn, after)); err != nil {
				return nil, err
			}
			stale, err := w.ml.Stale(w.ctx, meminfra.StaleRequest{UserID: w.user})
			if err != nil {
				return nil, err
			}
			hits, err := w.search(t.ask)
			v := verdict(hits, after, before)
			v["flagged"] = 0
			for _, r := range stale.Records {
				if r.ID == made.ItemID {
					v["flagged"] = 1
				}
			}
			return v, err
		}
	})
}

// forgettings: a fact that is to be forgotten is gone with the message that told
// it, from search and from history, and what it had replaced does not come back.
func forgettings() []testCase {
	return each(func(t topic, before, after string) func(*world) (metrics.Values, error) {
		return func(w *world) (metrics.Values, error) {
			kept := chatter[len(before)%len(chatter)]
			for day, text := range []string{fmt.Sprintf(t.say, before), kept, fmt.Sprintf(t.turn, after)} {
				if err := w.say(day, text); err != nil {
					return nil, err
				}
			}
			item, err := w.fact(t.ask, after)
			if err != nil {
				return nil, err
			}
			if _, err := w.ml.Forget(w.ctx, meminfra.ForgetRequest{UserID: w.user, ID: item}); err != nil {
				return nil, err
			}
			v := metrics.Values{"hit@1": 1, "hit@5": 0, "clean@5": 1}
			for _, query := range []string{t.ask, after, before, kept} {
				hits, err := w.search(query)
				if err != nil {
					return nil, err
				}
				for i := range hits {
					switch text := hits[i].Text; {
					case text == kept:
						v["hit@5"] = 1
					case isFact(&hits[i], before), isFact(&hits[i], after), strings.Contains(text, after):
						v["clean@5"] = 0
					}
				}
			}
			if _, err := w.ml.History(w.ctx, meminfra.HistoryRequest{UserID: w.user, ID: item}); !errors.Is(err, meminfra.ErrNotFound) {
				v["clean@5"] = 0
			}
			return v, nil
		}
	})
}

// isolations: two users say different things; each finds their own, and nothing
// of the other's, not even a message.
func isolations() []testCase {
	return each(func(t topic, before, after string) func(*world) (metrics.Values, error) {
		return func(w *world) (metrics.Values, error) {
			other := &world{ctx: w.ctx, ml: w.ml, user: w.user + "-other"}
			if err := w.say(0, fmt.Sprintf(t.say, before)); err != nil {
				return nil, err
			}
			if err := other.say(1, fmt.Sprintf(t.say, after)); err != nil {
				return nil, err
			}
			hits, err := w.search(t.ask)
			if err != nil {
				return nil, err
			}
			v := verdict(hits, before, after)
			for i := range hits {
				if len(hits[i].Evidence) > 0 && hits[i].Evidence[0].Quote == fmt.Sprintf(t.say, after) {
					v["clean@5"] = 0
				}
			}
			stranger := &world{ctx: w.ctx, ml: w.ml, user: w.user + "-nobody"}
			if hits, err = stranger.search(t.ask); len(hits) > 0 {
				v["clean@5"] = 0
			}
			return v, err
		}
	})
}
