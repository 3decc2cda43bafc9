package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const miniData = "../../testdata/locomo-mini/locomo-mini.json"

func TestEvalLocomo(t *testing.T) {
	var doc map[string]any
	newCLI(t).document(&doc, "eval", "locomo", "--data", miniData, "--json")
	wantKeys(t, "evaluation", doc, "protocol overall overall_without_adversarial by_category by_conversation baselines "+
		"latency_ms attribution intents write degraded questions")
	if n := doc["overall"].(map[string]any)["n"]; n != 8.0 {
		t.Errorf("%v questions", n)
	}
}

func TestEvalReportsAndComparison(t *testing.T) {
	c := newCLI(t)
	folder := t.TempDir()
	page := filepath.Join(folder, "report.html")
	out := c.ok("eval", "locomo", "--data", miniData, "--conversation", "mini-1", "--k", "3", "--mode", "observations", "--html", page)
	if !strings.Contains(out, "| all questions | 8 |") || !strings.Contains(out, "hit@3") {
		t.Errorf("report:\n%s", out)
	}
	if b, err := os.ReadFile(page); err != nil || !strings.HasPrefix(string(b), "<!doctype html>") {
		t.Errorf("page: %v", err)
	}
	var names []string
	for _, flag := range []string{"--no-context", "--no-intent"} {
		name := filepath.Join(folder, flag+".json")
		if err := os.WriteFile(name, []byte(c.ok("eval", "locomo", "--data", miniData, "--no-baselines", "--json", flag)), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if out := c.ok("eval", "compare", names[0], names[1]); !strings.Contains(out, "8 questions in both runs") {
		t.Errorf("comparison:\n%s", out)
	}
}

func TestEvalAnswers(t *testing.T) {
	c := newCLI(t)
	var doc map[string]any
	c.document(&doc, "eval", "locomo", "--data", miniData, "--answers", "--no-baselines", "--json")
	answers, _ := doc["answers"].(map[string]any)
	wantKeys(t, "answers", answers, "reader judge overall overall_without_adversarial by_category")
	if out := c.ok("eval", "locomo", "--data", miniData, "--answers", "--no-baselines"); !strings.Contains(out, "## Answers") || !strings.Contains(out, "answers: by quotes") {
		t.Errorf("report:\n%s", out)
	}
}

func TestEvalSuite(t *testing.T) {
	if out := newCLI(t).ok("eval", "suite"); !strings.Contains(out, "| knowledge_update | 24 | 1.000") {
		t.Errorf("suite:\n%s", out)
	}
}

func TestEvalUsage(t *testing.T) {
	c := newCLI(t)
	c.fails(exitUsage, "no data given", "eval", "locomo")
	c.fails(exitUsage, "unknown mode", "eval", "locomo", "--data", miniData, "--mode", "guess")
	c.fails(exitUsage, "no language model is configured", "eval", "locomo", "--data", miniData, "--mode", "model")
	c.fails(exitUsage, "exclude each other", "eval", "locomo", "--data", miniData, "--tape", "a", "--replay", "b")
	c.fails(exitFailure, "no such file", "eval", "locomo", "--data", miniData, "--replay", "nowhere.tape")
	c.fails(exitUsage, "unknown strategy", "eval", "locomo", "--data", miniData, "--fusion", "sum")
	c.fails(exitUsage, "--k", "eval", "locomo", "--data", miniData, "--k", "0")
	c.fails(exitUsage, "no conversation conv-1", "eval", "locomo", "--data", miniData, "--conversation", "conv-1")
	c.fails(exitFailure, "no such file", "eval", "locomo", "--data", "nowhere.json")
	c.fails(exitFailure, "LoCoMo", "eval", "locomo", "--data", "app.go")
	c.fails(exitUsage, "want two", "eval", "compare", "a.json")
}
