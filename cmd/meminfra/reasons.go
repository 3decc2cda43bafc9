package main

import "strings"

// reasonTexts say in words why a decision was made; the codes are those of
// package reconcile and of extraction, as --json shows them.
var reasonTexts = map[string]string{
	"new_fact":                   "nothing was known of it",
	"same_value":                 "known already, one more witness",
	"weaker_echo":                "known already, repeated with less authority",
	"earlier_start":              "known already, and it began earlier than was known",
	"newer_value":                "a newer value replaces the one known",
	"older_value":                "told late: it belongs to the past, nothing current changes",
	"told_earlier":               "a value told later stands in its place",
	"stronger_witness":           "said now with more authority",
	"stands_beside":              "kept beside what another holds",
	"preference_in_shared_scope": "a preference is not shared",
	"weaker_conflict":            "kept beside what is said with more authority",
	"negated":                    "said to be no longer so",
	"negation_recorded":          "noted: not so, as far as is known",
	"said_end":                   "said to have ended",
	"starts_later":               "begins in the future; until then nothing changes",
	"continued":                  "an earlier statement holds again",
	"edit":                       "another wording by its owner",
	"edited":                     "its owner gave it another wording",
	"withdraw":                   "withdrawn by its owner: it never was so",
	"restore":                    "counts again",
	"derived":                    "made of other memories",
	"already_known":              "said in these words before",
	"split":                      "an earlier statement has a version of its own",
	"reopened":                   "what had closed it is gone",
	"sealed":                     "what came after it was forgotten",
	"forgotten":                  "what it was said in was forgotten",
	"merged":                     "taken up by another version of the same fact",
}

// reasonText is a reason in words; a code without words stays as it is.
func reasonText(code string) string {
	if text, ok := reasonTexts[code]; ok {
		return text
	}
	return strings.ReplaceAll(code, "_", " ")
}
