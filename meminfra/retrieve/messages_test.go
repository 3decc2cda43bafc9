package retrieve

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/meminfra/memory-layer/index"
)

// What stands around a message is what walking over the admitted messages finds:
// at most reach of them, from one session that others come between.
func TestMessagesAround(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, sessions := range []int{1, 5, 60} {
		rows := talk(t, rng, 400)
		for i := range rows {
			rows[i].SessionID = fmt.Sprint(rng.IntN(sessions))
			rows[i].ConversationID = fmt.Sprint(rng.IntN(2))
			rows[i].Private = rng.IntN(3) == 0 // and UserID is nobody's: hidden
		}
		err := partition(t, engines(), rows).View(func(v *index.View) error {
			p := takeCensus(v, func(a *index.Attr) bool { return !a.Private }, now)
			for row, a := range v.Rows() {
				home := row
				if a.Owner == index.Item {
					home, _ = v.Find(index.Key{Owner: index.Episode, ID: a.Source()})
				}
				number := p.messages.home(v, row)
				if hidden := v.Attr(home).Private; (number == none) != hidden {
					t.Fatalf("row %d: number %d, its message hidden: %v", row, number, hidden)
				}
				if number == none {
					continue
				}
				want := around{prev2: none, prev: none, next: none, next2: none}
				walk(v, home, -1, &want[prev], &want[prev2])
				walk(v, home, +1, &want[next], &want[next2])
				if got := p.messages.around(number); got != want {
					t.Fatalf("%d sessions: around row %d stand %v, want %v", sessions, home, got, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// walk puts the next messages of a row's session that may be seen into places.
func walk(v *index.View, row, step int, places ...*int32) {
	a, passed := v.Attr(row), 0
	for at := row + step; passed < reach && len(places) > 0; at += step {
		b := v.Attr(at)
		switch {
		case b == nil:
			return
		case b.Owner != index.Episode || b.Private:
			continue
		case b.SessionID == a.SessionID && b.ConversationID == a.ConversationID:
			*places[0] = int32(at)
			places = places[1:]
		}
		passed++
	}
}
