package eval

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/meminfra/memory-layer/eval/metrics"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"words": words,
	"join":  func(list []string) string { return strings.Join(list, ", ") },
	"score": func(x float64) string { return fmt.Sprintf("%.3f", x) },
}).Parse(page))

// WriteHTML writes the report as one web page that needs nothing else: no script,
// no style sheet, no picture from anywhere. It quotes the data of the missed
// questions, so what may be done with it is up to the data's licence.
func (r *Report) WriteHTML(w io.Writer) error {
	type section struct {
		Title   string
		Columns []string
		Rows    [][]string
	}
	type miss struct {
		Outcome
		Top, Wanted []Shown
	}
	data := struct {
		Title          string
		Mode           Mode
		Headline       []string
		Figures        []string
		Sections       []section
		Bars, Baseline template.HTML
		Fates, Latency template.HTML
		Facts          [][2]string
		Misses         []miss
		K              int
	}{Title: r.title(), Mode: r.Protocol.Mode, Headline: headline(r.K),
		Facts: r.facts(), K: r.K}
	for _, name := range data.Headline {
		data.Figures = append(data.Figures, figure(r.Overall, name))
	}
	table := func(title string, columns []string, rows []row) {
		out := section{Title: title, Columns: append([]string{"", "n"}, columns...)}
		for _, row := range rows {
			cells := []string{row.name, itoa(row.s.N)}
			for _, name := range columns {
				cells = append(cells, figure(row.s, name))
			}
			out.Rows = append(out.Rows, cells)
		}
		data.Sections = append(data.Sections, out)
	}
	for _, s := range r.sections() {
		table(s.title, r.columns(), s.rows)
	}
	if r.Answers != nil {
		columns, rows := r.answerSection()
		table("Answers", columns, rows)
	}
	for i := range r.Questions {
		if o := &r.Questions[i]; o.Fate != "" {
			data.Misses = append(data.Misses, miss{*o, o.top, o.goldText})
		}
	}
	sections := r.sections()
	data.Bars = r.bars(sections[1].rows)
	if len(r.Baselines) > 0 {
		data.Baseline = r.bars(sections[2].rows)
	}
	data.Fates, data.Latency = r.fateBar(), r.latencyCurve()
	return pageTemplate.Execute(w, data)
}

// The charts' colours: dark enough for white paper, told apart by lightness too.
var shades = []string{"#1f4e79", "#3f8f8a", "#d08c2c"}

// bars draws, for each row, one bar for each headline figure with its interval.
func (r *Report) bars(rows []row) template.HTML {
	const (
		left, width = 190, 470
		bar, gap    = 16, 14
	)
	names := headline(r.K)
	step := len(names)*bar + gap
	height := len(rows)*step + 50
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="bars with 95 %% intervals">`, left+width+110, height)
	for i := 0; i <= 10; i += 2 {
		x := left + i*width/10
		fmt.Fprintf(&b, `<line x1="%d" y1="20" x2="%d" y2="%d" class="grid"/><text x="%d" y="14" class="tick">%.1f</text>`, x, x, height-24, x, float64(i)/10)
	}
	for i, row := range rows {
		y := 26 + i*step
		fmt.Fprintf(&b, `<text x="%d" y="%d" class="label">%s (%d)</text>`, left-10, y+step/2-gap/2+4, template.HTMLEscapeString(words(row.name)), row.s.N)
		for j, name := range names {
			v, ci := row.s.Values[name], row.s.CI95[name]
			top := y + j*bar
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`, left, top, v*width, bar-3, shades[j%len(shades)])
			mid := top + (bar-3)/2
			low, high := float64(left)+ci[0]*width, float64(left)+ci[1]*width
			fmt.Fprintf(&b, `<path d="M%.1f %dH%.1fM%.1f %dv6M%.1f %dv6" class="ci"/>`, low, mid, high, low, mid-3, high, mid-3)
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" class="value">%.3f</text>`, max(high, float64(left)+v*width)+6, mid+4, v)
		}
	}
	for j, name := range names {
		x := left + j*130
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d" class="key">%s</text>`,
			x, height-16, shades[j%len(shades)], x+18, height-6, name)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers, and names that are escaped
}

// fateBar draws what became of all questions as one bar.
func (r *Report) fateBar() template.HTML {
	const width = 760
	total := r.Overall.N
	missed := r.Attribution[NotStored] + r.Attribution[NotRetrieved] + r.Attribution[NotRanked]
	parts := []struct {
		name, fill string
		n          int
	}{
		{"found", "#3f8f8a", total - missed}, {NotRanked, "#e3b062", r.Attribution[NotRanked]},
		{NotRetrieved, "#c8702c", r.Attribution[NotRetrieved]}, {NotStored, "#8c2f39", r.Attribution[NotStored]},
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d 70" role="img" aria-label="what became of the questions">`, width)
	x := 0.0
	for i, p := range parts {
		w := float64(p.n) / float64(max(total, 1)) * width
		fmt.Fprintf(&b, `<rect x="%.1f" y="4" width="%.1f" height="26" fill="%s"/>`, x, w, p.fill)
		x += w
		fmt.Fprintf(&b, `<rect x="%d" y="46" width="12" height="12" fill="%s"/><text x="%d" y="56" class="key">%s: %d</text>`,
			i*190, p.fill, i*190+18, words(p.name), p.n)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers and constants
}

// latencyCurve draws the latency at each percentile up to the 99th.
func (r *Report) latencyCurve() template.HTML {
	const left, width, height = 50, 660, 180
	ms := make([]float64, len(r.Questions))
	for i := range r.Questions {
		ms[i] = r.Questions[i].Milliseconds
	}
	top := max(metrics.Percentile(ms, 99), 0.001)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="search latency by percentile">`, left+width+60, height+50)
	for i := 0; i <= 4; i++ {
		y := height + 10 - i*height/4
		fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d" class="grid"/><text x="%d" y="%d" class="label">%.1f</text>`,
			left, y, left+width, y, left-6, y+4, top*float64(i)/4)
	}
	var line strings.Builder
	for p := 0; p <= 99; p++ {
		x := left + float64(p)/99*width
		y := float64(height) + 10 - metrics.Percentile(ms, float64(p))/top*height
		fmt.Fprintf(&line, "%.1f,%.1f ", x, y)
	}
	fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`, line.String(), shades[0])
	for _, p := range []int{50, 90, 95, 99} {
		x := left + p*width/99
		fmt.Fprintf(&b, `<text x="%d" y="%d" class="tick">p%d</text>`, x, height+28, p)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" class="key">milliseconds for a search of %d hits, store included</text></svg>`, left, height+46, r.K)
	return template.HTML(b.String()) //nolint:gosec // numbers and constants
}
