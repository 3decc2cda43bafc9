package intent

import (
	"strings"
)

// Granularity is the kind of memory that a query leans to.
type Granularity string

// The granularities. Dual leans to facts and episodes alike.
const (
	Facts     Granularity = "facts"
	Episodes  Granularity = "episodes"
	Summaries Granularity = "summaries"
	Dual      Granularity = "dual"
)

var detailSigns = []string{
	" exact words", " exactly say", " exactly said", " word for word", " verbatim", " in what words", " transcript", " phrased",
	" say about", " said about", " saying about", " tell me about", " told me about", " say to", " say when", " mention", " mentioned",
	" quote ", " wording", " what did she say", " what did he say", " what did they say", " what did i say", " what was said",
	" conversation about", " talk about", " talked about", " discuss", " discussed", " details of", " in detail",
}

var summarySigns = []string{
	" overall", " summar", " in general", " generally", " overview", " recap", " main points", " big picture", " sum up",
	" gist", " highlights", " on the whole", " in short", " tl;dr", " tldr", " main themes", " takeaways", " in a nutshell",
}

// Route chooses the granularity by rules: fine detail leans to episodes, to
// both if it concerns several people or times; the whole picture to summaries;
// everything else to facts. Source: design §6; papers §4, routing.
func Route(query string) Granularity {
	text := " " + strings.Join(strings.Fields(strings.ToLower(strings.ReplaceAll(query, "\u2019", "'"))), " ") + " "
	detail := containsAny(text, detailSigns)
	switch {
	case detail && several(query):
		return Dual
	case containsAny(text, summarySigns):
		return Summaries
	case detail:
		return Episodes
	}
	return Facts
}

// several reports a query about more than one person or time: two capitalised
// words joined by "and".
func several(query string) bool {
	words := split(query)
	for i := 1; i+1 < len(words); i++ {
		if words[i].said == "and" && words[i-1].capital && words[i+1].capital {
			return true
		}
	}
	return false
}

func containsAny(text string, signs []string) bool {
	for _, s := range signs {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}
