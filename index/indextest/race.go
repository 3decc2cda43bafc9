//go:build race

package indextest

// Race is whether the race detector is on.
const Race = true
