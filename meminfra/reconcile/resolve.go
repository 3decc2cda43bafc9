// Package reconcile decides what new statements do to what is stored.
//
// For controlled facts it is a pure fold: Resolve reads all statements of one
// fact key and says who holds it when; Diff turns that into the changes that
// bring the stored versions there. The answer is a function of the set of
// statements alone, so the order in which they arrive cannot matter. For
// open-world items, Manage holds a model's proposals to guards. Nothing here does
// I/O, reads a clock or keeps state.
//
// Source: design section 5; papers.md section 10 (Graphiti T1 to T4) and
// section 5 (AuthMem-Bench T4, T5, T7).
package reconcile

import (
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// Closing is how an interval came to its end.
type Closing string

// The closings; "" is an interval without end.
const (
	Superseded Closing = "superseded" // a later assertion; for a negation, of the same value
	Ended      Closing = "ended"      // a negation of at least the same authority
	SaidEnd    Closing = "said_end"   // its own witnesses name the end
	Outranked  Closing = "outranked"  // a stronger authority, later with another value or with the same one
	Continued  Closing = "continued"  // the same claim goes on: what was beside holds now, or back
)

// Reasons of conflicts.
const (
	ConflictValue    = "other_value" // two values at one moment, of different authority
	ConflictNegation = "negation"    // asserted and negated at one moment, by different authorities
	ConflictStart    = "same_start"  // one authority says both from the same moment; the latest told won
)

// Interval is one value asserted or negated over one stretch of world time by
// one authority. An empty Valid marks a claim that another of the same start
// and authority replaced at once: it is kept, never believed.
type Interval struct {
	ValueID   string
	Polarity  memory.Polarity
	Authority memory.Authority
	Valid     memory.Validity
	Holder    bool     // holds the fact key; else it stands beside the holder
	Founder   string   // the statement that rules at its start
	Support   []string // statements of its own authority, oldest rank first
	Echoes    []string // weaker statements that say the same, oldest rank first
	ClosedBy  string   // the statement that ended it; "" for none or a said end
	ClosedHow Closing
}

// Conflict is a pair of intervals that say what cannot both be true. A and B
// are their founders, A < B; Left and Right their indexes in Intervals.
type Conflict struct {
	A, B        string
	Left, Right int
	Reason      string
}

// Resolution is what all statements of one fact key amount to. Intervals are
// sorted by start, positive first, strongest authority first, then value;
// Conflicts follow the order of their intervals.
type Resolution struct {
	Intervals []Interval
	Conflicts []Conflict
}

// Resolve folds all statements of one fact key into intervals, a holder for
// every moment, and conflicts. Statements with one ID are one; a statement
// without id, value, polarity or authority is none. Every other statement is
// Support or Echo of at least one interval, so nothing said is lost.
//
// At every moment, among the statements in force then, ranked by (Valid.From,
// SentAt, ConversationID, Position, ID):
//
//   - The latest assertion of an authority speaks for it, unless a later
//     negation of that value by the same authority silences it. No predecessor
//     comes back in its place.
//   - A later contrary statement of a stronger authority ends a weaker one. An
//     equally old or older one does not: then the weaker stays beside it, holds
//     nothing, and the conflict is recorded. A weaker statement never ends a
//     stronger one.
//   - The strongest authority that speaks, and that no stronger one denies, holds
//     the key. Weaker ones of the same value are its echoes.
//   - A negation lasts until a later assertion of its value by at least the same
//     authority. It is remembered, and never holds the key.
//   - An undated past ("I used to live in Oslo": no From, a To) holds nothing. It
//     is a witness of the interval that it says is over, or has one of its own.
//   - A said end also ends what was told before it: "I worked at X until 2022"
//     closes the open "I work at X" of 2020.
//
// The cost is n times the number of distinct times; one statement costs two
// allocations. Source: design section 5.
func Resolve(statements []memory.Statement) Resolution {
	if len(statements) == 1 {
		return resolveOne(&statements[0])
	}
	f := newFold(statements)
	for _, at := range f.points {
		f.listen(at)
		f.closeSilent(at)
	}
	f.houseRest()
	r := f.resolution()
	r.addPasts(f.pasts)
	return r
}

// resolveOne is Resolve for the commonest input: a fact said once.
func resolveOne(s *memory.Statement) Resolution {
	if !isStatement(s) {
		return Resolution{}
	}
	iv := Interval{
		ValueID: s.ValueID, Polarity: s.Polarity, Authority: s.Authority, Valid: interval(micros(s.Valid)),
		Holder: s.Polarity == memory.Positive && !undatedPast(s), Founder: s.ID, Support: []string{s.ID},
	}
	if !iv.Valid.To.IsZero() {
		iv.ClosedHow = SaidEnd
	}
	if iv.Valid.Empty() {
		iv.Holder, iv.Valid.To = false, iv.Valid.From
	}
	return Resolution{Intervals: []Interval{iv}}
}

func isStatement(s *memory.Statement) bool {
	return s.ID != "" && s.ValueID != "" &&
		(s.Polarity == memory.Positive || s.Polarity == memory.Negative) &&
		s.Authority >= memory.Unendorsed && s.Authority <= memory.Authorized
}
