package meminfra_test

import (
	"context"
	"testing"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// alikeEmbedder gives all texts nearly the same vector.
type alikeEmbedder struct{}

func (alikeEmbedder) Model() string { return "alike/1" }
func (alikeEmbedder) Dim() int      { return 8 }

func (alikeEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	list := make([][]float32, len(texts))
	for i, s := range texts {
		list[i] = []float32{1, 0, 0, 0, 0, 0, 0, float32(len(s)%7) / 100}
	}
	return list, nil
}

// TestSimilarityIsNotIdentity is wild fault A07: texts that differ in a number,
// a name or a negation are apart however similar their vectors are; a rewording
// is one more witness.
func TestSimilarityIsNotIdentity(t *testing.T) {
	onStores(t, func(t *testing.T, store storage.Store) {
		ml := newLayer(t, store, func(o *meminfra.Options) {
			o.Embedder, o.Extractor = alikeEmbedder{}, &scripted{id: "all/1", word: ""}
		})
		for _, step := range []struct {
			text string
			want memory.Action
		}{
			{"The rehearsal is on 3 March in hall 4.", memory.ActionAdd},
			{"The rehearsal is on 8 March in hall 4.", memory.ActionAdd},
			{"On 3 March the rehearsal takes place in hall 4.", memory.ActionNoop},
			{"The dose is 5 mg a day.", memory.ActionAdd},
			{"The dose is 50 mg a day.", memory.ActionAdd},
			{"The dose is not 50 mg a day.", memory.ActionAdd},
			{"The key is with Sam.", memory.ActionAdd},
			{"The key is with Sami.", memory.ActionAdd},
		} {
			if got := say(t, ml, step.text, nil); got.Action != step.want {
				t.Errorf("%s: %s %s, want %s", step.text, got.Action, got.Reason, step.want)
			}
		}
	})
}
