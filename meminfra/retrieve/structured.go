package retrieve

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/intent"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

// structured ranks the rows that carry the fact asked for. It is fed by the
// intent alone: filters bind every branch and say nothing about relevance.
func (s *search) structured(v *index.View) []int {
	if s.intent == nil {
		return nil
	}
	var rows []int
	for _, row := range statements(v, s.intent.Predicate) {
		if s.structuredAdmits(v.Attr(row)) {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(x, y int) int { return s.byCurrency(v.Attr(x), v.Attr(y)) })
	return rows[:min(len(rows), branchDepth)]
}

// rowList is a list of rows that an index keeps.
type rowList []int

// Bytes is what the list costs in memory.
func (l rowList) Bytes() int64 { return int64(8 * cap(l)) }

// statements are the items with a predicate, in order, whoever may see them.
func statements(v *index.View, predicate string) rowList {
	return index.Keep(v, "statements "+predicate, time.Time{}, func() (list rowList, never time.Time) {
		for row := range v.Admit(func(a *index.Attr) bool { return a.Owner == index.Item && a.Predicate == predicate }).All() {
			list = append(list, row)
		}
		return list, never
	})
}

// structuredAdmits reports whether the row carries the fact asked for, in the
// temporal scope asked for, within the caller's filters. An intent is a soft
// hint: it may widen current to historical unless the caller said otherwise.
func (s *search) structuredAdmits(a *index.Attr) bool {
	if a.Owner != index.Item || a.Polarity != int8(memory.Positive) || !s.aboutIntent(a) || !s.adm.matches(a) {
		return false
	}
	if s.intent.Scope == intent.Current || s.adm.History == HistoryExclude {
		return s.adm.timely(a, s.adm.History)
	}
	if !s.adm.timely(a, HistoryInclude) {
		return false
	}
	return s.intent.Scope == intent.Any || !s.adm.timely(a, HistoryExclude)
}

// answersNo reports whether an admitted row says that the fact asked about does
// not hold: what "Do I still use Vim?" is after. It is no holder of the fact, so it
// has no rank in the branch.
func (s *search) answersNo(a *index.Attr) bool {
	return s.intent != nil && s.intent.Value != "" && a.Owner == index.Item && a.Polarity == int8(memory.Negative) && s.aboutIntent(a)
}

// aboutIntent reports whether the row is about the subject, predicate, category
// and value asked for.
func (s *search) aboutIntent(a *index.Attr) bool {
	i := s.intent
	if a.Predicate != i.Predicate || !isSubject(a, i.Subject, s.query.UserID) {
		return false
	}
	if i.Category != "" && !strings.HasPrefix(a.ValueID, i.Category+":") {
		return false
	}
	if i.Value == "" {
		return true
	}
	_, id, ok := s.Registry.Value(i.Predicate, i.Value)
	return ok && id == a.ValueID
}

// isSubject reports whether the row is about the one named; "" is the user, and
// things of his (a project) whose name the question leaves out.
func isSubject(a *index.Attr, name, user string) bool {
	if name == "" {
		return a.SubjectType != "person" && (a.SubjectType != memory.UserSubject.Type || isUser(a, user))
	}
	return a.SubjectName == memory.FoldName(name)
}

// isUser reports whether an item is about the user who asks. In a shared partition
// the subject names the member meant.
func isUser(a *index.Attr, user string) bool {
	return a.SubjectType == memory.UserSubject.Type && (a.SubjectName == "" || a.SubjectName == user)
}

// byCurrency puts what is current first, then stronger authority, importance,
// the newer event, and the later writing.
func (s *search) byCurrency(a, b *index.Attr) int {
	currentA, currentB := s.adm.timely(a, HistoryExclude), s.adm.timely(b, HistoryExclude)
	if currentA != currentB {
		if currentA {
			return -1
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(b.Authority, a.Authority),
		cmp.Compare(b.Importance, a.Importance),
		b.At.Compare(a.At),
		cmp.Compare(b.Seq, a.Seq),
	)
}
