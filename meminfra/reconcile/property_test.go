package reconcile

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// randomStatements draws from few values, years and tellings, so that ties,
// echoes and reopenings are common.
func randomStatements(r *rand.Rand, n int) []memory.Statement {
	list := make([]memory.Statement, n)
	for i := range list {
		from := 2000 + r.IntN(6)
		s := memory.Statement{
			ID: fmt.Sprintf("s%d", i), ValueID: string(rune('A' + r.IntN(3))), Polarity: memory.Positive,
			Authority: memory.Authority(1 + r.IntN(3)), Valid: memory.Validity{From: at(float64(from))},
			SentAt: at(float64(from)), ConversationID: string(rune('x' + r.IntN(2))), Position: int64(r.IntN(3)),
		}
		if r.IntN(3) == 0 {
			s.Polarity = memory.Negative
		}
		if r.IntN(4) == 0 {
			s.Valid.To = at(float64(from + r.IntN(5))) // sometimes empty
		}
		if r.IntN(4) == 0 {
			s.SentAt = at(float64(2000 + r.IntN(8)))
		}
		if r.IntN(12) == 0 {
			s.Valid.From = at(2035) // not yet
			s.Valid.To = time.Time{}
		}
		if r.IntN(8) == 0 { // an undated past
			s.Polarity, s.Valid = memory.Positive, memory.Validity{To: s.SentAt}
		}
		list[i] = s
	}
	return list
}

func shuffled(r *rand.Rand, list []memory.Statement) []memory.Statement {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// arrive tells the store the statements in random order and random batches.
func (st *store) arrive(r *rand.Rand, list []memory.Statement) {
	for list = shuffled(r, list); len(list) > 0; {
		n := 1 + r.IntN(2)*r.IntN(len(list))
		st.add(list[:n]...)
		list = list[n:]
	}
}

// TestArrivalOrderCannotMatter is the property of the fold, seen from the stored
// versions: any order and batching of the same statements ends the same. Each
// step also holds the invariants of store.check.
func TestArrivalOrderCannotMatter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 2026))
	for n := range 1200 {
		list := randomStatements(r, 2+r.IntN(6))
		st := &store{t: t}
		st.arrive(r, list)
		if got, want := st.view(), viewOf(Resolve(list)); got != want {
			t.Fatalf("case %d: %+v\ngot\n%s\nwant\n%s", n, list, got, want)
		}
	}
}

// TestWithdrawalBetweenArrivals withdraws one claim after a first part of the
// statements: the order within each part cannot matter either. Undated pasts are
// left out: which version one had joined by then, and goes with, may depend on
// the order.
func TestWithdrawalBetweenArrivals(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 2026))
	differ := 0
	const cases = 250
	for n := range cases {
		list := slices.DeleteFunc(randomStatements(r, 3+r.IntN(4)), func(s memory.Statement) bool { return undatedPast(&s) })
		if len(list) < 3 {
			continue
		}
		cut := 2 + r.IntN(len(list)-2)
		victims := Resolve(list[:cut]).Intervals
		victim := victims[r.IntN(len(victims))]
		want := ""
		for k := range 3 {
			st := &store{t: t}
			st.arrive(r, list[:cut])
			st.withdrawClaim(victim)
			st.arrive(r, list[cut:])
			if k == 0 {
				want = st.view()
			} else if got := st.view(); got != want {
				differ++
				if differ < 3 {
					t.Logf("case %d, withdrawn %+v\n%+v\ngot\n%s\nwant\n%s\n%s", n, victim, list, got, want, st)
				}
				break
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d cases differ", differ, cases)
	}
}

func (st *store) withdrawClaim(iv Interval) {
	for _, v := range st.versions {
		if sameClaim(&v, &iv) && v.State.Valid.Equal(iv.Valid) {
			st.withdraw(v.Item.ID)
			return
		}
	}
	st.t.Fatalf("no version of %+v\n%s", iv, st)
}

// TestResolveHousesEveryStatement checks that nothing said is lost, that
// intervals of one claim are apart, and that no two hold at one moment.
func TestResolveHousesEveryStatement(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2026))
	for range 1200 {
		list := randomStatements(r, 1+r.IntN(8))
		res := Resolve(list)
		checkResolution(t, list, res)
		if other := Resolve(shuffled(r, list)); !reflect.DeepEqual(res, other) {
			t.Fatalf("%+v\ngives\n%+v\nand\n%+v", list, res, other)
		}
	}
}

func checkResolution(t *testing.T, list []memory.Statement, res Resolution) {
	t.Helper()
	for i := range list {
		if s := &list[i]; isStatement(s) && !slices.ContainsFunc(res.Intervals, func(iv Interval) bool {
			return slices.Contains(iv.Support, s.ID) || slices.Contains(iv.Echoes, s.ID)
		}) {
			t.Fatalf("statement %d is nowhere", i)
		}
	}
	for i, a := range res.Intervals {
		if a.Holder && a.Polarity == memory.Negative || !slices.Contains(a.Support, a.Founder) {
			t.Fatalf("bad interval %+v", a)
		}
		for _, b := range res.Intervals[i+1:] {
			overlap := !a.Valid.Empty() && !b.Valid.Empty() && (a.Valid.To.IsZero() || b.Valid.From.Before(a.Valid.To))
			same := a.ValueID == b.ValueID && a.Polarity == b.Polarity && !a.Valid.From.IsZero() // an undated past overlaps
			if overlap && (a.Holder && b.Holder || same) {
				t.Fatalf("%+v and %+v at once", a, b)
			}
		}
	}
}

// FuzzResolve reads statements off bytes, seven each: it never panics, keeps the
// invariants and does not see the order.
func FuzzResolve(f *testing.F) {
	f.Add([]byte{1, 0, 2, 3, 0, 3, 0, 2, 1, 1, 2, 4, 4, 1})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		var list []memory.Statement
		for ; len(b) >= 7 && len(list) < 40; b = b[7:] {
			s := memory.Statement{
				ID: string(b[0:1]), ValueID: string('A' + rune(b[1]%4)), Polarity: memory.Polarity(b[2]%3) - 1,
				Authority: memory.Authority(b[2] / 3 % 5), Position: int64(b[6]),
			}
			if b[3] > 0 {
				s.Valid.From = memory.FromMicros(int64(b[3]))
			}
			if b[4]%2 == 1 {
				s.Valid.To = memory.FromMicros(int64(b[4]))
			}
			s.SentAt = memory.FromMicros(int64(b[5]))
			list = append(list, s)
		}
		res := Resolve(list)
		if len(slices.CompactFunc(slices.SortedFunc(slices.Values(list), byID), func(x, y memory.Statement) bool { return x.ID == y.ID })) == len(list) {
			checkResolution(t, list, res)
		}
		slices.Reverse(list)
		if other := Resolve(list); !reflect.DeepEqual(res, other) {
			t.Fatalf("%+v\n%+v", res, other)
		}
		Reconcile(nil, list, at(2030))
	})
}

func byID(a, b memory.Statement) int {
	switch {
	case a.ID < b.ID:
		return -1
	case a.ID > b.ID:
		return 1
	}
	return 0
}
