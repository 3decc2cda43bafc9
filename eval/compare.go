package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/meminfra/memory-layer/eval/metrics"
)

// ErrNotComparable: two reports have no question in common, or other depths.
var ErrNotComparable = errors.New("reports cannot be compared")

// Compared is how run B differs from run A on the questions that both asked.
type Compared struct {
	A         map[string]float64            `json:"a"`
	B         map[string]float64            `json:"b"`
	Metrics   map[string]metrics.Comparison `json:"metrics"`
	Questions int                           `json:"questions"`
	OnlyOne   int                           `json:"in_one_run_only"`
	Won       int                           `json:"won"`  // found by B alone
	Lost      int                           `json:"lost"` // found by A alone
	K         int                           `json:"k"`
}

// savedReport is what comparing needs of a report in JSON.
type savedReport struct {
	Protocol  Protocol  `json:"protocol"`
	Questions []Outcome `json:"questions"`
}

// Compare reads two reports in JSON and compares them question by question.
// Errors: ErrNotComparable, and for what is no report.
func Compare(a, b io.Reader) (*Compared, error) {
	var reports [2]savedReport
	for i, r := range []io.Reader{a, b} {
		if err := json.NewDecoder(r).Decode(&reports[i]); err != nil {
			return nil, fmt.Errorf("report %c: want what eval locomo --json prints: %w", 'A'+i, err)
		}
	}
	k := reports[0].Protocol.K
	if k == 0 || k != reports[1].Protocol.K {
		return nil, fmt.Errorf("%w: they have k %d and %d", ErrNotComparable, k, reports[1].Protocol.K)
	}
	return compare(reports[0].Questions, reports[1].Questions, k)
}

func compare(a, b []Outcome, k int) (*Compared, error) {
	type key struct {
		conversation string
		question     int
	}
	others := make(map[key]metrics.Values, len(b))
	for i := range b {
		others[key{b[i].Conversation, b[i].Question}] = b[i].Values
	}
	var left, right []metrics.Values
	for i := range a {
		if v, ok := others[key{a[i].Conversation, a[i].Question}]; ok {
			left, right = append(left, a[i].Values), append(right, v)
		}
	}
	if len(left) == 0 {
		return nil, fmt.Errorf("%w: no question in common", ErrNotComparable)
	}
	out := &Compared{A: metrics.Mean(left), B: metrics.Mean(right), Metrics: map[string]metrics.Comparison{},
		Questions: len(left), OnlyOne: len(a) + len(b) - 2*len(left), K: k}
	for _, name := range headline(k) {
		x, y := make([]float64, len(left)), make([]float64, len(left))
		for i := range left {
			x[i], y[i] = left[i][name], right[i][name]
		}
		out.Metrics[name] = metrics.Compare(x, y)
	}
	hit := headline(k)[0]
	for i := range left {
		switch {
		case left[i][hit] < right[i][hit]:
			out.Won++
		case left[i][hit] > right[i][hit]:
			out.Lost++
		}
	}
	return out, nil
}

// WriteMarkdown writes the comparison as a table.
func (c *Compared) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d questions in both runs, %d in one only\n\n", c.Questions, c.OnlyOne)
	b.WriteString("| | A | B | B - A (95 % interval) | p |\n|---|---|---|---|---|\n")
	for _, name := range headline(c.K) {
		m := c.Metrics[name]
		fmt.Fprintf(&b, "| %s | %.3f | %.3f | %+.3f (%+.3f to %+.3f) | %.4f |\n", name, c.A[name], c.B[name],
			m.Difference, m.CI95[0], m.CI95[1], m.P)
	}
	fmt.Fprintf(&b, "\n%d questions are found by B alone, %d by A alone\n", c.Won, c.Lost)
	_, err := io.WriteString(w, b.String())
	return err
}
