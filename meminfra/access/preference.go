package access

import (
	"strings"
	"unicode"
)

// StatesPreference reports whether a text says, in the first person, what its
// speaker prefers, likes or always does: a preference, however it was classed.
// It goes by English words, and common ones of some other languages, and leans to
// yes, since it only ever keeps private what could have been shared. Source:
// design section 5 (scope); papers.md section 9, T4.
func StatesPreference(text string) bool {
	since := far // words since the last "I"
	ofMine := far
	for word := range strings.FieldsFuncSeq(text, notInWord) {
		word = strings.ToLower(strings.ReplaceAll(word, "’", "'"))
		since, ofMine = since+1, ofMine+1
		switch {
		case preferringAlone[word], strings.HasPrefix(word, "lieblings"):
			return true
		case word == "ich" || word == "je":
			since = 0
		case word == "i" || strings.HasPrefix(word, "i'"):
			since = 0
			if word == "i'd" {
				since = 1 // "I'd rather", "I'd like"
			}
		case word == "my" || word == "mine":
			ofMine = 0
		case since <= reach && preferring[word], ofMine <= reach && favoured[word]:
			return true
		}
	}
	return strings.Contains(text, "好き") || strings.ContainsAny(text, "嫌喜欢歡愛爱")
}

// AscribesPreference is StatesPreference for a statement about somebody, in
// whatever person: "Ada always flies aisle".
func AscribesPreference(text string) bool {
	if StatesPreference(text) {
		return true
	}
	for word := range strings.FieldsFuncSeq(text, notInWord) {
		if word = strings.ToLower(word); ascribing[word] {
			return true
		}
	}
	return false
}

const (
	reach = 4 // words that may stand between: "I really do not like"
	far   = 100
)

func notInWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’'
}

var (
	preferring = words(`always never usually normally typically mostly generally rarely prefer prefers preferred
		like liked love loved hate hated enjoy enjoyed dislike disliked adore adored loathe detest despise
		favour favor rather want wanted fan into fond keen interested passionate fascinated stand vegan
		vegetarian pescatarian immer nie niemals mag liebe hasse möchte gern gerne lieber toujours jamais aime adore`)
	preferringAlone = words(`bevorzuge préfère préféré préférée j'aime j'adore déteste prefiero odio encanta encantan gusta gustan
		favorito favorita preferisco prefiro gosto`)
	ascribing = words(`always never usually normally typically prefer prefers preferred likes loves hates enjoys dislikes
		adores detests wants favourite favourites favorite favorites preference preferences`)
	favoured = words("favourite favourites favorite favorites fave fav preference preferences preferred hobby hobbies goal ambition dream taste tastes habit usual")
)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}
