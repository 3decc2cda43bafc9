package reconcile

import (
	"testing"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// usedTo is "I used to ..." said in a year: over by then, begun nobody knows when.
func usedTo(a memory.Authority, value string, said float64) memory.Statement {
	s := says(a, value, said)
	s.ID += "-past"
	s.Valid = memory.Validity{To: at(said)}
	return s
}

// TestUndatedPast: it never holds a moment, ends what it says is over, and in
// any order of arrival ends the same.
func TestUndatedPast(t *testing.T) {
	for name, c := range map[string]struct {
		told []memory.Statement
		want string
	}{
		"alone": {
			[]memory.Statement{usedTo(user, "A", 2024)},
			"A authorized [,2024) ended holds=false",
		},
		"beside another value": {
			[]memory.Statement{says(user, "B", 2020), usedTo(user, "A", 2024)},
			"A authorized [,2024) ended holds=false\nB authorized [2020,) active holds=true",
		},
		"ends the same value": {
			[]memory.Statement{says(user, "A", 2020), usedTo(user, "A", 2024)},
			"A authorized [2020,2024) ended holds=false",
		},
		"a weaker one does not": {
			[]memory.Statement{says(user, "A", 2020), usedTo(tool, "A", 2024)},
			"A authorized [2020,) active holds=true",
		},
		"taken up again": {
			[]memory.Statement{usedTo(user, "A", 2024), says(user, "A", 2025)},
			"A authorized [,2024) ended holds=false\nA authorized [2025,) active holds=true",
		},
		"twice": {
			[]memory.Statement{usedTo(user, "A", 2024), usedTo(user, "A", 2022)},
			"A authorized [,2022) ended holds=false",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range permutations(c.told) {
				st := &store{t: t}
				st.tellAll(order...)
				if got := st.view(); got != c.want {
					t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
				}
			}
		})
	}
}

func permutations(list []memory.Statement) [][]memory.Statement {
	if len(list) == 2 {
		return [][]memory.Statement{list, {list[1], list[0]}}
	}
	return [][]memory.Statement{list}
}
