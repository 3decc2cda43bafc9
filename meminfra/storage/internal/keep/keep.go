// Package keep copies the texts and vectors of many rows without an allocation
// for each.
package keep

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/meminfra/memory-layer/internal/pages"
)

// Keeper keeps texts that end with their row: one of each that repeats, and the
// others side by side, for an allocation each would cost more than the text.
type Keeper struct {
	shared map[string]string
	block  *strings.Builder
}

// Share keeps a text that is likely to come again.
func (k *Keeper) Share(s string) string {
	kept, ok := k.shared[s]
	if !ok {
		if k.shared == nil {
			k.shared = make(map[string]string)
		}
		kept = strings.Clone(s)
		k.shared[kept] = kept
	}
	return kept
}

// Keep keeps a text.
func (k *Keeper) Keep(s string) string {
	const least, most = 1 << 10, 64 << 10
	if s == "" {
		return ""
	}
	if k.block == nil || k.block.Cap()-k.block.Len() < len(s) {
		size := least
		if k.block != nil {
			size = min(2*k.block.Cap(), most)
		}
		k.block = new(strings.Builder)
		k.block.Grow(max(size, len(s)))
	}
	from := k.block.Len()
	k.block.WriteString(s)
	return k.block.String()[from:]
}

// Vectors keeps vectors that are stored as little-endian float32 values, every bit
// as it was. They lie in one block, which has room for Room of them as long as the
// first that is not empty; those that find none lie beside it.
type Vectors struct {
	Room  int
	Reuse bool // each takes the place of the one before

	block []float32
}

// Keep keeps a vector. An error says that raw is none.
func (k *Vectors) Keep(raw []byte) ([]float32, error) {
	if len(raw)%4 != 0 {
		return nil, fmt.Errorf("%d bytes are no stored vector", len(raw))
	}
	n := len(raw) / 4
	if k.Reuse {
		k.block = k.block[:0]
	}
	if len(k.block) == 0 && n > cap(k.block) {
		k.block = pages.Make[float32](max(k.Room, 1) * n)
	}
	var v []float32
	if from := len(k.block); n <= cap(k.block)-from {
		k.block = k.block[:from+n]
		v = k.block[from : from+n : from+n]
	} else {
		v = make([]float32, n)
	}
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 { // stored as it lies in memory
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(raw)), raw)
		return v, nil
	}
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return v, nil
}
