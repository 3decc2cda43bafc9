package reconcile

import (
	"strings"
	"unicode/utf8"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// maxMerged bounds a merged text in bytes: what grows beyond it is two memories.
const maxMerged = memory.MaxFieldBytes

// merge returns the text that keeps the old proposition and the new one, "" for
// the new one alone. What the model wrote counts only if it made nothing up and
// dropped nothing of the new statement; both asks that nothing of the old one is
// dropped either, and then the two are put side by side if the model has no text
// that passes.
func (m *managing) merge(old *memory.Item, text string, both bool) string {
	text = strings.TrimSpace(memory.CleanText(text))
	switch {
	case len(text) > maxMerged:
		m.fire(GuardMergeTooLong)
	case text != "" && !saysOnly(text, m.told.Item.Text):
		guard := m.mergeFault(old, text, both)
		if guard == "" {
			return text
		}
		m.fire(guard)
	}
	if !both {
		return ""
	}
	return joinSentences(old.Text, m.told.Item.Text)
}

func (m *managing) mergeFault(old *memory.Item, text string, both bool) string {
	now := m.told.Item.Text
	switch {
	case old.Polarity != m.told.Item.Polarity:
		return GuardMergeOpposed
	case !memory.FiguresWithin(text, old.Text, now):
		return GuardMergeAdds
	case !memory.FiguresWithin(now, text), both && !memory.FiguresWithin(old.Text, text):
		return GuardMergeDrops
	case !memory.WordsWithin(text, old.Text, now):
		return GuardMergeStrays
	}
	return ""
}

// saysOnly reports a text that is the other one in different words: it needs no
// second source.
func saysOnly(text, other string) bool {
	return memory.FiguresWithin(text, other) && memory.WordsWithin(text, other)
}

// keepsBoth reports a merged text that names something of each part, and so says
// that both hold.
func keepsBoth(text, old, now string) bool {
	return text != "" && memory.FiguresWithin(old, text) && memory.FiguresWithin(now, text) &&
		!memory.FiguresWithin(old, now) && !memory.FiguresWithin(now, old)
}

// States reports whether a quote says all that a text says, so that it is a full
// witness of it.
func States(quote, text string) bool {
	return memory.FiguresWithin(text, quote) && memory.WordsWithin(text, quote)
}

// joinSentences puts two texts one after the other, each a sentence.
func joinSentences(a, b string) string {
	a = strings.TrimSpace(a)
	if last, _ := utf8.DecodeLastRuneInString(a); !strings.ContainsRune(".!?。！？", last) {
		a += "."
	}
	return a + " " + strings.TrimSpace(b)
}
