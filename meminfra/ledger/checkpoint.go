package ledger

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// CheckpointFormat names the form of a checkpoint's file.
const CheckpointFormat = "meminfra-checkpoint/1"

// ErrCheckpoint: not a checkpoint as Marshal writes it.
var ErrCheckpoint = errors.New("malformed checkpoint")

// Checkpoint is the heads of all chains at a moment. Kept elsewhere, it shows a
// chain that was cut or replaced since, which a chain alone cannot. It holds
// no content and no names: partition ids are hashes.
type Checkpoint struct {
	At    time.Time
	Heads []Checked // by partition
}

// Checked is the last entry of a partition's chain.
type Checked struct {
	Partition string
	Seq       int64
	Hash      []byte
}

// Of returns the head of a partition; the zero Checked if the checkpoint has none.
func (c *Checkpoint) Of(partition string) Checked {
	for _, h := range c.Heads {
		if h.Partition == partition {
			return h
		}
	}
	return Checked{}
}

// Marshal writes the checkpoint as canonical JSON and a line's end.
func (c *Checkpoint) Marshal() []byte {
	heads := slices.Clone(c.Heads)
	slices.SortFunc(heads, func(x, y Checked) int { return strings.Compare(x.Partition, y.Partition) })
	b := []byte(`{"at":`)
	b = memory.AppendInt(b, memory.Micros(c.At))
	b = append(b, `,"format":`...)
	b = memory.AppendString(b, CheckpointFormat)
	b = append(b, `,"heads":[`...)
	for i, h := range heads {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"hash":`...)
		b = memory.AppendString(b, hexOf(h.Hash))
		b = append(b, `,"partition":`...)
		b = memory.AppendString(b, h.Partition)
		b = append(b, `,"seq":`...)
		b = memory.AppendInt(b, h.Seq)
		b = append(b, '}')
	}
	return append(b, "]}\n"...)
}

// ParseCheckpoint reads what Marshal wrote. Errors: ErrCheckpoint.
func ParseCheckpoint(b []byte) (*Checkpoint, error) {
	var raw struct {
		At     int64
		Format string
		Heads  []struct {
			Hash, Partition string
			Seq             int64
		}
	}
	if err := json.Unmarshal(b, &raw); err != nil || raw.Format != CheckpointFormat {
		return nil, fmt.Errorf("%w: want %s", ErrCheckpoint, CheckpointFormat)
	}
	c := &Checkpoint{At: memory.FromMicros(raw.At)}
	for i, h := range raw.Heads {
		hash, err := hex.DecodeString(h.Hash)
		if err != nil || h.Partition == "" || h.Seq < 1 {
			return nil, fmt.Errorf("%w: head %d", ErrCheckpoint, i+1)
		}
		c.Heads = append(c.Heads, Checked{h.Partition, h.Seq, hash})
	}
	return c, nil
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }
