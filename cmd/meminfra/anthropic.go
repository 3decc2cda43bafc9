//go:build anthropic

package main

import (
	"net/http"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/anthropic"
	"github.com/meminfra/memory-layer/meminfra/llm/provider"
)

// anthropicLinked tells whether that provider can be used.
const anthropicLinked = true

// anthropicGenerator links Anthropic's SDK, which doubles what the command takes
// to build; only builds with -tags anthropic have it.
func anthropicGenerator(s provider.Settings, key string, client *http.Client) (llm.Generator, error) {
	return anthropic.New(anthropic.Config{APIKey: key, BaseURL: s.BaseURL, Model: s.Model, HTTPClient: client})
}
