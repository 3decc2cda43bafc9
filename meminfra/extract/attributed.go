package extract

import (
	"slices"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// assistantVoice is how the assistant is called.
const assistantVoice = "the assistant"

// Voice says who speaks in a message whose word is not the user's: "the
// assistant", "tool flights", "document lease.pdf"; "" for users and the system,
// who need no naming.
func Voice(role memory.Role, source string) string {
	switch role {
	case memory.RoleAssistant:
		return assistantVoice
	case memory.RoleTool, memory.RoleDocument:
		// One line without a colon, or a name could speak for somebody else.
		name := strings.Join(strings.Fields(strings.ReplaceAll(source, ": ", " ")), " ")
		return strings.TrimSpace(string(role) + " " + strings.TrimRight(name, ":"))
	}
	return ""
}

// Attributed returns how a memory reads that rests on the word of voices: it
// names them, so that nobody takes it for the user's. Text that begins with the
// same naming, in whatever case, has it once; a naming of anybody else in the
// text stays behind it, as what they said. No voices change nothing. Source:
// design section 5, Authority; papers.md section 1, 1; case A27.
func Attributed(voices []string, text string) string {
	if len(voices) == 0 {
		return text
	}
	prefix := attribution(voices)
	return prefix + Unattributed(voices, text)
}

// Unattributed is text without a naming of those voices at its beginning.
func Unattributed(voices []string, text string) string {
	if len(voices) == 0 {
		return text
	}
	naming := strings.TrimSuffix(attribution(voices), ": ")
	for {
		rest, named := cutFold(text, naming)
		if !named || rest == "" || rest[0] != ':' && rest[0] != ',' || memory.IsBlank(rest[1:]) {
			return text
		}
		text = strings.TrimSpace(rest[1:])
	}
}

// attribution is the naming of voices: "The assistant said: ", "According to
// tool flights: ", "According to document a and tool b: ".
func attribution(voices []string) string {
	if len(voices) == 1 && voices[0] == assistantVoice {
		return "The assistant said: "
	}
	list := slices.Sorted(slices.Values(voices))
	list = slices.Compact(list)
	named, last := strings.Join(list[:len(list)-1], ", "), list[len(list)-1]
	if named != "" {
		last = named + " and " + last
	}
	return "According to " + last + ": "
}

// SplitAttribution splits a text as Attributed made it into the naming, with
// what is behind it; naming is "" for none.
func SplitAttribution(text string) (naming, rest string) {
	for _, begin := range []string{"The assistant said", "According to "} {
		if strings.HasPrefix(text, begin) {
			if i := strings.Index(text, ": "); i > 0 {
				return text[:i+2], text[i+2:]
			}
		}
	}
	return "", text
}

// Voices lists whom a naming names; none for "".
func Voices(naming string) []string {
	if naming == "The assistant said: " {
		return []string{assistantVoice}
	}
	named, ok := strings.CutPrefix(strings.TrimSuffix(naming, ": "), "According to ")
	if !ok {
		return nil
	}
	return []string{named}
}

// cutFold is strings.CutPrefix whatever the case. Of ASCII letters only: a name
// that folds to another length is not cut, and then named twice.
func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// BareText is what an item says, without whose word it is.
func BareText(item memory.Item) string {
	if item.Authority == memory.Authorized {
		return item.Text
	}
	_, text := SplitAttribution(item.Text)
	return text
}

// TextKey is the identity of what an item says, whoever says it: the key under
// which the item is found by its words.
func TextKey(item memory.Item) string { return memory.NormalText(BareText(item)) }
