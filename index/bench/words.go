package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/meminfra/memory-layer/index/bm25"
	"github.com/meminfra/memory-layer/index/indextest"
)

// words is a word engine: rows of texts in, the ten best rows out.
type words struct {
	name  string
	build func(texts []string) (search func(query string) ([]int, error), err error)
}

var wordEngines = []words{{"meminfra-bm25", buildOurs}, {"bleve", buildBleve}}

func buildOurs(texts []string) (func(string) ([]int, error), error) {
	x := bm25.New(nil, len(texts))
	for row, s := range texts {
		x.Set(row, s)
	}
	return func(query string) ([]int, error) {
		hits := x.Search(query, nil, k)
		rows := make([]int, len(hits))
		for i, h := range hits {
			rows[i] = h.Row
		}
		return rows, nil
	}, nil
}

// buildBleve uses scorch in memory with the English analyser, bleve's best
// setting in deps-lab B.
func buildBleve(texts []string) (func(string) ([]int, error), error) {
	m := bleve.NewIndexMapping()
	m.DefaultAnalyzer = en.AnalyzerName
	x, err := bleve.NewUsing("", m, scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, err
	}
	const many = 1000
	for from := 0; from < len(texts); from += many {
		b := x.NewBatch()
		for row := from; row < min(from+many, len(texts)); row++ {
			if err := b.Index(strconv.Itoa(row), map[string]string{"text": texts[row]}); err != nil {
				return nil, err
			}
		}
		if err := x.Batch(b); err != nil {
			return nil, err
		}
	}
	return func(query string) ([]int, error) {
		q := bleve.NewMatchQuery(query)
		q.SetField("text")
		found, err := x.Search(bleve.NewSearchRequestOptions(q, k, 0, false))
		if err != nil {
			return nil, err
		}
		rows := make([]int, len(found.Hits))
		for i, h := range found.Hits {
			rows[i], _ = strconv.Atoi(h.ID)
		}
		return rows, nil
	}, nil
}

// benchWords measures with the time of the whole process: bleve's work is not all
// in the calling thread.
func benchWords(n, rounds int) error {
	texts := indextest.Texts(n, 1)
	asked := indextest.Texts(queries, 2)
	for i, q := range asked {
		f := strings.Fields(q)
		asked[i] = strings.Join(f[:min(5, len(f))], " ")
	}
	fmt.Printf("\n%d short texts, %d queries of 5 words, top %d, processor time of the process\n", n, queries, k)
	fmt.Printf("%-24s %9s %9s %9s %10s\n", "engine", "build s", "p50 us", "p95 us", "bytes/text")
	for _, e := range wordEngines {
		before, start := heap(), processNanos()
		search, err := e.build(texts)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		seconds := float64(processNanos()-start) / 1e9
		bytes := heap() - before
		var all []figures
		for range rounds {
			nanos := make([]float64, len(asked))
			for i, q := range asked {
				start := processNanos()
				if _, err := search(q); err != nil {
					return fmt.Errorf("%s: %w", e.name, err)
				}
				nanos[i] = float64(processNanos() - start)
			}
			slices.Sort(nanos)
			all = append(all, figures{p50: nanos[len(nanos)/2], p95: nanos[len(nanos)*95/100]})
		}
		f := middle(all)
		fmt.Printf("%-24s %9.3f %9.1f %9.1f %10d\n", e.name, seconds, f.p50/1e3, f.p95/1e3, bytes/int64(n))
		runtime.KeepAlive(search)
	}
	return nil
}

// chat is one conversation of LoCoMo.
type chat struct {
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question string   `json:"question"`
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

// benchEvidence asks LoCoMo's questions of categories 1 to 4 and counts how much
// of their evidence is among the ten best turns of the conversation. The data is
// read from where the user has it and never kept.
func benchEvidence(path string) error {
	if path == "" {
		fmt.Println("\nLOCOMO_DATA is not set to locomo10.json: no evidence recall")
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var chats []chat
	if err := json.Unmarshal(raw, &chats); err != nil {
		return err
	}
	fmt.Printf("\nLoCoMo (Maharana et al. 2024, CC BY-NC 4.0), categories 1 to 4, an index for each conversation\n")
	fmt.Printf("%-24s %9s %18s %9s\n", "engine", "questions", "evidence recall@10", "any@10")
	for _, e := range wordEngines {
		var asked, recall, hit float64
		for _, c := range chats {
			a, r, h, err := askChat(e, c)
			if err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			asked, recall, hit = asked+a, recall+r, hit+h
		}
		fmt.Printf("%-24s %9.0f %18.4f %9.4f\n", e.name, asked, recall/asked, hit/asked)
	}
	return nil
}

func askChat(e words, c chat) (asked, recall, hit float64, err error) {
	texts, ids, err := c.turns()
	if err != nil {
		return 0, 0, 0, err
	}
	search, err := e.build(texts)
	if err != nil {
		return 0, 0, 0, err
	}
	for _, q := range c.QA {
		evidence := rowsOf(q.Evidence, ids)
		if q.Category == 5 || len(evidence) == 0 {
			continue
		}
		rows, err := search(q.Question)
		if err != nil {
			return 0, 0, 0, err
		}
		found := 0.0
		for _, row := range evidence {
			if slices.Contains(rows, row) {
				found++
			}
		}
		asked++
		recall += found / float64(len(evidence))
		if found > 0 {
			hit++
		}
	}
	return asked, recall, hit, nil
}

// turns returns "speaker: text [caption]" of all turns, and their rows by id.
func (c chat) turns() (texts []string, ids map[string]int, err error) {
	ids = map[string]int{}
	for n := 1; ; n++ {
		raw, ok := c.Conversation[fmt.Sprint("session_", n)]
		if !ok {
			if _, more := c.Conversation[fmt.Sprintf("session_%d_date_time", n)]; more {
				continue // a date without a session
			}
			return texts, ids, nil
		}
		var turns []struct {
			Speaker string `json:"speaker"`
			ID      string `json:"dia_id"`
			Text    string `json:"text"`
			Caption string `json:"blip_caption"`
		}
		if err := json.Unmarshal(raw, &turns); err != nil {
			return nil, nil, err
		}
		for _, t := range turns {
			s := t.Speaker + ": " + t.Text
			if t.Caption != "" {
				s += " [" + t.Caption + "]"
			}
			ids[t.ID] = len(texts)
			texts = append(texts, s)
		}
	}
}

// rowsOf reads evidence, which is not always well formed: see the README of the
// data.
func rowsOf(evidence []string, ids map[string]int) []int {
	var rows []int
	for _, e := range evidence {
		for _, id := range strings.FieldsFunc(e, func(r rune) bool { return r == ';' || r == ',' || r == ' ' }) {
			id = strings.Replace(id, "D:", "D", 1)
			if session, turn, ok := strings.Cut(id, ":"); ok {
				id = session + ":" + strings.TrimLeft(turn, "0")
			}
			if row, ok := ids[id]; ok && !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}
