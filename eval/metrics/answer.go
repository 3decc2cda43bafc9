package metrics

import (
	"strings"
	"unicode"
)

// F1 is LoCoMo's official token overlap of an answer with the gold answer:
// lower case, without commas, punctuation and the words a, an, the, and; words
// stemmed by Porter. Both empty give 1 where their words agree, else 0.
// Source: snap-research/LoCoMo, task_eval/evaluation.py, f1_score.
func F1(answer, gold string) float64 {
	a, g := answerWords(answer), answerWords(gold)
	left := map[string]int{}
	for _, w := range g {
		left[w]++
	}
	same := 0
	for _, w := range a {
		if left[w] > 0 {
			left[w]--
			same++
		}
	}
	if same == 0 {
		return 0
	}
	precision, recall := float64(same)/float64(len(a)), float64(same)/float64(len(g))
	return 2 * precision * recall / (precision + recall)
}

// MultiF1 is F1 for a gold answer of several parts, between commas: the mean,
// over the gold parts, of the best F1 that a part of the answer has.
// Source: as F1, function f1 (category multi_hop).
func MultiF1(answer, gold string) float64 {
	parts := strings.Split(gold, ",")
	sum := 0.0
	for _, g := range parts {
		best := 0.0
		for a := range strings.SplitSeq(answer, ",") {
			best = max(best, F1(a, g))
		}
		sum += best
	}
	return sum / float64(len(parts))
}

// Abstains reports whether an answer to an adversarial question refuses, by the
// two phrases that the official script looks for.
// Source: as F1, eval_question_answering.
func Abstains(answer string) bool {
	answer = strings.ToLower(answer)
	return strings.Contains(answer, "no information available") || strings.Contains(answer, "not mentioned")
}

// Answer scores an answer as the official script does: multi_hop by parts,
// open_domain against the gold answer before its first semicolon, adversarial 1
// for abstaining, the others by F1.
func Answer(category, answer, gold string) float64 {
	switch category {
	case "adversarial":
		return indicator(Abstains(answer))
	case "multi_hop":
		return MultiF1(answer, gold)
	case "open_domain":
		gold, _, _ = strings.Cut(gold, ";")
		return F1(answer, strings.TrimSpace(gold))
	}
	return F1(answer, gold)
}

// answerWords normalises as the official script does, in its order.
func answerWords(s string) []string {
	s = strings.ToLower(strings.ReplaceAll(s, ",", ""))
	s = strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return -1
		}
		return r
	}, s)
	var words []string
	for _, w := range strings.Fields(s) {
		switch w {
		case "a", "an", "the", "and":
			continue
		}
		words = append(words, porter(w))
	}
	return words
}
