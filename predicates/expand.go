package predicates

import (
	"fmt"
	"strings"
)

// maxForms bounds what one template may expand to.
const maxForms = 5000

// Expand returns the word sequences that a template stands for. Words are
// separated by spaces; (a|b c|d) is a choice, [a|b] an optional one, {value}
// and {value:known} are slots and stay one word. Words come back lower case,
// slots as written. A choice holds no other choice.
func Expand(template string) ([][]string, error) {
	forms := [][]string{nil}
	rest := strings.TrimSpace(template)
	for rest != "" {
		choices, tail, err := nextPart(rest)
		if err != nil {
			return nil, err
		}
		rest = strings.TrimSpace(tail)
		if len(forms)*len(choices) > maxForms {
			return nil, fmt.Errorf("template %q expands to more than %d forms", template, maxForms)
		}
		forms = grow(forms, choices)
	}
	if len(forms[0]) == 0 {
		return nil, fmt.Errorf("template %q may be empty", template)
	}
	return forms, nil
}

// grow appends each choice to each form.
func grow(forms, choices [][]string) [][]string {
	if len(choices) == 1 {
		for i, f := range forms {
			forms[i] = append(f, choices[0]...) // every form owns its array
		}
		return forms
	}
	grown := make([][]string, 0, len(forms)*len(choices))
	for _, f := range forms {
		for _, c := range choices {
			grown = append(grown, append(append(make([]string, 0, len(f)+8), f...), c...))
		}
	}
	return grown
}

// nextPart cuts the first word, slot or choice off a template.
func nextPart(s string) (choices [][]string, rest string, err error) {
	closer := map[byte]string{'(': ")", '[': "]", '{': "}"}[s[0]]
	if closer == "" {
		word, rest, _ := strings.Cut(s, " ")
		if strings.ContainsAny(word, "()[]{}|") {
			return nil, "", fmt.Errorf("template part %q: a space is missing or a bracket is stray", word)
		}
		return [][]string{{strings.ToLower(word)}}, rest, nil
	}
	inner, rest, ok := strings.Cut(s[1:], closer)
	if !ok || strings.ContainsAny(inner, "()[]{}") {
		return nil, "", fmt.Errorf("template %q: unbalanced or nested brackets", s)
	}
	if s[0] == '{' {
		return [][]string{{"{" + inner + "}"}}, rest, nil
	}
	if s[0] == '[' {
		choices = append(choices, nil)
	}
	for _, c := range strings.Split(inner, "|") {
		choices = append(choices, strings.Fields(strings.ToLower(c)))
	}
	return choices, rest, nil
}
