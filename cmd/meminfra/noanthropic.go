//go:build !anthropic

package main

import (
	"errors"
	"net/http"

	"github.com/meminfra/memory-layer/meminfra/llm"
	"github.com/meminfra/memory-layer/meminfra/llm/provider"
)

// anthropicLinked tells whether that provider can be used.
const anthropicLinked = false

func anthropicGenerator(provider.Settings, string, *http.Client) (llm.Generator, error) {
	return nil, errors.New("this program was built without Anthropic's SDK: build it with -tags anthropic")
}
