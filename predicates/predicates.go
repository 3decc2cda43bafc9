// Package predicates is the controlled vocabulary: which relations have an
// identity (name, location, employer, ...), how many values each may hold, how
// its values are written canonically, and the key under which a fact lives.
//
// The vocabulary is data (registry.json, or a file or Go value of the
// application). A Registry is immutable: deriving one leaves the old as it was.
// The package imports the standard library and x/text only and does no I/O
// beyond reading what Parse is given.
package predicates

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrInvalid is wrapped by every error about a vocabulary that breaks a rule.
var ErrInvalid = errors.New("invalid predicate")

// Cardinality says how many values a subject may hold at one time.
type Cardinality string

// The cardinalities. A new value of a single predicate supersedes the old one;
// each value of a multi predicate is a fact of its own.
const (
	Single Cardinality = "single"
	Multi  Cardinality = "multi"
)

// Predicate is one controlled relation.
type Predicate struct {
	Name        string      `json:"name"` // canonical: lower case, underscores
	Cardinality Cardinality `json:"cardinality"`
	Kind        string      `json:"kind"` // fact, preference or event
	Aliases     []string    `json:"aliases,omitempty"`
	Subjects    []string    `json:"subjects,omitempty"` // allowed subject types; none means user and person

	// Value names the canonicaliser: text (the default), name, place, date,
	// number, phone, email, timezone or dose. See Registry.Value.
	Value string `json:"value,omitempty"`
	// Terms are known values: the spelling shown, and other spellings that mean
	// the same. They are not a closed list; {value:known} in a statement is.
	Terms map[string][]string `json:"terms,omitempty"`
	// Heads are words that make a longer value known: "engineer" makes "data
	// engineer" a job title.
	Heads []string `json:"heads,omitempty"`
	// Keyed marks values of the form "category: value", of which one value holds
	// for each category: "colour: green".
	Keyed bool `json:"keyed,omitempty"`

	// Statements and Questions are templates; see Expand and, for what the
	// slots and signs mean, the packages extract/patterns and intent.
	Statements []string `json:"statements,omitempty"`
	Questions  []string `json:"questions,omitempty"`
}

// Registry is an immutable, validated vocabulary. It is safe for use by several
// goroutines.
type Registry struct {
	list  []Predicate
	names map[string]int      // canonical name or alias -> index in list
	terms []map[string]string // per predicate: identity -> spelling shown
	heads []map[string]bool   // per predicate, folded
}

// New validates the predicates and returns a registry of copies of them, in
// their order. Errors wrap ErrInvalid and name the predicate.
func New(list []Predicate) (*Registry, error) {
	r := &Registry{names: map[string]int{}}
	for _, p := range list {
		if err := r.add(p.clone()); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// All returns copies of the predicates, in order.
func (r *Registry) All() []Predicate {
	out := make([]Predicate, len(r.list))
	for i, p := range r.list {
		out[i] = p.clone()
	}
	return out
}

// With derives a registry in which each given predicate replaces the one of its
// name, or is added at the end. Errors wrap ErrInvalid.
func (r *Registry) With(list ...Predicate) (*Registry, error) {
	all := r.All()
	for _, p := range list {
		same := func(q Predicate) bool { return q.Name == p.Name }
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i] = p
		} else {
			all = append(all, p)
		}
	}
	return New(all)
}

// Only derives a registry restricted to the named predicates (aliases count).
// Errors wrap ErrInvalid for a name that is not in r.
func (r *Registry) Only(names ...string) (*Registry, error) {
	keep := map[int]bool{}
	for _, name := range names {
		i, ok := r.index(name)
		if !ok {
			return nil, fmt.Errorf("%w: no predicate %q to keep", ErrInvalid, name)
		}
		keep[i] = true
	}
	var list []Predicate
	for i, p := range r.list {
		if keep[i] {
			list = append(list, p)
		}
	}
	return New(list)
}

// Canonical returns the canonical name for a label: NFKC, white space trimmed,
// case folded, runs of spaces, hyphens and underscores made one underscore,
// alias looked up. Not ok for a label outside the vocabulary; there is no fuzzy
// matching. Source: python-meminfra §1.
func (r *Registry) Canonical(name string) (string, bool) {
	i, ok := r.index(name)
	if !ok {
		return "", false
	}
	return r.list[i].Name, true
}

// Lookup returns the predicate by canonical name or alias. The slices and maps
// in it are the registry's own: read them only.
func (r *Registry) Lookup(name string) (Predicate, bool) {
	i, ok := r.index(name)
	if !ok {
		return Predicate{}, false
	}
	return r.list[i], true
}

// Allows reports whether the predicate may be said of that type of subject.
func (p Predicate) Allows(subjectType string) bool {
	if len(p.Subjects) == 0 {
		return subjectType == "user" || subjectType == "person"
	}
	return slices.Contains(p.Subjects, subjectType)
}

func (r *Registry) index(name string) (int, bool) {
	if i, ok := r.names[name]; ok {
		return i, true
	}
	i, ok := r.names[foldLabel(name)]
	return i, ok
}

// foldLabel is the folding of predicate names and subject types.
func foldLabel(s string) string {
	parts := strings.FieldsFunc(foldCase(s), func(c rune) bool {
		return c == '_' || c == '-' || c == ' ' || c == '\t' || c == '\n' || c == '\r'
	})
	return strings.Join(parts, "_")
}

func (p Predicate) clone() Predicate {
	p.Aliases = slices.Clone(p.Aliases)
	p.Subjects = slices.Clone(p.Subjects)
	p.Heads = slices.Clone(p.Heads)
	p.Statements = slices.Clone(p.Statements)
	p.Questions = slices.Clone(p.Questions)
	terms := maps.Clone(p.Terms)
	for k, v := range terms {
		terms[k] = slices.Clone(v)
	}
	p.Terms = terms
	return p
}
