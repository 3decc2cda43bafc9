package retrieve

import (
	"fmt"
	"slices"
	"strings"
)

// Signal is one thing that speaks for a candidate beside its rank.
type Signal uint8

// The signals, each in [0,1]. Word scores are divided by the bound that no score
// of the query exceeds, cosines are taken as they are (negative ones as 0): both
// scales depend on the query and the admitted rows alone, so an item's signal
// never falls because another item's rose. Neighbours are the admitted messages
// around it in its session; an item made from a message stands where that
// message does.
const (
	Words         Signal = iota // its own word score
	WordsPrev2                  // that of the message before the one before
	WordsNext                   // that of the message after
	WordsNext2                  // and of the one after that
	WordsSession                // the best in its session
	Answers                     // word score of the message before, if that one asks
	Cosine                      // its own cosine
	CosineSession               // the best in its session
	CosineAnswers               // cosine of the message before, if that one asks
	Entity                      // word score for the proper names in the query alone
	Speaker                     // by or about the one person that the query names
	Date                        // said on the date that the query names; half for the month
	TellsTime                   // has a time, and the query asks when
	TellsNumber                 // has a number, and the query asks how many
	TellsName                   // has a name, and the query asks who, where or which
	Tells                       // does not ask
	Exact                       // 61/(60+rank) in the structured branch
	OnRoute                     // of the granularity that the query leans to
	signalCount
)

// signalTable is the one place where signals are named and weighed. The weights
// were fitted by `make tune` (eval/tune) on five conversations of LoCoMo, conv-26,
// 41, 43, 47 and 49, and are reported on the other five. Three were set by hand:
//
//   - Exact, since LoCoMo does not ask for facts: the fact that carries the very
//     relation asked for stands above any message with the same words, however
//     often an older value was talked about.
//   - OnRoute, so that a fact stands above messages that are as good.
//   - Cosine, for embedders that know meaning. With the built-in one it would be
//     0: its rank in the fusion says all there is.
//
// None is negative. Fitted to 0 and left out: the word score of a message before
// that does not ask, the mean of a session's three best, and the text's length.
var signalTable = [signalCount]struct {
	name   string
	weight float64
}{
	Words:         {"words", 6.58},
	WordsPrev2:    {"words_prev2", 3.23},
	WordsNext:     {"words_next", 1.58},
	WordsNext2:    {"words_next2", 0.85},
	WordsSession:  {"words_session", 8.73},
	Answers:       {"answers", 3.72},
	Cosine:        {"cosine", 1.5},
	CosineSession: {"cosine_session", 1.1},
	CosineAnswers: {"cosine_answers", 2.18},
	Entity:        {"entity", 0.73},
	Speaker:       {"speaker", 0.88},
	Date:          {"date", 4.08},
	TellsTime:     {"tells_time", 2.1},
	TellsNumber:   {"tells_number", 1.1},
	TellsName:     {"tells_name", 1.69},
	Tells:         {"tells", 0.58},
	Exact:         {"exact", 25},
	OnRoute:       {"on_route", 1},
}

// String returns the signal's name, "" for none.
func (s Signal) String() string {
	if s >= signalCount {
		return ""
	}
	return signalTable[s].name
}

// Weight is what the signal counts at most, on the scale where the first place
// in all three branches counts 1.
func (s Signal) Weight() float64 {
	if s >= signalCount {
		return 0
	}
	return signalTable[s].weight
}

// Signals are the signals of one hit by Signal, each in [0,1].
type Signals [signalCount]float64

// sum adds what the signals count.
func (s *Signals) sum() float64 {
	total := 0.0
	for i, x := range s {
		// The conversion keeps the compiler from fusing: same bits everywhere.
		total += float64(signalTable[i].weight * x)
	}
	return total
}

// mostSignals is the highest sum that signals can have.
var mostSignals = func() float64 {
	total := 0.0
	for _, row := range signalTable {
		total += row.weight
	}
	return total
}()

// Explanation says how a hit came by its score: with context,
// Score = (Fused + Prior + sum of Weight*Signals) / Scale; without, the signals
// are 0 and Scale covers the rest alone.
type Explanation struct {
	Fused   float64 // by rank in the branches, times the route's weight
	Prior   float64
	Signals Signals
	Scale   float64 // the most that the sum can be
}

// Score puts the parts together.
func (e *Explanation) score() float64 {
	return (e.Fused + e.Prior + e.Signals.sum()) / e.Scale
}

// Coverage is about how much of the query's words, weighed by how rare they are,
// the hit has, in [0,1]: its word score against that of a text with each of them
// once. 0 without context.
func (e *Explanation) Coverage() float64 {
	const once = 1 / 1.9 // of the bound idf*(k1+1), with k1 = 0.9 and b = 0
	return min(e.Signals[Words]/once, 1)
}

// String tells the parts on one line, the biggest first, as they enter the
// score: "fused 0.020 words 0.104 speaker 0.024".
func (e Explanation) String() string {
	type part struct {
		name  string
		value float64
	}
	parts := []part{{"fused", e.Fused}, {"prior", e.Prior}}
	for i, x := range e.Signals {
		parts = append(parts, part{Signal(i).String(), Signal(i).Weight() * x})
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		switch {
		case a.value > b.value:
			return -1
		case a.value < b.value:
			return 1
		}
		return 0
	})
	var words []string
	for _, p := range parts {
		if p.value != 0 {
			words = append(words, fmt.Sprintf("%s %.3f", p.name, p.value/e.Scale))
		}
	}
	return strings.Join(words, " ")
}
