package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/llm/provider"
)

// config is the file that init writes and the other commands read. It names
// keys by their environment variable and holds none.
type config struct {
	LLM          *provider.Settings `json:"llm"`       // null: built in
	Embedding    *provider.Settings `json:"embedding"` // null: built in
	ModelIntent  bool               `json:"model_intent"`
	TokensPerDay int64              `json:"tokens_per_day"` // for each user; 0: no bound
	CallsPerDay  int64              `json:"calls_per_day"`
}

// configPath is where the file is: --config, else in the folder for
// configurations; "" where there is no such folder.
func (a *app) configPath() string {
	if a.configFile != "" {
		return a.configFile
	}
	folder := a.userFolder("XDG_CONFIG_HOME", "AppData", ".config")
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, "meminfra", "config.json")
}

// configError is a config file that cannot be used, and the field at fault.
type configError struct {
	path, field, fault string
}

func (e *configError) Error() string {
	return "config " + e.path + ": " + joinNonEmpty([]string{e.field, e.fault}, ": ")
}

// readConfig reads the file at path. A missing one is nil, without an error.
// One that others may write is refused: they could send texts and keys anywhere.
// One that others may read is warned of by readable.
func readConfig(path string) (c *config, readable bool, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	if info.IsDir() {
		return nil, false, &hinted{&configError{path, "", "it is a folder"}, "--config FILE"}
	}
	mode := info.Mode().Perm()
	if runtime.GOOS == "windows" {
		mode = 0 // no such bits there
	}
	if mode&0o022 != 0 {
		return nil, false, &hinted{&configError{path, "", fmt.Sprintf(
			"others may write it (mode %04o), and so send your texts and keys elsewhere", mode)}, "chmod 600 " + shellQuote(path)}
	}
	raw, err := io.ReadAll(io.LimitReader(file, 1<<20))
	if err != nil {
		return nil, false, err
	}
	c, err = parseConfig(path, raw)
	return c, mode&0o044 != 0, err
}

func parseConfig(path string, raw []byte) (*config, error) {
	var c config
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(&c)
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case err == nil && dec.More():
		return nil, &configError{path, "", "something follows the object"}
	case err == nil:
		return &c, c.check(path)
	case errors.As(err, &wrong):
		return nil, &configError{path, wrong.Field, "want " + kindName(wrong.Type.Kind().String())}
	case errors.As(err, &syntax):
		return nil, &configError{path, "", fmt.Sprintf("line %d: no JSON", 1+bytes.Count(raw[:syntax.Offset], []byte("\n")))}
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return nil, &configError{path, strings.Trim(name, `"`), "unknown field"}
	}
	return nil, &configError{path, "", "no JSON: it ends too soon"}
}

// kindName says what a Go kind is called in JSON.
func kindName(kind string) string {
	switch {
	case kind == "string":
		return "a text"
	case kind == "bool":
		return "true or false"
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	}
	return "an object"
}

// check finds the field that cannot be used.
func (c *config) check(path string) error {
	for _, part := range []struct {
		name     string
		settings *provider.Settings
	}{{"llm", c.LLM}, {"embedding", c.Embedding}} {
		if part.settings == nil {
			continue
		}
		var wrong *provider.SettingError
		if err := part.settings.Check(); errors.As(err, &wrong) {
			return &configError{path, part.name + "." + wrong.Field, wrong.Fault}
		}
	}
	switch {
	case c.Embedding != nil && c.Embedding.Provider == provider.Anthropic:
		return &configError{path, "embedding.provider", "anthropic has no embeddings"}
	case c.TokensPerDay < 0:
		return &configError{path, "tokens_per_day", "negative"}
	case c.CallsPerDay < 0:
		return &configError{path, "calls_per_day", "negative"}
	}
	return nil
}

// write makes the file, for its owner alone, whole or not at all. What a link
// leads to is replaced, and the link stays.
func (c *config) write(path string) (err error) {
	if path, err = linked(path); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".config-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // nothing is there once it has its name
	_, err = file.Write(append(raw, '\n'))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// linked is what the path leads to through links, the last of which may lead to
// nothing yet.
func linked(path string) (string, error) {
	for range 40 {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", errors.New("its links lead nowhere")
}
