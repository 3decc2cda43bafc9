package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/meminfra/memory-layer/meminfra/llm/llmtest"
)

const testKey = "sk-test-0123456789abcdef"

// configured returns a cli with a folder for configurations, and the file's path.
func configured(t *testing.T) (*cli, string) {
	c := newCLI(t)
	c.env["XDG_CONFIG_HOME"] = filepath.Join(t.TempDir(), "config")
	return c, filepath.Join(c.env["XDG_CONFIG_HOME"], "meminfra", "config.json")
}

// local is a machine with an Ollama server; asked are the requests made.
type local struct{ asked *[]string }

func (l local) RoundTrip(r *http.Request) (*http.Response, error) {
	*l.asked = append(*l.asked, r.Method+" "+r.URL.String())
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"version":"0.9.1"}`)), Request: r}, nil
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// What init finds is shown and written, keys by their variable; nobody but the
// local server is asked anything.
func TestInitFindsModels(t *testing.T) {
	for name, tt := range map[string]struct {
		env   map[string]string
		flags []string
		local bool
		file  []string // in the file
		out   []string // in the output
	}{
		"nothing": {file: []string{`"llm": null`, `"embedding": null`},
			out: []string{"no server on this machine", "OPENAI_API_KEY     not set", "built in: no model is asked", "(written)"}},
		"a key": {env: map[string]string{"OPENAI_API_KEY": testKey},
			file: []string{`"api_key_env": "OPENAI_API_KEY"`, `"provider": "openai"`, `"model": "text-embedding-3-small"`},
			out:  []string{"OPENAI_API_KEY     set", "llm          openai gpt-5-mini, key in OPENAI_API_KEY (config file)", "messages and questions are sent there", "meminfra reembed"}},
		"a key and no wish for it": {env: map[string]string{"OPENAI_API_KEY": testKey}, flags: []string{"--use", "builtin"},
			file: []string{`"llm": null`}, out: []string{"OPENAI_API_KEY     set", "built in"}},
		"ollama without a model": {local: true, file: []string{`"llm": null`}, out: []string{"running; to use it name a model"}},
		"ollama goes first": {local: true, env: map[string]string{"OPENAI_API_KEY": testKey},
			flags: []string{"--model", "llama3.2", "--embedding-model", "nomic-embed-text"},
			file:  []string{`"provider": "ollama"`, `"model": "llama3.2"`, `"model": "nomic-embed-text"`}, out: []string{"ollama llama3.2 (config file)"}},
		"this program's own variables go before": {env: map[string]string{"OPENAI_API_KEY": testKey, "LLM_MODEL": "m", "LLM_BASE_URL": "http://127.0.0.1:9/v1", "LLM_API_KEY": testKey},
			file: []string{`"provider": "openai_compatible"`, `"api_key_env": "LLM_API_KEY"`, `"embedding": null`}, out: []string{"openai_compatible m at http://127.0.0.1:9/v1, key in LLM_API_KEY", "unsetting LLM_* ends it"}},
		"a blank key is none": {env: map[string]string{"OPENAI_API_KEY": "  "}, file: []string{`"llm": null`}, out: []string{"OPENAI_API_KEY     not set"}},
		"unusable variables": {env: map[string]string{"EMBEDDING_PROVIDER": "anthropic", "EMBEDDING_MODEL": "m"},
			file: []string{`"embedding": null`}, out: []string{"set, but not usable: EMBEDDING_PROVIDER: anthropic has no embeddings", "cannot be used", "--builtin"}},
		"an unknown provider": {env: map[string]string{"LLM_PROVIDER": "magic", "LLM_API_KEY": testKey},
			file: []string{`"llm": null`}, out: []string{"LLM_*              set, but not usable: unknown provider", "llm          built in", "cannot be used: LLM_*: unknown provider"}},
		"no base URL": {env: map[string]string{"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "m", "LLM_API_KEY": testKey},
			file: []string{`"llm": null`}, out: []string{"set, but not usable: provider openai_compatible needs a base URL", "llm          built in"}},
		"a key in the address": {env: map[string]string{"LLM_BASE_URL": "http://ada:" + testKey + "@127.0.0.1/v1", "LLM_MODEL": "m"},
			file: []string{`"llm": null`}, out: []string{"set, but not usable: want http://", "llm          built in"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, path := configured(t)
			var asked []string
			if tt.local {
				c.http = &http.Client{Transport: local{&asked}}
			}
			for k, v := range tt.env {
				c.env[k] = v
			}
			o := c.run(append([]string{"init"}, tt.flags...)...)
			if o.code != exitOK || strings.Contains(o.stdout+o.stderr, testKey) {
				t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
			}
			file := read(t, path)
			for _, want := range tt.file {
				if !strings.Contains(file, want) {
					t.Errorf("want %s in %s", want, file)
				}
			}
			for _, want := range tt.out {
				if !strings.Contains(o.stdout, want) {
					t.Errorf("want %q in\n%s", want, o.stdout)
				}
			}
			info, err := os.Stat(path)
			if err != nil || strings.Contains(file, testKey) || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("%v, error %v, file %s", info.Mode(), err, file)
			}
			if tt.local && !slices.Equal(asked, []string{"GET http://127.0.0.1:11434/api/version"}) {
				t.Errorf("asked %v", asked)
			}
		})
	}
}

// Where the config file is odd, init says so in a line, and what a link leads to
// is written and not the link.
func TestInitOfOddConfigFiles(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	if err := errors.Join(os.Mkdir(at("folder"), 0o700), os.WriteFile(at("file"), nil, 0o600), os.Symlink("real.json", at("link")),
		os.Symlink("loop", at("loop")), os.WriteFile(at("open"), []byte("{}"), 0o600), os.Chmod(at("open"), 0o666)); err != nil {
		t.Fatal(err)
	}
	c, _ := configured(t)
	for range 2 { // made, then replaced
		c.ok("init", "--config", at("link"), "--force")
		if to, err := os.Readlink(at("link")); err != nil || to != "real.json" || !strings.Contains(read(t, at("real.json")), `"llm": null`) {
			t.Errorf("link to %q, error %v", to, err)
		}
	}
	for name, want := range map[string]string{"folder": "it is a folder", "file/config.json": "not a directory", "loop": "too many levels", "open": "others may write it"} {
		for _, force := range [][]string{nil, {"--force"}} {
			o := c.run(append([]string{"init", "--config", at(name)}, force...)...)
			if name == "open" && force != nil {
				if info, err := os.Stat(at(name)); o.code != exitOK || err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("forced: %+v, error %v", o, err)
				}
				continue
			}
			if o.code != exitFailure || !strings.Contains(o.stderr, want) && !(name == "loop" && strings.Contains(o.stderr, "lead nowhere")) {
				t.Errorf("%s %v: %+v", name, force, o)
			}
		}
	}
}

// --builtin works whatever the file and the environment say, even if neither can
// be read.
func TestBuiltInWhateverIsSet(t *testing.T) {
	c, path := configured(t)
	c.ok("init")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.env["LLM_PROVIDER"], c.env["LLM_API_KEY"] = "magic", testKey
	c.ok("add", "--builtin", "--user", "ada", "I live in Lisbon.")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if o := c.run("add", "--user", "ada", "I live in Lisbon."); o.code != exitFailure || !strings.Contains(o.stderr, "LLM_*: unknown provider") ||
		!strings.Contains(o.stderr, "--builtin") || strings.Contains(o.stderr, testKey) {
		t.Errorf("%+v", o)
	}
}

// A file that is there stays, whoever wrote it.
func TestInitIsSafeToRepeat(t *testing.T) {
	c, path := configured(t)
	c.ok("init")
	if out := c.ok("init"); !strings.Contains(out, "(unchanged)") {
		t.Errorf("again: %s", out)
	}
	c.env["OPENAI_API_KEY"] = testKey
	if out := c.ok("init"); !strings.Contains(out, "kept as it is; --force") || !strings.Contains(out, "built in") {
		t.Errorf("with a key: %s", out)
	}
	edited := "{\n \"calls_per_day\": 7 }"
	if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := c.ok("init"); read(t, path) != edited || !strings.Contains(out, "kept as it is") {
		t.Errorf("edited by hand: %s", out)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := c.run("init"); o.code != exitFailure || !strings.Contains(o.stderr, path) || read(t, path) != "{" {
		t.Errorf("broken: %+v", o)
	}
	c.ok("init", "--force")
	if file := read(t, path); !strings.Contains(file, "OPENAI_API_KEY") {
		t.Errorf("forced: %s", file)
	}
	c.ok("init", "--use", "builtin", "--force")
	if file := read(t, path); strings.Contains(file, "OPENAI_API_KEY") {
		t.Errorf("built in: %s", file)
	}
	if o := c.run("init", "--use", "ollama"); o.code != exitUsage {
		t.Errorf("not there: %+v", o)
	}
	c.fails(exitUsage, "--use", "init", "--use", "magic")
}

// A broken file is named, and the field at fault; its values are not.
func TestBrokenConfig(t *testing.T) {
	c, path := configured(t)
	c.ok("init")
	for text, want := range map[string]string{
		`{`:                        "ends too soon",
		"{\n\"llm\" 1}":            "line 2",
		`{} {}`:                    "something follows",
		`{"secret":1}`:             "secret: unknown field",
		`{"calls_per_day":"many"}`: "calls_per_day: want a whole number",
		`{"calls_per_day":-1}`:     "calls_per_day: negative",
		`{"llm":"openai"}`:         "llm: want an object",
		`{"llm":{"provider":"sk-test","model":"m"}}`:                                                    "llm.provider: unknown provider",
		`{"llm":{"provider":"openai","model":"m","api_key_env":"sk-test-0123"}}`:                        "llm.api_key_env: want the name",
		`{"llm":{"provider":"openai","api_key_env":"K"}}`:                                               "llm.model: no model",
		`{"llm":{"provider":"openai_compatible","model":"m"}}`:                                          "llm.base_url:",
		`{"llm":{"provider":"openai_compatible","model":"m","base_url":"http://u:sk-test@h"}}`:          "llm.base_url:",
		`{"embedding":{"provider":"anthropic","model":"m","api_key_env":"K"}}`:                          "embedding.provider:",
		`{"embedding":{"provider":"openai","model":"m","api_key_env":"K","dimensions":-3}}`:             "embedding.dimensions:",
		`{"embedding":{"provider":"openai","model":"m","api_key_env":"K","dimensions":3,"batch":true}}`: "batch: unknown field",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"search", "--user", "ada", "what"}, {"config"}} {
			o := c.fails(exitFailure, "config "+path+": "+"", args...)
			if !strings.Contains(o.stderr, want) || strings.Contains(o.stderr, "sk-test") {
				t.Errorf("%s: %s", text, o.stderr)
			}
		}
		c.ok("demo") // built in, whatever the file says
	}
}

func TestConfigOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such modes there")
	}
	c, path := configured(t)
	c.ok("init")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if o := c.run("search", "--user", "ada", "what"); o.code != exitOK || strings.Count(o.stderr, "others may read it") != 1 {
		t.Errorf("readable by others: %+v", o)
	}
	if err := os.Chmod(path, 0o620); err != nil {
		t.Fatal(err)
	}
	if o := c.fails(exitFailure, "others may write it", "search", "--user", "ada", "what"); !strings.Contains(o.stderr, "chmod 600") {
		t.Errorf("no hint: %s", o.stderr)
	}
}

// The environment goes before the file, flags before both; config shows what
// holds, and no key.
func TestSettingsPrecedence(t *testing.T) {
	c, path := configured(t)
	type shown struct {
		LLM *struct {
			Provider string `json:"provider"`
			Model    string `json:"model"`
			BaseURL  string `json:"base_url"`
			KeyEnv   string `json:"api_key_env"`
			KeySet   bool   `json:"api_key_set"`
		} `json:"llm"`
		Tokens int64             `json:"tokens_per_day"`
		Calls  int64             `json:"calls_per_day"`
		Intent bool              `json:"model_intent"`
		From   map[string]string `json:"from"`
	}
	show := func(args ...string) (s shown) {
		t.Helper()
		c.document(&s, append([]string{"config", "--json"}, args...)...)
		return s
	}
	c.env["OPENAI_API_KEY"] = testKey
	if s := show(); s.LLM != nil {
		t.Errorf("a key in the environment is taken for a wish: %+v", s)
	}
	c.ok("init")
	s := show()
	if s.LLM == nil || s.LLM.Model != "gpt-5-mini" || !s.LLM.KeySet || s.From["llm"] != fromFile {
		t.Errorf("file: %+v", s)
	}
	c.env["LLM_MODEL"], c.env["LLM_CALLS_PER_DAY"], c.env["MODEL_INTENT"] = "bigger", "20", "true"
	s = show()
	if s.LLM.Model != "bigger" || s.LLM.KeyEnv != "OPENAI_API_KEY" || s.Calls != 20 || !s.Intent || s.From["calls_per_day"] != fromEnv {
		t.Errorf("a model by the environment: %+v", s)
	}
	c.env["LLM_BASE_URL"] = "http://127.0.0.1:9/v1"
	if s = show(); s.LLM.KeyEnv != "" || s.LLM.Provider != "openai_compatible" || s.From["llm"] != fromEnv {
		t.Errorf("the file's key goes to another address: %+v", s)
	}
	s = show("--calls-per-day", "0", "--tokens-per-day", "5", "--model-intent=false", "--builtin")
	if s.LLM != nil || s.Calls != 0 || s.Tokens != 5 || s.Intent || s.From["tokens_per_day"] != fromFlag {
		t.Errorf("flags: %+v", s)
	}
	if out := c.ok("config", "--calls-per-day", "3"); strings.Contains(out, testKey) || !strings.Contains(out, "3 calls (flag)") || !strings.Contains(out, path) {
		t.Errorf("config: %s", out)
	}
	c.env["LLM_CALLS_PER_DAY"] = "many"
	c.fails(exitUsage, "LLM_CALLS_PER_DAY", "config")
	delete(c.env, "LLM_CALLS_PER_DAY")
	c.fails(exitUsage, "--tokens-per-day", "config", "--tokens-per-day", "-1")
	c.fails(exitFailure, "there is no such file", "config", "--config", path+".none")
	other := filepath.Join(t.TempDir(), "other.json")
	c.ok("init", "--config", other, "--use", "openai", "--model", "chosen")
	if file := read(t, other); !strings.Contains(file, "chosen") {
		t.Errorf("--config: %s", file)
	}
}

// A change of the embedding model is noticed, and reembed, with a bar, makes what
// is missing.
func TestReembedAfterAChange(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		server := llmtest.NewOpenAI(llmtest.Vectors(nil))
		defer server.Close()
		c.ok("add", "--user", "ada", "I live in Lisbon.")
		c.env["EMBEDDING_BASE_URL"], c.env["EMBEDDING_MODEL"] = server.URL, "v"
		if o := c.run("search", "--user", "ada", "Lisbon"); o.code != exitOK || !strings.Contains(o.stderr, "nothing has a vector of model v") {
			t.Errorf("search: %+v", o)
		}
		c.bar = true
		if o := c.run("reembed", "--user", "ada"); o.code != exitOK || !strings.Contains(o.stdout, "2 texts without a vector of v@8, 2 made") ||
			!strings.Contains(o.stderr, "embedding") || !strings.Contains(o.stderr, "/2)") {
			t.Errorf("reembed: %+v", o)
		}
		c.ok("search", "--user", "ada", "Lisbon")
		if out := c.ok("usage", "--user", "ada"); !strings.Contains(out, "embed ") {
			t.Errorf("usage: %s", out)
		}
	})
}

// An embedding server that is down costs the vectors and nothing else; one that
// refuses is an error.
func TestEmbeddingServerIsDown(t *testing.T) {
	c := newCLI(t)
	server := llmtest.NewOpenAI(llmtest.Vectors(nil))
	c.env["EMBEDDING_BASE_URL"], c.env["EMBEDDING_MODEL"] = server.URL, "v"
	c.ok("add", "--user", "ada", "I live in Lisbon.")
	server.Script(llmtest.Status(401, "invalid_api_key", "no"))
	c.fails(exitFailure, "embedding model", "search", "--user", "ada", "Lisbon")
	server.Close()
	if o := c.run("search", "--user", "ada", "Lisbon"); o.code != exitOK || !strings.Contains(o.stdout, "Lisbon") ||
		!strings.Contains(o.stderr, "degraded: embedding model: ") || !strings.Contains(o.stderr, "degraded: vector branch left out") {
		t.Errorf("search: %+v", o)
	}
	if o := c.run("add", "--user", "ada", "I program in Go."); o.code != exitOK || !strings.Contains(o.stdout, "ADD ") || !strings.Contains(o.stderr, "stored without vectors") {
		t.Errorf("add: %+v", o)
	}
	if o := c.run("reembed", "--user", "ada"); o.code != exitFailure || !strings.Contains(o.stderr, "embedding model") {
		t.Errorf("reembed: %+v", o)
	}
}

// A model by the config file: what it uses is said at the end, kept, listed, and
// bounded by the budget, for every process.
func TestUsageAndBudgetOfTheCommand(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		server := llmtest.NewOpenAI(llmtest.Reply(`{"memories":[]}`))
		defer server.Close()
		c.env["LLM_BASE_URL"], c.env["LLM_MODEL"] = server.URL, "m"
		c.ok("init")
		out := c.ok("add", "--user", "ada", "--usage", "I keep bees.")
		if !strings.Contains(out, "used extract by m: 1 call, 100 tokens in, 10 out\n") {
			t.Errorf("add --usage: %s", out)
		}
		var added struct {
			Usage []map[string]any `json:"usage"`
		}
		c.document(&added, "add", "--user", "ada", "--usage", "--json", "I keep hens.")
		if len(added.Usage) != 1 || added.Usage[0]["operation"] != "extract" || added.Usage[0]["calls"] != 1.0 {
			t.Errorf("add --usage --json: %+v", added)
		}
		if o := c.run("search", "--user", "ada", "--usage", "bees"); o.code != exitOK || !strings.Contains(o.stdout, "used no model") {
			t.Errorf("search --usage: %+v", o)
		}
		o := c.run("add", "--user", "ada", "--calls-per-day", "2", "--usage", "I keep cats.")
		if o.code != exitFailure || !strings.Contains(o.stderr, "budget used up") || !strings.Contains(o.stdout, "stored 1 message") || strings.Contains(o.stderr, "cats") {
			t.Errorf("over budget: %+v", o)
		}
		if out := c.ok("usage", "--user", "ada"); out != "2025-06-01  extract    m                         2 calls, 200 tokens in, 20 out\ntotal: 2 calls, 200 tokens in, 20 out\n" {
			t.Errorf("usage: %q", out)
		}
		var doc map[string]any
		c.document(&doc, "usage", "--user", "ada", "--since", "2025-06-01", "--json")
		wantKeys(t, "usage", doc, "lines total")
		wantKeys(t, "line", doc["lines"].([]any)[0], "day operation model calls input_tokens output_tokens")
		if out := c.ok("usage", "--user", "ada", "--since", "2025-06-02"); out != "no model was used\n" {
			t.Errorf("usage --since: %q", out)
		}
		c.fails(exitUsage, "no user", "usage")
		c.fails(exitUsage, "--since", "usage", "--user", "ada", "--since", "soon")
	})
}

// A model that cannot be asked leaves the message waiting, and the command says
// how it gets extracted: who adds it again would have it twice.
func TestAddThatWaitsSaysHowToGoOn(t *testing.T) {
	for status, hint := range map[int]string{
		http.StatusNotFound:           "try: a model that the server has",
		http.StatusUnauthorized:       "try: another key",
		http.StatusServiceUnavailable: "try: meminfra reprocess --user U",
		http.StatusOK:                 "try: another base URL",
	} {
		c, _ := configured(t)
		server := llmtest.NewOpenAI(llmtest.Status(status, "code", "I keep bees. "+testKey, "x-should-retry", "false"))
		if status == http.StatusOK {
			server.Script(llmtest.Raw("<html>I keep bees. " + testKey + "</html>"))
		}
		c.env["LLM_BASE_URL"], c.env["LLM_MODEL"], c.env["LLM_API_KEY"] = server.URL, "m", testKey
		o := c.run("add", "--user", "ada", "I keep bees.")
		if o.code != exitFailure || !strings.Contains(o.stderr, hint) || !strings.Contains(o.stderr, "the messages are stored and wait") {
			t.Errorf("%d: exit %d: %s", status, o.code, o.stderr)
		}
		if strings.Contains(o.stdout+o.stderr, testKey) || strings.Contains(o.stderr, "bees") {
			t.Errorf("%d: it tells: %s", status, o.stderr)
		}
		server.Script(llmtest.Reply(`{"memories":[]}`))
		if out := c.ok("reprocess", "--user", "ada"); out != "read 1 message\n" {
			t.Errorf("%d: %s", status, out)
		}
		server.Close()
	}
}
