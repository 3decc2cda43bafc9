package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meminfra/memory-layer/meminfra/llm/provider"
)

// Where a setting comes from, weakest first.
const (
	fromNowhere = "built in"
	fromFile    = "config file"
	fromEnv     = "environment"
	fromFlag    = "flag"
)

// settings are what holds for a command: the config file, over it the
// environment, over both the flags.
type settings struct {
	config
	path  string // of the config file, "" for no place
	found bool   // it is there
	from  map[string]string
}

// settingFlags are the flags of every command that say how models are used.
type settingFlags struct {
	configFile  string
	builtIn     bool
	modelIntent bool
	tokens      int64
	calls       int64
}

func (f *settingFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.configFile, "config", "", "the config `file` (default: meminfra/config.json in XDG_CONFIG_HOME, else ~/.config)")
	flags.BoolVar(&f.builtIn, "builtin", false, "ask no model, whatever the config file and the environment say")
	flags.BoolVar(&f.modelIntent, "model-intent", false, "have the language model say what a question is about (MODEL_INTENT)")
	flags.Int64Var(&f.tokens, "tokens-per-day", 0, "the most `tokens` of models for one user on one day, 0 for no bound (LLM_TOKENS_PER_DAY)")
	flags.Int64Var(&f.calls, "calls-per-day", 0, "the most `calls` of models for one user on one day, 0 for no bound (LLM_CALLS_PER_DAY)")
}

// settings reads all three. A config file that is named must be there.
func (a *app) settings() (*settings, error) {
	if a.builtIn { // whatever the others say, even if it cannot be read
		s := &settings{path: a.configPath(), from: map[string]string{"llm": fromFlag, "embedding": fromFlag}}
		return s, a.overFlags(s)
	}
	s, err := a.fileSettings()
	if err != nil {
		return nil, err
	}
	if err := a.overEnv(s); err != nil {
		return nil, err
	}
	return s, a.overFlags(s)
}

func (a *app) fileSettings() (*settings, error) {
	s := &settings{path: a.configPath(), from: map[string]string{}}
	if s.path == "" {
		return s, nil
	}
	c, readable, err := readConfig(s.path)
	switch {
	case err != nil:
		return nil, err
	case c == nil && a.configFile != "":
		return nil, &hinted{&configError{s.path, "", "there is no such file"}, "meminfra init --config " + shellQuote(s.path)}
	case c == nil:
		return s, nil
	}
	if readable && !a.warned {
		a.warned = true
		fmt.Fprintf(a.stderr, "meminfra: config %s: others may read it; it holds no keys, but says who is asked what: chmod 600\n", s.path)
	}
	s.config, s.found = *c, true
	s.mark(fromFile, config{})
	return s, nil
}

// mark notes which settings differ from those before.
func (s *settings) mark(source string, before config) {
	for name, changed := range map[string]bool{
		"llm": s.LLM != before.LLM, "embedding": s.Embedding != before.Embedding, "model_intent": s.ModelIntent != before.ModelIntent,
		"tokens_per_day": s.TokensPerDay != before.TokensPerDay, "calls_per_day": s.CallsPerDay != before.CallsPerDay,
	} {
		if changed {
			s.from[name] = source
		}
	}
}

// source says where a setting comes from.
func (s *settings) source(name string) string { return first(s.from[name], fromNowhere) }

func (a *app) overEnv(s *settings) (err error) {
	before := s.config
	llm, embedding, err := provider.FromEnvOver(a.getenv, s.LLM, s.Embedding)
	if err != nil {
		return &hinted{err, "to unset it or set it right, or --builtin"}
	}
	if llm != nil && (s.LLM == nil || *llm != *s.LLM) {
		s.LLM = llm
	}
	if embedding != nil && (s.Embedding == nil || *embedding != *s.Embedding) {
		s.Embedding = embedding
	}
	for name, into := range map[string]*int64{"LLM_TOKENS_PER_DAY": &s.TokensPerDay, "LLM_CALLS_PER_DAY": &s.CallsPerDay} {
		if text := a.getenv(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 {
				return usage(name+": want a whole number from 0", "")
			}
			*into = n
		}
	}
	if text := a.getenv("MODEL_INTENT"); text != "" {
		if s.ModelIntent, err = strconv.ParseBool(text); err != nil {
			return usage("MODEL_INTENT: want true or false", "")
		}
	}
	s.mark(fromEnv, before)
	return nil
}

func (a *app) overFlags(s *settings) error {
	before := s.config
	given := func(name string) bool { return a.flags != nil && a.flags.Changed(name) }
	if a.tokens < 0 || a.calls < 0 {
		return usage("--tokens-per-day and --calls-per-day: want a whole number from 0", "")
	}
	if given("tokens-per-day") {
		s.TokensPerDay = a.tokens
	}
	if given("calls-per-day") {
		s.CallsPerDay = a.calls
	}
	if given("model-intent") {
		s.ModelIntent = a.modelIntent
	}
	s.mark(fromFlag, before)
	return nil
}

func (a *app) configCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config [--json]",
		Short: "The settings that hold, and where each comes from",
		Long: "Shows which models are asked, by whom that was decided (config file, environment, flag), and\n" +
			"whether their keys are set. Keys themselves are never shown, and nobody is asked anything.",
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			s, err := a.settings()
			if err != nil {
				return err
			}
			t, err := a.storeTarget()
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(a.newConfigDoc(s, t))
			}
			a.printSettings(s, t)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the settings as JSON")
	return cmd
}

// configDoc is the document of config.
type configDoc struct {
	Config       string            `json:"config"`
	Found        bool              `json:"found"`
	Store        string            `json:"store"`
	LLM          *modelDoc         `json:"llm"`
	Embedding    *modelDoc         `json:"embedding"`
	ModelIntent  bool              `json:"model_intent"`
	TokensPerDay int64             `json:"tokens_per_day"`
	CallsPerDay  int64             `json:"calls_per_day"`
	From         map[string]string `json:"from"`
}

type modelDoc struct {
	provider.Settings
	KeySet bool `json:"api_key_set"`
}

func (a *app) newConfigDoc(s *settings, t target) configDoc {
	model := func(m *provider.Settings) *modelDoc {
		if m == nil {
			return nil
		}
		return &modelDoc{Settings: *m, KeySet: m.KeyEnv != "" && a.getenv(m.KeyEnv) != ""}
	}
	return configDoc{Config: s.path, Found: s.found, Store: t.describe(), LLM: model(s.LLM), Embedding: model(s.Embedding),
		ModelIntent: s.ModelIntent, TokensPerDay: s.TokensPerDay, CallsPerDay: s.CallsPerDay, From: s.from}
}

func (a *app) printSettings(s *settings, t target) {
	place := first(s.path, "no place: neither XDG_CONFIG_HOME nor a home folder is set")
	if s.path != "" && !s.found {
		place += " (not there)"
	}
	pairs := [][2]string{{"config", place}, {"store", t.describe()}, {"llm", a.modelLine(s, "llm", s.LLM)},
		{"embedding", a.modelLine(s, "embedding", s.Embedding)}}
	if s.ModelIntent {
		pairs = append(pairs, [2]string{"intent", "by the language model (" + s.source("model_intent") + ")"})
	}
	pairs = append(pairs, [2]string{"budget", s.budgetLine()})
	fields(a.stdout, pairs...)
}

// modelLine says which model is asked, where, and whether its key is set.
func (a *app) modelLine(s *settings, name string, m *provider.Settings) string {
	if m == nil {
		return "built in: no model is asked"
	}
	line := m.Provider + " " + m.Model
	if m.BaseURL != "" {
		line += " at " + m.BaseURL
	}
	switch {
	case m.KeyEnv == "":
	case a.getenv(m.KeyEnv) == "":
		line += ", key in " + m.KeyEnv + ", which is not set"
	default:
		line += ", key in " + m.KeyEnv
	}
	return line + " (" + s.source(name) + ")"
}

func (s *settings) budgetLine() string {
	var parts []string
	for _, b := range []struct {
		name, unit string
		n          int64
	}{{"tokens_per_day", "token", s.TokensPerDay}, {"calls_per_day", "call", s.CallsPerDay}} {
		if b.n > 0 {
			parts = append(parts, count(int(b.n), b.unit)+" ("+s.source(b.name)+")")
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return "a user's day: " + joinNonEmpty(parts, ", ")
}
