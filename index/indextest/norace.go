//go:build !race

package indextest

// Race is whether the race detector is on. It makes everything some ten times
// slower, and finds no more in longer vectors.
const Race = false
