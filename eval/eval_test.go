package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/eval"
	"github.com/meminfra/memory-layer/eval/locomo"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
)

func openStore(t *testing.T) storage.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func miniConfig(t *testing.T) eval.Config {
	t.Helper()
	all, notes, err := locomo.Load("../testdata/locomo-mini/locomo-mini.json")
	if err != nil {
		t.Fatal(err)
	}
	return eval.Config{Conversations: all, Notes: notes, Data: "mini", Store: "sqlite"}
}

func runMini(t *testing.T, edit ...func(*eval.Config)) *eval.Report {
	t.Helper()
	cfg := miniConfig(t)
	for _, f := range edit {
		f(&cfg)
	}
	r, err := eval.Run(t.Context(), openStore(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRunScoresTheRealPath(t *testing.T) {
	asked := 0
	r := runMini(t, func(c *eval.Config) { c.Progress = func(done, total int) { asked++ } })
	if r.Overall.N != 8 || r.Protocol.Excluded != 1 || asked != 8 {
		t.Errorf("%d questions scored, %d excluded, %d told of", r.Overall.N, r.Protocol.Excluded, asked)
	}
	if r.NotAdversarial.N != 7 || r.ByCategory["adversarial"].N != 1 || r.ByConversation["mini-1"].N != 8 {
		t.Errorf("counts: %+v", r.ByCategory)
	}
	if got := r.Overall.Values["hit@5"]; got < 0.85 {
		t.Errorf("hit@5 is %v: nineteen turns are easy", got)
	}
	for _, name := range eval.Baselines {
		if s := r.Baselines[name]; s.N != 8 || s.Values["hit@10"] == 0 {
			t.Errorf("baseline %s: %+v", name, s)
		}
	}
	if r.Write.Turns != 19 || r.Intents.Inferred+r.Intents.None != 8 || r.LatencyMS.P95 < r.LatencyMS.P50 {
		t.Errorf("cost: %+v %+v %+v", r.Write, r.Intents, r.LatencyMS)
	}
}

func TestRunsAreRepeatable(t *testing.T) {
	store, cfg := openStore(t), miniConfig(t)
	var reports []*eval.Report
	for range 2 { // in one store: each run takes a tenant of its own
		r, err := eval.Run(t.Context(), store, cfg)
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	for i, o := range reports[0].Questions {
		for name, x := range o.Values {
			if y := reports[1].Questions[i].Values[name]; x != y {
				t.Errorf("question %d: %s is %v, then %v", o.Question, name, x, y)
			}
		}
	}
}

func TestObservationsGoThroughTheWritePath(t *testing.T) {
	r := runMini(t, func(c *eval.Config) { c.Mode = eval.Observations })
	if r.Write.Decisions != 7 || r.Write.Rejections != 0 || r.Protocol.Extractor != "locomo-observations/1" {
		t.Errorf("wrote %+v by %s", r.Write, r.Protocol.Extractor)
	}
}

func TestSwitchesReachTheSearch(t *testing.T) {
	plain := runMini(t, func(c *eval.Config) { c.SkipContext, c.SkipPriors, c.SkipIntent = true, true, true })
	if plain.Overall.Values["mrr"] != plain.Baselines[eval.Agreement].Values["mrr"] {
		t.Error("without context, priors and intent a run is not the agreement baseline")
	}
	if plain.Intents.Inferred != 0 || plain.Protocol.Context || plain.Protocol.Priors || plain.Protocol.Intent {
		t.Errorf("the protocol says %+v", plain.Protocol)
	}
}

func TestRunErrors(t *testing.T) {
	cfg := miniConfig(t)
	cfg.Conversations[0].Questions = nil
	if _, err := eval.Run(t.Context(), openStore(t), cfg); !errors.Is(err, eval.ErrNoQuestions) {
		t.Errorf("no questions: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := eval.Run(ctx, openStore(t), miniConfig(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The documented evaluation document.
func TestReportJSON(t *testing.T) {
	b, err := json.Marshal(runMini(t))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Protocol       map[string]any
		Overall        map[string]any
		ByCategory     map[string]map[string]any `json:"by_category"`
		ByConversation map[string]map[string]any `json:"by_conversation"`
		Baselines      map[string]map[string]any
		Latency        map[string]float64 `json:"latency_ms"`
		Attribution    map[string]int
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range []map[string]any{doc.Overall, doc.ByCategory["single_hop"], doc.ByConversation["mini-1"],
		doc.Baselines["bm25"], doc.Baselines["vector"], doc.Baselines["rrf"], doc.Baselines["agreement"]} {
		for _, key := range []string{"n", "hit@5", "recall@5", "mrr@5", "mrr", "ci95"} {
			if _, ok := s[key]; !ok {
				t.Errorf("no %s in %v", key, s)
			}
		}
	}
	for _, key := range []string{"not_stored", "not_retrieved", "not_ranked"} {
		if _, ok := doc.Attribution[key]; !ok {
			t.Errorf("no %s in attribution", key)
		}
	}
	if doc.Latency["p50"] <= 0 || doc.Latency["p95"] <= 0 || doc.Protocol["mode"] != "turns" {
		t.Errorf("latency %v, protocol %v", doc.Latency, doc.Protocol)
	}
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := runMini(t).WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# LoCoMo mini-1, mode turns", "| all questions | 8 |", "| multi_hop | 1 |", "| agreement | 8 |", "- not ranked: "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestCompare(t *testing.T) {
	var files [2]bytes.Buffer
	for i, skip := range []bool{true, false} {
		r := runMini(t, func(c *eval.Config) { c.SkipContext, c.SkipBaselines = skip, true })
		if err := json.NewEncoder(&files[i]).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	copies := [2][]byte{bytes.Clone(files[0].Bytes()), bytes.Clone(files[1].Bytes())}
	c, err := eval.Compare(&files[0], &files[1])
	if err != nil {
		t.Fatal(err)
	}
	if c.Questions != 8 || c.OnlyOne != 0 || c.K != 5 || c.Metrics["hit@5"].Difference != c.B["hit@5"]-c.A["hit@5"] {
		t.Errorf("compared %+v", c)
	}
	var b strings.Builder
	if err := c.WriteMarkdown(&b); err != nil || !strings.Contains(b.String(), "| recall@5 |") {
		t.Errorf("%v:\n%s", err, b.String())
	}
	deeper := bytes.Replace(copies[1], []byte(`"k":5`), []byte(`"k":3`), 1)
	if _, err := eval.Compare(bytes.NewReader(copies[0]), bytes.NewReader(deeper)); !errors.Is(err, eval.ErrNotComparable) {
		t.Errorf("other depths: %v", err)
	}
	if _, err := eval.Compare(strings.NewReader("hello"), bytes.NewReader(copies[0])); err == nil {
		t.Error("text passes for a report")
	}
}

// A browser renders the page: charts drawn, text escaped, nothing fetched.
func TestHTMLInBrowser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	r := runMini(t, func(c *eval.Config) {
		c.K = 1 // so that something is missed
		c.Conversations[0].Questions[3].Text = "What <b>happened</b> to Tobias's lemon tree?"
	})
	if err := errors.Join(r.WriteHTML(file), file.Close()); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, outside := range []string{"src=", "href=", "<script", "@import", "url("} {
		if bytes.Contains(page, []byte(outside)) {
			t.Errorf("the page has %s: it must need nothing else", outside)
		}
	}
	dom := inBrowser(t, path)
	if n := strings.Count(dom, "<svg"); n != 4 {
		t.Errorf("%d charts, want 4", n)
	}
	for _, want := range []string{"LoCoMo mini-1", "<rect", "<polyline", "class=\"ci\"", "returned instead", "not ranked: "} {
		if !strings.Contains(dom, want) {
			t.Errorf("the rendered page lacks %q", want)
		}
	}
	if strings.Contains(dom, "NaN") || strings.Contains(dom, "<b>happened") {
		t.Error("the rendered page has a figure that is none, or markup of the data")
	}
}

// inBrowser returns the page as headless Chromium has it.
func inBrowser(t *testing.T, path string) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		browser, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom",
			"--user-data-dir="+t.TempDir(), "file://"+path)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return string(out)
	}
	t.Skip("SKIPPED: no Chromium on this machine, so nobody looked at the HTML report: apt-get install chromium")
	return ""
}
