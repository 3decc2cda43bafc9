package patterns_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/extract/patterns"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

var sent = time.Date(2026, 5, 13, 12, 0, 0, 0, time.UTC) // a Wednesday

func extractor(t testing.TB) *patterns.Extractor {
	t.Helper()
	e, err := patterns.New(predicates.Default())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// say is one message of Ada's conversation with Gina and Jon.
func say(by, text string, at time.Time, offset int) extract.Input {
	role, name, _ := strings.Cut(by, ":")
	person := func(name string) extract.Message {
		m := extract.Message{Episode: memory.Episode{ID: "e1", Role: memory.RoleUser, Speaker: name, SentAt: at, SentOffset: offset}}
		m.Speaks = memory.UserSubject
		if name != "" && name != "Ada" {
			m.Speaks = memory.Subject{Type: "person", Name: memory.FoldName(name)}
		}
		return m
	}
	m := person(name)
	m.Role, m.Content = memory.Role(role), text
	if m.Role != memory.RoleUser {
		m.Speaks = memory.Subject{}
	}
	return extract.Input{UserID: "u1", UserName: "Ada", Target: []extract.Message{m},
		Context: []extract.Message{person("Gina"), person("Jon"), person("")}}
}

// label writes a candidate as the table does.
func label(c extract.Candidate) string {
	sign := "+"
	switch {
	case c.Past:
		sign = "~"
	case c.Polarity == memory.Negative:
		sign = "-"
	}
	who := ""
	switch c.Subject.Type {
	case "person":
		who = c.Subject.Name + "."
	case "project":
		who = "project:" + c.Subject.Name + "."
	}
	return sign + who + c.Predicate + "=" + identity(c.Predicate, c.Value)
}

func identity(predicate, value string) string {
	if _, id, ok := predicates.Default().Value(predicate, value); ok {
		return id
	}
	return strings.ToLower(value)
}

type labelled struct {
	line           int
	text, by, want string
}

func table(t testing.TB) []labelled {
	t.Helper()
	f, err := os.Open("testdata/sentences.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []labelled
	scan := bufio.NewScanner(f)
	for n := 1; scan.Scan(); n++ {
		line := scan.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cols := strings.Split(line, "\t")
		if len(cols) != 3 {
			t.Fatalf("sentences.tsv:%d: %d columns, want 3", n, len(cols))
		}
		rows = append(rows, labelled{n, strings.ReplaceAll(cols[0], `\n`, "\n"), cols[1], cols[2]})
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// wanted folds the values of the expected entries.
func (l labelled) wanted() []string {
	if l.want == "-" {
		return nil
	}
	var out []string
	for _, w := range strings.Split(l.want, " ; ") {
		head, value, _ := strings.Cut(w, "=")
		predicate := head[1:]
		if i := strings.LastIndexByte(predicate, '.'); i >= 0 {
			predicate = predicate[i+1:]
		}
		out = append(out, head+"="+identity(predicate, value))
	}
	return out
}

// TestSentences measures precision and recall on the labelled table.
func TestSentences(t *testing.T) {
	e := extractor(t)
	var right, wrong, missed, traps int
	var report []string
	rows := table(t)
	for _, row := range rows {
		out, err := e.Extract(context.Background(), say(row.by, row.text, sent, 0))
		if err != nil {
			t.Fatal(err)
		}
		want := row.wanted()
		if len(want) == 0 {
			traps++
		}
		for _, c := range out.Candidates {
			checkQuote(t, row.text, c)
			got := label(c)
			if i := slices.Index(want, got); i >= 0 {
				want = slices.Delete(want, i, i+1)
				right++
				continue
			}
			wrong++
			report = append(report, fmt.Sprintf("%4d WRONG  %-40s %s", row.line, got, row.text))
		}
		for _, w := range want {
			missed++
			report = append(report, fmt.Sprintf("%4d missed %-40s %s", row.line, w, row.text))
		}
	}
	precision := float64(right) / float64(max(1, right+wrong))
	recall := float64(right) / float64(max(1, right+missed))
	t.Logf("%d sentences, %d of them traps: precision %.3f, recall %.3f\n%s",
		len(rows), traps, precision, recall, strings.Join(report, "\n"))
	if len(rows) < 300 || traps*2 < len(rows)-40 {
		t.Errorf("%d sentences with %d traps: want at least 300, about half traps", len(rows), traps)
	}
	if precision < 0.98 || recall < 0.80 {
		t.Errorf("precision %.3f, recall %.3f: want at least 0.98 and 0.80", precision, recall)
	}
}

// checkQuote: the quote is in the message at its offset, and is the text.
func checkQuote(t testing.TB, content string, c extract.Candidate) {
	t.Helper()
	if c.Start < 0 || c.Start+len(c.Quote) > len(content) || content[c.Start:c.Start+len(c.Quote)] != c.Quote || c.Quote == "" {
		t.Errorf("quote of %d bytes is not at offset %d of %q", len(c.Quote), c.Start, content)
	}
}
