package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/llm/provider"
)

// initFlags are the flags of init.
type initFlags struct {
	use, model, embedding string
	force                 bool
}

// uses are the values of --use, each with where it is found.
var uses = map[string][]string{"ollama": {"ollama"}, "openai": {"OPENAI_API_KEY"}, "anthropic": {"ANTHROPIC_API_KEY"},
	"env": {"LLM_*", "EMBEDDING_*"}, "builtin": {}}

func (f *initFlags) check() error {
	if _, known := uses[f.use]; f.use != "" && !known {
		return usage("--use: unknown", "--use ollama, openai, anthropic, env or builtin")
	}
	return nil
}

// initConfig looks for models, says what there is, and writes the config file if
// there is none, or --force.
func (a *app) initConfig(ctx context.Context, f *initFlags) error {
	found := provider.Detect(ctx, provider.Options{Getenv: a.getenv, HTTPClient: a.http})
	a.printFound(found, f)
	chosen, err := f.choose(found)
	if err != nil {
		return err
	}
	path := a.configPath()
	if path == "" {
		fields(a.stdout, [2]string{"config", "not written: neither XDG_CONFIG_HOME nor a home folder is set; --config FILE"})
		return nil
	}
	kept, _, err := readConfig(path)
	written := "unchanged"
	switch {
	case err != nil && (!f.force || isFolder(path)):
		return err
	case f.force || kept == nil:
		if err := chosen.write(path); err != nil {
			return &hinted{fmt.Errorf("config %s: not written: %w", path, err), "--config FILE, in a folder that can be written"}
		}
		written, kept = "written", chosen
	case !reflect.DeepEqual(kept, chosen):
		written = "kept as it is; --force replaces it with what was found"
	}
	fields(a.stdout, [2]string{"config", path + " (" + written + ")"})
	s, err := a.settings()
	if err != nil {
		// What is wrong in the environment is no fault of the file: it was told
		// above, and holds every other command up.
		a.printChosen(&settings{config: *kept, from: map[string]string{}})
		fmt.Fprintf(a.stdout, "but the environment goes before the file, and cannot be used: %v\nuntil that is unset or right, commands want --builtin\n", err)
		return nil
	}
	a.printChosen(s)
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// printFound lists what was looked for, in order.
func (a *app) printFound(found []provider.Finding, f *initFlags) {
	fmt.Fprintln(a.stdout, "\nlooked for")
	for _, source := range []string{"ollama", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LLM_*", "EMBEDDING_*"} {
		i := slices.IndexFunc(found, func(x provider.Finding) bool { return x.Source == source })
		says := "not set"
		if source == "ollama" {
			says = "no server on this machine"
		}
		if i >= 0 {
			says = findingText(&found[i], f)
		}
		fmt.Fprintf(a.stdout, "  %-19s%s\n", source, says)
	}
	fmt.Fprintln(a.stdout)
}

func findingText(found *provider.Finding, f *initFlags) string {
	switch {
	case found.Err != nil:
		return "set, but not usable: " + strings.TrimPrefix(found.Err.Error(), found.Source+": ")
	case found.Source == "ollama" && f.model == "" && f.embedding == "":
		return "running; to use it name a model of it: --use ollama --model NAME --embedding-model NAME"
	case found.Source == "ollama":
		return "running"
	case found.Source == "ANTHROPIC_API_KEY" && !anthropicLinked:
		return "set; this program was built without Anthropic's SDK (-tags anthropic)"
	}
	return "set"
}

// choose picks the first language model that is usable, and the embedding model
// of the same source or of EMBEDDING_*. What is set for this program goes first:
// it would go before the file anyway.
func (f *initFlags) choose(found []provider.Finding) (*config, error) {
	c := &config{}
	if f.use == "builtin" {
		return c, nil
	}
	source := ""
	for _, x := range f.candidates(found) {
		generator := named(x.Generator, f.model)
		if generator != nil && c.LLM == nil && (generator.Provider != provider.Anthropic || anthropicLinked) {
			c.LLM, source = generator, x.Source
		}
	}
	for _, x := range f.candidates(found) {
		embedder := named(x.Embedder, f.embedding)
		if embedder != nil && c.Embedding == nil && (x.Source == "EMBEDDING_*" || source == "" || x.Source == source) {
			c.Embedding = embedder
		}
	}
	if f.use != "" && c.LLM == nil && c.Embedding == nil {
		return nil, usage("--use "+f.use+": nothing usable was found", "see above; Ollama needs --model or --embedding-model")
	}
	return c, c.check("to be written")
}

// candidates are the usable findings of --use, those of this program first.
func (f *initFlags) candidates(found []provider.Finding) []provider.Finding {
	var own, others []provider.Finding
	for _, x := range found {
		switch {
		case x.Err != nil || f.use != "" && !slices.Contains(uses[f.use], x.Source):
		case slices.Contains(uses["env"], x.Source):
			own = append(own, x)
		default:
			others = append(others, x)
		}
	}
	return append(own, others...)
}

// named returns settings with a model, that of the flag if there is one; nil if
// none is known.
func named(s *provider.Settings, model string) *provider.Settings {
	if s == nil || s.Model == "" && model == "" {
		return nil
	}
	out := *s
	out.Model = first(model, s.Model)
	return &out
}

// printChosen says what holds from now on, and what it means.
func (a *app) printChosen(s *settings) {
	fields(a.stdout, [2]string{"llm", a.modelLine(s, "llm", s.LLM)}, [2]string{"embedding", a.modelLine(s, "embedding", s.Embedding)})
	if s.LLM != nil {
		end := "init --use builtin --force"
		if set, _, _ := provider.FromEnv(a.getenv); set != nil { // goes before the file
			end = "unsetting LLM_*"
		}
		fmt.Fprintf(a.stdout, "messages and questions are sent there; %s ends it, --tokens-per-day bounds it\n", end)
	}
	if s.Embedding != nil {
		fmt.Fprintln(a.stdout, "memories that are there already get their vectors by: meminfra reembed --user U")
	}
}
