package predicates

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed registry.json
var shipped []byte

// Default returns the shipped vocabulary. It is the same immutable value at
// every call.
func Default() *Registry { return loadShipped() }

var loadShipped = sync.OnceValue(func() *Registry {
	r, err := Parse(bytes.NewReader(shipped))
	if err != nil {
		panic("predicates: the embedded registry is broken: " + err.Error())
	}
	return r
})

// file is the JSON form of a vocabulary. Lists may be named in templates as
// @name, term tables in predicates by "vocabulary"; both are shared data.
type file struct {
	Lists        map[string][]string            `json:"lists"`
	Vocabularies map[string]map[string][]string `json:"vocabularies"`
	Predicates   []struct {
		Predicate
		Vocabulary string `json:"vocabulary"`
	} `json:"predicates"`
}

// Parse reads a vocabulary from JSON and validates it. Unknown fields are
// errors, so that a misspelt rule is not silently dropped.
func Parse(r io.Reader) (*Registry, error) {
	var f file
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	list := make([]Predicate, 0, len(f.Predicates))
	names := f.listNames()
	for _, in := range f.Predicates {
		p := in.Predicate
		if in.Vocabulary != "" {
			terms, ok := f.Vocabularies[in.Vocabulary]
			if !ok || p.Terms != nil {
				return nil, fmt.Errorf("%w: %q: vocabulary %q is unknown or stands beside terms", ErrInvalid, p.Name, in.Vocabulary)
			}
			p.Terms = terms
		}
		p.Statements = fill(p.Statements, names)
		p.Questions = fill(p.Questions, names)
		p.Heads = f.spread(p.Heads)
		list = append(list, p)
	}
	return New(list)
}

// listNames replaces @name by the choice of the list's words; a longer name
// comes before one that it begins with.
func (f *file) listNames() *strings.Replacer {
	var pairs []string
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(f.Lists))) {
		pairs = append(pairs, "@"+name, strings.Join(f.Lists[name], "|"))
	}
	return strings.NewReplacer(pairs...)
}

func fill(templates []string, names *strings.Replacer) []string {
	out := make([]string, len(templates))
	for i, t := range templates {
		out[i] = names.Replace(t)
	}
	return out
}

// spread replaces @name in a list of words by the list's words.
func (f *file) spread(words []string) []string {
	var out []string
	for _, w := range words {
		if list, ok := f.Lists[strings.TrimPrefix(w, "@")]; ok && strings.HasPrefix(w, "@") {
			out = append(out, list...)
		} else {
			out = append(out, w)
		}
	}
	return out
}
