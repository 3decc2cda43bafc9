package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/retrieve"
)

// filterFlags are the flags that narrow a read. They are put together as one
// JSON document, so that there is one reader of filters: the library's.
type filterFlags struct {
	pairs    []string // key=value
	document string   // JSON
	kind     string
	history  string
	validAt  string
	knownAt  string
}

func (f *filterFlags) bind(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.pairs, "filter", nil, "constraint `KEY=VALUE`, repeatable; keys: "+strings.Join(filterKeys(), ", "))
	flags.StringVar(&f.document, "filter-json", "", "constraints as one `JSON` object, for metadata conditions beyond equality")
	flags.StringVar(&f.kind, "kind", "", "fact, preference, event, experience, summary or episode")
	flags.StringVar(&f.history, "history", "", "`include` versions that are no longer current, or exclude them")
	flags.StringVar(&f.validAt, "valid-at", "", "what held at that `time` (RFC 3339)")
	flags.StringVar(&f.knownAt, "known-at", "", "what was believed at that `time` (RFC 3339)")
}

// filterKeys are the keys that --filter knows: the JSON names of the library's
// filters, metadata by field.
func filterKeys() []string {
	var keys []string
	t := reflect.TypeFor[meminfra.Filters]()
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "metadata" {
			name = "metadata.KEY"
		}
		keys = append(keys, name)
	}
	return keys
}

// parse puts the flags together. A key that is given twice is an error: two
// values can never both hold, and dropping one would widen what is read.
func (f *filterFlags) parse() (meminfra.Filters, error) {
	doc := map[string]any{}
	if f.document != "" {
		filters, err := retrieve.ParseFilters([]byte(f.document))
		if err != nil {
			return meminfra.Filters{}, err
		}
		if err := remarshal(filters, &doc); err != nil { // its keys by their one spelling
			return meminfra.Filters{}, err
		}
	}
	pairs := slices.Clone(f.pairs)
	for _, short := range [][2]string{{"kind", f.kind}, {"history", f.history}, {"valid_at", f.validAt}, {"known_at", f.knownAt}} {
		if short[1] != "" {
			pairs = append(pairs, short[0]+"="+short[1])
		}
	}
	for _, pair := range pairs {
		if err := setFilter(doc, pair); err != nil {
			return meminfra.Filters{}, err
		}
	}
	merged, err := json.Marshal(doc)
	if err != nil {
		return meminfra.Filters{}, err
	}
	return retrieve.ParseFilters(merged)
}

func remarshal(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}

// setFilter adds one key=value to the document.
func setFilter(doc map[string]any, pair string) error {
	key, value, ok := strings.Cut(pair, "=")
	if !ok || value == "" {
		return usage("a filter wants key=value", "--filter kind=preference")
	}
	if field, isMetadata := strings.CutPrefix(key, "metadata."); isMetadata && field != "" {
		condition := map[string]any{"field": field, "op": "eq", "value": value}
		if old, ok := doc["metadata"]; ok {
			condition = map[string]any{"and": []any{old, condition}}
		}
		doc["metadata"] = condition
		return nil
	}
	if key == "metadata" || !slices.Contains(filterKeys(), key) {
		return usage(fmt.Sprintf("unknown filter %q", key), "one of "+strings.Join(filterKeys(), ", "))
	}
	if _, twice := doc[key]; twice {
		return usage(fmt.Sprintf("filter %q is given twice", key), "")
	}
	if slices.Contains([]string{"from", "to", "valid_at", "known_at"}, key) {
		t, err := parseTime(key, value)
		if err != nil {
			return err
		}
		doc[key] = t
		return nil
	}
	doc[key] = value
	return nil
}

// parseTime reads a moment, or a day as the moment at which it begins in UTC; what
// names it in the error.
func parseTime(what, value string) (time.Time, error) {
	for _, form := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(form, value); err == nil && !t.IsZero() { // which would say "not given"
			return t, nil
		}
	}
	return time.Time{}, usage(what+": neither a time in RFC 3339 nor a day", "2025-03-01T09:30:00Z, 2025-03-01T09:30:00+02:00 or 2025-03-01, which begins in UTC")
}
