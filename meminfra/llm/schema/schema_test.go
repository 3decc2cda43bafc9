package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/llm/schema"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type inner struct {
	Kind  string   `json:"kind" jsonschema:"enum=fact,enum=event,description=What it is"`
	Value *string  `json:"value,omitempty"`
	Words string   `json:"words,omitempty" jsonschema:"nullable"`
	Score *float64 `json:"score" jsonschema:"minimum=0,maximum=1,nullable"`
}

type outer struct {
	List   []inner `json:"list"`
	One    *inner  `json:"one,omitempty" jsonschema:"nullable"`
	Sure   bool    `json:"sure,omitempty"`
	Hidden string  `json:"-"`
}

// TestGolden holds the reflector to what strict mode takes: a new version that
// writes another schema shows here and not at a provider.
func TestGolden(t *testing.T) {
	s, err := schema.For[outer]("sample")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, s.JSON, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	if *update {
		if err := os.WriteFile("testdata/sample.json", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/sample.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got %s", got.String())
	}
	for _, word := range []string{"$ref", "$defs", "$schema", "$id", "oneOf"} {
		if strings.Contains(got.String(), word) {
			t.Errorf("a strict schema has no %s", word)
		}
	}
}

func TestStrictThroughout(t *testing.T) {
	s := schema.Must[outer]("sample")
	var v any
	if err := json.Unmarshal(s.JSON, &v); err != nil {
		t.Fatal(err)
	}
	objects := 0
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if props, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
				objects++
				required, _ := v["required"].([]any)
				if len(required) != len(props) || v["additionalProperties"] != false {
					t.Errorf("not strict: %v", v)
				}
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(v)
	if objects != 3 {
		t.Errorf("%d objects, want 3", objects)
	}
}

type tree struct {
	Kids []tree `json:"kids"`
}

func TestRefused(t *testing.T) {
	for name, f := range map[string]func() error{
		"map":       func() error { _, err := schema.For[struct{ M map[string]int }]("x"); return err },
		"deep map":  func() error { _, err := schema.For[struct{ L []struct{ M map[string]int } }]("x"); return err },
		"interface": func() error { _, err := schema.For[struct{ V any }]("x"); return err },
		"recursive": func() error { _, err := schema.For[tree]("x"); return err },
		"no struct": func() error { _, err := schema.For[[]int]("x"); return err },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
