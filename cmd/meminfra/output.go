package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
)

// printJSON writes one document on one line.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// warn tells what did not work as it should, beside a result that stands.
func (a *app) warn(degraded []string) {
	for _, line := range degraded {
		fmt.Fprintf(a.stderr, "meminfra: degraded: %s\n", line)
	}
}

// recordDoc is the document of one memory in get, list and history: what a
// search hit says, and what else is known of it.
type recordDoc struct {
	ID             string                 `json:"id"`
	Kind           memory.Kind            `json:"kind"`
	Text           string                 `json:"text"`
	Authority      string                 `json:"authority"`
	Status         memory.Status          `json:"status"`
	Subject        subjectDoc             `json:"subject"`
	Predicate      string                 `json:"predicate"`
	Value          string                 `json:"value"`
	Polarity       string                 `json:"polarity"` // positive or negative
	ValidFrom      *time.Time             `json:"valid_from"`
	ValidTo        *time.Time             `json:"valid_to"`
	EventAt        *time.Time             `json:"event_at"`
	RecordedAt     *time.Time             `json:"recorded_at"`
	ConversationID string                 `json:"conversation_id"`
	Speaker        string                 `json:"speaker"`
	Supersedes     string                 `json:"supersedes"`
	Conflicts      []string               `json:"conflicts"`
	DerivedFrom    []string               `json:"derived_from"`
	Stale          []retrieve.StaleCause  `json:"stale"`
	Evidence       []meminfra.EvidenceRef `json:"evidence"`
	Metadata       memory.Metadata        `json:"metadata"`
}

type subjectDoc struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

func newRecordDoc(r meminfra.Record) recordDoc {
	d := recordDoc{
		ID: r.ID, Kind: r.Kind, Text: r.Text, Authority: r.Authority.String(), Status: r.Status,
		Subject:   subjectDoc(r.Subject),
		Predicate: r.Predicate, Value: r.Value, Polarity: "positive",
		ValidFrom: r.ValidFrom, ValidTo: r.ValidTo, EventAt: moment(r.EventAt), RecordedAt: moment(r.RecordedAt),
		ConversationID: r.ConversationID, Speaker: r.Speaker, Supersedes: r.Supersedes,
		Conflicts: list(r.Conflicts), DerivedFrom: list(r.DerivedFrom), Stale: list(r.Stale),
		Evidence: list(r.Evidence), Metadata: r.Metadata,
	}
	if r.Polarity == memory.Negative {
		d.Polarity = "negative"
	}
	if d.Metadata == nil {
		d.Metadata = memory.Metadata{}
	}
	return d
}

// list is a list that is never null in JSON.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// moment is nil for an unknown time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// recordLines prints one memory in a table: the given cells, its text cut to
// the terminal, and below them how long it holds and its id.
func (a *app) recordLines(cells string, r meminfra.Record) {
	fmt.Fprintf(a.stdout, "%s%s\n", cells, a.fit(attributed(r), displayWidth(cells)))
	status := string(r.Status)
	switch {
	case len(r.Stale) > 0:
		status = "stale"
	case r.Status == memory.StatusActive:
		status = ""
	}
	details := []string{factText(r), status, span(r.ValidFrom, r.ValidTo), sharingText(r), "id " + r.ID}
	fmt.Fprintf(a.stdout, "    %s\n", joinNonEmpty(details, ", "))
}

// factText is a controlled fact as predicate and value, "" for anything else.
func factText(r meminfra.Record) string {
	switch {
	case r.Predicate == "":
		return ""
	case r.Polarity == memory.Negative:
		return "not " + r.Predicate + " = " + oneLine(r.Value)
	}
	return r.Predicate + " = " + oneLine(r.Value)
}

// attributed is a memory's text under the name of whoever it is by or about,
// unless that is the user.
func attributed(r meminfra.Record) string {
	if name := first(r.Speaker, r.Subject.Name); name != "" {
		return name + ": " + r.Text
	}
	return r.Text
}

// scopeText names a shared scope: "team red" or "public".
func scopeText(scope, team string) string {
	if team != "" {
		return "team " + oneLine(team)
	}
	return scope
}

// sharingText says where a shared memory comes from: "team red by bo"; "" for
// one's own.
func sharingText(r meminfra.Record) string {
	if r.Scope == "" {
		return ""
	}
	return scopeText(string(r.Scope), r.TeamID) + " by " + oneLine(r.By)
}

// span says in words how long something holds.
func span(from, to *time.Time) string {
	switch {
	case from == nil && to == nil:
		return ""
	case to == nil:
		return "since " + day(*from)
	case from == nil:
		return "until " + day(*to)
	}
	return day(*from) + " to " + day(*to)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

func joinNonEmpty(list []string, separator string) string {
	var kept []string
	for _, s := range list {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, separator)
}

// fit is a text on one line that fits beside taken columns of the terminal.
// Without a terminal nothing is cut. Control characters never reach it.
func (a *app) fit(text string, taken int) string {
	text = oneLine(text)
	if a.columns == 0 {
		return text
	}
	room := max(a.columns-taken, 20)
	used := 0
	for i, r := range text {
		w := runeWidth(r)
		if used+w > room-1 && displayWidth(text[i:]) > room-used {
			return text[:i] + "…"
		}
		used += w
	}
	return text
}

// oneLine collapses white space and replaces what would steer a terminal.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, text)
}

func displayWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is the number of terminal cells of a rune.
func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// count writes "1 message" or "2 messages".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// fields writes a block of name and value lines, leaving out empty values.
func fields(w io.Writer, pairs ...[2]string) {
	for _, p := range pairs {
		if p[1] != "" {
			fmt.Fprintf(w, "%-13s%s\n", p[0], p[1])
		}
	}
}

// shellQuote quotes a word for a shell where it needs it.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r == '/' || r == ':' || r == '.' || r == '-' || r == '_' || r == '+' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
