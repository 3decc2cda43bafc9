package patterns

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lineSpan is one line that the speaker says.
type lineSpan struct {
	start, end int
	gap        bool // after an empty line or one that was left out
}

// spokenLines returns the lines that the speaker says: no code, no quotes, no
// logs, and nothing from where a pasted letter, mail or chat begins.
func spokenLines(content string, own func(name string) bool) []lineSpan {
	var out []lineSpan
	fenced, gap := false, false
	for start := 0; start < len(content); {
		end := len(content)
		if i := strings.IndexByte(content[start:], '\n'); i >= 0 {
			end = start + i
		}
		line := content[start:end]
		bare := strings.TrimLeft(line, " \t")
		switch {
		case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
			fenced = !fenced
		case fenced:
		case beginsPaste(bare):
			return out
		case signed(bare, content[min(end+1, len(content)):], own):
			return nil // somebody's letter from its first line on
		case strings.HasPrefix(bare, "$ "), strings.HasPrefix(bare, ">>> "):
			return out // a terminal: what it prints is not marked
		case strings.HasPrefix(line, "    "), strings.HasPrefix(line, "\t"), strings.TrimSpace(line) == "", unspoken(bare):
			gap = true
		default:
			out = append(out, lineSpan{start, end, gap})
			gap = false
		}
		start = end + 1
	}
	if n := len(out); n > 1 && out[n-1].gap && isName(content[out[n-1].start:out[n-1].end], own) {
		return nil // somebody signs
	}
	return out
}

// isName reports a line of one to three capitalised words that is not the speaker's name.
func isName(line string, own func(name string) bool) bool {
	words := strings.Fields(strings.TrimLeft(line, "- ~"))
	if len(words) == 0 || len(words) > 3 || own(words[0]) || closings[strings.ToLower(strings.Trim(line, " ,.!"))] {
		return false
	}
	for _, w := range words {
		if first, _ := utf8.DecodeRuneInString(w); !unicode.IsUpper(first) || strings.ContainsAny(w, ".!?:") {
			return false
		}
	}
	return true
}

// pasteHeads begin a line from which on somebody else may speak.
var pasteHeads = []string{"dear ", "from: ", "to: ", "subject: ", "re: ", "fw: ", "fwd: ", "date: ", "sent: ", "begin forwarded", "-----", "_____", "=====", "*****"}

func beginsPaste(line string) bool {
	line = lowerHead(line)
	for _, p := range pasteHeads {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return false
}

// lowerHead is the first few bytes of a line in lower case.
func lowerHead(line string) string { return strings.ToLower(line[:min(len(line), 24)]) }

// closings stand above the name at the end of a letter.
var closings = map[string]bool{"regards": true, "best regards": true, "kind regards": true, "warm regards": true, "sincerely": true,
	"sincerely yours": true, "yours sincerely": true, "yours faithfully": true, "yours truly": true, "yours": true, "best wishes": true,
	"respectfully": true, "many thanks": true, "thanks": true, "thank you": true, "cheers": true, "best": true, "love": true, "warmly": true}

// signed reports that a line closes a letter and that the rest begins with a
// name which is not the speaker's own.
func signed(line, rest string, own func(name string) bool) bool {
	last := strings.TrimRight(line, " ,.!\r")
	last = last[strings.LastIndexAny(last, ".!?")+1:]
	if len(last) > 24 || !closings[strings.ToLower(strings.TrimSpace(last))] {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	return isName(name, own)
}

// codeSigns stand in lines of programs, not in talk.
var codeSigns = []string{"=>", "==", "${", "();", "</", "/>", "::", "/*", "*/", " = ", " += ", "():", ");", "[] ", "{}", "&&", "||", "\\n"}

// unspoken reports a line of code, of a log, a heading or a quoted one.
func unspoken(line string) bool {
	for _, p := range []string{">", "&gt;", "# ", "## ", "### ", "//", "--", "% ", "<", "[", "@", "+++", "|"} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	line = strings.TrimRight(line, " \t\r")
	if strings.HasSuffix(line, ";") || strings.HasSuffix(line, "{") || strings.HasSuffix(line, "}") {
		return true
	}
	for _, s := range codeSigns {
		if strings.Contains(line, s) {
			return true
		}
	}
	if i := strings.Index(line, "//"); i > 0 && line[i-1] != ':' { // not a web address
		return true
	}
	return stamped(line)
}

// stamped reports a line that begins with a clock time, as logs and chats do.
func stamped(line string) bool {
	line = strings.TrimLeft(line, "[(")
	digits := 0
	for i := 0; i < len(line) && i < 24; i++ {
		switch c := line[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == ':' && digits > 0 && i+1 < len(line) && line[i+1] >= '0' && line[i+1] <= '9':
			return true
		case !strings.ContainsRune("-/., T", rune(c)):
			return false
		}
	}
	return false
}
