package predicates

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// FactKey returns "type:name:predicate", with ":value" if valueIdentity is not
// empty. Each part is percent-encoded; ASCII letters, digits and "-._~" stay.
// The subject type is folded like a predicate name, the subject name is NFC and
// trimmed with its case kept; for the user it is the user's id.
// Source: python-meminfra §1.
func FactKey(subjectType, subjectName, predicate, valueIdentity string) string {
	key := escape(foldLabel(subjectType)) + ":" +
		escape(strings.TrimSpace(norm.NFC.String(subjectName))) + ":" + escape(predicate)
	if valueIdentity != "" {
		key += ":" + escape(valueIdentity)
	}
	return key
}

// Key returns the fact key of a statement: without the value for a single
// predicate, with the value identity for a multi one, with the category alone
// for a keyed one. Not ok for an unknown predicate, a subject type that the
// predicate does not allow, a missing subject, or a missing value where the key
// needs one: such a statement is open memory.
func (r *Registry) Key(subjectType, subjectName, predicate, valueIdentity string) (key string, ok bool) {
	p, known := r.Lookup(predicate)
	if !known || !p.Allows(foldLabel(subjectType)) || strings.TrimSpace(subjectName) == "" {
		return "", false
	}
	part := ""
	switch {
	case p.Keyed:
		category, _, cut := strings.Cut(valueIdentity, categoryMark)
		if !cut {
			return "", false
		}
		part = category
	case p.Cardinality == Multi:
		part = valueIdentity
	default:
		return FactKey(subjectType, subjectName, p.Name, ""), true
	}
	if part == "" {
		return "", false
	}
	return FactKey(subjectType, subjectName, p.Name, part), true
}

func escape(s string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}
