package memory

import "testing"

// TestSameFigures holds case A07 and its siblings: each pair would pass for the
// same by similarity alone.
func TestSameFigures(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"The rehearsal is on 3 March in hall 4.", "The rehearsal is on 8 March in hall 4.", false},
		{"The rehearsal is on 3 March in hall 4.", "The rehearsal is on 4 March in hall 3.", false},
		{"The rehearsal is on 3 March in hall 4.", "On 3 March the rehearsal takes place in hall 4.", true},
		{"The rehearsal is on 3 March in hall 4.", "The rehearsal will be in hall 4 on the 3rd of March", true},
		{"The rehearsal is on 3 March in hall 4.", "The rehearsal is on 3 May in hall 4.", false},
		{"I take 5 mg.", "I take 50 mg.", false},
		{"I take 5 mg in the morning.", "I take 5mg in the morning", true},
		{"I take 5 mg.", "I take 5 g.", false},
		{"I take five pills daily.", "Daily I take 5 pills.", true},
		{"I have 3 cats and 4 dogs.", "I have 3 dogs and 4 cats.", false},
		{"It costs $5.", "It costs €5.", false},
		{"It is -5 degrees.", "It is 5 degrees.", false},
		{"We paid 1,000 euros.", "We paid 1000 euros.", true},
		{"We paid 1.000 euros.", "We paid 1000 euros.", false}, // ambiguous: apart
		{"Meet at 10:30.", "Meet at 10:45.", false},
		{"I drive a model B12.", "I drive a model B13.", false},
		{"I like tea.", "I do not like tea.", false},
		{"I like tea.", "I don't like tea.", false},
		{"I don't like tea.", "I do not like tea.", true},
		{"I work in Paris.", "I work in Rome.", false},
		{"Anna likes tea.", "Bert likes tea.", false},
		{"Anna likes tea.", "Tea is liked by Anna.", true},
		{"Anna told Bert.", "Bert told Anna.", false},
		{"Anna's office is large.", "The office of Anna is large.", true},
		{"The US team won.", "Their team told us it won.", false},
		{"Rehearsals are long.", "The rehearsals are long.", true},
		{"I swim every week.", "I swim every month.", false},
		{"I left last Monday.", "I left last Tuesday.", false},
		{"我住在巴黎", "我住在罗马", false},
		{"我住在巴黎", "我住在巴黎。", true},
		{"", "", true},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if got := SameFigures(pair[0], pair[1]); got != c.want {
				t.Errorf("SameFigures(%q, %q) = %t, %+v against %+v", pair[0], pair[1], got, figuresOf(pair[0]), figuresOf(pair[1]))
			}
		}
	}
}

func FuzzSameFigures(f *testing.F) {
	f.Add("I take -5 mg on 3 March, Anna's 1,000th.", "’'5-")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !SameFigures(a, a) {
			t.Errorf("%q is not the same as itself", a)
		}
		if SameFigures(a, b) != SameFigures(b, a) {
			t.Errorf("%q and %q: not symmetric", a, b)
		}
	})
}
