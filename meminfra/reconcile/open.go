package reconcile

import "github.com/meminfra/memory-layer/meminfra/memory"

// OpenSame reports whether two open-world texts are the same proposition by
// their words alone: equal memory.NormalText. A caller with embeddings may also
// take cosine > 0.95 together with SameFigures; neither half is enough alone.
func OpenSame(a, b string) bool { return memory.NormalText(a) == memory.NormalText(b) }

// SameFigures is memory.SameFigures, the other half.
func SameFigures(a, b string) bool { return memory.SameFigures(a, b) }
