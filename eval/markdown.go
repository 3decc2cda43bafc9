package eval

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/meminfra/memory-layer/eval/locomo"
)

// row is one line of a table of figures.
type row struct {
	name string
	s    Summary
}

// sections are the tables of a report, in order.
func (r *Report) sections() []struct {
	title string
	rows  []row
} {
	type section = struct {
		title string
		rows  []row
	}
	overall := []row{{"all questions", r.Overall}, {"without adversarial", r.NotAdversarial}}
	var categories, conversations, baselines []row
	for _, c := range locomo.Categories {
		if s, ok := r.ByCategory[c.String()]; ok {
			categories = append(categories, row{c.String(), s})
		}
	}
	for _, id := range r.Protocol.Conversations {
		conversations = append(conversations, row{id, r.ByConversation[id]})
	}
	for _, name := range Baselines {
		if s, ok := r.Baselines[name]; ok {
			baselines = append(baselines, row{name, s})
		}
	}
	out := []section{{"Overall", overall}, {"By category", categories}}
	if len(baselines) > 0 {
		out = append(out, section{"Baselines, all questions", append([]row{{"this run", r.Overall}}, baselines...)})
	}
	return append(out, section{"By conversation", conversations})
}

// columns are the figures of a table: the headline ones and mrr and ndcg.
func (r *Report) columns() []string {
	k := itoa(r.K)
	return []string{"hit@" + k, "recall@" + k, "mrr@" + k, "mrr", "ndcg@" + k}
}

// WriteMarkdown writes the report without the single questions.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, mode %s\n", r.title(), r.Protocol.Mode)
	for _, s := range r.sections() {
		fmt.Fprintf(&b, "\n## %s\n\n| | n | %s |\n|---|---|%s\n", s.title, strings.Join(r.columns(), " | "),
			strings.Repeat("---|", len(r.columns())))
		for _, row := range s.rows {
			fmt.Fprintf(&b, "| %s | %d |", row.name, row.s.N)
			for _, name := range r.columns() {
				fmt.Fprintf(&b, " %s |", figure(row.s, name))
			}
			b.WriteByte('\n')
		}
	}
	if r.Answers != nil {
		r.writeAnswers(&b)
	}
	b.WriteString("\n## Why questions were missed\n\n")
	for _, fate := range []string{NotStored, NotRetrieved, NotRanked} {
		fmt.Fprintf(&b, "- %s: %d\n", words(fate), r.Attribution[fate])
	}
	b.WriteString("\n## Cost and protocol\n\n")
	for _, p := range r.facts() {
		fmt.Fprintf(&b, "- %s: %s\n", p[0], p[1])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// answerSection is the table of the answers: its columns and rows.
func (r *Report) answerSection() (columns []string, rows []row) {
	columns = []string{"score", "abstained", "cited"}
	if r.Answers.Judge != "" {
		columns = []string{"score", "graded", "abstained", "cited"}
	}
	rows = []row{{"all questions", r.Answers.Overall}, {"without adversarial", r.Answers.Answerable}}
	for _, c := range locomo.Categories {
		if s, ok := r.Answers.ByCategory[c.String()]; ok {
			rows = append(rows, row{c.String(), s})
		}
	}
	return columns, rows
}

func (r *Report) writeAnswers(b *strings.Builder) {
	columns, rows := r.answerSection()
	fmt.Fprintf(b, "\n## Answers\n\n| | n | %s |\n|---|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, row := range rows {
		fmt.Fprintf(b, "| %s | %d |", row.name, row.s.N)
		for _, name := range columns {
			fmt.Fprintf(b, " %s |", figure(row.s, name))
		}
		b.WriteByte('\n')
	}
}

// answerFacts say who answered, who graded and what it cost.
func (r *Report) answerFacts() [][2]string {
	var out [][2]string
	if a := r.Answers; a != nil {
		line := "by " + a.Reader
		if a.Judge != "" {
			line += ", graded by " + a.Judge
		}
		out = append(out, [2]string{"answers", line + "; score is the official script's (F1 by category; abstaining for adversarial)"})
	}
	for _, l := range r.Usage {
		out = append(out, [2]string{"used for " + l.Operation, fmt.Sprintf("%s: %d calls, %d tokens in, %d out", l.Model, l.Calls, l.InputTokens, l.OutputTokens)})
	}
	return out
}

func (r *Report) title() string {
	if len(r.Protocol.Conversations) == 1 {
		return "LoCoMo " + r.Protocol.Conversations[0]
	}
	return fmt.Sprintf("LoCoMo, %d conversations", len(r.Protocol.Conversations))
}

// figure is a value with its interval, where there is one.
func figure(s Summary, name string) string {
	text := fmt.Sprintf("%.3f", s.Values[name])
	if ci, ok := s.CI95[name]; ok && s.N > 0 {
		text += fmt.Sprintf(" (%.3f to %.3f)", ci[0], ci[1])
	}
	return text
}

func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// facts are the protocol and the cost as pairs of name and value.
func (r *Report) facts() [][2]string {
	p := r.Protocol
	return append([][2]string{
		{"data", p.Data},
		{"questions", fmt.Sprintf("%d scored, %d left out for want of evidence", p.Questions, p.Excluded)},
		{"scoring", p.Scoring},
		{"memory", fmt.Sprintf("store %s, extractor %s, embedder %s", p.Store, p.Extractor, p.Embedder)},
		{"search", fmt.Sprintf("fusion %s, intent %s, context %s, priors %s", p.Fusion, onOff(p.Intent), onOff(p.Context), onOff(p.Priors))},
		{"bm25 baseline", p.BM25},
		{"written", fmt.Sprintf("%d turns, %d decisions, %d rejections in %.1f s", r.Write.Turns, r.Write.Decisions, r.Write.Rejections, r.Write.Seconds)},
		{"search latency in ms", fmt.Sprintf("p50 %.2f, p90 %.2f, p95 %.2f, p99 %.2f, slowest %.2f", r.LatencyMS.P50, r.LatencyMS.P90, r.LatencyMS.P95, r.LatencyMS.P99, r.LatencyMS.Max)},
		{"intents", r.intentLine()},
		{"degraded", r.degradedLine()},
		{"malformed evidence", fmt.Sprintf("%d notes", len(p.Notes))},
	}, r.answerFacts()...)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (r *Report) intentLine() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Intents.ByPredicate)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, r.Intents.ByPredicate[name]))
	}
	line := fmt.Sprintf("inferred for %d, not for %d", r.Intents.Inferred, r.Intents.None)
	if len(parts) > 0 {
		line += " (" + strings.Join(parts, ", ") + ")"
	}
	if m := r.Intents.Model; m != nil {
		line += fmt.Sprintf("; by model: asked %d, validated %d, predicate %d, value %d, activated %d",
			m.Asked, m.Validated, m.Predicate, m.Value, m.Activated)
	}
	return line
}

func (r *Report) degradedLine() string {
	if len(r.Degraded) == 0 {
		return "nothing"
	}
	var parts []string
	for _, line := range slices.Sorted(maps.Keys(r.Degraded)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", line, r.Degraded[line]))
	}
	return strings.Join(parts, "; ")
}
