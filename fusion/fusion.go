// Package fusion merges the ranked lists of several search branches into one. It
// knows ranks only: raw scores of two branches do not compare. It is pure: same
// lists, same result, in whatever order the branches come.
//
// Source: design section 6; locomo-baselines.md for why agreement and not a sum
// (with a weak branch, equal reciprocal rank fusion costs 6 to 9 points of Hit@5,
// discounted agreement 0 to 4).
package fusion

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Branch is a way of searching.
type Branch uint8

// The branches.
const (
	Structured Branch = iota
	Lexical
	Vector
	branches
)

// String returns the branch's name in results: structured, lexical, vector.
func (b Branch) String() string {
	switch b {
	case Structured:
		return "structured"
	case Lexical:
		return "lexical"
	case Vector:
		return "vector"
	}
	return fmt.Sprintf("branch(%d)", uint8(b))
}

// Ranks is the place a candidate has in each branch, indexed by Branch: 1 is the
// best, 0 is not found.
type Ranks [branches]int

// List is what one branch found: candidates by the caller's numbers, best first.
// A repeated candidate counts at its first place.
type List struct {
	Branch Branch
	Keys   []int
}

// Fused is one candidate of the merged list.
type Fused struct {
	Key   int
	Score float64
	Ranks Ranks
}

// Fuse merges lists under a strategy: every candidate of any list once, highest
// score first. Equal scores fall in the order of less (a before b), which must
// put one before the other for any two keys; nil puts the smaller key first. Of
// two lists of one branch a candidate takes its better rank. No lists give nil.
func Fuse(s Strategy, lists []List, less func(a, b int) bool) []Fused {
	fused := collect(lists)
	for i := range fused {
		fused[i].Score = s.Score(fused[i].Ranks)
	}
	slices.SortFunc(fused, func(a, b Fused) int {
		switch {
		case a.Score != b.Score:
			return cmp.Compare(b.Score, a.Score)
		case less == nil:
			return cmp.Compare(a.Key, b.Key)
		case less(a.Key, b.Key):
			return -1
		case less(b.Key, a.Key):
			return 1
		}
		return cmp.Compare(a.Key, b.Key)
	})
	return fused
}

// collect gathers the ranks of every candidate.
func collect(lists []List) []Fused {
	n := 0
	for _, l := range lists {
		n += len(l.Keys)
	}
	if n == 0 {
		return nil
	}
	fused := make([]Fused, 0, n)
	at := make(map[int]int, n) // key -> place in fused
	for _, l := range lists {
		for i, key := range l.Keys {
			j, ok := at[key]
			if !ok {
				j = len(fused)
				at[key] = j
				fused = append(fused, Fused{Key: key})
			}
			rank := &fused[j].Ranks[l.Branch]
			if *rank == 0 || i+1 < *rank {
				*rank = i + 1
			}
		}
	}
	return fused
}

// Explain says in one line how a candidate came by its score, for example
// "agreement 0.926: structured 1, vector 4".
func Explain(s Strategy, f Fused) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %.3f:", s.Name(), f.Score)
	sep := " "
	for branch, rank := range f.Ranks {
		if rank > 0 {
			fmt.Fprintf(&b, "%s%s %d", sep, Branch(branch), rank)
			sep = ", "
		}
	}
	return b.String()
}
