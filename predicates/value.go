package predicates

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// categoryMark stands between category and value of a keyed predicate.
const categoryMark = ": "

// canonicalisers turn a tidied value into the spelling shown; not ok refuses it.
var canonicalisers = map[string]func(string) (string, bool){
	"":         asIs,
	"text":     asIs,
	"name":     asIs,
	"place":    asIs,
	"date":     isoDate,
	"number":   wholeNumber,
	"phone":    phoneDigits,
	"email":    emailAddress,
	"timezone": zoneName,
	"dose":     asIs, // see Registry.dosed
	"action":   actionName,
}

func asIs(s string) (string, bool) { return s, true }

// Value canonicalises a value of the predicate (name or alias): what is shown,
// and the identity by which two values are compared. White space is collapsed;
// surrounding quotes, trailing punctuation, emoji and a leading article go;
// known terms take their one spelling ("Postgres" is PostgreSQL); dates become
// ISO 8601 (--05-31 without a year), phone numbers digits, e-mail lower case,
// doses one form ("50mg Zoloft" is 50 mg of sertraline).
// Signs that matter stay: C++, C#, .NET, node.js. The identity is NFKC and case
// folded, with plain apostrophes. Canonicalising a shown value again changes
// nothing. Not ok for an unknown predicate or a value that is empty, or is none
// of its kind (an age without a number): a missing value is no statement.
func (r *Registry) Value(predicate, raw string) (shown, id string, ok bool) {
	i, known := r.index(predicate)
	if !known {
		return "", "", false
	}
	if r.list[i].Keyed {
		return r.keyedValue(i, raw)
	}
	shown, ok = r.canonical(i, raw)
	if !ok {
		return "", "", false
	}
	return shown, identity(shown), true
}

// Known reports whether the value is one of the predicate's terms, or ends in
// one of its heads.
func (r *Registry) Known(predicate, raw string) bool {
	i, ok := r.index(predicate)
	if !ok {
		return false
	}
	id := identity(raw)
	if _, term := r.terms[i][id]; term {
		return true
	}
	last := strings.LastIndexByte(id, ' ')
	if last < 0 || r.heads[i][id[last+1:]] {
		return r.heads[i][id[last+1:]]
	}
	return r.heads[i][id[strings.LastIndexByte(id[:last], ' ')+1:]] // a head of two words: "truck driver"
}

// Term reports whether the value is one of the predicate's terms.
func (r *Registry) Term(predicate, raw string) bool {
	i, ok := r.index(predicate)
	if !ok {
		return false
	}
	_, term := r.terms[i][identity(raw)]
	return term
}

// Starts reports whether the value begins with one of the predicate's heads.
func (r *Registry) Starts(predicate, raw string) bool {
	i, ok := r.index(predicate)
	if !ok {
		return false
	}
	first, _, _ := strings.Cut(identity(raw), " ")
	return r.heads[i][first]
}

func (r *Registry) canonical(i int, raw string) (string, bool) {
	s := display(raw)
	if s == "" {
		return "", false
	}
	if term, ok := r.terms[i][identity(s)]; ok {
		return term, true
	}
	if r.list[i].Value == "dose" {
		s = r.dosed(i, s)
	}
	s, ok := canonicalisers[r.list[i].Value](s)
	if !ok {
		return "", false
	}
	if term, known := r.terms[i][identity(s)]; known {
		return term, true
	}
	return s, identity(s) != ""
}

// keyedValue canonicalises "category: value"; the terms are spellings of the
// category.
func (r *Registry) keyedValue(i int, raw string) (shown, id string, ok bool) {
	category, value, cut := strings.Cut(raw, ":")
	category, value = display(category), display(value)
	category = identity(category)
	if !cut || category == "" || identity(value) == "" {
		return "", "", false
	}
	if term, known := r.terms[i][category]; known {
		category = term
	}
	return category + categoryMark + value, identity(category) + categoryMark + identity(value), true
}

// display tidies a value for showing and keeps its case.
func display(s string) string {
	return settle(strings.ToValidUTF8(s, "\uFFFD"), func(s string) string {
		s = strings.Join(strings.FieldsFunc(s, isGap), " ")
		if !isASCII(s) {
			s = norm.NFC.String(s)
		}
		return dropArticle(trimMarks(s))
	})
}

// identity folds a value for comparison.
func identity(s string) string {
	return settle(strings.ToValidUTF8(s, "\uFFFD"), func(s string) string {
		s = strings.Join(strings.FieldsFunc(apostrophes.Replace(foldCase(s)), isGap), " ")
		return dropArticle(trimMarks(s))
	})
}

// apostrophes are one sign in several shapes: O’Neill is O'Neill.
var apostrophes = strings.NewReplacer("\u2018", "'", "\u2019", "'", "\u201b", "'", "\u02bc", "'")

// foldCase is NFKC and case folding; ASCII takes the short way to the same.
func foldCase(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFKC.String(s)))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// settle applies f until nothing changes, so that doing it twice equals once.
// Each pass shortens s or brings it nearer to its normal form; the bound is for
// texts built to defeat that.
func settle(s string, f func(string) string) string {
	for range 64 {
		next := f(s)
		if next == s {
			return s
		}
		s = next
	}
	return ""
}

// isGap reports white space and what cannot be seen at all.
func isGap(c rune) bool {
	return unicode.IsSpace(c) || unicode.IsControl(c) || c == '\u200b' || c == '\ufeff' || c == '\u2060'
}

// trimMarks takes quotes off both ends, and sentence punctuation and emoji off
// the end.
func trimMarks(s string) string {
	s = strings.TrimFunc(s, func(c rune) bool {
		return c == ' ' || strings.ContainsRune("\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb*,;:", c)
	})
	s = strings.TrimRightFunc(s, func(c rune) bool {
		return strings.ContainsRune(" .!?\u2026\u3002", c) || unicode.Is(unicode.So, c) ||
			unicode.Is(unicode.Sk, c) && c > 0x7f || c == '\u200d' || c == '\ufe0f'
	})
	if strings.HasSuffix(s, ")") && !strings.Contains(s, "(") {
		s = strings.TrimSuffix(s, ")")
	}
	return s
}

// dropArticle removes a leading lower-case article, unless nothing else is
// left. "The Hague" keeps its own; its identity, being folded, does not.
func dropArticle(s string) string {
	for _, a := range []string{"the ", "a ", "an "} {
		if rest, ok := strings.CutPrefix(s, a); ok && rest != "" {
			return rest
		}
	}
	return s
}
