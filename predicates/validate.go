package predicates

import (
	"fmt"
	"slices"
	"strings"
)

var (
	kinds        = []string{"fact", "preference", "event"}
	subjectTypes = []string{"user", "person", "project", "organisation", "pet"}
)

// add checks p against the rules and the predicates before it, and takes it in.
func (r *Registry) add(p Predicate) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %q: %s", ErrInvalid, p.Name, fmt.Sprintf(format, args...))
	}
	if p.Name == "" || foldLabel(p.Name) != p.Name {
		return bad("a name is lower case with underscores")
	}
	if p.Cardinality != Single && p.Cardinality != Multi {
		return bad("cardinality must be single or multi")
	}
	if p.Keyed && p.Cardinality != Single {
		return bad("a keyed predicate is single: one value for each category")
	}
	if !slices.Contains(kinds, p.Kind) {
		return bad("kind must be one of %s", strings.Join(kinds, ", "))
	}
	for _, s := range p.Subjects {
		if !slices.Contains(subjectTypes, s) {
			return bad("subject type %q is none of %s", s, strings.Join(subjectTypes, ", "))
		}
	}
	if _, ok := canonicalisers[p.Value]; !ok {
		return bad("no value canonicaliser %q", p.Value)
	}
	for _, t := range slices.Concat(p.Statements, p.Questions) {
		if _, err := Expand(t); err != nil {
			return bad("%v", err)
		}
	}
	for _, name := range append([]string{p.Name}, p.Aliases...) {
		if err := r.claim(name, len(r.list)); err != nil {
			return bad("%v", err)
		}
	}
	terms, err := termIndex(p.Terms)
	if err != nil {
		return bad("%v", err)
	}
	heads := make(map[string]bool, len(p.Heads))
	for _, h := range p.Heads {
		heads[identity(h)] = true
	}
	r.list = append(r.list, p)
	r.terms = append(r.terms, terms)
	r.heads = append(r.heads, heads)
	return nil
}

func (r *Registry) claim(name string, i int) error {
	label := foldLabel(name)
	if label == "" {
		return fmt.Errorf("a blank alias")
	}
	if j, taken := r.names[label]; taken && j != i {
		return fmt.Errorf("%q already names %q", name, r.list[j].Name)
	}
	r.names[label] = i
	return nil
}

// termIndex maps the identity of every spelling to the spelling shown. A
// spelling may mean one term only, and the shown one must be canonical already,
// or canonicalising twice would differ from once.
func termIndex(terms map[string][]string) (map[string]string, error) {
	index := map[string]string{}
	for shown, others := range terms {
		if display(shown) != shown || identity(shown) == "" {
			return nil, fmt.Errorf("term %q is not written canonically", shown)
		}
		for _, s := range append([]string{shown}, others...) {
			id := identity(s)
			if was, taken := index[id]; taken && was != shown {
				return nil, fmt.Errorf("%q is both %q and %q", s, min(was, shown), max(was, shown))
			}
			index[id] = shown
		}
	}
	return index, nil
}
