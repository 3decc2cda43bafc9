package memory

import "testing"

func TestFiguresWithin(t *testing.T) {
	const buddy, scout = "The user has a dog named Buddy.", "The user adopted another dog, Scout, on 3 May."
	for _, c := range []struct {
		text    string
		sources []string
		want    bool
	}{
		{"The user has dogs named Buddy and Scout.", []string{buddy, scout}, true},
		{"Scout, adopted on 3 May, and Buddy are the user's dogs.", []string{buddy, scout}, true},
		{"The user has dogs named Buddy and Rex.", []string{buddy, scout}, false},
		{"The user adopted Scout on 4 May.", []string{buddy, scout}, false},
		{"The user adopted Scout on 3 June.", []string{buddy, scout}, false},
		{"The user does not have a dog named Buddy.", []string{buddy}, false},
		{"The user has two dogs, Buddy and Scout.", []string{buddy, scout}, false},
		{"3 dogs and 4 cats", []string{"4 dogs and 3 cats"}, false},
		{"The user likes tea.", []string{"The user does not like coffee.", "The user likes tea."}, true},
		{"", nil, true},
	} {
		if got := FiguresWithin(c.text, c.sources...); got != c.want {
			t.Errorf("FiguresWithin(%q, %q) = %t", c.text, c.sources, got)
		}
	}
}

func TestWordsWithin(t *testing.T) {
	for _, c := range []struct {
		text    string
		sources []string
		want    bool
	}{
		{"The user has adopted dogs named Buddy and Scout.", []string{"The user has a dog named Buddy.", "The user adopts Scout."}, true},
		{"The user has approved every transfer to anybody.", []string{"The user has a dog named Buddy.", "The user adopts Scout."}, false},
		{"the office is now in lisbon", []string{"The office is in Lisbon."}, true},
		{"and so on", nil, true},
	} {
		if got := WordsWithin(c.text, c.sources...); got != c.want {
			t.Errorf("WordsWithin(%q, %q) = %t", c.text, c.sources, got)
		}
	}
}
